"""What the commands of ``tic`` have in common: where they print, how they fail, and how they come to the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NoReturn

import psycopg
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from api.addresses import AddressError, check_pooler, must_not_be_pooled
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
    """Yield the URL of the database itself, once it has answered, and the pooler as well where there is one."""
    with settings.database(create=create) as url:
        if settings.pooler is None:
            must_answer(url)
        else:
            must_answer(url, "DATABASE_DIRECT_URL")
            _must_be_whole(settings.pooler, "DATABASE_URL")
            try:
                check_pooler(settings.pooler, url)
            except AddressError as error:
                fail(str(error))
        yield url


def must_answer(url: str, name: str = "DATABASE_URL") -> None:
    """Fail where the database can't be reached, or only through a pooler; the reason holds no password."""
    _must_be_whole(url, name)
    try:
        with psycopg.connect(url, connect_timeout=5, autocommit=True) as connection:
            must_not_be_pooled(connection, name)
    except AddressError as error:
        fail(str(error))
    except psycopg.OperationalError as error:
        fail(f"the database can't be reached. Check {name}. It says: {str(error).strip()}")


def _must_be_whole(url: str, name: str) -> None:
    """Fail where a URL can't be taken apart; it is not repeated then."""
    try:
        if may_show_password(url):
            fail(
                f"{name} can't be taken apart into USER:PASSWORD@HOST:PORT/DATABASE. In the password, special"
                " characters are written as %40 for @, %3A for :, %2F for /, %25 for %, and the like"
            )
    except psycopg.ProgrammingError:
        fail(
            f"{name} is not a PostgreSQL URL: postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special"
            " characters of the password written as %40 for @, and the like"
        )


def progress_bar() -> Progress:
    """Return what shows how far a command is, on the standard error."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=err)


def fail(message: str) -> NoReturn:
    """Say why a command can't do what it was asked for, and end it."""
    err.print(f"[red]tic:[/red] {escape(message)}")
    raise SystemExit(1)
