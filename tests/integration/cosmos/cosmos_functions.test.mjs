// Stored procedures, triggers and user-defined functions of the Cosmos DB API, by @azure/cosmos.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { patience, Server, sleep } from '../harness.mjs';

/// Works for some `ms`; steps that take long are pauses of the machine.
const busy = (ms) => `for (var used = 0, last = Date.now(); used < ${ms};) { var now = Date.now(); used += Math.min(now - last, 20); last = now; }`;

// The functions of Microsoft's article on a social application, as they are printed there.
const createComment = `function createComment(postId, comment) {
  var collection = getContext().getCollection();

  collection.readDocument(
    \`\${collection.getAltLink()}/docs/\${postId}\`,
    function (err, post) {
      if (err) throw err;

      post.commentCount++;
      collection.replaceDocument(
        post._self,
        post,
        function (err) {
          if (err) throw err;

          comment.postId = postId;
          collection.createDocument(
            collection.getSelfLink(),
            comment
          );
        }
      );
    })
}`;
const updateUsernames = `function updateUsernames(userId, username) {
  var collection = getContext().getCollection();
  
  collection.queryDocuments(
    collection.getSelfLink(),
    \`SELECT * FROM p WHERE p.userId = '\${userId}'\`,
    function (err, results) {
      if (err) throw err;

      for (var i in results) {
        var doc = results[i];
        doc.userUsername = username;

        collection.upsertDocument(
          collection.getSelfLink(),
          doc);
      }
    });
}`;

const truncateFeed = `function truncateFeed() {
  const maxDocs = 100;
  var context = getContext();
  var collection = context.getCollection();

  collection.queryDocuments(
    collection.getSelfLink(),
    "SELECT VALUE COUNT(1) FROM f",
    function (err, results) {
      if (err) throw err;

      processCountResults(results);
    });

  function processCountResults(results) {
    // + 1 because the query didn't count the newly inserted doc
    if ((results[0] + 1) > maxDocs) {
      var docsToRemove = results[0] + 1 - maxDocs;
      collection.queryDocuments(
        collection.getSelfLink(),
        \`SELECT TOP \${docsToRemove} * FROM f ORDER BY f.creationDate\`,
        function (err, results) {
          if (err) throw err;

          processDocsToRemove(results, 0);
        });
    }
  }

  function processDocsToRemove(results, index) {
    var doc = results[index];
    if (doc) {
      collection.deleteDocument(
        doc._self,
        function (err) {
          if (err) throw err;

          processDocsToRemove(results, index + 1);
        });
    }
  }
}`;

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
    await trigger('truncateFeed', 'Post', 'Create', truncateFeed);
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

describe('functions of the Cosmos DB API under kill -9', () => {
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
