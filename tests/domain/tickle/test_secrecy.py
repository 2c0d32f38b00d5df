"""Nothing that a viewer receives tells of a card that it does not know, and a leak in any channel would be found."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

import hypothesis
import pytest

from domain.cards import HIDDEN, Card
from domain.dealing import Seeds
from domain.decider import PUBLIC, Command, Fact, OpenCommand, RuleViolation, Viewer, fold
from domain.seating import invitation
from domain.tables import Join, Seating
from domain.tickle.facts import CardDrawn, DeckPart, HandRefilled, LaydownPlayed, Options, TurnPassed
from domain.tickle.hints import Hints
from domain.tickle.rules import TICKLE, DrawCard, LayDown, OpenTickle
from domain.tickle.table import TickleTable
from domain.tickle.views import TickleView
from domain.turns import TurnBegan
from tests.domain.tickle.players import PLAYERS, Course, Played, Style, games, play
from tests.domain.tickle.secrecy import CHANNELS, Channels, differing, hidden_positions, hints, other_worlds
from tests.given import SEEDS, given

HALF = Options(deck=DeckPart.HALF, turn_seconds=60)
WHOLE_GAME = play(random.Random(62), options=HALF, players=3, styles=(Style.WELL, Style.SLOWLY))


@cache
def midgame() -> TickleTable:
    """Seat 2 has the turn and can lay cards; its hand is then refilled."""
    laydowns = (step for step in WHOLE_GAME.steps[30:] if isinstance(step.command, LayDown) and step.before.turn == 2)
    return next(step.before for step in laydowns if isinstance(step.facts[1], HandRefilled))


SEAT_1, SEAT_2 = Viewer(seat=1, player=PLAYERS[0]), Viewer(seat=2, player=PLAYERS[1])
STRANGER = Viewer(player=PLAYERS[5])
VIEWERS = pytest.mark.parametrize(
    "viewer", [PUBLIC, STRANGER, SEAT_1, SEAT_2], ids=["the public", "a stranger", "seat 1", "seat 2"]
)


def hidden(table: TickleTable, viewer: Viewer) -> Card:
    """A card of another seat, or the next of the deck: the secret that the planted leaks tell of."""
    assert table.deck is not None
    return table.deck[hidden_positions(table, viewer)[0]]


@VIEWERS
@hypothesis.settings(deadline=None, max_examples=4, suppress_health_check=[hypothesis.HealthCheck.too_slow])
@hypothesis.given(games((Course.LEFT, Course.TO_THE_END)))
def test_two_worlds_that_differ_in_hidden_cards_only_look_the_same(viewer: Viewer, played: Played) -> None:
    dealt = [step.before for step in played.steps if step.before.dealt is not None]
    for table in [*dealt[:: 1 + len(dealt) // 4], *dealt[-2:]]:
        assert differing(table, viewer, Channels(), worlds=2) == set()


@VIEWERS
def test_the_end_of_a_game_tells_of_hands_only_what_it_is_there_to_tell(viewer: Viewer) -> None:
    empty = [step.before for step in WHOLE_GAME.steps if step.before.dealt is not None and not step.before.left]
    assert len(empty) > 2
    for table in empty:
        assert differing(table, viewer, Channels(), worlds=4) == set()


@VIEWERS
def test_the_table_of_the_planted_leaks_has_none_without_them(viewer: Viewer) -> None:
    assert differing(midgame(), viewer, Channels(), worlds=4) == set()


@VIEWERS
def test_the_other_worlds_have_other_hidden_cards_and_the_same_facts(viewer: Viewer) -> None:
    here = midgame()
    assert here.deck is not None
    secret = set(hidden_positions(here, viewer))
    for other in other_worlds(here, viewer, 8):
        assert other.deck is not None
        assert {at for at in range(125) if other.deck[at] != here.deck[at]} == secret
        assert sorted(other.deck) == sorted(here.deck)
        assert (other.grid, other.got, other.held, other.points) == (here.grid, here.got, here.held, here.points)
        if viewer.seat:
            assert other.hand(viewer.seat) == here.hand(viewer.seat)


def test_facts_of_laydowns_draws_and_time_outs_are_compared() -> None:
    received = Channels().received(midgame(), SEAT_2)
    assert any("tickle.LaydownPlayed" in facts for facts in received["facts"].values())
    assert any("game.TimedOut" in facts for facts in received["facts"].values())
    drawing = next(step.before for step in WHOLE_GAME.steps if isinstance(step.command, DrawCard))
    drawn = Channels().received(drawing, Viewer(seat=drawing.turn))
    assert any("tickle.CardDrawn" in facts for facts in drawn["facts"].values())


@pytest.mark.parametrize("private", [False, True], ids=["a public table", "a private table"])
@VIEWERS
def test_before_the_deal_nothing_tells_of_the_seeds(viewer: Viewer, private: bool) -> None:
    options = Options(seating=Seating.AS_JOINED, private=private)
    table = given(decider=TICKLE).when(OpenTickle(player=PLAYERS[0], options=options)).after
    code = invitation(SEEDS)
    table = given(table=table, decider=TICKLE).when(Join(player=PLAYERS[1], code=code)).after
    other = replace(table, seeds=Seeds(SEEDS.deal, [SEEDS.commitment, bytes(32)]))
    looking = replace(viewer, seat=0)
    assert Channels().received(table, looking) == Channels().received(other, looking)


# A leak in every channel


def shows_a_card_of_another_hand(table: TickleTable, viewer: Viewer) -> TickleView:
    shown = TICKLE.view(table, viewer)
    other = shown.seats[2]
    return replace(shown, seats=(*shown.seats[:2], replace(other, hand=(table.hand(3)[0], *other.hand[1:]))))


def shows_every_hand(table: TickleTable, viewer: Viewer) -> TickleView:
    return TICKLE.view(table, replace(viewer, everything=True))


def counts_the_fives_of_the_deck(table: TickleTable, viewer: Viewer) -> TickleView:
    fives = sum(table.card(at).number == 5 for at in range(table.next, table.end))
    return replace(TICKLE.view(table, viewer), set_aside=(HIDDEN,) * fives)


def shows_the_deck_in_its_order(table: TickleTable, viewer: Viewer) -> TickleView:
    return replace(TICKLE.view(table, viewer), deck=tuple(map(table.card, range(table.next, table.end))))


def shows_the_last_card_of_the_deck(table: TickleTable, viewer: Viewer) -> TickleView:
    shown = TICKLE.view(table, viewer)
    return replace(shown, deck=(*shown.deck[:-1], table.card(table.end - 1)))


def shows_what_is_set_aside_sorted(table: TickleTable, viewer: Viewer) -> TickleView:
    return replace(TICKLE.view(table, viewer), set_aside=tuple(sorted(map(table.card, range(table.end, 125)))))


def orders_the_seats_by_their_hands(table: TickleTable, viewer: Viewer) -> TickleView:
    shown = TICKLE.view(table, viewer)
    return replace(shown, seats=tuple(sorted(shown.seats, key=lambda seat: table.hand(seat.seat)[0])))


def is_shorter_by_what_another_holds(table: TickleTable, viewer: Viewer) -> TickleView:
    shown = TICKLE.view(table, viewer)
    return replace(shown, grid=shown.grid[hidden(table, viewer).colour % 2 :])


def has_the_next_card_as_drawn(table: TickleTable, viewer: Viewer) -> TickleView:
    return replace(TICKLE.view(table, viewer), drawn=table.card(table.next))


def offers_a_draw_where_another_could_lay(table: TickleTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    more = (DrawCard(seat=viewer.seat),) * (hidden(table, viewer).number > 2)
    return *TICKLE.legal_commands(table, viewer), *more


def leaves_an_action_out(table: TickleTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    return TICKLE.legal_commands(table, viewer)[hidden(table, viewer).shape % 2 :]


def turns_the_order_of_actions(table: TickleTable, viewer: Viewer) -> tuple[OpenCommand, ...]:
    return TICKLE.legal_commands(table, viewer)[:: 1 if hidden(table, viewer).number > 3 else -1]


Deciding = Callable[[Command, TickleTable, datetime], tuple[Fact, ...]]


def refusing(change: Callable[[RuleViolation, Command, TickleTable], RuleViolation]) -> Deciding:
    def decide(command: Command, table: TickleTable, at: datetime) -> tuple[Fact, ...]:
        try:
            return TICKLE.decide(command, table, at)
        except RuleViolation as refused:
            raise change(refused, command, table) from None

    return decide


def says_where_the_card_is(refused: RuleViolation, command: Command, table: TickleTable) -> RuleViolation:
    """The message tells whether another seat holds the card."""
    named = {laid.card for laid in command.cards} if isinstance(command, LayDown) else set()
    message = f"{refused.message} Seat 3 has it." if named & set(table.hand(3)) else refused.message
    return RuleViolation(refused.code, refused.ruling, message, refused.reasons)


def has_a_code_for_cards_of_the_deck(refused: RuleViolation, command: Command, table: TickleTable) -> RuleViolation:
    named = {laid.card for laid in command.cards} if isinstance(command, LayDown) else set()
    there = named & {table.card(at) for at in range(table.next, table.end)}
    return RuleViolation("CARD_IN_DECK" if there else refused.code, refused.ruling, refused.message, refused.reasons)


def has_a_code_for_cards_set_aside(refused: RuleViolation, command: Command, table: TickleTable) -> RuleViolation:
    named = {laid.card for laid in command.cards} if isinstance(command, LayDown) else set()
    there = named & {table.card(at) for at in range(table.end, 125)}
    return RuleViolation(refused.code, "K15" if there else refused.ruling, refused.message, refused.reasons)


def gives_fewer_reasons(refused: RuleViolation, command: Command, table: TickleTable) -> RuleViolation:
    """Reasons that are told one by one only where the first card is in no other hand."""
    named = command.cards[0].card if isinstance(command, LayDown) and command.cards else None
    reasons = refused.reasons[:1] if named in table.hand(3) else refused.reasons
    return RuleViolation(refused.code, refused.ruling, refused.message, reasons)


def refuses_an_extension_by_a_hand(command: Command, table: TickleTable, at: datetime) -> tuple[Fact, ...]:
    if command.name == "game.ExtendDeadline" and table.hand(3)[0].number < 4:
        raise RuleViolation("NOT_WORTH_IT", "G2", "Better not.")
    return TICKLE.decide(command, table, at)


Changing = Callable[[tuple[Fact, ...], TickleTable], tuple[Fact, ...]]


def telling(change: Changing) -> Deciding:
    return lambda command, table, at: change(TICKLE.decide(command, table, at), table)


def names_the_cards_of_a_refill(facts: tuple[Fact, ...], table: TickleTable) -> tuple[Fact, ...]:
    value = table.card(table.next).value
    return tuple(fact.model_copy(update={"cards": value}) if isinstance(fact, HandRefilled) else fact for fact in facts)


def stores_one_fact_more(facts: tuple[Fact, ...], table: TickleTable) -> tuple[Fact, ...]:
    return facts * (1 + table.hand(3)[0].number % 2)


def turns_the_order_of_facts(facts: tuple[Fact, ...], table: TickleTable) -> tuple[Fact, ...]:
    return facts[:: 1 if table.hand(3)[0].colour > 2 else -1]


def passes_a_seat_that_can_lay_nothing(facts: tuple[Fact, ...], table: TickleTable) -> tuple[Fact, ...]:
    """A turn is passed while the deck has cards, which tells of a hand before its time."""
    if isinstance(facts[-1], TurnBegan) and table.hand(3)[0].number < 4:
        return *facts[:-1], TurnPassed(seat=facts[-1].seat, round=facts[-1].round), facts[-1]
    return facts


def draws_where_none_is_due(facts: tuple[Fact, ...], table: TickleTable) -> tuple[Fact, ...]:
    """A time-out draws a card, though the seat could lay cards."""
    if facts[0].topic == "game.TimedOut" and table.hand(3)[0].number < 4:
        return facts[0], CardDrawn(seat=table.turn), *facts[1:]
    return facts


def scores_what_is_held(facts: tuple[Fact, ...], table: TickleTable) -> tuple[Fact, ...]:
    def scored(fact: LaydownPlayed) -> LaydownPlayed:
        total = fact.score.total + table.hand(3)[0].value
        return fact.model_copy(update={"score": fact.score.model_copy(update={"total": total})})

    return tuple(scored(fact) if isinstance(fact, LaydownPlayed) else fact for fact in facts)


def came_with_the_next(table: TickleTable, seat: int, version: int) -> tuple[Card, ...]:
    came = TICKLE.came_to(table, seat, version)
    return (*came, table.card(table.next)) if came else came


def came_to_any_seat(table: TickleTable, seat: int, version: int) -> tuple[Card, ...]:
    return tuple(card for other in (1, 2, 3) for card in TICKLE.came_to(table, other, version))


def hints_at_what_comes(table: TickleTable, viewer: Viewer) -> Hints | None:
    hinted = hints(table, viewer)
    return hinted and hinted._replace(laydowns=hinted.laydowns[: table.card(table.next).number])


def hints_for_another(table: TickleTable, viewer: Viewer) -> Hints | None:
    return hints(table, Viewer(seat=3))


def decider(**changes: Any) -> Channels:
    return Channels(decider=replace(TICKLE, **changes))


LEAKS: Sequence[tuple[str, Channels, str]] = [
    ("a view that shows a card of another hand", decider(view=shows_a_card_of_another_hand), "view"),
    ("a view that shows every hand", decider(view=shows_every_hand), "view"),
    ("a view that counts hidden cards", decider(view=counts_the_fives_of_the_deck), "view"),
    ("a view of the deck's next card", decider(view=has_the_next_card_as_drawn), "view"),
    ("a view of the deck's last card", decider(view=shows_the_last_card_of_the_deck), "view"),
    ("a view of the deck in its order", decider(view=shows_the_deck_in_its_order), "view"),
    ("a view of the cards that are set aside", decider(view=shows_what_is_set_aside_sorted), "view"),
    ("the order in a view", decider(view=orders_the_seats_by_their_hands), "view"),
    ("the length of a view", decider(view=is_shorter_by_what_another_holds), "view"),
    ("an action more", decider(legal_commands=offers_a_draw_where_another_could_lay), "legal commands"),
    ("an action that is left out", decider(legal_commands=leaves_an_action_out), "legal commands"),
    ("the order of actions", decider(legal_commands=turns_the_order_of_actions), "legal commands"),
    ("the sentence of a refusal", decider(decide=refusing(says_where_the_card_is)), "refusals"),
    ("the code of a refusal", decider(decide=refusing(has_a_code_for_cards_of_the_deck)), "refusals"),
    ("the ruling of a refusal", decider(decide=refusing(has_a_code_for_cards_set_aside)), "refusals"),
    ("the number of reasons", decider(decide=refusing(gives_fewer_reasons)), "refusals"),
    ("a refusal as such", decider(decide=refuses_an_extension_by_a_hand), "refusals"),
    ("a fact that tells of a hidden card", decider(decide=telling(names_the_cards_of_a_refill)), "facts"),
    ("the number of facts", decider(decide=telling(stores_one_fact_more)), "facts"),
    ("the order of facts", decider(decide=telling(turns_the_order_of_facts)), "facts"),
    ("a turn passed before the deck is empty", decider(decide=telling(passes_a_seat_that_can_lay_nothing)), "facts"),
    ("a draw that is not due", decider(decide=telling(draws_where_none_is_due)), "facts"),
    ("a score of cards that are held", decider(decide=telling(scores_what_is_held)), "facts"),
    ("the next card among those that came", decider(came_to=came_with_the_next), "cards that came"),
    ("cards that came to others", decider(came_to=came_to_any_seat), "cards that came"),
    ("hints by what comes next", Channels(hints=hints_at_what_comes), "hints"),
    ("hints for another hand", Channels(hints=hints_for_another), "hints"),
]


@pytest.mark.parametrize(("leak", "channels", "channel"), LEAKS, ids=[leak for leak, _, _ in LEAKS])
def test_a_planted_leak_is_found(leak: str, channels: Channels, channel: str) -> None:
    assert channel in differing(midgame(), SEAT_2, channels, worlds=4)


def test_there_is_a_leak_planted_in_every_channel() -> None:
    assert {channel for _, _, channel in LEAKS} == set(CHANNELS)


def test_a_fact_of_another_seat_that_tells_of_its_hand_is_found() -> None:
    leak = decider(decide=telling(scores_what_is_held))
    assert "facts" in differing(midgame(), SEAT_1, leak, worlds=4)
    assert "facts" in differing(midgame(), PUBLIC, leak, worlds=4)


# What is told is no secret


def test_a_seat_sees_its_own_hand_and_the_public_none() -> None:
    table = midgame()
    own = TICKLE.view(table, SEAT_2)
    assert [card in table.hand(2) for card in own.seats[1].hand] == [True] * table.held[1]
    assert not [card for seat in TICKLE.view(table, PUBLIC).seats for card in seat.hand if isinstance(card, Card)]
    assert not [card for seat in (own.seats[0], own.seats[2]) for card in seat.hand if isinstance(card, Card)]


def test_a_drawn_card_is_shown_to_its_seat_alone() -> None:
    drawn = next(step.after for step in WHOLE_GAME.steps if isinstance(step.command, DrawCard))
    assert drawn.drawn is not None
    for seat in (1, 2, 3):
        shown = TICKLE.view(drawn, Viewer(seat=seat)).drawn
        assert (shown == drawn.card(drawn.drawn)) == (seat == drawn.turn)


def test_a_table_in_print_shows_neither_its_deck_nor_a_seed_nor_a_hand() -> None:
    table = midgame()
    shown = repr(table)
    assert "deck=(" not in shown
    assert WHOLE_GAME.seeds.seed(1).hex() not in shown
    assert not [card for seat in (1, 2, 3) for card in table.hand(seat) if repr(card) in shown or str(card) in shown]


def test_a_card_that_is_laid_is_shown_from_then_on() -> None:
    at, laid = next((at, fact) for at, fact in enumerate(WHOLE_GAME.facts) if isinstance(fact, LaydownPlayed))
    before, after = (fold(TICKLE.evolve, TICKLE.empty(None), WHOLE_GAME.facts[:end]) for end in (at, at + 1))
    for card in laid.cards:
        assert repr(card.card) not in repr(TICKLE.view(before, PUBLIC))
        assert repr(card.card) in repr(TICKLE.view(after, PUBLIC))
