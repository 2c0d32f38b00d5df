"""Replays in a terminal: what is drawn, what each key does, and that the terminal is left as it was."""

from __future__ import annotations

import gzip
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from api.cli import app
from api.drawing import Pen, window
from api.faults import BadUserInput, StillSealed
from api.replaying import Key, Place, Reel, draw, keys_in, pressed
from api.viewpoints import ReplayView
from domain.cards import DECK, HIDDEN, Shape
from domain.events import Event, read_event
from domain.games import FACT_TYPES
from domain.lifecycle import PlayerSeated
from domain.records import write_record
from domain.storage import EventMapper, EventRecorder
from domain.telling import short
from tests.golden.replayed import sentence
from tests.golden.samples import FOLDER
from tests.projections.verified import every_sort
from tests.server import environment

TICKLE: Final = "tickle-six-players-one-resigned"
POKER: Final = "poker-declared"
TICITAIRE: Final = "won"
GAMES: Final = sorted(path.stem for path in (FOLDER / "games").glob("*.jsonl"))
CARD: Final = re.compile(r"[1-5][●☾▲■★][vcyor]")


def events_of(name: str) -> list[Event]:
    lines = (FOLDER / "games" / f"{name}.jsonl").read_bytes().splitlines()
    return [read_event(line, FACT_TYPES) for line in lines]


def drawn(reel: Reel, seq: int, *size: int, width: int = 80, **how: Any) -> str:
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        console.print(draw(reel.frame(seq), width, *size, **how))
    return capture.get()


def at(reel: Reel, topic: str) -> int:
    """The number of the first event of a topic."""
    return next(seq for seq in range(1, len(reel) + 1) if reel.frame(seq).fact.topic == topic)


# --- cards ---


def test_every_card_is_told_from_every_other_without_its_colour_too() -> None:
    faces = {Pen().card(card).plain for card in DECK}
    assert len(faces) == len(DECK)
    assert all(CARD.fullmatch(face) for face in faces)


def test_a_terminal_of_ascii_gets_the_cards_of_the_notation() -> None:
    assert [Pen(ascii=True).card(card).plain for card in DECK] == [short(card) for card in DECK]


def test_the_five_colours_are_drawn_in_five_colours() -> None:
    stars = [card for card in DECK if card.number == 1 and card.shape is Shape.STAR]
    assert len({str(Pen().card(card).style) for card in stars}) == 5


def test_a_hidden_card_has_no_face() -> None:
    assert not CARD.search(Pen().cards([HIDDEN, HIDDEN]).plain)


@pytest.mark.parametrize(
    ("wanted", "most", "shown"),
    [([], 20, (0, 9)), ([], 4, (3, 6)), ([0], 4, (0, 3)), ([9], 4, (6, 9)), ([4, 5], 4, (3, 6)), ([5], 0, (5, 5))],
)
def test_of_a_grid_that_is_too_large_the_part_around_what_was_laid_is_drawn(
    wanted: list[int], most: int, shown: tuple[int, int]
) -> None:
    numbers = window(range(10), wanted, most)
    assert (numbers[0], numbers[-1]) == shown


# --- positions ---


@pytest.mark.parametrize("name", GAMES)
def test_every_position_of_every_recorded_game_can_be_drawn_in_a_terminal_of_usual_size(name: str) -> None:
    events = events_of(name)
    cancelled = events[-1].fact.topic == "game.GameCancelled"
    reel = Reel(events, ReplayView.PUBLIC if cancelled else ReplayView.ALL)
    for seq in range(1, len(reel) + 1, 5):
        lines = drawn(reel, seq, 30).splitlines()
        assert max(map(len, lines)) <= 80
        assert len(lines) <= 30


def test_the_sentence_and_the_scores_stand_above_the_table() -> None:
    reel = Reel(events_of(POKER))
    lines = drawn(reel, 12).splitlines()
    assert lines[0] == "Poker · seen as PUBLIC · 12 of 65"
    assert lines[2] == sentence(POKER, 12)
    assert lines[5] == "Seat 1: 0   Seat 2: 0   Seat 3: 0"


