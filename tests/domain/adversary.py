"""Whoever writes a game's log anew: a change somewhere, and behind it all that makes the record formally right again.

A record is chained and summed, so a change alone is found by reading. Here the numbers, parts, hashes, header and
closing line are made anew after it, as a server could that lies, or someone who has only a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, Final

from domain.events import GENESIS, Event, chain_hash, read_event
from domain.games import FACT_TYPES
from domain.records import stored_form, write_record

__all__ = ["Forger", "Told", "rechained"]

Told = dict[str, Any]
"""An event as its JSON tells it."""


def rechained(commands: Iterable[Sequence[Told]]) -> list[Event]:
    """The events of commands, numbered and chained anew.

    Raises:
        ValueError: one of them is no event.
    """
    events, head = list[Event](), GENESIS
    for command in commands:
        for part, told in enumerate(command, 1):
            seq = len(events) + 1
            data = stored_form({**told, "seq": seq, "part": part, "of": len(command), "prev": head})
            events.append(read_event(data, FACT_TYPES))
            head = chain_hash(data)
    return events


class Forger:
    """A game that is written anew. Each change tells the line at which it stands in the record."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.commands: Final[list[list[Told]]] = []
        for event in events:
            if event.part == 1:
                self.commands.append([])
            self.commands[-1].append(json.loads(event.data))

    @property
    def told(self) -> list[Told]:
        """All events, to be changed in place."""
        return [told for command in self.commands for told in command]

    def events(self) -> list[Event]:
        return rechained(self.commands)

    def record(self) -> list[bytes]:
        """The lines of the record, formally right."""
        return list(write_record(self.events()))

    def line_of(self, told: Told) -> int:
        return 2 + next(at for at, one in enumerate(self.told) if one is told)

    def find(self, topic: str, number: int = 0, where: Callable[[Told], bool] = lambda _: True) -> Told:
        """An event by its topic: the first one, or one further on; from the end where the number is negative."""
        return [told for told in self.told if told["type"] == topic and where(told["fact"])][number]

    def alter(self, topic: str, number: int = 0, **fields: Any) -> int:
        """Change fields of a fact. Where a field is a function, it makes the new value of the old one."""
        told = self.find(topic, number)
        for name, new in fields.items():
            told["fact"][name] = new(deepcopy(told["fact"][name])) if callable(new) else new
        return self.line_of(told)

    def alter_cause(self, topic: str, number: int = 0, **fields: Any) -> int:
        """Change who did something, or when: of the whole command that an event belongs to."""
        command = self.command_of(self.find(topic, number))
        for told in command:
            told.update(fields)
        return self.line_of(command[0])

    def command_of(self, told: Told) -> list[Told]:
        return next(command for command in self.commands if any(one is told for one in command))

    def leave_out(self, topic: str, number: int = 0) -> int:
        """Leave out the whole command that an event belongs to."""
        command = self.command_of(self.find(topic, number))
        line = self.line_of(command[0])
        self.commands[:] = [other for other in self.commands if other is not command]
        return line

    def leave_out_the_event(self, topic: str, number: int = 0) -> int:
        """Leave out one event of a command."""
        told = self.find(topic, number)
        line = self.line_of(told)
        command = self.command_of(told)
        command[:] = [one for one in command if one is not told]
        return line

    def repeat(self, topic: str, number: int = 0) -> int:
        """Add the command that an event belongs to once more behind itself."""
        command = self.command_of(self.find(topic, number))
        at = next(at for at, other in enumerate(self.commands) if other is command)
        self.commands.insert(at + 1, deepcopy(command))
        return self.line_of(self.commands[at + 1][0])

    def end_before(self, topic: str, number: int = 0) -> None:
        """Let the game break off before the command that an event belongs to."""
        command = self.command_of(self.find(topic, number))
        at = next(at for at, other in enumerate(self.commands) if other is command)
        del self.commands[at:]

    def end_as_it_ended(self, topic: str, number: int = 0) -> int:
        """Let the game end before the command that an event belongs to, with the end that it had."""
        last = self.commands[-1]
        self.end_before(topic, number)
        self.commands.append(last)
        return self.line_of(last[0])
