"""Replays in a terminal: a game drawn position by position, forwards and backwards, by keys."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from types import FrameType
from typing import Any, Final, NoReturn

from rich.cells import cell_len, chop_cells
from rich.console import Console, Group, RenderableType
from rich.text import Text

from api.drawing import Pen
from api.replays import viewer_of
from api.schema import KINDS
from api.viewpoints import ReplayView
from domain.decider import PUBLIC, Fact, Names, positions
from domain.events import Event
from domain.games import DECIDERS
from domain.lifecycle import GameOpened, Table
from domain.telling import NOBODY_NAMED, named
from domain.verification import Verification, of_table

try:
    import termios
    import tty
except ImportError:  # Windows
    HAS_KEYS = False
else:
    HAS_KEYS = True

__all__ = ["HAS_KEYS", "Frame", "Key", "Place", "Reel", "draw", "keyboard", "keys_in", "pressed", "verdict", "watch"]

PAGE: Final = 10
"""Positions that a page goes on or back."""
_LOOK_SECONDS: Final = 0.5
"""How often it is looked whether the terminal has another size."""
_WORDS_LINES: Final = 3
"""Lines that are kept for a sentence; most take one or two."""
_OTHER_LINES: Final = 6
"""Lines around the sentence, the scores and the table."""
_BETWEEN_SCORES: Final = "   "
_KEYS_HELP: Final = "right/space on   left back   page up/down by 10   home/end   p plays   q quits"


@dataclass(frozen=True, slots=True)
class Frame:
    """One position, with all that is drawn of it."""

    kind: str
    seen_as: ReplayView
    seq: int
    last: int
    """How many positions there are."""
    fact: Fact
    words: str
    scores: tuple[int, ...] | None
    names: Names
    """Who sits where, as far as that is known."""
    view: Any
    """What the viewer may see of the table."""
    verdict: str
    """What can be said of the whole game by its seeds."""


class Reel:
    """A game that is told again from its events, as one viewer may see it."""

    def __init__(
        self,
        events: Sequence[Event],
        seen_as: ReplayView = ReplayView.PUBLIC,
        names: Names = NOBODY_NAMED,
        *,
        now: datetime | None = None,
    ) -> None:
        """Fold all events of a game from its first on, once; and once more with its seeds where cards are to be open.

        Seeds that do not lead to what was committed to open no cards: those are not the ones that were dealt.

        Args:
            events: all of them.
            seen_as: whose eyes it is seen with.
            names: what seats are called; one without a name is told by its number.
            now: the time by which it is told whether seeds are missed; None for this computer's.

        Raises:
            ValueError: the first event does not open a game.
            StillSealed: it is to be seen as somebody who sees cards that are not open yet.
            BadUserInput: the game has no such seat, or no cards.
        """
        opened = events[0].fact if events else None
        if not isinstance(opened, GameOpened):
            raise ValueError("a game begins with the event that opens it")  # noqa: TRY004 - no type is wrong
        self._decider: Final = DECIDERS[opened.kind, opened.ruleset]
        facts = [event.fact for event in events]
        self._told: Final = list(positions(self._decider.evolve, self._decider.empty(None), facts))
        self._seen_as: Final = seen_as
        self._names: Final = names
        self._viewer: Final = viewer_of(seen_as, self._told[-1].after)
        self._shown = [position.after for position in self._told]
        self.verdict: Final = verdict(self._told[-1].after, now or datetime.now(UTC))
        """What can be said of the game by its seeds, in words."""
        seeds = self._told[-1].after.seeds
        if self._viewer != PUBLIC and seeds is not None:
            known = positions(self._decider.evolve, self._decider.empty(seeds), facts)
            self._shown = [position.after for position in known]

    def __len__(self) -> int:
        """Return how many positions there are."""
        return len(self._told)

    def frame(self, seq: int) -> Frame:
        """Return the position after an event, from 1."""
        fact, _, after = self._told[seq - 1]
        return Frame(
            kind=self._decider.kind,
            seen_as=self._seen_as,
            seq=seq,
            last=len(self),
            fact=fact,
            words=self.words(seq),
            scores=self._decider.score(after),
            names=self._names,
            view=self._decider.view(self._shown[seq - 1], self._viewer),
            verdict=self.verdict,
        )

    def words(self, seq: int) -> str:
        """Return the commentator's sentence on an event; it says what everyone at the table may know."""
        return self._decider.tell(*self._told[seq - 1], self._names)

    def notation(self) -> Iterator[str]:
        """Yield the game in the short notation of its kind."""
        return self._decider.note(self._told)


