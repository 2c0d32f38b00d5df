"""A whole client: registers, opens a game of Ticitaire, plays it, watches it from a second connection, reads it again.

    python examples/play.py [http://127.0.0.1:8000/graphql] [--moves 60]

It knows the server by the README and the schema alone. Needs `pip install websockets`; the rest is Python's own.
"""

import argparse
import asyncio
import hashlib
import json
import random
import sys
import urllib.request
import uuid

from websockets.asyncio.client import connect

COLOURS = {"violet": 35, "cyan": 36, "yellow": 33, "orange": 91, "red": 31}
PLAYED = """
    __typename
    ... on CommandAccepted {
        game { id version hash status legalActions { mutation ... on TicitaireMove { from to } } }
    }
    ... on UserError { code message }
"""
EVENTS = """
    seq type bytes hash previousHash fact {
        ... on TicitaireDealt { exposed { name } }
        ... on TicitaireCardsMoved { from to cards { name } }
        ... on TicitaireCardTurnedUp { column card { name } }
        ... on TicitaireStockTurned { card { name } }
        ... on TicitaireFinished { ending buried unplayed }
    }
"""


def ask(url, query, token=None, **variables):
    """Send one operation; return its data."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    body = json.dumps({"query": query, "variables": variables}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
        result = json.load(answer)
    if "errors" in result:
        raise SystemExit(result["errors"])
    return result["data"]


def send(url, token, mutation, game, **more):
    """Play: the key makes it safe to send the same request again when an answer was lost."""
    kind = {"moveTicitaireCards": "MoveTicitaireCardsInput", "giveUpTicitaire": "PlayInput"}.get(mutation, "MoveInput")
    query = f"mutation ($input: {kind}!) {{ {mutation}(input: $input) {{ {PLAYED} }} }}"
    version = {} if kind == "PlayInput" else {"expectedVersion": game["version"]}
    request = {"gameId": game["id"], "idempotencyKey": str(uuid.uuid4()), **version, **more}
    outcome = ask(url, query, token, input=request)[mutation]
    if outcome["__typename"] != "CommandAccepted":
        print(f"  refused: {outcome['code']}: {outcome['message']}")
        return game
    return outcome["game"]


def choose(actions):
    """Play a card from the waste if one fits; else move cards or turn the stock, as it comes."""
    moves = [action for action in actions if action["mutation"] == "moveTicitaireCards"]
    from_waste = [move for move in moves if move["from"] == "WASTE"]
    others = [action for action in actions if action["mutation"] in ("turnTicitaireStock", "recycleTicitaireWaste")]
    return random.choice(from_waste or moves + others * 2 or [{"mutation": "giveUpTicitaire"}])


def tell(event):
    """Say what happened, with the cards in their colours."""
    fact = dict(event["fact"])
    cards = fact.pop("cards", None) or fact.pop("exposed", None) or [fact.pop("card", None)]
    names = [card["name"] for card in cards if card]
    if sys.stdout.isatty():
        names = [f"\033[{COLOURS[name.split('-')[2]]}m{name}\033[0m" for name in names]
    print(f"{event['seq']:4} {event['type']:26} {' '.join(map(str, fact.values()))} {' '.join(names)}")


async def watch(url, game_id):
    """Follow the game's events over a WebSocket until its record is closed; return how many there were."""
    query = f"subscription ($id: ID!) {{ gameEvents(gameId: $id) {{ {EVENTS} }} }}"
    seen = 0
    async with connect(url.replace("http", "ws", 1), subprotocols=["graphql-transport-ws"]) as socket:
        await socket.send(json.dumps({"type": "connection_init"}))
        payload = {"query": query, "variables": {"id": game_id}}
        await socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": payload}))
        async for text in socket:
            message = json.loads(text)
            if message["type"] == "next":
                seen += 1
                tell(message["payload"]["data"]["gameEvents"])
            elif message["type"] == "error":
                raise SystemExit(message["payload"])
            elif message["type"] == "complete":
                break
    return seen


async def main():
    """Play a game while watching it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:8000/graphql")
    parser.add_argument("--moves", type=int, default=60, help="give up after so many")
    args = parser.parse_args()
    url = args.url

    register = 'mutation { registerPlayer(input: {name: "Example"}) { ... on PlayerRegistered { token } } }'
    token = ask(url, register)["registerPlayer"]["token"]
    opening = f"mutation {{ openTicitaire(input: {{}}) {{ {PLAYED} }} }}"
    game = ask(url, opening, token)["openTicitaire"]["game"]
    watching = asyncio.create_task(watch(url, game["id"]))

    for _ in range(args.moves):
        if game["status"] == "FINISHED":
            break
        action = choose(game["legalActions"])
        game = await asyncio.to_thread(send, url, token, game=game, **action)
    if game["status"] != "FINISHED":
        game = await asyncio.to_thread(send, url, token, "giveUpTicitaire", game)
    watched = await watching

    events, query = (
        [],
        f"query ($id: ID!, $n: Int!) {{ game(id: $id) {{ events(afterSeq: $n) {{ nodes {{ {EVENTS} }} }} }} }}",
    )
    while page := ask(url, query, id=game["id"], n=len(events))["game"]["events"]["nodes"]:
        events += page
    before = "0" * 64
    for event in events:
        assert event["previousHash"] == json.loads(event["bytes"])["prev"] == before
        before = hashlib.sha256(b"tic/event/v1\n" + event["bytes"].encode()).hexdigest()
        assert event["hash"] == before
    assert before == game["hash"]
    assert watched == len(events) == game["version"]
    print(f"Watched {watched} events, and read the same {len(events)} again: every hash is right.")


asyncio.run(main())
