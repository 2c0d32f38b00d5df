"""Three players of Tickle at one table: they join, play their best laydowns to the end, and look at the grid.

    python examples/tickle.py [http://127.0.0.1:8000/graphql] [--players 3] [--deck HALF]

It knows the server by the README and the schema alone, and is Python without any library.
"""

import argparse
import json
import sys
import urllib.request
import uuid

SHAPES = {"CIRCLE": "●", "CRESCENT": "☾", "TRIANGLE": "▲", "SQUARE": "■", "STAR": "★"}
COLOURS = {"VIOLET": 35, "CYAN": 36, "YELLOW": 33, "ORANGE": 91, "RED": 31}
TABLE = """
    id version hash status viewerSeat invitation legalActions { mutation }
    ... on TickleGame {
        deckCount turn { seat round }
        grid { x y card { number shape colour } }
        hands { number points hand { ... on Card { name } } }
        result { ending places { seat place points cards total } }
    }
"""
ANSWER = f"""
    __typename
    ... on CommandAccepted {{ game {{ {TABLE} }} events {{ seq type fact {{
        ... on TickleLaydownPlayed {{ seat cards {{ card {{ name }} }} score {{ total groups {{ size }} }} }} }} }} }}
    ... on UserError {{ code message }}
    ... on RuleViolation {{ reasons {{ code ruling message cells {{ x y }} }} }}
"""
HINT = """
    query ($id: ID!) {
        game(id: $id) { ... on TickleGame { laydowns(first: 1) { nodes { cards { x y card { name } } } } } }
    }
"""
REGISTER = """
    mutation ($input: RegisterPlayerInput!) { registerPlayer(input: $input) { ... on PlayerRegistered { token } } }
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


def send(url, token, mutation, kind, **request):
    """Give a command; the key makes it safe to send the same request again when an answer was lost."""
    query = f"mutation ($input: {kind}!) {{ {mutation}(input: $input) {{ {ANSWER} }} }}"
    outcome = ask(url, query, token, input={"idempotencyKey": str(uuid.uuid4()), **request})[mutation]
    if outcome["__typename"] != "CommandAccepted":
        raise SystemExit(outcome)
    return outcome


def take_turn(url, token, game):
    """Lay the best cards that the server's search finds; draw where there are none; decline what was drawn in vain."""
    id_, version = game["id"], game["version"]
    open_now = [action["mutation"] for action in game["legalActions"]]
    if "layTickleCards" in open_now:
        best = ask(url, HINT, token, id=id_)["game"]["laydowns"]["nodes"][0]["cards"]
        cards = [{"x": laid["x"], "y": laid["y"], "card": laid["card"]["name"]} for laid in best]
        return send(
            url, token, "layTickleCards", "LayTickleCardsInput", gameId=id_, expectedVersion=version, cards=cards
        )
    mutation = "drawTickleCard" if "drawTickleCard" in open_now else "declineTickleLaydown"
    return send(url, token, mutation, "MoveInput", gameId=id_, expectedVersion=version)


def picture(grid):
    """Draw the grid: number and shape of each card, in its colour."""
    cells = {(laid["x"], laid["y"]): laid["card"] for laid in grid}
    columns = range(min(x for x, _ in cells), max(x for x, _ in cells) + 1)
    for y in range(min(y for _, y in cells), max(y for _, y in cells) + 1):
        line = []
        for x in columns:
            card = cells.get((x, y))
            text = f"{card['number']}{SHAPES[card['shape']]}" if card else " ·"
            line.append(f"\033[{COLOURS[card['colour']]}m{text}\033[0m" if card and sys.stdout.isatty() else text)
        print(" ".join(line))


def tell(events):
    """Say what was laid, and what it scored."""
    for event in events:
        if event["type"] == "tickle.LaydownPlayed":
            fact = event["fact"]
            cards = " ".join(laid["card"]["name"] for laid in fact["cards"])
            groups = "".join(f", a group of {group['size']}" for group in fact["score"]["groups"])
            print(f"{event['seq']:4} seat {fact['seat']} lays {cards}{groups}: {fact['score']['total']} points")
        elif event["type"].startswith("tickle."):
            print(f"{event['seq']:4} {event['type'].removeprefix('tickle.')}")


def main():
    """Play a game to its end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:8000/graphql")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--deck", choices=["WHOLE", "TWO_THIRDS", "HALF"], default="HALF")
    args = parser.parse_args()
    url = args.url

    tokens = [
        ask(url, REGISTER, input={"name": f"Player {n}"})["registerPlayer"]["token"] for n in range(1, args.players + 1)
    ]
    host, *guests = tokens
    opened = send(url, host, "openTickle", "OpenTickleInput", seats=args.players, deck=args.deck, private=True)["game"]
    for guest in guests:
        send(url, guest, "joinGame", "JoinGameInput", gameId=opened["id"], code=opened["invitation"])
    tell(send(url, host, "startGame", "StartGameInput", gameId=opened["id"])["events"])

    views = {}
    for token in tokens:  # each player sees the table with another hand open
        game = ask(url, f"query ($id: ID!) {{ game(id: $id) {{ {TABLE} }} }}", token, id=opened["id"])["game"]
        views[game["viewerSeat"]] = token
    while game["status"] == "PLAYING":
        token = views[game["turn"]["seat"]]
        game = ask(url, f"query ($id: ID!) {{ game(id: $id) {{ {TABLE} }} }}", token, id=opened["id"])["game"]
        outcome = take_turn(url, token, game)
        game = outcome["game"]
        tell(outcome["events"])

    picture(game["grid"])
    for line in sorted(game["result"]["places"], key=lambda line: line["place"]):
        seat, points, cards = line["seat"], line["points"], line["cards"]
        print(f"{line['place']}. seat {seat}: {points} points, {cards} cards left: {line['total']}")


main()
