// Random queries, asked through Microsoft's client in several ways, and compared with an evaluation of the same query over
// all items (evaluate.mjs), which shares no code with the server.
//
//   run.sh WORK_DIR --queries 1000               a seed of the clock's, which is printed
//   run.sh WORK_DIR --seed 7 --round 12          one round of it again: the same items, queries and disturbances
//   run.sh WORK_DIR --seed 7 --round 12 --verbose
//
// Fails for rows that are lost, come twice or out of their order, for pages that do not end, and for errors.
// readers.mjs has the ways to ask, and what is left out because the client itself fails.
import { parseArgs } from 'node:util';
import { cosmosClient, newContainer } from '../cosmos.mjs';
import { eventually, Server } from '../harness.mjs';
import { Random, seedFrom } from '../support/random.mjs';
import { evaluate, findFault } from './evaluate.mjs';
import { itemsOf } from './items.mjs';
import { randomQuery, textOfQuery, traitsOf } from './queries.mjs';
import { clientFault, read, ways } from './readers.mjs';

const queries_per_round = 40;
const ways_per_query = 3;
const ranges_max = 6;
const faults_max = 5;
const request_units_per_range = 10_000;

const { values: args } = parseArgs({
  options: { queries: { type: 'string', default: '1000' }, seed: { type: 'string' }, round: { type: 'string' }, verbose: { type: 'boolean', default: false } },
});
const seed = seedFrom(args.seed);
const system_properties = ['_rid', '_self', '_etag', '_attachments', '_ts'];

function withoutSystemProperties(value) {
  if (Array.isArray(value)) return value.map(withoutSystemProperties);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !system_properties.includes(name)).map(([name, member]) => [name, withoutSystemProperties(member)]));
}

/// The server with its containers, and a client that knows their ranges.
class Place {
  async start() {
    this.server = await Server.start();
    this.client = cosmosClient(this.server);
  }
  async stop() {
    this.client.dispose();
    await this.server.stop();
  }

  reconnect() {
    this.client.dispose();
    this.client = cosmosClient(this.server);
  }

  async restart(kills) {
    if (kills) await this.server.kill();
    else await this.server.stop({ keepFolder: true });
    await this.server.relaunch();
    this.reconnect();
  }

  async container(ranges, items) {
    const container = await newContainer(this.client, {}, { offerThroughput: ranges * request_units_per_range });
    const operations = items.map((item) => ({ operationType: 'Create', partitionKey: item.pk, resourceBody: item }));
    for (const result of await container.items.executeBulkOperations(operations)) {
      if (result.response?.statusCode !== 201) throw new Error(`an item was not created: ${JSON.stringify(result)}`);
    }
    return { database: container.database.id, id: container.id, ranges };
  }
  open = ({ database, id }) => this.client.database(database).container(id);

  async split(container) {
    const handle = this.open(container);
    const { resource: offer } = await handle.readOffer();
    offer.content.offerThroughput = ++container.ranges * request_units_per_range;
    await this.client.offer(offer.id).replace(offer);
    await eventually(async () => (await handle.readPartitionKeyRanges().fetchAll()).resources.length === container.ranges, 30_000);
  }
}

async function runRound(place, round, counts, report) {
  const random = new Random(seed, 'round', round);
  const containers = [];
  for (const ranges of [1, 2, 4]) {
    const items = itemsOf(random, random.pick([5, 20, 40, 60]));
    containers.push({ items, ...(await place.container(ranges, items)) });
  }
  for (let number = 0; number < queries_per_round; ++number) {
    const container = random.pick(containers);
    const query = randomQuery(random);
    const text = textOfQuery(query);
    const expected = evaluate(query, container.items);
    for (const way of random.sample(ways, ways_per_query)) {
      const fault = clientFault(way, query, traitsOf(query), container.ranges);
      const pageSize = random.weighted([[2, 1], [3, random.between(2, 7)], [2, random.between(8, 30)], [1, 100]]);
      const disturbance = way.disturbed && random.chance(0.3) ? random.pick(way.resumes ? ['split', 'SIGTERM', 'kill -9'] : ['split']) : undefined;
      if (fault) {
        counts.excluded.set(fault, (counts.excluded.get(fault) ?? 0) + 1);
        continue;
      }
      let due = disturbance;
      const between = async () => {
        if (!due) return;
        if (due !== 'split') await place.restart(due === 'kill -9');
        else if (container.ranges < ranges_max) {
          await place.split(container);
          if (way.resumes) place.reconnect();
        }
        due = undefined;
      };
      if (args.verbose) console.log(`${number}: ${way.name} by ${pageSize}${disturbance ? `, ${disturbance}` : ''}, ${container.ranges} ranges: ${text}`);
      ++counts.answers;
      let wrong;
      try {
        const rows = await read(() => place.open(container), way, text, pageSize, between);
        wrong = findFault(expected, rows.map(withoutSystemProperties));
      } catch (error) {
        wrong = error.body?.message ?? error.stack ?? String(error);
      }
      if (disturbance) place.reconnect();
      if (wrong) report({ round, number, way: way.name, pageSize, disturbance, ranges: container.ranges, text, wrong });
    }
    ++counts.queries;
  }
  for (const { database } of containers) await place.client.database(database).delete();
}

console.log(`seed ${seed}`);
const counts = { queries: 0, answers: 0, faults: 0, excluded: new Map() };
function report({ round, number, way, pageSize, disturbance, ranges, text, wrong }) {
  ++counts.faults;
  console.log(`\nround ${round}, query ${number}: ${text}\n  ${way}, pages of ${pageSize}, ${ranges} ranges${disturbance ? `, ${disturbance}` : ''}\n  ${wrong}\n  again: --seed ${seed} --round ${round}`);
}
const begun = performance.now();
const place = new Place();
await place.start();
try {
  const first = args.round === undefined ? 0 : Number(args.round);
  const end = args.round === undefined ? Math.ceil(Number(args.queries) / queries_per_round) : first + 1;
  for (let round = first; round < end && counts.faults < faults_max; ++round) {
    const since = performance.now();
    await runRound(place, round, counts, report);
    console.log(`round ${round}: ${((performance.now() - since) / 1000).toFixed(1)} s`);  // tells a hang from a slow machine
  }
} finally {
  await place.stop();
}
for (const [fault, times] of counts.excluded) console.log(`left out ${times} times: ${fault}`);
console.log(`${counts.queries} queries, ${counts.answers} answers, ${counts.faults} faults, ${((performance.now() - begun) / 1000).toFixed(0)} s`);
process.exitCode = counts.faults > 0 ? 1 : 0;
