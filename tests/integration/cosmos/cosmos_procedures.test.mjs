// Stored procedures of the Cosmos DB API, by @azure/cosmos.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as functions from '../bench/cosmos/blog/functions.mjs';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { patience, Server, sleep } from '../harness.mjs';

/// Works for some `ms`; steps that take long are pauses of the machine.
const busy = (ms) => `for (var used = 0, last = Date.now(); used < ${ms};) { var now = Date.now(); used += Math.min(now - last, 20); last = now; }`;

// As they are printed in Microsoft's article on a social application.
const createComment = String(functions.createComment);
const updateUsernames = String(functions.updateUsernames);

describe('stored procedures of the Cosmos DB API', () => {
  let server, client, container;
  before(async () => {
    server = await Server.start({ env: { OCTAVO_JAVASCRIPT_CALL_TIME: '3s' } });
    client = cosmosClient(server);
    container = await newContainer(client);
  });
  after(() => server?.stop());

  let next = 0;
  /// Stores a procedure and runs it.
  async function run(body, key = 'x', parameters = [], options = {}) {
    const id = `p${++next}`;
    await container.scripts.storedProcedures.create({ id, body: String(body) });
    return container.scripts.storedProcedure(id).execute(key, parameters, options);
  }
  async function refused(body, key, parameters) {
    return errorOf(run(body, key, parameters));
  }

  test('they are resources: created, read, listed, replaced, deleted', async () => {
    const { resource: created } = await container.scripts.storedProcedures.create({ id: 'hello', body: 'function () { getContext().getResponse().setBody("hello"); }' });
    assert.equal(created.id, 'hello');
    assert.match(created._self, /^dbs\/.+\/colls\/.+\/sprocs\/.+\/$/);
    assert.equal((await errorOf(container.scripts.storedProcedures.create({ id: 'hello', body: 'function () {}' }))).code, 409);
    const procedure = container.scripts.storedProcedure('hello');
    assert.equal((await procedure.read()).resource.body, created.body);
    assert.equal((await procedure.execute('x')).resource, 'hello');
    const { resource: replaced } = await procedure.replace({ id: 'hello', body: 'function () { getContext().getResponse().setBody({ a: [1] }); }' });
    assert.notEqual(replaced._etag, created._etag);
    assert.equal(replaced._rid, created._rid);
    assert.deepEqual((await procedure.execute('x')).resource, { a: [1] });
    const { resources } = await container.scripts.storedProcedures.readAll().fetchAll();
    assert.deepEqual(resources.map((one) => one.id), ['hello']);
    const asked = await container.scripts.storedProcedures.query({ query: 'SELECT * FROM c WHERE c.id = @id', parameters: [{ name: '@id', value: 'hello' }] }).fetchAll();
    assert.deepEqual(asked.resources.map((one) => one._rid), [created._rid]);
    const stale = { accessCondition: { type: 'IfMatch', condition: created._etag } };
    assert.equal((await errorOf(procedure.delete(stale))).code, 412);
    await procedure.delete({ accessCondition: { type: 'IfMatch', condition: replaced._etag } });
    assert.equal((await errorOf(procedure.execute('x'))).code, 404);
    assert.equal((await errorOf(procedure.delete())).code, 404);
    assert.equal((await errorOf(procedure.replace({ id: 'hello', body: 'function () {}' }))).code, 404);
  });

  test('a body that does not compile is refused', async () => {
    const error = await errorOf(container.scripts.storedProcedures.create({ id: 'broken', body: 'function () { var ; }' }));
    assert.equal(error.code, 400);
    assert.match(error.message, /SyntaxError/);
    assert.equal((await errorOf(container.scripts.storedProcedures.create({ id: 'number', body: '42' }))).code, 400);
  });

  test('createComment runs as printed', async () => {
    await container.scripts.storedProcedures.create({ id: 'createComment', body: createComment });
    await container.items.create({ id: 'post1', pk: 'post1', commentCount: 0 });
    const procedure = container.scripts.storedProcedure('createComment');
    const reply = await procedure.execute('post1', ['post1', { pk: 'post1', text: 'first' }]);
    assert.equal(reply.statusCode, 200);
    assert.ok(reply.requestCharge > 5);
    await Promise.all(Array.from({ length: 10 }, (_, i) => procedure.execute('post1', ['post1', { pk: 'post1', text: `c${i}` }])));
    assert.equal((await container.item('post1', 'post1').read()).resource.commentCount, 11);
    const { resources } = await container.items.query("SELECT * FROM c WHERE c.postId = 'post1'", { partitionKey: 'post1' }).fetchAll();
    assert.equal(resources.length, 11);
    // A comment of another partition is refused, and so nothing is counted.
    const error = await errorOf(procedure.execute('post1', ['post1', { pk: 'other' }]));
    assert.equal(error.code, 400);
    assert.equal((await container.item('post1', 'post1').read()).resource.commentCount, 11);
    assert.equal((await errorOf(procedure.execute('post1', ['missing', { pk: 'post1' }]))).code, 400);
  });

  test('updateUsernames runs as printed', async () => {
    await container.scripts.storedProcedures.create({ id: 'updateUsernames', body: updateUsernames });
    for (let i = 0; i < 120; ++i) await container.items.create({ id: `n${i}`, pk: 'names', userId: i % 2 ? 'ann' : 'bob', userUsername: 'old' });
    await container.scripts.storedProcedure('updateUsernames').execute('names', ['ann', 'new']);
    const { resources } = await container.items.query('SELECT c.userId, c.userUsername FROM c', { partitionKey: 'names' }).fetchAll();
    assert.equal(resources.filter((one) => one.userUsername === 'new').length, 60);
    assert.ok(resources.every((one) => (one.userId === 'ann') === (one.userUsername === 'new')));
  });

  test('updateUsernames from the documentation continues until all items are changed', { timeout: 120_000 * patience }, async () => {
    const page = fs.readFileSync(path.join(process.env.OCTAVO_SOURCE_DIR, 'docs/server-side-code.md'), 'utf8');
    const [, body] = page.match(/```js\n(function updateUsernames[\s\S]*?)```/);
    const many = await newContainer(client);
    await many.scripts.storedProcedures.create({ id: 'updateAll', body });
    const count = 10_500;
    const docs = Array.from({ length: count }, (_, i) => ({ _id: `many:m${i}`, id: `m${i}`, pk: 'many', userId: i % 3 ? 'ann' : 'bob', userUsername: 'old' }));
    const target = `/${encodeURIComponent(`${many.database.id}/${many.id}`)}/_bulk_docs`;
    assert.equal((await server.post(target, { docs })).status, 201);
    const procedure = many.scripts.storedProcedure('updateAll');
    let calls = 0;
    let changed = 0;
    for (let last = 1; last > 0; ++calls) changed += last = (await procedure.execute('many', ['ann', 'new'])).resource;
    assert.equal(changed, docs.filter(({ userId }) => userId === 'ann').length);
    assert.ok(calls > 2, `${calls} calls`);
    const query = 'SELECT c.userId, c.userUsername, COUNT(1) AS items FROM c GROUP BY c.userId, c.userUsername';
    const { resources } = await many.items.query(query, { partitionKey: 'many' }).fetchAll();
    assert.deepEqual(resources.map(({ userId, userUsername }) => `${userId} ${userUsername}`).sort(), ['ann new', 'bob old']);
  });

  test('it sees what it writes, and others only after the end', async () => {
    const { resource } = await run(`function () {
      var c = getContext().getCollection(), link = c.getSelfLink(), seen = [];
      c.createDocument(link, { id: 'w1', pk: 'w', n: 1 });
      c.createDocument(link, { id: 'w2', pk: 'w', n: 5 });
      c.queryDocuments(link, 'SELECT VALUE SUM(c.n) FROM c', function (e, r) { seen.push(r[0]); });
      c.readDocument(c.getAltLink() + '/docs/w1', function (e, doc) {
        doc.n = 10;
        c.replaceDocument(doc._self, doc, { etag: doc._etag }, function (e, changed) {
          seen.push(e ? e.number : changed.n);
          c.queryDocuments(link, { query: 'SELECT VALUE c.id FROM c WHERE c.n >= @n ORDER BY c.n DESC', parameters: [{ name: '@n', value: 5 }] },
            function (e, r) { seen.push(r); });
          c.deleteDocument(doc._self, { etag: doc._etag }, function (e) { seen.push(e.number); });
          c.deleteDocument(changed._self, function (e) {
            seen.push(!!e);
            c.deleteDocument(changed._self, { etag: '"none"' }, function (e) { seen.push(e.number); });
            c.readDocument(changed._self, function (e) { seen.push(e.number); getContext().getResponse().setBody(seen); });
          });
        });
      });
    }`, 'w');
    assert.deepEqual(resource, [6, 10, ['w1', 'w2'], 412, false, 404, 404]);
    const { resources } = await container.items.readAll({ partitionKey: 'w' }).fetchAll();
    assert.deepEqual(resources.filter((one) => one.pk === 'w').map((one) => one.id), ['w2']);
  });

  test('pages have continuations, also between writes', async () => {
    for (let i = 0; i < 25; ++i) await container.items.create({ id: `page${String(i).padStart(2, '0')}`, pk: 'pages', n: 0 });
    const { resource } = await run(`function () {
      var c = getContext().getCollection(), link = c.getSelfLink(), pages = [];
      function page(continuation) {
        c.queryDocuments(link, 'SELECT * FROM c', { pageSize: 10, continuation: continuation }, function (err, docs, options) {
          if (err) throw err;
          pages.push(docs.length);
          docs.forEach(function (doc) { doc.n++; c.replaceDocument(doc._self, doc); });
          if (options.continuation) page(options.continuation);
          else getContext().getResponse().setBody(pages);
        });
      }
      page();
    }`, 'pages');
    assert.deepEqual(resource, [10, 10, 5]);
    const { resources } = await container.items.query('SELECT VALUE SUM(c.n) FROM c', { partitionKey: 'pages' }).fetchAll();
    assert.deepEqual(resources, [25]);
  });

  test('the query object filters, maps, plucks, flattens, unwinds and sorts', async () => {
    await container.items.create({ id: 'q1', pk: 'q', n: 3, tags: ['a', 'b'] });
    await container.items.create({ id: 'q2', pk: 'q', n: 1, tags: ['c'] });
    await container.items.create({ id: 'q3', pk: 'q', n: 2, tags: [] });
    const { resource } = await run(`function () {
      var out = {};
      __.filter(function (d) { return d.n > 1; }, function (e, r) { out.filter = r.map(function (d) { return d.id; }); });
      __.map(function (d) { return d.n * 2; }, function (e, r) { out.map = r; });
      __.pluck('n', function (e, r) { out.pluck = r; });
      __.chain().pluck('tags').flatten().value(function (e, r) { out.tags = r; });
      __.chain().filter(function (d) { return d.n < 3; }).sortByDescending(function (d) { return d.n; }).pluck('id')
        .value(function (e, r) { out.sorted = r; });
      __.unwind(function (d) { return d.tags; }, function (d, tag) { return d.id + tag; }, {}, function (e, r) { out.unwind = r; });
      var answer = __.sortBy(function (d) { return d.n; }, { pageSize: 2 }, function (e, r, o) {
        out.page = [r.length, typeof o.continuation];
        __.response.setBody(out);
      });
      out.accepted = answer.isAccepted;
    }`, 'q');
    assert.deepEqual(resource, { accepted: true, filter: ['q1', 'q3'], map: [6, 2, 4], pluck: [3, 1, 2], tags: ['a', 'b', 'c'],
      sorted: ['q3', 'q2'], unwind: ['q1a', 'q1b', 'q2c'], page: [2, 'string'] });
    // Without a callback the result is the response.
    assert.deepEqual((await run('function () { __.filter(function (d) { return d.n === 2; }); }', 'q')).resource.map((one) => one.id), ['q3']);
  });

  test('a throw undoes everything and names its reason', async () => {
    const error = await refused(`function () {
      __.createDocument(__.getSelfLink(), { id: 't1', pk: 'x' }, function () { throw new Error('changed my mind'); });
    }`);
    assert.equal(error.code, 400);
    assert.match(error.message, /Encountered exception while executing Javascript. Exception = Error: changed my mind/);
    assert.equal((await container.item('t1', 'x').read()).statusCode, 404);
    await container.items.create({ id: 'taken', pk: 'x' });
    const conflict = await refused(`function () {
      __.createDocument(__.getSelfLink(), { id: 't2', pk: 'x' });
      __.createDocument(__.getSelfLink(), { id: 'taken', pk: 'x' });
    }`);
    assert.equal(conflict.code, 400);
    assert.equal(conflict.substatus, 409);
    assert.equal((await container.item('t2', 'x').read()).statusCode, 404);
    // Errors that a callback deals with are no errors.
    assert.equal((await run(`function () {
      __.createDocument(__.getSelfLink(), { id: 'taken', pk: 'x' }, function (err) { __.response.setBody(err.number); });
    }`)).resource, 409);
    assert.match((await refused('function () { getContext().abort("enough"); }')).message, /enough/);
    assert.equal((await refused('function () { undefinedFunction(); }')).code, 400);
    assert.equal((await refused('function () { __.readDocument("dbs/other/colls/x/docs/y"); }')).code, 400);
  });

  test('ids are made, arguments and logs come through, globals do not stay', async () => {
    const { resource } = await run(`function (text, number) {
      __.createDocument(__.getSelfLink(), { pk: 'ids', text: text }, function (e, doc) { __.response.setBody([doc.id.length, text, number]); });
    }`, 'ids', ['ä€𝄞', 1.5]);
    assert.deepEqual(resource, [36, 'ä€𝄞', 1.5]);
    assert.equal((await refused(`function () { __.createDocument(__.getSelfLink(), { pk: 'x' }, { disableAutomaticIdGeneration: true }); }`)).code, 400);
    const logged = await run('function () { console.log("a", { b: 1 }); console.log("ü"); }', 'x', [], { enableScriptLogging: true });
    assert.equal(decodeURIComponent(logged.headers['x-ms-documentdb-script-log-results']), 'a {"b":1}\nü');
    await container.scripts.storedProcedures.create({ id: 'leaky', body: 'function () { var had = typeof leak; leak = 1; __.response.setBody(had); }' });
    const leaky = container.scripts.storedProcedure('leaky');
    for (let i = 0; i < 4; ++i) assert.equal((await leaky.execute('x')).resource, 'undefined');
    const bare = await cosmosRequest(server, 'POST', `/${leaky.url}`, { body: { not: 'an array' }, partition: ['x'] });
    assert.equal(bare.status, 400);
    assert.equal((await cosmosRequest(server, 'POST', `/${leaky.url}`, { body: [] })).status, 400);
  });

  test('the value "Body" is the body, and values are appended as texts', async () => {
    assert.equal((await run('function () { for (var i = 0; i < 10; i++) getContext().getResponse().appendValue("Body", i); }')).resource, '0123456789');
    const { resource } = await run(`function () {
      var response = getContext().getResponse();
      response.setValue('Body', { n: 1 });
      var seen = [response.getBody(), response.getValue('Body')];
      response.appendValue('other', 'a');
      response.appendValue('other', 1);
      seen.push(response.getValue('other'));
      response.setBody(seen);
    }`);
    assert.deepEqual(resource, [{ n: 1 }, { n: 1 }, 'a1']);
  });

  test('unique keys count what the procedure has written', async () => {
    const unique = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } });
    await unique.items.create({ id: '1', pk: 'x', email: 'a' });
    await unique.scripts.storedProcedures.create({ id: 'swap', body: `function () {
      var seen = [], link = __.getSelfLink();
      function number(e) { seen.push(e ? e.number : 0); }
      __.createDocument(link, { id: '2', pk: 'x', email: 'a' }, number);
      __.deleteDocument(__.getAltLink() + '/docs/1', number);
      __.createDocument(link, { id: '2', pk: 'x', email: 'a' }, number);
      __.createDocument(link, { id: '3', pk: 'x', email: 'a' }, function (e) { number(e); __.response.setBody(seen); });
    }` });
    assert.deepEqual((await unique.scripts.storedProcedure('swap').execute('x')).resource, [409, 0, 0, 409]);
    assert.equal((await unique.item('2', 'x').read()).resource.email, 'a');
  });

  test('the time that the machine gave to others is not charged', async () => {
    await container.scripts.userDefinedFunctions.create({ id: 'busy', body: `function () { ${busy(300)} }` });
    for (const work of [
      () => run(`function () { ${busy(300)} }`),
      () => container.items.query('SELECT VALUE udf.busy() FROM (SELECT 1) AS one', { partitionKey: 'x' }).fetchAll(),
    ]) {
      const running = work();
      await sleep(100);
      server.process.kill('SIGSTOP');
      await sleep(1200);
      server.process.kill('SIGCONT');
      const { requestCharge } = await running;
      assert.ok(requestCharge > 10 && requestCharge < 900 * patience, `${work}: ${requestCharge}`);
    }
  });

  test('endless procedures get an error and do not disturb others', async () => {
    const quick = async () => {
      const begun = performance.now();
      await container.items.upsert({ id: 'beside', pk: 'x' });
      return performance.now() - begun;
    };
    const loop = refused('function () { while (true) {} }');
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.ok(await quick() < 2500 * patience);
    assert.equal((await loop).code, 408);
    assert.match((await refused('function () { var all = []; while (true) all.push(new Array(1e6).fill(1)); }')).message, /too much memory|out of memory/);
    assert.equal((await refused('function f() { f(); }')).code, 400);
    const many = await refused(`function () {
      for (var i = 0; i < 3000000; ++i) __.createDocument(__.getSelfLink(), { id: 'm' + i, pk: 'many' });
    }`, 'many');
    assert.ok([408, 413].includes(many.code), `${many.code} ${many.message}`);
    const { resources } = await container.items.query('SELECT VALUE COUNT(1) FROM c', { partitionKey: 'many' }).fetchAll();
    assert.deepEqual(resources, [0]);
    const endless = await run(`function () {
      var count = 0;
      (function next() {
        var accepted = __.createDocument(__.getSelfLink(), { id: 'e' + count, pk: 'endless' }, next);
        if (!accepted) __.response.setBody(count); else ++count;
      })();
    }`, 'endless');
    assert.ok(endless.resource > 0);
    const kept = await container.items.query('SELECT VALUE COUNT(1) FROM c', { partitionKey: 'endless' }).fetchAll();
    assert.deepEqual(kept.resources, [endless.resource]);
    assert.ok(await quick() < 2500 * patience);
  });

  test('writers beside it do not get lost', async () => {
    await container.items.create({ id: 'counter', pk: 'race', n: 0 });
    await container.scripts.storedProcedures.create({ id: 'add', body: `function () {
      __.readDocument(__.getAltLink() + '/docs/counter', function (e, doc) { doc.n++; __.replaceDocument(doc._self, doc); });
    }` });
    const add = container.scripts.storedProcedure('add');
    const tasks = [];
    for (let i = 0; i < 40; ++i) {
      tasks.push(add.execute('race'));
      tasks.push(container.item('counter', 'race').patch([{ op: 'incr', path: '/n', value: 1 }]));
    }
    await Promise.all(tasks);
    assert.equal((await container.item('counter', 'race').read()).resource.n, 80);
  });

  test('they go with their container, and survive a restart', async () => {
    const name = container.database.id;
    await server.kill();
    await server.relaunch();
    client = cosmosClient(server);
    const again = client.database(name).container('items');
    assert.equal((await again.scripts.storedProcedure('createComment').read()).resource.body, createComment);
    await again.delete();
    await client.database(name).containers.create({ id: 'items', partitionKey: { paths: ['/pk'] } });
    assert.deepEqual((await again.scripts.storedProcedures.readAll().fetchAll()).resources, []);
  });
});

