// The Cosmos DB API's databases, containers, throughput, users and permissions, by @azure/cosmos.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CosmosClient } from '@azure/cosmos';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('resources of the Cosmos DB API', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  test('the account says where to read and write, and how consistent that is', async () => {
    const { resource } = await client.getDatabaseAccount();
    assert.equal(resource.writableLocations.length, 1);
    assert.equal(resource.readableLocations[0].databaseAccountEndpoint, `http://127.0.0.1:${server.cosmosPort}/`);
    assert.equal(resource.consistencyPolicy, 'Session');
  });

  test('databases are created, read, listed page by page, and deleted', async () => {
    for (const id of ['page-a', 'page-b', 'page-c']) {
      const { resource, statusCode } = await client.databases.create({ id });
      assert.equal(statusCode, 201);
      assert.equal(Buffer.from(resource._rid.replace(/-/g, '/'), 'base64').length, 4);
      assert.equal(resource._self, `dbs/${resource._rid}/`);
      assert.match(resource._etag, /^".+"$/);
      assert.ok(Math.abs(resource._ts - Date.now() / 1000) < 60);
    }
    const listed = [];
    const iterator = client.databases.readAll({ maxItemCount: 2 });
    let pages = 0;
    while (iterator.hasMoreResults()) {
      const { resources } = await iterator.fetchNext();
      listed.push(...(resources ?? []).map((one) => one.id));
      pages++;
    }
    assert.deepEqual(listed.filter((id) => id.startsWith('page-')), ['page-a', 'page-b', 'page-c']);
    assert.ok(pages >= 2);
    assert.equal((await client.database('page-b').read()).resource.id, 'page-b');
    assert.equal((await client.database('page-b').delete()).statusCode, 204);
    assert.equal((await errorOf(client.database('page-b').read())).code, 404);
    const again = await errorOf(client.databases.create({ id: 'page-a' }));
    assert.equal(again.code, 409);
    assert.equal((await client.databases.createIfNotExists({ id: 'page-a' })).statusCode, 200);
  });

  test('ids with spaces and other scripts are ids like any others', async () => {
    const { database } = await client.databases.create({ id: 'Größe & Maß 100%' });
    const { container } = await database.containers.create({ id: 'Ünïted +1', partitionKey: '/a/b' });
    assert.equal((await container.read()).resource.id, 'Ünïted +1');
    const { resource } = await container.items.create({ id: 'é 1+1=2 %20', a: { b: 'ключ' } });
    assert.equal((await container.item(resource.id, 'ключ').read()).resource.id, 'é 1+1=2 %20');
    await database.delete();
  });

  test('the version of a partition key may be a text, as the client for Java sends it', async () => {
    const { database } = await client.databases.createIfNotExists({ id: 'versions' });
    for (const [id, version] of [['v1', 'V1'], ['v2', 'V2']]) {
      const body = { id, partitionKey: { paths: ['/pk'], kind: 'Hash', version } };
      const reply = await cosmosRequest(server, 'POST', '/dbs/versions/colls', { body });
      assert.equal(reply.status, 201, reply.text);
      assert.equal(reply.body.partitionKey.version, Number(version[1]));
    }
    const body = { id: 'v3', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 'V3' } };
    assert.equal((await cosmosRequest(server, 'POST', '/dbs/versions/colls', { body })).status, 400);
    await database.delete();
  });

  test('kinds of indexes in a policy are kept for old clients only', async () => {
    const { database } = await client.databases.create({ id: 'kinds' });
    const indexes = [{ kind: 'Range', dataType: 'Number', precision: -1 }];
    const policyOf = async (method, target, id, version) => {
      const body = { id, partitionKey: { paths: ['/pk'] }, indexingPolicy: { includedPaths: [{ path: '/*', indexes }] } };
      const reply = await cosmosRequest(server, method, target, { body, headers: { 'x-ms-version': version } });
      return reply.body.indexingPolicy.includedPaths;
    };
    assert.deepEqual(await policyOf('POST', '/dbs/kinds/colls', 'old', '2017-02-22'), [{ path: '/*', indexes }]);
    assert.deepEqual(await policyOf('POST', '/dbs/kinds/colls', 'new', '2018-12-31'), [{ path: '/*' }]);
    assert.deepEqual(await policyOf('PUT', '/dbs/kinds/colls/old', 'old', '2020-07-15'), [{ path: '/*' }]);
    await database.delete();
  });

  test('a container cannot be made a materialized view, and projections are named', async () => {
    const materializedViewDefinition = { sourceCollectionId: 'items', definition: 'SELECT c.id FROM c' };
    const error = await errorOf(newContainer(client, { materializedViewDefinition }));
    assert.equal(error.code, 400);
    assert.match(error.message, /_projection/);
  });

  test('a container with an analytical store is refused as long as analytics are not enabled', async () => {
    for (const analyticalStorageTtl of [-1, 3600]) {
      const error = await errorOf(newContainer(client, { analyticalStorageTtl }));
      assert.equal(error.code, 400);
      assert.match(error.message, /Analytics are not enabled/);
    }
    assert.match((await errorOf(newContainer(client, { analyticalStorageTtl: -2 }))).message, /analyticalStorageTtl must be/);
    const container = await newContainer(client, { analyticalStorageTtl: 0 });
    const { resource } = await container.read();
    assert.equal((await errorOf(container.replace({ ...resource, analyticalStorageTtl: -1 }))).code, 400);
  });

  test('the log names members of a container that do nothing', async () => {
    const container = await newContainer(client, { inventedMember: 1 });
    assert.equal((await container.read()).resource.inventedMember, 1);
    assert.ok(server.lines.some((line) => line.includes('members that do nothing here: "inventedMember"')));
    const { resource } = await (await newContainer(client)).read();
    const before = server.lines.length;
    await container.replace({ ...resource, id: container.id, partitionKey: { paths: ['/pk'] } });
    assert.ok(!server.lines.slice(before).some((line) => line.includes('members that do nothing')));
  });

  test('a client in direct mode is told to use the gateway', async () => {
    for (const target of ['/addresses/?$resolveFor=dbs', '//addresses/']) {
      const reply = await cosmosRequest(server, 'GET', target);
      assert.equal(reply.status, 400);
      assert.match(reply.body.message, /ConnectionMode\.Gateway/);
    }
    const { database } = await client.databases.create({ id: 'addresses' });
    assert.equal((await database.read()).statusCode, 200);
  });

  test('a client that takes the link of an offer for its id is told the path', async () => {
    const reply = await cosmosRequest(server, 'PUT', '/offers/offers/AbCd', { id: 'AbCd' });
    assert.equal(reply.status, 400);
    assert.match(reply.body.message, /\/offers\/\{id\}/);
  });

  test('a container is completed with defaults, and keeps what it was given', async () => {
    const container = await newContainer(client);
    const { resource } = await container.read();
    assert.deepEqual(resource.partitionKey, { paths: ['/pk'], kind: 'Hash', version: 2 });
    assert.deepEqual(resource.indexingPolicy, {
      indexingMode: 'consistent', automatic: true,
      includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/"_etag"/?' }],
    });
    assert.equal(resource.conflictResolutionPolicy.mode, 'LastWriterWins');
    assert.deepEqual(resource.geospatialConfig, { type: 'Geography' });
    assert.equal(Buffer.from(resource._rid.replace(/-/g, '/'), 'base64').length, 8);
    const rich = await newContainer(client, {
      partitionKey: { paths: ['/tenant', '/user/id'], kind: 'MultiHash', version: 2 },
      defaultTtl: 3600,
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] },
      indexingPolicy: {
        indexingMode: 'consistent', includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/blob/*' }],
        compositeIndexes: [[{ path: '/a', order: 'ascending' }, { path: '/b', order: 'descending' }]],
      },
      computedProperties: [{ name: 'lower', query: 'SELECT VALUE LOWER(c.name) FROM c' }],
    });
    const read = (await rich.read()).resource;
    assert.equal(read.partitionKey.kind, 'MultiHash');
    assert.equal(read.defaultTtl, 3600);
    assert.deepEqual(read.uniqueKeyPolicy.uniqueKeys, [{ paths: ['/email'] }]);
    assert.equal(read.indexingPolicy.compositeIndexes[0][1].order, 'descending');
    assert.equal(read.computedProperties[0].name, 'lower');
  });

  test('a container is replaced, but for its key, its unique keys and its id', async () => {
    const container = await newContainer(client);
    const { resource } = await container.read();
    const replaced = await container.replace({ ...resource, defaultTtl: 100 });
    assert.equal(replaced.resource.defaultTtl, 100);
    assert.notEqual(replaced.resource._etag, resource._etag);
    assert.equal((await errorOf(container.replace({ ...resource, partitionKey: { paths: ['/other'] } }))).code, 400);
    assert.equal((await errorOf(container.replace({ ...resource, id: 'other' }))).code, 400);
    assert.equal((await container.delete()).statusCode, 204);
    assert.equal((await errorOf(container.read())).code, 404);
  });

  test('mistakes in a definition are named', async () => {
    const { database } = await client.databases.create({ id: 'mistakes' });
    const mistake = async (definition) => {
      const error = await errorOf(database.containers.create({ id: 'x', partitionKey: { paths: ['/pk'] }, ...definition }));
      assert.equal(error.code, 400, JSON.stringify(definition));
      return error.body.message;
    };
    assert.match(await mistake({ partitionKey: { paths: ['pk'] } }), /path 'pk' could not be accepted/);
    for (const path of ['/pk/', '/pk/*', '/pk/?', '/']) assert.match(await mistake({ partitionKey: { paths: [path] } }), /trailing slash or wildcard/);
    assert.match(await mistake({ defaultTtl: null }), /defaultTtl/);
    assert.match(await mistake({ partitionKey: { paths: ['/a', '/b'], kind: 'Hash' } }), /Too many/);
    assert.match(await mistake({ partitionKey: { paths: ['/a'], kind: 'Range' } }), /kind/);
    assert.match(await mistake({ partitionKey: { paths: ['/a'], version: 3 } }), /version/);
    assert.match(await mistake({ defaultTtl: 0 }), /defaultTtl/);
    assert.match(await mistake({ indexingPolicy: { includedPaths: [{ path: '/a/?' }] } }), /mandatory/);
    assert.match(await mistake({ indexingPolicy: { includedPaths: [{ path: '/*' }, { path: '/a' }] } }), /'\/a'/);
    assert.match(await mistake({ indexingPolicy: { includedPaths: [{ path: '/*' }], compositeIndexes: [[{ path: '/a' }]] } }), /composite/);
    assert.match(await mistake({ uniqueKeyPolicy: { uniqueKeys: [{ paths: [] }] } }), /unique key/);
    assert.match(await mistake({ id: 'x'.repeat(256) }), /a unique non-empty string less than '255' characters/);
    assert.match(await mistake({ computedProperties: {} }), /One of the specified inputs is invalid/);
    await database.delete();
  });

  test('policies of searches that are not there are refused, and taken when they are empty', async () => {
    const embedding = { path: '/v', dataType: 'float32', distanceFunction: 'cosine', dimensions: 3 };
    const [vectorEmbeddingPolicy, fullTextPolicy] = [{ vectorEmbeddings: [embedding] }, { defaultLanguage: 'en-US', fullTextPaths: [{ path: '/t' }] }];
    for (const [definition, message] of [
      [{ vectorEmbeddingPolicy }, /no vector search.*'vectorEmbeddings' of 'vectorEmbeddingPolicy'/],
      [{ indexingPolicy: { vectorIndexes: [{ path: '/v', type: 'flat' }] } }, /no vector search/],
      [{ fullTextPolicy }, /no full-text search/],
      [{ indexingPolicy: { fullTextIndexes: [{ path: '/t' }] } }, /no full-text search/],
    ]) {
      const error = await errorOf(newContainer(client, definition));
      assert.equal(error.code, 400, JSON.stringify(definition));
      assert.match(error.body.message, message);
    }
    const container = await newContainer(client, {
      vectorEmbeddingPolicy: { vectorEmbeddings: [] }, fullTextPolicy: { defaultLanguage: 'en-US', fullTextPaths: [] },
      indexingPolicy: { vectorIndexes: [], fullTextIndexes: [] } });
    const { resource } = await container.read();
    assert.equal((await errorOf(container.replace({ ...resource, vectorEmbeddingPolicy }))).code, 400);
  });

  test('bounds belong to spatial indexes on a plane, and only to these', async () => {
    const policy = (more) => ({ includedPaths: [{ path: '/*' }], spatialIndexes: [{ path: '/l/*', types: ['Point'], ...more }] });
    const bounds = { boundingBox: { xmin: 0, ymin: 0, xmax: 10, ymax: 10 } };
    const plane = { type: 'Geometry' };
    assert.match((await errorOf(newContainer(client, { indexingPolicy: policy(bounds) }))).body.message, /boundingBox/);
    assert.match((await errorOf(newContainer(client, { geospatialConfig: plane, indexingPolicy: policy() }))).body.message, /boundingBox/);
    await newContainer(client, { geospatialConfig: plane, indexingPolicy: policy(bounds) });
    await newContainer(client, { indexingPolicy: policy() });
  });

  test('an index leaves out the entity tag unless its policy names it', async () => {
    const etag = { path: '/"_etag"/?' };
    const container = await newContainer(client, { indexingPolicy: { includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/blob/*' }] } });
    const { resource } = await container.read();
    assert.deepEqual(resource.indexingPolicy.excludedPaths, [{ path: '/blob/*' }, etag]);
    const chosen = { includedPaths: [{ path: '/a/?' }], excludedPaths: [{ path: '/*' }] };
    const replaced = await container.replace({ ...resource, indexingPolicy: chosen });
    assert.deepEqual(replaced.resource.indexingPolicy.excludedPaths, [{ path: '/*' }, etag]);
    const unquoted = { includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/_etag/?' }] };
    const other = await newContainer(client, { indexingPolicy: unquoted });
    assert.deepEqual((await other.read()).resource.indexingPolicy.excludedPaths, unquoted.excludedPaths);
  });

  test('an old client creates a container without a key, and asks for items without one', async () => {
    const { database } = await client.databases.create({ id: 'without-keys' });
    const headers = { 'x-ms-version': '2018-06-18' };
    const ask = (method, target, body, more = headers) => cosmosRequest(server, method, `/dbs/without-keys/colls${target}`, { body, headers: more });
    assert.equal((await ask('POST', '', { id: 'new' }, {})).status, 400);
    const made = await ask('POST', '', { id: 'old' });
    assert.equal(made.status, 201, made.text);
    const newer = await ask('GET', '/old', undefined, {});
    assert.deepEqual([newer.body.partitionKey.paths, newer.body.partitionKey.systemKey], [['/_partitionKey'], true]);
    assert.equal((await ask('POST', '/old/docs', { id: 'a', n: 1 })).status, 201);
    assert.equal((await ask('GET', '/old/docs/a')).body.n, 1);
    assert.equal((await ask('PUT', '/old/docs/a', { id: 'a', n: 2 })).status, 200);
    const replaced = await ask('PUT', '/old', { id: 'old', partitionKey: { paths: ['/_partitionKey'], kind: 'Hash' }, defaultTtl: 1000 });
    assert.deepEqual([replaced.status, replaced.body.defaultTtl], [200, 1000]);
    // Old clients would ask programs for the value of a key that they see.
    const { body: listed } = await ask('GET', '');
    for (const shown of [made.body, replaced.body, (await ask('GET', '/old')).body, listed.DocumentCollections[0]]) {
      assert.equal(shown.id, 'old');
      assert.ok(!('partitionKey' in shown), JSON.stringify(shown));
    }
    assert.equal((await ask('GET', '/old', undefined, {})).body.partitionKey.systemKey, true);
    // Newer clients name these items as those without a key.
    assert.equal((await database.container('old').item('a', undefined).read()).resource.n, 2);
    assert.equal((await ask('DELETE', '/old/docs/a')).status, 204);
  });

  test('client encryption keys are kept as clients wrap them', async () => {
    const { database } = await client.databases.create({ id: 'encrypted' });
    const keys = '/dbs/encrypted/clientencryptionkeys';
    const ask = async (status, method, target, options) => {
      const reply = await cosmosRequest(server, method, target, options);
      assert.equal(reply.status, status, `${method} ${target}: ${reply.text}`);
      return reply;
    };
    const key = { id: 'k1', encryptionAlgorithm: 'AEAD_AES_256_CBC_HMAC_SHA256', wrappedDataEncryptionKey: 'AAEC',
      keyWrapMetadata: { type: 'test', name: 'n', value: 'v', algorithm: 'RSA-OAEP' } };
    const { body: made, headers } = await ask(201, 'POST', keys, { body: key });
    const { _rid, _self, _etag, _ts, ...own } = made;
    assert.deepEqual(own, key);
    assert.equal(headers.etag, _etag);
    assert.match(_self, /^dbs\/.+\/clientencryptionkeys\/.+\/$/);
    assert.ok(_rid && _ts);
    await ask(409, 'POST', keys, { body: key });
    for (const wrong of [{ encryptionAlgorithm: 1 }, { wrappedDataEncryptionKey: undefined }, { keyWrapMetadata: 'x' }]) {
      await ask(400, 'POST', keys, { body: { ...key, id: 'wrong', ...wrong } });
    }
    assert.deepEqual((await ask(200, 'GET', `${keys}/k1`)).body, made);
    assert.deepEqual((await ask(200, 'GET', `/${_self}`)).body, made);
    await ask(201, 'POST', keys, { body: { ...key, id: 'k2' } });
    assert.deepEqual((await ask(200, 'GET', keys)).body.ClientEncryptionKeys.map(({ id }) => id), ['k1', 'k2']);
    const isQuery = { 'x-ms-documentdb-isquery': 'True', 'content-type': 'application/query+json' };
    const found = await ask(200, 'POST', keys, { body: { query: "SELECT VALUE k.id FROM k WHERE k.id = 'k2'" }, headers: isQuery });
    assert.deepEqual(found.body.ClientEncryptionKeys, ['k2']);
    const changed = { ...key, wrappedDataEncryptionKey: 'BBBB' };
    await ask(412, 'PUT', `${keys}/k1`, { body: changed, headers: { 'If-Match': '"other"' } });
    assert.equal((await ask(200, 'PUT', `${keys}/k1`, { body: changed, headers: { 'If-Match': _etag } })).body.wrappedDataEncryptionKey, 'BBBB');
    await ask(400, 'PUT', `${keys}/k1`, { body: { ...changed, id: 'k3' } });
    await ask(404, 'PUT', `${keys}/k3`, { body: { ...changed, id: 'k3' } });
    await ask(405, 'DELETE', `${keys}/k1`);
    await ask(404, 'GET', '/dbs/none/clientencryptionkeys');

    const definition = { id: 'c', partitionKey: { paths: ['/pk'] }, clientEncryptionPolicy: { includedPaths: [], policyFormatVersion: 1 } };
    const { body: resource } = await ask(201, 'POST', '/dbs/encrypted/colls', { body: definition });
    assert.deepEqual(resource.clientEncryptionPolicy, definition.clientEncryptionPolicy);
    const intended = (rid) => ({ body: { id: rid, pk: 'x' }, headers: { 'x-ms-cosmos-intended-collection-rid': rid } });
    await ask(201, 'POST', '/dbs/encrypted/colls/c/docs', intended(resource._rid));
    assert.equal((await ask(400, 'POST', '/dbs/encrypted/colls/c/docs', intended('other'))).headers['x-ms-substatus'], '1024');
    await database.delete();
    await client.databases.create({ id: 'encrypted' });
    assert.deepEqual((await ask(200, 'GET', keys)).body.ClientEncryptionKeys, []);
  });

  test('throughput is provisioned, read and changed, by hand and automatic', async () => {
    const container = await newContainer(client, { throughput: 1000 });
    const { resource: offer } = await container.readOffer();
    assert.equal(offer.content.offerThroughput, 1000);
    assert.equal(offer.offerVersion, 'V2');
    offer.content.offerThroughput = 2000;
    assert.equal((await client.offer(offer.id).replace(offer)).resource.content.offerThroughput, 2000);
    assert.equal((await client.offer(offer.id).read()).resource.content.offerThroughput, 2000);
    const automatic = await newContainer(client, { maxThroughput: 4000 });
    const { resource } = await automatic.readOffer();
    assert.equal(resource.content.offerAutopilotSettings.maxThroughput, 4000);
    assert.equal((await errorOf(newContainer(client, { throughput: 150 }))).code, 400);
    assert.ok((await client.offers.readAll().fetchAll()).resources.length >= 2);
  });

  test('the percentage by which Azure raises the maximum of autoscale is kept, and sent back', async () => {
    const { database } = await client.databases.create({ id: 'raised' });
    const settings = (max, percent) => ({ maxThroughput: max, autoUpgradePolicy: { throughputPolicy: { incrementPercent: percent } } });
    const create = (id, asked) => cosmosRequest(server, 'POST', '/dbs/raised/colls', { body: { id, partitionKey: { paths: ['/pk'], kind: 'Hash' } },
      headers: { 'x-ms-cosmos-offer-autopilot-settings': JSON.stringify(asked) } });
    assert.equal((await create('c', settings(7000, 0))).status, 201);
    const { resource: offer } = await database.container('c').readOffer();
    assert.deepEqual(offer.content.offerAutopilotSettings, settings(7000, 0));
    offer.content.offerAutopilotSettings = settings(5000, 20);
    await client.offer(offer.id).replace(offer);
    assert.deepEqual((await client.offer(offer.id).read()).resource.content.offerAutopilotSettings, settings(5000, 20));
    const refused = await create('d', settings(-200, 0));
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /Requested throughput -200 is less than required minimum throughput 1000/);
    assert.match((await create('d', settings(4000, 'many'))).body.message, /incrementPercent must be/);
  });

  test('throughput decides the number of physical partitions, whose ranges cover the key space', async () => {
    const container = await newContainer(client, { throughput: 30_000 });
    const { resources } = await container.readPartitionKeyRanges().fetchAll();
    assert.deepEqual(resources.map((range) => range.id), ['0', '1', '2']);
    assert.equal(resources[0].minInclusive, '');
    assert.equal(resources[2].maxExclusive, 'FF');
    assert.equal(resources[0].maxExclusive, resources[1].minInclusive);
  });

  test('a container has a physical partition for each 10,000 RU/s, not 6,000 as on Azure', async () => {
    for (const [throughput, ranges] of [[10_000, 1], [18_000, 2]]) {
      const container = await newContainer(client, { throughput });
      assert.equal((await container.readPartitionKeyRanges().fetchAll()).resources.length, ranges, `${throughput} RU/s`);
    }
  });

  test('permissions give tokens, which open what they name and nothing else', async () => {
    const container = await newContainer(client);
    const other = await newContainer(client);
    await container.items.create({ id: 'a', pk: 'x' });
    const { user } = await container.database.users.create({ id: 'ann' });
    const { resource: permission } = await user.permissions.create({ id: 'read', permissionMode: 'read', resource: container.url });
    assert.match(permission._token, /^type=resource&ver=1\.0&sig=/);
    const reader = new CosmosClient({ endpoint: `http://127.0.0.1:${server.cosmosPort}`, resourceTokens: { [container.url]: permission._token } });
    const item = reader.database(container.database.id).container(container.id).item('a', 'x');
    assert.equal((await item.read()).resource.id, 'a');
    const denied = await errorOf(item.delete());
    assert.equal(denied.code, 403);
    const elsewhere = new CosmosClient({ endpoint: `http://127.0.0.1:${server.cosmosPort}`, resourceTokens: { [other.url]: permission._token } });
    assert.equal((await errorOf(elsewhere.database(other.database.id).container(other.id).item('a', 'x').read())).code, 403);
    assert.deepEqual((await user.permissions.readAll().fetchAll()).resources.map((one) => one.id), ['read']);
    await user.permission('read').delete();
    assert.equal((await errorOf(item.read())).code, 403);
    assert.deepEqual((await container.database.users.readAll().fetchAll()).resources.map((one) => one.id), ['ann']);
    await user.delete();
    assert.equal((await errorOf(user.read())).code, 404);
  });

  test('everything is there after a restart', async () => {
    const container = await newContainer(client, { throughput: 20_000, defaultTtl: -1 });
    const { resource: before } = await container.read();
    await container.items.create({ id: 'a', pk: 'x', n: 12345 });
    await server.stop({ keepFolder: true });
    await server.launch();
    client = cosmosClient(server);
    const again = client.database(container.database.id).container('items');
    assert.deepEqual((await again.read()).resource, before);
    assert.equal((await again.item('a', 'x').read()).resource.n, 12345);
    assert.equal((await again.readPartitionKeyRanges().fetchAll()).resources.length, 2);
  });
});