def verdict(table: Table, now: datetime) -> str:
    """Say in words what can be said of a game by its seeds.

    >>> verdict(Table(cancelled=True), datetime.now(UTC))
    'Called off before its deal: there is nothing to prove.'
    """
    match of_table(table, now):
        case None:
            return "Called off before its deal: there is nothing to prove."
        case Verification.PROVED:
            return "Proved: its seeds lead to what was committed to before the deal."
        case Verification.UNVERIFIABLE if table.revealed is not None:
            return "Unverifiable: its seeds do not lead to the commitment. It counts nowhere."
        case Verification.UNVERIFIABLE:
            return "Unverifiable: its seeds were not revealed. It counts nowhere."
        case _ if table.held_back and table.deadline is not None:
            until = table.deadline.astimezone(UTC)
            return f"Held back until {until:%Y-%m-%d %H:%M:%S} UTC: till then its seeds prove nothing."
        case _:
            return "Not over: its seeds are sealed, and nothing proves its cards yet."


# Drawing


def draw(
    frame: Frame,
    width: int,
    height: int | None = None,
    *,
    ascii: bool = False,  # noqa: A002 - the word of encodings
) -> RenderableType:
    """Draw a position, so many columns wide, and no more lines high if that is given."""
    words = _lines(frame.words.split(), width)
    words += [""] * (_WORDS_LINES - len(words))  # so that the table stays where it is
    scores = _lines((_score(frame, seat) for seat in range(1, len(frame.scores or ()) + 1)), width, _BETWEEN_SCORES)
    above = len(words) + len(scores) + _OTHER_LINES
    pen = Pen(width, 1_000 if height is None else height - above, ascii)
    return Group(
        pen.listed([frame.kind.capitalize(), f"seen as {frame.seen_as}", f"{frame.seq} of {frame.last}"]),
        _bar(frame, width, ascii=ascii),
        *(Text(line, "bold") for line in words),
        *(Text(line) for line in scores),
        Text(),
        KINDS[frame.kind].draw(frame.view, frame.fact, pen),
        Text(),
        Text(frame.verdict, no_wrap=True, overflow="ellipsis"),
        Text(_KEYS_HELP, "dim", no_wrap=True, overflow="ellipsis"),
    )


def _score(frame: Frame, seat: int) -> str:
    name = frame.names.get(seat)
    return f"{named(seat)}{f', {name}' if name else ''}: {(frame.scores or ())[seat - 1]}"


def _lines(parts: Iterable[str], width: int, between: str = " ") -> list[str]:
    """Put parts into lines so many columns wide, of which some characters take two; at least one line.

    >>> _lines(["Seat 1", "resigns."], 10), _lines(["棋手", "resigns."], 11)
    (['Seat 1', 'resigns.'], ['棋手', 'resigns.'])
    """
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}{between}{part}" if lines[-1] else part
        if cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines += chop_cells(part, width)
    return lines if lines[0] or len(lines) == 1 else lines[1:]


def _bar(frame: Frame, width: int, *, ascii: bool) -> Text:  # noqa: A002 - as above
    """Draw how far the game has come."""
    done = width * frame.seq // frame.last
    come, left = ("=", "-") if ascii else ("━", "─")
    return Text.assemble((come * done, "bold"), (left * (width - done), "dim"))


# Keys


class Key(Enum):
    """What a key asks for."""

    ON = "a position on"
    BACK = "a position back"
    PAGE_ON = "a page on"
    PAGE_BACK = "a page back"
    FIRST = "the first position"
    LAST = "the last position"
    PLAY = "play by itself, or stop"
    QUIT = "quit"


_KEYS: Final = {
    **dict.fromkeys((b" ", b"\x1b[C", b"\x1bOC"), Key.ON),
    **dict.fromkeys((b"\x1b[D", b"\x1bOD", b"\x7f", b"\x08"), Key.BACK),
    **dict.fromkeys((b"\x1b[6~",), Key.PAGE_ON),
    **dict.fromkeys((b"\x1b[5~",), Key.PAGE_BACK),
    **dict.fromkeys((b"\x1b[H", b"\x1bOH", b"\x1b[1~", b"\x1b[7~"), Key.FIRST),
    **dict.fromkeys((b"\x1b[F", b"\x1bOF", b"\x1b[4~", b"\x1b[8~"), Key.LAST),
    **dict.fromkeys((b"p", b"P"), Key.PLAY),
    **dict.fromkeys((b"q", b"Q", b"\x04"), Key.QUIT),
}
_SEQUENCE: Final = re.compile(rb"\x1b(?:\[[0-9;]{0,8}[A-Za-z~]|O[A-Za-z])|[^\x1b]", re.DOTALL)
_BEGUN: Final = re.compile(rb"\x1b(?:\[[0-9;]{0,8}|O)?\Z")


