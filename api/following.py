"""Following the log in a process of its own, beside servers that do not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, closing

from prometheus_client import Metric

from api import readings
from api.database import prepare
from api.health import Bounds, Pulse
from api.log_commands import UNSIGNED, signing_of
from api.metrics import Metrics
from api.monitoring import monitored
from api.settings import Settings
from api.signing import Signer
from domain.storage import CHANNEL, Datastore
from projections.hints import Hints
from projections.models import PROJECTIONS
from projections.runner import Follower, make_tables

__all__ = ["follow_until_stopped"]


def follow_until_stopped(settings: Settings, url: str, *, tell: Callable[[str], None]) -> None:
    """Keep all read models up with the log, and sign it where there is a key for that, until the program is ended.

    Args:
        settings: the address of the metrics, what is signed with, and when this is said to lag.
        url: of the database.
        tell: is given what a person at the terminal is to know.
    """
    with closing(Datastore(url, connections=len(PROJECTIONS) + 3)) as datastore:
        signing, hints, stop = signing_of(settings), Hints(url), threading.Event()
        prepare(datastore)
        make_tables(datastore, PROJECTIONS.values())
        followers = [Follower(datastore, projection) for projection in PROJECTIONS.values()]
        for follower in followers:
            hints.on(CHANNEL, follower.wake)
        running = [follower.run for follower in followers]
        signer = Signer(datastore, *signing) if signing is not None else None
        if signer is not None:
            running.append(signer.run)
        bounds = Bounds(settings.ready_lag_seconds, settings.ready_lag_events)
        pulse = Pulse(datastore, PROJECTIONS.values(), bounds=bounds) if settings.metrics_port is not None else None
        if pulse is not None:
            pulse.look()
            running.append(pulse.run)
        threads = [threading.Thread(target=run, args=(stop,)) for run in running]
        try:
            for thread in threads:
                thread.start()
            tell(f"Following the log for {', '.join(PROJECTIONS)}. Stop it with Ctrl-C.")
            if signing is None:
                tell(UNSIGNED)
            asyncio.run(_followed(hints, settings, pulse, lambda seen: readings.following(seen, datastore, signer)))
        finally:
            stop.set()
            for thread in threads:
                if thread.is_alive():
                    thread.join()


async def _followed(
    hints: Hints, settings: Settings, pulse: Pulse | None, read: Callable[[Pulse], Iterable[Metric]]
) -> None:
    async with AsyncExitStack() as stack:
        if pulse is not None:
            metrics = Metrics()
            metrics.add(lambda: read(pulse))
            host, port = settings.metrics_host, settings.metrics_port or 0
            await stack.enter_async_context(monitored(metrics, lambda: pulse, host=host, port=port))
        await hints.run()
