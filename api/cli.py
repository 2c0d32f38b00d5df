"""``tic``: the server, and what its operator does from a shell.

Commands import for themselves what knows GraphQL or the web: that takes longer than most of them do.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn
from uuid import UUID

import psycopg
import structlog
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from api.accounts import Accounts, Scope, TooManyTokens, display_name, token_id
from api.archives import lines_in, writing
from api.auditing import FileReport, audited, read_proof_files, read_receipts, shown, told, unmet
from api.collector import settle_collector
from api.database import AppRole, NotSetUp, check, init, may_show_password, prepare, prepare_tables, url_as
from api.embedded_postgres import EmbeddedPostgresError
from api.erasing import Erasure
from api.ids import game_of, read_id
from api.log_commands import UNSIGNED, log_app, signing_of
from api.logs import configure_logs
from api.settings import KeyFile, LogFormat, Settings, SettingsError, must_be_replaceable, write_keys
from api.signing import Signer
from api.viewpoints import ReplayView
from domain.application import Games
from domain.archive import HeldOtherwise, events_up_to, holds, take_in
from domain.audit import Audited, Receipt
from domain.catalogue import catalogue
from domain.decider import Names
from domain.events import Event
from domain.games import FACT_TYPES, RULESETS
from domain.lifecycle import GameOpened, PlayerSeated
from domain.notes import LogProof, NoteKey
from domain.record_reading import lines_of, read_record, read_records
from domain.records import BrokenRecord, Record, write_record
from domain.storage import CHANNEL, DATABASE_AWAY, Datastore, EventRecorder, PersistenceError, log_end
from domain.telling import NOBODY_NAMED
from domain.vault import Keyring, SealError, ServerKey, Vault
from projections.hints import Hints
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
app.add_typer(project_app, name="project")
app.add_typer(log_app, name="log")

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_logger: Final = structlog.get_logger(__name__)


@contextmanager
def _datastore(settings: Settings) -> Iterator[Datastore]:
    with _answering(settings) as url, closing(Datastore(url, connections=4)) as datastore:
        prepare_tables(datastore)
        yield datastore


@contextmanager
def _answering(settings: Settings, *, create: bool = False) -> Iterator[str]:
    """Yield the URL of the database, once it has answered."""
    with settings.database(create=create) as url:
        _must_answer(url)
        yield url


@contextmanager
def _accounts() -> Iterator[Accounts]:
    with _datastore(Settings.load()) as datastore:
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
    if settings.database_url is None:
        err.print(f"Starting PostgreSQL in {settings.folder} ...")
    with _answering(settings, create=True) as url:
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


def _must_be_free(host: str, port: int) -> None:
    """Fail where the port can't be had: before a database is started for nothing."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        _fail(f"can't listen on {host}, port {port}: {error.strerror or error}. Name another: tic serve --port 8001")


def _must_answer(url: str) -> None:
    """Fail where the database can't be reached, with its reason, which holds no password."""
    try:
        if may_show_password(url):
            _fail(
                "DATABASE_URL can't be taken apart into USER:PASSWORD@HOST:PORT/DATABASE. In the password, special"
                " characters are written as %40 for @, %3A for :, %2F for /, %25 for %, and the like"
            )
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.ProgrammingError:
        _fail(
            "DATABASE_URL is not a PostgreSQL URL: postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special"
            " characters of the password written as %40 for @, and the like"
        )
    except psycopg.OperationalError as error:
        _fail(f"the database can't be reached. Check DATABASE_URL. It says: {str(error).strip()}")


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
        _fail(f"there is a file {output}, and it stays as it is. If decks are sealed by a key in it, it is needed")


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
    with _datastore(settings) as datastore:
        write_keys(settings.key_file, keyring, replace=True)
        said = f"The current key is now {keyring.current.id}. Servers that read {settings.key_file} use it from now on."
        err.print(said)
        vault = Vault(datastore, keyring)
        _reseal(vault)
        if left := vault.lost() | vault.sealed_by(keyring.old):
            _fail(f"not every deck could be sealed anew: {_told(left, keyring)}")


