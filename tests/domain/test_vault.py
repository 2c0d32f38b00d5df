"""The sealed seeds and the server's keys."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest

from domain.storage import Datastore
from domain.vault import Keyring, SealError, ServerKey, Vault


def test_a_deal_keeps_the_seed_that_was_drawn_first(vault: Vault) -> None:
    deal = uuid4()
    assert vault.draw(deal, 3) == vault.draw(deal, 3) == vault.open(deal)


def test_two_deals_have_different_seeds(vault: Vault) -> None:
    assert vault.draw(uuid4(), 1).seed(1) != vault.draw(uuid4(), 1).seed(1)


def test_a_deal_that_was_not_drawn_has_no_seed(vault: Vault) -> None:
    with pytest.raises(SealError, match="no sealed seed"):
        vault.open(uuid4())


def test_another_key_does_not_open_a_seal_and_the_error_names_the_key_that_is_missing(
    vault: Vault, datastore: Datastore
) -> None:
    deal = uuid4()
    vault.draw(deal, 1)
    with pytest.raises(SealError, match=f"sealed by key {vault.keyring.current.id}"):
        Vault(datastore, Keyring([ServerKey.generate()])).open(deal)


@pytest.mark.parametrize(
    "altered", ["sealed = sealed || '\\x00'", "deals = 2", "sealed = set_byte(sealed, 20, 255 - get_byte(sealed, 20))"]
)
def test_an_altered_row_breaks_the_seal(vault: Vault, database_url: str, altered: str) -> None:
    deal = uuid4()
    vault.draw(deal, 1)
    with psycopg.connect(database_url) as connection:
        connection.execute(f"UPDATE sealed_seeds SET {altered}")
    with pytest.raises(SealError, match="broken"):
        vault.open(deal)


def test_a_seal_does_not_fit_another_deal(vault: Vault, database_url: str) -> None:
    vault.draw(UUID(int=1), 1)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE sealed_seeds SET deal = %s", (UUID(int=2),))
    with pytest.raises(SealError, match="broken"):
        vault.open(UUID(int=2))


def test_after_a_rotation_old_seals_open_and_new_ones_use_the_new_key(vault: Vault, datastore: Datastore) -> None:
    deal = uuid4()
    seeds = vault.draw(deal, 1)
    rotated = Vault(datastore, vault.keyring.rotated())
    assert rotated.open(deal) == seeds
    assert rotated.to_reseal() == 1


def test_resealing_lets_the_old_key_go(vault: Vault, datastore: Datastore) -> None:
    deals = [uuid4() for _ in range(5)]
    seeds = [vault.draw(deal, 2) for deal in deals]
    rotated, told = Vault(datastore, vault.keyring.rotated()), list[int]()
    rotated.reseal(told.append, batch=2)
    assert sum(told) == 5
    pruned = Vault(datastore, Keyring([rotated.keyring.current]))
    assert [pruned.open(deal) for deal in deals] == seeds


def test_a_key_file_is_read_as_it_was_written() -> None:
    keyring = Keyring([ServerKey.generate()]).rotated()
    again = Keyring.parse("# the current one first\n\n" + keyring.write())
    assert [key.id for key in again.keys] == [key.id for key in keyring.keys]


@pytest.mark.parametrize("text", ["", "# nothing\n", "not base64!\n", "c2hvcnQ=\n"])
def test_a_key_file_without_a_key_is_refused(text: str) -> None:
    with pytest.raises(SealError):
        Keyring.parse(text)


def test_no_repr_and_no_error_shows_a_key() -> None:
    key = ServerKey.generate()
    keyring = Keyring([key])
    assert key.write().strip() not in repr(key) + repr(keyring)
    with pytest.raises(SealError) as refused:
        ServerKey.parse(key.write()[:-4])
    assert key.write()[:8] not in str(refused.value)
