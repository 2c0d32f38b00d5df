"""Games that are written anew by someone who makes everything formally right after a change: each is found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import hypothesis
import pytest
from hypothesis import strategies as st

from domain.audit import Check, audit
from domain.decider import write_instant
from domain.events import Event
from domain.record_reading import read_record
from domain.records import write_record
from tests.domain.adversary import Forger, Told
from tests.domain.test_audit import (
    FAIR,
    GOLDEN,
    KEY,
    OUT_OF_TIME,
    POKER,
    STRANGER,
    TICITAIRE,
    TICKLE,
    TIMED,
    Log,
    each_game,
    found,
    receipts_of,
    some,
    whole_games,
)

# Forgery: a record that is formally right


def as_by(told: Told, **fields: Any) -> Told:
    return told | fields


def more_points(places: list[Told]) -> list[Told]:
    return [as_by(place, points=place["points"] + 1) for place in places]


def first_for_all(places: list[Told]) -> list[Told]:
    return [as_by(place, place=1) for place in places]


def another_last(cards: list[Any]) -> list[Any]:
    return [*cards[:-1], "1-circle-violet" if cards[-1] != "1-circle-violet" else "2-circle-violet"]


def another_card(hands: list[Told]) -> list[Told]:
    return [*hands[:-1], as_by(hands[-1], cards=another_last(hands[-1]["cards"]))]


def later(forger: Forger, topic: str, number: int) -> int:
    """Let everything from a command on happen a day later."""
    told = forger.find(topic, number)
    begun = forger.command_of(told)[0]
    told_after = forger.told[forger.line_of(begun) - 2 :]
    for one in told_after:
        one["at"] = write_instant(datetime.fromisoformat(one["at"]) + timedelta(days=1))
    return forger.line_of(begun)


def too_early(forger: Forger, topic: str) -> int:
    """Let a command happen at once after the one before it."""
    told = forger.find(topic)
    before = forger.told[forger.line_of(told) - 3]
    return forger.alter_cause(topic, at=before["at"])


def seat_and_actor(forger: Forger, topic: str, number: int) -> int:
    """Let another seat do something, with its own player as the actor."""
    told = forger.find(topic, number)
    seat = told["fact"]["seat"] % 2 + 1
    player = forger.find("game.PlayerSeated", seat - 1)["fact"]["player"]
    told["fact"]["seat"] = seat
    return forger.alter_cause(topic, number, actor=f"player:{player}")


def after_one_round(forger: Forger) -> int:
    """End a game of two rounds with the first, in that command in which the second was dealt."""
    command = forger.command_of(forger.find("poker.RoundDealt", 1))
    *_, finished, revealed = forger.commands[-1]
    at = forger.commands.index(command)
    del forger.commands[at + 1 :]
    begun = [told for told in command if told["type"] not in ("poker.RoundDealt", "game.TurnBegan")]
    revealed["fact"]["seeds"] = revealed["fact"]["seeds"][:1]
    command[:] = [*begun, *({**told, **cause_of(command[0])} for told in (finished, revealed))]
    return forger.line_of(command[0])


def cause_of(told: Told) -> Told:
    return {name: told[name] for name in ("actor", "at", "key", "content")}


Change = Callable[[Forger], int]

FORGERIES: Final[dict[str, tuple[str, Change, Check, str]]] = {
    "the score of a laydown": (
        TICKLE,
        lambda f: f.alter("tickle.LaydownPlayed", 3, score=lambda s: as_by(s, tic_points=s["tic_points"] + 1)),
        Check.COMMANDS,
        "score.tic_points of tickle.LaydownPlayed is 7, and by the rules it is 6",
    ),
    "the points of a round": (
        POKER,
        lambda f: f.alter("poker.RoundScored", places=more_points),
        Check.COMMANDS,
        "places[0].points of poker.RoundScored is 4, and by the rules it is 3",
    ),
    "the points of a game": (
        POKER,
        lambda f: f.alter("poker.GameFinished", places=more_points),
        Check.RESULT,
        "places[0].points of poker.GameFinished is 5, and by the rules it is 4",
    ),
    "a place": (
        TICKLE,
        lambda f: f.alter("tickle.GameFinished", places=first_for_all),
        Check.RESULT,
        "places[2].place of tickle.GameFinished is 1, and by the rules it is 4",
    ),
    "how a game ended": (
        TICITAIRE,
        lambda f: f.alter("ticitaire.GameFinished", ending="won"),
        Check.RESULT,
        'ending of ticitaire.GameFinished is "won", and by the rules it is "given-up"',
    ),
    "what is left over": (
        TICITAIRE,
        lambda f: f.alter("ticitaire.GameFinished", buried=0),
        Check.RESULT,
        "buried of ticitaire.GameFinished is 0",
    ),
    "a card of the tableau": (
        TICITAIRE,
        lambda f: f.alter("ticitaire.TableauDealt", exposed=another_last),
        Check.DEAL,
        "exposed[6] of ticitaire.TableauDealt is",
    ),
    "a community card": (
        POKER,
        lambda f: f.alter("poker.RoundDealt", 1, community=another_last),
        Check.DEAL,
        "community[1] of poker.RoundDealt is",
    ),
    "who is dealt in": (
        POKER,
        lambda f: f.alter("poker.RoundDealt", dealer=1),
        Check.DEAL,
        "dealer of poker.RoundDealt is 1",
    ),
    "a card that is turned up": (
        TICITAIRE,
        lambda f: f.alter("ticitaire.CardTurnedUp", card="1-circle-violet"),
        Check.COMMANDS,
        'card of ticitaire.CardTurnedUp is "1-circle-violet"',
    ),
    "a card of the stock": (
        TICITAIRE,
        lambda f: f.alter("ticitaire.StockTurned", card="1-circle-violet"),
        Check.COMMANDS,
        'card of ticitaire.StockTurned is "1-circle-violet"',
    ),
    "a card of a hand that is shown": (
        POKER,
        lambda f: f.alter("poker.HandsRevealed", hands=another_card),
        Check.COMMANDS,
        "hands[2].cards[2] of poker.HandsRevealed is",
    ),
    "a card that is laid": (
        TICKLE,
        lambda f: f.alter("tickle.LaydownPlayed", cards=lambda c: [*c[:-1], as_by(c[-1], card="1-circle-violet")]),
        Check.COMMANDS,
        "the rules refuse tickle.LayDown",
    ),
    "the rank of a hand": (
        POKER,
        lambda f: f.alter("poker.HandDeclared", rank=lambda rank: rank - 1),
        Check.COMMANDS,
        "FALSE_DECLARATION",
    ),
    "how many cards are refilled": (
        TICKLE,
        lambda f: f.alter("tickle.HandRefilled", cards=1),
        Check.COMMANDS,
        "cards of tickle.HandRefilled is 1, and by the rules it is 2",
    ),
    "who drew, in whose name it stays": (
        TICKLE,
        lambda f: f.alter("tickle.CardDrawn", seat=1),
        Check.COMMANDS,
        "tickle.DrawCard was asked for by player:",
    ),
    "who drew, and in whose name": (
        TICKLE,
        lambda f: seat_and_actor(f, "tickle.CardDrawn", 0),
        Check.COMMANDS,
        "the rules refuse tickle.DrawCard",
    ),
    "an actor": (
        POKER,
        lambda f: f.alter_cause("poker.CardsKept", actor=STRANGER),
        Check.COMMANDS,
        f"poker.KeepCards was asked for by {STRANGER}, who may not",
    ),
    "the server as the actor of a move": (
        TICITAIRE,
        lambda f: f.alter_cause("ticitaire.CardsMoved", actor="server"),
        Check.COMMANDS,
        "was asked for by server, who may not",
    ),
    "a player as the actor of a time-out": (
        OUT_OF_TIME,
        lambda f: f.alter_cause("game.TimedOut", actor=STRANGER),
        Check.COMMANDS,
        "game.RunOutOfTime was asked for by player:",
    ),
    "the seed": (
        TICITAIRE,
        lambda f: f.alter("game.SeedsRevealed", seeds=["0" * 64]),
        Check.RECORD,
        "the seeds are not those that the first event commits to",
    ),
    "the commitment": (
        TICITAIRE,
        lambda f: f.alter("ticitaire.GameOpened", commitment="0" * 64) and f.line_of(f.told[-1]),
        Check.RECORD,
        "the seeds are not those that the first event commits to",
    ),
    "the seat order": (
        POKER,
        lambda f: f.alter("game.PlayerSeated", player=f.find("game.PlayerSeated", 1)["fact"]["player"]),
        Check.COMMANDS,
        "player of game.PlayerSeated is",
    ),
    "entropy that a player reveals": (
        FAIR,
        lambda f: f.alter("game.EntropyRevealed", entropy="0" * 64),
        Check.COMMANDS,
        "ENTROPY_MISMATCH",
    ),
    "entropy that goes into the deal": (
        FAIR,
        lambda f: f.alter("tickle.HandsDealt", entropies=lambda e: ["-" for _ in e]),
        Check.DEAL,
        "entropies[0] of tickle.HandsDealt is",
    ),
    "a commitment to entropy": (
        FAIR,
        lambda f: (
            f.alter("game.EntropyCommitted", commitment="0" * 64)
            and f.line_of(f.find("game.EntropyRevealed", where=lambda r: r["player"] == committed_first(f)))
        ),
        Check.COMMANDS,
        "ENTROPY_MISMATCH",
    ),
    "the value of the beacon": (
        "won-with-entropy-beacon-and-seeds-held-back",
        lambda f: f.alter("game.BeaconGiven", beacon="another") and f.line_of(f.find("ticitaire.TableauDealt")),
        Check.DEAL,
        "beacon of ticitaire.TableauDealt is",
    ),
    "the value of the beacon, which orders the seats": (
        FAIR,
        lambda f: f.alter("game.BeaconGiven", beacon="another") and f.line_of(f.find("game.PlayerSeated", 1)),
        Check.COMMANDS,
        "player of game.PlayerSeated is",
    ),
    "when seeds come out that were held back": (
        FAIR,
        lambda f: too_early(f, "game.SeedsRevealed"),
        Check.COMMANDS,
        "TIME_IS_LEFT",
    ),
    "until when seeds are held back": (
        FAIR,
        lambda f: f.alter("game.SeedsHeldBack", deadline="2031-01-01T00:00:00.000000Z"),
        Check.COMMANDS,
        "deadline of game.SeedsHeldBack is",
    ),
    "a move after its time": (
        TIMED,
        lambda f: later(f, "tickle.LaydownPlayed", 4),
        Check.COMMANDS,
        "TIME_IS_UP",
    ),
    "a time-out before its time": (
        OUT_OF_TIME,
        lambda f: too_early(f, "game.TimedOut"),
        Check.COMMANDS,
        "TIME_IS_LEFT",
    ),
    "a deadline": (
        TIMED,
        lambda f: f.alter("game.TurnBegan", 5, deadline="2031-01-01T00:00:00.000000Z"),
        Check.COMMANDS,
        "deadline of game.TurnBegan is",
    ),
    "whose turn it is": (
        TICKLE,
        lambda f: f.alter("game.TurnBegan", 5, seat=lambda seat: seat % 4 + 1),
        Check.COMMANDS,
        "seat of game.TurnBegan is",
    ),
    "a turn that is left out": (
        TICKLE,
        lambda f: f.leave_out("tickle.LaydownPlayed", 4),
        Check.COMMANDS,
        "the rules refuse tickle.",
    ),
    "a refill that is left out": (
        TICKLE,
        lambda f: f.leave_out_the_event("tickle.HandRefilled", 2),
        Check.COMMANDS,
        "it tells of game.TurnBegan, and by the rules tickle.HandRefilled stands here",
    ),
    "the end of a command that is left out": (
        TICITAIRE,
        lambda f: f.leave_out_the_event("ticitaire.CardTurnedUp") - 1,
        Check.COMMANDS,
        "by the rules ticitaire.CardTurnedUp follows in the same command",
    ),
    "a move that is added": (
        TICKLE,
        lambda f: f.repeat("tickle.CardDrawn"),
        Check.COMMANDS,
        "the rules refuse tickle.DrawCard",
    ),
    "a fact that is added to a command": (
        TICKLE,
        lambda f: added(f, "tickle.LaydownPlayed"),
        Check.COMMANDS,
        "game.TurnBegan does not follow from the command by the rules",
    ),
    "a player who joined and is left out": (
        POKER,
        lambda f: f.leave_out("game.PlayerJoined", -1),
        Check.RECORD,
        "this player has not joined the table",
    ),
    "an end that comes early": (
        TICKLE,
        lambda f: f.end_as_it_ended("tickle.LaydownPlayed", -3),
        Check.COMMANDS,
        "",
    ),
    "an end after fewer rounds": (
        POKER,
        after_one_round,
        Check.COMMANDS,
        "whose seed the record does not tell",
    ),
    "the deal of another game": (
        TICITAIRE,
        lambda f: as_game(f, UUID(int=5)),
        Check.RECORD,
        "the deal is that of another game",
    ),
}


def as_game(forger: Forger, game: UUID) -> int:
    """Let all of it be another game's, with the deal that it had."""
    for told in forger.told:
        told["game"] = str(game)
    return 2


