"""The exact bytes of an event, the chain, and what is refused on the way in and out."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar
from uuid import UUID

import hypothesis
import pytest
from hypothesis import strategies as st

from domain.decider import Command, Fact
from domain.events import (
    GENESIS,
    SERVER,
    Cause,
    Event,
    UnknownEvent,
    acting_player,
    chain,
    chain_hash,
    content_digest,
    key_digest,
    player_actor,
    read_event,
)
from domain.games import DECIDERS
from domain.lifecycle import PlayerSeated, Resign, RunOutOfTime
from domain.ticitaire.facts import Spot
from domain.ticitaire.rules import MoveCards, TakeBack

GAME = UUID("00000000-0000-4000-8000-000000000001")
PLAYER = UUID("00000000-0000-4000-8000-00000000000a")
AT = datetime(2030, 5, 1, 12, 0, 0, 250, tzinfo=UTC)
CAUSE = Cause(player_actor(PLAYER), AT, key="a" * 64, content="b" * 64)


class Noted(Fact):
    """A toy fact, in its second version: ``text`` was called ``word`` in the first."""

    topic: ClassVar[str] = "toy.Noted"
    version: ClassVar[int] = 2

    text: str
    more: Any = None

    @classmethod
    def upcast(cls, stored: dict[str, Any], version: int) -> dict[str, Any]:
        if version != 1:
            return super().upcast(stored, version)
        return {"text": stored["word"]}


TYPES: dict[str, type[Fact]] = {Noted.topic: Noted, PlayerSeated.topic: PlayerSeated}


def written(*facts: Fact, cause: Cause = CAUSE, version: int = 0, head: str = GENESIS) -> tuple[Event, ...]:
    return chain(GAME, version, head, facts, cause)


def stored(**changes: Any) -> bytes:
    """The bytes of a noted event, with other fields."""
    (event,) = written(Noted(text="hi"))
    return json.dumps(json.loads(event.data) | changes).encode()


def test_the_bytes_of_an_event_are_sorted_json_without_spaces() -> None:
    (event,) = written(PlayerSeated(seat=1, player=PLAYER))
    assert event.data == (
        b'{"actor":"player:00000000-0000-4000-8000-00000000000a","at":"2030-05-01T12:00:00.000250Z",'
        b'"content":"' + b"b" * 64 + b'","fact":{"player":"00000000-0000-4000-8000-00000000000a","seat":1},'
        b'"game":"00000000-0000-4000-8000-000000000001","key":"' + b"a" * 64 + b'","of":1,"part":1,'
        b'"prev":"' + b"0" * 64 + b'","seq":1,"type":"game.PlayerSeated","v":1}'
    )


def test_text_beyond_ascii_is_stored_as_utf_8() -> None:
    (event,) = written(Noted(text="Ünicode ✓"))
    assert "Ünicode ✓".encode() in event.data


def test_the_hash_is_that_of_the_prefix_and_the_bytes() -> None:
    (event,) = written(Noted(text="hi"))
    assert event.hash == chain_hash(event.data) == hashlib.sha256(b"tic/event/v1\n" + event.data).hexdigest()


def test_an_event_reads_back_as_it_was_written() -> None:
    for event in written(Noted(text="hi", more=[1, {"deep": None}]), PlayerSeated(seat=1, player=PLAYER), version=6):
        assert read_event(event.data, TYPES) == event


def test_the_facts_of_one_command_follow_each_other_and_say_which_of_how_many() -> None:
    first, second, third = written(Noted(text="a"), Noted(text="b"), Noted(text="c"), version=4, head="f" * 64)
    assert [(event.seq, event.part, event.parts) for event in (first, second, third)] == [
        (5, 1, 3),
        (6, 2, 3),
        (7, 3, 3),
    ]
    assert [first.prev, second.prev, third.prev] == ["f" * 64, first.hash, second.hash]
    assert {event.game for event in (first, second, third)} == {GAME}


def test_no_facts_make_no_events() -> None:
    assert written() == ()


def test_a_time_elsewhere_is_stored_as_the_same_moment_in_utc() -> None:
    elsewhere = Cause(SERVER, AT.astimezone(timezone(timedelta(hours=5, minutes=30))))
    (event,) = written(Noted(text="hi"), cause=elsewhere)
    assert json.loads(event.data)["at"] == "2030-05-01T12:00:00.000250Z"
    assert read_event(event.data, TYPES).cause.at == AT


@hypothesis.settings(deadline=None, max_examples=200)
@hypothesis.given(st.data())
def test_any_changed_byte_changes_the_hash(data: st.DataObject) -> None:
    (event,) = written(Noted(text="hi"))
    at = data.draw(st.integers(0, len(event.data) - 1), "which byte")
    flipped = event.data[at] ^ data.draw(st.integers(1, 255), "how")
    assert chain_hash(event.data[:at] + bytes([flipped]) + event.data[at + 1 :]) != event.hash


@pytest.mark.parametrize(
    "value",
    [0.5, 1.0, 1e300, 2**53 + 1, -(2**53) - 1, [1, [2.5]], {"deep": {"er": 0.0}}, (1, 2**60)],
    ids=str,
)
def test_numbers_that_some_reader_would_change_are_not_written(value: Any) -> None:
    with pytest.raises(ValueError, match="no floats, integers within 2"):
        written(Noted(text="hi", more=value))


@pytest.mark.parametrize("value", [2**53, -(2**53), 0, True, None, [], {"a": [1, "2"]}], ids=str)
def test_numbers_that_every_reader_gives_back_are_written(value: Any) -> None:
    (event,) = written(Noted(text="hi", more=value))
    assert read_event(event.data, TYPES).fact == Noted(text="hi", more=value)


def test_an_older_version_of_a_fact_is_brought_to_the_present_one() -> None:
    event = read_event(stored(v=1, fact={"word": "old"}), TYPES)
    assert event.fact == Noted(text="old")


def test_an_older_version_keeps_its_own_bytes_and_hash() -> None:
    data = stored(v=1, fact={"word": "old"})
    event = read_event(data, TYPES)
    assert (event.data, event.hash) == (data, chain_hash(data))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(stored(v=3), id="a version that is yet to come"),
        pytest.param(stored(v="2"), id="a version that is no number"),
        pytest.param(stored(type="toy.Unheard"), id="an unknown topic"),
        pytest.param(stored(type=["toy.Noted"]), id="a topic that is no text"),
        pytest.param(stored(fact={"word": "hi"}), id="another fact's fields"),
        pytest.param(stored(fact={"text": "hi", "mood": "good"}), id="a field too many"),
        pytest.param(stored(fact=None), id="no fact"),
        pytest.param(stored(v=1, fact=None), id="no fact of an older version"),
        pytest.param(stored(game="nobody"), id="a game that is no UUID"),
        pytest.param(stored(game=7), id="a game that is a number"),
        pytest.param(stored(at="yesterday"), id="a time that is none"),
        pytest.param(stored(at=5), id="a time that is a number"),
        pytest.param(b"{}", id="no fields"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"null", id="null"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(stored()[:-1], id="half an event"),
    ],
)
def test_what_is_no_event_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, UnknownEvent), match=r"."):
        read_event(data, TYPES)


@pytest.mark.parametrize("written", [{"type": "toy.Unheard"}, {"v": 3}], ids=["a new fact", "a new version of one"])
def test_what_a_newer_program_has_written_is_told_apart_from_what_is_no_event(written: dict[str, Any]) -> None:
    with pytest.raises(UnknownEvent):
        read_event(stored(**written), TYPES)


def test_a_fact_of_another_version_without_an_upcast_is_refused_by_name() -> None:
    (event,) = written(PlayerSeated(seat=1, player=PLAYER))
    later = json.dumps(json.loads(event.data) | {"v": 2}).encode()
    with pytest.raises(UnknownEvent, match=r"game\.PlayerSeated version 2 is not known here \(this program knows 1\)"):
        read_event(later, TYPES)


def test_an_actor_names_its_player() -> None:
    assert acting_player(player_actor(PLAYER)) == PLAYER


def test_the_server_is_no_player() -> None:
    assert acting_player(SERVER) is None


def test_a_key_of_another_player_has_another_digest() -> None:
    assert key_digest(PLAYER, "key") == hashlib.sha256(f"tic/key/v1\n{PLAYER}\nkey".encode()).hexdigest()
    assert len({key_digest(PLAYER, "key"), key_digest(PLAYER, "other"), key_digest(GAME, "key")}) == 3


def test_a_command_has_the_digest_of_its_content() -> None:
    text = 'tic/command/v1\nticitaire.MoveCards\n{"seat":1,"source":"waste","target":"low"}'
    command = MoveCards(seat=1, source=Spot.WASTE, target=Spot.LOW)
    assert content_digest(command, "a key") == hmac.new(b"a key", text.encode(), "sha256").hexdigest()


def test_what_was_asked_for_can_not_be_found_by_trying_without_the_key() -> None:
    command = Resign(seat=1)
    assert content_digest(command, "a key") != content_digest(command, "another key")


def test_commands_that_ask_for_different_things_have_different_digests() -> None:
    commands = [Resign(seat=1), Resign(seat=2), RunOutOfTime(seat=1), TakeBack(seat=1), TakeBack(seat=1, moves=2)]
    assert len({content_digest(command, "a key") for command in commands}) == len(commands)


def _below(kind: type[Command]) -> Iterator[type[Command]]:
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)


def test_every_command_has_a_name_of_its_own() -> None:
    commands = {command for decider in DECIDERS.values() for command in decider.commands}
    assert commands == {
        kind for kind in _below(Command) if kind.__module__.startswith("domain.") and "name" in vars(kind)
    }
    assert len({command.name for command in commands}) == len(commands)
