"""The audit of a game from its record: what was changed is found, whoever made everything formally right after it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import hypothesis
import pytest
from hypothesis import strategies as st

from domain.audit import Audited, Check, Standing, Wrong, audit
from domain.dealing import Seeds
from domain.decider import fold
from domain.events import GENESIS, Cause, Event, chain, player_actor, read_event
from domain.games import DECIDERS, FACT_TYPES
from domain.lifecycle import GameCancelled, Resign
from domain.merkle import Tree, leaf_hash
from domain.notes import Checkpoint, LogProof, NoteKey, Receipt, SigningKey
from domain.record_reading import read_each, read_record
from domain.records import BrokenRecord, Record, write_record
from domain.ticitaire.facts import Options
from domain.tickle.facts import Options as TickleOptions
from tests.domain.adversary import Forger
from tests.domain.sittings import Course, Played
from tests.domain.test_entropy_games import events_of, games
from tests.domain.ticitaire import players as ticitaire
from tests.domain.tickle import players as tickle
from tests.given import NOON
from tests.golden.samples import recorded_games

GOLDEN: Final = {name: [read_event(line, FACT_TYPES) for line in lines] for name, lines in recorded_games().items()}
CANCELLED: Final = [name for name, events in GOLDEN.items() if isinstance(events[-1].fact, GameCancelled)]
TICITAIRE: Final = "given-up"
TICKLE: Final = "tickle-target-as-joined"
POKER: Final = "poker-declared"
TIMED: Final = "tickle-no-laydown-two-thirds-private"
OUT_OF_TIME: Final = "tickle-timed-out"
FAIR: Final = "tickle-entropy-of-some-beacon-seeds-held-back"

OF_THE_GAME: Final = {Check.RECORD, Check.COMMITMENT, Check.DEAL, Check.COMMANDS, Check.RESULT}
STRANGER: Final = player_actor(UUID(int=99))

each_game = pytest.mark.parametrize("name", GOLDEN)
some = hypothesis.settings(deadline=None, max_examples=40, suppress_health_check=[hypothesis.HealthCheck.too_slow])


def whole_games() -> st.SearchStrategy[list[Event]]:
    """A game of any kind: a recorded one, or one that is played now."""
    return st.one_of(st.sampled_from(list(GOLDEN.values())), games().map(events_of))


def record_of(events: Sequence[Event]) -> Record:
    return read_record(write_record(events))


def found(lines: list[bytes], **log: Any) -> Wrong | None:
    """What reading a record and auditing it find first."""
    for record in read_each(lines):
        if isinstance(record, BrokenRecord):
            return Wrong(Check.RECORD, record.line, record.message)
        if wrong := audit(record, **log).wrong:
            return wrong
    return None


# Games in order


@each_game
def test_a_recorded_game_holds_in_full(name: str) -> None:
    told = audit(record_of(GOLDEN[name]))
    assert told.wrong is None
    assert told.checks == dict.fromkeys(OF_THE_GAME, Standing.HOLDS)
    assert told.holds


@some
@hypothesis.given(games())
def test_a_game_that_is_over_with_its_seeds_out_holds_and_one_that_is_not_does_not(played: Played[Any]) -> None:
    told = audit(record_of(events_of(played)))
    assert told.wrong is None
    called_off_private = played.table.cancelled and getattr(played.table.opened.options, "private", False)
    if not called_off_private:
        assert told.holds == (played.table.revealed is not None or played.table.cancelled)
    assert told.remarks or told.holds


# Damage: whatever is changed without making all after it anew


@st.composite
def damaged(draw: st.DrawFn) -> tuple[list[bytes], int]:
    """A record with damage of one sort, and the first line that is wrong."""
    lines = list(write_record(draw(whole_games())))
    number = draw(st.integers(0, len(lines) - 1), label="line")
    match draw(st.sampled_from(["byte", "dropped", "repeated", "swapped", "cut"]), label="damage"):
        case "byte":
            line = bytearray(lines[number])
            line[draw(st.integers(0, len(line) - 1), label="place")] ^= draw(st.integers(1, 255), label="bits")
            lines[number] = bytes(line)
        case "dropped":
            del lines[number]
        case "repeated":
            lines.insert(number, lines[number])
            number += 1
        case "swapped":
            other = draw(st.integers(0, len(lines) - 1).filter(lambda other: other != number), label="other line")
            lines[number], lines[other] = lines[other], lines[number]
            number = min(number, other)
        case "cut":
            text = b"".join(lines)
            text = text[: draw(st.integers(1, len(text) - 1), label="length")]
            lines, number = text.splitlines(keepends=True), text.count(b"\n")
    return b"".join(lines).splitlines(keepends=True), number + 1


@hypothesis.settings(some, max_examples=120)
@hypothesis.given(damaged())
def test_damage_is_found_at_the_first_wrong_line(damage: tuple[list[bytes], int]) -> None:
    lines, number = damage
    wrong = found(lines)
    assert wrong is not None
    assert (wrong.check, wrong.line) == (Check.RECORD, number)


@hypothesis.settings(some, max_examples=50)
@hypothesis.given(damaged(), st.sampled_from(["given-up", "poker-declared"]))
def test_the_games_around_a_damaged_one_are_read(damage: tuple[list[bytes], int], name: str) -> None:
    lines, number = damage
    whole = list(write_record(GOLDEN[name]))
    hypothesis.assume(lines[-1].endswith(b"\n"))
    first, *between, last = read_each([*whole, *lines, *whole])
    assert isinstance(first, Record)
    assert isinstance(last, Record)
    assert (list(first.lines()), list(last.lines())) == (whole, whole)
    broken = [one for one in between if isinstance(one, BrokenRecord)]
    # Without its closing line a record ends where the next one begins.
    assert broken[0].line == len(whole) + number


def test_a_file_without_lines_is_refused() -> None:
    (broken,) = read_each([])
    assert isinstance(broken, BrokenRecord)
    assert (broken.line, broken.message) == (1, "the file is empty")


def cut_short(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Lines out of a compressed file that breaks off behind them."""
    yield from lines
    raise BrokenRecord(len(lines) + 1, "cut short")