def committed_first(forger: Forger) -> str:
    return str(forger.find("game.EntropyCommitted")["fact"]["player"])


def added(forger: Forger, topic: str) -> int:
    """Let a command's last fact follow once more."""
    command = forger.command_of(forger.find(topic))
    command.append(dict(command[-1]))
    return forger.line_of(command[-1])


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_found(name: str) -> None:
    game, change, check, said = FORGERIES[name]
    forger = Forger(GOLDEN[game])
    line = change(forger)
    wrong = found(forger.record())
    assert wrong is not None
    assert (wrong.check, wrong.line) == (check, line), wrong
    assert said in wrong.message


@each_game
def test_a_game_that_is_written_anew_without_a_change_is_the_same(name: str) -> None:
    assert Forger(GOLDEN[name]).record() == list(write_record(GOLDEN[name]))


def test_a_cancelled_game_of_which_something_was_dealt_does_not_hold() -> None:
    forger = Forger(GOLDEN[TICKLE])
    called_off = Forger(GOLDEN["tickle-cancelled"]).commands[-1]
    forger.end_before("tickle.CardDrawn")
    forger.commands.append(called_off)
    for told in called_off:
        told |= {"game": forger.told[0]["game"], "at": forger.told[-2]["at"]}
    assert not audit(read_record(forger.record())).holds


