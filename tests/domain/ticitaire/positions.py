"""Tables in a position that a test lays out card by card, and pictures of tables to compare."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from domain.cards import DECK, Card
from domain.decider import Fact
from domain.ticitaire.facts import Options, TableauDealt, TicitaireOpened
from domain.ticitaire.rules import TICITAIRE, MoveCards, OpenTicitaire
from domain.ticitaire.table import Column, Layout, TicitaireTable
from tests.given import NOON, PLAYER, SEEDS

__all__ = ["Picture", "cards", "move", "opening", "picture", "position"]

Picture = dict[str, object]
"""A layout in cards, as the files of ``tests/vectors`` write it."""

COLUMNS: Final = 7


def cards(names: str) -> tuple[Card, ...]:
    """Return the cards of names with spaces between them."""
    return tuple(map(Card.parse, names.split()))


def move(source: str, target: str) -> MoveCards:
    """Return the command of seat 1 that moves cards between two spots."""
    return MoveCards.model_validate({"seat": 1, "source": source, "target": target})


def opening(options: Options | None = None, at: datetime = NOON) -> tuple[Fact, ...]:
    """Return the facts of a game just opened, dealt from ``SEEDS``."""
    command = OpenTicitaire(player=PLAYER, options=options or Options())
    return TICITAIRE.decide(command, TICITAIRE.empty(SEEDS), at)


def position(
    *columns: str,
    low: str = "",
    high: str = "",
    stock: str = "",
    waste: str = "",
    known: str = "",
    options: Options | None = None,
    deadline: datetime | None = None,
) -> TicitaireTable:
    """Lay out a table; the columns that are not named are empty, the cards that are not named lie nowhere.

    A card may be named twice, as one of the independent cases does: the rules do not count cards.

    Args:
        columns: from column 1 on, ``"face-down | face-up"`` or face-up cards only; the face-down card on the right
            is turned up first, the face-up card on the right is exposed.
        low: the sequence pile, its top on the right; ``high`` and ``waste`` likewise.
        high: see ``low``.
        stock: the next card on the left.
        waste: see ``low``.
        known: cards of the stock, or face down, that were seen before.
        options: what the table asked for.
        deadline: when the time runs out.
    """
    deck: list[Card] = []

    def lay(names: str) -> tuple[int, ...]:
        start = len(deck)
        deck.extend(cards(names))
        return tuple(range(start, len(deck)))

    def column(text: str) -> Column:
        buried, _, run = text.rpartition("|")
        return Column(lay(buried), lay(run))

    layout = Layout(
        columns=tuple(column(text) for text in (*columns, *[""] * (COLUMNS - len(columns)))),
        low=lay(low),
        high=lay(high),
        stock=lay(stock),
        waste=lay(waste),
    )
    rest = [card for card in DECK if card not in deck]
    face_up = {at for column in layout.columns for at in column.run} | {*layout.low, *layout.high, *layout.waste}
    told = face_up | {deck.index(card) for card in cards(known)}
    whole = (*deck, *rest)
    opened, _, dealt = opening(options)
    assert isinstance(opened, TicitaireOpened)
    assert isinstance(dealt, TableauDealt)
    return TicitaireTable(
        version=3,
        opened=opened,
        options=opened.options,
        players=(PLAYER,),
        deals=1,
        deadline=deadline,
        seeds=SEEDS,
        layout=layout,
        seen=tuple(card if at in told else None for at, card in enumerate(whole)),
        deck=whole,
        dealt=dealt,
    )


def picture(layout: Layout, deck: Sequence[Card]) -> Picture:
    """Return where every card lies. The stock's next card stands on the right there."""

    def names(positions: tuple[int, ...]) -> list[str]:
        return [str(deck[at]) for at in positions]

    return {
        "columns": [{"down": names(column.buried), "up": names(column.run)} for column in layout.columns],
        "low": names(layout.low),
        "high": names(layout.high),
        "stock": names(layout.stock[::-1]),
        "waste": names(layout.waste),
    }
