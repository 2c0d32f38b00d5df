"""A server of one worker with one mutation more: the same answer as a move's, from a canned view, doing nothing.

python -m benchmarks.server URL KEYFILE PORT
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import strawberry
import uvicorn

from api.accounts import Scope
from api.app import create_app
from api.collector import settle_collector
from api.context import Info
from api.games import CommandAccepted, CommandResult, MoveInput, answer_of
from api.logs import configure_logs
from api.schema import build_schema
from api.settings import LogFormat, Settings
from domain.application import Outcome
from domain.ticitaire.rules import OpenTicitaire
from domain.vault import Keyring

_canned: dict[str, Outcome] = {}


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
            opened = await info.context.world.blocking(
                lambda: games.open("ticitaire", OpenTicitaire(player=player), player=player, key=None)
            )
            outcome = _canned["turn"] = Outcome(opened.game, opened.events[-1:])
        accepted: CommandAccepted = answer_of(info, outcome)
        return accepted


def main() -> None:
    url, key_file, port = sys.argv[1:]
    configure_logs(LogFormat.JSON)
    keyring = Keyring.parse(Path(key_file).read_text(encoding="ascii"))
    app = create_app(Settings(), url, keyring, build_schema(EmptyMutation))
    settle_collector()
    uvicorn.run(app, port=int(port), log_level="warning", access_log=False, lifespan="on", server_header=False)


if __name__ == "__main__":
    main()
