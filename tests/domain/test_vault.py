"""The sealed seeds and the server's keys."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest

from domain import vault as vault_module
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


def test_what_can_not_be_opened_does_not_keep_the_rest_from_being_sealed_anew(
    vault: Vault, datastore: Datastore, database_url: str
) -> None:
    for deal in range(1, 8):
        vault.draw(UUID(int=deal), 1)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE sealed_seeds SET key_id = 'lost' WHERE deal = ANY(%s)", ([UUID(int=2), UUID(int=3)],)
        )
        connection.execute("UPDATE sealed_seeds SET sealed = sealed || '\\x00' WHERE deal = %s", (UUID(int=5),))
    rotated = Vault(datastore, vault.keyring.rotated())
    rotated.reseal(lambda _: None, batch=2)
    assert rotated.sealed_by([key.id for key in rotated.keyring.keys]) == {
        rotated.keyring.current.id: 4,
        vault.keyring.current.id: 1,
    }
    assert rotated.lost() == {"lost": 2}


def test_keys_of_another_database_open_nothing_and_the_missing_one_is_named(vault: Vault, datastore: Datastore) -> None:
    vault.draw(uuid4(), 1)
    with pytest.raises(SealError, match=f"sealed by key {vault.keyring.current.id}; this server has"):
        Vault(datastore, Keyring([ServerKey.generate()])).must_open_some()


def test_any_keys_do_where_nothing_is_sealed_yet(vault: Vault) -> None:
    vault.must_open_some()
    assert vault.lost() == {}


def test_keys_that_open_a_part_will_do_and_the_rest_is_counted(vault: Vault, datastore: Datastore) -> None:
    rotated = Vault(datastore, vault.keyring.rotated())
    for sealing in (vault, vault, rotated):
        sealing.draw(uuid4(), 1)
    without = Vault(datastore, rotated.keyring.without([vault.keyring.current.id]))
    without.must_open_some()
    assert without.lost() == {vault.keyring.current.id: 2}


def test_which_keys_are_in_use_is_not_asked_of_every_seed(vault: Vault, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO sealed_seeds (deal, deals, key_id, sealed)"
            " SELECT gen_random_uuid(), 1, %s, '' FROM generate_series(1, 5000)",
            (vault.keyring.current.id,),
        )
        connection.execute("ANALYZE sealed_seeds")
        plan = connection.execute(f"EXPLAIN {vault_module._KEYS}").fetchall()
    assert not any("Seq Scan" in line for (line,) in plan)


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
