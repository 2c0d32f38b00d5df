"""Players and their tokens: a table apart from the log, which can be erased without touching a game.

Events know a player by a random id and nothing else. A token is shown once and kept as its SHA-256 only.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final
from uuid import UUID, uuid4

from psycopg.sql import SQL, Identifier

from domain.storage import Datastore, confirm

__all__ = ["TABLES", "TOKENS_CHANNEL", "Accounts", "Caller", "IssuedToken", "Player", "Scope", "TooManyTokens"]
__all__ += ["display_name", "token_digest", "token_id"]

TOKENS_CHANNEL: Final = "tic_tokens"
"""PostgreSQL's notification channel: a token was revoked."""

TRUSTED_SECONDS: Final = 5.0
"""How long a token is trusted without asking the database again, where no notification says otherwise."""
MAX_TRUSTED: Final = 50_000

TABLES: Final = """
CREATE TABLE IF NOT EXISTS public.players (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE IF NOT EXISTS public.tokens (
    digest text PRIMARY KEY,
    player uuid NOT NULL REFERENCES public.players ON DELETE CASCADE,
    scopes text[] NOT NULL,
    issued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at timestamptz
);
CREATE INDEX IF NOT EXISTS tokens_by_player ON public.tokens (player);
REVOKE ALL ON public.players, public.tokens FROM PUBLIC;
"""


MOST_TOKENS: Final = 50
"""Valid tokens that one player can have."""


class TooManyTokens(Exception):
    """The player has as many valid tokens as one may have."""


class Scope(Enum):
    """What a token is good for."""

    PLAY = "play"
    """Open, join and play games."""
    ORGANISE = "organise"
    """Run tournaments, rule on games."""
    AUDIT = "audit"
    """Read what is under embargo."""


