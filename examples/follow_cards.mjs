// Follows the cards of a finished game from its record, in plain Node.js: node follow_cards.mjs game.jsonl
// First verify_deal.mjs deals again. Then each card that comes up must be the one that lay there, each that is laid must be
// in that hand, and the entropy of the deal must be what the players had committed to.
import { createHash } from 'node:crypto';
import { deckOf, events, must } from './verify_deal.mjs';

const opened = events[0].fact, same = (one, other) => `${one}` === `${other}`;
let joined = [], beacon = '', deck = [], next = 0;
const committed = {}, revealed = {}, hands = {}, seen = {};
const take = (count) => deck.slice(next, (next += count));

// The next card of a pile, or again one that came up: after a take-back or a recycling.
function turn(pile, cards, event, card, again) {
  const up = (seen[pile] ??= new Set());
  must(cards[up.size] === card || (again && up.has(card)), `event ${event.seq}: ${card}`);
  up.add(card);
}

const FACTS = {
  'game.PlayerJoined': ({ player }) => joined.push(player),
  'game.PlayerLeft': ({ player }) => (joined = joined.filter((each) => each !== player)),
  'game.EntropyCommitted': ({ player, commitment }) => (committed[player] = commitment),
  'game.EntropyRevealed': ({ player, entropy }, { seq }) => {
    const digest = createHash('sha256').update(Buffer.from(entropy, 'hex')).digest('hex');
    must(digest === committed[player], `event ${seq}: the entropy`);
    revealed[player] = entropy;
  },
  'game.BeaconGiven': (fact) => (beacon = fact.beacon),
  'ticitaire.CardTurnedUp': ({ column, card }, event) => {
    const end = 7 * column.at(-1);
    turn(column, deck.slice(end - 7, end).reverse(), event, card, opened.options.take_back);
  },
  'ticitaire.StockTurned': ({ card }, event) => turn('stock', deck.slice(56), event, card, true),
  'poker.RoundDealt': ({ seats, private: each, community }) => {
    for (const seat of seats) hands[seat] = take(each);
    take(community.length);
  },
  'poker.CardsExchanged': ({ seat, slots }) => slots.forEach((slot) => ([hands[seat][slot - 1]] = take(1))),
  'poker.CommunityCardTurned': ({ card }, { seq }) => must(same(take(1), card), `event ${seq}: ${card}`),
  'poker.CommunityCardExchanged': ({ card }, { seq }) => must(same(take(1), card), `event ${seq}: ${card}`),
  'poker.HandsRevealed': (fact, { seq }) => {
    for (const { seat, cards } of fact.hands) must(same(hands[seat], cards), `event ${seq}: the hand of seat ${seat}`);
  },
  'tickle.HandsDealt': ({ each }) => {
    for (const { type, fact } of events) if (type === 'game.PlayerSeated') hands[fact.seat] = take(each);
  },
  'tickle.HandRefilled': ({ seat, cards }) => hands[seat].push(...take(cards)),
  'tickle.CardDrawn': ({ seat }) => hands[seat].push(...take(1)),
  'tickle.LaydownPlayed': ({ seat, cards }, { seq }) => {
    for (const { card } of cards) {
      must(hands[seat].includes(card), `event ${seq}: seat ${seat} did not hold ${card}`);
      hands[seat] = hands[seat].filter((held) => held !== card);
    }
  },
};

for (const event of events) {
  const { seq, type, fact } = event;
  if (fact.entropies) {
    const told = (joined.length ? joined : [opened.host]).map((player) => revealed[player] ?? '-');
    must(same(told, fact.entropies) && beacon === fact.beacon, `event ${seq}: the entropy of the deal`);
    [deck, next] = [deckOf(fact), 0];
  }
  FACTS[type]?.(fact, event);
}
console.log('Each card was where it came from.');
