"""``tic``: the server, and what its operator does from a shell.

Commands import for themselves what knows GraphQL or the web: that takes longer than most of them do.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn
from uuid import UUID

import structlog
import typer

from api.accounts import Accounts, Scope, TooManyTokens, token_id
from api.collector import settle_collector
from api.database import AppRole, NotSetUp, check, init, prepare, url_as
from api.embedded_postgres import EmbeddedPostgresError
from api.erasing import Erasure
from api.ids import read_id
from api.log_commands import UNSIGNED, log_app, signing_of
from api.logs import configure_logs
from api.record_commands import record_app
from api.settings import KeyFile, LogFormat, Settings, SettingsError, must_be_replaceable, write_keys
from api.shell import answering, datastore_of, err, fail, must_answer, out, progress_bar
from api.upkeep_commands import upkeep_app
from domain.application import Games
from domain.catalogue import catalogue
from domain.storage import DATABASE_AWAY, Datastore, EventRecorder, PersistenceError, confirm
from domain.vault import Keyring, SealError, ServerKey, Vault
from projections.lobby import Lobby, LobbyQueries
from projections.models import PROJECTIONS
from projections.runner import Follower, make_tables
from projections.side_by_side import NotRebuilt, rebuilt_side_by_side

__all__ = ["app", "main"]

app = typer.Typer(help="The TIC game server.", no_args_is_help=True, pretty_exceptions_enable=False)
key_app = typer.Typer(help="The server's key, which seals the decks of games under way.", no_args_is_help=True)
token_app = typer.Typer(help="Players' tokens.", no_args_is_help=True)
player_app = typer.Typer(help="Players' accounts.", no_args_is_help=True)
db_app = typer.Typer(help="The database: its tables, and who may do what with them.", no_args_is_help=True)
project_app = typer.Typer(help="The read models: lists and scoreboards built from the log.", no_args_is_help=True)
app.add_typer(key_app, name="key")
app.add_typer(token_app, name="token")
app.add_typer(player_app, name="player")
app.add_typer(db_app, name="db")
db_app.add_typer(upkeep_app)
app.add_typer(project_app, name="project")
app.add_typer(log_app, name="log")
app.add_typer(record_app)

_logger: Final = structlog.get_logger(__name__)


@contextmanager
def _accounts() -> Iterator[Accounts]:
    with datastore_of(Settings.load()) as datastore:
        yield Accounts(datastore)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Where to listen. [TIC_HOST]")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port. [TIC_PORT]")
    ] = None,
) -> None:
    """Start the server, on an embedded PostgreSQL unless DATABASE_URL names another one."""
    settings = Settings.load()
    configure_logs(settings.log_format)
    # uvicorn ends on these signals and then raises them again, to us: we end the database in good order.
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    if hasattr(signal, "SIGHUP"):  # the terminal was closed
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    address = host or settings.host, settings.port if port is None else port
    _must_be_free(*address)
    if settings.metrics_port is not None:
        _must_be_free(settings.metrics_host, settings.metrics_port, "set TIC_METRICS_PORT")
    if settings.database_url is None:
        err.print(f"Starting PostgreSQL in {settings.folder} ...")
    with answering(settings, create=True) as url:
        keys = KeyFile(settings)
        with closing(Datastore(url, connections=2)) as datastore:
            prepare(datastore)
            make_tables(datastore, PROJECTIONS.values())  # here, where what holds them up is told in a sentence
            vault = Vault(datastore, keys)
            vault.must_open_some()
            if lost := vault.lost():
                _logger.warning(
                    "the key file lacks keys by which decks are sealed, and their games can't go on", decks_by_key=lost
                )
        signing = signing_of(settings)
        if signing is None:
            _logger.warning(UNSIGNED)
        from api.serving import serve_until_stopped

        if not serve_until_stopped(settings, url, keys, signing, address, tell=out.print):
            raise SystemExit(3)


def _must_be_free(host: str, port: int, next_step: str = "tic serve --port 8001") -> None:
    """Fail where the port can't be had: before a database is started for nothing."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        fail(f"can't listen on {host}, port {port}: {error.strerror or error}. Name another: {next_step}")


