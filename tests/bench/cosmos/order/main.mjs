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
const itemOf = (n, lacks) => ({
  id: `${n}`, pk: `k${n % 1000}`, type: n % 3 ? 'post' : 'like', user: `u${n % 5000}`, at: n, city: `city ${n % 77}`, text: 'x'.repeat(200),
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

// Bulk writes by the CouchDB API, in turns to both containers: items per second of each.
async function write(containers, rounds) {
  const spent = containers.map(() => []);
  for (let round = 0; round < rounds; ++round) {
    for (const [i, container] of containers.entries()) {
      const docs = Array.from({ length: 1000 }, (_, n) => {
        const item = itemOf(written + n, () => false);
        return { _id: `${item.pk}:${item.id}`, ...item };
      });
      const begun = performance.now();
      const url = `${values.couch}/${encodeURIComponent(`order/${container.id}`)}/_bulk_docs`;
      const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ docs }) });
      if (reply.status !== 201) throw new Error(await reply.text());
      await reply.text();
      spent[i].push(performance.now() - begun);
    }
    written += 1000;
  }
  return spent.map((times) => times.sort((a, b) => a - b)[Math.floor(rounds / 2)]);
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
  for (let tries = 0; tries < 600 && (await ask(container, first, 1)).charge > 100; ++tries) await new Promise((resolve) => setTimeout(resolve, 200));
  for (const direction of ['ASC', 'DESC']) {
    const query = `SELECT TOP 10 * FROM c ORDER BY c.rank ${direction}`;
    row(name, query, await ask(container, query, 9));
  }
}

const plain = await fill('plain', () => false);
const [without, with1] = await write([plain, containers[0]], 41);
for (let i = 0; i < 8; ++i) await ask(containers[0], `SELECT TOP 1 * FROM c ORDER BY c.${['type', 'user', 'at', 'city', 'text', 'pk', 'a', 'b'][i]}`, 1);
const [again, with9] = await write([plain, containers[0]], 41);
console.log(`\nmedian of a bulk of 1,000 items without an absence index ${without.toFixed(1)} ms, with one ${(with1 / without).toFixed(3)} of it, with nine ${(with9 / again).toFixed(3)} of it`);
client.dispose();
