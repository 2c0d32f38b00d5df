// Deals a finished game again from its record, in plain Node.js: node verify_deal.mjs game.jsonl
// The algorithm is docs/dealing.md. What became of the cards is for follow_cards.mjs, and the moves for `tic audit`.
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';

const all = (hash, parts) => parts.reduce((sum, part) => sum.update(part), hash).digest();
const sha = (...parts) => all(createHash('sha256'), parts), hmac = (key, ...parts) => all(createHmac('sha256', key), parts);
export const must = (holds, what, sign = 'WRONG') => { if (!holds) { console.error(`${sign}: ${what}`); process.exit(1); } };
const SHAPES = ['circle', 'crescent', 'triangle', 'square', 'star'], COLOURS = ['violet', 'cyan', 'yellow', 'orange', 'red'];
const name = (card) => `${Math.floor(card / 25) + 1}-${SHAPES[Math.floor(card / 5) % 5]}-${COLOURS[card % 5]}`;

const lines = readFileSync(process.argv[2], 'utf8').trim().split('\n').slice(1, -1); // without header and closing line
export const events = lines.map((line) => JSON.parse(line));
must(events.every(({ type }) => type), 'one record is dealt at a time, and this file holds several', 'NOT READ');
lines.reduce((before, line, i) => {
  must(events[i].prev === before, `event ${i + 1}: prev is not the hash of the event before`);
  return sha('tic/event/v1\n', line).toString('hex');
}, '0'.repeat(64));

const { deal, commitment } = events[0].fact, seeds = events.at(-1).fact.seeds?.map((seed) => Buffer.from(seed, 'hex')) ?? [];
must(seeds.length, 'the seeds are not out: they are held back, or the game is under way, cancelled or unverifiable', 'OPEN');
const before = (i) => sha(`tic/chain/v1\n${deal}\n${i + 1}\n`, seeds[i]); // what the seed i + 1 leads to
seeds.slice(1).forEach((_, i) => must(before(i + 1).equals(seeds[i]), `seed ${i + 1}`));
must(before(0).toString('hex') === commitment, 'the seeds are not those that were committed to');

export function deckOf({ number, entropies, beacon }) { // the 125 cards of a deal, from the fact that tells of it
  const key = hmac(sha('tic/entropy/v1\n', ...[...entropies, beacon].map((line) => `${line}\n`)), seeds[number - 1]);
  const cards = [...Array(125).keys()], stream = [], info = `tic/deck/v1\n${deal}\n${number}\n`;
  for (let n = 1, block = ''; n < 256; n++) stream.push(...(block = hmac(key, block, info, Buffer.of(n))));
  for (let i = 124, at = 0; i > 0; i--, at++) {
    while (stream[at] >= 256 - (256 % (i + 1))) at++;
    [cards[i], cards[stream[at] % (i + 1)]] = [cards[stream[at] % (i + 1)], cards[i]];
  }
  return cards.map(name);
}

const dealt = events.filter(({ fact }) => fact.entropies);
for (const { seq, fact } of dealt) { // what lay open at once; in Tickle nothing does
  const open = fact.exposed ?? fact.community ?? [], first = fact.exposed ? 49 : fact.seats?.length * fact.private;
  open.forEach((card, i) => must(card === deckOf(fact)[first + i], `event ${seq}: ${card}`));
}
console.log(`Game ${events[0].game}: ${events.length} events in one chain, ${dealt.length} deck(s) as was committed to.`);
