"""Cells of a shared grid as clients see them."""

from __future__ import annotations

from collections.abc import Iterable

import strawberry

from domain.decider import Cell

__all__ = ["GridCell", "cells"]


@strawberry.type(description="A cell of a shared grid: x grows to the right, y downwards; both may be negative.")
class GridCell:
    """A cell."""

    x: int = strawberry.field(description="The column.")
    y: int = strawberry.field(description="The row.")


def cells(shown: Iterable[Cell]) -> list[GridCell]:
    """Show cells."""
    return [GridCell(x=x, y=y) for x, y in shown]