def test_a_file_that_breaks_off_between_records_is_refused_there() -> None:
    whole = list(write_record(GOLDEN["given-up"]))
    first, second = read_each(cut_short(whole))
    assert isinstance(first, Record)
    assert isinstance(second, BrokenRecord)
    assert second.line == len(whole) + 1


def test_a_file_that_breaks_off_behind_a_broken_record_is_refused_at_both() -> None:
    whole = list(write_record(GOLDEN["given-up"]))
    lines = [*whole[:9], *whole[10:]]
    refused = list(read_each(cut_short(lines)))
    assert [one.line for one in refused if isinstance(one, BrokenRecord)] == [10, len(lines) + 1]


# The log around it

KEY: Final = SigningKey("tic.example/log", bytes(range(32)))


class Log:
    """A log with the events of a game, and others before and after them."""

    def __init__(self, events: Sequence[Event], key: SigningKey = KEY) -> None:
        self.entries: Final = [b"one before", b"another", *(event.data for event in events), b"one after"]
        self.tree: Final = Tree(map(leaf_hash, self.entries))
        self.key: Final = key

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.key.public.name, self.tree.size, self.tree.root(self.tree.size))

    def proof(self, event: Event) -> LogProof:
        index = self.entries.index(event.data)
        path = tuple(self.tree.inclusion(index, self.tree.size))
        return LogProof(index, path, self.checkpoint().signed(self.key), str(event.game).encode())


def with_log(name: str, proof: LogProof | None, key: NoteKey = KEY.public) -> Audited:
    return audit(record_of(GOLDEN[name]), proofs=[proof] if proof else [], key=key)


@each_game
def test_a_proof_of_the_last_event_holds(name: str) -> None:
    told = with_log(name, Log(GOLDEN[name]).proof(GOLDEN[name][-1]))
    assert told.holds
    assert told.checks[Check.INCLUSION] is Standing.HOLDS


def test_without_a_proof_it_is_open_whether_the_log_has_a_game() -> None:
    told = with_log(TICKLE, None)
    assert (told.checks[Check.INCLUSION], told.holds, told.wrong) == (Standing.OPEN, False, None)
    assert "no proof was given" in told.remarks[0]


def proof_with(**other: Any) -> LogProof:
    return replace(Log(GOLDEN[TICKLE]).proof(GOLDEN[TICKLE][-1]), **other)


def note_with(key: SigningKey = KEY, **other: Any) -> str:
    return replace(Log(GOLDEN[TICKLE]).checkpoint(), **other).signed(key)


