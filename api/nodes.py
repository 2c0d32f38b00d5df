"""What has an opaque global id, and pages of lists."""

from __future__ import annotations

from typing import Annotated, Final

import strawberry

from api.faults import BadUserInput

__all__ = ["MAX_PAGE", "After", "First", "Node", "PageInfo", "page_size"]

MAX_PAGE: Final = 100

First = Annotated[int, strawberry.argument(description="At most so many, 1..100.")]
After = Annotated[str | None, strawberry.argument(description="Read on after this `endCursor` of a page.")]


@strawberry.interface(description="What can be found again by its id.")
class Node:
    """Anything with a global id."""

    id: strawberry.ID = strawberry.field(description="The opaque global id.")


@strawberry.type(description="Where a page of a list ends.")
class PageInfo:
    """The end of a page."""

    has_next_page: bool = strawberry.field(description="Whether there is more.")
    end_cursor: str | None = strawberry.field(
        description="Give this as `after` to read on; null on an empty page, except of finishedGames."
    )


def page_size(first: int) -> int:
    """Return ``first`` if it is 1..100.

    Raises:
        BadUserInput: it is not.
    """
    if not 1 <= first <= MAX_PAGE:
        raise BadUserInput(f"`first` is 1 to {MAX_PAGE}, not {first}.")
    return first
