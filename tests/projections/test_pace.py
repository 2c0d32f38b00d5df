"""How often the log is looked at."""

from __future__ import annotations

from projections.pace import Pace


def test_while_nothing_comes_the_pauses_double_up_to_a_second() -> None:
    pace = Pace()
    pauses = [pace.next(found=False) for _ in range(9)]
    assert pauses == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0, 1.0]


def test_under_load_every_pause_is_the_shortest() -> None:
    pace = Pace()
    assert [pace.next(found=True) for _ in range(3)] == [0.02, 0.02, 0.02]


def test_after_a_find_the_pauses_begin_anew() -> None:
    pace = Pace()
    pauses = [pace.next(found) for found in (False, False, False, True, False)]
    assert pauses == [0.02, 0.04, 0.08, 0.02, 0.04]
