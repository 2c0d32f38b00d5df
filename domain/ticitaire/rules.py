"""The rules of Ticitaire: commands, what they lead to, and how the table evolves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Final
from uuid import UUID

from pydantic import Field

from domain import entropy, lifecycle
from domain.dealing import Seeds, deal_order
from domain.decider import Command, Decider, Fact, OpenCommand, RuleViolation, Viewer, fold
from domain.entropy import (
    BeaconGiven,
    Commitment,
    EntropyWithheld,
    RevealEntropy,
    beacon_of,
    commitment_of,
)
from domain.labels import StoredLabel
from domain.lifecycle import (
    ExtendDeadline,
    GameCancelled,
    Place,
    PlayerResigned,
    PlayerSeated,
    Resign,
    RunOutOfTime,
    SeedsRevealed,
    changed,
    extended,
    in_time,
    label_of,
    labelled,
    still_open,
    time_out,
)
from domain.seating import must_be_host
from domain.tables import Cancel, Leave, Start
from domain.ticitaire import facts as f
from domain.ticitaire.counting import COUNTERS, count
from domain.ticitaire.facts import Ending, Spot
from domain.ticitaire.fitting import must_fit
from domain.ticitaire.moves import legal_routes, must_be_legal
from domain.ticitaire.table import DEALT, NOTHING_EARLIER, Earlier, TicitaireTable
from domain.ticitaire.telling import note, score, tell
from domain.ticitaire.views import TicitaireView, view
from domain.turns import leaving

__all__ = ["TICITAIRE", "MoveCards", "OpenTicitaire", "RecycleWaste", "TakeBack", "TurnStock"]
__all__ += ["decide", "evolve", "legal_commands"]

KIND: Final = "ticitaire"
RULESET: Final = 1


class OpenTicitaire(Command):
    """Open a game of one player. It is dealt at once, unless the deal waits for entropy or a beacon (G3)."""

    name: ClassVar[str] = "ticitaire.OpenTicitaire"

    player: UUID
    options: f.Options = f.Options()
    label: StoredLabel | None = Field(default=None, exclude_if=lambda label: label is None)
    """Given anew, it is a ``Label``: what was given once is decided again by programs that know another Unicode."""
    commitment: Commitment | None = Field(default=None, exclude_if=lambda commitment: commitment is None)
    """To the player's own entropy."""


class MoveCards(Command):
    """Move the run, or the card in reach, from one place to another (S2 to S6)."""

    name: ClassVar[str] = "ticitaire.MoveCards"

    source: Spot
    target: Spot


class TurnStock(Command):
    """Turn the stock's next card to the waste (S8)."""

    name: ClassVar[str] = "ticitaire.TurnStock"


class RecycleWaste(Command):
    """Turn the waste over to be the stock again (S8)."""

    name: ClassVar[str] = "ticitaire.RecycleWaste"


class TakeBack(Command):
    """Return to the position before the last moves (S11)."""

    name: ClassVar[str] = "ticitaire.TakeBack"

    moves: int = Field(default=1, ge=1)


def empty(seeds: Seeds | None) -> TicitaireTable:
    """Return the table before the first fact."""
    return TicitaireTable(seeds=seeds)


# What a command leads to


