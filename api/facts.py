"""Events as clients see them: the envelope, the exact bytes, and the facts that every game has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

import strawberry

from api.cards import Card, faces
from api.context import Info
from api.players import Player, player
from domain import entropy, lifecycle, tables, turns
from domain.events import Event, acting_player

__all__ = [
    "LIFECYCLE_FACTS",
    "LIFECYCLE_TYPES",
    "DeadlineExtended",
    "Dealt",
    "Fact",
    "FactPresenters",
    "GameEvent",
    "GameLabelled",
    "Opened",
    "Place",
    "PlayerResigned",
    "PlayerSeated",
    "SeedsRevealed",
    "TimedOut",
    "dealt_of",
    "opened_of",
    "places",
]


@strawberry.interface(description="What happened, as everyone at the table may know it.")
class Fact:
    """A fact."""

    type: str = strawberry.field(description="The stable name of the fact, as docs/events.md lists them.")


FactPresenters: TypeAlias = Mapping[type[Any], Callable[[Any], Fact]]
"""How each fact is shown."""


@strawberry.type(description="A player took a seat.")
class PlayerSeated(Fact):
    """A player took a seat."""

    seat: int = strawberry.field(description="The seat, from 1.")
    player: Player = strawberry.field(description="Who sits there.")


@strawberry.type
class Opened(Fact):
    """What every opening tells, of whichever kind."""

    ruleset: int = strawberry.field(description="The numbered set of rulings.")
    host: Player = strawberry.field(description="Who opened it.")
    deal: UUID = strawberry.field(description="The deal that the seeds belong to.")
    commitment: str = strawberry.field(description="s_0 of the deal, hex.")
    dealing: str = strawberry.field(description="The published algorithm of the deal.")


def opened_of(fact: lifecycle.GameOpened) -> dict[str, Any]:
    """Return the fields of ``Opened``."""
    return {
        "type": fact.topic,
        "ruleset": fact.ruleset,
        "host": player(fact.host),
        "deal": fact.deal,
        "commitment": fact.commitment,
        "dealing": fact.dealing,
    }


@strawberry.type(description="The game bears a label: it belongs to those that its opener counts together.")
class GameLabelled(Fact):
    """The game was labelled."""

    label: str = strawberry.field(description="The label, as it was given when the game was opened.")


@strawberry.type
class Dealt(Fact):
    """What every deal tells, of whichever kind."""

    number: int = strawberry.field(description="Which deal of the chain of seeds, from 1.")
    entropies: list[str] = strawberry.field(
        description='The players\' own entropy in hex, in the order of joining; "-" for none.'
    )
    beacon: str = strawberry.field(description="The public random value named in advance; empty if none was.")


def dealt_of(fact: lifecycle.Dealt) -> dict[str, Any]:
    """Return the fields of ``Dealt``."""
    return {
        "type": fact.topic,
        "number": fact.number,
        "entropies": list(fact.entropies),
        "beacon": fact.beacon,
    }


@strawberry.type(description="A player came to the table; the host is the first to.")
class PlayerJoined(Fact):
    """A player came to the table."""

    player: Player = strawberry.field(description="Who came.")


@strawberry.type(description="A player went before the deal.")
class PlayerLeft(Fact):
    """A player left the table."""

    player: Player = strawberry.field(description="Who went.")


@strawberry.type(description="A player who came to the table committed to entropy for the deal (ruling G3).")
class EntropyCommitted(Fact):
    """A player committed to entropy."""

    player: Player = strawberry.field(description="Who.")
    commitment: str = strawberry.field(description="SHA-256 of the entropy's 32 bytes, hex.")


@strawberry.type(description="The public random value came that the opening names: it goes into the deal.")
class BeaconGiven(Fact):
    """The beacon was given."""

    beacon: str = strawberry.field(description="The value.")


@strawberry.type(description="The table is closed, and waits for the entropy that players have committed to.")
class EntropyDue(Fact):
    """Entropy is due."""

    players: list[Player] = strawberry.field(description="Who owes some, in the order of joining.")
    deadline: datetime | None = strawberry.field(description="When the time to reveal it runs out.")


@strawberry.type(description="A player revealed the entropy behind the commitment.")
class EntropyRevealed(Fact):
    """Entropy was revealed."""

    player: Player = strawberry.field(description="Who.")
    entropy: str = strawberry.field(description="32 bytes, hex.")


@strawberry.type(description="A player did not reveal the entropy that was due: the game is called off (ruling G3).")
class EntropyWithheld(Fact):
    """Entropy was withheld."""

    player: Player = strawberry.field(description="Who.")
    deadline: datetime | None = strawberry.field(
        description="When the time for it had run out; null where the player went, or called the game off, before that."
    )


@strawberry.type(description="The game was called off before its deal (ruling G3): nothing follows.")
class GameCancelled(Fact):
    """The game was cancelled."""


@strawberry.type(description="A seat has the turn.")
class TurnBegan(Fact):
    """A turn began."""

    seat: int = strawberry.field(description="The seat, from 1.")
    round: int = strawberry.field(description="From 1: in Tickle one turn of each seat still in, in TIC Poker a deal.")
    deadline: datetime | None = strawberry.field(
        description="When the turn runs out (ruling G2), where the table sets a time."
    )


@strawberry.type(description="A player gave up.")
class PlayerResigned(Fact):
    """A player gave up."""

    seat: int = strawberry.field(description="The seat, from 1.")


@strawberry.type(description="The servers were down, and the time they took is given back (ruling G2).")
class DeadlineExtended(Fact):
    """A later deadline."""

    deadline: datetime | None = strawberry.field(description="When the time runs out now.")


@strawberry.type(description="A seat's time ran out, and the server acted (ruling G2).")
class TimedOut(Fact):
    """Time ran out."""

    seat: int = strawberry.field(description="The seat, from 1.")
    deadline: datetime = strawberry.field(description="When the time had run out.")


@strawberry.type(description="The game is over and its seeds are held back: what was hidden stays so until then.")
class SeedsHeldBack(Fact):
    """The seeds are held back."""

    deadline: datetime | None = strawberry.field(description="Until when.")


@strawberry.type(description="The seeds of the deals were revealed: from here on anyone can deal the game again.")
class SeedsRevealed(Fact):
    """The record is closed."""

    seeds: list[str] = strawberry.field(description="s_1, s_2, ... in hex, as many as there were deals.")


@strawberry.type(description="One seat's line in a result.")
class Place:
    """One seat's line in a result."""

    seat: int = strawberry.field(description="The seat, from 1.")
    place: int | None = strawberry.field(description="1 for the winner; null where the game was not won.")


