"""The server is killed with -9 under load: what it had acknowledged stands, and what it had not is told by the key."""

from __future__ import annotations

from tests.faults.house import House, kill
from tests.faults.load import loaded

BETWEEN = 120
"""Commands that are acknowledged between two faults."""


async def test_a_server_killed_three_times_and_started_anew_loses_nothing(house: House) -> None:
    server = await house.serve()
    async with loaded([server.url], seed=1) as load:
        for _ in range(3):
            await load.until(acknowledged=BETWEEN)
            await kill(server)
            server = await house.serve()
            load.addresses[0] = server.url
        await load.until(acknowledged=BETWEEN)
    house.judge("server killed three times", load)
    assert load.histories.unknown > 0  # the kills came while commands were under way


async def test_of_two_servers_one_is_killed_and_the_clients_of_the_other_go_on(house: House) -> None:
    doomed, other = await house.serve(), await house.serve()
    async with loaded([doomed.url, other.url], seed=2) as load:
        await load.until(acknowledged=BETWEEN)
        await kill(doomed)
        load.addresses[:] = [other.url]
        await load.until(acknowledged=BETWEEN)
        load.addresses.append((await house.serve()).url)
        await load.until(acknowledged=BETWEEN)
    house.judge("one of two servers killed, then replaced", load)
