"""Four players of TIC Poker at one table: they exchange what helps least, one calls, all declare, round after round.

    python examples/poker.py [http://127.0.0.1:8000/graphql] [--players 4] [--rounds 2]

It knows the server by the README and the schema alone, and is Python without any library.
"""

import argparse
import collections
import itertools
import json
import random
import sys
import urllib.request
import uuid

COLOURS = {"VIOLET": 35, "CYAN": 36, "YELLOW": 33, "ORANGE": 91, "RED": 31}
CARD = "... on Card { name number shape colour value }"
TABLE = f"""
    id version status viewerSeat legalActions {{ mutation ... on PokerExchange {{ slots }} }}
    ... on PokerGame {{
        turn standings {{ number points }}
        round {{ number declaring community {{ {CARD} }} seats {{ number toAct cards {{ {CARD} }} }} }}
        result {{ places {{ seat place points }} }}
    }}
"""
ROUNDS = f"""
    query ($id: ID!, $after: Int!) {{ game(id: $id) {{ ... on PokerGame {{ playedRounds(after: $after) {{
        number community {{ {CARD} }}
        seats {{ number place declared {{ rank total cards {{ {CARD} }} }} decidedBy {{ step card }} }}
    }} }} }} }}
"""
ANSWER = f"__typename ... on CommandAccepted {{ game {{ {TABLE} }} }} ... on UserError {{ code message }}"
REGISTER = """
    mutation ($input: RegisterPlayerInput!) { registerPlayer(input: $input) { ... on PlayerRegistered { token } } }
"""
RANKS = [
    "FIVE_CARD_TIC",
    "FOUR_CARD_TIC",
    "BIG_HOUSE",
    "THREE_CARD_TIC",
    "TWO_TIC_PAIRS",
    "FIVE_CARD_SINGLE",
    "LITTLE_HOUSE",
    "FOUR_CARD_SINGLE",
    "TIC_PAIR",
    "THREE_CARD_SINGLE",
    "HIGH_CARD",
]


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
    """Give a command; return what became of it."""
    query = f"mutation ($input: {kind}!) {{ {mutation}(input: $input) {{ {ANSWER} }} }}"
    return ask(url, query, token, input={"idempotencyKey": str(uuid.uuid4()), **request})[mutation]


def must(outcome):
    """Return the game after a command that must not be refused."""
    if outcome["__typename"] != "CommandAccepted":
        raise SystemExit(outcome)
    return outcome["game"]


def common(a, b):
    """Count the properties that two cards have in common."""
    return sum(a[name] == b[name] for name in ("number", "shape", "colour"))


def take_turn(url, token, game, chance):
    """Exchange the card that has least in common with the others; call now and then."""
    seat = next(seat for seat in game["round"]["seats"] if seat["number"] == game["viewerSeat"])
    cards = seat["cards"] + game["round"]["community"]
    worth = [sum(common(card, other) ** 2 for other in cards if other is not card) for card in seat["cards"]]
    open_now = {action["mutation"] for action in game["legalActions"]}
    place = {"gameId": game["id"], "expectedVersion": game["version"]}
    if "callPoker" in open_now and chance.random() < 0.1:
        return must(send(url, token, "callPoker", "MoveInput", **place))
    if min(worth) > 6:
        return must(send(url, token, "keepPokerCards", "MoveInput", **place))
    slots = [worth.index(min(worth)) + 1]
    return must(send(url, token, "exchangePokerCards", "ExchangePokerCardsInput", slots=slots, **place))


def declare(url, token, game):
    """Declare the highest rank that some five cards have: what is not true is refused, so try them all."""
    seat = next(seat for seat in game["round"]["seats"] if seat["number"] == game["viewerSeat"])
    cards = seat["cards"] + game["round"]["community"]
    hands = sorted(itertools.combinations(cards, 5), key=lambda five: -sum(card["value"] for card in five))
    for rank in RANKS:
        for five in hands:
            if may_be(rank, five):
                names = [card["name"] for card in five]
                outcome = send(
                    url, token, "declarePokerHand", "DeclarePokerHandInput", gameId=game["id"], cards=names, rank=rank
                )
                if outcome["__typename"] == "CommandAccepted":
                    return outcome["game"]
                if outcome["code"] != "FALSE_DECLARATION":
                    raise SystemExit(outcome)
    raise SystemExit("no hand at all")


def may_be(rank, five):
    """Say quickly that a rank is out of question, so that not everything has to be tried."""
    tics = sum(common(a, b) == 2 for a, b in itertools.combinations(five, 2))
    same = max(max(collections.Counter(card[name] for card in five).values()) for name in ("number", "shape", "colour"))
    least_tics = {"FIVE_CARD_TIC": 10, "FOUR_CARD_TIC": 6, "BIG_HOUSE": 4, "THREE_CARD_TIC": 3, "TWO_TIC_PAIRS": 2}
    least_same = {"FIVE_CARD_SINGLE": 5, "LITTLE_HOUSE": 3, "FOUR_CARD_SINGLE": 4, "THREE_CARD_SINGLE": 3}
    pairs = {"LITTLE_HOUSE": 1, "TIC_PAIR": 1}
    return tics >= least_tics.get(rank, pairs.get(rank, 0)) and same >= least_same.get(rank, 1)


def shown(cards):
    """Return the names of cards, in their colours on a terminal."""
    if not sys.stdout.isatty():
        return " ".join(card["name"] for card in cards)
    return " ".join(f"\033[{COLOURS[card['colour']]}m{card['name']}\033[0m" for card in cards)


def main():
    """Play a game to its end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:8000/graphql")
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    url, chance = args.url, random.Random(1)

    tokens = [
        ask(url, REGISTER, input={"name": f"Player {n}"})["registerPlayer"]["token"] for n in range(1, args.players + 1)
    ]
    game = must(
        send(url, tokens[0], "openPoker", "OpenPokerInput", seats=args.players, rounds=args.rounds, startWhenFull=True)
    )
    for token in tokens[1:]:
        game = must(send(url, token, "joinGame", "JoinGameInput", gameId=game["id"]))

    def seen_by(token):
        return ask(url, f"query ($id: ID!) {{ game(id: $id) {{ {TABLE} }} }}", token, id=game["id"])["game"]

    seats = {seen_by(token)["viewerSeat"]: token for token in tokens}
    while game["status"] == "PLAYING":
        if game["round"]["declaring"]:
            waiting = [seat["number"] for seat in game["round"]["seats"] if seat["toAct"]]
            token = seats[chance.choice(waiting)]
            game = declare(url, token, seen_by(token))
        else:
            token = seats[game["turn"]]
            game = take_turn(url, token, seen_by(token), chance)

    rounds = []
    while page := ask(url, ROUNDS, id=game["id"], after=len(rounds))["game"]["playedRounds"]:
        rounds += page
    for played in rounds:
        print(f"Round {played['number']}, with {shown(played['community'])}")
        for seat in sorted(played["seats"], key=lambda seat: seat["place"]):
            hand, decided = seat["declared"], seat["decidedBy"]
            behind = f", behind by {decided['step'].lower()}" if decided else ""
            print(f"  {seat['place']}. seat {seat['number']}: {hand['rank']} of {hand['total']}{behind}")
            print(f"     {shown(hand['cards'])}")
    for line in sorted(game["result"]["places"], key=lambda line: line["place"]):
        print(f"{line['place']}. seat {line['seat']}: {line['points']} points")


main()