def test_seeds_that_are_none_are_told_of() -> None:
    forger = Forger(GOLDEN[TICKLE])
    forger.end_before("game.PlayerSeated")
    last = Forger(GOLDEN[TICKLE]).told[-1]
    last["fact"]["seeds"] = []
    forger.commands.append([last])
    wrong = found(forger.record())
    assert wrong is not None
    assert (wrong.check, wrong.line) == (Check.COMMITMENT, forger.line_of(last))


@pytest.mark.parametrize(
    ("name", "topic", "field"),
    [
        (TICKLE, "tickle.HandRefilled", "cards"),
        (TICKLE, "tickle.HandsDealt", "each"),
        (POKER, "poker.RoundDealt", "private"),
    ],
)
def test_a_number_of_cards_that_would_take_for_ever_to_deal_is_refused(name: str, topic: str, field: str) -> None:
    forger = Forger(GOLDEN[name])
    line = forger.alter(topic, **{field: 2**53})
    wrong = found(forger.record())
    assert wrong is not None
    assert (wrong.check, wrong.line) == (Check.RECORD, line)
    assert wrong.message == f"{topic} tells of more cards than there are"


@pytest.mark.parametrize("name", [TICKLE, TIMED, FAIR, "won-with-entropy-beacon-and-seeds-held-back"])
def test_a_time_at_the_end_of_all_time_is_told_of(name: str) -> None:
    forger = Forger(GOLDEN[name])
    for told in forger.told:
        told["at"] = "9999-12-31T23:59:59.999999Z"
    wrong = found(forger.record())
    assert wrong is None or wrong.check is Check.COMMANDS


