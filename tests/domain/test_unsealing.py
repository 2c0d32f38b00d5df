"""Games whose seal does not open: they are read and not played on, for as long as the key is away and no longer."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
import structlog.testing

from domain.application import GameNotFound, Games, KeyReused, NotHandled, SealedElsewhere, SealUnopened
from domain.cards import Card
from domain.decider import EVERYTHING, PUBLIC, Command, Viewer
from domain.lifecycle import Resign, RunOutOfTime, SeedsRevealed
from domain.poker.facts import Options as PokerOptions
from domain.poker.rules import OpenPoker
from domain.rematches import Rematches
from domain.storage import Datastore, EventRecorder
from domain.tables import Cancel, Join, Seating, Start
from domain.ticitaire.facts import Options as TicitaireOptions
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from domain.tickle.facts import Options as TickleOptions
from domain.tickle.rules import OpenTickle
from domain.vault import Keyring, ServerKey, Vault
from tests.api.clock import Clock
from tests.conftest import KEYRING
from tests.projections.finished import logged, recorded, with_facts

ADA, BOB = UUID(int=1), UUID(int=2)
OTHER: Final = Keyring([ServerKey.generate()])
KINDS: Final = ("ticitaire", "tickle", "poker")


class House:
    """A server whose keys come and go."""

    def __init__(self, recorder: EventRecorder, datastore: Datastore) -> None:
        self.keys = KEYRING
        self._recorder, self._vault = recorder, Vault(datastore, lambda: self.keys)
        self.games = Games(recorder, self._vault)

    def restart(self) -> None:
        self.games = Games(self._recorder, self._vault)

    def lose_the_key(self) -> None:
        """The server starts again with another key."""
        self.keys = OTHER
        self.restart()

    def find_the_key(self) -> None:
        """The key is put back into the file of the server that runs."""
        self.keys = Keyring([*OTHER.keys, *KEYRING.keys])

    def hand_in(self, game: UUID, command: Command, player: UUID) -> Any:
        return self.games.handle(
            game, lambda _: command, player=player, expected_version=None, key=None, seated=False
        ).game

    def begun(self, kind: str, **options: Any) -> UUID:
        """A game of Ada's, dealt."""
        if kind == "ticitaire":
            opening = OpenTicitaire(player=ADA, options=TicitaireOptions(**options))
            return self.games.open(kind, opening, player=ADA, key=None).game.id
        asked = {"seating": Seating.AS_JOINED, **options}
        open_ = OpenPoker if kind == "poker" else OpenTickle
        made = (PokerOptions if kind == "poker" else TickleOptions).model_validate(asked)
        game = self.games.open(kind, open_(player=ADA, options=made), player=ADA, key=None).game.id
        for player, command in ((BOB, Join(player=BOB)), (ADA, Start(player=ADA))):
            self.hand_in(game, command, player)
        return game

    def resign(self, game: UUID, player: UUID = ADA) -> Any:
        return self.games.handle(
            game, lambda seat: Resign(seat=seat), player=player, expected_version=None, key=None
        ).game


@pytest.fixture
def house(recorder: EventRecorder, datastore: Datastore) -> House:
    return House(recorder, datastore)


def known_cards(view: object) -> set[Card]:
    """The cards that a view shows, wherever in it."""
    if isinstance(view, Card):
        return {view}
    if isinstance(view, (tuple, list, frozenset, set)):
        return {card for one in view for card in known_cards(one)}
    if is_dataclass(view) and not isinstance(view, type):
        return known_cards([getattr(view, field.name) for field in fields(view)])
    return set()


