// Ids that share their first 480 bytes cost about what short ones do, however many there are (long_key_tree.h).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measure } from './measure.mjs';

const DOCUMENTS = 3000;
const FACTOR_MAX = 4;  // the longer address and reply are in it
const digits = (n) => String(n).padStart(8, '0');
const databases = [
  { name: 'short', beginning: 'x' },
  { name: 'long', beginning: 'x'.repeat(480) },
  { name: 'longer', beginning: 'x'.repeat(1920) },
];

async function fill(send) {
  for (const { name, beginning } of databases) {
    await send('PUT', `/${name}?q=1`);
    for (let first = 0; first < DOCUMENTS; first += 500) {
      const docs = Array.from({ length: 500 }, (_, n) => ({ _id: beginning + digits(first + n) }));
      await send('POST', `/${name}/_bulk_docs`, { docs });
    }
  }
}

const startkey = (beginning, n) => encodeURIComponent(JSON.stringify(beginning + digits(n)));
const kinds = databases.flatMap(({ name, beginning }) => [
  { name: `${name}: one row`, count: 200,
    make: (n) => ['GET', `/${name}/_all_docs?limit=1&startkey=${startkey(beginning, (n * 17) % DOCUMENTS)}`] },
  { name: `${name}: one row, descending`, count: 200,
    make: (n) => ['GET', `/${name}/_all_docs?limit=1&descending=true&startkey=${startkey(beginning, (n * 17) % DOCUMENTS)}`] },
  { name: `${name}: each of all rows`, count: 5, per: DOCUMENTS, make: () => ['GET', `/${name}/_all_docs`] },
]);

const counts = await measure(kinds, fill);
for (const work of ['one row', 'one row, descending', 'each of all rows']) {
  test(work, () => {
    const short = counts.get(`short: ${work}`);
    assert.ok(short > 0);
    for (const [name, factor] of [['long', FACTOR_MAX], ['longer', 2 * FACTOR_MAX]]) {
      const count = counts.get(`${name}: ${work}`);
      assert.ok(count <= factor * short, `${name} ids: ${count} instructions, short ones: ${short}`);
    }
  });
}