def altered_note(line: int, new: str) -> str:
    lines = proof_with().checkpoint.split("\n")
    lines[line] = new
    return "\n".join(lines)


RIGHT: Final = proof_with()
ANOTHER: Final = leaf_hash(b"another")
BY_ANOTHER_KEY: Final = SigningKey(KEY.public.name, bytes(range(1, 33)))
OF_ANOTHER_LOG: Final = SigningKey("other.example/log", bytes(range(32)))

BAD_PROOFS: Final[dict[str, tuple[LogProof, str]]] = {
    "a node of the path": (proof_with(path=(ANOTHER, *RIGHT.path[1:])), "the path leads to another root"),
    "the last node of the path": (proof_with(path=(*RIGHT.path[:-1], ANOTHER)), "the path leads to another root"),
    "a path that is too short": (proof_with(path=RIGHT.path[:-1]), "the path ends below the root"),
    "a path that is too long": (proof_with(path=(*RIGHT.path, ANOTHER)), "the path goes on above the root"),
    "the index": (proof_with(index=RIGHT.index - 2), "the path leads to another root"),
    "an index beyond the log": (proof_with(index=10**6), "has no leaf 1000000"),
    "the size": (proof_with(checkpoint=altered_note(1, "80")), "the signature of tic.example/log is wrong"),
    "the root": (
        proof_with(checkpoint=altered_note(2, note_with(root=ANOTHER).split("\n")[2])),
        "the signature of tic.example/log is wrong",
    ),
    "a size that is signed": (proof_with(checkpoint=note_with(size=500)), "the path"),
    "a root that is signed": (proof_with(checkpoint=note_with(root=ANOTHER)), "the path leads to another root"),
    "the signature": (
        proof_with(checkpoint=altered_note(4, note_with(size=500).split("\n")[4])),
        "the signature of tic.example/log is wrong",
    ),
    "another key of that name": (proof_with(checkpoint=note_with(BY_ANOTHER_KEY)), "none of its signatures is of tic"),
    "the key of another log": (
        proof_with(checkpoint=note_with(OF_ANOTHER_LOG, origin="other.example/log")),
        "none of its signatures is of tic",
    ),
    "a checkpoint of another log, signed by this key": (
        proof_with(checkpoint=note_with(origin="other.example/log")),
        "it is a checkpoint of 'other.example/log', not of 'tic.example/log'",
    ),
    "the proof of another game": (Log(GOLDEN[POKER]).proof(GOLDEN[POKER][-1]), "the path leads to another root"),
    "the proof of an event before": (Log(GOLDEN[TICKLE]).proof(GOLDEN[TICKLE][-2]), "the path leads to another root"),
}


@pytest.mark.parametrize("name", BAD_PROOFS)
def test_a_proof_that_does_not_prove_is_found(name: str) -> None:
    proof, said = BAD_PROOFS[name]
    told = with_log(TICKLE, proof)
    assert told.wrong is not None
    assert (told.wrong.check, told.wrong.line) == (Check.INCLUSION, 1 + len(GOLDEN[TICKLE]))
    assert said in told.wrong.message
    assert {told.checks[check] for check in OF_THE_GAME} == {Standing.HOLDS}


def receipts_of(events: Sequence[Event]) -> list[Receipt]:
    """What players were told after every command, and more."""
    return [Receipt(event.game, event.seq, event.hash) for event in events]


@each_game
def test_the_receipts_of_a_game_hold(name: str) -> None:
    told = audit(record_of(GOLDEN[name]), receipts=receipts_of(GOLDEN[name]))
    assert told.holds
    assert told.checks[Check.RECEIPTS] is Standing.HOLDS


def test_receipts_of_other_games_are_passed_over() -> None:
    told = audit(record_of(GOLDEN[TICKLE]), receipts=[Receipt(UUID(int=5), 1, GENESIS)])
    assert told.holds
    assert Check.RECEIPTS not in told.checks


def test_receipts_in_any_order_show_the_first_event_that_differs() -> None:
    given = [replace(receipt, hash=GENESIS) for receipt in receipts_of(GOLDEN[TICKLE])[10:20]]
    wrong = audit(record_of(GOLDEN[TICKLE]), receipts=given[::-1]).wrong
    assert wrong is not None
    assert (wrong.check, wrong.line) == (Check.RECEIPTS, 12)


