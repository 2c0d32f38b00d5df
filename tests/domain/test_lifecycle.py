"""What every game has: seats, deals, deadlines, an end and its revelation. G2, G3."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest

from domain.decider import Fact, RuleViolation, fold
from domain.lifecycle import (
    DeadlineExtended,
    Dealt,
    ExtendDeadline,
    GameFinished,
    GameOpened,
    Place,
    PlayerResigned,
    PlayerSeated,
    SeedsRevealed,
    Table,
    TimedOut,
    evolve,
    extended,
    in_time,
    order_of,
    reveal,
    still_open,
    time_out,
)
from tests.given import NOON, PLAYER, SEEDS

GUEST = UUID(int=11)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
OPENED = GameOpened(ruleset=1, host=PLAYER, deal=SEEDS.deal, commitment=SEEDS.commitment.hex())
SEATED = (PlayerSeated(seat=1, player=PLAYER), PlayerSeated(seat=2, player=GUEST))
DEALT = Dealt(number=1, entropies=("-", "-"))
FINISHED = GameFinished(ending="won", places=(Place(seat=1, place=1), Place(seat=2, place=2)))
REVEALED = SeedsRevealed(seeds=(SEEDS.seed(1).hex(),))


def after(*facts: Fact, table: Table | None = None) -> Table:
    return fold(evolve, table or Table(), facts)


def codes(refusals: Iterable[pytest.ExceptionInfo[RuleViolation]]) -> list[tuple[str, str]]:
    return [(refusal.value.code, refusal.value.ruling) for refusal in refusals]


def test_a_table_counts_the_facts_that_it_has_seen() -> None:
    assert after(OPENED, *SEATED, DEALT).version == 4


def test_an_opened_table_knows_how() -> None:
    assert after(OPENED).opened == OPENED


def test_players_sit_in_the_order_of_their_seats() -> None:
    table = after(OPENED, *SEATED)
    assert table.players == (PLAYER, GUEST)
    assert [table.seat_of(player) for player in (PLAYER, GUEST, UUID(int=12))] == [1, 2, 0]


def test_a_table_knows_how_many_deals_there_were() -> None:
    assert after(OPENED, DEALT, Dealt(number=2, entropies=("-",))).deals == 2


def test_a_finished_game_is_over_and_has_no_deadline() -> None:
    table = after(DeadlineExtended(deadline=NOON), FINISHED)
    assert table.over
    assert table.finished == FINISHED
    assert table.deadline is None


def test_a_game_that_goes_on_is_not_over() -> None:
    assert not after(OPENED, *SEATED, DEALT, PlayerResigned(seat=1)).over


def test_only_a_fact_with_a_time_changes_the_deadline() -> None:
    table = after(DeadlineExtended(deadline=NOON), PlayerResigned(seat=1), TimedOut(seat=1, deadline=NOON))
    assert table.deadline == NOON
    assert after(DeadlineExtended(deadline=None), table=table).deadline is None


def test_revealed_seeds_are_known_to_whoever_folded_without_them() -> None:
    table = after(OPENED, DEALT, FINISHED, REVEALED)
    assert table.revealed == REVEALED
    assert table.seeds == SEEDS


def test_a_table_that_had_its_seeds_keeps_them_when_they_are_revealed() -> None:
    assert after(OPENED, DEALT, FINISHED, REVEALED, table=Table(seeds=SEEDS)).seeds is SEEDS


def test_seeds_of_a_game_that_was_never_opened_belong_to_no_deal() -> None:
    assert after(REVEALED).seeds is None


def test_what_is_revealed_are_the_seeds_of_the_deals_that_were_dealt() -> None:
    assert reveal(after(OPENED, DEALT, table=Table(seeds=SEEDS))) == REVEALED
    assert reveal(after(OPENED, table=Table(seeds=SEEDS))) == SeedsRevealed(seeds=())


def test_a_table_without_seeds_can_reveal_none() -> None:
    with pytest.raises(LookupError, match="without its seeds"):
        reveal(after(OPENED, DEALT))


def test_the_order_of_a_deal_needs_its_seed() -> None:
    assert order_of(Table(), DEALT) is None
    assert order_of(Table(seeds=SEEDS), Dealt(number=2, entropies=("-",))) is None


def test_the_order_of_a_deal_depends_on_entropy_and_beacon() -> None:
    table = Table(seeds=SEEDS)
    deals = [DEALT, Dealt(number=1, entropies=("aa" * 32, "-")), Dealt(number=1, entropies=("-", "-"), beacon="b")]
    assert len({order_of(table, dealt) for dealt in deals}) == 3


def test_a_table_shows_no_seed_in_print() -> None:
    table = after(OPENED, DEALT, table=Table(seeds=SEEDS))
    assert SEEDS.seed(1).hex() not in repr(table)
    assert "seeds=" not in repr(table)


def test_a_game_that_is_over_takes_no_command() -> None:
    still_open(after(OPENED), "S9")
    with pytest.raises(RuleViolation) as refused:
        still_open(after(OPENED, FINISHED), "S9")
    assert codes([refused]) == [("GAME_OVER", "S9")]


def test_a_player_is_in_time_up_to_the_deadline_and_not_at_it() -> None:  # G2
    table = after(DeadlineExtended(deadline=NOON))
    in_time(table, NOON - timedelta(microseconds=1))
    with pytest.raises(RuleViolation) as refused:
        in_time(table, NOON)
    assert codes([refused]) == [("TIME_IS_UP", "G2")]


def test_a_table_without_a_deadline_has_all_the_time() -> None:
    in_time(after(OPENED), NOON + timedelta(days=36500))


def test_a_time_out_is_never_early() -> None:  # G2
    table = after(DeadlineExtended(deadline=NOON))
    with pytest.raises(RuleViolation) as early:
        time_out(table, NOON - timedelta(microseconds=1), seat=2)
    with pytest.raises(RuleViolation) as never:
        time_out(after(OPENED), NOON, seat=2)
    assert codes([early, never]) == [("TIME_IS_LEFT", "G2")] * 2
    assert time_out(table, NOON, seat=2) == TimedOut(seat=2, deadline=NOON)


def test_an_extension_counts_from_the_deadline_and_not_from_now() -> None:  # G2
    table = after(DeadlineExtended(deadline=NOON))
    assert extended(table, ExtendDeadline(seconds=90)) == DeadlineExtended(deadline=NOON + 90 * SECOND)


def test_where_no_time_runs_none_is_given_back() -> None:
    with pytest.raises(RuleViolation) as refused:
        extended(after(OPENED), ExtendDeadline(seconds=1))
    assert codes([refused]) == [("NO_DEADLINE", "G2")]


@pytest.mark.parametrize(
    "running", [None, NOON, NOON.astimezone(timezone(2 * HOUR))], ids=["whichever", "this one", "told elsewhere"]
)
def test_time_is_given_back_to_the_deadline_that_was_running(running: datetime | None) -> None:  # G2
    table = after(DeadlineExtended(deadline=NOON))
    given_back = extended(table, ExtendDeadline(seconds=90, deadline=running))
    assert given_back == DeadlineExtended(deadline=NOON + 90 * SECOND)


@pytest.mark.parametrize("running", [NOON - timedelta(microseconds=1), NOON + timedelta(microseconds=1)])
def test_no_time_is_given_back_to_another_deadline(running: datetime) -> None:  # G2
    with pytest.raises(RuleViolation) as refused:
        extended(after(DeadlineExtended(deadline=NOON)), ExtendDeadline(seconds=90, deadline=running))
    assert codes([refused]) == [("OTHER_DEADLINE", "G2")]


def test_no_deadline_is_extended_by_nothing_or_less() -> None:
    for seconds in (0, -1):
        with pytest.raises(ValueError, match="greater than or equal to 1"):
            ExtendDeadline(seconds=seconds)
