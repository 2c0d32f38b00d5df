"""What is measured elsewhere in the server, read when the metrics are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from psycopg_pool import ConnectionPool

from api.context import World
from api.health import Pulse
from api.signing import Signer
from api.timekeeper import Timekeeper
from domain.storage import Datastore

__all__ = ["following", "serving"]


def _gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(name, told, value=value)


def following(pulse: Pulse, datastore: Datastore, signer: Signer | None) -> Iterator[Metric]:
    """Yield what everyone has who follows the log: where it is, and how the connections are used."""
    yield from _log(pulse, signer)
    yield from _database(datastore.pool)


def _log(pulse: Pulse, signer: Signer | None) -> Iterator[Metric]:
    """Yield where the log is, how far behind it who follows it, and what is signed."""
    look = pulse.last
    yield _gauge("tic_database_answers", "Whether the database has answered within seconds.", float(pulse.answers))
    if look is not None:
        yield _gauge("tic_database_answer_seconds", "How long the database took to answer last.", look.seconds)
        yield _gauge("tic_database_read_only", "Whether the database takes no writes.", float(look.is_read_only))
        yield _gauge("tic_log_position", "The position of the newest event in the log.", look.log_end)
        events = GaugeMetricFamily("tic_follower_lag_events", "Events that a read model lacks.", labels=["follower"])
        seconds = GaugeMetricFamily(
            "tic_follower_lag_seconds", "How long ago there was an event that a read model lacks.", labels=["follower"]
        )
        for name, behind in look.behind.items():
            if behind is not None:
                events.add_metric([name], behind.events)
                seconds.add_metric([name], behind.seconds)
        yield events
        yield seconds
        if look.signed is not None:
            size, at = look.signed
            yield _gauge("tic_checkpoint_size", "Events of which the newest checkpoint tells.", size)
            yield _gauge("tic_checkpoint_timestamp_seconds", "When the newest checkpoint was signed.", at)
    if signer is not None:
        refuses = signer.refusal is not None
        yield _gauge("tic_signer_refuses", "Whether this server's signer refuses to sign.", float(refuses))


def _database(pool: ConnectionPool[Any]) -> Iterator[Metric]:
    """Yield how the connections to the database are used."""
    stats: Final = pool.get_stats()
    size, idle = stats.get("pool_size", 0), stats.get("pool_available", 0)
    connections = GaugeMetricFamily(
        "tic_database_connections", "Connections to the database, of the pool.", labels=["state"]
    )
    connections.add_metric(["idle"], idle)
    connections.add_metric(["used"], size - idle)
    yield connections
    yield _gauge("tic_database_connections_limit", "Connections that the pool may have.", stats.get("pool_max", 0))
    yield _gauge(
        "tic_database_connection_waiters", "Threads that wait for a connection.", stats.get("requests_waiting", 0)
    )
    for name, told, key, unit in (
        ("requests", "Times that a connection was asked for.", "requests_num", 1.0),
        ("waits", "Times that a connection had to be waited for.", "requests_queued", 1.0),
        ("wait_seconds", "Time that connections were waited for.", "requests_wait_ms", 0.001),
        ("failures", "Times that no connection could be had in time.", "requests_errors", 1.0),
    ):
        yield CounterMetricFamily(f"tic_database_connection_{name}", told, value=stats.get(key, 0) * unit)


def serving(world: World, timekeeper: Timekeeper) -> Iterator[Metric]:
    """Yield what a server has on its hands."""
    yield _gauge("tic_commands_waiting", "Commands that wait for the batch at work.", world.games.waiting)
    yield _gauge("tic_calls", "Calls that read, in threads or waiting for one.", world.calls)
    yield _gauge("tic_threads", "Threads for such calls.", world.threads)
    yield _gauge(
        "tic_timekeeper_timestamp_seconds",
        "When the timekeeper was last done with all that had run out of time.",
        timekeeper.kept_at,
    )
    yield _gauge("tic_timekeeper_games_set_aside", "Games whose time can't be kept here.", timekeeper.set_aside)
