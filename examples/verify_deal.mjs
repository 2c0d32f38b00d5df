// Deals a finished game again from its record, with nothing but Node.js: node verify_deal.mjs game.jsonl
// The algorithm is docs/dealing.md; the record is what /games/GAME.jsonl gives. That every card lay where it came from is
// checked here; that the players might do what they did, and won what they won, is for `tic audit`.
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';

const sha = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
const hmac = (key, ...parts) => parts.reduce((hash, part) => hash.update(part), createHmac('sha256', key)).digest();
const must = (holds, what) => { if (!holds) { console.error(`WRONG: ${what}`); process.exit(1); } };
const NAMES = [['circle', 'crescent', 'triangle', 'square', 'star'], ['violet', 'cyan', 'yellow', 'orange', 'red']];
const name = (card) => `${Math.floor(card / 25) + 1}-${NAMES[0][Math.floor(card / 5) % 5]}-${NAMES[1][card % 5]}`;

function deckOrder(seed, deal, number, { entropies, beacon }) {
  const key = hmac(sha('tic/entropy/v1\n', [...entropies, beacon].map((line) => `${line}\n`).join('')), seed);
  const cards = [...Array(125).keys()], stream = [];
  for (let block = Buffer.alloc(0), n = 1; n < 256; n++) stream.push(...(block = hmac(key, block, `tic/deck/v1\n${deal}\n${number}\n`, Buffer.of(n))));
  for (let i = 124; i > 0; i--) {
    let byte = stream.shift();
    while (byte >= 256 - (256 % (i + 1))) byte = stream.shift();
    [cards[i], cards[byte % (i + 1)]] = [cards[byte % (i + 1)], cards[i]];
  }
  return cards.map(name);
}

const events = readFileSync(process.argv[2], 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter((line) => line.type);
const { deal, commitment } = events[0].fact, seeds = events.at(-1).fact.seeds?.map((seed) => Buffer.from(seed, 'hex')) ?? [];
must(seeds.length, 'the seeds are not out: the game is under way, was cancelled, or is unverifiable');
const back = seeds.reduceRight((next, seed, i) => { must(!next || next.equals(seed), `seed ${i + 1}`); return sha(`tic/chain/v1\n${deal}\n${i + 1}\n`, seed); }, null);
must(back.toString('hex') === commitment, 'the seeds are not those that were committed to');
let deck = [], next = 0, hands = {}, joined = [], committed = {}, revealed = {}, beacon = '', turned = {};
function turn(pile, cards, seq, card, again) { // the next card of a pile; one that was seen comes again after a take-back or a recycling
  const seen = (turned[pile] ??= new Set());
  must(cards[seen.size] === card || (again && seen.has(card)), `event ${seq}: ${card}`);
  seen.add(card);
}
for (const { seq, type, fact } of events) {
  const take = (count) => deck.slice(next, (next += count));
  if (type === 'game.PlayerJoined') joined.push(fact.player);
  if (type === 'game.PlayerLeft') joined = joined.filter((player) => player !== fact.player);
  if (type === 'game.EntropyCommitted') committed[fact.player] = fact.commitment;
  if (type === 'game.EntropyRevealed') { must(sha(Buffer.from(fact.entropy, 'hex')).toString('hex') === committed[fact.player], `event ${seq}: the entropy`); revealed[fact.player] = fact.entropy; }
  if (type === 'game.BeaconGiven') beacon = fact.beacon;
  if (fact.entropies) must(`${fact.entropies}` === `${(joined.length ? joined : [events[0].fact.host]).map((player) => revealed[player] ?? '-')}` && fact.beacon === beacon, `event ${seq}: the entropy of the deal`);
  if (fact.entropies) [deck, next] = [deckOrder(seeds[fact.number - 1], deal, fact.number, fact), 0];
  if (type === 'ticitaire.TableauDealt') fact.exposed.forEach((card, i) => must(deck[49 + i] === card, `event ${seq}: ${card}`));
  if (type === 'ticitaire.CardTurnedUp') turn(fact.column, deck.slice(7 * fact.column.at(-1) - 7, 7 * fact.column.at(-1)).reverse(), seq, fact.card, events[0].fact.options.take_back);
  if (type === 'ticitaire.StockTurned') turn('stock', deck.slice(56), seq, fact.card, true);
  if (type === 'poker.RoundDealt') { fact.seats.forEach((seat) => (hands[seat] = take(fact.private))); must(`${take(fact.community.length)}` === `${fact.community}`, `event ${seq}: the community cards`); }
  if (type === 'poker.CardsExchanged') fact.slots.forEach((slot) => ([hands[fact.seat][slot - 1]] = take(1)));
  if (['poker.CommunityCardTurned', 'poker.CommunityCardExchanged'].includes(type)) must(take(1)[0] === fact.card, `event ${seq}: ${fact.card}`);
  if (type === 'poker.HandsRevealed') fact.hands.forEach(({ seat, cards }) => must(`${hands[seat]}` === `${cards}`, `event ${seq}: the hand of seat ${seat}`));
  if (type === 'tickle.HandsDealt') events.filter((event) => event.type === 'game.PlayerSeated').forEach(({ fact: { seat } }) => (hands[seat] = take(fact.each)));
  if (['tickle.HandRefilled', 'tickle.CardDrawn'].includes(type)) hands[fact.seat].push(...take(fact.cards ?? 1));
  if (type === 'tickle.LaydownPlayed') fact.cards.forEach(({ card }) => { must(hands[fact.seat].includes(card), `event ${seq}: seat ${fact.seat} did not hold ${card}`); hands[fact.seat] = hands[fact.seat].filter((held) => held !== card); });
}
console.log(`The deal of ${events[0].game} is the one that was committed to: ${seeds.length} deck(s), ${events.length} events.`);
