"""What an operator can set, from the environment."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import pydantic_settings
import structlog
from pydantic import AliasChoices, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from api.embedded_postgres import default_folder, embedded_postgres
from domain.notes import SigningKey
from domain.vault import Keyring, SealError, ServerKey

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["KEY_FILE", "KeyFile", "LogFormat", "Settings", "SettingsError", "must_be_replaceable", "write_keys"]
__all__ += ["is_mounted_read_only", "put_whole", "write_whole"]

KEY_FILE: Final = "server.key"
LOG_KEY_FILE: Final = "log.key"
CHECKPOINT_FILE: Final = "checkpoint"
_MOST_OF_A_URL: Final = 4096
"""Characters; one of several hosts and with all its options is shorter."""

_logger: Final = structlog.get_logger(__name__)


class SettingsError(Exception):
    """The settings do not fit together; the message says what to set."""


class LogFormat(StrEnum):
    """How the log is written."""

    CONSOLE = "console"
    JSON = "json"


class Settings(BaseSettings):
    """Read from environment variables: ``DATABASE_URL``, and the others with ``TIC_`` before their names.

    One that is empty counts as not set.
    """

    model_config = SettingsConfigDict(env_prefix="TIC_", env_ignore_empty=True, use_attribute_docstrings=True)

    database_url: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("DATABASE_URL", "TIC_DATABASE_URL", "database_url")
    )
    """A PostgreSQL server of your own; left out, the program runs an embedded one."""
    database_url_file: Path | None = Field(
        default=None,
        validation_alias=AliasChoices("DATABASE_URL_FILE", "TIC_DATABASE_URL_FILE", "database_url_file"),
    )
    """A file with that URL, as containers get their secrets; in its place, not beside it."""
    database_direct_url: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("DATABASE_DIRECT_URL", "TIC_DATABASE_DIRECT_URL", "database_direct_url"),
    )
    """The database itself, where DATABASE_URL leads through a pooler such as pgbouncer."""
    database_direct_url_file: Path | None = Field(
        default=None,
        validation_alias=AliasChoices(
            "DATABASE_DIRECT_URL_FILE", "TIC_DATABASE_DIRECT_URL_FILE", "database_direct_url_file"
        ),
    )
    """A file with that URL."""
    host: str = "127.0.0.1"
    """Where to listen."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Where to listen; 0 takes any free port."""
    folder: Path = Field(default_factory=default_folder)
    """Where the embedded PostgreSQL keeps its files, and the server's key if none is given."""
    server_key_file: Path | None = None
    """The server's keys, one a line, the current one first; `tic key new --output FILE` makes one."""
    log_key_file: Path | None = None
    """The key that signs the log's checkpoints; `tic log key new --name ORIGIN --output FILE` makes one."""
    checkpoint_file: Path | None = None
    """A copy of the last checkpoint that is not in the database."""
    cors_origins: list[str] = ["*"]
    """From which origins browsers may call, as a JSON list. No credentials are allowed in any case."""
    graphiql: bool = True
    """Serve the GraphiQL page to browsers."""
    log_format: LogFormat = LogFormat.CONSOLE
    """console or json."""
    threads: int = Field(default=16, ge=1, le=80)
    """How many commands and reads may wait for the database at the same time."""
    metrics_host: str = "127.0.0.1"
    """Where metrics are read: an address that those who play can't reach."""
    metrics_port: int | None = Field(default=None, ge=0, le=65535)
    """Where metrics are read, at `/metrics`; 0 takes any free port, and left out there are none."""
    ready_lag_seconds: float = Field(default=60.0, ge=0)
    """How far behind the log, in time, the read models of a server may be that says it is ready; 0: however far."""
    ready_lag_events: int = Field(default=10_000, ge=0)
    """How far behind the log, in events, they may be; 0: however far."""
    follow: bool = True
    """Keep the read models up to date in the server itself; switch it off where `tic project run` does it."""

    @model_validator(mode="after")
    def _read_database_urls(self) -> Self:
        """Take the database's URLs from their files, where they are named."""
        self.database_url = _either(self.database_url, self.database_url_file, "DATABASE_URL")
        direct = _either(self.database_direct_url, self.database_direct_url_file, "DATABASE_DIRECT_URL")
        if direct is not None and self.database_url is None:
            raise ValueError("DATABASE_DIRECT_URL is set, and DATABASE_URL is not: it is the one to set first")
        self.database_direct_url = direct
        return self

    @classmethod
    def load(cls) -> Settings:
        """Read the environment.

        Raises:
            SettingsError: a variable does not fit; the message names it and does not repeat its value.
        """
        try:
            return cls()
        except ValidationError as error:
            raise SettingsError("; ".join(map(_told, error.errors(include_input=False)))) from None
        except pydantic_settings.SettingsError as error:
            raise SettingsError(f"{error} (lists are written as JSON)") from None

    @contextmanager
    def database(self, *, create: bool = False) -> Iterator[str]:
        """Yield the URL of the database: the one that is set, or the embedded one, which runs meanwhile.

        It is that of the database itself, also where there is a pooler: see ``pooler``.

        Raises:
            SettingsError: there is no embedded one yet, and it is not to be created.
            EmbeddedPostgresError: the embedded one can't run.
        """
        if (given := self.database_direct_url or self.database_url) is not None:
            yield given.get_secret_value()
            return
        self._must_be_there(self.folder / "data", create=create)
        with embedded_postgres(self.folder) as url:
            yield url

    @property
    def pooler(self) -> str | None:
        """The URL of the pooler, through which a server asks what takes one transaction; None where there is none."""
        if self.database_direct_url is None or self.database_url is None:
            return None
        return self.database_url.get_secret_value()

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
                "with `tic key new --output server.key`, and keep it: without it no game that is under way can go on."
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
                raise SettingsError(f"There is no key file {path}. Make it once: tic key new --output {path}") from None
        except (OSError, UnicodeError, SealError) as error:
            raise SettingsError(f"The key file {path} can't be used: {error}") from None
        self._must_be_there(path, create=create)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_keys(path, Keyring([ServerKey.generate()]), replace=False)  # or another was first
        return Keyring.parse(path.read_text(encoding="ascii"))

    def log_key(self, *, create: bool = False) -> SigningKey | None:
        """Return the key that signs the log's checkpoints, made now if it is the embedded database's and missing.

        Returns:
            The key; None where a database is given and no key file: then nothing is signed.

        Raises:
            SettingsError: there is no key, or the file can't be read.
        """
        if self.log_key_file is None and self.database_url is not None:
            return None
        path = self.log_key_path
        if create and self.log_key_file is None and not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            key = SigningKey.new(f"localhost/tic-{secrets.token_hex(8)}")
            write_whole(path, f"{key.written()}\n", replace=False, called="log's key file")  # or another was first
        try:
            return SigningKey.parse(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SettingsError(
                f"There is no file {path} with the log's key. Make it once: tic log key new --name ORIGIN"
                f" --output {path}"
            ) from None
        except (OSError, ValueError) as error:
            raise SettingsError(f"The log's key file {path} can't be used: {error}") from None

    @property
    def log_key_path(self) -> Path:
        """Where that key is."""
        return self.log_key_file or self.folder / LOG_KEY_FILE

    @property
    def checkpoint_copy(self) -> Path:
        """Where the copy of the last checkpoint is.

        Left out, it is beside the server's key. In the folder of the embedded database it would be put back together
        with that, and tell nothing: then it is among this account's state, in a file of that folder's own.

        Raises:
            SettingsError: a database is given, and neither this file nor the server's key file; or there is no home.
        """
        if self.checkpoint_file is not None:
            return self.checkpoint_file
        if self.database_url is not None and not self.is_within_folder(self.key_file):
            return self.key_file.with_name(CHECKPOINT_FILE)
        folder = hashlib.sha256(os.fsencode(self.folder.expanduser().resolve())).hexdigest()[:16]
        return _state_folder() / f"{CHECKPOINT_FILE}-{folder}"

    def is_within_folder(self, path: Path) -> bool:
        """Tell whether a file is put back, or copied, together with the embedded database's folder."""
        return Path(os.path.realpath(path)).is_relative_to(self.folder.expanduser().resolve())

    def _must_be_there(self, path: Path, *, create: bool) -> None:
        if not create and not path.exists():
            raise SettingsError(
                f"There is no server in {self.folder} yet. Set TIC_FOLDER to the folder of yours, or DATABASE_URL; "
                "`tic serve` makes a new one."
            )


def _state_folder() -> Path:
    """Return where this account's programs keep their state; it need not exist yet.

    Raises:
        SettingsError: this account has no home.
    """
    base = os.environ.get("XDG_STATE_HOME", "")
    if base.startswith("/"):  # the XDG rules: a relative path is invalid and counts as not set
        return Path(base) / "tic"
    try:
        return Path.home() / ".local" / "state" / "tic"
    except RuntimeError:
        raise SettingsError("This account has no home: TIC_CHECKPOINT_FILE must name a file") from None


def _told(fault: ErrorDetails) -> str:
    """Say which variable does not fit, and why; where several don't fit together, the reason names them."""
    if not fault["loc"]:
        return fault["msg"].removeprefix("Value error, ")
    name = str(fault["loc"][0])
    return f"{name if name.isupper() else f'TIC_{name.upper()}'}: {fault['msg']}"


def _either(url: SecretStr | None, file: Path | None, name: str) -> SecretStr | None:
    """Return a URL, or that which the file holds. Raises ValueError where both are given, and as ``_only_line``."""
    if file is None:
        return url
    if url is not None:
        raise ValueError(f"{name} and {name}_FILE are both set: leave one of them out")
    return SecretStr(_only_line(file, f"{name}_FILE"))


def _only_line(file: Path, name: str) -> str:
    """Return a database's URL, the one line of a file. Raises ValueError, which says nothing of what it holds."""
    try:
        with file.open("rb") as opened:
            url = opened.read(_MOST_OF_A_URL + 1).decode("utf-8").strip()
    except OSError as error:
        raise ValueError(f"{name} is {file}, which can't be read: {error.strerror}") from None
    except UnicodeError:
        raise ValueError(f"{name} is {file}, which is not UTF-8") from None
    if not url or len(url) > _MOST_OF_A_URL or len(url.splitlines()) > 1:
        raise ValueError(f"{name} is {file}, which must hold one line, the URL of the database")
    return url


class KeyFile:
    """The server's keys as the file has them now: a running server follows a rotation."""

    def __init__(self, settings: Settings) -> None:
        """Read the file, which is made if it is the embedded database's and missing. Raises SettingsError."""
        self._settings: Final = settings
        self._keyring = settings.keyring(create=True)
        self._seen = self._stamp()
        if settings.key_file.stat().st_mode & 0o077 and not is_mounted_read_only(settings.key_file):
            _logger.warning(
                "the key file can be read by others than its owner, and so can every hidden card: chmod 600",
                file=str(settings.key_file),
            )

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


def is_mounted_read_only(path: Path) -> bool:
    """Whether the file is handed in, as to a container: who can read it is settled where it comes from, not here."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def write_keys(path: Path, keyring: Keyring, *, replace: bool) -> bool:
    """Write a key file; see ``write_whole``."""
    return write_whole(path, keyring.write(), replace=replace)


def write_whole(path: Path, text: str, *, replace: bool, called: str = "key file") -> bool:
    """Write a file, whole or not at all, and on disk when this returns; tell whether it was written.

    A new one can be read by its owner alone; one that takes the place of another keeps its owner, group and mode, so
    that servers can read it whoever runs this. Without ``replace`` a file that is there stays as it is: the first of
    two processes wins.

    Raises:
        SettingsError: the file can't be written, or not so that it keeps its owner.
    """
    try:
        return put_whole(path, text, replace=replace)
    except OSError as error:
        raise SettingsError(f"The {called} {path} can't be written: {error.strerror}") from None


def put_whole(path: Path, text: str, *, replace: bool) -> bool:
    """Write a file as ``write_whole`` does.

    Raises:
        OSError: the file can't be written, or not so that it keeps its owner. Its ``strerror`` does not name the file.
    """
    draft = _draft(path, text)
    try:
        if replace:
            draft.replace(path)
        else:
            path.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    _sync(path.parent)  # the name is on disk as well as what it names
    return True


def must_be_replaceable(path: Path) -> None:
    """Make sure that ``write_keys`` can replace the file, before anything is done that depends on it.

    Raises:
        SettingsError: it can't.
    """
    try:
        _draft(path, "").unlink()
    except OSError as error:
        raise SettingsError(f"The key file {path} can't be written: {error.strerror}") from None


def _draft(path: Path, text: str) -> Path:
    """Write a file beside another, on disk, with the owner, group and mode of the other where that is there."""
    # Its name can't be guessed: where another user may write to the folder, nothing of his is written to.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if path.exists():
                _become_like(descriptor, path)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        draft.unlink()
        raise
    return draft


def _become_like(descriptor: int, path: Path) -> None:
    found = path.stat()
    try:
        os.fchown(descriptor, found.st_uid, found.st_gid)
    except PermissionError as error:
        raise PermissionError(
            error.errno,
            f"it belongs to user {found.st_uid} and group {found.st_gid}, and would not any longer: servers could no"
            " longer read it. Run this as that user",
        ) from None
    os.fchmod(descriptor, stat.S_IMODE(found.st_mode))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
