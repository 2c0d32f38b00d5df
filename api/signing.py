"""Checkpoints of the log: signed, again and again, by servers that show beforehand that they keep what was signed.

A checkpoint says how many events the log has and what they are. What is signed once can't be taken back. A database
that was restored from an old backup or copied, and a log or a tree that was changed, are found before that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import psycopg
import structlog
from psycopg.rows import DictRow, tuple_row

from api.checkpoint_file import CheckpointFile, NothingSigned, NothingYet
from api.signed_log import AT_ONE_MOMENT, Adoptable, SignedLog
from domain.notes import Receipt, SigningKey
from domain.storage import Datastore, PersistenceError, confirm
from projections.transparency import Reached, TreeQueries, asking

__all__ = ["CheckpointFile", "NothingSigned", "Signer", "Signing", "Standstill"]

SIGN_SECONDS: Final = 5.0
"""Between two checkpoints, while events come."""
LOOK_SECONDS: Final = 1.0
"""Between two looks whether there is something new to sign."""
STILL_SECONDS: Final = 10.0
"""How long the tree may stand still while the log has more, before that is told."""
REMIND_SECONDS: Final = 60.0
"""How often the log tells that nothing is signed, and why."""
LOCK_WAIT: Final = "5s"

_logger: Final = structlog.get_logger(__name__)

_SIGNED: Final = (
    "SELECT (SELECT coalesce(max(size), 0) FROM public.log_checkpoints), (SELECT count(*) FROM public.log_departures)"
)
_DEPART: Final = "INSERT INTO public.log_departures (note) VALUES (%s) ON CONFLICT DO NOTHING"


Signing = tuple[SigningKey, CheckpointFile]
"""The key that signs the log's checkpoints, and where a copy of the last one is."""


class Standstill:
    """Tells when it is to be told that a tree stands still while the log goes on: after a while, and then again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Take what tells the time, in seconds."""
        self._clock: Final = clock
        self._reached: Reached | None = None
        self._tell_at = 0.0

    def is_to_be_told(self, reached: Reached, *, behind: bool) -> bool:
        """Take how far the tree has come, and whether the log has more; tell whether that is to be told now."""
        now = self._clock()
        if not behind or reached != self._reached:
            self._reached, self._tell_at = reached, now + STILL_SECONDS
            return False
        if now < self._tell_at:
            return False
        self._tell_at = now + REMIND_SECONDS
        return True