def places(finished: lifecycle.GameFinished) -> list[Place]:
    """Show the places of a result."""
    return [Place(seat=place.seat, place=place.place) for place in finished.places]


LIFECYCLE_TYPES: Final = (
    GameLabelled,
    PlayerJoined,
    PlayerLeft,
    EntropyCommitted,
    BeaconGiven,
    EntropyDue,
    EntropyRevealed,
    EntropyWithheld,
    GameCancelled,
    PlayerSeated,
    TurnBegan,
    PlayerResigned,
    DeadlineExtended,
    TimedOut,
    SeedsHeldBack,
    SeedsRevealed,
)
LIFECYCLE_FACTS: FactPresenters = {
    lifecycle.GameLabelled: lambda fact: GameLabelled(type=fact.topic, label=fact.label),
    tables.PlayerJoined: lambda fact: PlayerJoined(type=fact.topic, player=player(fact.player)),
    tables.PlayerLeft: lambda fact: PlayerLeft(type=fact.topic, player=player(fact.player)),
    entropy.EntropyCommitted: lambda fact: EntropyCommitted(
        type=fact.topic, player=player(fact.player), commitment=fact.commitment
    ),
    entropy.BeaconGiven: lambda fact: BeaconGiven(type=fact.topic, beacon=fact.beacon),
    entropy.EntropyDue: lambda fact: EntropyDue(
        type=fact.topic, players=[player(one) for one in fact.players], deadline=fact.deadline
    ),
    entropy.EntropyRevealed: lambda fact: EntropyRevealed(
        type=fact.topic, player=player(fact.player), entropy=fact.entropy
    ),
    entropy.EntropyWithheld: lambda fact: EntropyWithheld(
        type=fact.topic, player=player(fact.player), deadline=fact.deadline
    ),
    lifecycle.GameCancelled: lambda fact: GameCancelled(type=fact.topic),
    turns.TurnBegan: lambda fact: TurnBegan(type=fact.topic, seat=fact.seat, round=fact.round, deadline=fact.deadline),
    lifecycle.PlayerSeated: lambda fact: PlayerSeated(type=fact.topic, seat=fact.seat, player=player(fact.player)),
    lifecycle.PlayerResigned: lambda fact: PlayerResigned(type=fact.topic, seat=fact.seat),
    lifecycle.DeadlineExtended: lambda fact: DeadlineExtended(type=fact.topic, deadline=fact.deadline),
    lifecycle.TimedOut: lambda fact: TimedOut(type=fact.topic, seat=fact.seat, deadline=fact.deadline),
    lifecycle.SeedsHeldBack: lambda fact: SeedsHeldBack(type=fact.topic, deadline=fact.deadline),
    lifecycle.SeedsRevealed: lambda fact: SeedsRevealed(type=fact.topic, seeds=list(fact.seeds)),
}