@key_app.command("new")
def key_new(
    output: Annotated[
        Path | None, typer.Option(help="Write it to this new file, for its owner alone, instead of printing it.")
    ] = None,
) -> None:
    """Make a new key, for the file that TIC_SERVER_KEY_FILE names: tic key new --output server.key"""
    keyring = Keyring([ServerKey.generate()])
    if output is None:
        sys.stdout.write(keyring.write())
    elif not write_keys(output, keyring, replace=False):
        fail(f"there is a file {output}, and it stays as it is. If decks are sealed by a key in it, it is needed")


@key_app.command("list")
def key_list() -> None:
    """Print the ids of the server's keys, the current one first. The keys themselves are not shown."""
    for key in Settings.load().keyring().keys:
        out.print(key.id)


@key_app.command("rotate")
def key_rotate() -> None:
    """Make a new current key and seal every deck with it. The old keys stay in the file until `tic key prune`.

    Servers that read the same file follow at once. Give others the new file before you go on.
    """
    settings = Settings.load()
    keyring = settings.keyring().rotated()
    with datastore_of(settings) as datastore:
        write_keys(settings.key_file, keyring, replace=True)
        said = f"The current key is now {keyring.current.id}. Servers that read {settings.key_file} use it from now on."
        err.print(said)
        vault = Vault(datastore, keyring)
        _reseal(vault)
        if left := vault.lost() | vault.sealed_by(keyring.old):
            fail(f"not every deck could be sealed anew: {_told(left, keyring)}")


def _reseal(vault: Vault) -> None:
    total = vault.to_reseal()
    if not total:
        return
    with progress_bar() as progress:
        task = progress.add_task("Sealing decks", total=total)
        vault.reseal(lambda done: progress.advance(task, done))


def _told(left: dict[str, int], keyring: Keyring) -> str:
    """Say which keys still seal how many decks, and what is the matter with each."""
    why = {
        True: "whose seals are broken, or which a server with an older file has sealed meanwhile",
        False: "and it is not in the file: add it and rotate again, or see `A lost key` in docs/operations.md",
    }
    return "; ".join(
        f"key {key_id} still seals {seeds} {'deck' if seeds == 1 else 'decks'}, {why[key_id in keyring]}"
        for key_id, seeds in left.items()
    )


@key_app.command("prune")
def key_prune() -> None:
    """Drop the old keys from the file, once no deck is sealed by them."""
    settings = Settings.load()
    keyring = settings.keyring()
    with datastore_of(settings) as datastore:
        must_be_replaceable(settings.key_file)
        vault = Vault(datastore, keyring)
        _reseal(vault)
        needed = vault.sealed_by(keyring.old)
        with datastore.get_connection() as conn:
            confirm(conn)  # or a failover could bring back a seal by a key that is dropped
        dropped = [key_id for key_id in keyring.old if key_id not in needed]
        write_keys(settings.key_file, keyring.without(dropped), replace=True)
        if vault.sealed_by(dropped):
            write_keys(settings.key_file, keyring, replace=True)
            fail("a server sealed a deck by an old key meanwhile, so the old keys stay: try again")
    err.print(f"{len(dropped)} old {'key was' if len(dropped) == 1 else 'keys were'} dropped.")
    if needed:
        fail(f"what is still needed stays in the file: {_told(needed, keyring)}")
    err.print(f"The only key is now {keyring.current.id}.")


