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
import { createItems, randomContainer, randomScope, writeMeanwhile } from './containers.mjs';
import { evaluate, findFault, findFaultInListing } from './evaluate.mjs';
import { randomListing, randomQuery, textOfQuery, traitsOf } from './queries.mjs';
import { clientFault, read, ways } from './readers.mjs';
import { withoutSystemProperties } from './rows.mjs';

const queries_per_round = 40;
const ways_per_query = 3;
const ranges_max = 6;
const faults_max = 5;
const request_units_per_range = 10_000;

const { values: args } = parseArgs({
  options: { queries: { type: 'string', default: '1000' }, seed: { type: 'string' }, round: { type: 'string' }, verbose: { type: 'boolean', default: false } },
});
const seed = seedFrom(args.seed);

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

  async container(random, ranges) {
    const made = randomContainer(random);
    const handle = await newContainer(this.client, made.definition, { offerThroughput: ranges * request_units_per_range });
    await createItems(handle, made, made.items);
    return { ...made, database: handle.database.id, id: handle.id, ranges };
  }
  open = ({ database, id }) => this.client.database(database).container(id);

  async setRanges(container, count) {
    container.ranges = count;
    const handle = this.open(container);
    const { resource: offer } = await handle.readOffer();
    offer.content.offerThroughput = count * request_units_per_range;
    await this.client.offer(offer.id).replace(offer);
    return handle;
  }
  async waitForRanges(handle, count) {
    await eventually(async () => (await handle.readPartitionKeyRanges().fetchAll()).resources.length === count, 30_000);
  }

  async split(container) {
    const handle = await this.setRanges(container, container.ranges + 1);
    await this.waitForRanges(handle, container.ranges);
  }

  async merge(container, random) {
    const handle = await this.setRanges(container, container.ranges - 1);
    const db = `${container.database}/${container.id}`;
    const { body } = await this.server.get(`/${encodeURIComponent(db)}/_shards`);
    const shards = Object.keys(body.shards);
    const first = random.below(shards.length - 1);
    const reply = await this.server.post('/_reshard/jobs', { type: 'merge', db, ranges: shards.slice(first, first + 2) });
    if (reply.status !== 201) throw new Error(`a merge was answered ${reply.status}: ${reply.text}`);
    await this.waitForRanges(handle, container.ranges);
  }
}

/// Reads a query in one way while `disturbance` happens once; what is wrong with the answer, or undefined.
async function readDisturbed(place, random, { container, scope, query, question, way, pageSize, disturbance }) {
  const all = [...scope.items];
  const changed = new Set();
  let due = disturbance;
  const between = async (rows) => {
    if (due === 'write') {
      const before = new Set(container.items);
      for (const id of await writeMeanwhile(random, place.open(container), container, rows)) changed.add(id);
      all.push(...container.items.filter((item) => !before.has(item)));
    }
    if (due === 'SIGTERM' || due === 'kill -9') await place.restart(due === 'kill -9');
    if (due === 'split' && container.ranges < ranges_max) {
      await place.split(container);
      if (way.resumes) place.reconnect();
    }
    if (due === 'merge' && container.ranges > 1) {
      await place.merge(container, random);
      if (way.resumes) place.reconnect();
    }
    due = undefined;
  };
  try {
    const asked = { pageSize, partitionKey: scope.partitionKey };
    const rows = (await read(() => place.open(container), way, question, asked, between)).map((row) => withoutSystemProperties(row));
    if (disturbance === 'write') return findFaultInListing(query, all, changed, rows);
    return findFault(evaluate(query, scope.items), rows);
  } catch (error) {
    return error.body?.message ?? error.stack ?? String(error);
  } finally {
    if (disturbance) place.reconnect();
  }
}

async function runRound(place, round, counts, report) {
  const random = new Random(seed, 'round', round);
  const containers = [];
  for (const ranges of [1, 2, 4]) containers.push(await place.container(random, ranges));
  for (let number = 0; number < queries_per_round; ++number) {
    const container = random.pick(containers);
    const writes = random.chance(0.15);
    const query = writes ? randomListing(random) : randomQuery(random);
    const scope = !writes && random.chance(0.15) ? randomScope(random, container) : container;
    const parameters = random.chance(0.25) ? [] : undefined;
    const text = textOfQuery(query, parameters);
    const question = parameters ? { query: text, parameters } : text;
    for (const way of random.sample(ways, ways_per_query)) {
      const fault = clientFault(way, query, traitsOf(query), { ranges: container.ranges, partitionKey: scope.partitionKey });
      const isLarge = container.items.length > 100;
      const pageSize = random.weighted([[2, 1], [3, random.between(2, 7)], [2, random.between(8, 30)], [1, 100]]) * (isLarge ? 8 : 1);
      const possible = writes ? ['write'] : way.disturbances;
      const disturbance = possible.length > 0 && random.chance(writes ? 1 : 0.2) ? random.pick(possible) : undefined;
      if (fault) {
        counts.excluded.set(fault, (counts.excluded.get(fault) ?? 0) + 1);
        continue;
      }
      const wayOfAll = `${way.name} by ${pageSize}${scope.partitionKey === undefined ? '' : `, of ${JSON.stringify(scope.partitionKey)}`}${disturbance ? `, ${disturbance}` : ''}, ${container.ranges} ranges`;
      if (args.verbose) console.log(`${number}: ${wayOfAll}: ${text}`);
      ++counts.answers;
      const wrong = await readDisturbed(place, random, { container, scope, query, question, way, pageSize, disturbance });
      if (wrong) report({ round, number, wayOfAll, definition: container.definition, text: JSON.stringify(question), wrong });
    }
    ++counts.queries;
  }
  for (const { database } of containers) await place.client.database(database).delete();
}

console.log(`seed ${seed}`);
const counts = { queries: 0, answers: 0, faults: 0, excluded: new Map() };
function report({ round, number, wayOfAll, definition, text, wrong }) {
  ++counts.faults;
  console.log(`\nround ${round}, query ${number}: ${text}\n  ${wayOfAll}, ${JSON.stringify(definition)}\n  ${wrong}\n  again: --seed ${seed} --round ${round}`);
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
