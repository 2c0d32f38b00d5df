"""The past and the present of a game are joined without a gap, whatever comes late or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from functools import cache
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest
import structlog
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from api.faults import SlowReader
from api.live import _STATES, Live, stopped
from api.readers import Reader, Watcher
from api.sharing import Edition
from domain.application import Games
from domain.decider import Fact
from domain.events import SERVER, Cause, Event, chain
from domain.game import Game
from domain.lifecycle import PlayerResigned, Resign, SeedsRevealed
from domain.ticitaire.facts import StockTurned
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from tests.given import NOON, PLAYER, given
from tests.standing import StandingProxy

GAME = UUID(int=5)


@cache
def log_of(turns: int) -> tuple[Event, ...]:
    """The events of a game in which the stock is turned so often, and then given up."""
    facts = list(given().when(OpenTicitaire(player=PLAYER)).facts)
    turned = given(*facts).when(TurnStock(seat=1)).facts
    over = given(*facts).when(Resign(seat=1)).facts
    return chain(GAME, 0, "0" * 64, [*facts, *turned * turns, *over], Cause(SERVER, NOON))


class Log:
    """A log that shows so many of its events, and tells when it is asked."""

    def __init__(self, events: tuple[Event, ...], shown: int) -> None:
        self.events = events
        self.shown = shown
        self.asked = asyncio.Event()

    async def past(self, _game: UUID, after: int, first: int) -> tuple[Event, ...]:
        self.asked.set()
        return self.events[: self.shown][after : after + first]

    async def newest(self, game: UUID) -> Game:
        """The game at the version that the log shows; nothing else of it is looked at."""
        is_over = self.shown == len(self.events)
        return cast("Game", SimpleNamespace(id=game, version=self.shown, table=SimpleNamespace(closed=is_over)))


def live(log: Log) -> Live:
    return Live("postgresql://nowhere", log.past, log.newest)


async def told(ear: Live, *news: Event | None) -> None:
    """Hand these out, and wait until everyone has them."""
    ear._hand_out(ear._followed[GAME], news)
    await at_rest(ear)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event to offer
            await asyncio.sleep(0)


async def at_rest(ear: Live) -> None:
    """Wait until nobody is told anything more."""
    for _ in range(50):
        await asyncio.sleep(0)
        tasks = [task for followed in ear._followed.values() for task in followed.tasks()]
        await asyncio.gather(*tasks)


class Stream:
    """What a subscriber has been told, by its numbers."""

    def __init__(self, batches: AsyncGenerator[Sequence[Event], None]) -> None:
        self.batches = batches
        self.seqs: list[int] = []

    async def until(self, seq: int) -> list[int]:
        """Read on until this number was told; return all that were."""
        async with asyncio.timeout(5):
            while not self.seqs or self.seqs[-1] < seq:
                self.seqs += [event.seq for event in await anext(self.batches)]
        return self.seqs


async def told_after(handed_out: list[int]) -> list[int]:
    """Read three events of the past; return what is told next, when these were handed out and five are in the log."""
    log = Log(log_of(4), shown=3)
    ear = live(log)
    async with aclosing(ear.events(GAME, 0)) as batches:
        stream = Stream(batches)
        await stream.until(3)
        log.shown = 5
        await told(ear, *(log.events[seq - 1] for seq in handed_out))
        return (await stream.until(5))[3:]


async def test_an_event_that_was_not_handed_out_is_read_from_the_log() -> None:
    assert await told_after([5]) == [4, 5]


async def test_an_event_that_comes_twice_is_told_once() -> None:
    assert await told_after([3, 4, 4, 5]) == [4, 5]


@asynccontextmanager
async def waiting(log: Log, **more: Any) -> AsyncIterator[tuple[Live, Stream, asyncio.Future[list[int]]]]:
    """One who has been told all that the log shows, and waits for the next event."""
    ear = live(log)
    async with following(ear, log, **more) as (stream, coming):
        yield ear, stream, coming


@asynccontextmanager
async def following(ear: Live, log: Log, **more: Any) -> AsyncIterator[tuple[Stream, asyncio.Future[list[int]]]]:
    """One more who waits there for the next event."""
    log.asked.clear()
    async with aclosing(ear.events(GAME, log.shown, **more)) as batches:
        stream = Stream(batches)
        coming = asyncio.ensure_future(stream.until(log.shown + 1))
        await log.asked.wait()
        await at_rest(ear)
        try:
            yield stream, coming
        finally:
            coming.cancel()
            with suppress(asyncio.CancelledError):
                await coming


async def test_a_hint_that_something_is_there_is_enough() -> None:
    log = Log(log_of(4), shown=3)
    async with waiting(log) as (ear, _, coming):
        log.shown = 4
        await told(ear, None)
        assert await coming == [4]


async def test_the_stream_ends_with_the_record() -> None:
    log = Log(log_of(1), shown=100)
    batches = [batch async for batch in live(log).events(GAME, 0)]
    assert [event.seq for batch in batches for event in batch] == list(range(1, len(log.events) + 1))


async def test_many_events_that_wait_are_taken_together() -> None:
    log = Log(log_of(20), shown=3)
    async with waiting(log) as (ear, stream, coming):
        await told(ear, log.events[3])
        assert await coming == [4]
        await told(ear, *log.events[4:15])
        await told(ear, *log.events[15:18])
        assert [event.seq for event in await anext(stream.batches)] == list(range(5, 19))


@drawn(data=st.data())
@settings(max_examples=60, deadline=None)
def test_pieces_joined_at_any_number_are_the_whole_stream(data: st.DataObject) -> None:
    events = log_of(30)

    async def piece(ear: Live, log: Log, after: int) -> list[int]:
        """Subscribe, and go away again after some events, while the game goes on."""
        length = data.draw(st.integers(1, 12))
        async with aclosing(ear.events(GAME, after)) as batches:
            seqs: list[int] = []
            while len(seqs) < length and after + len(seqs) < len(events):
                coming = asyncio.ensure_future(anext(batches))
                await asyncio.sleep(0)
                while not coming.done():
                    if log.shown < len(events):
                        happened = data.draw(st.integers(1, 4))
                        news = events[log.shown : log.shown + happened]
                        log.shown += len(news)
                        lost = data.draw(st.sampled_from([None, 0, len(news) - 1]))
                        await told(ear, *(None if number == lost else one for number, one in enumerate(news)))
                    await at_rest(ear)
                seqs += [event.seq for event in coming.result()]
            return seqs[:length]  # he read no further, and comes back with the last number he saw

    async def joined() -> list[int]:
        log = Log(events, shown=3)
        ear = live(log)
        seqs: list[int] = []
        while len(seqs) < len(events):
            seqs += await piece(ear, log, len(seqs))
        return seqs

    assert asyncio.run(joined()) == list(range(1, len(events) + 1))


# --- who does not read ---


async def test_whoever_never_reads_is_cut_off_and_holds_no_more_than_the_backlog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.readers.BACKLOG", 100)
    log = Log(log_of(800), shown=3)
    ear, held = live(log), []
    async with aclosing(ear.events(GAME, 0)) as batches:
        assert len(await anext(batches)) == 3  # and from here on he does not come back
        (reader,) = ear._followed[GAME].circles[None].readers
        for begin in range(3, 800, 10):
            await told(ear, *log.events[begin : begin + 10])
            held.append(len(reader))
        log.shown = 800
        with pytest.raises(SlowReader) as cut:
            await anext(batches)
    assert (max(held), held[-1]) == (100, 0)
    assert (cut.value.extensions or {})["afterSeq"] == 3
    assert ear._followed == {}


async def test_one_who_does_not_read_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.readers.BACKLOG", 10)
    log = Log(log_of(60), shown=3)
    async with waiting(log) as (ear, stream, coming), aclosing(ear.events(GAME, 0)) as stuck:
        await anext(stuck)
        for seq in range(4, 60):
            await told(ear, log.events[seq - 1])
            await (coming if seq == 4 else stream.until(seq))
        assert stream.seqs == list(range(4, 60))


async def test_whoever_was_there_all_the_time_and_is_told_too_much_at_once_reads_it_from_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.readers.BACKLOG", 10)
    log = Log(log_of(60), shown=3)
    async with waiting(log) as (ear, stream, coming):
        log.shown = 60
        await told(ear, *log.events[3:40])
        await coming
        assert await stream.until(60) == list(range(4, 61))


async def test_what_comes_while_he_has_not_had_the_time_to_come_cuts_nobody_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.readers.BACKLOG", 10)
    reader = Reader(3)
    coming = asyncio.ensure_future(reader.heard())
    await asyncio.sleep(0)
    for begin in (3, 12):  # the first wakes him
        reader.push(log_of(60)[begin : begin + 9])
    await coming
    assert reader.take() == ([], True)


# --- who is told the same ---


async def test_an_edition_that_waits_holds_up_no_other() -> None:
    log, slow, fast = Log(log_of(9), shown=3), Taker(), Taker()
    gate = asyncio.Event()

    async def waits(_: Event) -> str:
        await gate.wait()
        return "slow"

    async with (
        waiting(log, edition=Edition("slow", waits), offer=slow.offer) as (ear, _, _),
        following(ear, log, edition=edition({4: "fast"}), offer=fast.offer),
    ):
        ear._hand_out(ear._followed[GAME], [log.events[3]])
        await until(lambda: bool(fast.taken))
        assert slow.taken == []
        gate.set()
        await until(lambda: slow.taken == ["slow"])


async def test_what_waits_for_a_slow_edition_is_no_more_than_the_backlog_and_is_read_from_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.readers.BACKLOG", 10)
    log, gate = Log(log_of(60), shown=3), asyncio.Event()

    async def waits(_: Event) -> str:
        await gate.wait()
        return "slow"

    taker = Taker()
    async with waiting(log, edition=Edition("slow", waits), offer=taker.offer) as (ear, stream, coming):
        circle = ear._followed[GAME].circles[Edition("slow", waits)]
        for seq in range(4, 60):
            ear._hand_out(ear._followed[GAME], [log.events[seq - 1]])
            await asyncio.sleep(0)
            assert len(circle.news) <= 10
        log.shown = 60
        gate.set()
        await coming
        assert (taker.taken, await stream.until(60)) == (["slow"], list(range(5, 61)))


async def test_an_edition_that_nobody_reads_any_more_is_made_no_further() -> None:
    log, gate = Log(log_of(9), shown=3), asyncio.Event()
    was_called_off = asyncio.Event()

    async def waits(_: Event) -> str:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            was_called_off.set()
            raise
        return "slow"

    async with waiting(log) as (ear, _, _):
        async with following(ear, log, edition=Edition("slow", waits), offer=Taker().offer):
            ear._hand_out(ear._followed[GAME], [log.events[3]])
            await asyncio.sleep(0)
        async with asyncio.timeout(5):
            await was_called_off.wait()


async def test_what_can_not_be_told_is_read_from_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(log_of(9), shown=3)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    async with waiting(log) as (ear, _, coming):
        monkeypatch.setattr(Reader, "push", broken)
        log.shown = 4
        with structlog.testing.capture_logs() as logs:
            await told(ear, log.events[3])
        assert (await coming, [entry["log_level"] for entry in logs]) == ([4], ["error"])


# --- what is offered ---


def edition(texts: dict[int, str | None]) -> Edition[Event]:
    """Encodes the events with these numbers."""

    async def text(event: Event) -> str | None:
        return texts[event.seq]

    return Edition("the same for all", text)


class Taker:
    """Takes what is offered as long as it is ready to."""

    def __init__(self, *, ready: bool = True) -> None:
        self.is_ready = ready
        self.taken: list[str] = []

    def offer(self, text: str) -> bool:
        if self.is_ready:
            self.taken.append(text)
        return self.is_ready


async def test_whoever_waits_is_offered_what_was_encoded_once_for_all() -> None:
    log, taker = Log(log_of(9), shown=3), Taker()
    async with waiting(log, edition=edition({4: "four", 5: "five"}), offer=taker.offer) as (ear, _, coming):
        await told(ear, log.events[3], log.events[4])
        assert (taker.taken, coming.done()) == (["four", "five"], False)


async def test_what_is_not_taken_at_once_comes_by_the_other_way_in_its_order() -> None:
    log, taker = Log(log_of(9), shown=3), Taker()
    texts: dict[int, str | None] = {4: "four", 5: "five", 6: "six", 7: "seven"}
    async with waiting(log, edition=edition(texts), offer=taker.offer) as (ear, stream, coming):
        await told(ear, log.events[3])
        taker.is_ready = False
        await told(ear, log.events[4])
        taker.is_ready = True
        assert await coming == [5]
        await told(ear, log.events[5])  # he is not waiting: what is offered now would overtake
        assert taker.taken == ["four"]
        assert await stream.until(6) == [5, 6]


async def test_what_could_not_be_encoded_for_all_is_left_to_each() -> None:
    log, taker = Log(log_of(9), shown=3), Taker()
    async with waiting(log, edition=edition({4: None}), offer=taker.offer) as (ear, _, coming):
        await told(ear, log.events[3])
        assert (await coming, taker.taken) == ([4], [])


async def test_an_edition_that_breaks_is_left_to_each() -> None:
    log, taker = Log(log_of(9), shown=3), Taker()
    async with waiting(log, edition=edition({}), offer=taker.offer) as (ear, _, coming):
        await told(ear, log.events[3])
        assert await coming == [4]


async def test_an_event_after_a_gap_is_not_offered_before_the_gap_is_filled() -> None:
    log, taker = Log(log_of(9), shown=3), Taker()
    async with waiting(log, edition=edition({5: "five"}), offer=taker.offer) as (ear, _, coming):
        log.shown = 5
        await told(ear, log.events[4])
        assert (taker.taken, await coming) == ([], [4, 5])


async def test_the_event_that_closes_the_record_ends_the_stream_also_of_one_who_takes_offers() -> None:
    events = log_of(1)
    log, taker = Log(events, shown=len(events) - 1), Taker()
    async with waiting(log, edition=edition({len(events): "the last"}), offer=taker.offer) as (ear, stream, coming):
        await told(ear, events[-1])
        assert await coming == [len(events)]
        assert [batch async for batch in stream.batches] == []


async def test_equal_editions_are_encoded_once() -> None:
    log, encoded = Log(log_of(9), shown=3), []

    def counting() -> Edition[Event]:
        async def text(event: Event) -> str:
            encoded.append(event.seq)
            return "the text"

        return Edition("the same for all", text)

    ear = live(log)
    takers = [Taker() for _ in range(5)]
    streams = [ear.events(GAME, 3, counting(), taker.offer) for taker in takers]
    coming = [asyncio.ensure_future(anext(stream)) for stream in streams]
    await asyncio.sleep(0)
    await at_rest(ear)
    await told(ear, log.events[3])
    assert ([taker.taken for taker in takers], encoded) == ([["the text"]] * 5, [4])
    for future in coming:
        future.cancel()
    await asyncio.gather(*coming, return_exceptions=True)
    assert ear._followed == {}


async def test_nothing_is_offered_to_one_who_is_being_called_away() -> None:
    taker = Taker()
    reader = Reader(3, taker.offer)
    waiting_there = asyncio.ensure_future(reader.heard())
    await asyncio.sleep(0)
    waiting_there.cancel()  # he does not know it yet
    reader.push(log_of(9)[3:4], ["four"])
    assert taker.taken == []
    with pytest.raises(asyncio.CancelledError):
        await waiting_there


def test_a_reader_that_nobody_waits_at_offers_nothing() -> None:
    taker = Taker()
    reader = Reader(3, taker.offer)
    reader.push(log_of(9)[3:4], ["four"])
    assert (taker.taken, len(reader)) == ([], 1)


# --- the newest version ---


async def versions_of(stream: AsyncGenerator[Sequence[Game], None]) -> int:
    (game,) = await anext(stream)
    return game.version


async def test_of_many_changes_while_nobody_looks_the_newest_is_shown() -> None:
    log = Log(log_of(40), shown=3)
    ear = live(log)
    async with aclosing(ear.versions(GAME, None, None)) as stream:
        assert await versions_of(stream) == 3
        for log.shown in range(4, 30):
            await told(ear, log.events[log.shown - 1])
        assert await versions_of(stream) == 29


async def test_a_game_that_many_watch_is_read_once_a_change() -> None:
    log, read = Log(log_of(9), shown=3), []

    async def newest(game: UUID) -> Game:
        read.append(log.shown)
        return await log.newest(game)

    ear = Live("postgresql://nowhere", log.past, newest)
    streams = [ear.versions(GAME, None, None) for _ in range(10)]
    assert [await versions_of(stream) for stream in streams] == [3] * 10
    read.clear()
    log.shown = 4
    coming = [asyncio.ensure_future(versions_of(stream)) for stream in streams]
    await told(ear, log.events[3])
    assert (await asyncio.gather(*coming), read) == ([4] * 10, [4])
    for stream in streams:
        await stream.aclose()


async def test_a_version_that_was_shown_is_not_shown_again() -> None:
    watcher = Watcher()
    log = Log(log_of(9), shown=3)
    watcher.show(await log.newest(GAME))
    coming = asyncio.ensure_future(watcher.newer(3))
    await asyncio.sleep(0)
    log.shown = 5
    watcher.show(await log.newest(GAME))
    assert (await coming).version == 5


async def test_a_game_that_can_not_be_read_is_told_to_all_who_watch_it() -> None:
    log = Log(log_of(9), shown=3)
    ear = live(log)
    async with aclosing(ear.versions(GAME, None, None)) as stream:
        await versions_of(stream)

        async def broken(_: UUID) -> Game:
            raise ValueError("an event of a newer server")

        ear._newest = broken  # type: ignore[misc]
        await told(ear, log.events[3])
        with pytest.raises(ValueError, match="newer server"):
            await anext(stream)


# --- at the log itself ---


@asynccontextmanager
async def running(ear: Live) -> AsyncIterator[None]:
    task = asyncio.create_task(ear.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until_it_looks(ear: Live) -> None:
    """Wait until `Live` knows where the log ends."""
    await until(lambda: ear._position is not None)


@pytest.fixture
def ear(games: Games, database_url: str) -> Live:
    return live_at(database_url, games)


async def test_as_long_as_nobody_follows_there_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    ear, connecting = live(Log((), shown=0)), asyncio.Event()

    async def connected() -> psycopg.AsyncConnection:
        connecting.set()
        raise psycopg.OperationalError

    monkeypatch.setattr(ear, "_connected", connected)
    running = asyncio.create_task(ear.run())
    await asyncio.sleep(0)
    assert not connecting.is_set()
    ear.watch(GAME, Watcher())
    async with asyncio.timeout(10):
        await connecting.wait()
    await stopped(running)


def live_at(url: str, games: Games) -> Live:
    """Live on a real database, without hints."""

    async def past(game: UUID, after: int, first: int) -> tuple[Event, ...]:
        return await asyncio.to_thread(lambda: tuple(games.events(game, after=after, first=first)))

    async def newest(game: UUID) -> Game:
        return await asyncio.to_thread(games.game, game)

    return Live(url, past, newest)


def opened(games: Games) -> UUID:
    return games.open("ticitaire", OpenTicitaire(player=PLAYER), player=PLAYER, key=None).game.id


def turn(games: Games, game: UUID) -> None:
    games.handle(game, lambda seat: TurnStock(seat=seat), player=PLAYER, expected_version=None, key=None)


def given_up(games: Games, game: UUID) -> None:
    games.handle(game, lambda seat: Resign(seat=seat), player=PLAYER, expected_version=None, key=None)


async def test_what_happens_is_told_without_any_hint(ear: Live, games: Games) -> None:
    game = opened(games)
    async with running(ear), aclosing(ear.events(game, 3)) as batches:
        stream = Stream(batches)
        coming = asyncio.ensure_future(stream.until(4))
        await asyncio.to_thread(turn, games, game)
        assert await coming == [4]


async def test_an_event_between_a_readers_look_at_the_past_and_the_first_look_at_the_log_is_not_missed(
    ear: Live, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, gate, look = opened(games), asyncio.Event(), ear._look

    async def late(conn: Any) -> int:
        await gate.wait()
        return await look(conn)

    monkeypatch.setattr(ear, "_look", late)
    async with running(ear), aclosing(ear.events(game, 0)) as batches:
        stream = Stream(batches)
        assert await stream.until(3) == [1, 2, 3]
        coming = asyncio.ensure_future(stream.until(4))
        await asyncio.sleep(0)
        await asyncio.to_thread(turn, games, game)  # before `Live` has looked where the log ends
        gate.set()
        assert await coming == [1, 2, 3, 4]


async def test_only_what_somebody_follows_is_fetched(ear: Live, games: Games, monkeypatch: pytest.MonkeyPatch) -> None:
    game, other, fetched, looked = opened(games), opened(games), [], 0
    look = ear._look

    async def seen(conn: Any) -> int:
        nonlocal looked
        execute = conn.execute

        async def asked(query: str, parameters: Any = (), **more: Any) -> Any:
            if query == _STATES:
                fetched.extend(parameters[0])
            return await execute(query, parameters, **more)

        with monkeypatch.context() as patch:
            patch.setattr(conn, "execute", asked)
            found = await look(conn)
        looked += found
        return found

    monkeypatch.setattr(ear, "_look", seen)
    async with running(ear), aclosing(ear.events(game, 3)) as batches:
        stream = Stream(batches)
        coming = asyncio.ensure_future(stream.until(4))
        await until_it_looks(ear)
        for one in (other, game, other):
            await asyncio.to_thread(turn, games, one)
        assert await coming == [4]
        await until(lambda: looked == 3)
        assert len(fetched) == 1


async def test_a_database_that_stands_still_is_left_and_another_connection_goes_on(
    games: Games, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.live.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("api.live.RETRY_SECONDS", 0)
    game = opened(games)
    async with StandingProxy(database_url).listening() as proxy:
        ear = live_at(proxy.url, games)
        async with running(ear), aclosing(ear.events(game, 3)) as batches:
            stream = Stream(batches)
            coming = asyncio.ensure_future(stream.until(4))
            await until_it_looks(ear)
            proxy.stand_still()
            await asyncio.to_thread(turn, games, game)
            await until(lambda: proxy.accepted == 2)
            assert await coming == [4]
            await asyncio.to_thread(turn, games, game)
            assert await stream.until(5) == [4, 5]


async def test_an_event_that_breaks_the_reading_ends_nobody_s_following(
    ear: Live, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = opened(games)
    async with running(ear), aclosing(ear.events(game, 3)) as batches:
        stream = Stream(batches)
        coming = asyncio.ensure_future(stream.until(5))
        await until_it_looks(ear)
        with structlog.testing.capture_logs() as logs, monkeypatch.context() as patch:
            patch.setattr("api.live.read_event", broken_upcast)
            await asyncio.to_thread(turn, games, game)
            await until(lambda: bool(logs))
        await asyncio.to_thread(turn, games, game)
        assert (await coming, [entry["log_level"] for entry in logs]) == ([4, 5], ["error"])


async def test_what_breaks_the_look_at_the_log_is_not_met_again_and_everyone_looks_for_himself(
    ear: Live, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.live.RETRY_SECONDS", 0)
    game = opened(games)
    async with running(ear), aclosing(ear.events(game, 3)) as batches:
        stream = Stream(batches)
        coming = asyncio.ensure_future(stream.until(4))
        await until_it_looks(ear)
        with structlog.testing.capture_logs() as logs:
            monkeypatch.setattr("api.live._read", broken_upcast)  # and it stays so
            await asyncio.to_thread(turn, games, game)
            assert await coming == [4]
            await until(lambda: bool(logs))
        assert [entry["log_level"] for entry in logs] == ["error"]


def broken_upcast(*_: object) -> Event:
    raise IndexError("in an upcast")


async def test_nothing_is_read_while_nobody_follows_and_none_of_it_later(
    ear: Live, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, looked = opened(games), []
    look = ear._look

    async def counted(conn: Any) -> int:
        looked.append(await look(conn))
        return looked[-1]

    monkeypatch.setattr(ear, "_look", counted)
    async with running(ear):
        for _ in range(2):  # the second comes after an idle time
            looked.clear()
            for _ in range(5):
                await asyncio.to_thread(turn, games, game)
            ear.wake()
            assert looked == []
            version = (await asyncio.to_thread(games.game, game)).version
            async with aclosing(ear.events(game, version)) as batches:
                stream = Stream(batches)
                coming = asyncio.ensure_future(stream.until(version + 1))
                await until_it_looks(ear)
                await asyncio.to_thread(turn, games, game)
                ear.wake()
                assert await coming == [version + 1]
                await until(lambda: sum(looked) > 0)  # he may have found it in the log before
            assert sum(looked) == 1
            while ear._position is not None:
                ear.wake()
                await asyncio.sleep(0.001)


# --- who listens to all games ---


class Ear:
    """A listener, and what it heard."""

    def __init__(self, *facts: type[Fact]) -> None:
        self.topics: Collection[str] = [fact.topic for fact in facts]
        self.games: list[UUID] = []
        self.events: list[Event] = []
        self.misses = 0

    def hear(self, games: Sequence[UUID], events: Sequence[Event]) -> None:
        self.games += games
        self.events += events

    def miss(self) -> None:
        self.misses += 1


async def test_a_listener_hears_of_all_games_and_is_told_the_facts_that_it_asks_for(ear: Live, games: Games) -> None:
    listener = Ear(StockTurned)
    ear.listen(listener)
    async with running(ear):
        await until_it_looks(ear)
        assert (listener.misses, listener.games) == (1, [])
        first = await asyncio.to_thread(opened, games)
        second = await asyncio.to_thread(opened, games)
        await asyncio.to_thread(turn, games, first)
        await until(lambda: bool(listener.events))
    assert listener.games == [first] * 3 + [second] * 3 + [first]
    assert [(event.game, type(event.fact)) for event in listener.events] == [(first, StockTurned)]
    assert listener.misses == 1


async def test_a_listener_that_comes_while_the_states_are_asked_for_is_told_to_look_itself(
    ear: Live, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, late = Ear(PlayerResigned), Ear(SeedsRevealed)
    game = opened(games)
    ear.listen(early)
    look = ear._look
    begun = asyncio.Event()

    async def seen(conn: Any) -> int:
        begun.set()
        execute = conn.execute

        async def asked(query: str, *parameters: Any, **more: Any) -> Any:
            answer = await execute(query, *parameters, **more)
            if query == _STATES:
                ear.listen(late)
            return answer

        with monkeypatch.context() as patch:
            patch.setattr(conn, "execute", asked)
            return await look(conn)

    async with running(ear):
        await until_it_looks(ear)
        monkeypatch.setattr(ear, "_look", seen)
        ear.wake()
        await asyncio.wait_for(begun.wait(), 5)  # the look before it, which was not seen, is over
        await asyncio.to_thread(given_up, games, game)
        await until(lambda: bool(late.games))
    assert (late.events, late.misses) == ([], 1)
    assert ([type(event.fact) for event in early.events], early.misses) == ([PlayerResigned], 1)


async def test_a_listener_that_has_left_hears_nothing_and_then_nothing_is_read(ear: Live, games: Games) -> None:
    listener = Ear()
    ear.listen(listener)
    async with running(ear):
        await until_it_looks(ear)
        ear.unlisten(listener)
        while ear._position is not None:
            ear.wake()
            await asyncio.sleep(0.001)
        await asyncio.to_thread(opened, games)
        ear.wake()
        await asyncio.sleep(0)
    assert (listener.games, ear._position) == ([], None)


async def test_what_breaks_the_look_tells_listeners_to_look_themselves(
    ear: Live, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.live.RETRY_SECONDS", 0)
    listener, game = Ear(StockTurned), opened(games)
    ear.listen(listener)
    async with running(ear):
        await until_it_looks(ear)
        with structlog.testing.capture_logs() as logs:
            monkeypatch.setattr("api.live._read", broken_upcast)
            await asyncio.to_thread(turn, games, game)
            await until(lambda: listener.misses == 2)
        assert [entry["log_level"] for entry in logs] == ["error"]


async def test_states_of_games_that_are_only_watched_are_not_fetched(
    ear: Live, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = opened(games)
    monkeypatch.setattr("api.live._STATES", "nothing that could be asked")
    async with running(ear), aclosing(ear.versions(game, None, None)) as stream:
        assert await versions_of(stream) == 3
        coming = asyncio.ensure_future(versions_of(stream))
        await until_it_looks(ear)
        await asyncio.to_thread(turn, games, game)
        assert await coming == 4
