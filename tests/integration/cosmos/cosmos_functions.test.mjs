// Triggers and user-defined functions of the Cosmos DB API, by @azure/cosmos, and functions that both APIs have.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { truncateFeed } from '../bench/cosmos/blog/functions.mjs';
import { cosmosClient, errorOf, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('triggers of the Cosmos DB API', () => {
  let server, client, container;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client);
  });
  after(() => server?.stop());

  const trigger = (id, triggerType, triggerOperation, body) =>
    container.scripts.triggers.create({ id, triggerType, triggerOperation, body });

  test('they are resources, of two types', async () => {
    const { resource } = await trigger('t', 'pre', 'all', 'function () {}');
    assert.equal(resource.triggerType, 'pre');  // clients in Python write it in lower case, and compare
    assert.equal(resource.triggerOperation, 'all');
    assert.equal((await container.items.create({ id: 'by t', pk: 'x' }, { preTriggerInclude: 't' })).statusCode, 201);
    assert.equal((await container.scripts.trigger('t').read()).resource.body, 'function () {}');
    assert.equal((await errorOf(trigger('u', 'during', 'All', 'function () {}'))).code, 400);
    assert.equal((await errorOf(trigger('u', 'Pre', 'Sometimes', 'function () {}'))).code, 400);
    await container.scripts.trigger('t').replace({ id: 't', triggerType: 'Post', triggerOperation: 'Delete', body: 'function () { }' });
    assert.deepEqual((await container.scripts.triggers.readAll().fetchAll()).resources.map((one) => one.triggerType), ['Post']);
    await container.scripts.trigger('t').delete();
    assert.equal((await errorOf(container.scripts.trigger('t').delete())).code, 404);
  });

  test('a pre-trigger changes what is written, or refuses it', async () => {
    await trigger('stamp', 'Pre', 'Create', `function () {
      var request = getContext().getRequest(), item = request.getBody();
      if (item.bad) throw new Error('no bad items');
      item.stamped = request.getOperationType();
      request.setBody(item);
    }`);
    const { resource } = await container.items.create({ id: '1', pk: 'x' }, { preTriggerInclude: ['stamp'] });
    assert.equal(resource.stamped, 'Create');
    assert.equal((await container.item('1', 'x').read()).resource.stamped, 'Create');
    const refused = await errorOf(container.items.create({ id: '2', pk: 'x', bad: true }, { preTriggerInclude: ['stamp'] }));
    assert.equal(refused.code, 400);
    assert.match(refused.message, /no bad items/);
    assert.equal((await container.item('2', 'x').read()).statusCode, 404);
    assert.equal((await errorOf(container.items.create({ id: '1', pk: 'x' }, { preTriggerInclude: 'stamp' }))).code, 409);
    // The trigger is for another operation, has another type, or does not exist.
    assert.equal((await errorOf(container.item('1', 'x').replace({ id: '1', pk: 'x' }, { preTriggerInclude: 'stamp' }))).code, 400);
    assert.equal((await errorOf(container.items.create({ id: '3', pk: 'x' }, { postTriggerInclude: 'stamp' }))).code, 400);
    assert.equal((await errorOf(container.items.create({ id: '3', pk: 'x' }, { preTriggerInclude: 'none' }))).code, 400);
    // The key cannot be changed on the way.
    await trigger('move', 'Pre', 'All', 'function () { var r = getContext().getRequest(), b = r.getBody(); b.pk = "elsewhere"; r.setBody(b); }');
    assert.equal((await errorOf(container.items.create({ id: '3', pk: 'x' }, { preTriggerInclude: 'move' }))).code, 400);
  });

  test('a write includes ten triggers before it, not thousands', async () => {
    await trigger('count-up', 'Pre', 'All', `function () {
      var request = getContext().getRequest(), item = request.getBody();
      item.n = (item.n || 0) + 1;
      request.setBody(item);
    }`);
    const including = (count) => ({ preTriggerInclude: Array(count).fill('count-up') });
    assert.equal((await container.items.create({ id: 'ten', pk: 'x' }, including(10))).resource.n, 10);
    const refused = await errorOf(container.items.create({ id: 'eleven', pk: 'x' }, including(11)));
    assert.equal(refused.code, 400);
    assert.match(refused.message, /at most 10/);
  });

  test('a post-trigger works in the transaction of the write', async () => {
    await trigger('count', 'Post', 'All', `function () {
      var collection = getContext().getCollection(), request = getContext().getRequest(), response = getContext().getResponse();
      collection.readDocument(collection.getAltLink() + '/docs/meta', function (err, meta) {
        if (err && err.number !== 404) throw err;
        meta = meta || { id: 'meta', pk: 'y', log: [] };
        meta.log.push(request.getOperationType());
        if (meta.log.length > 4) throw new Error('too many');
        collection.upsertDocument(collection.getSelfLink(), meta);
      });
    }`);
    const include = { postTriggerInclude: ['count'] };
    const created = await container.items.create({ id: 'a', pk: 'y', n: 1 }, include);
    assert.equal(created.statusCode, 201);
    assert.equal(created.resource.n, 1);
    assert.ok(created.requestCharge > 10);
    await container.items.upsert({ id: 'a', pk: 'y', n: 2 }, include);
    await container.item('a', 'y').replace({ id: 'a', pk: 'y', n: 3 }, include);
    await container.item('a', 'y').delete(include);
    assert.deepEqual((await container.item('meta', 'y').read()).resource.log, ['Create', 'Upsert', 'Replace', 'Delete']);
    assert.equal((await errorOf(container.items.create({ id: 'b', pk: 'y' }, include))).code, 400);
    assert.equal((await container.item('b', 'y').read()).statusCode, 404);
  });

  test('truncateFeed runs as printed: the newest hundred stay', async () => {
    await trigger('truncateFeed', 'Post', 'Create', String(truncateFeed));
    for (let i = 0; i < 105; ++i) {
      await container.items.create({ id: `post${i}`, pk: 'post', creationDate: 1000 + i }, { postTriggerInclude: ['truncateFeed'] });
    }
    const { resources } = await container.items.query('SELECT VALUE c.creationDate FROM c ORDER BY c.creationDate', { partitionKey: 'post' }).fetchAll();
    assert.equal(resources.length, 100);
    assert.equal(resources[0], 1005);
    assert.equal(resources[99], 1104);
  });
});

