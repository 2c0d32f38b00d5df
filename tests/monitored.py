"""A server with metrics, and what they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from api.app import create_app
from api.settings import Settings
from tests.conftest import KEYRING

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


@dataclass(frozen=True)
class Monitored:
    """A server that shows its metrics, and the address at which it does."""

    app: Starlette
    at: str

    async def get(self, path: str, **headers: str) -> httpx.Response:
        async with httpx.AsyncClient(base_url=f"http://{self.at}", trust_env=False) as http:
            return await http.get(path, headers=headers)

    async def samples(self) -> Samples:
        """All metrics as they are now, by name and labels."""
        text = (await self.get("/metrics")).text
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    async def value(self, name: str, **labels: str) -> float | None:
        """One metric as it is now."""
        return (await self.samples()).get((name, frozenset(labels.items())))

    async def holds(self, is_so: Callable[[float | None], bool], name: str, **labels: str) -> None:
        """Wait until something is so of a metric."""
        async with asyncio.timeout(20):
            while not is_so(await self.value(name, **labels)):  # noqa: ASYNC110 - it is looked up over the network
                await asyncio.sleep(0.01)


@asynccontextmanager
async def monitored(url: str, signing: Any = None, **settings: Any) -> AsyncIterator[Monitored]:
    """A server with metrics, started, on the database at ``url``."""
    app = create_app(Settings(metrics_port=0, **settings), url, KEYRING, signing=signing)
    async with app.router.lifespan_context(app):
        yield Monitored(app, app.state.monitored_at())
