"""How long a token is trusted without asking the database."""

from __future__ import annotations

from typing import Any

import pytest

from api.accounts import TRUSTED_SECONDS, Accounts
from domain.storage import Datastore
from tests.api.clock import StandingClock


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def accounts(datastore: Datastore, clock: StandingClock) -> Accounts:
    return Accounts(datastore, clock=clock)


def test_a_token_is_trusted_for_a_while_after_it_was_looked_up(accounts: Accounts, clock: StandingClock) -> None:
    _, token = accounts.register("Ada")
    assert accounts.remembered(token) is None
    caller = accounts.authenticate(token)
    assert accounts.remembered(token) == caller
    clock.now += TRUSTED_SECONDS
    assert accounts.remembered(token) is None


def test_no_token_is_trusted_after_one_was_revoked(accounts: Accounts) -> None:
    _, token = accounts.register("Ada")
    caller = accounts.authenticate(token)
    assert caller is not None
    assert accounts.revoke(caller.token_id)
    assert accounts.remembered(token) is None


def test_a_token_that_is_revoked_while_it_is_looked_up_is_not_trusted(
    accounts: Accounts, datastore: Datastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, token = accounts.register("Ada")
    read = datastore.read

    def answered_late(*arguments: Any, **more: Any) -> Any:
        rows = read(*arguments, **more)
        accounts.forget()  # the notice of a revocation comes before the answer that is older
        return rows

    monkeypatch.setattr(datastore, "read", answered_late)
    assert accounts.authenticate(token) is not None
    assert accounts.remembered(token) is None


def test_revoking_what_is_not_there_makes_nobody_ask_again(accounts: Accounts) -> None:
    _, token = accounts.register("Ada")
    accounts.authenticate(token)
    assert not accounts.revoke("0" * 16)
    assert accounts.remembered(token) is not None