describe('user-defined functions of the Cosmos DB API', () => {
  let server, client, container;
  before(async () => {
    server = await Server.start({ env: { OCTAVO_JAVASCRIPT_CALL_TIME: '2s' } });
    client = cosmosClient(server);
    container = await newContainer(client);
    for (let i = 1; i <= 5; ++i) await container.items.create({ id: `${i}`, pk: 'x', price: i });
  });
  after(() => server?.stop());

  const query = async (text) => (await container.items.query(text, { partitionKey: 'x' }).fetchAll()).resources;

  test('queries call them', async () => {
    await container.scripts.userDefinedFunctions.create({ id: 'tax', body: 'function tax(price, rate) { return rate === undefined ? undefined : price * rate; }' });
    assert.deepEqual(await query('SELECT VALUE udf.tax(c.price, 2) FROM c WHERE udf.tax(c.price, 2) > 4 ORDER BY c.price'), [6, 8, 10]);
    assert.deepEqual(await query('SELECT VALUE udf.tax(c.price, c.rate) FROM c'), []);
    await container.scripts.userDefinedFunction('tax').replace({ id: 'tax', body: 'function (price) { return { half: price / 2 }; }' });
    assert.deepEqual(await query('SELECT VALUE udf.tax(c.price).half FROM c WHERE c.id = "5"'), [2.5]);
    assert.deepEqual((await container.scripts.userDefinedFunctions.readAll().fetchAll()).resources.map((one) => one.id), ['tax']);
    // Inside of a stored procedure, too.
    await container.scripts.storedProcedures.create({ id: 'ask', body: `function () {
      __.queryDocuments(__.getSelfLink(), 'SELECT VALUE udf.tax(c.price).half FROM c WHERE c.id = "4"', function (e, r) { __.response.setBody(r); });
    }` });
    assert.deepEqual((await container.scripts.storedProcedure('ask').execute('x')).resource, [2]);
  });

  test('those that are not there, throw or never end are errors', async () => {
    assert.equal((await errorOf(query('SELECT VALUE udf.nothing(1) FROM c'))).code, 400);
    await container.scripts.userDefinedFunctions.create({ id: 'thrower', body: 'function () { throw new Error("oops"); }' });
    assert.match((await errorOf(query('SELECT VALUE udf.thrower() FROM c'))).message, /oops/);
    await container.scripts.userDefinedFunctions.create({ id: 'endless', body: 'function () { while (true) {} }' });
    assert.ok((await errorOf(query('SELECT VALUE udf.endless() FROM c'))).code >= 400);
    await container.scripts.userDefinedFunctions.create({ id: 'context', body: 'function () { return typeof getContext + typeof emit; }' });
    assert.deepEqual(await query('SELECT VALUE udf.context() FROM c WHERE c.id = "1"'), ['undefinedundefined']);
    await container.scripts.userDefinedFunction('context').delete();
    assert.equal((await errorOf(query('SELECT VALUE udf.context() FROM c'))).code, 400);
  });
});

