"""Records: games written as lines and read again, and every kind of damage refused at the first wrong line."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import record_reading
from domain.events import GENESIS, Event, chain_hash, read_event
from domain.games import FACT_TYPES
from domain.lifecycle import CLOSING, Dealt, GameCancelled, GameFinished
from domain.record_reading import LONGEST_LINE, lines_of, read_record, read_records
from domain.records import BrokenRecord, stored_form, write_record
from tests.golden.samples import recorded_games

GAMES: Final = {name: [read_event(line, FACT_TYPES) for line in lines] for name, lines in recorded_games().items()}
RECORDS: Final = {name: list(write_record(events)) for name, events in GAMES.items()}

each_game = pytest.mark.parametrize("name", GAMES)
any_record = st.sampled_from(list(RECORDS.values()))

TICKLE: Final = "tickle-target-as-joined"
TICITAIRE: Final = "given-up"
OF_TWO_ROUNDS: Final = "poker-declared"


def wrong_line(text: bytes) -> int:
    """The line at which a record that is broken is refused."""
    with pytest.raises(BrokenRecord) as refused:
        read_record(lines_of(io.BytesIO(text)))
    return refused.value.line


def told_of(lines: Iterable[bytes]) -> tuple[int, str]:
    """The line at which lines are refused, and what is said."""
    with pytest.raises(BrokenRecord) as refused:
        read_record(lines)
    return refused.value.line, refused.value.message


def closed(header: bytes, events: list[bytes], **other: Any) -> list[bytes]:
    """A record of these lines with the closing line that belongs to them, but for what is other there."""
    lines = [header, *events]
    last = json.loads(RECORDS[TICITAIRE][-1])
    told = {"events": len(events), "hash": chain_hash(events[-1].removesuffix(b"\n")), "over": False, "revealed": False}
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    return [*lines, stored_form({**last, **told, "sha256": digest, **other}) + b"\n"]


# What is written


@each_game
def test_a_game_is_written_as_its_events_and_read_as_it_was_written_byte_for_byte(name: str) -> None:
    record = read_record(RECORDS[name])
    assert [event.data for event in record.events] == recorded_games()[name]
    assert list(record.lines()) == RECORDS[name]


@each_game
def test_the_header_tells_what_the_opening_and_the_seats_are(name: str) -> None:
    header, opened = json.loads(RECORDS[name][0]), json.loads(recorded_games()[name][0])
    seated = [event.fact.model_dump(mode="json") for event in GAMES[name] if event.fact.topic == "game.PlayerSeated"]
    assert header == {
        "format": "tic/record/v1",
        "game": opened["game"],
        "kind": opened["type"].partition(".")[0],
        "ruleset": 1,
        "options": opened["fact"]["options"],
        "seats": [seat["player"] for seat in seated],
        "commitment": opened["fact"]["commitment"],
    }


@each_game
def test_the_closing_line_tells_the_length_the_head_and_that_the_game_is_over(name: str) -> None:
    *lines, closing = RECORDS[name]
    assert json.loads(closing) == {
        "end": "tic/record/v1",
        "events": len(GAMES[name]),
        "hash": GAMES[name][-1].hash,
        "over": True,
        "revealed": not isinstance(GAMES[name][-1].fact, GameCancelled),
        "sha256": hashlib.sha256(b"".join(lines)).hexdigest(),
    }


@pytest.mark.parametrize("name", [TICITAIRE, TICKLE, OF_TWO_ROUNDS])
def test_a_running_game_is_recorded_after_each_of_its_commands(name: str) -> None:
    ends = [number for number, event in enumerate(GAMES[name], 1) if event.part == event.parts][:-1]
    closings = [read_record(write_record(GAMES[name][:end])).closing for end in ends]
    assert [closing.events for closing in closings] == ends
    assert not any(closing.over or closing.revealed for closing in closings)


def test_before_the_deal_nobody_has_a_seat() -> None:
    assert read_record(write_record(GAMES[TICKLE][:2])).header.seats == ()


def test_a_record_is_written_while_its_events_come() -> None:
    taken: list[Event] = []

    def coming() -> Iterator[Event]:
        for event in GAMES[TICKLE]:
            taken.append(event)
            yield event

    next(write_record(coming()))
    assert isinstance(taken[-1].fact, Dealt)


@pytest.mark.parametrize("events", [[], GAMES[TICITAIRE][1:]], ids=["no events", "events without an opening"])
def test_what_does_not_begin_with_its_opening_is_not_written(events: list[Event]) -> None:
    with pytest.raises(ValueError, match="begins with the event that opens its game"):
        list(write_record(events))


# Damage


@given(any_record, st.data())
def test_a_changed_byte_is_refused_at_its_line(lines: list[bytes], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(lines) - 1), label="line")
    place = data.draw(st.integers(0, len(lines[number]) - 1), label="place")
    damaged = bytearray(lines[number])
    damaged[place] ^= data.draw(st.integers(1, 255), label="bits")
    assert wrong_line(b"".join([*lines[:number], damaged, *lines[number + 1 :]])) == number + 1


@given(any_record, st.data())
def test_a_changed_digit_is_refused_at_its_line(lines: list[bytes], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(lines) - 1), label="line")
    digits = [place for place, byte in enumerate(lines[number]) if byte in b"0123456789"]
    damaged = bytearray(lines[number])
    place = data.draw(st.sampled_from(digits), label="place")
    damaged[place] = data.draw(st.sampled_from([byte for byte in b"0123456789" if byte != damaged[place]]))
    assert wrong_line(b"".join([*lines[:number], damaged, *lines[number + 1 :]])) == number + 1


@given(any_record, st.data())
def test_a_missing_line_is_refused_where_it_should_stand(lines: list[bytes], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(lines) - 1), label="line")
    assert wrong_line(b"".join([*lines[:number], *lines[number + 1 :]])) == number + 1


@given(any_record, st.data())
def test_a_repeated_line_is_refused_where_it_stands_again(lines: list[bytes], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(lines) - 1), label="line")
    assert wrong_line(b"".join([*lines[: number + 1], *lines[number:]])) == number + 2


@given(any_record, st.data())
def test_of_two_lines_in_the_wrong_order_the_first_is_refused(lines: list[bytes], data: st.DataObject) -> None:
    one, other = sorted(data.draw(st.sets(st.integers(0, len(lines) - 1), min_size=2, max_size=2), label="lines"))
    swapped = list(lines)
    swapped[one], swapped[other] = lines[other], lines[one]
    assert wrong_line(b"".join(swapped)) == one + 1


@given(any_record, st.data())
def test_a_record_that_is_cut_short_is_refused_where_it_ends(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(lines)
    rest = text[: data.draw(st.integers(0, len(text) - 1), label="length")]
    assert wrong_line(rest) == rest.count(b"\n") + 1


@given(any_record, st.binary(min_size=1))
def test_text_after_the_closing_line_is_refused(lines: list[bytes], text: bytes) -> None:
    assert wrong_line(b"".join([*lines, text])) == len(lines) + 1


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("game", "00000000-0000-4000-8000-000000000001"),
        ("kind", "poker"),
        ("ruleset", 2),
        ("options", {}),
        ("seats", []),
        ("commitment", "0" * 64),
    ],
)
def test_a_header_that_does_not_say_what_the_events_say_is_refused(field: str, other: object) -> None:
    header = stored_form({**json.loads(RECORDS[TICKLE][0]), field: other}) + b"\n"
    assert told_of([header, *RECORDS[TICKLE][1:]]) == (1, f"{field} is not what the events say")


def test_a_header_is_refused_where_1_stands_for_true() -> None:
    header = json.loads(RECORDS[TICITAIRE][0])
    header["options"] = {**header["options"], "take_back": 0}
    assert wrong_line(b"".join([stored_form(header) + b"\n", *RECORDS[TICITAIRE][1:]])) == 1


def test_a_header_of_another_format_is_refused_by_its_name() -> None:
    header = stored_form({**json.loads(RECORDS[TICKLE][0]), "format": "tic/record/v2"}) + b"\n"
    assert told_of([header]) == (1, 'the format "tic/record/v2" is not known here, but tic/record/v1')


def test_a_header_that_is_written_with_spaces_is_refused() -> None:
    header = json.dumps(json.loads(RECORDS[TICKLE][0]), sort_keys=True).encode() + b"\n"
    assert told_of([header, *RECORDS[TICKLE][1:]])[0] == 1


@pytest.mark.parametrize(
    "other", [{"events": 3}, {"hash": GENESIS}, {"over": False}, {"revealed": False}, {"sha256": GENESIS}], ids=str
)
def test_a_closing_line_that_does_not_say_what_the_events_say_is_refused(other: dict[str, object]) -> None:
    *lines, closing = RECORDS[TICITAIRE]
    assert told_of([*lines, stored_form({**json.loads(closing), **other}) + b"\n"])[0] == len(lines) + 1


def test_a_record_without_events_is_refused() -> None:
    assert told_of([RECORDS[TICITAIRE][0], RECORDS[TICITAIRE][-1]]) == (2, "the record has no events")


def test_a_record_that_ends_within_a_command_is_refused() -> None:
    lines = RECORDS[TICITAIRE][:3]
    assert told_of(closed(lines[0], lines[1:])) == (4, "part 3 of 3 of the last command is missing")


# What a chain that holds does not prove


def forged(name: str, number: int, edit: Callable[[dict[str, Any]], object]) -> list[bytes]:
    """A record whose event of that number was edited, and all hashes after it made anew; up to that event."""
    head, events = GENESIS, list[bytes]()
    for line in recorded_games()[name][:number]:
        stored = json.loads(line)
        if len(events) == number - 1:
            edit(stored)
        data = stored_form({**stored, "prev": head}) if head != GENESIS else stored_form(stored)
        events.append(data + b"\n")
        head = chain_hash(data)
    return closed(RECORDS[name][0], events)


def of_the_fact(**fields: object) -> Callable[[dict[str, Any]], object]:
    return lambda stored: stored["fact"].update(fields)


NOT_AN_EVENT: Final = "it is not an event with the fact"
NOT_THE_FORM: Final = "it is not the stored form of an event"


@pytest.mark.parametrize(
    ("number", "edit", "said"),
    [
        pytest.param(4, lambda e: e.update(type="tickle.CardBurned"), 'no fact "tickle.CardBurned"', id="a new fact"),
        pytest.param(4, lambda e: e.update(type=["a"]), 'knows no fact ["a"]', id="a fact that is a list"),
        pytest.param(4, lambda e: e.update(v=2), "does not know version 2 of ticitaire", id="a new version"),
        pytest.param(4, lambda e: e.update(v=0), "does not know version 0 of ticitaire", id="a version 0"),
        pytest.param(4, lambda e: e.update(v=True), "does not know version true of ticitaire", id="a version true"),
        pytest.param(4, of_the_fact(card="6-star-red"), NOT_AN_EVENT, id="a card that there is not"),
        pytest.param(4, of_the_fact(note="x"), NOT_AN_EVENT, id="a field that the fact has not"),
        pytest.param(2, of_the_fact(seat="1"), NOT_THE_FORM, id="a seat as text"),
        pytest.param(2, of_the_fact(seat=1.0), NOT_THE_FORM, id="a seat as a fraction"),
        pytest.param(2, of_the_fact(seat=True), NOT_THE_FORM, id="a seat true"),
        pytest.param(4, lambda e: e.update(note="x"), NOT_THE_FORM, id="a field that no event has"),
        pytest.param(4, lambda e: e.pop("key"), NOT_AN_EVENT, id="a field missing"),
        pytest.param(4, lambda e: e.update(key="x"), NOT_THE_FORM, id="a key that is no digest"),
        pytest.param(4, lambda e: e.update(content=None), NOT_THE_FORM, id="a key without a content"),
        pytest.param(4, lambda e: e.update(game=e["game"].upper()), NOT_THE_FORM, id="a game in capitals"),
        pytest.param(4, lambda e: e.update(actor="Ada"), NOT_THE_FORM, id="an actor by name"),
        pytest.param(4, lambda e: e.update(actor="player:Ada"), NOT_THE_FORM, id="a player by name"),
        pytest.param(4, lambda e: e.update(actor=7), NOT_THE_FORM, id="an actor that is a number"),
        pytest.param(4, lambda e: e.update(at="2030-05-01"), NOT_THE_FORM, id="a time without a zone"),
        pytest.param(4, lambda e: e.update(at="2030-05-01T14:00:00+02:00"), NOT_THE_FORM, id="a time elsewhere"),
        pytest.param(4, lambda e: e.update(at=[]), NOT_AN_EVENT, id="a time that is a list"),
        pytest.param(4, lambda e: e.update(part=0), NOT_THE_FORM, id="a part 0"),
        pytest.param(4, lambda e: e.update(part=2, of=1), NOT_THE_FORM, id="a part beyond the last"),
        pytest.param(4, lambda e: e.update(part=2, of=2), "part 2 of a command stands where", id="a second part first"),
        pytest.param(2, lambda e: e.update(of=4), "part 2 of 3 of a command should stand", id="a part of another"),
        pytest.param(3, lambda e: e.update(actor="server"), "part 3 of 3 of a command", id="a part by another actor"),
        pytest.param(
            4, lambda e: e.update(at="2020-05-01T12:00:00.000000Z"), "it happened before", id="an early event"
        ),
        pytest.param(4, lambda e: e.update(game=str(GAMES[TICKLE][0].game)), "another game", id="another game"),
        pytest.param(1, of_the_fact(ruleset=9), "no ruleset 9 of ticitaire", id="a new ruleset"),
        pytest.param(2, of_the_fact(seat=2), "seat 1 is the next", id="a seat left out"),
        pytest.param(
            4, lambda e: e.update(type="tickle.CardDrawn", fact={"seat": 1}), "no fact of ticitaire", id="other rules"
        ),
        pytest.param(
            4,
            lambda e: e.update(type="ticitaire.MovesTakenBack", fact={"moves": 9, "to_version": 99}),
            "there are 0 moves to take back",
            id="moves taken back that were not made",
        ),
    ],
)
def test_an_event_that_no_server_wrote_is_refused(
    number: int, edit: Callable[[dict[str, Any]], object], said: str
) -> None:
    line, message = told_of(forged(TICITAIRE, number, edit))
    assert line == number + 1
    assert said in message


def test_seeds_that_were_not_committed_to_are_refused() -> None:
    last = len(GAMES[TICITAIRE])
    line, message = told_of(forged(TICITAIRE, last, of_the_fact(seeds=["0" * 64])))
    assert (line, message) == (last + 1, "the seeds are not those that the first event commits to")


def test_seeds_of_fewer_deals_than_there_were_are_refused() -> None:
    *_, last = GAMES[OF_TWO_ROUNDS]
    edit = of_the_fact(seeds=json.loads(last.data)["fact"]["seeds"][:-1])
    assert told_of(forged(OF_TWO_ROUNDS, last.seq, edit))[0] == last.seq + 1


def test_nothing_follows_the_event_that_closes_a_game() -> None:
    first, last = GAMES[TICITAIRE][3], GAMES[TICITAIRE][-1]
    assert isinstance(last.fact, CLOSING)
    more = stored_form({**json.loads(first.data), "seq": last.seq + 1, "prev": last.hash}) + b"\n"
    header, *events, _ = RECORDS[TICITAIRE]
    assert told_of(closed(header, [*events, more])) == (last.seq + 2, "no event follows game.SeedsRevealed")


def test_a_key_that_stands_twice_is_refused() -> None:
    header, first, *_ = RECORDS[TICITAIRE]
    twice = first.replace(b',"v":1}', b',"v":1,"v":1}')
    assert told_of(closed(header, [twice])) == (2, NOT_THE_FORM)


@pytest.mark.parametrize("text", [b"\n", b"[]\n", b"7\n", b"{}\n", b"[" * 9_000 + b"\n", b'{"seq":NaN}\n', b"\xff\n"])
def test_a_line_that_is_no_event_is_refused(text: bytes) -> None:
    assert told_of([RECORDS[TICITAIRE][0], text])[0] == 2


def test_no_more_of_a_line_is_read_than_a_line_has() -> None:
    endless = io.BytesIO(RECORDS[TICITAIRE][0] + b"x" * 10 * LONGEST_LINE)
    lines = list(islice(lines_of(endless), 2))
    assert told_of(lines) == (2, f"it has more than {LONGEST_LINE} bytes")


def test_the_longest_event_that_was_recorded_is_far_from_the_longest_line() -> None:
    assert max(len(line) for lines in RECORDS.values() for line in lines) * 8 < LONGEST_LINE


def test_no_more_events_are_read_than_a_game_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reading, "MOST_EVENTS", 50)
    assert told_of(RECORDS[TICITAIRE]) == (52, "a record that is read has at most 50 events")


# Room for later


def with_more(**more: object) -> list[bytes]:
    """A record with more fields in its header."""
    header, *events, _ = RECORDS[TICITAIRE]
    return closed(stored_form({**json.loads(header), **more}) + b"\n", events, over=True, revealed=True)


def test_fields_of_the_header_that_are_not_known_are_kept() -> None:
    lines = with_more(proofs={"log": "example.org", "size": 12})
    record = read_record(lines)
    assert record.header.model_extra == {"proofs": {"log": "example.org", "size": 12}}
    assert list(record.lines()) == lines


def test_an_edited_field_that_is_not_known_is_refused_as_well() -> None:
    lines = with_more(size=12)
    assert told_of([lines[0].replace(b"12", b"13"), *lines[1:]])[0] == 1


# Archives


def test_an_archive_is_records_one_after_the_other() -> None:
    lines = [line for record in RECORDS.values() for line in record]
    assert [list(record.lines()) for record in read_records(lines)] == list(RECORDS.values())


def test_records_know_the_line_at_which_they_begin() -> None:
    one, other = RECORDS[TICITAIRE], RECORDS[TICKLE]
    assert [record.line for record in read_records([*one, *other])] == [1, len(one) + 1]


def test_an_archive_is_read_no_further_than_it_is_asked_for() -> None:
    endless = (line for record in cycle(RECORDS.values()) for line in record)
    assert [record.game for record in islice(read_records(endless), 2 * len(GAMES))][: len(GAMES)] == [
        each[0].game for each in GAMES.values()
    ]


def test_the_records_before_a_wrong_line_of_an_archive_are_read() -> None:
    one, other = RECORDS[TICITAIRE], RECORDS[TICKLE]
    coming = read_records([*one, *other[:9], *other[10:]])
    assert next(coming).game == GAMES[TICITAIRE][0].game
    with pytest.raises(BrokenRecord) as refused:
        next(coming)
    assert refused.value.line == len(one) + 10


def test_what_stands_between_records_is_refused() -> None:
    one = RECORDS[TICITAIRE]
    with pytest.raises(BrokenRecord, match=f"^line {len(one) + 1}: it is not the header of a record"):
        list(read_records([*one, b"{}\n", *one]))


def test_a_record_without_its_closing_line_is_refused_where_the_next_begins() -> None:
    one = RECORDS[TICITAIRE]
    with pytest.raises(BrokenRecord, match=f"^line {len(one)}: a header stands before the closing line"):
        list(read_records([*one[:-1], *one]))


def test_the_games_of_the_samples_are_over() -> None:
    finished = [name for name, events in GAMES.items() if any(isinstance(event.fact, GameFinished) for event in events)]
    cancelled = [name for name, events in GAMES.items() if isinstance(events[-1].fact, GameCancelled)]
    assert len(finished) + len(cancelled) == len(GAMES)