describe('stored procedures of the Cosmos DB API under kill -9', () => {
  test('a procedure is done whole or not at all', async (context) => {
    const server = await Server.startFor(context);
    let container = await newContainer(cosmosClient(server));
    const name = container.database.id;
    await container.scripts.storedProcedures.create({ id: 'three', body: `function (n) {
      for (var i = 0; i < 3; ++i) __.createDocument(__.getSelfLink(), { id: n + '-' + i, pk: 'x', n: n });
    }` });
    const acknowledged = new Set();
    for (let round = 0; round < 3; ++round) {
      const procedure = container.scripts.storedProcedure('three');
      let ended = false;
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let i = 0; !ended; ++i) {
          const n = `${round}.${writer}.${i}`;
          try {
            await procedure.execute('x', [n]);
            acknowledged.add(n);
          } catch {
            return;
          }
        }
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      await server.kill();
      ended = true;
      await Promise.race([Promise.all(writers), new Promise((resolve) => setTimeout(resolve, 3000))]);
      await server.relaunch();
      container = cosmosClient(server).database(name).container('items');
      const { resources } = await container.items.query('SELECT VALUE c.n FROM c', { partitionKey: 'x' }).fetchAll();
      const counts = new Map();
      for (const n of resources) counts.set(n, (counts.get(n) ?? 0) + 1);
      assert.ok([...counts.values()].every((count) => count === 3));
      for (const n of acknowledged) assert.equal(counts.get(n), 3, n);
    }
    assert.ok(acknowledged.size > 0);
  });
});