describe('functions on both APIs', () => {
  let server, client, container;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client);
  });
  after(() => server?.stop());

  test('design documents have stored procedures, which the CouchDB API runs', async () => {
    await server.request('PUT', '/shop?partitioned=true');
    const broken = await server.request('PUT', '/shop/_design/bad', { body: { sprocs: { f: 'function () {' } } });
    assert.equal(broken.status, 400);
    assert.equal((await server.request('PUT', '/shop/_design/bad', { body: { sprocs: { f: 1 } } })).status, 400);
    const stored = await server.request('PUT', '/shop/_design/orders', { body: { sprocs: {
      pay: `function pay(id, sum) {
        __.readDocument(__.getAltLink() + '/docs/' + id, function (err, order) {
          if (err) throw err;
          order.paid = sum;
          __.replaceDocument(order._self, order, function (err, changed) {
            if (err) throw err;
            __.createDocument(__.getSelfLink(), { type: 'payment', sum: sum });
            __.queryDocuments(__.getSelfLink(), 'SELECT VALUE COUNT(1) FROM c', function (err, count) {
              __.response.setBody({ rev: changed._rev, count: count[0] });
            });
          });
        });
      }`,
      stray: `function () { __.createDocument(__.getSelfLink(), { _id: 'other:1' }); }`,
    } } });
    assert.equal(stored.status, 201);
    await server.request('PUT', '/shop/ann:1', { body: { type: 'order' } });
    const paid = await server.request('POST', '/shop/_partition/ann/_sproc/orders/pay', { body: ['1', 12.5] });
    assert.equal(paid.status, 200, JSON.stringify(paid.body));
    assert.equal(paid.body.count, 2);
    const order = (await server.request('GET', '/shop/ann:1')).body;
    assert.equal(order.paid, 12.5);
    assert.equal(order._rev, paid.body.rev);
    assert.equal(order._self, undefined);
    assert.equal((await server.request('GET', '/shop/_partition/ann')).body.doc_count, 2);
    assert.equal((await server.request('POST', '/shop/_partition/ann/_sproc/pay', { body: ['1', 13] })).status, 200);
    const missing = await server.request('POST', '/shop/_partition/ann/_sproc/pay', { body: ['2', 13] });
    assert.equal(missing.status, 400);
    assert.equal(missing.body.error, 'procedure_failed');
    assert.equal((await server.request('POST', '/shop/_partition/ann/_sproc/orders/stray', { body: [] })).status, 400);
    assert.equal((await server.request('POST', '/shop/_partition/ann/_sproc/orders/none', { body: [] })).status, 404);
    assert.equal((await server.request('POST', '/shop/_partition/ann/_sproc/none')).status, 404);
    assert.equal((await server.request('POST', '/shop/_partition/ann/_sproc/pay', { body: {} })).status, 400);
  });

  test('a procedure that one API stored the other runs, on the same items', async () => {
    await container.scripts.storedProcedures.create({ id: 'add', body: `function (id) {
      __.createDocument(__.getSelfLink(), { id: id, pk: 'k' }, function (err, item) { if (err) throw err; __.response.setBody(item); });
    }` });
    const path = `/${encodeURIComponent(`${container.database.id}/items`)}/_partition/k/_sproc/add`;
    const added = await server.request('POST', path, { body: ['a'] });
    assert.equal(added.status, 200, JSON.stringify(added.body));
    assert.equal(added.body.id, 'a');
    assert.equal((await container.item('a', 'k').read()).resource._etag, added.body._etag);
    assert.equal((await container.scripts.storedProcedure('add').execute('k', ['b'])).resource.id, 'b');
  });

  test('validate_doc_update has a say in the writes of the Cosmos DB API', async () => {
    const guarded = await newContainer(client);
    const path = `/${encodeURIComponent(`${guarded.database.id}/items`)}`;
    await guarded.items.create({ id: 'old', pk: 'x', good: true });
    const put = await server.request('PUT', `${path}/_design/rules`, { body: { validate_doc_update: `function (after, before, user) {
      if (after._deleted) { if (before.keep) throw { forbidden: 'it stays' }; return; }
      if (!after.good) throw { forbidden: 'not good' };
      if (before && before.good !== true) throw { forbidden: 'was not good' };
      if (user.roles.indexOf('_admin') < 0) throw { unauthorized: 'who are you?' };
    }` } });
    assert.equal(put.status, 201, JSON.stringify(put.body));
    const refused = async (promise) => {
      const error = await errorOf(promise);
      assert.equal(error.code, 403, error.message);
      return error.message;
    };
    assert.match(await refused(guarded.items.create({ id: 'bad', pk: 'x' })), /not good/);
    assert.equal((await guarded.items.create({ id: 'fine', pk: 'x', good: true, keep: true })).statusCode, 201);
    await refused(guarded.items.upsert({ id: 'fine', pk: 'x' }));
    await refused(guarded.item('fine', 'x').replace({ id: 'fine', pk: 'x', good: false }));
    await refused(guarded.item('fine', 'x').patch([{ op: 'set', path: '/good', value: false }]));
    assert.match(await refused(guarded.item('fine', 'x').delete()), /it stays/);
    assert.equal((await guarded.item('fine', 'x').patch([{ op: 'add', path: '/n', value: 1 }])).resource.n, 1);
    assert.equal((await guarded.item('old', 'x').delete()).statusCode, 204);
    const batch = await guarded.items.batch([
      { operationType: 'Create', resourceBody: { id: 'b1', pk: 'x', good: true } },
      { operationType: 'Create', resourceBody: { id: 'b2', pk: 'x' } },
    ], 'x');
    assert.deepEqual(batch.result.map((one) => one.statusCode), [424, 403]);
    assert.equal((await guarded.item('b1', 'x').read()).statusCode, 404);
    const good = await guarded.items.batch([{ operationType: 'Create', resourceBody: { id: 'b1', pk: 'x', good: true } }], 'x');
    assert.deepEqual(good.result.map((one) => one.statusCode), [201]);
    await guarded.scripts.storedProcedures.create({ id: 'sneak', body: `function () {
      __.createDocument(__.getSelfLink(), { id: 's', pk: 'x' }, function (err) { __.response.setBody(err && err.number); });
    }` });
    assert.equal((await guarded.scripts.storedProcedure('sneak').execute('x')).resource, 403);
    assert.equal((await guarded.item('s', 'x').read()).statusCode, 404);
  });
});
