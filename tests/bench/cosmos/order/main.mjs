// What ORDER BY of a property costs that some items lack, beside the same order with IS_DEFINED, and what its absence index
// costs a write. run.sh starts the server: tests/bench/cosmos/run.sh order [--items 1000000]
import { parseArgs } from 'node:util';
import { CosmosClient } from '@azure/cosmos';
import { BulkLoader } from '../blog/bulk.mjs';
import { wellKnownKey } from '../well_known_key.mjs';

const { values } = parseArgs({
  options: {
    endpoint: { type: 'string', default: 'http://127.0.0.1:8081' },
    couch: { type: 'string', default: 'http://127.0.0.1:5984' },
    items: { type: 'string', default: '1000000' },
  },
});
const count = Number(values.items);
const client = new CosmosClient({ endpoint: values.endpoint, key: wellKnownKey });
const { database } = await client.databases.createIfNotExists({ id: 'order' });

let written = count;
const digits = (n) => Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`q${i}`, n % (7 + i)]));
const itemOf = (n, lacks) => ({
  id: `${n}`, pk: `k${n % 1000}`, type: n % 3 ? 'post' : 'like', user: `u${n % 5000}`, at: n, city: `city ${n % 77}`, text: 'x'.repeat(200), ...digits(n),
  ...(lacks(n) ? {} : { rank: (n * 7919) % count }),
});

async function fill(id, lacks) {
  const { container } = await database.containers.create({ id, partitionKey: { paths: ['/pk'] } });
  const groups = function* () {
    for (let key = 0; key < 1000; ++key) {
      const items = [];
      for (let n = key; n < count; n += 1000) items.push(itemOf(n, lacks));
      yield { key: `k${key}`, items };
    }
  };
  await new BulkLoader(values.couch).load(container, groups());
  return container;
}

async function ask(container, query, rounds) {
  const times = [];
  let charge = 0;
  for (let round = 0; round < rounds; ++round) {
    const begun = performance.now();
    const { requestCharge } = await container.items.query(query, { maxItemCount: 10 }).fetchNext();
    times.push(performance.now() - begun);
    charge = requestCharge;
  }
  return { charge, ms: times.sort((a, b) => a - b)[Math.floor(rounds / 2)] };
}

const bulkOf = async (container, items) => {
  const docs = items.map((item) => ({ _id: `${item.pk}:${item.id}`, ...item }));
  const url = `${values.couch}/${encodeURIComponent(`order/${container.id}`)}/_bulk_docs`;
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ docs }) });
  if (reply.status !== 201) throw new Error(await reply.text());
  await reply.text();
};
/// Eight at a time.
const oneByOne = async (container, items) => {
  const left = [...items];
  await Promise.all(Array.from({ length: 8 }, async () => { for (let item = left.pop(); item; item = left.pop()) await container.items.create(item); }));
};

/// The same number of items is written to each of the containers, in turns; the median times, and what part they are of the first.
async function write(kinds, rounds, items, how) {
  const spent = kinds.map(() => []);
  for (let round = 0; round < rounds; ++round) {
    for (const [i, { container }] of kinds.entries()) {
      const batch = Array.from({ length: items }, (_, n) => itemOf(written + n, () => false));
      const begun = performance.now();
      await how(container, batch);
      spent[i].push(performance.now() - begun);
    }
    written += items;
  }
  const medians = spent.map((times) => times.sort((a, b) => a - b)[Math.floor(rounds / 2)]);
  return medians.map((ms) => `${ms.toFixed(0)} ms, ${(ms / medians[0]).toFixed(2)}`);
}

/// The index of an order is ready when a query reads no more than it returns.
async function untilReady(container, query) {
  for (let tries = 0; tries < 600 && (await ask(container, query, 1)).charge > 100; ++tries) await new Promise((resolve) => setTimeout(resolve, 200));
}

console.log(`${count} items\n\n| container | query | RU | ms |\n|---|---|---:|---:|`);
const row = (name, query, { charge, ms }) => console.log(`| ${name} | \`${query}\` | ${charge} | ${ms.toFixed(1)} |`);
const kinds = [['all have rank', () => false], ['1 % lack rank', (n) => n % 100 === 37], ['9 of 10 lack rank', (n) => n % 10 !== 7]];
const containers = [];
for (const [name, lacks] of kinds) {
  const container = await fill(`c${containers.length}`, lacks);
  containers.push(container);
  for (const direction of ['ASC', 'DESC']) {
    const defined = `SELECT TOP 10 * FROM c WHERE IS_DEFINED(c.rank) ORDER BY c.rank ${direction}`;
    row(name, defined, await ask(container, defined, 9));
  }
  const first = 'SELECT TOP 10 * FROM c ORDER BY c.rank';
  row(`${name}, first query`, first, await ask(container, first, 1));
  await untilReady(container, first);
  for (const direction of ['ASC', 'DESC']) {
    const query = `SELECT TOP 10 * FROM c ORDER BY c.rank ${direction}`;
    row(name, query, await ask(container, query, 9));
  }
}

const properties = ['type', 'user', 'at', 'city', 'pk', 'rank', 'q0', 'q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'q8', 'q9'];
const writers = [];
for (const [absences, of] of [[0, ''], [1, 'all'], [3, 'all'], [9, 'all'], [16, 'all'], [1, 'no'], [3, 'no'], [9, 'no'], [16, 'no']]) {
  const container = await fill(`w${absences}${of}`, () => false);
  for (let i = 0; i < absences; ++i) await untilReady(container, `SELECT TOP 1 * FROM c ORDER BY c.${of === 'all' ? properties[i] : `none${i}`}`);
  writers.push({ name: absences === 0 ? 'no absence index' : `${absences} of properties that ${of} items have`, container });
}
const bulks = await write(writers, 21, 1000, bulkOf);
const singles = await write(writers, 11, 200, oneByOne);
console.log('\n| absence indexes | bulk of 1,000 items | 200 items, 8 at a time |\n|---|---|---|');
for (const [i, { name }] of writers.entries()) console.log(`| ${name} | ${bulks[i]} | ${singles[i]} |`);
client.dispose();
