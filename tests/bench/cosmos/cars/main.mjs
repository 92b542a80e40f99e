// Which partition key for a fleet of connected cars? Stores the same telemetry under each candidate and prints how
// storage and throughput spread. On a server that is running; scripts/cars.sh starts one.
import { parseArgs } from 'node:util';
import { CosmosClient } from '@azure/cosmos';
import { ProgressBar } from '../progress.mjs';
import { wellKnownKey } from '../well_known_key.mjs';
import { candidates, measureCandidate, table } from './candidates.mjs';
import { Fleet } from './data.mjs';

const { values } = parseArgs({
  options: {
    endpoint: { type: 'string', default: 'http://127.0.0.1:8081' },
    key: { type: 'string', default: wellKnownKey },
    cars: { type: 'string', default: '200' },
    throughput: { type: 'string', default: '80000' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log('node main.mjs [--endpoint URL] [--key KEY] [--cars N] [--throughput RU/s, a physical partition for each 10,000]');
  process.exit(0);
}

const client = new CosmosClient({ endpoint: values.endpoint, key: values.key });
const fleet = new Fleet({ cars: Number(values.cars) });
const throughput = Number(values.throughput);
const { database } = await client.databases.createIfNotExists({ id: 'cars' });
const documents = [...fleet.telemetry(fleet.months)].length;
const measured = [];
for (const candidate of candidates) {
  const bar = new ProgressBar(candidate.name, documents);
  measured.push(await measureCandidate(database, candidate, fleet, { throughput, bar }));
  bar.end();
}
console.log(`${fleet.cars.length} cars, ${fleet.months.length} months, ${documents} documents of 1 KB under each key; *throughput now*: the writes of ${fleet.currentMonth}.\n`);
console.log(table(measured, throughput));
client.dispose();