@pytest.mark.parametrize("version", [0, -1])
def test_a_receipt_for_no_event_is_found(version: int) -> None:
    wrong = audit(record_of(GOLDEN[TICKLE]), receipts=[Receipt(GOLDEN[TICKLE][0].game, version, GENESIS)]).wrong
    assert wrong is not None
    assert wrong.check is Check.RECEIPTS


def given_up_earlier() -> list[Event]:
    """A game as it might have been as well: given up after ten commands, by its own seeds and rules."""
    forger = Forger(GOLDEN[TICITAIRE])
    del forger.commands[10:]
    begun, last = forger.events(), GOLDEN[TICITAIRE][-1]
    decider = DECIDERS["ticitaire", 1]
    seeds = Seeds.revealed(last.game, [bytes.fromhex(seed) for seed in last.fact.model_dump()["seeds"]])
    table = fold(decider.evolve, decider.empty(seeds), (event.fact for event in begun))
    facts = decider.decide(Resign(seat=1), table, last.cause.at)
    cause = Cause(player_actor(table.players[0]), last.cause.at)
    return [*begun, *chain(last.game, len(begun), begun[-1].hash, facts, cause)]


def test_another_possible_game_holds_by_itself() -> None:
    assert audit(record_of(given_up_earlier())).holds


def test_but_the_log_does_not_have_it() -> None:
    proof = Log(GOLDEN[TICITAIRE]).proof(GOLDEN[TICITAIRE][-1])
    wrong = audit(record_of(given_up_earlier()), proofs=[proof], key=KEY.public).wrong
    assert wrong is not None
    assert (wrong.check, wrong.line) == (Check.INCLUSION, 1 + len(given_up_earlier()))


def test_and_receipts_show_where_it_departs() -> None:
    other = given_up_earlier()
    wrong = audit(record_of(other), receipts=receipts_of(GOLDEN[TICITAIRE])).wrong
    assert wrong is not None
    # The ten commands are the same; the eleventh is another.
    same = sum(len(command) for command in Forger(GOLDEN[TICITAIRE]).commands[:10])
    assert (wrong.check, wrong.line) == (Check.RECEIPTS, 2 + same)


def test_a_game_that_breaks_off_is_open_by_itself_and_a_receipt_tells_of_more() -> None:
    forger = Forger(GOLDEN[TICKLE])
    forger.end_before("tickle.CardDrawn")
    alone = audit(read_record(forger.record()))
    assert (alone.wrong, alone.holds) == (None, False)
    told = audit(read_record(forger.record()), receipts=receipts_of(GOLDEN[TICKLE]))
    assert (told.wrong, told.checks[Check.RECEIPTS]) == (None, Standing.OPEN)
    said = f"a receipt tells of event {len(forger.told) + 1}, and the record ends before it: take a newer record"
    assert any(said in remark for remark in told.remarks)


def test_of_a_game_that_is_over_no_receipt_tells_of_more() -> None:
    last = GOLDEN[TICKLE][-1]
    wrong = audit(record_of(GOLDEN[TICKLE]), receipts=[Receipt(last.game, last.seq + 1, last.hash)]).wrong
    assert wrong is not None
    assert (wrong.check, wrong.line) == (Check.RECEIPTS, 1 + last.seq)
    assert "the record ends before it" in wrong.message


@pytest.mark.parametrize("topic", ["tickle.LaydownPlayed", "tickle.GameFinished"])
def test_log_and_receipts_are_looked_at_also_where_the_game_itself_is_wrong(topic: str) -> None:
    """They tell which side has departed."""
    forger = Forger(GOLDEN[TICKLE])
    line = forger.alter(
        topic, -1, **{"seat": lambda seat: seat % 2 + 1} if "Laydown" in topic else {"places": reversed_}
    )
    proof = Log(GOLDEN[TICKLE]).proof(GOLDEN[TICKLE][-1])
    told = audit(read_record(forger.record()), proofs=[proof], key=KEY.public, receipts=receipts_of(GOLDEN[TICKLE]))
    own, *others = told.wrongs
    assert own == told.wrong
    assert own.line == line
    assert [wrong.check for wrong in others] == [Check.INCLUSION, Check.RECEIPTS]
    assert others[1].line == line


def reversed_(values: list[Any]) -> list[Any]:
    return values[::-1]