@pytest.mark.parametrize("kind", KINDS)
def test_a_game_whose_key_is_away_is_shown_as_everyone_sees_it_and_open_to_nobody(house: House, kind: str) -> None:
    game = house.begun(kind)
    public = house.games.game(game).view(PUBLIC)
    house.lose_the_key()
    shown = house.games.game(game)
    for seat, player in enumerate(shown.table.players, 1):
        viewer = Viewer(seat=seat, player=player)
        assert known_cards(shown.view(viewer)) == known_cards(public)
        assert shown.legal_commands(viewer) == ()
        assert all(shown.decider.came_to(shown.table, seat, version) == () for version in range(1, shown.version + 1))
    assert [moment.event.seq for moment in house.games.passage(shown, after=0, first=100, hidden=True)] == [
        *range(1, shown.version + 1)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_commands_are_refused_while_the_key_is_away_and_nothing_is_recorded(house: House, kind: str) -> None:
    game = house.begun(kind)
    house.lose_the_key()
    version = house.games.game(game).version
    with pytest.raises(SealUnopened):
        house.resign(game)
    with pytest.raises(SealUnopened):
        house.games.act(game, RunOutOfTime())
    assert house.games.newest(game).seq == version


@pytest.mark.parametrize("kind", KINDS)
def test_when_the_key_is_back_the_game_is_played_on_without_a_restart(house: House, kind: str) -> None:
    game = house.begun(kind)
    viewer = Viewer(seat=1, player=ADA)
    before = house.games.game(game)
    house.lose_the_key()
    assert house.games.game(game).table.seeds is None
    house.find_the_key()
    after = house.games.game(game)
    assert after.view(viewer) == before.view(viewer)
    assert after.legal_commands(viewer) == before.legal_commands(viewer)
    ended = house.resign(game)
    assert isinstance(ended.table.revealed, SeedsRevealed)


def test_once_it_is_opened_a_seal_is_left_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    game = house.begun("ticitaire")
    house.lose_the_key()
    house.games.game(game)
    house.find_the_key()
    house.games.game(game)
    monkeypatch.setattr(Vault, "open", lambda *_: pytest.fail("it was opened again"))
    assert house.games.game(game).table.seeds is not None


def test_a_command_alone_finds_the_key_that_is_back(house: House) -> None:
    game = house.begun("ticitaire")
    house.lose_the_key()
    with pytest.raises(SealUnopened):
        house.hand_in(game, TurnStock(seat=1), ADA)
    house.find_the_key()
    assert house.hand_in(game, TurnStock(seat=1), ADA).version == 4


def test_positions_that_were_looked_at_without_the_key_have_their_cards_once_it_is_back(house: House) -> None:
    game = house.begun("ticitaire")
    for _ in range(40):
        house.hand_in(game, TurnStock(seat=1), ADA)

    def positions() -> list[Any]:
        games, now = house.games, house.games.game(game)
        (moment,) = games.passage(now, after=37, first=1, hidden=True)
        return [one.view(EVERYTHING) for one in (games.at(game, 40), moment.game)]

    before = positions()
    house.lose_the_key()
    assert known_cards(positions()) < known_cards(before)
    house.find_the_key()
    assert positions() == before


def test_seeds_that_another_server_reveals_open_the_cards_here_too(
    house: House, recorder: EventRecorder, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = house.begun("tickle", sealed_until=datetime.now(UTC) + timedelta(days=1))
    house.resign(game, BOB)
    house.lose_the_key()
    assert house.games.game(game).table.held_back
    Clock(monkeypatch).wind_on(2 * 24 * 3600)
    with pytest.raises(SealUnopened):
        house.games.act(game, RunOutOfTime())
    Games(recorder, vault).act(game, RunOutOfTime())
    shown = house.games.game(game)
    assert shown.table.closed
    assert len(known_cards(shown.view(EVERYTHING))) == 125
    assert house.games.at(game, 4).table.seeds is not None
    assert shown.decider.came_to(shown.table, 1, 6) != ()


def test_seeds_that_are_held_back_come_out_when_the_key_is_back(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    game = house.begun("tickle", sealed_until=datetime.now(UTC) + timedelta(days=1))
    house.resign(game, BOB)
    house.lose_the_key()
    Clock(monkeypatch).wind_on(2 * 24 * 3600)
    with pytest.raises(SealUnopened):
        house.games.act(game, RunOutOfTime())
    house.find_the_key()
    assert house.games.act(game, RunOutOfTime()).game.table.revealed is not None


@pytest.mark.parametrize(
    "damage", ["sealed = sealed || '\\x00'", "sealed = '\\x00'", "deals = 2", "key_id = 'nobody''s'"]
)
def test_a_broken_seal_is_like_a_missing_key(house: House, database_url: str, damage: str) -> None:
    game = house.begun("tickle")
    house.restart()
    with psycopg.connect(database_url) as connection:
        connection.execute(f"UPDATE sealed_seeds SET {damage}")
    assert house.games.game(game).table.seeds is None
    with pytest.raises(SealUnopened):
        house.resign(game)


def test_one_game_without_its_key_leaves_the_others_of_its_batch_alone(house: House, database_url: str) -> None:
    lost, good = house.begun("tickle"), house.begun("tickle")
    house.restart()
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE sealed_seeds SET key_id = 'lost' WHERE deal = %s", (lost,))
    read = house.games.several([lost, good])
    assert [game.table.seeds is None for game in read] == [True, False]  # type: ignore[union-attr]


def test_the_log_of_the_server_tells_once_which_key_is_missing_and_no_secret(house: House) -> None:
    games = [house.begun("tickle") for _ in range(3)]
    secrets = [house.games.game(game).table.seeds.seed(1).hex() for game in games]
    house.lose_the_key()
    with structlog.testing.capture_logs() as logs:
        for game in games * 2:
            house.games.game(game)
            with pytest.raises(SealUnopened):
                house.resign(game)
    (line,) = logs
    assert KEYRING.current.id in line["why"]
    secrets += [key.write().strip() for key in (*KEYRING.keys, *OTHER.keys)]
    assert not any(secret in str(line) for secret in secrets)


def test_what_a_key_answered_is_told_again_while_the_seal_does_not_open(house: House) -> None:
    opening = OpenTicitaire(player=ADA)
    first = house.games.open("ticitaire", opening, player=ADA, key="opened once").game
    house.lose_the_key()
    again = house.games.open("ticitaire", opening, player=ADA, key="opened once")
    assert (again.repeated, again.game.id, again.game.version) == (True, first.id, first.version)
    with pytest.raises(KeyReused):
        house.games.open("ticitaire", OpenTicitaire(player=ADA, label="another"), player=ADA, key="opened once")


def test_an_opening_that_failed_after_its_seed_was_drawn_is_refused_while_the_seal_does_not_open(
    house: House, database_url: str
) -> None:
    opening = OpenTicitaire(player=ADA)
    game = house.games.open("ticitaire", opening, player=ADA, key="opened once").game.id
    house.lose_the_key()
    unheard = UUID(int=99)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE sealed_seeds SET deal = %s WHERE deal = %s", (unheard, game))
    with pytest.raises(SealUnopened):
        house.games.open("ticitaire", opening, player=ADA, key=None, game_id=unheard)
    with pytest.raises(GameNotFound):
        house.games.game(unheard)


def test_a_rematch_whose_key_is_away_is_refused_to_those_who_would_join_it(house: House) -> None:
    game = house.begun("tickle")
    house.resign(game)
    Rematches(house.games).play_again(game, player=ADA, moved_on=False, key=None)
    house.lose_the_key()
    with pytest.raises(SealUnopened):
        Rematches(house.games).play_again(game, player=BOB, moved_on=False, key=None)
    latest = Rematches(house.games).latest(game)
    assert latest is not None
    assert latest.table.seeds is None


def test_a_finished_game_whose_key_is_away_can_be_played_again(house: House) -> None:
    game = house.begun("tickle", sealed_until=datetime.now(UTC) + timedelta(days=1))
    house.resign(game)
    house.lose_the_key()
    again = Rematches(house.games).play_again(game, player=ADA, moved_on=False, key=None)
    assert again.game.table.seeds is not None


@pytest.mark.parametrize("seeds", [("5a" * 32,), (), ("5a" * 32, "5b" * 32)], ids=["foreign", "none", "too many"])
def test_seeds_that_prove_nothing_open_no_card_of_a_game_that_is_read(
    house: House, datastore: Datastore, seeds: tuple[str, ...]
) -> None:
    events = recorded("tickle-timed-out")
    logged(datastore, [with_facts(events, [*(event.fact for event in events[:-1]), SeedsRevealed(seeds=seeds)])])
    game = house.games.game(events[0].game)
    assert game.table.closed
    for table in (game.table, house.games.at(game.id, game.version - 1).table):
        assert (table.seeds, table.deck) == (None, None)


def test_a_game_that_was_called_off_needs_no_key(house: House) -> None:
    game = house.games.open("tickle", OpenTickle(player=ADA), player=ADA, key=None).game.id
    house.hand_in(game, Cancel(player=ADA), ADA)
    house.lose_the_key()
    with structlog.testing.capture_logs() as logs:
        assert house.games.game(game).table.cancelled
    assert logs == []


@pytest.mark.parametrize("error", [SealUnopened, SealedElsewhere])
def test_what_is_only_for_reading_is_refused_before_the_rules_are_asked(error: type[Exception]) -> None:
    assert issubclass(error, NotHandled)
