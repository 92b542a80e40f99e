// The partition keys for a fleet of connected cars: what the program measures, on a small fleet.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { candidates, measureCandidate, table } from '../bench/cosmos/cars/candidates.mjs';
import { Fleet } from '../bench/cosmos/cars/data.mjs';
import { cosmosClient } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

const THROUGHPUT = 40_000;

describe('partition keys of connected cars', () => {
  let server, client;
  const fleet = new Fleet({ cars: 60, documentsPerCar: 1 });
  const documents = [...fleet.telemetry(fleet.months)].length;
  const measured = new Map();
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    const { database } = await client.databases.create({ id: 'cars' });
    for (const candidate of candidates) {
      measured.set(candidate.id, await measureCandidate(database, candidate, fleet, { throughput: THROUGHPUT }));
    }
  });
  after(async () => {
    client?.dispose();
    await server?.stop();
  });

  test('each container has four physical partitions, and the same documents in all', () => {
    for (const { name, physical } of measured.values()) {
      assert.deepEqual(physical.map(({ id }) => id), ['0', '1', '2', '3'], name);
      assert.equal(physical.reduce((sum, { documents: count }) => sum + count, 0), documents, name);
      const bytes = physical.reduce((sum, each) => sum + each.bytes, 0);
      assert.ok(bytes > documents * 900 && bytes < documents * 1300, `${name}: ${bytes}`);
    }
  });

  test('a container read without asking tells nothing of its partitions', async () => {
    const { resource } = await client.database('cars').container('by-device').read();
    assert.equal(resource.statistics, undefined);
  });

  test('by model: few values, unlike in size', () => {
    const byModel = measured.get('by-model');
    assert.ok(byModel.logicalPartitions <= 24);
    assert.ok(byModel.storageShare > 0.3, String(byModel.storageShare));
  });

  test('by month: storage spreads, but all that happens now meets one physical partition', () => {
    const byMonth = measured.get('by-month');
    assert.equal(byMonth.logicalPartitions, 12);
    assert.equal(byMonth.chargeShare, 1);
    assert.equal(byMonth.usableThroughput, THROUGHPUT / 4);
  });

  test('by device: storage and throughput spread, but a value grows for ever', () => {
    const byDevice = measured.get('by-device');
    assert.equal(byDevice.logicalPartitions, 60);
    assert.ok(byDevice.chargeShare < 0.6 && byDevice.usableThroughput > THROUGHPUT * 0.4, String(byDevice.chargeShare));
    const gigabytes = byDevice.largestBytes / 2 ** 30;
    assert.ok(gigabytes > 7 && gigabytes < 8, `an hourly driver's car sends ${gigabytes} GB in a year`);
    assert.ok(byDevice.period === 'year' && byDevice.fillsInDays < 3 * 365);
  });

  test('by device and month, in one property or two: all spreads, and no value fills up', () => {
    for (const id of ['by-device-and-month', 'by-hierarchy']) {
      const composite = measured.get(id);
      assert.equal(composite.logicalPartitions, 60 * 12);
      assert.ok(composite.storageShare < 0.5 && composite.chargeShare < 0.6, id);
      assert.equal(composite.fillsInDays, Infinity);
    }
    const [single, hierarchy] = ['by-device-and-month', 'by-hierarchy'].map((id) => measured.get(id).storageShare);
    assert.ok(single < 0.32, `one property spreads a car's months: ${single}`);
    assert.ok(hierarchy >= single, 'in a hierarchy they stay together');
  });

  test('the table has a line for each candidate', () => {
    const text = table([...measured.values()], THROUGHPUT);
    for (const { name } of candidates) assert.match(text, new RegExp(`^\\| ${name.replace('+', '\\+')} \\|`, 'm'));
    assert.ok(!text.includes('NaN') && !text.includes('undefined'), text);
  });
});