def decide(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    """Return the facts of a command that is given at a time, in UTC.

    Raises:
        RuleViolation: a rule refuses it.
        LookupError: it needs a hidden card, and the table was folded without its seeds.
    """
    command = leaving(command, table)
    if isinstance(command, OpenTicitaire):
        return _open(command, table, at)
    if isinstance(command, RunOutOfTime) and table.held_back:
        return (lifecycle.reveal_at_last(table, at),)
    still_open(table, "S9")
    if table.dealt is None:
        return _decide_before_the_deal(command, table, at)
    match command:
        case RunOutOfTime():
            return _finish(table, at, time_out(table, at, seat=1), ending=Ending.GIVEN_UP)  # G2
        case ExtendDeadline():
            return (extended(table, command),)
        case Resign():
            return _finish(
                table, at, PlayerResigned(seat=command.seat), ending=Ending.GIVEN_UP
            )  # Ticitaire S9: at any time
        case Start() | Cancel() | RevealEntropy():
            raise RuleViolation("ALREADY_STARTED", "G3", "This game has started: play it, or give it up.")
        case _:
            in_time(table, at)
            return _decide_in_time(command, table, at)


def _decide_before_the_deal(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    """Decide what there is to decide while the deal waits for the beacon or the player's entropy (G3)."""
    match command:
        case RunOutOfTime():
            return *entropy.run_out(table, at), GameCancelled()
        case ExtendDeadline():
            return (extended(table, command),)
        case RevealEntropy():
            return entropy.reveal(command, table, at, deal=lambda ready: _deal(ready, at), after=evolve)
        case Start(player=player):
            must_be_host(table, player)
            if table.due:
                message = "This game waits for the entropy that you have committed to: reveal it."
                raise RuleViolation("ENTROPY_IS_DUE", "G3", message)
            return entropy.begin(table, command.beacon, at, deal=lambda ready: _deal(ready, at), after=evolve)
        case Cancel(player=player):
            in_time(table, at)
            must_be_host(table, player)
            return *entropy.withhold(table, player), GameCancelled()
        case _:
            message = "This game is not dealt yet: start it, reveal your entropy, or cancel it."
            raise RuleViolation("NOT_STARTED", "G3", message)


def _decide_in_time(command: Command, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    match command:
        case MoveCards():
            return _with_the_win(table, at, *_move(command, table))
        case TurnStock():
            return (_turn(table),)
        case RecycleWaste():
            return (_recycle(table),)
        case TakeBack():
            return (_take_back(command, table),)
        case _:
            raise TypeError(f"{type(command).__name__} is not a command of {KIND}")


def _open(command: OpenTicitaire, table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    if table.seeds is None:
        raise LookupError("a game is opened with its seeds")
    if table.opened is not None:
        raise ValueError("a game is opened once")
    options = command.options
    entropy.must_have_fitting_seal(options, at)
    committed = entropy.commit(options, command.player, command.commitment)
    opened = f.TicitaireOpened(
        ruleset=RULESET,
        host=command.player,
        deal=table.seeds.deal,
        commitment=table.seeds.commitment.hex(),
        options=options,
    )
    facts = (opened, *labelled(command.label), *committed, PlayerSeated(seat=1, player=command.player))
    if options.beacon is not None:
        return facts
    ready = fold(evolve, table, facts)
    return *facts, *entropy.begin(ready, None, at, deal=lambda ready: _deal(ready, at), after=evolve)


def _deal(table: TicitaireTable, at: datetime) -> tuple[Fact, ...]:
    if table.seeds is None:
        raise LookupError("a game is dealt with its seeds")
    entropies = entropy.entropies(table, table.players)
    order = deal_order(table.seeds, number=1, entropies=entropies, beacon=table.beacon)
    exposed = tuple(order[column.run[0]] for column in DEALT.columns)  # Ticitaire S1
    limit = table.options.time_limit
    deadline = at + timedelta(seconds=limit) if limit is not None else None
    dealt = f.TableauDealt(number=1, entropies=entropies, beacon=table.beacon, exposed=exposed, deadline=deadline)
    return (dealt,)


def _move(command: MoveCards, table: TicitaireTable) -> tuple[Fact, ...]:
    source, target = command.source, command.target
    must_be_legal(table.layout, table.card, source, target, strict_duo=table.options.strict_duo)
    cards = tuple(map(table.card, table.layout.taken(source, target)))
    moved = f.CardsMoved(source=source, target=target, cards=cards)
    uncovered = table.layout.moved(source, target).to_turn_up(source)
    if uncovered is None:
        return (moved,)
    return moved, f.CardTurnedUp(column=source, card=table.card(uncovered))  # Ticitaire S7


def _turn(table: TicitaireTable) -> Fact:
    if not table.layout.stock:  # Ticitaire S8
        hint = "Recycle the waste." if table.layout.waste else "Every card of it is in play."
        raise RuleViolation("STOCK_EMPTY", "S8", f"The stock is empty. {hint}")
    return f.StockTurned(card=table.card(table.layout.stock[0]))


def _recycle(table: TicitaireTable) -> Fact:
    if table.layout.stock:  # Ticitaire S8
        raise RuleViolation("STOCK_NOT_EMPTY", "S8", "The waste is turned over only when the stock is empty.")
    if not table.layout.waste:
        raise RuleViolation("WASTE_EMPTY", "S8", "There is no waste to turn over.")
    return f.WasteRecycled(cards=len(table.layout.waste))


def _take_back(command: TakeBack, table: TicitaireTable) -> Fact:
    if not table.options.take_back:  # Ticitaire S11
        raise RuleViolation("TAKE_BACK_OFF", "S11", "This table was opened without taking back: open another with it.")
    if command.moves > len(table.earlier):
        had = len(table.earlier)
        raise RuleViolation("NOTHING_TO_TAKE_BACK", "S11", f"There are {had} moves to take back, not {command.moves}.")
    to_version, _, _ = table.earlier.before_the_last(command.moves)
    return f.MovesTakenBack(moves=command.moves, to_version=to_version)


def _with_the_win(table: TicitaireTable, at: datetime, *facts: Fact) -> tuple[Fact, ...]:
    won = fold(evolve, table, facts).layout.won
    return _finish(table, at, *facts, ending=Ending.WON) if won else facts  # Ticitaire S9


def _finish(table: TicitaireTable, at: datetime, *facts: Fact, ending: Ending) -> tuple[Fact, ...]:
    after = fold(evolve, table, facts)
    finished = f.TicitaireFinished(
        ending=ending,
        places=(Place(seat=1, place=1 if ending is Ending.WON else None),),
        buried=after.layout.buried,
        unplayed=after.layout.unplayed,
        moves=after.moves,
        turns=after.turns,
        recycles=after.recycles,
        take_backs=after.take_backs,
    )
    return *facts, finished, lifecycle.reveal_or_hold_back(after, table.options.sealed_until, at)


# How the table evolves


def evolve(table: TicitaireTable, fact: Fact) -> TicitaireTable:
    """Return the table after a fact; never refuses."""
    version, layout = table.version + 1, table.layout
    if isinstance(fact, f.CardsMoved):
        layout, earlier = layout.moved(fact.source, fact.target), _and_earlier(table)
        return changed(table, version=version, layout=layout, moves=table.moves + 1, earlier=earlier)
    if isinstance(fact, f.StockTurned):
        seen, earlier = table.saw(layout.stock[0], fact.card), _and_earlier(table)
        layout, turns = layout.stock_turned(), table.turns + 1
        return changed(table, version=version, layout=layout, seen=seen, turns=turns, earlier=earlier)
    if isinstance(fact, f.CardTurnedUp):
        seen = table.saw(layout.column(fact.column).buried[-1], fact.card)
        return changed(table, version=version, layout=layout.turned_up(fact.column), seen=seen)
    return _evolve_seldom(table, fact)


def _evolve_seldom(table: TicitaireTable, fact: Fact) -> TicitaireTable:
    match fact:
        case f.WasteRecycled():
            earlier, recycles = _and_earlier(table), table.recycles + 1
            layout = table.layout.recycled()
            return changed(table, version=table.version + 1, layout=layout, recycles=recycles, earlier=earlier)
        case f.MovesTakenBack():
            _, layout, earlier = table.earlier.before_the_last(fact.moves)
            take_backs = table.take_backs + 1
            return changed(table, version=table.version + 1, layout=layout, earlier=earlier, take_backs=take_backs)
        case f.TicitaireOpened():
            return changed(lifecycle.evolve(table, fact), options=fact.options)
        case f.TableauDealt():
            return _dealt(lifecycle.evolve(table, fact), fact)
        case SeedsRevealed():
            return _revealed(lifecycle.evolve(table, fact))
        case _:
            return entropy.evolve(table, fact)


def _dealt(table: TicitaireTable, fact: f.TableauDealt) -> TicitaireTable:
    seen = list(table.seen)
    for column, card in zip(DEALT.columns, fact.exposed, strict=True):
        seen[column.run[0]] = card
    return changed(table, layout=DEALT, seen=tuple(seen), deck=lifecycle.order_of(table, fact), dealt=fact)


def _revealed(table: TicitaireTable) -> TicitaireTable:
    """Every card is known from here on, also to whoever folded without seeds."""
    deck = lifecycle.order_of(table, table.dealt) if table.dealt else None
    return changed(table, deck=deck, seen=deck or table.seen)


def _and_earlier(table: TicitaireTable) -> Earlier:
    """The positions to return to, with the present one; a table that never takes back keeps none."""
    return table.earlier.and_then(table.version, table.layout) if table.options.take_back else NOTHING_EARLIER


# Back from facts to the command, and what is open


def command_of(facts: Sequence[Fact], table: TicitaireTable) -> Command:
    """Return the command that these facts answered at a table.

    Raises:
        ValueError: no command of this game leads to such facts.
    """
    match facts[0]:
        case f.TicitaireOpened() as fact:
            commitment = commitment_of(facts)
            return OpenTicitaire(player=fact.host, options=fact.options, label=label_of(facts), commitment=commitment)
        case f.CardsMoved() as fact:
            return MoveCards(seat=1, source=fact.source, target=fact.target)
        case f.StockTurned():
            return TurnStock(seat=1)
        case f.WasteRecycled():
            return RecycleWaste(seat=1)
        case f.MovesTakenBack() as fact:
            return TakeBack(seat=1, moves=fact.moves)
        case BeaconGiven() if table.opened:
            return Start(player=table.opened.host, beacon=beacon_of(facts))
        case GameCancelled() | EntropyWithheld(deadline=None) if table.opened:
            return Cancel(player=table.opened.host)
        case _:
            return entropy.command_of(facts, table)


def legal_commands(table: TicitaireTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    """Return exactly the commands that ``decide`` accepts from a viewer, while there is time.

    Taking back is listed for one move; of revealing, and of a start with a beacon, only that it is open.
    """
    if viewer.seat != 1 or table.over or table.opened is None:
        return ()
    if table.dealt is None:
        start = () if table.due else (Start,)
        return *entropy.may_reveal(table, viewer), *start, Cancel(player=table.opened.host)
    commands: list[Command] = [
        MoveCards(seat=1, source=source, target=target)
        for source, target in legal_routes(table.layout, table.card, strict_duo=table.options.strict_duo)
    ]
    if table.layout.stock:
        commands.append(TurnStock(seat=1))
    elif table.layout.waste:
        commands.append(RecycleWaste(seat=1))
    if table.earlier:
        commands.append(TakeBack(seat=1))
    return *commands, Resign(seat=1)


def awaits(table: TicitaireTable) -> tuple[int, ...]:
    """Return the seats that a game waits for: the only one, from the deal to the end."""
    return (1,) if table.dealt is not None and not table.over else ()


def awaited_after(seats: tuple[int, ...], fact: Fact) -> tuple[int, ...]:
    """Return the seats that a game waits for after a fact, from those before it."""
    match fact:
        case f.TableauDealt():
            return (1,)
        case f.TicitaireFinished():
            return ()
        case _:
            return seats


TICITAIRE: Final = Decider[TicitaireTable, TicitaireView](
    kind=KIND,
    ruleset=RULESET,
    deals=1,
    facts=f.FACTS,
    commands=(
        OpenTicitaire,
        Start,
        Cancel,
        RevealEntropy,
        MoveCards,
        TurnStock,
        RecycleWaste,
        TakeBack,
        Resign,
        Leave,
        RunOutOfTime,
        ExtendDeadline,
    ),
    empty=empty,
    decide=decide,
    evolve=evolve,
    must_fit=must_fit,
    view=view,
    command_of=command_of,
    legal_commands=legal_commands,
    tell=tell,
    score=score,
    note=note,
    counters=COUNTERS,
    count=count,
    awaits=awaits,
    awaited_after=awaited_after,
)
"""Ticitaire under ruleset 1."""
