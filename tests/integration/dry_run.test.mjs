// `Prefer: dry-run`: the plan of a query and what it would cost, without running it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, newContainer } from './cosmos.mjs';
import { expectError, expectStatus, Server } from './harness.mjs';

const dry = { headers: { Prefer: 'return=minimal, dry-run' } };

describe('dry runs', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('partitioned=true');
    const docs = [...Array(200).keys()].map((n) => ({ _id: `p${n % 4}:${n}`, n, kind: n % 2 ? 'odd' : 'even', text: 'x'.repeat(500) }));
    await server.fill(db, docs);
  });
  after(() => server?.stop());

  test('_find says its plan, what it would read and cost', async () => {
    const reply = await server.post(`/${db}/_find`, { selector: { kind: 'odd' }, limit: 1000 }, dry);
    const told = expectStatus(reply, 200);
    assert.equal(reply.headers['preference-applied'], 'dry-run');
    assert.equal(told.dry_run, true);
    assert.equal(told.docs, undefined);
    assert.equal(told.plan.branches.length, 1);
    assert.equal(told.estimate.keys_examined, 200);
    const real = await server.post(`/${db}/_find`, { selector: { kind: 'odd' }, limit: 1000 });
    assert.equal(real.body.docs.length, 100);
    const charged = Number(real.headers['x-request-charge']);
    assert.ok(Math.abs(told.estimate.request_charge - charged) < charged / 3, `${told.estimate.request_charge} ${charged}`);
  });

  test('an index makes it cheaper, and the dry run knows', async () => {
    const query = { selector: { n: { $gte: 190 } }, limit: 1000 };
    const before = expectStatus(await server.post(`/${db}/_find`, query, dry), 200);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n'] }, name: 'n', partitioned: false }), 200);
    expectStatus(await server.post(`/${db}/_find`, query), 200);
    const after = expectStatus(await server.post(`/${db}/_find`, query, dry), 200);
    assert.equal(after.estimate.keys_examined, 10);
    assert.ok(after.estimate.request_charge < before.estimate.request_charge / 2);
  });

  test('of a partition, it is about the partition', async () => {
    const told = expectStatus(await server.post(`/${db}/_partition/p1/_find`, { selector: { kind: 'odd' } }, dry), 200);
    assert.equal(told.estimate.keys_examined, 50);
  });

  test('_sql, too', async () => {
    const reply = await server.post(`/${db}/_sql`, { query: "SELECT c.n FROM c WHERE c.kind = 'odd'", limit: 1000 }, dry);
    const told = expectStatus(reply, 200);
    assert.equal(told.dry_run, true);
    assert.equal(told.estimate.keys_examined, 200);
    const real = await server.post(`/${db}/_sql`, { query: "SELECT c.n FROM c WHERE c.kind = 'odd'", limit: 1000 });
    const charged = Number(real.headers['x-request-charge']);
    assert.ok(Math.abs(told.estimate.request_charge - charged) < charged, `${told.estimate.request_charge} ${charged}`);
    assert.ok(Number(reply.headers['x-request-charge'] ?? 0) < charged);
  });

  test('a bad query is a bad query', async () => {
    expectError(await server.post(`/${db}/_find`, { selector: { $nonsense: 1 } }, dry), 400, 'invalid_operator');
    expectStatus(await server.post(`/${db}/_sql`, { query: 'SELECT' }, dry), 400);
  });

  test('a query of the Cosmos door answers one document', async () => {
    const container = await newContainer(cosmosClient(server));
    for (let n = 0; n < 20; n++) await container.items.create({ id: `${n}`, pk: 'x', n });
    const { resources } = await container.items
      .query('SELECT * FROM c', { partitionKey: 'x', initialHeaders: { Prefer: 'dry-run' } }).fetchNext();
    assert.equal(resources.length, 1);
    assert.equal(resources[0].dryRun, true);
    assert.equal(resources[0].estimate.keys_examined, 20);
    assert.ok(resources[0].plan.branches.length === 1);
  });
});
