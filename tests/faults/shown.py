"""The table as a client is shown it: what to ask for, and what a fold by the domain says must come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final
from uuid import UUID

from domain.cards import Card, Hidden
from domain.decider import Viewer
from domain.game import Game
from domain.ticitaire.views import TicitaireView
from domain.tickle.views import TickleView

__all__ = ["SHOWN", "expected"]

SHOWN: Final = """
  id uuid version hash status viewerSeat
  ... on TicitaireGame {
    columns { buried { ... on Card { name } } run { name } }
    low { name } high { name } stock { ... on Card { name } } waste { name }
    tally { moves turns recycles takeBacks } takeBacksLeft
  }
  ... on TickleGame {
    grid { x y card { name } }
    hands { number points hand { ... on Card { name } } resigned }
    deckCount turn { seat round drawn { ... on Card { name } } }
  }
"""
"""The fields of a game that a read asks for."""


def expected(game: Game, player: UUID) -> dict[str, Any]:
    """Return what a player must be shown of a game at its version: `SHOWN` without the opaque id."""
    seat = game.table.seat_of(player)
    view = game.view(Viewer(seat=seat, player=player))
    return {
        "uuid": str(game.id),
        "version": game.version,
        "hash": game.head,
        "status": _status(game),
        "viewerSeat": seat or None,
        **_TABLES[game.decider.kind](view),
    }


def _status(game: Game) -> str:
    if game.table.cancelled:
        return "CANCELLED"
    if game.table.over:
        return "FINISHED"
    return "PLAYING" if game.table.deals else "OPEN"


def _card(card: Card | Hidden) -> dict[str, str]:
    return {"name": str(card)} if isinstance(card, Card) else {}


def _cards(cards: Iterable[Card | Hidden]) -> list[dict[str, str]]:
    return [_card(card) for card in cards]


def _ticitaire(view: TicitaireView) -> dict[str, Any]:
    return {
        "columns": [{"buried": _cards(column.buried), "run": _cards(column.run)} for column in view.columns],
        "low": _cards(view.low),
        "high": _cards(view.high),
        "stock": _cards(view.stock),
        "waste": _cards(view.waste),
        "tally": {
            "moves": view.moves,
            "turns": view.turns,
            "recycles": view.recycles,
            "takeBacks": view.take_backs,
        },
        "takeBacksLeft": view.take_backs_left,
    }


def _tickle(view: TickleView) -> dict[str, Any]:
    drawn = None if view.drawn is None else _card(view.drawn)
    return {
        "grid": [{"x": x, "y": y, "card": _card(card)} for (x, y), card in view.grid],
        "hands": [
            {"number": seat.seat, "points": seat.points, "hand": _cards(seat.hand), "resigned": seat.resigned}
            for seat in view.seats
        ],
        "deckCount": len(view.deck),
        "turn": {"seat": view.turn, "round": view.round, "drawn": drawn} if view.turn else None,
    }


_TABLES: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {"ticitaire": _ticitaire, "tickle": _tickle}
