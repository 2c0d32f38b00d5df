"""How a game of TIC Poker is told: its sentences, its curve, and its hand history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from domain import telling
from domain.cards import Card
from domain.decider import Fact, Names, Position
from domain.lifecycle import GameCancelled, PlayerResigned, TimedOut
from domain.poker import facts as f
from domain.poker.facts import Ending, Variation
from domain.poker.hands import Rank
from domain.poker.table import PokerTable
from domain.telling import NOBODY_NAMED, counted, folded, listed, named, nth, short, standings, terms
from domain.turns import TurnBegan

__all__ = ["RANKS", "note", "score", "tell"]

_STAGES: Final = ("first", "second", "third", "fourth", "fifth")
_ENDINGS: Final = {
    Ending.ROUNDS: "All rounds are played",
    Ending.RESIGNATIONS: "Only one seat is left",
}
RANKS: Final = {
    Rank.HIGH_CARD: "High Card",
    Rank.THREE_CARD_SINGLE: "Three-Card Single",
    Rank.TIC_PAIR: "Tic Pair",
    Rank.FOUR_CARD_SINGLE: "Four-Card Single",
    Rank.LITTLE_HOUSE: "Little House",
    Rank.FIVE_CARD_SINGLE: "Five-Card Single",
    Rank.TWO_TIC_PAIRS: "Two Tic Pairs",
    Rank.THREE_CARD_TIC: "Three-Card Tic",
    Rank.BIG_HOUSE: "Big House",
    Rank.FOUR_CARD_TIC: "Four-Card Tic",
    Rank.FIVE_CARD_TIC: "Five-Card Tic",
}
"""By their names in the sheet."""


# Sentences


def tell(fact: Fact, before: PokerTable, after: PokerTable, names: Names = NOBODY_NAMED) -> str:
    """Tell of a fact of this game.

    Raises:
        LookupError: there are no words for such a fact.
    """
    match fact:
        case TurnBegan(seat=seat):
            return _turn(seat, before, after, names)
        case f.CardsExchanged(seat=seat, slots=slots):
            which = "card" if len(slots) == 1 else "cards"
            return f"{named(seat, names)} exchanges private {which} {listed(slots)}."
        case f.CommunityCardExchanged(seat=seat, slot=slot, card=card):
            return f"{named(seat, names)} exchanges the community card {before.community[slot - 1]} for {card}."
        case f.CardsKept(seat=seat):
            return f"{named(seat, names)} keeps its cards."
        case f.Called(seat=seat):
            return f"{named(seat, names)} calls: every other seat has one last turn."
        case f.CommunityCardTurned(card=card):
            return f"The {nth(len(after.community))} community card is {card}."
        case TimedOut(seat=seat) if before.declaring:
            return f"The time of {named(seat, names)} to declare runs out."
        case TimedOut(seat=seat):
            return f"The time of {named(seat, names)} runs out, and its cards are kept."
        case _:
            return _tell_round(fact, before, after, names)


def _tell_round(fact: Fact, before: PokerTable, after: PokerTable, names: Names) -> str:
    match fact:
        case f.PokerOpened():
            return telling.opening(fact, "TIC Poker", *_asked(fact.options))
        case f.RoundDealt():
            return _dealt(fact, names)
        case f.HandsRevealed(hands=hands):
            return f"The hands are revealed: {'; '.join(_held(hand, names) for hand in hands)}."
        case f.HandDeclared():
            return _declared(fact, before, names)
        case f.RoundScored(places=places):
            told = standings((line.place, named(line.seat, names), line.points) for line in places)
            return f"Round {before.deals} is scored: {told}."
        case f.PokerFinished(ending=ending, places=places):
            who = {line.seat: named(line.seat, names) + (" (resigned)" if line.resigned else "") for line in places}
            return f"{_ENDINGS[ending]}: {standings((line.place, who[line.seat], line.points) for line in places)}."
        case _:
            return telling.tell(fact, before, after, names)


def _asked(options: f.Options) -> tuple[str, ...]:
    asked = [counted(options.rounds, "round")]
    if options.variation is Variation.COMMUNITY_EXCHANGE:
        asked.append("Community Exchange")
    if options.variation is Variation.DRAW:
        asked.append(f"Draw Poker with {counted(options.stages, 'exchange')}")
    if options.cards_speak:
        asked.append("cards speak")
    return tuple(asked)


def _turn(seat: int, before: PokerTable, after: PokerTable, names: Names) -> str:
    if after.caller:
        return f"{named(seat, names)} has its last turn of the round."
    if not before.to_act:
        return f"The {_STAGES[after.stage - 1]} exchange begins: {named(seat, names)} has the turn."
    return f"{named(seat, names)} has the turn."


def _dealt(fact: f.RoundDealt, names: Names) -> str:
    seats, cards = len(fact.seats), counted(fact.private, "card")
    shown = f"; {listed(fact.community)} lie open" if fact.community else ""
    return f"{named(fact.dealer, names)} deals round {fact.number}, {cards} to each of {seats} seats{shown}."


def _held(hand: f.RevealedHand, names: Names) -> str:
    return f"{named(hand.seat, names)} has {listed(hand.cards)}"


def _declared(fact: f.HandDeclared, before: PokerTable, names: Names) -> str:
    hand = f"{RANKS[fact.rank]} with {listed(fact.cards)}"
    if before.options.cards_speak or fact.seat in before.late:
        return f"The hand of {named(fact.seat, names)} counts as {hand}."
    return f"{named(fact.seat, names)} declares {hand}."


# The curve


def score(table: PokerTable) -> tuple[int, ...] | None:
    """Return each seat's points from the rounds that are over (P8)."""
    return table.points if table.dealt else None