class Signer:
    """Signs checkpoints. Several may, for one log: they take turns, and each has a copy of its own or shares one."""

    def __init__(
        self,
        datastore: Datastore,
        key: SigningKey,
        copy: CheckpointFile,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take connections to the database itself, for the lock of those who sign would not last behind a pooler.

        And the key, the copy of the last checkpoint, and what tells the time, in seconds.
        """
        self._datastore: Final = datastore
        self._key: Final = key
        self._copy: Final = copy
        self._clock: Final = clock
        self._standstill: Final = Standstill(clock)
        self._seen: tuple[Reached, int, int] | None = None
        self._strangers = 0
        self._told: tuple[str, float] | None = None
        self._refusal: str | None = "The checkpoints of this log are being looked at: ask again in a moment."

    @property
    def key(self) -> str:
        """The key that verifies, as text."""
        return str(self._key.public)

    @property
    def refusal(self) -> str | None:
        """Why nothing is signed, and nothing that was signed is shown by this server; None where all is well."""
        return self._refusal

    def receipt(self, game: UUID, version: int, head: str) -> str | None:
        """Sign what a player is told after a command; None where nothing is signed at present.

        A server that does not have what was signed promises nothing new either.
        """
        return Receipt(game, version, head).signed(self._key) if self._refusal is None else None

    def run(self, stop: threading.Event) -> None:
        """Sign until ``stop`` is set, also over times when the database is away."""
        next_at = 0.0
        while not stop.is_set():
            more = False
            try:
                if self._clock() >= next_at and self._has_news():
                    signed, more = self.step()
                    next_at = self._clock() + (SIGN_SECONDS if signed and not more else 0)
            except PersistenceError as error:
                _logger.warning("the signer waits for the database", error=str(error))
            except NothingYet as reason:
                if self._is_new(str(reason)):
                    _logger.info("no checkpoint of the log is signed yet", reason=str(reason))
            except NothingSigned as reason:
                next_at = self._clock() + SIGN_SECONDS
                if self._is_new(str(reason)):
                    _logger.error(  # noqa: TRY400
                        "no checkpoint of the log is signed", reason=str(reason), copy=str(self._copy.path)
                    )
            except Exception as error:
                if self._is_new(str(error)):
                    _logger.exception("no checkpoint of the log is signed")
            stop.wait(0 if more else LOOK_SECONDS)

    def _is_new(self, reason: str) -> bool:
        """Tell whether the log is to tell why nothing is signed: not each time, but again after a while."""
        if self._told is not None and self._told[0] == reason and self._clock() - self._told[1] < REMIND_SECONDS:
            return False
        self._told = reason, self._clock()
        return True

    def _has_news(self) -> bool:
        """Tell whether anything is other than where all was well last."""
        ask = asking(self._datastore)
        tree = TreeQueries(ask)
        reached = tree.reached()
        if self._standstill.is_to_be_told(reached, behind=tree.more(after=reached.position, most=1) > 0):
            _logger.warning(
                "the tree stands still while the log goes on, and what has come since is not signed: have a server"
                " follow the log (TIC_FOLLOW), or run `tic project run`",
                events_in_tree=reached.size,
            )
        size, departures = ask(_SIGNED, ())[0]
        return self._refusal is not None or (reached, size, departures) != self._seen

    def step(self) -> tuple[bool, bool]:
        """Look at what was signed, and sign what has come since; tell whether something was, and whether more has come.

        Raises:
            NothingSigned: what was signed is not what is here, or can't be kept.
            PersistenceError: the database is away, or said no.
        """
        try:
            with self._alone() as conn:
                sure = _confirmed(conn)
                with self._looking(conn) as log:
                    size, signed = log.sign(sure.size)
        except NothingSigned as refusal:
            self._refusal = str(refusal)
            raise
        except PersistenceError:
            raise
        except Exception as error:
            self._refusal = f"The checkpoints of this log can't be looked at ({type(error).__name__}): see its log."
            raise
        self._seen, self._refusal = (sure, size, log.departures), None
        return signed, size < sure.size

    def adoptable(self) -> Adoptable:
        """Return what the database knows of the log, where there is no copy and all that was signed is in the tree.

        Raises:
            NothingSigned: there is a copy, or nothing to make one of; or what was signed is not what is here.
            PersistenceError: the database is away, or said no.
        """
        with self._alone() as conn, self._looking(conn) as log:
            return log.adoptable()

    def adopt(self) -> None:
        """Make a copy of the last checkpoint in the database, on the word of an operator that there is no later one.

        Raises:
            NothingSigned, PersistenceError: as ``adoptable``; or the copy can't be written.
        """
        with self._alone() as conn, self._looking(conn) as log:
            log.adopt()

    @contextmanager
    def _looking(self, conn: psycopg.Connection[DictRow]) -> Iterator[SignedLog]:
        """Look at one moment of the log, and tell the others who sign it of what it has lost."""
        log: SignedLog | None = None
        try:
            with conn.transaction(), conn.cursor(binary=True, row_factory=tuple_row) as cursor:
                for statement in AT_ONE_MOMENT:
                    cursor.execute(statement)
                log = SignedLog(cursor, self._key, self._copy)
                yield log
        except NothingSigned:
            if log is not None and log.departed is not None:
                _tell(conn, log.departed)
            raise
        finally:
            if log is not None:
                self._warn_of_strangers(log.strangers)

    def _warn_of_strangers(self, number: int) -> None:
        if number not in {0, self._strangers}:
            _logger.warning(
                "notes in log_departures that the log's key has not signed count for nothing: find out who wrote them",
                notes=number,
            )
        self._strangers = number

    @contextmanager
    def _alone(self) -> Iterator[psycopg.Connection[DictRow]]:
        """Hold the lock of those who sign; it ends with the connection, if not before."""
        with self._datastore.get_connection() as conn:
            with conn.transaction():
                conn.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_WAIT,))
                conn.execute("SELECT pg_advisory_lock(hashtext('tic sign'))")
            try:
                yield conn
            finally:
                try:
                    conn.execute("SELECT pg_advisory_unlock(hashtext('tic sign'))")
                except psycopg.Error:
                    conn.close()  # which gives the lock back as well


def _confirmed(conn: psycopg.Connection[DictRow]) -> Reached:
    """Return how far the tree has come in what no failover takes back: what it could must not be signed."""
    with conn.cursor(binary=True, row_factory=tuple_row) as cursor:
        reached = TreeQueries(lambda query, parameters: cursor.execute(query, parameters).fetchall()).reached()
    confirm(conn)
    return reached


def _tell(conn: psycopg.Connection[DictRow], note: str) -> None:
    """Tell all who sign the log of a checkpoint that it does not contain."""
    try:
        conn.execute(_DEPART, (note,))
    except psycopg.Error as error:  # this one signs nothing in any case
        _logger.warning("the others who sign this log can't be told of what it lacks", error=str(error))
