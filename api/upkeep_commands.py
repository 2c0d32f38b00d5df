"""``tic db migrate`` and ``tic db size``: how the tables grow, by steps and by events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated

import typer

from api.logs import configure_logs
from api.migrations import Step
from api.settings import Settings
from api.shell import answering, err, out
from api.sizes import Sizes, measured
from api.standing import standing
from api.upgrading import migrate
from domain.storage import Datastore

__all__ = ["upkeep_app"]

upkeep_app = typer.Typer()


@upkeep_app.command("migrate")
def db_migrate(
    contract: Annotated[
        bool, typer.Option("--contract", help="Also take steps on which older servers can't run: stop those first.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say which steps are to be taken, and take none.")] = False,
) -> None:
    """Take the tables to what this program needs, before its servers start. Run it with the owner's DATABASE_URL.

    Servers may run meanwhile, older ones too: nothing that they use is taken away without --contract.
    """
    settings = Settings.load()
    configure_logs(settings.log_format)
    with answering(settings) as url, closing(Datastore(url, connections=2)) as datastore:
        if dry_run:
            with datastore.transaction() as cursor:
                taken, left = list[Step](), standing(cursor).pending
        else:
            taken, left = migrate(datastore, contract=contract)
    for line in _told(taken, left, dry_run=dry_run):
        err.print(line, markup=False)


def _told(taken: list[Step], left: list[Step], *, dry_run: bool) -> Iterator[str]:
    for step in taken:
        yield f"Step {step.number} was taken: {step.name}."
    for step in left:
        older = f" Older servers can't run on it: those that know fewer than {step.needs_program}."
        yield f"Step {step.number} is to be taken: {step.name}.{older if step.contracts else ''}"
    if left and not dry_run:
        yield "Once no such server runs: tic db migrate --contract"
    if not taken and not left:
        yield "All steps were taken: there is nothing to do."


@upkeep_app.command("size")
def db_size(
    games_a_year: Annotated[
        int | None, typer.Option(min=1, help="Also say what so many games like those of this log take in a year.")
    ] = None,
) -> None:
    """Say what the log, what is beside it and the read models take on the disk, and for each event and each game."""
    with answering(Settings.load()) as url, closing(Datastore(url, connections=2)) as datastore:
        sizes = measured(datastore)
    for line in _table(sizes, games_a_year):
        out.print(line, markup=False)


def _table(sizes: Sizes, games_a_year: int | None) -> Iterator[str]:
    yield f"{sizes.games} games, {sizes.events} events ({sizes.events_a_game:.0f} a game)"
    yield ""
    year = f"{'MB in a year':>14}" if games_a_year else ""
    yield f"{'':<34}{'rows':>12}{'MB':>12}{'bytes/event':>13}{'bytes/game':>12}{year}"
    for part in (*sizes.parts, sizes.total):
        rows = "" if part.rows is None else str(part.rows)
        a_year = f"{part.size / max(1, sizes.games) * games_a_year / 1e6:>14.0f}" if games_a_year else ""
        yield (
            f"{part.name:<34}{rows:>12}{part.size / 1e6:>12.1f}{part.size / max(1, sizes.events):>13.0f}"
            f"{part.size / max(1, sizes.games):>12.0f}{a_year}"
        )
