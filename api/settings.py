"""What an operator can set, from the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

import pydantic_settings
import structlog
from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from api.embedded_postgres import default_folder, embedded_postgres
from domain.vault import Keyring, SealError, ServerKey

__all__ = ["KEY_FILE", "KeyFile", "LogFormat", "Settings", "SettingsError", "write_keys"]

KEY_FILE: Final = "server.key"

_logger: Final = structlog.get_logger(__name__)


class SettingsError(Exception):
    """The settings do not fit together; the message says what to set."""


class LogFormat(StrEnum):
    """How the log is written."""

    CONSOLE = "console"
    JSON = "json"


class Settings(BaseSettings):
    """Read from environment variables: ``DATABASE_URL``, and the others with ``TIC_`` before their names."""

    model_config = SettingsConfigDict(env_prefix="TIC_", use_attribute_docstrings=True)

    database_url: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("DATABASE_URL", "TIC_DATABASE_URL", "database_url")
    )
    """A PostgreSQL server of your own; left out, the program runs an embedded one."""
    host: str = "127.0.0.1"
    """Where to listen."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Where to listen; 0 takes any free port."""
    folder: Path = Field(default_factory=default_folder)
    """Where the embedded PostgreSQL keeps its files, and the server's key if none is given."""
    server_key_file: Path | None = None
    """The server's keys, one a line, the current one first; `tic key new` makes one."""
    cors_origins: list[str] = ["*"]
    """From which origins browsers may call, as a JSON list. No credentials are allowed in any case."""
    graphiql: bool = True
    """Serve the GraphiQL page to browsers."""
    log_format: LogFormat = LogFormat.CONSOLE
    """console or json."""
    threads: int = Field(default=16, ge=1, le=80)
    """How many commands and reads may wait for the database at the same time."""
    follow: bool = True
    """Keep the read models up to date in the server itself; switch it off where `tic project run` does it."""

    @classmethod
    def load(cls) -> Settings:
        """Read the environment.

        Raises:
            SettingsError: a variable does not fit; the message names it and does not repeat its value.
        """
        try:
            return cls()
        except ValidationError as error:
            faults = [f"{_variable(fault['loc'])}: {fault['msg']}" for fault in error.errors(include_input=False)]
            raise SettingsError("; ".join(faults)) from None
        except pydantic_settings.SettingsError as error:
            raise SettingsError(f"{error} (lists are written as JSON)") from None

    @contextmanager
    def database(self, *, create: bool = False) -> Iterator[str]:
        """Yield the URL of the database: the one that is set, or the embedded one, which runs meanwhile.

        Raises:
            SettingsError: there is no embedded one yet, and it is not to be created.
            EmbeddedPostgresError: the embedded one can't run.
        """
        if self.database_url is not None:
            yield self.database_url.get_secret_value()
            return
        self._must_be_there(self.folder / "data", create=create)
        with embedded_postgres(self.folder) as url:
            yield url

    @property
    def key_file(self) -> Path:
        """Where the server's keys are.

        Raises:
            SettingsError: a database is given, and no key file.
        """
        if self.server_key_file is not None:
            return self.server_key_file
        if self.database_url is not None:
            raise SettingsError(
                "DATABASE_URL is set, so TIC_SERVER_KEY_FILE must name the file with the server's key. Make one once "
                "with `tic key new > server.key`, and keep it: without it no game that is under way can go on."
            )
        return self.folder / KEY_FILE

    def keyring(self, *, create: bool = False) -> Keyring:
        """Return the server's keys, made now if they are the embedded database's, missing, and to be created.

        Raises:
            SettingsError: there is no key, or the file can't be read.
        """
        path = self.key_file
        try:
            return Keyring.parse(path.read_text(encoding="ascii"))
        except FileNotFoundError:
            if self.server_key_file is not None:
                raise SettingsError(f"There is no key file {path}. Make it once: tic key new > {path}") from None
        except (OSError, UnicodeError, SealError) as error:
            raise SettingsError(f"The key file {path} can't be used: {error}") from None
        self._must_be_there(path, create=create)
        keyring = Keyring([ServerKey.generate()])
        write_keys(path, keyring, replace=False)
        return Keyring.parse(path.read_text(encoding="ascii"))

    def _must_be_there(self, path: Path, *, create: bool) -> None:
        if not create and not path.exists():
            raise SettingsError(
                f"There is no server in {self.folder} yet. Set TIC_FOLDER to the folder of yours, or DATABASE_URL; "
                "`tic serve` makes a new one."
            )


def _variable(location: tuple[int | str, ...]) -> str:
    name = str(location[0])
    return name if name.isupper() else f"TIC_{name.upper()}"


class KeyFile:
    """The server's keys as the file has them now: a running server follows a rotation."""

    def __init__(self, settings: Settings) -> None:
        """Read the file, which is made if it is the embedded database's and missing. Raises SettingsError."""
        self._settings: Final = settings
        self._keyring = settings.keyring(create=True)
        self._seen = self._stamp()

    def __call__(self) -> Keyring:
        """Return the keys; those that were read last where the file can't be read now."""
        stamp = self._stamp()
        if stamp is not None and stamp != self._seen:
            try:
                self._keyring, self._seen = self._settings.keyring(), stamp
            except SettingsError as error:
                _logger.warning("the key file can't be read; the keys read last stay", error=str(error))
        return self._keyring

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._settings.key_file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino


def write_keys(path: Path, keyring: Keyring, *, replace: bool) -> None:
    """Write a key file that its owner alone can read, whole or not at all.

    Without ``replace`` a file that is there stays as it is: the first of two processes wins.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(keyring.write())
        file.flush()
        os.fsync(file.fileno())
    try:
        if replace:
            draft.replace(path)
        else:
            path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name is on disk as well as the key
    finally:
        os.close(folder)