# The hand history


def note(positions: Iterable[Position[PokerTable]]) -> Iterator[str]:
    """Yield the history of a game, round by round: what was done in each stage, the hands, and what they scored."""
    words: list[str] = []
    for fact, before, after in positions:
        words += _word(fact, before)
        if words and (isinstance(fact, _AFTER_A_STAGE) or _begins_a_stage(fact, before)):
            label = "declaring" if before.revealed_hands else f"stage {before.stage}"
            yield from folded(f"  {label:<11}", words)
            words = []
        match fact:
            case f.PokerOpened():
                yield from folded("TIC Poker  ", terms(fact.options, f"ruleset {fact.ruleset}", *_asked(fact.options)))
            case GameCancelled():
                yield "           cancelled before the deal"
            case f.RoundDealt():
                yield ""
                yield f"Round {fact.number}: seat {fact.dealer} deals to {', '.join(map(str, fact.seats))}"
                yield from _community(after)
            case f.CommunityCardTurned():
                yield from _community(after)
            case f.RoundScored():
                yield from _hands(before, after.points, fact.places)
            case f.PokerFinished():
                yield from _ended(fact, before)
            case _:
                pass


_AFTER_A_STAGE: Final = (f.CommunityCardTurned, f.HandsRevealed, f.RoundScored, f.PokerFinished)


def _begins_a_stage(fact: Fact, before: PokerTable) -> bool:
    return isinstance(fact, TurnBegan) and not before.to_act


def _word(fact: Fact, before: PokerTable) -> list[str]:
    match fact:
        case f.CardsExchanged(seat=seat, slots=slots):
            return [f"{seat} x{'+'.join(map(str, slots))}"]
        case f.CommunityCardExchanged(seat=seat, slot=slot, card=card):
            return [f"{seat} xC{slot}={short(card)}"]
        case f.CardsKept(seat=seat):
            return [f"{seat} keeps"]
        case f.Called(seat=seat):
            return [f"{seat} calls"]
        case TimedOut(seat=seat) if not before.declaring:
            return [f"{seat} times out"]
        case PlayerResigned(seat=seat):
            return [f"{seat} resigns"]
        case _:
            return []


def _community(table: PokerTable) -> Iterator[str]:
    if table.community:
        yield f"  {'community':<11}{_cards(table.community)}"


def _cards(cards: Sequence[Card]) -> str:
    return " ".join(map(short, cards))


def _hands(table: PokerTable, points: Sequence[int], places: Sequence[f.RoundPlace]) -> Iterator[str]:
    """Yield a line for each hand that was revealed, in the order of turns; a seat without a place has resigned since.

    It has the seat, the private cards, the hand, its rank, the place in the round, its points, and the points so far.
    """
    if table.revealed_hands is None:
        return
    declared, ranked = {fact.seat: fact for fact in table.declared}, {line.seat: line for line in places}
    for hand in table.revealed_hands.hands:
        told, line = declared.get(hand.seat), ranked.get(hand.seat)
        late = ", late" if hand.seat in table.late else ""
        what = f"{_cards(told.cards)}  {RANKS[told.rank]}{late}" if told else ""
        place, more = (nth(line.place), f"+{line.points}") if line else ("-", "")
        private = f"{_cards(hand.cards):<{4 * len(hand.cards)}}"
        yield f"  {hand.seat}  {private} {what:<38}{place:>4}{more:>4}{points[hand.seat - 1]:>5}"


def _ended(fact: f.PokerFinished, before: PokerTable) -> Iterator[str]:
    if len(before.played) < before.deals:
        yield from _hands(before, before.points, ())
        yield "  not scored"
    yield ""
    yield f"{_ENDINGS[fact.ending]}."
    for line in sorted(fact.places, key=lambda line: line.place):
        resigned = "  resigned" if line.resigned else ""
        yield f"  {nth(line.place)}  seat {line.seat}{line.points:>5}{resigned}"