@dataclass(frozen=True, slots=True)
class Player:
    """An account."""

    id: UUID
    name: str
    registered_at: datetime


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom a token stands for."""

    player: UUID
    scopes: frozenset[Scope]
    token_id: str


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """What is told of a token after it was issued."""

    id: str
    scopes: frozenset[Scope]
    issued_at: datetime


def display_name(uuid: UUID, known: Player | None) -> str:
    """Return what a player is called: the name, or a pseudonym for one who erased it."""
    return known.name if known else f"Erased player {uuid.hex[:6]}"


def token_digest(token: str) -> str:
    """Return what is kept of a token: its SHA-256, hex."""
    return hashlib.sha256(token.encode()).hexdigest()


def token_id(token: str) -> str:
    """Return what names a token where it is listed and revoked."""
    return _token_id(token_digest(token))


def _token_id(digest: str) -> str:
    return digest[:16]


class Accounts:
    """The tables of players and tokens. Methods block, and raise OperationalError where the database is away."""

    def __init__(self, datastore: Datastore, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._datastore: Final = datastore
        self._clock: Final = clock
        self._trusted: dict[str, tuple[Caller, float]] = {}
        self._forgotten = 0
        self._lock: Final = threading.Lock()

    def register(self, name: str) -> tuple[Player, str]:
        """Make a player with a token to play; the token is told now and never again."""
        token, player_id = _new_token(), uuid4()
        with self._datastore.transaction(commit=True) as cursor:
            insert = "INSERT INTO players (id, name) VALUES (%s, %s) RETURNING id, name, registered_at"
            row = cursor.execute(insert, (player_id, name)).fetchone()
            cursor.execute(_ISSUE, (token_digest(token), player_id, [Scope.PLAY.value]))
        if row is None:
            raise LookupError("the insert returned nothing")
        return Player(**row), token

    def issue(self, player: UUID, scopes: Iterable[Scope]) -> str:
        """Give a player one more token.

        Raises:
            LookupError: there is no such player.
            TooManyTokens: the player has as many as one may have.
        """
        token = _new_token()
        with self._datastore.transaction(commit=True) as cursor:
            # The lock makes two requests at once count one after the other.
            if cursor.execute("SELECT FROM players WHERE id = %s FOR UPDATE", (player,)).fetchone() is None:
                raise LookupError(f"there is no player {player}")
            count = "SELECT count(*) AS n FROM tokens WHERE player = %s AND revoked_at IS NULL"
            row = cursor.execute(count, (player,)).fetchone()
            if row is not None and row["n"] >= MOST_TOKENS:
                raise TooManyTokens(f"a player has at most {MOST_TOKENS} valid tokens: revoke one first")
            cursor.execute(_ISSUE, (token_digest(token), player, sorted(scope.value for scope in scopes)))
        return token

    def tokens(self, player: UUID) -> list[IssuedToken]:
        """Return a player's valid tokens, the newest first."""
        query = (
            "SELECT digest, scopes, issued_at FROM tokens"
            " WHERE player = %s AND revoked_at IS NULL ORDER BY issued_at DESC, digest"
        )
        rows = self._datastore.read(query, (player,))
        return [IssuedToken(_token_id(row["digest"]), _scopes(row["scopes"]), row["issued_at"]) for row in rows]

    def revoke(self, token_id: str, *, player: UUID | None = None) -> bool:
        """Revoke a token, of that player or of anyone; tell whether there was such a valid one.

        Every server is told, and ends the connections that came with it.
        """
        if not _TOKEN_ID.fullmatch(token_id):
            return False  # whatever a client sent; the database can't even be asked for some of it
        with self._datastore.transaction(commit=True) as cursor:
            cursor.execute(
                "UPDATE tokens SET revoked_at = clock_timestamp() WHERE left(digest, 16) = %s"
                " AND revoked_at IS NULL AND player = coalesce(%s, player)",
                (token_id, player),
            )
            revoked = cursor.rowcount > 0
            if revoked:
                cursor.execute(SQL("NOTIFY {}").format(Identifier(TOKENS_CHANNEL)))
            else:
                confirm(cursor.connection)  # it may be so on this machine alone, since a moment ago
        if revoked:
            self.forget()
        return revoked

    def erase(self, player: UUID) -> bool:
        """Erase a player's name and tokens; the games keep the random id. Tell whether there was such a player."""
        with self._datastore.transaction(commit=True) as cursor:
            cursor.execute("DELETE FROM players WHERE id = %s", (player,))
            erased = cursor.rowcount > 0
            if erased:
                cursor.execute(SQL("NOTIFY {}").format(Identifier(TOKENS_CHANNEL)))
            else:
                confirm(cursor.connection)  # as above
        if erased:
            self.forget()
        return erased

    def remembered(self, token: str) -> Caller | None:
        """Return whom a token stands for, if that was asked a moment ago; never blocks."""
        trusted = self._trusted.get(token_digest(token))
        return trusted[0] if trusted is not None and trusted[1] > self._clock() else None

    def authenticate(self, token: str) -> Caller | None:
        """Return whom a token stands for, or None for an unknown or revoked one."""
        digest, forgotten = token_digest(token), self._forgotten
        query = "SELECT player, scopes FROM tokens WHERE digest = %s AND revoked_at IS NULL"
        rows = self._datastore.read(query, (digest,))
        if not rows:
            return None
        caller = Caller(rows[0]["player"], _scopes(rows[0]["scopes"]), _token_id(digest))
        with self._lock:
            if forgotten == self._forgotten:  # else a token was revoked while the database answered
                if len(self._trusted) >= MAX_TRUSTED:
                    self._trusted.clear()
                self._trusted[digest] = caller, self._clock() + TRUSTED_SECONDS
        return caller

    def forget(self) -> None:
        """Trust no token until the database is asked again."""
        with self._lock:
            self._forgotten += 1
            self._trusted.clear()

    def valid(self, digests: Collection[str]) -> set[str]:
        """Return those of the digests whose tokens are valid."""
        query = "SELECT digest FROM tokens WHERE digest = ANY(%s) AND revoked_at IS NULL"
        return {row["digest"] for row in self._datastore.read(query, (list(digests),))}

    def find(self, name: str, *, first: int) -> list[Player]:
        """Return at most ``first`` players whose name begins so, those who registered first."""
        query = (
            "SELECT id, name, registered_at FROM players WHERE starts_with(lower(name), lower(%s))"
            " ORDER BY registered_at, id LIMIT %s"
        )
        return [Player(**row) for row in self._datastore.read(query, (name, first))]

    def players(self, ids: Collection[UUID]) -> dict[UUID, Player]:
        """Return the players with these ids; those erased or never registered are missing."""
        query = "SELECT id, name, registered_at FROM players WHERE id = ANY(%s)"
        return {row["id"]: Player(**row) for row in self._datastore.read(query, (list(ids),))}


_ISSUE: Final = "INSERT INTO tokens (digest, player, scopes) VALUES (%s, %s, %s)"


_TOKEN_ID: Final = re.compile("[0-9a-f]{16}")


def _new_token() -> str:
    return f"tic_{secrets.token_urlsafe(32)}"


def _scopes(values: Iterable[str]) -> frozenset[Scope]:
    return frozenset(map(Scope, values))
