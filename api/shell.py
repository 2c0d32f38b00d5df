"""What the commands of ``tic`` have in common: where they print, how they fail, and how they come to the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NoReturn

import psycopg
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from api.database import may_show_password, prepare_tables
from api.settings import Settings
from domain.storage import Datastore

__all__ = ["answering", "datastore_of", "err", "fail", "must_answer", "out", "progress_bar"]

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def datastore_of(settings: Settings) -> Iterator[Datastore]:
    """Yield the log and what is beside it, with their tables."""
    with answering(settings) as url, closing(Datastore(url, connections=4)) as datastore:
        prepare_tables(datastore)
        yield datastore


@contextmanager
def answering(settings: Settings, *, create: bool = False) -> Iterator[str]:
    """Yield the URL of the database, once it has answered."""
    with settings.database(create=create) as url:
        must_answer(url)
        yield url


def must_answer(url: str) -> None:
    """Fail where the database can't be reached, with its reason, which holds no password."""
    try:
        if may_show_password(url):
            fail(
                "DATABASE_URL can't be taken apart into USER:PASSWORD@HOST:PORT/DATABASE. In the password, special"
                " characters are written as %40 for @, %3A for :, %2F for /, %25 for %, and the like"
            )
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.ProgrammingError:
        fail(
            "DATABASE_URL is not a PostgreSQL URL: postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special"
            " characters of the password written as %40 for @, and the like"
        )
    except psycopg.OperationalError as error:
        fail(f"the database can't be reached. Check DATABASE_URL. It says: {str(error).strip()}")


def progress_bar() -> Progress:
    """Return what shows how far a command is, on the standard error."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=err)


def fail(message: str) -> NoReturn:
    """Say why a command can't do what it was asked for, and end it."""
    err.print(f"[red]tic:[/red] {escape(message)}")
    raise SystemExit(1)
