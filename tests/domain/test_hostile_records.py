"""Records from whoever: reading refuses them with the first wrong line, and does nothing else, whatever they hold."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, Final
from uuid import UUID

import hypothesis
import pytest
from hypothesis import strategies as st

from domain import record_reading
from domain.audit import Check, audit
from domain.events import GENESIS, chain_hash
from domain.notes import PROOF
from domain.record_lines import LONGEST_LINE, lines_of
from domain.record_reading import MOST_BROKEN, read_each, read_record
from domain.records import BrokenRecord, Record, stored_form, write_record
from domain.ticitaire.facts import Spot
from tests.domain.adversary import Forger
from tests.domain.test_audit import GOLDEN, found

RECORDS: Final = {name: list(write_record(events)) for name, events in GOLDEN.items()}
TICITAIRE: Final = "given-up"
TICKLE: Final = "tickle-target-as-joined"
POKER: Final = "poker-declared"
DEALS: Final = {TICITAIRE: "ticitaire.TableauDealt", TICKLE: "tickle.HandsDealt", POKER: "poker.RoundDealt"}


def refused(lines: Sequence[bytes]) -> tuple[int, str]:
    """Where a record is refused, and what is said."""
    with pytest.raises(BrokenRecord) as broken:
        read_record(lines)
    return broken.value.line, broken.value.message


def each_of(text: bytes) -> list[Record | BrokenRecord]:
    """What is read of a file."""
    return list(read_each(lines_of(io.BytesIO(text))))


def told(one: Record | BrokenRecord) -> tuple[int, str]:
    """Where one is refused, and what is said."""
    assert isinstance(one, BrokenRecord)
    return one.line, one.message


# Whatever a field holds


def nested(depth: int) -> Any:
    """A list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


