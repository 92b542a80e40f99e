// Requests as azcosmos, the client for Go, sends them. tests/clients/go runs the client itself, where Go is installed.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('requests of the Cosmos DB client for Go', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  const query = (target, text, headers, partition) => cosmosRequest(server, 'POST', target, {
    partition, headers: { 'content-type': 'application/query+json', ...headers }, body: { query: text, parameters: [] } });

  test('a query is known by x-ms-documentdb-query, and by its content type', async () => {
    const container = await newContainer(client);
    await container.items.create({ id: 'a', pk: 'x' });
    for (const headers of [{ 'x-ms-documentdb-query': 'True', 'content-type': 'application/json' }, {}]) {
      const items = await query(`/${container.url}/docs`, 'SELECT VALUE c.id FROM c', headers, ['x']);
      assert.deepEqual([items.status, items.body.Documents], [200, ['a']], items.text);
      const containers = await query(`/dbs/${container.database.id}/colls`, 'SELECT VALUE c.id FROM c', headers);
      assert.deepEqual(containers.body.DocumentCollections, ['items'], containers.text);
      const databases = await query('/dbs', `SELECT VALUE d.id FROM d WHERE d.id = '${container.database.id}'`, headers);
      assert.deepEqual(databases.body.Databases, [container.database.id], databases.text);
      const users = await query(`/dbs/${container.database.id}/users`, 'SELECT * FROM u', headers);
      assert.deepEqual(users.body.Users, [], users.text);
      const procedures = await query(`/${container.url}/sprocs`, 'SELECT * FROM s', headers);
      assert.deepEqual(procedures.body.StoredProcedures, [], procedures.text);
    }
  });

  test('a key that only reads may send such queries', async (t) => {
    const key = Buffer.from('a key that reads').toString('base64');
    const own = await Server.startFor(t, { env: { OCTAVO_COSMOS_KEY: 'emulator', OCTAVO_COSMOS_READ_ONLY_KEY: key } });
    const container = await newContainer(cosmosClient(own));
    const reply = await cosmosRequest(own, 'POST', `/${container.url}/docs`, {
      key, body: { query: 'SELECT * FROM c' }, headers: { 'content-type': 'application/query+json', 'x-ms-documentdb-query': 'True' } });
    assert.equal(reply.status, 200, reply.text);
  });

  test('a query of offers returns the one of the resource that it names, and no other', async () => {
    const { database } = await client.databases.create({ id: 'offers', throughput: 400 });
    const { resource: with_one } = await database.containers.create({ id: 'one', partitionKey: '/pk', throughput: 500 });
    const { resource: without } = await database.containers.create({ id: 'other', partitionKey: '/pk', throughput: undefined });
    const find = async (condition) => {
      const reply = await query('/offers', `SELECT * FROM c WHERE ${condition}`);
      assert.equal(reply.status, 200, reply.text);
      return reply.body.Offers.map((offer) => offer.content.offerThroughput);
    };
    assert.deepEqual(await find(`c.offerResourceId = '${with_one._rid}'`), [500]);
    assert.deepEqual(await find(`c.resource = "${with_one._self}"`), [500]);
    assert.deepEqual(await find(`c.content.offerThroughput = 500 AND c.offerVersion = 'V2'`), [500]);
    assert.deepEqual(await find(`c.offerResourceId = '${without._rid}'`), []);
    assert.equal((await query('/offers', 'SELEC')).status, 400);
  });

  test('changes since a time whose zone is UTC', async () => {
    const container = await newContainer(client);
    await container.items.create({ id: 'a', pk: 'x' });
    const changes = async (zone) => (await cosmosRequest(server, 'GET', `/${container.url}/docs`, {
      headers: { 'A-IM': 'Incremental Feed', 'If-Modified-Since': new Date(Date.now() - 60_000).toUTCString().replace('GMT', zone) } }));
    for (const zone of ['GMT', 'UTC']) assert.deepEqual((await changes(zone)).body.Documents?.map((item) => item.id), ['a'], zone);
    for (const zone of ['CET', '', 'UTC+1']) assert.equal((await changes(zone)).status, 400, zone);
  });
});