def test_seats_that_have_names_are_told_by_both() -> None:
    lines = drawn(Reel(events_of(POKER), names={1: "Ada", 3: "棋手"}), 12).splitlines()
    assert lines[5] == "Seat 1, Ada: 0   Seat 2: 0   Seat 3, 棋手: 0"


def test_names_of_any_length_and_width_leave_the_drawing_in_its_terminal() -> None:
    reel = Reel(events_of(TICKLE), names=dict.fromkeys(range(1, 7), "龍" * 50))
    for seq in range(1, len(reel) + 1, 10):
        lines = drawn(reel, seq, 45).splitlines()
        assert max(map(cell_len, lines)) <= 80
        assert len(lines) <= 45


def test_the_table_stays_where_it_is_however_long_the_sentence_is() -> None:
    reel = Reel(events_of(POKER))
    shown = [drawn(reel, seq).splitlines() for seq in range(10, 31)]
    assert {next(n for n, line in enumerate(lines) if line.startswith("round ")) for lines in shown} == {7}


def test_what_was_laid_in_tickle_lies_in_the_grid() -> None:
    reel = Reel(events_of(TICKLE))
    before, after = (
        drawn(reel, seq) for seq in (at(reel, "tickle.LaydownPlayed") - 1, at(reel, "tickle.LaydownPlayed"))
    )
    assert "(nothing is laid)" in before
    assert len(CARD.findall(after)) == 2


@pytest.mark.parametrize(("view", "seen"), [("PUBLIC", 0), ("SEAT_2", 6), ("ALL", 36)])
def test_of_the_hands_in_tickle_only_those_are_open_that_the_viewer_sees(view: str, seen: int) -> None:
    reel = Reel(events_of(TICKLE), ReplayView(view))
    seats = [line for line in drawn(reel, at(reel, "tickle.HandsDealt")).splitlines() if re.match(r". Seat \d  ", line)]
    assert sum(len(CARD.findall(line)) for line in seats) == seen


@pytest.mark.parametrize(("view", "seen"), [("PUBLIC", [0, 0, 0]), ("SEAT_3", [0, 0, 3]), ("ALL", [3, 3, 3])])
def test_of_the_hands_in_poker_only_those_are_open_that_the_viewer_sees(view: str, seen: list[int]) -> None:
    reel = Reel(events_of(POKER), ReplayView(view))
    lines = drawn(reel, at(reel, "poker.CardsKept")).splitlines()
    assert [len(CARD.findall(line)) for line in lines if re.match(r". Seat \d  ", line)] == seen
    assert [len(CARD.findall(line)) for line in lines if line.startswith("  open")] == [2]


def test_a_declared_hand_is_drawn_with_its_rank() -> None:
    reel = Reel(events_of(POKER))
    assert re.search(r"Two Tic Pairs: (\S{3} ?){5}", drawn(reel, 61))


def test_the_buried_cards_of_ticitaire_are_open_to_who_sees_all() -> None:
    events = events_of(TICITAIRE)
    public, everything = (
        len(CARD.findall(drawn(Reel(events, view), 3))) for view in (ReplayView.PUBLIC, ReplayView.ALL)
    )
    assert (public, everything) == (7, 7 + 7 * 7 + 1)  # and the stock's next card


def test_of_a_column_that_is_too_long_the_last_cards_are_drawn() -> None:
    reel = Reel(events_of(TICITAIRE))
    whole, short_ = drawn(reel, 273).splitlines(), drawn(reel, 273, 25).splitlines()
    assert len(short_) == 25
    last = [line for line in whole if CARD.search(line)][-1]
    assert last in short_
    assert any("+24" in line for line in short_)


def test_without_seeds_nobody_sees_more_than_everyone_does() -> None:
    begun = events_of(POKER)[:20]
    for view in (ReplayView.SEAT_1, ReplayView.ALL):
        with pytest.raises(StillSealed):
            Reel(begun, view)
    assert len(Reel(begun)) == 20


def test_a_seat_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadUserInput, match="has 3 seats"):
        Reel(events_of(POKER), ReplayView.SEAT_8)