def _reseal(vault: Vault) -> None:
    total = vault.to_reseal()
    if not total:
        return
    with _progress() as progress:
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
    with _datastore(settings) as datastore:
        must_be_replaceable(settings.key_file)
        vault = Vault(datastore, keyring)
        _reseal(vault)
        needed = vault.sealed_by(keyring.old)
        dropped = [key_id for key_id in keyring.old if key_id not in needed]
        write_keys(settings.key_file, keyring.without(dropped), replace=True)
        if vault.sealed_by(dropped):
            write_keys(settings.key_file, keyring, replace=True)
            _fail("a server sealed a deck by an old key meanwhile, so the old keys stay: try again")
    err.print(f"{len(dropped)} old {'key was' if len(dropped) == 1 else 'keys were'} dropped.")
    if needed:
        _fail(f"what is still needed stays in the file: {_told(needed, keyring)}")
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
            _fail(f"{error}: register first, with the mutation registerPlayer")
        except TooManyTokens as error:
            _fail(str(error))
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
            _fail("there is no such valid token")
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
    with _datastore(settings) as datastore:
        accounts = Accounts(datastore)
        found = accounts.players([player]).get(player)
        if found is None and not LobbyQueries(datastore).games(player=player, first=1):
            _fail("there is no such player")
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

    Run it again after each upgrade: what is there already stays.
    """
    settings = Settings.load()
    if settings.database_url is None:
        _fail("DATABASE_URL must name the database and the role that is to own it. The embedded one needs no roles")
    url = settings.database_url.get_secret_value()
    password = _password(app_password_file) if app_password_file else None
    configure_logs(settings.log_format)
    _must_answer(url)
    with closing(Datastore(url, connections=2)) as datastore:
        done = init(datastore, app_role, password=password, take_over=take_over)
    for line in _what_was_done(done, asked=password is not None):
        err.print(line, markup=False)
    if done.lacks or done.oversteps:
        _fail(f"An administrator has yet to run: {'; '.join(done.lacks + done.oversteps)}")
    err.print("Next, with its password put in: tic serve, with this DATABASE_URL:")
    sys.stdout.write(f"{url_as(url, done.role, database=done.database)}\n")


def _password(file: Path) -> str:
    try:
        password = file.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeError) as error:
        _fail(f"the password file {file} can't be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
    if not password or "\n" in password or "\0" in password:
        _fail(f"the password file {file} must hold one line, the password")
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
    with _answering(Settings.load()) as url, closing(Datastore(url, connections=2)) as datastore:
        found, excess = check(datastore)
    if found.owns:
        _fail(
            f"{found.role} may act as {found.owner}, who owns the log: the trigger refuses to change an event, but this"
            " role could drop it. `tic db init` makes another role for servers"
        )
    if excess:
        _fail(
            f"{found.role} can run a server, and may do more than that. Let an administrator run: {'; '.join(excess)}"
        )
    err.print(f"{found.role} can run a server. It may read the log and append to it, and nothing else.", markup=False)


def _read_models(name: str) -> list[str]:
    if name != EVERY_MODEL and name not in PROJECTIONS:
        raise typer.BadParameter(f"there is no read model {name!r}; there are: {', '.join(PROJECTIONS)}")
    return list(PROJECTIONS) if name == EVERY_MODEL else [name]


EVERY_MODEL: Final = "all"
NameArgument = Annotated[
    str, typer.Argument(help=f"Which read model: {', '.join(PROJECTIONS)}; or {EVERY_MODEL}, side by side.")
]


def _follower(datastore: Datastore, name: str) -> Follower:
    prepare(datastore)
    follower = Follower(datastore, PROJECTIONS[name])
    follower.create_tables()
    return follower


def _begin_rebuild(log_format: LogFormat) -> None:
    configure_logs(log_format)
    settle_collector()


@project_app.command("rebuild")
def project_rebuild(name: NameArgument = EVERY_MODEL) -> None:
    """Build read models anew from the whole log. Servers stay up, and show the old ones until the new are whole."""
    settings, names = Settings.load(), _read_models(name)
    begin = partial(_begin_rebuild, settings.log_format)
    begin()
    with _answering(settings) as url:
        with closing(Datastore(url, connections=2)) as datastore:
            for each in names:
                _follower(datastore, each)
        with _progress() as progress:
            tasks = {each: progress.add_task(f"Rebuilding {each}", total=None) for each in names}

            def far(each: str, done: int, total: int) -> None:
                progress.update(tasks[each], completed=done, total=total)

            try:
                rebuilt = rebuilt_side_by_side(url, names, far, begin=begin)
            except NotRebuilt as error:
                _fail(str(error))
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
    with _answering(settings) as url, closing(Datastore(url, connections=len(PROJECTIONS) + 2)) as datastore:
        signing, hints, stop = signing_of(settings), Hints(url), threading.Event()
        followers = [_follower(datastore, name) for name in PROJECTIONS]
        for follower in followers:
            hints.on(CHANNEL, follower.wake)
        running = [follower.run for follower in followers]
        if signing is not None:
            running.append(Signer(datastore, *signing).run)
        threads = [threading.Thread(target=run, args=(stop,)) for run in running]
        try:
            for thread in threads:
                thread.start()
            err.print(f"Following the log for {', '.join(PROJECTIONS)}. Stop it with Ctrl-C.")
            if signing is None:
                err.print(UNSIGNED)
            asyncio.run(hints.run())
        finally:
            stop.set()
            for thread in threads:
                if thread.is_alive():
                    thread.join()


def _game(text: str) -> UUID:
    try:
        return game_of(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}, or the game's UUID") from None


@app.command("export")
def export_records(
    games: Annotated[
        list[UUID] | None, typer.Argument(parser=_game, help="The games' ids or UUIDs.", metavar="[GAME]...")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every game of the log.")] = False,
    kind: Annotated[str | None, typer.Option(help=f"Only games of this kind: {', '.join(RULESETS)}.")] = None,
    label: Annotated[str | None, typer.Option(help="Only games that bear this label.")] = None,
    since: Annotated[
        int | None, typer.Option(min=0, help="Only games with an event after this position in the log; each whole.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write to this file instead of printing; compressed if its name ends in .gz.")
    ] = None,
) -> None:
    """Write games as records, in the order of the log: lines of JSON with the exact bytes of every event."""
    if bool(games) == (every or not (since is None and kind is None and label is None)):
        raise typer.BadParameter(
            "name the games, or ask for --all of them, those of a --kind, with a --label, or --since a position"
        )
    if kind not in (None, *RULESETS):
        raise typer.BadParameter(f"there is no kind {kind!r}; there are: {', '.join(RULESETS)}")
    topics = [fact.topic for fact in FACT_TYPES.values() if issubclass(fact, GameOpened) and kind in (None, fact.kind)]
    with _datastore(Settings.load()) as datastore:
        recorder, events = EventRecorder(datastore), 0
        with datastore.transaction() as cursor:
            end = log_end(cursor)  # before the list is made, so that whatever comes after is after it
        found = recorder.opened(topics, changed_after=since or 0, among=games, label=label)
        if missing := set(games or ()).difference(found):
            _fail(f"there is no game {', '.join(sorted(map(str, missing)))}")
        with writing(output) as write, _progress() as progress:
            for game in progress.track(found, description="Exporting games"):
                if last := recorder.newest(game):
                    write(write_record(events_up_to(last, recorder.span)))
                    events += last.seq
    err.print(f"Games: {len(found)}. Events: {events}. For what comes later: --since {end}")


@app.command("import")
def import_records(files: Annotated[list[Path], typer.Argument(help="Files of records; .gz if compressed.")]) -> None:
    """Take the games of records into the store, for reading and replaying.

    A file is checked whole before any of it is taken in. A game that the store holds already is passed over if it has
    every event of the record; if not, the file is refused.
    """
    with _datastore(Settings.load()) as datastore:
        recorder = EventRecorder(datastore)
        for file in files:
            taken: list[bool] = []
            try:
                for record in _records(file, "Checking"):
                    holds(recorder, record)
                taken += take_in(recorder, _records(file, "Importing"))
            except OSError as error:
                _fail(f"{file} can't be read: {error.strerror or error}")
            except BrokenRecord as error:
                _fail(f"{file}, {error}")
            except HeldOtherwise as error:
                _fail(f"{file}, line {error.record.line}: {error}")
            err.print(f"{file}: games taken in: {sum(taken)}; here already: {taken.count(False)}.", markup=False)


def _records(file: Path, doing: str) -> Iterator[Record]:
    with lines_in(file) as (lines, position), _progress() as progress:
        task = progress.add_task(f"{doing} {escape(file.name)}", total=file.stat().st_size)
        for record in read_records(lines):
            progress.update(task, completed=position())
            yield record
        progress.update(task, completed=position())


@app.command("replay")
def replay(
    game: Annotated[
        str,
        typer.Argument(
            help="A file with one record (.gz if compressed), - for one that comes in, or a game's id or UUID.",
            metavar="FILE|GAME",
        ),
    ],
    seen_as: Annotated[
        ReplayView,
        typer.Option(
            "--as", case_sensitive=False, help="Whose eyes it is seen with; others than PUBLIC's once it is over."
        ),
    ] = ReplayView.PUBLIC,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print a sentence for each event, as where there is no terminal.")
    ] = False,
    notation: Annotated[bool, typer.Option("--notation", help="Print the game in short: docs/notation.md.")] = False,
    pace: Annotated[
        float, typer.Option(min=0.05, max=60, help="Seconds for each position where it plays by itself.")
    ] = 1.0,
) -> None:
    """Play a game again in a terminal, forwards and backwards: a record, or a game of the log."""
    from api.faults import Fault
    from api.replaying import HAS_KEYS, Reel, keyboard, watch

    try:
        events, names = _told_of(game)
        reel = Reel(events, seen_as, names)
    except Fault as error:
        _fail(error.message)
    screen = Console(highlight=False)
    if notation:
        out.print(*reel.notation(), sep="\n", markup=False)
    elif plain or not screen.is_terminal or screen.is_dumb_terminal:
        for seq in range(1, len(reel) + 1):
            out.print(f"{seq:>4}  {reel.words(seq)}", markup=False)
    elif not HAS_KEYS:
        _fail("there are no keys to be read on Windows: ask for --plain or --notation")
    else:
        try:
            with keyboard() as keys:
                watch(reel, screen, keys, pace=pace)
        except OSError as error:
            _fail(f"no keys can be read here ({error.strerror or error}): ask for --plain or --notation")


@app.command("audit")
def audit_records(
    files: Annotated[list[Path], typer.Argument(help="Files of records, as `tic export` writes them; .gz if packed.")],
    key: Annotated[
        str | None, typer.Option(help="The verifier key of the log, or a file that holds it: from the operator.")
    ] = None,
    proofs: Annotated[
        list[Path] | None, typer.Option(help="Files of proofs that the log has these games: /games/GAME.tlog-proof.")
    ] = None,
    receipts: Annotated[
        Path | None, typer.Option(help="Receipts that players kept: lines of JSON with `game`, `version` and `hash`.")
    ] = None,
    without_log: Annotated[bool, typer.Option(help="Check the games alone, not that a signed log has them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a report for machines.")] = False,
) -> None:
    """Check games from their records alone: the chain, the deal, every move by the rules, the result, the log's proof.

    It needs no database and no network. The exit status is 0 only if everything holds, and 1 if something is wrong or
    can't be told; games that were cancelled hold.
    """
    if without_log == (key is not None) or (without_log and proofs):
        raise typer.BadParameter("give the log's --key and --proofs, or say --without-log to check the games alone")
    trusted = None if key is None else _note_key(key)
    try:
        found = read_proof_files(proofs or [])
        kept = read_receipts(receipts) if receipts else []
        reports = [_audited(file, trusted, found, kept) for file in files]
    except OSError as error:
        _fail(f"{error.filename} can't be read: {error.strerror or error}")
    except ValueError as error:
        _fail(str(error))
    missed = unmet(reports, kept)
    if as_json:
        sys.stdout.write(told(reports, missed))
    else:
        out.print(shown(reports, missed))
    raise typer.Exit(0 if all(report.holds for report in reports) and not missed else 1)


def _note_key(key: str) -> NoteKey:
    """Read a verifier key, or the file that holds one."""
    try:
        return NoteKey.parse(Path(key).read_text(encoding="utf-8") if Path(key).is_file() else key)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"--key is neither a verifier key nor a file that holds one: {error}") from None


def _audited(
    file: Path, key: NoteKey | None, proofs: Mapping[UUID, LogProof], receipts: Sequence[Receipt]
) -> FileReport:
    found: list[Audited | BrokenRecord] = []
    with lines_in(file) as (lines, position), _progress() as progress:
        task = progress.add_task(f"Auditing {escape(file.name)}", total=file.stat().st_size)
        for game in audited(lines, key=key, proofs=proofs, receipts=receipts):
            found.append(game)
            progress.update(task, completed=position())
        progress.update(task, completed=position())
    return FileReport(str(file), tuple(found))


def _told_of(game: str) -> tuple[Sequence[Event], Names]:
    """Return all events of the game that a record holds, or the log; of the log, with what its seats are called."""
    try:
        if game == "-":
            return read_record(lines_of(sys.stdin.buffer)).events, NOBODY_NAMED
        if (file := Path(game)).is_file():
            with lines_in(file) as (lines, _):
                return read_record(lines).events, NOBODY_NAMED
    except BrokenRecord as error:
        _fail(f"{'the record' if game == '-' else game}, {error}")
    except OSError as error:
        _fail(f"{game} can't be read: {error.strerror or error}")
    try:
        id_ = game_of(game)
    except ValueError:
        _fail(f"{game} is neither a file nor the id of a game")
    with _datastore(Settings.load()) as datastore:
        recorder = EventRecorder(datastore)
        last = recorder.newest(id_)
        if last is None:
            _fail(f"there is no game {game}")
        events = tuple(events_up_to(last, recorder.span))
        return events, _names_in(events, Accounts(datastore))


def _names_in(events: Iterable[Event], accounts: Accounts) -> Names:
    """Return what the seats of a game are called: those who erased their names by a pseudonym."""
    seated = {event.fact.seat: event.fact.player for event in events if isinstance(event.fact, PlayerSeated)}
    known = accounts.players(set(seated.values()))
    return {seat: display_name(player, known.get(player)) for seat, player in seated.items()}


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


def _progress() -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=err)


def _fail(message: str) -> NoReturn:
    err.print(f"[red]tic:[/red] {escape(message)}")
    raise SystemExit(1)


def main() -> None:
    """Run the command line."""
    configure_logs(LogFormat.CONSOLE)  # in every command: structlog's own form would show the values of variables
    try:
        app()
    except (SettingsError, EmbeddedPostgresError, SealError, NotSetUp) as error:
        _fail(str(error))
    except DATABASE_AWAY:
        _fail("the database can't be reached. Is DATABASE_URL right, and does that server run?")
    except PersistenceError as error:
        _fail(f"the database refused it. It says: {error}")
