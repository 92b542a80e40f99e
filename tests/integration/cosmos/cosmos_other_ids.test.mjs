// Replacements that give their item another id, which Azure Cosmos DB allows.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { changedOver } from '../copies/changed_over.mjs';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';
import { batchBody, batchResults } from '../hybrid_row.mjs';

describe('a replacement with another id', () => {
  let server, client, container;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client);
  });
  after(() => server?.stop());

  const ids = async (of, pk) => (await of.items.query('SELECT VALUE c.id FROM c ORDER BY c.id', { partitionKey: pk }).fetchAll()).resources;
  const operation = (id, other, pk) => ({ operationType: 'Replace', id, resourceBody: { id: other, pk } });

  test('moves the item to it', async () => {
    const { resource: before } = await container.items.create({ id: 'a', pk: 'one', n: 1 });
    const reply = await cosmosRequest(server, 'PUT', `/${container.url}/docs/a`, { partition: ['one'], body: { id: 'b', pk: 'one', n: 2 } });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.headers.etag, reply.body._etag);
    const { resource } = await container.item('b', 'one').read();
    assert.deepEqual(resource, reply.body);
    assert.deepEqual([resource.id, resource.n], ['b', 2]);
    assert.notEqual(resource._etag, before._etag);
    assert.deepEqual(await ids(container, 'one'), ['b']);
    assert.equal((await container.item('a', 'one').read()).statusCode, 404);
  });

  test('needs the item, its ETag if one is given, and a free id', async () => {
    await container.items.create({ id: 'a', pk: 'two' });
    await container.items.create({ id: 'taken', pk: 'two' });
    const replace = (id, other, options) => errorOf(container.item(id, 'two').replace({ id: other, pk: 'two' }, options));
    assert.equal((await replace('none', 'c')).code, 404);
    assert.equal((await replace('a', 'taken')).code, 409);
    assert.equal((await replace('a', 'c', { accessCondition: { type: 'IfMatch', condition: '"1-00000000000000000000000000000000"' } })).code, 412);
    assert.deepEqual(await ids(container, 'two'), ['a', 'taken']);
    const { resource } = await container.item('a', 'two').read();
    const condition = { accessCondition: { type: 'IfMatch', condition: resource._etag } };
    assert.equal((await container.item('a', 'two').replace({ id: 'c', pk: 'two' }, condition)).statusCode, 200);
    assert.deepEqual(await ids(container, 'two'), ['c', 'taken']);
  });

  test('keeps the unique keys of the item', async () => {
    const unique = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } });
    await unique.items.create({ id: 'a', pk: 'x', mail: 'ann@example.org' });
    await unique.items.create({ id: 'b', pk: 'x', mail: 'bob@example.org' });
    assert.equal((await unique.item('a', 'x').replace({ id: 'c', pk: 'x', mail: 'ann@example.org' })).statusCode, 200);
    assert.equal((await errorOf(unique.item('c', 'x').replace({ id: 'd', pk: 'x', mail: 'bob@example.org' }))).code, 409);
    assert.deepEqual(await ids(unique, 'x'), ['b', 'c']);
  });

  test('is an operation of a transactional batch', async () => {
    await container.items.create({ id: 'a', pk: 'three' });
    const reply = await container.items.batch([operation('a', 'b', 'three'), { operationType: 'Read', id: 'b' }, operation('b', 'c', 'three')], 'three');
    assert.deepEqual(reply.result.map((one) => one.statusCode), [200, 200, 200]);
    assert.equal(reply.result[2].resourceBody.id, 'c');
    const failed = await container.items.batch([operation('c', 'd', 'three'), { operationType: 'Read', id: 'c' }], 'three');
    assert.deepEqual(failed.result.map((one) => one.statusCode), [424, 404]);
    assert.deepEqual(await ids(container, 'three'), ['c']);
  });

  test('is one of a bulk request, of which a failed one changes nothing', async () => {
    const unique = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } });
    for (const id of ['a', 'b']) await unique.items.create({ id, pk: 'x', mail: id });
    const replace = (id, other, mail) => ({ operationType: 'Replace', partitionKey: 'x', id, resourceBody: { id: other, pk: 'x', mail } });
    const results = await unique.items.executeBulkOperations([replace('a', 'c', 'b'), replace('b', 'd', 'b')]);
    assert.deepEqual(results.map((one) => one.response?.statusCode ?? one.error.code), [409, 200]);
    assert.deepEqual(await ids(unique, 'x'), ['a', 'd']);
  });

  test('is one of a batch of the .NET client', async () => {
    await container.items.create({ id: 'a', pk: 'four' });
    const reply = await cosmosRequest(server, 'POST', `/${container.url}/docs`, {
      partition: ['four'],
      headers: { 'x-ms-cosmos-is-batch-request': 'True', 'x-ms-cosmos-batch-atomic': 'True' },
      body: batchBody([{ operationType: 5, id: 'a', resourceBody: { id: 'b', pk: 'four' } }]),
    });
    assert.deepEqual(batchResults(reply.bytes).map((one) => one.statusCode), [200], reply.text);
    assert.deepEqual(await ids(container, 'four'), ['b']);
  });

  test('runs triggers, which may give it another id, too', async () => {
    const guarded = await newContainer(client);
    await guarded.scripts.triggers.create({ id: 'name', triggerType: 'Pre', triggerOperation: 'Replace',
      body: 'function () { var r = getContext().getRequest(), b = r.getBody(); b.id += "!"; r.setBody(b); }' });
    await guarded.items.create({ id: 'a', pk: 'x' });
    const options = { preTriggerInclude: ['name'] };
    assert.equal((await guarded.item('a', 'x').replace({ id: 'a', pk: 'x' }, options)).resource.id, 'a!');
    assert.equal((await guarded.item('a!', 'x').replace({ id: 'b', pk: 'x' }, options)).resource.id, 'b!');
    assert.deepEqual(await ids(guarded, 'x'), ['b!']);
  });

  test('is not seen by queries of triggers after it', async () => {
    const watched = await newContainer(client);
    await watched.scripts.triggers.create({ id: 'seen', triggerType: 'Post', triggerOperation: 'Replace', body: `function () {
      var context = getContext(), collection = context.getCollection(), response = context.getResponse();
      collection.queryDocuments(collection.getSelfLink(), 'SELECT VALUE c.id FROM c', function (error, ids) {
        response.setBody(ids);
      });
    }` });
    await watched.items.create({ id: 'a', pk: 'x' });
    const reply = await watched.item('a', 'x').replace({ id: 'b', pk: 'x' }, { postTriggerInclude: ['seen'] });
    assert.deepEqual(reply.resource, ['a']);
    assert.deepEqual(await ids(watched, 'x'), ['b']);
  });

  test('is validated as a deletion and a creation', async () => {
    const guarded = await newContainer(client);
    const rules = 'function (after, before) { if (after._deleted && before.keep) throw { forbidden: "it stays" }; }';
    const path = `/${encodeURIComponent(`${guarded.database.id}/items`)}/_design/rules`;
    await guarded.items.create({ id: 'kept', pk: 'x', keep: true });
    await guarded.items.create({ id: 'free', pk: 'x' });
    assert.equal((await server.request('PUT', path, { body: { validate_doc_update: rules } })).status, 201);
    assert.equal((await errorOf(guarded.item('kept', 'x').replace({ id: 'a', pk: 'x' }))).code, 403);
    assert.equal((await guarded.item('free', 'x').replace({ id: 'b', pk: 'x' })).statusCode, 200);
    assert.deepEqual(await ids(guarded, 'x'), ['b', 'kept']);
  });

  test('is done by stored procedures, which continue after one that fails', async () => {
    const unique = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } });
    for (const id of ['a', 'b']) await unique.items.create({ id, pk: 'x', mail: id });
    await unique.scripts.storedProcedures.create({ id: 'give', body: `function (asked) {
      var context = getContext(), collection = context.getCollection(), done = [];
      asked.forEach(function (one) {
        collection.replaceDocument(collection.getAltLink() + '/docs/' + one.from, one.item, one.etag ? { etag: one.etag } : {},
          function (error, item) { done.push(error ? error.number : item.id); });
      });
      collection.queryDocuments(collection.getSelfLink(), 'SELECT VALUE c.id FROM c', function (error, ids) {
        context.getResponse().setBody({ done: done, ids: ids });
      });
    }` });
    const item = (id, mail) => ({ id, pk: 'x', mail });
    const asked = [
      { from: 'a', item: item('b', 'a') },
      { from: 'a', item: item('c', 'b') },
      { from: 'a', item: item('c', 'a'), etag: '"1-00000000000000000000000000000000"' },
      { from: 'none', item: item('c', 'a') },
      { from: 'a', item: item('c', 'a') },
      { from: 'b', item: item('a', 'b') },
    ];
    const { resource } = await unique.scripts.storedProcedure('give').execute('x', [asked]);
    assert.deepEqual(resource, { done: [409, 409, 412, 404, 'c', 'a'], ids: ['a', 'c'] });
    assert.deepEqual(await ids(unique, 'x'), ['a', 'c']);
    assert.equal((await unique.item('a', 'x').read()).resource.mail, 'b');
  });

  test('has the item and its id in the feed of changes, and both in that of versions', async () => {
    const versioned = await newContainer(client, { changeFeedPolicy: { retentionDuration: 60 } });
    const since = async (mode, etag) => {
      const headers = { 'A-IM': mode, ...(etag && { 'If-None-Match': etag }) };
      return cosmosRequest(server, 'GET', `/${versioned.url}/docs`, { headers });
    };
    await versioned.items.create({ id: 'a', pk: 'x', n: 1 });
    const { headers: { etag } } = await since('Incremental Feed');
    await versioned.item('a', 'x').replace({ id: 'b', pk: 'x', n: 2 });
    assert.deepEqual((await since('Incremental Feed', etag)).body.Documents.map(({ id, n }) => [id, n]), [['b', 2]]);
    const versions = (await since('Full-Fidelity Feed', etag)).body.Documents;
    assert.deepEqual(versions.map(({ metadata, current, previous }) => [metadata.operationType, (current.id ? current : previous).n]),
      [['delete', 1], ['create', 2]]);
    assert.deepEqual([versions[0].metadata.id, versions[1].current.id], ['a', 'b']);
  });

  test('is allowed to the holder of a token for both items', async () => {
    await container.items.create({ id: 'mine', pk: 'five' });
    const { user } = await container.database.users.create({ id: 'ann' });
    const tokenFor = async (id, resource, more) =>
      (await user.permissions.create({ id, permissionMode: 'all', resource, ...more })).resource._token;
    const replace = (token, from, id) => cosmosRequest(server, 'PUT', `/${container.url}/docs/${from}`, {
      partition: ['five'], body: { id, pk: 'five' }, headers: { authorization: encodeURIComponent(token) },
    });
    const ofItem = await tokenFor('item', `${container.url}/docs/mine`);
    assert.equal((await replace(ofItem, 'mine', 'mine')).status, 200);
    assert.equal((await replace(ofItem, 'mine', 'others')).status, 403);
    assert.deepEqual(await ids(container, 'five'), ['mine']);
    const ofKey = await tokenFor('key', container.url, { resourcePartitionKey: ['five'] });
    assert.equal((await replace(ofKey, 'mine', 'yours')).status, 200);
    assert.equal((await replace(await tokenFor('container', container.url), 'yours', 'ours')).status, 200);
    assert.deepEqual(await ids(container, 'five'), ['ours']);
  });

  test('outlives a crash', async () => {
    await container.items.create({ id: 'a', pk: 'six' });
    await container.item('a', 'six').replace({ id: 'b', pk: 'six' });
    await server.kill();
    await server.launch();
    const read = (id) => cosmosRequest(server, 'GET', `/${container.url}/docs/${id}`, { partition: ['six'] });
    assert.deepEqual([(await read('a')).status, (await read('b')).status], [404, 200]);
  });
});