# --- keys ---


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b" ", [Key.ON]),
        (b"\x1b[C\x1b[D", [Key.ON, Key.BACK]),
        (b"\x1bOC\x1bOD", [Key.ON, Key.BACK]),
        (b"\x1b[5~\x1b[6~", [Key.PAGE_BACK, Key.PAGE_ON]),
        (b"\x1b[H\x1b[1~\x1bOH", [Key.FIRST] * 3),
        (b"\x1b[F\x1b[4~\x1bOF", [Key.LAST] * 3),
        (b"pq", [Key.PLAY, Key.QUIT]),
        (b"x\x1b[A\x1b[1;5C\x00\xff", []),
        (b"\x1bq", [Key.QUIT]),
    ],
)
def test_a_key_is_known_by_what_terminals_send_for_it(sent: bytes, keys: list[Key]) -> None:
    assert keys_in(sent) == (keys, b"")


def test_a_key_that_has_come_in_part_waits_for_its_rest() -> None:
    keys, rest = keys_in(b" \x1b[")
    assert (keys, keys_in(rest + b"C")) == ([Key.ON], ([Key.ON], b""))


@pytest.mark.parametrize(
    ("key", "from_5", "from_1", "from_30"),
    [
        (Key.ON, 6, 2, 30),
        (Key.BACK, 4, 1, 29),
        (Key.PAGE_ON, 15, 11, 30),
        (Key.PAGE_BACK, 1, 1, 20),
        (Key.FIRST, 1, 1, 1),
        (Key.LAST, 30, 30, 30),
    ],
)
def test_a_key_moves_as_far_as_there_are_positions(key: Key, from_5: int, from_1: int, from_30: int) -> None:
    assert [pressed(Place(seq, 30), key).seq for seq in (5, 1, 30)] == [from_5, from_1, from_30]


def test_it_plays_until_a_key_moves_or_the_end_is_reached() -> None:
    playing = pressed(Place(28, 30), Key.PLAY)
    assert playing.playing
    assert not pressed(playing, Key.PLAY).playing
    assert not pressed(playing, Key.BACK).playing
    assert playing.moved(1).playing
    assert not playing.moved(1).moved(1).playing
    assert not pressed(Place(30, 30), Key.PLAY).playing


# --- a terminal ---


@dataclass
class Terminal:
    """A terminal in which `tic replay` runs."""

    process: subprocess.Popen[bytes]
    master: int
    slave: int
    shown: bytes = field(default=b"")

    def until(self, text: str) -> str:
        """Read what is shown until some text has come; return it from the last clearing of the screen on."""
        deadline = time.monotonic() + 20
        while text.encode() not in self.shown:
            assert time.monotonic() < deadline, self.shown[-2000:]
            if select.select([self.master], [], [], 0.1)[0]:
                self.shown += os.read(self.master, 65536)
        seen, _, self.shown = self.shown.partition(text.encode())
        return seen.decode()

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def ended(self) -> int:
        """Read on until the process has ended; return its exit status."""
        deadline = time.monotonic() + 20
        while self.process.poll() is None:
            assert time.monotonic() < deadline
            if select.select([self.master], [], [], 0.05)[0]:
                self.shown += os.read(self.master, 65536)
        while select.select([self.master], [], [], 0)[0]:
            self.shown += os.read(self.master, 65536)
        return self.process.returncode

    def state(self) -> list[Any]:
        return termios.tcgetattr(self.slave)


TIC: Final = """
import os, sys
os.close(os.open(sys.argv.pop(1), os.O_RDWR))  # the first terminal that a session opens is the one that controls it
from api.cli import main
main()
"""


@contextmanager
def terminal(*words: str, stdin: bytes | None = None, no_color: str | None = None) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 90))

    env = environment(TERM="xterm-256color", NO_COLOR=no_color or "")  # an empty one is none
    process = subprocess.Popen(
        [sys.executable, "-c", TIC, os.ttyname(slave), "replay", *words],
        stdin=slave if stdin is None else subprocess.PIPE,
        stdout=slave,
        stderr=slave,
        env=env,
        start_new_session=True,
    )
    if stdin is not None and process.stdin:
        process.stdin.write(stdin)
        process.stdin.close()
    try:
        yield Terminal(process, master, slave)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(20)
        for descriptor in (master, slave):
            with suppress(OSError):
                os.close(descriptor)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "game.jsonl"
    path.write_bytes(b"".join(write_record(events_of(POKER))))
    return path