# Any field of any event

of_any: Final = hypothesis.settings(some, suppress_health_check=list(hypothesis.HealthCheck))


@st.composite
def forged(draw: st.DrawFn) -> tuple[list[Event], Forger, int]:
    """A game, and the same with some value altered in some event; the first line of the command in which it was."""
    events = draw(whole_games())
    forger = Forger(events)
    told = draw(st.sampled_from(forger.told))
    place: Any = draw(st.sampled_from([told["fact"], told["fact"], told]))
    names = ["actor", "at"] if place is told else sorted(place)
    hypothesis.assume(names)
    name = draw(st.sampled_from(names))
    while isinstance(place[name], (dict, list)) and place[name]:
        place = place[name]
        name = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    new = draw(others_than(place[name], events))
    hypothesis.assume(new != place[name])
    place[name] = new
    return events, forger, forger.line_of(forger.command_of(told)[0])


def others_than(value: Any, events: Sequence[Event]) -> st.SearchStrategy[Any]:
    """Values of the same sort, some of which stand elsewhere in the game."""
    elsewhere = [leaf for event in events for leaf in leaves(json.loads(event.data)) if type(leaf) is type(value)]
    if type(value) is int:
        return st.one_of(st.integers(value - 2, value + 2), st.integers(-(2**53), 2**53))
    if type(value) is bool:
        return st.booleans()
    return st.one_of(st.sampled_from(elsewhere), st.just("0" * 64), st.text(max_size=3)) if elsewhere else st.none()


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    else:
        yield value


