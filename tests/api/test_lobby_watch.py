"""A lobby is looked at at a pace and once for everyone, and nothing is missed, told twice or told late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar, cast
from uuid import UUID

import pytest

from api.faults import SlowReader, Unavailable
from api.live import Live
from api.readers import Listener
from api.seams import Opening, Seams, Wanted
from api.tallies import Tallies, Tally, TallyLine
from api.watching import PACE_SECONDS, LobbyNews, LobbyWatch
from domain.game import Game
from projections.lobby import Status
from tests.given import NOON

T = TypeVar("T")

PLAYER = UUID(int=9)


def tally(number: int, version: int = 1, **more: Any) -> Tally:
    """How a game stands, whose score is its version."""
    line = TallyLine(seat=1, player=PLAYER, score=version, place=1, resigned=False, awaited=True)
    known: dict[str, Any] = {
        "game": UUID(int=number),
        "kind": "tickle",
        "status": Status.PLAYING,
        "label": None,
        "private": False,
        "takes": 3,
        "closed": False,
        "round": 1,
        "deadline": None,
        "lines": (line,),
        "proved": False,
        "opened_at": NOON + timedelta(seconds=number),
        "version": version,
        "head": f"{number}-{version}",
    }
    return Tally(**{**known, **more})


class House:
    """Stands for the log, the list and the clock around a watch, and counts what is asked of them."""

    def __init__(self) -> None:
        self.games: dict[UUID, Tally] = {}
        self.listed: set[UUID] = set()
        self.asked: list[Any] = []
        self.read: list[UUID] = []
        self.computed: list[str] = []
        self.listeners: set[Listener] = set()
        self.now = 0.0
        self.sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self.error: Exception | None = None
        live = cast("Live", self)
        seams, tallies = cast("Seams", self.Seams(self)), cast("Tallies", self.Tallies(self))
        self.watch = LobbyWatch(live, seams, self.ask, tallies, clock=lambda: self.now, sleep=self.sleep)

    # the log

    def listen(self, listener: Listener) -> None:
        self.listeners.add(listener)

    def unlisten(self, listener: Listener) -> None:
        self.listeners.discard(listener)

    def happen(self, *games: Tally, listed: bool = True) -> None:
        """Let games stand like that, and say so to whoever listens."""
        for game in games:
            self.games[game.game] = game
            if listed:
                self.listed.add(game.game)
        for listener in self.listeners:
            listener.hear([game.game for game in games], [])

    # the list

    class Seams:
        def __init__(self, house: House) -> None:
            self.house = house

        def listed(self, wanted: Wanted, first: int) -> tuple[list[UUID], bool]:
            self.house.asked.append(wanted)
            if self.house.error is not None:
                raise self.house.error
            games = sorted(self.house.listed, reverse=True)
            fitting = [game for game in games if wanted.fits(self.house.games[game])]
            return fitting[:first], len(fitting) > first

        def openings(self, games: Collection[UUID]) -> dict[UUID, Opening]:
            known = (self.house.games[game] for game in games)
            return {game.game: Opening(game.kind, game.label, game.private) for game in known}

        def games(self, games: Sequence[UUID]) -> list[Any]:
            self.house.read += games
            return [self.house.games[game] for game in games]

    class Tallies:
        def __init__(self, house: House) -> None:
            self.house = house

        def of(self, game: Game) -> Tally:
            found = cast("Tally", game)
            self.house.computed.append(found.head)
            return found

    async def ask(self, call: Callable[[], T], /) -> T:
        await asyncio.sleep(0)
        return call()

    # the clock

    async def sleep(self, seconds: float) -> None:
        waking: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.sleepers.append((self.now + seconds, waking))
        await waking

    def later(self, seconds: float = PACE_SECONDS) -> None:
        """Let time pass."""
        self.now += seconds
        for until, waking in self.sleepers:
            if until <= self.now and not waking.done():
                waking.set_result(None)


async def at_rest() -> None:
    """Let everyone do what is to be done before time passes."""
    for _ in range(60):
        await asyncio.sleep(0)


class Watcher:
    """One subscriber, and what he was told: each message as the games in it with their versions."""

    def __init__(self, house: House, **wanted: Any) -> None:
        self.news = house.watch.follow(Wanted(**wanted), None, None)
        self.told: list[list[tuple[int, int]]] = []
        self.raw: list[LobbyNews] = []
        self.reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async with aclosing(self.news):
            async for (news,) in self.news:
                self.raw.append(news)
                self.told.append([(tally.game.int, tally.version) for tally in news.tallies])

    async def leave(self) -> None:
        self.reading.cancel()
        await asyncio.gather(self.reading, return_exceptions=True)


@pytest.fixture
def house() -> House:
    return House()


async def test_whoever_comes_is_told_the_newest_and_whether_there_are_more(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.watching.MOST_LISTED", 2)
    house.happen(tally(1), tally(2), tally(3))
    watcher = Watcher(house)
    await at_rest()
    assert (watcher.told, watcher.raw[0].has_more) == ([[(3, 1), (2, 1)]], True)
    await watcher.leave()


async def test_changes_that_come_faster_than_the_pace_are_told_together_the_newest_of_each_game(house: House) -> None:
    watcher = Watcher(house)
    await at_rest()
    house.happen(tally(1))
    await at_rest()
    for version in range(2, 9):
        house.happen(tally(1, version), tally(2, version))
        await at_rest()
    assert watcher.told == [[], [(1, 1)]]
    house.later()
    await at_rest()
    assert watcher.told == [[], [(1, 1)], [(1, 8), (2, 8)]]
    assert len(house.computed) == 3
    await watcher.leave()


async def test_nobody_is_told_more_than_four_times_a_second(house: House) -> None:
    watcher = Watcher(house)
    await at_rest()
    for version in range(1, 101):
        house.happen(tally(1, version))
        await at_rest()
        house.later(0.01)
        await at_rest()
    assert len(watcher.told) - 1 <= 4 * house.now + 1
    assert watcher.told[-1] >= [(1, 76)]
    await watcher.leave()


async def test_a_thousand_who_watch_a_lobby_cost_one_look_and_one_computing(house: House) -> None:
    house.happen(tally(1))
    watchers = [Watcher(house, kind="tickle") for _ in range(1_000)]
    await at_rest()
    assert (len(house.asked), house.computed) == (1, ["1-1"])
    house.happen(tally(1, 2))
    await at_rest()
    assert (len(house.asked), house.computed, house.read) == (1, ["1-1", "1-2"], [UUID(int=1)] * 2)
    assert [watcher.told for watcher in watchers] == [[[(1, 1)], [(1, 2)]]] * 1_000
    assert len({id(watcher.raw[1]) for watcher in watchers}) == 1
    await asyncio.gather(*(watcher.leave() for watcher in watchers))


async def test_a_game_is_computed_once_for_all_lobbies(house: House) -> None:
    watchers = [Watcher(house, kind="tickle"), Watcher(house), Watcher(house, private=False)]
    await at_rest()
    house.happen(tally(1))
    await at_rest()
    assert (house.computed, [watcher.told for watcher in watchers]) == (["1-1"], [[[], [(1, 1)]]] * 3)
    await asyncio.gather(*(watcher.leave() for watcher in watchers))


async def test_games_that_nobody_watches_are_not_read(house: House) -> None:
    watchers = [Watcher(house, kind="poker"), Watcher(house, label="Cup"), Watcher(house, joinable=True)]
    await at_rest()
    house.happen(tally(1), tally(2, label="Other"), tally(3, private=True), tally(4, label="Cup", private=True))
    await at_rest()
    assert house.read == [UUID(int=1), UUID(int=2), UUID(int=4)]  # 1 and 2 may be joinable
    assert [watcher.told[1:] for watcher in watchers] == [[], [[(4, 1)]], []]
    await asyncio.gather(*(watcher.leave() for watcher in watchers))


async def test_a_game_that_fits_no_longer_is_told_once_and_one_that_never_did_is_not(house: House) -> None:
    watcher = Watcher(house, status=Status.OPEN)
    await at_rest()
    steps = [
        [tally(1, status=Status.OPEN)],
        [tally(1, 2), tally(2, 2)],
        [tally(1, 3), tally(2, 3)],
        [tally(1, 4, status=Status.FINISHED)],
    ]
    for step in steps:
        house.happen(*step)
        await at_rest()
        house.later()
        await at_rest()
    assert watcher.told == [[], [(1, 1)], [(1, 2)]]
    await watcher.leave()


async def test_a_change_that_shows_nothing_is_not_told(house: House) -> None:
    watcher = Watcher(house)
    await at_rest()
    house.happen(tally(1))
    await at_rest()
    house.later()
    house.happen(replace(tally(1), version=2, head="1-2"))
    await at_rest()
    assert (watcher.told, house.computed) == ([[], [(1, 1)]], ["1-1", "1-2"])
    await watcher.leave()


async def test_a_game_in_the_list_that_those_who_are_there_do_not_know_is_told_to_them_too(house: House) -> None:
    first = Watcher(house)
    await at_rest()
    house.games[UUID(int=1)] = tally(1)
    house.listed.add(UUID(int=1))  # and nobody has heard of it yet
    second = Watcher(house)
    await at_rest()
    house.happen(tally(1))
    await at_rest()
    assert (first.told, second.told) == ([[], [(1, 1)]], [[(1, 1)]])
    await asyncio.gather(first.leave(), second.leave())


async def test_after_a_time_in_which_nothing_was_heard_everything_is_looked_up(house: House) -> None:
    house.happen(tally(1), tally(2))
    watcher = Watcher(house)
    await at_rest()
    house.games |= {UUID(int=1): tally(1, 7, status=Status.FINISHED), UUID(int=3): tally(3)}
    house.listed = {UUID(int=2), UUID(int=3)}
    for listener in house.listeners:
        listener.miss()
    await at_rest()
    assert (watcher.told[0], sorted(watcher.told[1])) == ([(2, 1), (1, 1)], [(1, 7), (3, 1)])
    await watcher.leave()


# --- who is slow, and what breaks ---


@pytest.fixture
def stuck(house: House) -> AsyncGenerator[Sequence[LobbyNews]]:
    """One who takes nothing unless he is made to."""
    return house.watch.follow(Wanted(), None, None)


async def test_whoever_is_slow_finds_of_each_game_the_newest(
    house: House, stuck: AsyncGenerator[Sequence[LobbyNews]]
) -> None:
    assert (await anext(stuck))[0].tallies == ()
    for version in range(1, 6):
        house.happen(tally(1, version), tally(version + 1, 1))
        await at_rest()
        house.later()
        await at_rest()
    (news,) = await anext(stuck)
    assert {one.game.int: one.version for one in news.tallies} == {1: 5, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1}
    await stuck.aclose()
    assert house.listeners == set()


async def test_whoever_lets_too_many_games_wait_is_cut_off_and_holds_none_of_them(
    house: House, stuck: AsyncGenerator[Sequence[LobbyNews]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.watching.BACKLOG", 5)
    await anext(stuck)
    (slot,) = (slot for hall in house.watch._all_halls() for slot in hall.slots)
    for number in range(1, 10):
        house.happen(tally(number))
        await at_rest()
        house.later()
        await at_rest()
        assert len(slot._news.tallies if slot._news else ()) <= 5
    with pytest.raises(SlowReader):
        await anext(stuck)


async def test_whoever_can_not_be_told_what_is_there_is_told_why_and_the_others_go_on(house: House) -> None:
    first = Watcher(house)
    await at_rest()
    house.error = Unavailable("made anew")
    second = Watcher(house)
    await at_rest()
    with pytest.raises(Unavailable, match="made anew"):
        await second.reading
    house.happen(tally(1))
    await at_rest()
    assert first.told == [[], [(1, 1)]]
    await first.leave()


async def test_what_breaks_the_look_is_told_to_all_who_watch(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Watcher(house)
    await at_rest()
    monkeypatch.setattr(house.Tallies, "of", lambda *_: 1 // 0)
    house.happen(tally(1))
    await at_rest()
    with pytest.raises(ZeroDivisionError):
        await watcher.reading
    assert house.listeners == set()


async def test_after_a_look_that_broke_whoever_comes_is_told_how_games_stand_now(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.happen(tally(1))
    busy = house.watch.follow(Wanted(), None, None)  # whose socket takes nothing for now, so that he stays
    await anext(busy)
    with monkeypatch.context() as patch:
        patch.setattr(house.Tallies, "of", lambda *_: 1 // 0)
        house.happen(tally(1, 2))
        await at_rest()
    comer = Watcher(house)
    await at_rest()
    assert comer.told == [[(1, 2)]]
    await comer.leave()
    await busy.aclose()


async def test_when_the_last_has_left_nothing_runs_any_more_and_the_next_is_told_again(house: House) -> None:
    for _ in range(2):
        watcher = Watcher(house)
        await at_rest()
        house.happen(tally(1))
        await at_rest()
        await watcher.leave()
        await at_rest()
        assert watcher.told[-1] == [(1, 1)]
        assert (house.watch._halls, house.listeners) == ({}, set())
        assert [task for task in asyncio.all_tasks() if "_kept_up" in repr(task)] == []
        house.later()


# --- what is wanted ---


@pytest.mark.parametrize(
    ("wanted", "more", "fits"),
    [
        ({}, {}, True),
        ({}, {"status": Status.FINISHED}, False),
        ({}, {"status": Status.CANCELLED}, False),
        ({"status": Status.OPEN}, {}, False),
        ({"kind": "poker"}, {}, False),
        ({"label": "Cup"}, {}, False),
        ({"label": "Cup"}, {"label": "Cup"}, True),
        ({"private": True}, {}, False),
        ({"private": False}, {"private": True}, False),
        ({"joinable": True}, {}, False),
        ({"joinable": True}, {"status": Status.OPEN}, True),
        ({"joinable": True}, {"status": Status.OPEN, "private": True}, False),
        ({"joinable": True}, {"status": Status.OPEN, "takes": 1}, False),
        ({"joinable": True}, {"status": Status.OPEN, "closed": True}, False),
    ],
)
def test_a_filter_takes_what_it_names(wanted: Any, more: Any, fits: bool) -> None:
    assert Wanted(**wanted).fits(tally(1, **more)) is fits