ALTERNATE, MAIN = "\x1b[?1049h", b"\x1b[?1049l"


def test_a_game_is_gone_through_by_keys_and_the_terminal_is_left_as_it_was(record: Path) -> None:
    with terminal(str(record), "--as", "seat_2") as tic:
        before = tic.state()
        tic.until(ALTERNATE)
        tic.until("1 of 65")
        for keys, seq in [
            (b" ", 2),
            (b"\x1b[C", 3),
            (b"\x1b[D", 2),
            (b"\x1b[6~", 12),
            (b"\x1b[F", 65),
            (b"\x1b[5~", 55),
        ]:
            tic.press(keys)
            tic.until(f"{seq} of 65")
        tic.press(b"\x1b[H")
        tic.until("1 of 65")
        assert not tic.state()[3] & termios.ECHO
        tic.press(b"q")
        assert tic.ended() == 0
        assert MAIN in tic.shown
        assert tic.state() == before


def test_it_plays_by_itself(record: Path) -> None:
    with terminal(str(record), "--pace", "0.05") as tic:
        tic.until("1 of 65")
        tic.press(b"p")
        tic.until("65 of 65")
        tic.press(b"q")
        assert tic.ended() == 0


def test_cards_have_their_colours_unless_there_is_to_be_none(record: Path) -> None:
    colour = re.compile(r"38;5;(135|44|220|208|196)m")
    for colours, coloured in ((None, True), ("1", False)):
        with terminal(str(record), no_color=colours) as tic:
            tic.until("1 of 65")
            tic.press(b"\x1b[F")
            tic.until("65 of 65")
            assert bool(colour.search(tic.until("q quits"))) == coloured


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)],
    ids=str,
)
def test_whatever_ends_it_the_terminal_is_left_as_it_was(record: Path, number: int, status: int) -> None:
    with terminal(str(record)) as tic:
        before = tic.state()
        tic.until("1 of 65")
        tic.process.send_signal(number)
        assert tic.ended() == status
        assert MAIN in tic.shown
        assert tic.state() == before


def test_it_ends_with_its_terminal(record: Path) -> None:
    with terminal(str(record)) as tic:
        tic.until("1 of 65")
        os.close(tic.master)
        assert tic.process.wait(20) != 0


def test_a_record_may_come_through_the_standard_input_while_keys_come_from_the_terminal(record: Path) -> None:
    with terminal("-", stdin=record.read_bytes()) as tic:
        tic.until("1 of 65")
        tic.press(b" ")
        tic.until("2 of 65")
        tic.press(b"q")
        assert tic.ended() == 0


# --- what its seeds prove ---

PROVED: Final = "Proved: its seeds lead to what was committed to before the deal."
LATER: Final = datetime(2035, 1, 1, tzinfo=UTC)
"""After the time until which the seeds of the recorded games are held back."""

SAID: Final = {
    "under way": "Not over: its seeds are sealed, and nothing proves its cards yet.",
    "called off": "Called off before its deal: there is nothing to prove.",
    "revealed with the result": PROVED,
    "revealed after they were held back": PROVED,
    "held back": "Held back until 2030-06-01 18:00:00 UTC: till then its seeds prove nothing.",
    "held back until a time that has passed": "Unverifiable: its seeds were not revealed. It counts nowhere.",
    "never revealed": "Unverifiable: its seeds were not revealed. It counts nowhere.",
    "revealed, and others than were committed to": (
        "Unverifiable: its seeds do not lead to the commitment. It counts nowhere."
    ),
    "revealed, and not all of them": "Unverifiable: its seeds do not lead to the commitment. It counts nowhere.",
}


@pytest.mark.parametrize(("sort", "said"), SAID.items(), ids=SAID)
def test_it_says_in_words_what_the_seeds_prove(sort: str, said: str) -> None:
    reel = Reel(every_sort()[sort])
    assert reel.verdict == said
    for seq in (1, len(reel)):
        assert said in drawn(reel, seq).splitlines()


def test_what_it_says_of_seeds_that_are_held_back_changes_when_their_time_has_passed() -> None:
    assert Reel(every_sort()["held back"], now=LATER).verdict == SAID["never revealed"]


