"""A server of one worker with one mutation more: the same answer as a move's, from a canned view, doing nothing.

python -m benchmarks.server URL KEYFILE PORT
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID

import strawberry
import uvicorn

from api.accounts import Scope
from api.app import create_app
from api.collector import settle_collector
from api.context import Info
from api.games import CommandAccepted, CommandResult, MoveInput, answer_of
from api.listening import uvicorn_options
from api.logs import configure_logs
from api.schema import build_schema
from api.settings import LogFormat, Settings
from domain.application import Games, Outcome
from domain.ticitaire.rules import OpenTicitaire, TurnStock
from domain.vault import Keyring

_canned: dict[str, Outcome] = {}


def _turned(games: Games, player: UUID) -> Outcome:
    """Turn half of a stock: the answer is as long as that of a game under way is on the average."""
    outcome = games.open("ticitaire", OpenTicitaire(player=player), player=player, key=None)
    for _ in range(35):
        outcome = games.handle(
            outcome.game.id, lambda seat: TurnStock(seat=seat), player=player, expected_version=None, key=None
        )
    return outcome


@strawberry.type
class EmptyMutation:
    @strawberry.mutation(  # type: ignore[untyped-decorator]
        description="Answer as turnTicitaireStock does, from a canned view."
    )
    async def empty_turn(
        self, info: Info, input: Annotated[MoveInput, strawberry.argument(description="The request.")]
    ) -> CommandResult:
        caller, _ = info.context.must_have(Scope.PLAY), input
        outcome = _canned.get("turn")
        if outcome is None:
            games, player = info.context.world.games, caller.player
            outcome = _canned["turn"] = await info.context.world.blocking(lambda: _turned(games, player))
        accepted: CommandAccepted = answer_of(info, outcome)
        return accepted


def main() -> None:
    url, key_file, port = sys.argv[1:]
    configure_logs(LogFormat.JSON)
    keyring = Keyring.parse(Path(key_file).read_text(encoding="ascii"))
    app = create_app(Settings(), url, keyring, build_schema(EmptyMutation))
    settle_collector()
    uvicorn.run(app, port=int(port), log_level="warning", lifespan="on", **uvicorn_options())


if __name__ == "__main__":
    main()
