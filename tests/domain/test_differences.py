"""In what two facts differ, in words that name the place and both values."""

from __future__ import annotations

from domain.differences import difference, short
from domain.lifecycle import PlayerResigned, SeedsRevealed

SEED = "0" * 64


def test_a_field_is_named_with_what_stands_there_and_what_should() -> None:
    said = difference(PlayerResigned(seat=1), PlayerResigned(seat=2))
    assert said == "seat of game.PlayerResigned is 1, and by the rules it is 2"


def test_a_value_deep_inside_is_named_by_its_path() -> None:
    said = difference(SeedsRevealed(seeds=(SEED, SEED)), SeedsRevealed(seeds=(SEED, "1" * 64)))
    assert said.startswith('seeds[1] of game.SeedsRevealed is "000')


def test_another_fact_and_none_at_all_are_told_as_such() -> None:
    resigned = PlayerResigned(seat=1)
    assert "by the rules game.SeedsRevealed stands here" in difference(resigned, SeedsRevealed(seeds=(SEED,)))
    assert "does not follow" in difference(resigned, None)


def test_what_differs_behind_what_is_shown_is_told_by_its_size() -> None:
    said = difference(SeedsRevealed(seeds=(SEED,) * 8), SeedsRevealed(seeds=(SEED,) * 9))
    assert said.endswith("by the rules it is one of 9, where one of 8 stands")


def test_what_turns_the_writing_of_a_terminal_round_is_escaped() -> None:
    assert short("a\u202eb\x9b") == '"a\\u202eb\\u009b"'