def lines_if_told(forger: Forger) -> list[bytes]:
    """The record, where what was altered can be told as an event at all."""
    try:
        return forger.record()
    except ValueError:
        hypothesis.reject()


@hypothesis.settings(of_any, max_examples=150)
@hypothesis.given(forged())
def test_whatever_is_altered_is_found_by_the_rules_or_by_the_log(forgery: tuple[list[Event], Forger, int]) -> None:
    events, forger, first = forgery
    lines, log = lines_if_told(forger), Log(events)
    wrong = found(lines, proofs=[log.proof(events[-1])], key=KEY.public)
    assert wrong is not None
    assert wrong.line >= first or wrong.line == 1, wrong


@hypothesis.settings(of_any, max_examples=150)
@hypothesis.given(forged())
def test_of_another_game_that_is_possible_a_receipt_shows_the_first_event_that_differs(
    forgery: tuple[list[Event], Forger, int],
) -> None:
    events, forger, _ = forgery
    lines = lines_if_told(forger)
    altered = next(line for line, (old, new) in enumerate(zip(events, forger.events(), strict=True), 2) if old != new)
    wrong = found(lines, receipts=receipts_of(events))
    assert wrong is not None
    if wrong.check is Check.RECEIPTS:
        assert wrong.line == altered


def test_most_of_what_can_be_altered_is_found_by_the_rules_alone() -> None:
    by = Counter[bool]()

    @hypothesis.settings(of_any, max_examples=120, derandomize=True, database=None)
    @hypothesis.given(forged())
    def count(forgery: tuple[list[Event], Forger, int]) -> None:
        by[found(lines_if_told(forgery[1])) is not None] += 1

    count()
    assert by[True] > 2 * by[False] > 0, by
