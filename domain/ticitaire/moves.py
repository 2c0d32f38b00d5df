"""Which moves of cards are legal: the one source of legality for commands, lists of moves and the search.

Only face-up cards are consulted, so neither a refusal nor a list of legal moves can tell of a hidden one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from domain.cards import Card, is_duo, is_tic, is_tripo
from domain.decider import RuleViolation
from domain.ticitaire.facts import COLUMNS, PILES, Spot
from domain.ticitaire.table import Layout

__all__ = [
    "ROUTES",
    "Faces",
    "Reach",
    "legal_routes",
    "may_go",
    "must_be_legal",
    "starts_high",
    "starts_low",
    "why_not",
]

Faces = Callable[[int], Card]
"""Tells the card at a deck position that lies face up."""

Refusal = tuple[str, str, str]
"""Code, ruling, sentence."""

SAME_SPOT: Final = ("SAME_SPOT", "S2", "A move goes from one place to another; name two different ones.")
NOTHING_THERE: Final = (
    "NOTHING_THERE",
    "S2",
    "No face-up card lies where the move starts: name another place.",
)
NOT_TO_WASTE: Final = ("NOT_TO_WASTE", "S5", "No card is moved to the waste: only turning the stock puts cards there.")
PILE_TO_PILE: Final = ("PILE_TO_PILE", "S5", "Cards do not move from one sequence pile to the other.")
RUN_NO_TIC: Final = ("RUN_NO_TIC", "S2", "The run's top card must Tic with the exposed card of the other column.")
CARD_NO_TIC: Final = ("CARD_NO_TIC", "S2", "The card must Tic with the exposed card of the column.")
PILE_NO_TIC: Final = ("PILE_NO_TIC", "S5", "The pile's top card must Tic with the exposed card of the column.")
NEEDS_FIVE: Final = ("NEEDS_FIVE", "S6", "An empty column takes only a 5, or a run whose top card is a 5.")
LOW_START: Final = ("LOW_START", "S4", "The low pile starts with a card that has at least two of 1, circle and violet.")
HIGH_START: Final = ("HIGH_START", "S4", "The high pile starts with a card that has at least two of 5, star and red.")
NO_SEQUENCE: Final = ("NO_SEQUENCE", "S4", "The card must make a Duo or a Tripo with the pile's top card.")
NO_STRICT_DUO: Final = (
    "NO_STRICT_DUO",
    "C4",
    "This table plays the strict Duo: two properties change by one step and the third stays equal.",
)

ROUTES: Final = tuple(
    (source, target)
    for source in Spot
    for target in Spot
    if source is not target and target is not Spot.WASTE and not (source in PILES and target in PILES)
)
"""Every way that cards can go at all."""


def starts_low(card: Card) -> bool:
    """Whether the card has at least two of the lowest values (S4)."""
    return (card.number == 1) + (card.shape == 1) + (card.colour == 1) >= 2


def starts_high(card: Card) -> bool:
    """Whether the card has at least two of the highest values (S4)."""
    return (card.number == 5) + (card.shape == 5) + (card.colour == 5) >= 2


class Reach:
    """The cards that a move can take, and those it can go upon, at every spot of one layout."""

    __slots__ = ("exposed", "tops")

    def __init__(self, layout: Layout, face: Faces) -> None:
        piles = {spot: layout.pile(spot) for spot in Spot}
        self.exposed: Final = {spot: face(pile[-1]) if pile else None for spot, pile in piles.items()}
        """The exposed card of a column; the top of a sequence pile or of the waste (S2, S3, S5)."""
        self.tops: Final = {spot: face(piles[spot][0]) if piles[spot] else None for spot in COLUMNS}
        """The top card of a column's run (S2)."""


def why_not(reach: Reach, source: Spot, target: Spot, *, strict_duo: bool) -> Refusal | None:
    """Return why cards may not go from ``source`` to ``target``, or None where they may."""
    if source is target:
        return SAME_SPOT
    if target is Spot.WASTE:
        return NOT_TO_WASTE  # Ticitaire S5
    onto_column = target in reach.tops
    if source in PILES and not onto_column:
        return PILE_TO_PILE  # Ticitaire S5
    between_columns = onto_column and source in reach.tops
    card = reach.tops[source] if between_columns else reach.exposed[source]
    if card is None:
        return NOTHING_THERE
    if onto_column:
        return _why_not_on_column(card, reach.exposed[target], source)
    return _why_not_on_pile(card, reach.exposed[target], target, strict_duo=strict_duo)


def may_go(reach: Reach, card: Card, target: Spot, *, strict_duo: bool) -> bool:
    """Whether a single card, if it were in reach, might go to a column or a sequence pile."""
    top = reach.exposed[target]
    if target in reach.tops:
        return _why_not_on_column(card, top, Spot.WASTE) is None
    return _why_not_on_pile(card, top, target, strict_duo=strict_duo) is None


def _why_not_on_pile(card: Card, top: Card | None, target: Spot, *, strict_duo: bool) -> Refusal | None:
    if top is None:  # Ticitaire S4
        if target is Spot.LOW:
            return None if starts_low(card) else LOW_START
        return None if starts_high(card) else HIGH_START
    if is_tripo(card, top) or is_duo(card, top, strict=strict_duo):  # Ticitaire S4, C4
        return None
    return NO_STRICT_DUO if is_duo(card, top) else NO_SEQUENCE


def _why_not_on_column(card: Card, top: Card | None, source: Spot) -> Refusal | None:
    if top is None:
        return None if card.number == 5 else NEEDS_FIVE  # Ticitaire S6
    if is_tic(card, top):  # Ticitaire S2, S5
        return None
    if source in COLUMNS:
        return RUN_NO_TIC
    return CARD_NO_TIC if source is Spot.WASTE else PILE_NO_TIC


def must_be_legal(layout: Layout, face: Faces, source: Spot, target: Spot, *, strict_duo: bool) -> None:
    """Refuse an illegal move.

    Raises:
        RuleViolation: with the first rule that it breaks.
    """
    refusal = why_not(Reach(layout, face), source, target, strict_duo=strict_duo)
    if refusal is not None:
        raise RuleViolation(*refusal)


def legal_routes(layout: Layout, face: Faces, *, strict_duo: bool) -> Iterator[tuple[Spot, Spot]]:
    """Yield every legal move as (source, target), columns first."""
    reach = Reach(layout, face)
    for source, target in ROUTES:
        if why_not(reach, source, target, strict_duo=strict_duo) is None:
            yield source, target