def keys_in(read: bytes) -> tuple[list[Key], bytes]:
    r"""Return the keys that a terminal has sent, and the beginning of one that has not come whole.

    >>> keys_in(b" \x1b[C\x1b[")
    ([<Key.ON: 'a position on'>, <Key.ON: 'a position on'>], b'\x1b[')
    """
    begun = _BEGUN.search(read)
    rest = begun[0] if begun else b""
    sent = _SEQUENCE.findall(read.removesuffix(rest))
    return [_KEYS[key] for key in sent if key in _KEYS], rest


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a game one is."""

    seq: int
    last: int
    playing: bool = False
    """Whether it goes on by itself."""

    def moved(self, by: int) -> Place:
        """Return the place some positions further on, or back, as far as there are any."""
        seq = min(max(self.seq + by, 1), self.last)
        return replace(self, seq=seq, playing=self.playing and seq < self.last)


def pressed(place: Place, key: Key) -> Place:
    """Return the place after a key: one that moves stops the playing."""
    match key:
        case Key.PLAY:
            return replace(place, playing=not place.playing and place.seq < place.last)
        case Key.ON | Key.BACK | Key.PAGE_ON | Key.PAGE_BACK | Key.FIRST | Key.LAST:
            by = {Key.ON: 1, Key.BACK: -1, Key.PAGE_ON: PAGE, Key.PAGE_BACK: -PAGE, Key.FIRST: -place.last}
            return replace(place, playing=False).moved(by.get(key, place.last))
        case Key.QUIT:
            return place


# The terminal


@contextmanager
def keyboard() -> Iterator[int]:
    """Yield a descriptor that reads keys, also where a record comes through the standard input.

    Raises:
        OSError: there is no keyboard.
    """
    if sys.stdin.isatty():
        yield sys.stdin.fileno()
        return
    descriptor = os.open("/dev/tty", os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def watch(reel: Reel, console: Console, keys: int, *, pace: float = 1.0) -> None:
    """Show a game on a terminal until it is quit, and leave the terminal as it was, whatever ends it.

    Args:
        reel: the game.
        console: what is drawn on.
        keys: the descriptor that keys are read from.
        pace: seconds for each position where it plays by itself.
    """
    with ExitStack() as stack:
        stack.enter_context(suppress(KeyboardInterrupt))
        stack.enter_context(_ended_in_good_order())
        stack.enter_context(_key_by_key(keys))
        screen = stack.enter_context(console.screen(hide_cursor=True))
        place, rest, drawn = Place(1, len(reel)), b"", None
        while True:
            scene = place.seq, console.size
            if scene != drawn:
                screen.update(draw(reel.frame(place.seq), *console.size, ascii=console.options.ascii_only))
                drawn = scene
            if not select.select([keys], [], [], pace if place.playing else _LOOK_SECONDS)[0]:
                place = place.moved(1) if place.playing else place
                continue
            read = os.read(keys, 1024)
            found, rest = keys_in(rest + read)
            if not read or Key.QUIT in found:
                return
            for key in found:
                place = pressed(place, key)


@contextmanager
def _key_by_key(descriptor: int) -> Iterator[None]:
    """Let a terminal send each key at once, without showing it; in the end it does what it did before."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)
        changed = termios.tcgetattr(descriptor)
        changed[6][termios.VSUSP] = os.fpathconf(descriptor, "PC_VDISABLE").to_bytes(1, "big")
        termios.tcsetattr(descriptor, termios.TCSANOW, changed)  # else Ctrl-Z would leave it in this state
        yield
    finally:
        with suppress(termios.error):  # it may have gone
            termios.tcsetattr(descriptor, termios.TCSANOW, before)


@contextmanager
def _ended_in_good_order() -> Iterator[None]:
    """Let the signals that end a program unwind it first."""
    before = {number: signal.signal(number, _end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