def _player(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        try:
            return read_id(text, "player")[1]
        except ValueError as error:
            raise typer.BadParameter(f"{error}, or the player's UUID") from None


PlayerArgument = Annotated[UUID, typer.Argument(parser=_player, help="The player's id or UUID.", metavar="PLAYER")]


@token_app.command("grant")
def token_grant(
    player: PlayerArgument,
    scope: Annotated[list[Scope], typer.Option(help="What the token is good for; repeat for more than one.")],
) -> None:
    """Print a new token of a player with scopes that he can't give himself. It is shown this once."""
    with _accounts() as accounts:
        try:
            token = accounts.issue(player, scope)
        except LookupError as error:
            fail(f"{error}: register first, with the mutation registerPlayer")
        except TooManyTokens as error:
            fail(str(error))
    err.print(f"The token's id, for revoking it, is {token_id(token)}. The token:")
    sys.stdout.write(f"{token}\n")


@token_app.command("list")
def token_list(player: PlayerArgument) -> None:
    """Print the ids and scopes of a player's valid tokens, the newest first. The tokens themselves are not kept."""
    with _accounts() as accounts:
        for token in accounts.tokens(player):
            scopes = ", ".join(sorted(scope.value for scope in token.scopes))
            out.print(f"{token.id}  {token.issued_at:%Y-%m-%d %H:%M:%S}Z  {scopes}")


@token_app.command("revoke")
def token_revoke(token_id: Annotated[str, typer.Argument(help="The token's id: see `tic token list`.")]) -> None:
    """Revoke a token of any player. Servers close the connections that came with it at once."""
    with _accounts() as accounts:
        if not accounts.revoke(token_id):
            fail("there is no such valid token")
    err.print("The token is revoked.")


@player_app.command("find")
def player_find(name: Annotated[str, typer.Argument(help="The whole name, or its beginning.")]) -> None:
    """Print the UUIDs of players whose name begins so, at most 100."""
    with _accounts() as accounts:
        for player in accounts.find(name, first=100):
            out.print(f"{player.id}  {player.registered_at:%Y-%m-%d}  {player.name}")


@player_app.command("erase")
def player_erase(
    player: PlayerArgument, yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether to.")] = False
) -> None:
    """Take a player out of all games under way, then erase name and tokens. The games stay, under the random id."""
    settings = Settings.load()
    with datastore_of(settings) as datastore:
        accounts = Accounts(datastore)
        found = accounts.players([player]).get(player)
        if found is None and not LobbyQueries(datastore).games(player=player, first=1):
            fail("there is no such player")
        if found is not None and not yes:
            typer.confirm(f"Erase {found.name!r}, with all tokens? It can't be undone", abort=True, err=True)
        try:
            vault = Vault(datastore, settings.keyring())
        except SettingsError as error:
            accounts.erase(player)
            err.print(f"The player is erased. Games under way stay as they are, for want of the server's key. {error}")
            return
        _follower(datastore, Lobby.name)
        with closing(Games(EventRecorder(datastore), vault)) as games:
            # Not later: this program ends. Whoever comes again takes the player out of what was begun meanwhile.
            _, left = Erasure(datastore, games, accounts, later=lambda *_: None).erase(player)
    err.print(f"The player is erased, and was taken out of {left} {'game' if left == 1 else 'games'} under way.")


@db_app.command("init")
def db_init(
    app_role: Annotated[str, typer.Option(help="The role that servers are to run as; made if it is missing.")],
    app_password_file: Annotated[
        Path | None, typer.Option(help="A file with that role's password, which is set; nothing else tells of it.")
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Drop the read models of the role that servers have run as until now.")
    ] = False,
) -> None:
    """Make all tables, and a role that may append to the log and not change it. Run it with the owner's DATABASE_URL.

    It may be run again at any time: what is there already stays. For upgrades there is `tic db migrate`.
    """
    settings = Settings.load()
    if settings.database_url is None:
        fail("DATABASE_URL must name the database and the role that is to own it. The embedded one needs no roles")
    url = (settings.database_direct_url or settings.database_url).get_secret_value()
    password = _password(app_password_file) if app_password_file else None
    configure_logs(settings.log_format)
    must_answer(url)
    with closing(Datastore(url, connections=2)) as datastore:
        done = init(datastore, app_role, password=password, take_over=take_over)
    for line in _what_was_done(done, asked=password is not None):
        err.print(line, markup=False)
    if done.lacks or done.oversteps:
        fail(f"An administrator has yet to run: {'; '.join(done.lacks + done.oversteps)}")
    err.print("Next, with its password put in: tic serve, with this DATABASE_URL:")
    sys.stdout.write(f"{url_as(url, done.role, database=done.database)}\n")


def _password(file: Path) -> str:
    try:
        password = file.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeError) as error:
        fail(f"the password file {file} can't be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
    if not password or "\n" in password or "\0" in password:
        fail(f"the password file {file} must hold one line, the password")
    return password


def _what_was_done(done: AppRole, *, asked: bool) -> Iterator[str]:
    yield f"The log is append-only, and all tables are there, in the database {done.database}."
    password = "with the password of the file" if done.password_set else "without a password"
    if done.made:
        yield f"The role {done.role} was made, {password}."
    elif done.password_set:
        yield f"The role {done.role} was there. Its password is now that of the file."
    elif asked:
        yield f"The role {done.role} was there. Its password stays as it is: this role may not set it."
    else:
        yield f"The role {done.role} was there."
    yield f"{done.role} may read the log and append to it by the function append_events."


@db_app.command("check")
def db_check() -> None:
    """Say what the role of DATABASE_URL may do. Exit status 0: it can run a server, and not change the log."""
    with answering(Settings.load()) as url, closing(Datastore(url, connections=2)) as datastore:
        found, excess = check(datastore)
    if found.owns:
        fail(
            f"{found.role} may act as {found.owner}, who owns the log: the trigger refuses to change an event, but this"
            " role could drop it. `tic db init` makes another role for servers"
        )
    if excess:
        fail(f"{found.role} can run a server, and may do more than that. Let an administrator run: {'; '.join(excess)}")
    err.print(f"{found.role} can run a server. It may read the log and append to it, and nothing else.", markup=False)


def _read_models(name: str) -> list[str]:
    if name != EVERY_MODEL and name not in PROJECTIONS:
        raise typer.BadParameter(f"there is no read model {name!r}; there are: {', '.join(PROJECTIONS)}")
    return list(PROJECTIONS) if name == EVERY_MODEL else [name]


EVERY_MODEL: Final = "all"
NameArgument = Annotated[
    str, typer.Argument(help=f"Which read model: {', '.join(PROJECTIONS)}; or {EVERY_MODEL}, side by side.")
]


def _follower(datastore: Datastore, name: str, *, keep_older: bool = False) -> Follower:
    prepare(datastore)
    follower = Follower(datastore, PROJECTIONS[name])
    follower.create_tables(keep_older=keep_older)
    return follower


def _begin_rebuild(log_format: LogFormat) -> None:
    configure_logs(log_format)
    settle_collector()


@project_app.command("rebuild")
def project_rebuild(
    name: NameArgument = EVERY_MODEL,
    over_newer: Annotated[
        bool, typer.Option("--over-newer", help="Also in the place of a newer program's: to go back to this one.")
    ] = False,
) -> None:
    """Build read models anew from the whole log. Servers stay up, and show the old ones until the new are whole."""
    settings, names = Settings.load(), _read_models(name)
    begin = partial(_begin_rebuild, settings.log_format)
    begin()
    with answering(settings) as url:
        with closing(Datastore(url, connections=2)) as datastore:
            for each in names:
                _follower(datastore, each, keep_older=True)  # older servers show those until the new are whole
        with progress_bar() as progress:
            tasks = {each: progress.add_task(f"Rebuilding {each}", total=None) for each in names}

            def far(each: str, done: int, total: int) -> None:
                progress.update(tasks[each], completed=done, total=total)

            try:
                rebuilt = rebuilt_side_by_side(url, names, far, begin=begin, over_newer=over_newer)
            except NotRebuilt as error:
                fail(str(error))
            for each, done in rebuilt.items():
                progress.update(tasks[each], completed=done, total=done)
    for each, done in rebuilt.items():
        err.print(f"{each}: {done} events taken in.")


@project_app.command("run")
def project_run() -> None:
    """Follow the log in a process of its own, beside servers with TIC_FOLLOW=false."""
    settings = Settings.load()
    configure_logs(settings.log_format)
    signal.signal(signal.SIGTERM, _stop)
    if settings.metrics_port is not None:
        _must_be_free(settings.metrics_host, settings.metrics_port, "set TIC_METRICS_PORT")
    from api.following import follow_until_stopped

    with answering(settings) as url:
        follow_until_stopped(settings, url, tell=err.print)


@app.command("schema")
def print_schema(
    output: Annotated[Path | None, typer.Option(help="Write it to this file instead of printing it.")] = None,
) -> None:
    """Print the GraphQL schema."""
    from api.schema import schema as graphql_schema

    _print(graphql_schema.as_str() + "\n", output)


@app.command("events")
def print_events(
    output: Annotated[Path | None, typer.Option(help="Write it to this file instead of printing it.")] = None,
) -> None:
    """Print the catalogue of all events as JSON Schema."""
    _print(json.dumps(catalogue(), indent=2) + "\n", output)


def _print(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the command line."""
    configure_logs(LogFormat.CONSOLE)  # in every command: structlog's own form would show the values of variables
    try:
        app()
    except (SettingsError, EmbeddedPostgresError, SealError, NotSetUp) as error:
        fail(str(error))
    except DATABASE_AWAY:
        fail("the database can't be reached. Is DATABASE_URL right, and does that server run?")
    except PersistenceError as error:
        fail(f"the database refused it. It says: {error}")