WILD: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 2**31, 2**53, 2**63, 10**400, -(10**400), 1e308, 5e-324, -0.0, 1.0]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(
        [
            "0001-01-01T00:00:00+05:00",
            "0001-01-01T00:00:00.000000+14:00",
            "9999-12-31T23:59:59.999999-05:00",
            "0001-01-01T00:00:00",
            "0001-01-01T00:00:00.000000Z",
            "\x00",
            "\u202e",
            "\u0378",
            "player:",
            "player:00000000-0000-4000-8000-00000000000G",
            "0" * 64,
        ]
    ),
    st.integers(0, 500).map(nested),
    st.just([]),
    st.just({}),
    st.just({"format": "tic/record/v1"}),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to everything in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield (*path, name)
        yield from places(one, (*path, name))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A record with some fields of some lines that hold anything, which is chained anew in half of the cases."""
    lines = [json.loads(line) for line in draw(st.sampled_from(list(RECORDS.values())))]
    for _ in range(draw(st.integers(1, 3))):
        line = draw(st.one_of(st.sampled_from([0, 1, len(lines) - 1]), st.integers(0, len(lines) - 1)))
        path = draw(st.sampled_from(list(places(lines[line])))) if lines[line] else ()
        where = lines[line]
        for step in path[:-1]:
            where = where[step]
        match draw(st.sampled_from(["other", "other", "gone", "more"])):
            case "other" if path:
                where[path[-1]] = draw(WILD)
            case "gone" if path:
                del where[path[-1]]
            case _:
                lines[line][draw(st.sampled_from(["format", "end", "note", "seq", "fact", "type"]))] = draw(WILD)
    return b"".join(rechained(lines) if draw(st.booleans()) else map(written, lines))


def written(line: Any) -> bytes:
    text = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def rechained(lines: Sequence[Any]) -> Iterator[bytes]:
    """The lines of a record, each event with the hash of the one before it."""
    head = GENESIS
    for line in lines:
        chained = isinstance(line, dict) and "prev" in line
        if chained:
            line["prev"] = head
        yield (data := written(line))
        head = chain_hash(data[:-1]) if chained else head


@hypothesis.settings(deadline=None, max_examples=400, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(mutated())
def test_whatever_its_fields_hold_a_record_is_read_or_refused(text: bytes) -> None:
    for one in each_of(text):
        if isinstance(one, Record):
            audit(one)


@hypothesis.settings(deadline=None, max_examples=200)
@hypothesis.given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(list(chain(*RECORDS.values()))))))
def test_whatever_its_lines_are_a_file_is_read_or_refused(lines: list[bytes]) -> None:
    assert each_of(b"".join(lines))


@pytest.mark.parametrize(
    "at",
    [
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59.999999-05:00",
        "0001-01-01T00:00:00",
        "2030-05-01T12:00:00.000000+00:00",
    ],
)
def test_a_time_that_is_none_in_utc_is_not_the_stored_form(at: str) -> None:
    lines = [json.loads(line) for line in RECORDS[TICITAIRE]]
    lines[1]["at"] = at
    assert refused(list(rechained(lines))) == (2, "it is not the stored form of an event")


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 10**400])
def test_a_number_that_some_readers_would_round_is_not_the_stored_form(number: int) -> None:
    lines = [json.loads(line) for line in RECORDS[TICKLE]]
    laid = next(line for line in lines if line.get("type") == "tickle.LaydownPlayed")
    laid["fact"]["cards"][0]["x"] = number
    assert refused(list(rechained(lines))) == (lines.index(laid) + 1, "it is not the stored form of an event")


@pytest.mark.parametrize("depth", [150, 250, 5_000])
def test_a_header_with_a_deep_field_is_refused(depth: int) -> None:
    header, *others = RECORDS[TICITAIRE]
    deep = b'{"a":' + b"[" * depth + b"]" * depth + b"," + header[1:]
    assert refused([deep, *others])[0] == 1


def test_a_lone_surrogate_is_no_text() -> None:
    assert refused([b'{"format":"\\ud800"}\n']) == (1, "it is not JSON")


def test_a_record_of_more_bytes_than_games_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reading, "MOST_BYTES", sum(map(len, RECORDS[TICITAIRE][1:10])))
    line, message = refused(RECORDS[TICITAIRE])
    assert line == 11
    assert message.startswith("the events of a record that is read have at most")


# Lines


def test_an_over_long_line_is_one_line() -> None:
    one = b"".join(RECORDS[TICITAIRE])
    long, whole, cut = each_of(b"x" * 5 * LONGEST_LINE + b"\n" + one + one[:-50])
    assert told(long) == (1, f"it has more than {LONGEST_LINE} bytes")
    assert isinstance(whole, Record)
    assert (whole.line, told(cut)[0]) == (2, 1 + 2 * len(RECORDS[TICITAIRE]))


def test_no_game_is_found_within_an_over_long_line() -> None:
    (broken,) = each_of(b" " * (LONGEST_LINE + 1) + RECORDS[TICITAIRE][0])
    assert told(broken)[0] == 1


@pytest.mark.parametrize("more", [-1, 0, 1, 2, LONGEST_LINE, LONGEST_LINE + 1, 3 * LONGEST_LINE])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_lines_of_any_length_are_counted_rightly(more: int, end: bytes) -> None:
    text = b"one\n" + b"x" * (LONGEST_LINE - 1 + more) + end
    lines = list(lines_of(io.BytesIO(text)))
    assert len(lines) == 2
    assert len(lines[1]) == min(LONGEST_LINE - 1 + more + len(end), LONGEST_LINE + 1)


def test_a_header_that_is_too_long_begins_no_record() -> None:
    header = RECORDS[TICITAIRE][0]
    long = header[:-1] + b" " * (LONGEST_LINE + 1 - len(header)) + b"\n"
    assert len(long) == LONGEST_LINE + 1
    first, second = each_of(b"".join([*RECORDS[TICITAIRE], long, *RECORDS[TICITAIRE][1:]]))
    assert isinstance(first, Record)
    assert told(second) == (len(RECORDS[TICITAIRE]) + 1, f"it has more than {LONGEST_LINE} bytes")


def test_a_last_line_that_looks_like_a_header_is_refused_once() -> None:
    _, broken = each_of(b"".join(RECORDS[TICITAIRE]) + RECORDS[TICITAIRE][0][:-1])
    assert told(broken)[1].startswith("it is cut short")


def test_of_lines_that_end_with_cr_lf_is_said_that_they_do() -> None:
    line, message = refused([line.replace(b"\n", b"\r\n") for line in RECORDS[TICITAIRE]])
    assert line == 1
    assert message.startswith("it ends with CR LF")


@pytest.mark.parametrize("end", [b"\n", b"\n\n"])
def test_of_a_proof_is_said_that_it_is_one(end: bytes) -> None:
    (broken,) = each_of(PROOF.encode() + end + b"extra YWJj\nindex 5\n")
    line, message = told(broken)
    assert line == 1
    assert "it begins a proof" in message
    assert "--proofs" in message


def test_a_file_of_nothing_but_findings_comes_to_an_end() -> None:
    *broken, last = each_of(b'{"format":1}\n' * 20_000)
    assert len(broken) == MOST_BROKEN
    assert told(last) == (MOST_BROKEN + 1, f"{MOST_BROKEN} records before this line are broken: reading stops here")


def test_as_many_findings_as_are_told_need_no_last_word() -> None:
    broken = each_of(b'{"format":1}\n' * MOST_BROKEN)
    assert len(broken) == MOST_BROKEN
    assert "reading stops" not in told(broken[-1])[1]


def test_a_file_that_can_t_be_unpacked_is_refused_once() -> None:
    def unpacked() -> Iterator[bytes]:
        yield from ()
        raise BrokenRecord(1, "not compressed")

    assert [told(one) for one in read_each(unpacked())] == [(1, "not compressed")]


# Whose record is broken


@pytest.mark.parametrize("name", [TICITAIRE, TICKLE, POKER])
def test_a_broken_record_knows_its_game(name: str) -> None:
    lines = list(RECORDS[name])
    lines[5] = lines[5].replace(b'"seq":5', b'"seq":6')
    (broken,) = each_of(b"".join(lines))
    assert isinstance(broken, BrokenRecord)
    assert (broken.game, broken.kind) == (GOLDEN[name][0].game, json.loads(lines[0])["kind"])


def test_a_record_whose_header_is_broken_has_no_game() -> None:
    (broken,) = each_of(b"x" + b"".join(RECORDS[TICITAIRE]))
    assert isinstance(broken, BrokenRecord)
    assert (broken.game, broken.kind) == (None, None)


# The first wrong line


def forged(name: str, topic: str, **fields: Any) -> tuple[list[bytes], int]:
    """A record with a fact that was altered, and the line of that fact."""
    forger = Forger(GOLDEN[name])
    altered = forger.find(topic)
    altered["fact"] |= fields
    return forger.record(), forger.line_of(altered)


@pytest.mark.parametrize("name", DEALS)
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"number": 0}, "deal 1 is the next", id="deal 0"),
        pytest.param({"number": 2}, "deal 1 is the next", id="deal 2"),
        pytest.param({"entropies": ["é"]}, "each entropy has 64 hex digits", id="entropy that is not ASCII"),
        pytest.param({"entropies": ["A" * 64]}, "each entropy has 64 hex digits", id="entropy in capitals"),
        pytest.param({"beacon": "é"}, "the value of a beacon is ASCII", id="a beacon that is not ASCII"),
    ],
)
def test_a_deal_is_refused_where_it_is_told(name: str, fields: dict[str, Any], said: str) -> None:
    lines, line = forged(name, DEALS[name], **fields)
    where, message = refused(lines)
    assert where == line
    assert said in message


@pytest.mark.parametrize("name", DEALS)
def test_the_deal_of_another_game_is_refused_where_it_is_opened(name: str) -> None:
    lines, line = forged(name, GOLDEN[name][0].fact.topic, deal=str(UUID(int=99)))
    assert refused(lines) == (line, "the deal is that of another game")


@pytest.mark.parametrize("private", [-1, 0, 2, 4, 5])
def test_another_number_of_private_cards_is_refused_where_it_is_dealt(private: int) -> None:
    lines, line = forged(POKER, "poker.RoundDealt", private=private)
    assert refused(lines)[0] == line


@pytest.mark.parametrize("fields", [{"each": 5}, {"set_aside": 41}, {"set_aside": -1}], ids=str)
def test_another_number_of_cards_is_refused_where_hands_are_dealt(fields: dict[str, Any]) -> None:
    lines, line = forged(TICKLE, "tickle.HandsDealt", **fields)
    assert refused(lines)[0] == line


def test_a_card_that_is_turned_up_elsewhere_is_refused_where_it_is_told() -> None:
    turned = Forger(GOLDEN["won"]).find("ticitaire.CardTurnedUp")["fact"]["column"]
    for column in Spot:
        if column != turned:
            lines, line = forged("won", "ticitaire.CardTurnedUp", column=column)
            assert refused(lines) == (line, f"no face-down card lies open in {column}")


@pytest.mark.parametrize(
    ("name", "topic", "fields"),
    [
        ("won", "ticitaire.CardsMoved", {"source": "column-7"}),
        ("won", "ticitaire.StockTurned", {"card": "1-circle-violet"}),
        (TICKLE, "tickle.HandRefilled", {"cards": 6}),
        (TICKLE, "game.PlayerJoined", {"player": str(UUID(int=99))}),
        (TICKLE, "tickle.CardDrawn", {"seat": 9}),
        (TICKLE, "tickle.LaydownPlayed", {"seat": 0}),
        (POKER, "poker.CardsExchanged", {"seat": 9}),
        (POKER, "poker.CardsKept", {"seat": 9}),
    ],
)
def test_an_audit_names_what_was_altered_also_where_a_later_line_can_t_be_folded(
    name: str, topic: str, fields: dict[str, Any]
) -> None:
    forger = Forger(GOLDEN[name])
    line = forger.alter(topic, **fields)
    first = forger.line_of(forger.command_of(forger.told[line - 2])[0])
    wrong = found(forger.record())
    assert wrong is not None
    assert first <= wrong.line <= line


def test_what_can_t_be_folded_leaves_the_record_check_wrong_and_the_rest_open() -> None:
    lines, line = forged(TICKLE, "tickle.HandsDealt", number=2)
    (record,) = read_each(lines)
    assert isinstance(record, Record)
    audited = audit(record)
    assert audited.wrong is not None
    assert (audited.wrong.check, audited.wrong.line) == (Check.RECORD, line)
    assert not audited.holds
    assert [check for check, standing in audited.checks.items() if standing == "holds"] == []


@pytest.mark.parametrize("told_of", ["game", "seats", "commitment"])
def test_a_header_that_is_wrong_comes_before_what_can_t_be_folded(told_of: str) -> None:
    lines, _ = forged(TICKLE, "tickle.HandsDealt", number=2)
    header = {**json.loads(lines[0]), told_of: deepcopy(json.loads(RECORDS[POKER][0])[told_of])}
    (broken,) = read_each([stored_form(header) + b"\n", *lines[1:]])
    assert told(broken)[0] == 1


# Labels


@pytest.mark.parametrize("name", ["given-up-labelled", "tickle-target-labelled", "poker-labelled-one-round"])
@pytest.mark.parametrize("label", ["Cup \U0001fae9", "Cup \u0378", "Cup \U000e0fff"])
def test_a_label_of_another_unicode_holds(name: str, label: str) -> None:
    lines, _ = forged(name, "game.GameLabelled", label=label)
    assert audit(read_record(lines)).holds