def test_what_it_says_is_the_last_line_however_it_is_told(
    recorder: EventRecorder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    events = every_sort()["never revealed"]
    recorder.append([[*map(EventMapper().to_stored_event, events)]])
    for how in ("--plain", "--notation"):
        assert run(str(events[0].game), how).stdout.splitlines()[-2:] == ["", SAID["never revealed"]]


def test_the_last_line_stands_on_the_screen_all_the_while(record: Path) -> None:
    with terminal(str(record)) as tic:
        tic.until("1 of 65")
        tic.until(PROVED)
        tic.press(b"q")
        assert tic.ended() == 0


@pytest.mark.parametrize("view", [ReplayView.ALL, ReplayView.SEAT_1])
def test_seeds_that_were_not_committed_to_open_no_card(view: ReplayView) -> None:
    events = every_sort()["revealed, and others than were committed to"]
    opened, public = (Reel(events, seen_as) for seen_as in (view, ReplayView.PUBLIC))
    for seq in range(1, len(events) + 1):
        assert CARD.findall(drawn(opened, seq)) == CARD.findall(drawn(public, seq))


# --- no terminal ---


def run(*words: str, **how: Any) -> Any:
    return CliRunner().invoke(app, ["replay", *words], **how)


def test_where_there_is_no_terminal_each_event_is_a_line(record: Path) -> None:
    told = [*(f"{seq:>4}  {sentence(POKER, seq)}" for seq in range(1, 66)), "", PROVED]
    assert run(str(record)).stdout.splitlines() == told
    assert run(str(record), "--plain").stdout.splitlines() == told


def test_the_notation_is_printed_as_it_is_documented(record: Path) -> None:
    documented = (FOLDER / "games" / f"{POKER}.txt").read_text(encoding="utf-8")
    assert run(str(record), "--notation").stdout == f"{documented}\n{PROVED}\n"


def test_a_record_may_be_compressed(record: Path) -> None:
    packed = record.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(record.read_bytes()))
    assert run(str(packed)).stdout == run(str(record)).stdout


def test_a_game_of_the_log_is_replayed_by_its_id(
    record: Path, recorder: EventRecorder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    events = events_of(POKER)
    recorder.append([[*map(EventMapper().to_stored_event, events)]])
    told = run(str(events[0].game), "--as", "ALL").stdout.splitlines()
    assert [line[:4] for line in told] == [line[:4] for line in run(str(record)).stdout.splitlines()]


def test_a_game_of_the_log_is_told_with_the_names_of_its_players_and_pseudonyms_of_those_who_erased_theirs(
    recorder: EventRecorder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    events = events_of(POKER)
    recorder.append([[*map(EventMapper().to_stored_event, events)]])
    first, second, third = [event.fact.player for event in events if isinstance(event.fact, PlayerSeated)]
    with psycopg.connect(database_url) as connection:
        for player, name in ((first, "Ada [b]"), (third, "棋手")):
            connection.execute("INSERT INTO players (id, name) VALUES (%s, %s)", (player, name))
    names = {1: "Ada [b]", 2: f"Erased player {second.hex[:6]}", 3: "棋手"}
    told = run(str(events[0].game)).stdout.splitlines()
    assert told[:65] == [f"{seq:>4}  {Reel(events, names=names).words(seq)}" for seq in range(1, 66)]
    assert all(any(name in line for line in told) for name in names.values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no such thing"], "is neither a file nor the id of a game"),
        ([str(Path(__file__).parent)], "is neither a file nor the id of a game"),
        ([__file__], "line 1: it is not JSON"),
    ],
    ids=["nothing", "a folder", "no record"],
)
def test_what_is_no_game_is_refused(words: list[str], said: str) -> None:
    done = run(*words)
    assert done.exit_code == 1
    assert said in " ".join(done.stderr.split())


def test_cards_that_are_sealed_are_refused(tmp_path: Path) -> None:
    begun = tmp_path / "begun.jsonl"
    events = events_of(POKER)
    begun.write_bytes(b"".join(write_record(events[: events[11].seq - events[11].part])))
    done = run(str(begun), "--as", "ALL")
    assert done.exit_code == 1
    assert "sealed until the game is over" in " ".join(done.stderr.split())
