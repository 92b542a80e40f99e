// The forms of query that Entity Framework Core's provider for Azure Cosmos DB makes of LINQ, over random data. Beside each
// text is what the LINQ means, as functions of JavaScript's arrays: no second evaluator of the language is needed, and what
// is tested is what a program wants of the provider.
//
//   run.sh WORK_DIR efcore --rounds 3            a seed of the clock's, which is printed
//   run.sh WORK_DIR efcore --seed 7 --round 2    one round of it again
import { parseArgs } from 'node:util';
import { cosmosClient, newContainer } from '../../cosmos.mjs';
import { Server } from '../../harness.mjs';
import { Random, seedFrom } from '../../support/random.mjs';
import { canonical, findFault } from '../evaluate.mjs';
import { read, ways } from '../readers.mjs';
import { withoutSystemProperties } from '../rows.mjs';
import { collections } from './collections.mjs';
import { entities } from './entities.mjs';
import { functions } from './functions.mjs';
import { projections } from './projections.mjs';
import { shopOf } from './shop.mjs';

const faults_max = 10;
const queries = [...entities, ...projections, ...collections, ...functions];
// Without a partition key, as the provider stores entities by default, or with one.
const keys = ['/__partitionKey', '/id', '/City'];
const request_units_per_range = 10_000;

const { values: args } = parseArgs({ options: { rounds: { type: 'string', default: '3' }, seed: { type: 'string' }, round: { type: 'string' } } });
const seed = seedFrom(args.seed);

/// What findFault() compares an answer with.
function expected({ rows, ordered, skipped = 0, taken = Infinity }, shop) {
  const texts = rows(shop).map((row) => canonical(row));
  const runs = ordered ? texts.map((text) => ({ rows: [text] })) : [{ rows: texts }];
  const first = Math.min(skipped, texts.length);
  return { runs, first, count: Math.min(taken, texts.length - first) };
}

const questionOf = ({ sql, parameters = {} }) => ({ query: sql, parameters: Object.entries(parameters).map(([name, value]) => ({ name: `@${name}`, value })) });

async function faultOf(container, query, shop, way, pageSize) {
  try {
    const rows = await read(() => container, way, questionOf(query), { pageSize }, () => {});
    return findFault(expected(query, shop), rows.map((row) => withoutSystemProperties(row)));
  } catch (error) {
    return error.body?.message ?? error.stack ?? String(error);
  }
}

console.log(`seed ${seed}`);
const server = await Server.start();
const client = cosmosClient(server);
let faults = 0;
const begun = performance.now();
const first = args.round === undefined ? 0 : Number(args.round);
const end = args.round === undefined ? Number(args.rounds) : first + 1;
for (let round = first; round < end && faults < faults_max; ++round) {
  const random = new Random(seed, 'round', round);
  const shop = shopOf(random);
  const key = keys[round % keys.length];
  const container = await newContainer(client, { partitionKey: { paths: [key] } }, { offerThroughput: request_units_per_range * random.between(1, 3) });
  await Promise.all([...shop.customers, ...shop.depots].map((item) => container.items.create(item)));
  for (const query of queries) {
    const way = random.pick(ways.filter((each) => !each.plan));
    const pageSize = random.pick([7, 40, 500]);
    const fault = await faultOf(container, query, shop, way, pageSize);
    if (!fault) continue;
    ++faults;
    console.log(`\n${query.sql}\n${JSON.stringify(query.parameters ?? {})}\n  ${way.name} by ${pageSize}, partition key ${key}: ${fault}\n  again: efcore --seed ${seed} --round ${round}`);
  }
}
client.dispose();
await server.stop();
console.log(`${queries.length} texts, ${end - first} rounds, ${faults} faults, ${((performance.now() - begun) / 1000).toFixed(0)} s`);
process.exitCode = faults > 0 ? 1 : 0;