@strawberry.type(description="A fact in its envelope: who, when, and its link in the chain of hashes.")
class GameEvent:
    """An event."""

    event: strawberry.Private[Event]
    presenters: strawberry.Private[FactPresenters]
    people: strawberry.Private[Mapping[UUID, Player] | None] = None
    """Players whose names are read already, as for a whole page; those of others are looked up."""

    @strawberry.field(description="The number in the game, from 1. It is the game's version after the event.")
    def seq(self) -> int:
        """Return the sequence number."""
        return self.event.seq

    @strawberry.field(description="When it happened, by the database's clock.")
    def at(self) -> datetime:
        """Return the time."""
        return self.event.cause.at

    @strawberry.field(description="Whose request it was; null for what the server does by itself.")
    def player(self) -> Player | None:
        """Return who asked for it."""
        uuid: UUID | None = acting_player(self.event.cause.actor)
        if uuid is None:
            return None
        known = self.people.get(uuid) if self.people else None
        return known or player(uuid)

    @strawberry.field(description="1..parts: the events of one command stand together.")
    def part(self) -> int:
        """Return which of its command's events it is."""
        return self.event.part

    @strawberry.field(description="How many events its command has.")
    def parts(self) -> int:
        """Return how many events its command has."""
        return self.event.parts

    @strawberry.field(description="The stable name of the fact.")
    def type(self) -> str:
        """Return the topic."""
        return self.event.fact.topic

    @strawberry.field(description="What happened.")
    def fact(self) -> Fact:
        """Show the fact."""
        fact = self.event.fact
        return self.presenters[type(fact)](fact)

    @strawberry.field(
        description="The cards that came into your own hand with this event, in the order of their places: nobody else "
        "is told them, and the stored bytes do not have them. Empty for all others."
    )
    async def cards(self, info: Info) -> list[Card]:
        """Return the caller's own new cards."""
        caller = info.context.player
        if caller is None:
            return []
        record = await info.context.record(self.event.game, at_least=self.event.seq)
        came_to, seat = record.decider.came_to, record.table.seat_of(caller)
        if not seat:
            return []
        return faces(await info.context.world.blocking(lambda: came_to(record.table, seat, self.event.seq)))

    @strawberry.field(description="The exact stored bytes, which are UTF-8 JSON. Hash these; do not write them anew.")
    def bytes(self) -> str:
        """Return the stored bytes."""
        return self.event.data.decode()

    @strawberry.field(description='SHA-256 of "tic/event/v1\\n" and the bytes, hex.')
    def hash(self) -> str:
        """Return the event's hash."""
        return self.event.hash

    @strawberry.field(description="The hash of the event before; 64 zeros for the first.")
    def previous_hash(self) -> str:
        """Return the link in the chain."""
        return self.event.prev