def test_one_proof_that_shows_it_is_enough() -> None:
    good, bad = Log(GOLDEN[TICKLE]).proof(GOLDEN[TICKLE][-1]), proof_with(index=RIGHT.index - 2)
    for proofs in ([good, bad], [bad, good]):
        assert audit(record_of(GOLDEN[TICKLE]), proofs=proofs, key=KEY.public).holds


def test_a_log_that_has_no_room_for_the_events_before_does_not_have_the_last() -> None:
    last = GOLDEN[TICKLE][-1]
    tree = Tree([leaf_hash(last.data)])
    proof = LogProof(0, (), Checkpoint(KEY.public.name, 1, tree.root(1)).signed(KEY))
    wrong = audit(record_of(GOLDEN[TICKLE]), proofs=[proof], key=KEY.public).wrong
    assert wrong is not None
    assert "no room" in wrong.message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (FAIR, 'its beacon was to be "drand quicknet 12345678" and is said to be "the value of the beacon"'),
        ("entropy-withheld", "did not reveal the entropy"),
        ("poker-cancelled", "it was called off before its deal"),
    ],
)
def test_what_whoever_reads_the_report_should_know_is_remarked(name: str, said: str) -> None:
    told = audit(record_of(GOLDEN[name]))
    assert told.holds
    assert any(said in remark for remark in told.remarks), told.remarks


# What is not out yet

BY_THE_SEEDS: Final = {Check.COMMITMENT, Check.DEAL, Check.COMMANDS, Check.RESULT}


def is_open(told: Audited, said: str) -> bool:
    return (
        {check for check, standing in told.checks.items() if standing is Standing.OPEN} == BY_THE_SEEDS
        and told.wrong is None
        and not told.holds
        and any(said in remark for remark in told.remarks)
    )


@pytest.mark.parametrize("name", [TICITAIRE, TICKLE, POKER])
def test_a_game_under_way_is_open_in_all_that_the_seeds_decide(name: str) -> None:
    forger = Forger(GOLDEN[name])
    del forger.commands[-1]
    assert is_open(audit(read_record(forger.record())), "the game is under way")


def test_a_game_whose_seeds_are_held_back_is_open_until_then() -> None:
    forger = Forger(GOLDEN[FAIR])
    del forger.commands[-1]
    until = forger.find("game.SeedsHeldBack")["fact"]["deadline"]
    assert is_open(audit(read_record(forger.record())), f"its seeds are held back until {until}")


def test_a_game_that_never_told_its_seeds_is_unverifiable() -> None:
    forger = Forger(GOLDEN[TICITAIRE])
    forger.leave_out_the_event("game.SeedsRevealed")
    assert is_open(audit(read_record(forger.record())), "it is unverifiable until they are")


def test_the_log_vouches_for_a_game_under_way_as_well() -> None:
    forger = Forger(GOLDEN[TICKLE])
    del forger.commands[-1]
    events = forger.events()
    told = audit(
        record_of(events), proofs=[Log(events).proof(events[-1])], key=KEY.public, receipts=receipts_of(events)
    )
    assert {told.checks[check] for check in (Check.INCLUSION, Check.RECEIPTS)} == {Standing.HOLDS}
    assert not told.holds


@pytest.mark.parametrize("name", CANCELLED)
def test_a_cancelled_game_holds(name: str) -> None:
    assert audit(record_of(GOLDEN[name])).holds


def cancelled_private() -> list[Event]:
    options = TickleOptions(private=True)
    return events_of(tickle.play(random.Random(3), options=options, course=Course.CANCELLED))


def test_of_a_private_table_that_was_called_off_it_is_open_who_was_admitted() -> None:
    told = audit(record_of(cancelled_private()))
    assert told.wrong is None
    assert not told.holds
    said = "the table was private and called off: who was admitted can't be checked, for its seed never comes out"
    assert said in told.remarks


def test_and_what_else_happened_there_is_judged() -> None:
    forger = Forger(cancelled_private())
    line = forger.alter_cause("game.GameCancelled", actor=STRANGER)
    wrong = found(forger.record())
    assert wrong is not None
    assert (wrong.check, wrong.line) == (Check.COMMANDS, line)


def test_a_game_that_was_given_up_with_its_seeds_held_back_holds_once_they_are_out() -> None:
    played = ticitaire.play(
        random.Random(3),
        options=Options(sealed_until=NOON + timedelta(days=2)),
        course=ticitaire.Course.GIVEN_UP,
        length=20,
    )
    assert audit(record_of(events_of(played))).holds
