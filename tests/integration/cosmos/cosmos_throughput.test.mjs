// Provisioned throughput on the Cosmos DB API: budgets, refusals that the client waits out by itself, what is spent where.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server, sleep } from '../harness.mjs';

/// A client that does not wait and try again.
const impatient = (server) => cosmosClient(server, { connectionPolicy: { retryOptions: { maxRetryAttemptCount: 0 } } });

/// Costs some 180 request units: half a second of 400, however slow the machine is.
const large = 'x'.repeat(400_000);

async function untilRefused(container, tries = 50) {
  for (let n = 0; n < tries; n++) {
    try {
      await container.items.upsert({ id: `i${n % 20}`, pk: 'x', large });
    } catch (error) {
      if (error.code === 429) return error;
      throw error;
    }
  }
  throw new Error(`nothing refused in ${tries} requests`);
}

describe('throughput of containers', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = impatient(server);
  });
  after(() => server?.stop());

  test('requests to a container without throughput are never refused', async () => {
    const container = await newContainer(client);
    for (let n = 0; n < 10; n++) await container.items.upsert({ id: 'a', pk: 'x', large });
    assert.equal((await container.readOffer()).resource.content.offerThroughput, 400);
  });

  test('a spent budget is 429 with substatus 3200 and the time to wait', async () => {
    const container = await newContainer(client, { throughput: 400 });
    const error = await untilRefused(container);
    assert.equal(error.substatus, 3200);
    assert.ok(error.retryAfterInMs > 0 && error.retryAfterInMs <= 10_000, String(error.retryAfterInMs));
    let raw;
    for (let n = 0; n < 50 && raw?.status !== 429; n++) {
      raw = await cosmosRequest(server, 'POST', `/${container.url}/docs`, {
        body: { id: `r${n}`, pk: 'x', large }, partition: ['x'],
      });
    }
    assert.equal(raw.status, 429);
    assert.equal(raw.body.code, 'TooManyRequests');
    assert.match(raw.body.message, /Request rate is large/);
    assert.equal(raw.headers['x-ms-substatus'], '3200');
    assert.equal(raw.headers['x-ms-request-charge'], '0.00');
    assert.ok(Number(raw.headers['x-ms-retry-after-ms']) > 0);
    // Reading the container costs none of it.
    assert.equal((await container.read()).statusCode, 200);
  });

  test('queries, lists, patches and batches pay from the same budget', async () => {
    const container = await newContainer(client, { throughput: 400 });
    await container.items.upsert({ id: 'a', pk: 'x', n: 0 });
    const kinds = {
      read: () => container.item('a', 'x').read(),
      query: () => container.items.query('SELECT * FROM c').fetchNext(),
      list: () => container.items.readAll().fetchNext(),
      patch: () => container.item('a', 'x').patch([{ op: 'incr', path: '/n', value: 1 }]),
      batch: () => container.items.batch([{ operationType: 'Upsert', resourceBody: { id: 'b', pk: 'x' } }], 'x'),
    };
    for (const [kind, run] of Object.entries(kinds)) {
      let refused;
      for (let n = 0; n < 20 && !refused; n++) {
        await untilRefused(container);
        refused = await run().then(() => undefined, (error) => error);
      }
      // The client keeps only the message of a refused batch.
      assert.match(`${refused?.code} ${refused?.message}`, kind === 'batch' ? /Request rate is large/ : /^429/, kind);
    }
  });

  test('the client waits and succeeds by itself', async () => {
    const patient = cosmosClient(server);
    const container = await newContainer(patient, { throughput: 400 });
    const begun = Date.now();
    let spent = 0;
    for (let n = 0; n < 6; n++) spent += (await container.items.upsert({ id: `i${n}`, pk: 'x', large })).requestCharge;
    // The first second's worth and the last request are not waited for.
    const least = ((spent - spent / 6 - 400) / 400) * 1000;
    assert.ok(least > 500, String(spent));
    assert.ok(Date.now() - begun > least, `${Date.now() - begun} ms for ${spent}`);
  });

  test('autoscale counts up to its maximum', async () => {
    const container = await newContainer(client, { maxThroughput: 4000 });
    for (let n = 0; n < 10; n++) await container.items.upsert({ id: `i${n}`, pk: 'x', large });
    assert.equal((await container.readOffer()).resource.content.offerAutopilotSettings.maxThroughput, 4000);
  });

  test('a replaced offer is in force at once', async () => {
    const container = await newContainer(client, { throughput: 400 });
    await untilRefused(container);
    const { resource } = await container.readOffer();
    resource.content.offerThroughput = 100_000;
    await client.offer(resource.id).replace(resource);
    await sleep(1000);
    for (let n = 0; n < 20; n++) await container.items.upsert({ id: 'a', pk: 'x', large });
  });

  test('an offer says how low it may be, and how much is stored', async () => {
    const container = await newContainer(client, { throughput: 600 });
    await container.items.create({ id: 'a', pk: 'x', text: 'x'.repeat(6000) });
    const { resource } = await container.readOffer();
    assert.ok(resource.content.offerMinimumThroughputParameters.maxConsumedStorageEverInKB >= 5);
    const { headers } = await client.offer(resource.id).read();
    assert.equal(headers['x-ms-cosmos-min-throughput'], '400');
    resource.content.offerThroughput = 300;
    await assert.rejects(client.offer(resource.id).replace(resource), /between 400 and 1000000 inclusive in increments of 100/);
  });

  test('the containers of a database share its throughput', async () => {
    const { database } = await client.databases.create({ id: 'shared', throughput: 400 });
    const make = async (id) => (await database.containers.create({ id, partitionKey: { paths: ['/pk'] } })).container;
    const [one, other] = [await make('one'), await make('other')];
    let refused;
    for (let n = 0; n < 20 && !refused; n++) {
      await untilRefused(one);
      refused = await other.items.upsert({ id: 'a', pk: 'x' }).then(() => undefined, (error) => error);
    }
    assert.equal(refused.code, 429);
    await server.kill();
    await server.relaunch();
    client = impatient(server);
    assert.equal((await untilRefused(client.database('shared').container('one'))).code, 429);
  });

  test('physical partitions have a share each, and the hot one is seen', async () => {
    const container = await newContainer(client, { throughput: 20_000 });
    const { resource: before } = await container.readPartitionKeyRanges().fetchAll().then(({ resources }) => ({ resource: resources }));
    assert.equal(before.length, 2);
    for (let n = 0; n < 30; n++) await container.items.upsert({ id: 'a', pk: 'hot' });
    await container.items.upsert({ id: 'a', pk: 'cool' });
    const reply = await cosmosRequest(server, 'GET', `/${container.url}`, {
      headers: { 'x-ms-documentdb-populatepartitionstatistics': 'True' },
    });
    const { statistics } = reply.body;
    assert.deepEqual(statistics.map((one) => one.id), ['0', '1']);
    const keys = statistics.flatMap((one) => one.partitionKeys).sort((a, b) => b._requestUnits - a._requestUnits);
    assert.deepEqual(keys[0].partitionKey, ['hot']);
    assert.ok(keys[0]._requestUnits > 100);
    assert.equal(statistics.reduce((sum, one) => sum + one.documentCount, 0), 2);
    assert.equal((await cosmosRequest(server, 'GET', `/${container.url}`)).body.statistics, undefined);
  });
});