describe('a replacement with another id, by the former key of its container', () => {
  let server;
  before(async () => {
    server = await Server.start();
    await cosmosClient(server).databases.create({ id: 'shop' });
  });
  after(() => server?.stop());

  const order = (id, more) => ({ id, region: 'r', user: 'u', ...more });
  const changed = (documents, from = ['/region']) => changedOver(server, from, ['/user'], documents);
  const idsOf = async ({ present }) => (await present.items.query('SELECT VALUE c.id FROM c ORDER BY c.id').fetchAll()).resources;
  const replace = (id, other, more) => ({ operationType: 'Replace', id, resourceBody: order(other, more) });

  test('moves the item', async () => {
    const orders = await changed([order('a')]);
    const { resource } = await orders.former.item('a', 'r').replace(order('b', { n: 1 }));
    assert.deepEqual([resource.id, resource.n], ['b', 1]);
    assert.equal((await orders.former.item('b', 'r').read()).resource.n, 1);
    assert.equal((await orders.former.item('a', 'r').read()).statusCode, 404);
    assert.equal((await orders.present.item('b', 'u').replace(order('c'))).statusCode, 200);
    assert.deepEqual(await idsOf(orders), ['c']);
  });

  test('makes no second item with the key and the id', async () => {
    const orders = await changed([order('a'), order('b', { user: 'v' }), order('c')]);
    for (const other of ['b', 'c']) assert.equal((await errorOf(orders.former.item('a', 'r').replace(order(other)))).code, 409, other);
    assert.deepEqual((await orders.former.items.batch([replace('a', 'b')], 'r')).result.map((one) => one.statusCode), [409]);
    const [bulk] = await orders.former.items.executeBulkOperations([{ ...replace('a', 'b'), partitionKey: 'r' }]);
    assert.equal(bulk.response?.statusCode ?? bulk.error.code, 409);
    assert.deepEqual(await idsOf(orders), ['a', 'b', 'c']);
  });

  test('does not change the former key', async () => {
    const byId = await changed([order('a')], ['/id']);
    const error = await errorOf(byId.former.item('a', 'a').replace(order('b')));
    assert.deepEqual([error.code, error.substatus], [400, 1001]);
    const byRegion = await changed([order('a')]);
    assert.equal((await errorOf(byRegion.former.item('a', 'r').replace(order('b', { region: 's' })))).substatus, 1001);
    for (const orders of [byId, byRegion]) assert.deepEqual(await idsOf(orders), ['a']);
  });

  test('is an operation of batches and bulk requests', async () => {
    const orders = await changed([order('a'), order('x')]);
    const reply = await orders.former.items.batch([replace('a', 'b'), replace('b', 'c'), { operationType: 'Read', id: 'c' }], 'r');
    assert.deepEqual(reply.result.map((one) => one.statusCode), [200, 200, 200]);
    const bulk = await orders.former.items.executeBulkOperations([{ ...replace('x', 'y'), partitionKey: 'r' }]);
    assert.deepEqual(bulk.map((one) => one.response?.statusCode ?? one.error.code), [200]);
    assert.deepEqual(await idsOf(orders), ['c', 'y']);
  });

  test('of two at once, one gets the id', async () => {
    const orders = await changed([order('a'), order('b', { user: 'v' })]);
    const tries = [orders.former.item('a', 'r').replace(order('c')), orders.former.item('b', 'r').replace(order('c', { user: 'v' }))];
    const statuses = await Promise.all(tries.map((one) => one.then((reply) => reply.statusCode, (error) => error.code)));
    assert.deepEqual(statuses.sort(), [200, 409]);
    assert.equal((await orders.former.item('c', 'r').read()).statusCode, 200);
  });
});
