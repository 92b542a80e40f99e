import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import nano from 'nano';
import { cosmosClient, errorOf, newContainer } from '../cosmos.mjs';
import { credentials, expectError, expectStatus, patience, Server } from '../harness.mjs';

const ids = (reply) => expectStatus(reply, 200).results.map((row) => row.id);
const parsedLines = (text) => text.split('\n').filter((line) => line.trim() !== '').map((line) => JSON.parse(line));

describe('filters of a change feed', () => {
  let server, db;
  before(async () => {
    server = await Server.start({ admin: true });
    db = await server.database('q=3');
    const design = {
      filters: {
        large: 'function(doc, req) { return doc.n >= (req.query.min ? Number(req.query.min) : 5); }',
        mine: 'function(doc, req) { return doc.owner === req.userCtx.name && req.userCtx.db === req.info.db_name; }',
        posted: 'function(doc, req) { return JSON.parse(req.body).wanted.indexOf(doc._id) >= 0; }',
        lib: "function(doc) { return require('lib/even').even(doc.n); }",
        self: 'function(doc) { return doc.n === this.limit; }',
        throws: 'function(doc) { return doc.missing.thing; }',
        loops: 'function(doc) { while (true) {} }',
      },
      views: { odd: { map: 'function(doc) { if (doc.n % 2) emit(doc.n); }' } },
      lib: { even: 'exports.even = function(n) { return n % 2 === 0; };' },
      limit: 7,
    };
    expectStatus(await server.put(`/${db}/_design/f`, design), 201);
    await server.fill(db, Array.from({ length: 10 }, (_, n) => ({ _id: `n${n}`, n, owner: n < 3 ? 'admin' : 'bob' })));
  });
  after(() => server?.stop());

  test('by a function, with the request at hand', async () => {
    assert.deepEqual(ids(await server.get(`/${db}/_changes?filter=f/large`)).sort(), ['n5', 'n6', 'n7', 'n8', 'n9']);
    assert.deepEqual(ids(await server.get(`/${db}/_changes?filter=f/large&min=8`)).sort(), ['n8', 'n9']);
    assert.deepEqual(ids(await server.get(`/${db}/_changes?filter=f/mine`)).sort(), ['n0', 'n1', 'n2']);
  });

  test('by POST, with the body at hand', async () => {
    const reply = await server.post(`/${db}/_changes?filter=f/posted`, { wanted: ['n3', 'n4'] });
    assert.deepEqual(ids(reply).sort(), ['n3', 'n4']);
  });

  test('with modules and the design document', async () => {
    assert.deepEqual(ids(await server.get(`/${db}/_changes?filter=f/lib`)).sort(), ['n0', 'n2', 'n4', 'n6', 'n8']);
    assert.deepEqual(ids(await server.get(`/${db}/_changes?filter=f/self`)), ['n7']);
  });

  test('by a view', async () => {
    assert.deepEqual(ids(await server.get(`/${db}/_changes?filter=_view&view=f/odd`)).sort(), ['n1', 'n3', 'n5', 'n7', 'n9']);
    expectError(await server.get(`/${db}/_changes?filter=_view&view=f/none`), 404, 'not_found', 'missing json key: none');
  });

  test('with limit, descending and documents', async () => {
    const reply = expectStatus(await server.get(`/${db}/_changes?filter=f/large&limit=2&include_docs=true`), 200);
    assert.equal(reply.results.length, 2);
    assert.ok(reply.results.every((row) => row.doc.n >= 5));
    assert.equal(ids(await server.get(`/${db}/_changes?filter=f/large&descending=true&limit=1`)).length, 1);
  });

  test('a long feed is filtered to its end', async () => {
    const many = await server.database('q=2');
    expectStatus(await server.put(`/${many}/_design/f`, { filters: { tenth: 'function(doc) { return doc.n % 10 === 0; }' } }), 201);
    await server.fill(many, Array.from({ length: 20_000 }, (_, n) => ({ _id: `d${n}`, n })));
    assert.equal(ids(await server.get(`/${many}/_changes?filter=f/tenth`)).length, 2_000);
  });

  test("a function's time also passes while others use the processor", async (t) => {
    // The server has some hundredths of a processor: measured by processor time alone a call would run ten times as long.
    const cpu = fs.readFileSync('/proc/self/status', 'utf8').match(/^Cpus_allowed_list:\s+(\d+)/m)[1];
    const onSameCpu = ['taskset', '-c', cpu];
    const slow = await Server.startFor(t, { args: ['--javascript-call-time', '1s'], through: [...onSameCpu, 'nice', '-n', '10'] });
    expectStatus(await slow.put('/shop'), 201);
    const endless = 'function() { while (true) {} }';
    expectStatus(await slow.put('/shop/_design/f', { filters: { loops: endless }, updates: { loops: endless } }), 201);
    expectStatus(await slow.put('/validated'), 201);
    expectStatus(await slow.put('/validated/_design/f', { validate_doc_update: endless }), 201);
    const account = cosmosClient(slow);
    const container = await newContainer(account);
    await container.scripts.storedProcedures.create({ id: 'loops', body: endless });
    const busy = [0, 1].map(() => spawn(onSameCpu[0], [...onSameCpu.slice(1), process.execPath, '-e', 'for (;;);']));
    t.after(() => busy.forEach((program) => program.kill('SIGKILL')));
    const calls = {
      filter: async () => expectError(await slow.get('/shop/_changes?filter=f/loops'), 500, 'resource_limit', /call_time/),
      update: async () => expectError(await slow.post('/shop/_design/f/_update/loops', {}), 500, 'resource_limit', /call_time/),
      validation: async () => expectError(await slow.put('/validated/d', {}), 500, 'resource_limit', /call_time/),
      procedure: async () => assert.equal((await errorOf(container.scripts.storedProcedure('loops').execute('x'))).code, 408),
    };
    for (const [what, call] of Object.entries(calls)) {
      const begun = Date.now();
      await call();
      assert.ok(Date.now() - begun < 7000 * patience, `${what}: ${Date.now() - begun} ms`);
    }
  });

  test('longpoll waits for a row that passes', async () => {
    const since = (await server.get(`/${db}/_changes?since=now`)).body.last_seq;
    const waiting = server.get(`/${db}/_changes?feed=longpoll&filter=f/large&since=${since}`);
    expectStatus(await server.put(`/${db}/small`, { n: 1 }), 201);
    expectStatus(await server.put(`/${db}/big`, { n: 50 }), 201);
    assert.deepEqual(ids(await waiting), ['big']);
  });

  test('a slow filter that holds everything back does not keep the client waiting for a sign of life', async () => {
    const slow = await server.database();
    const filter = 'function(doc) { var t = Date.now(); while (Date.now() - t < 40) {} return false; }';
    await server.put(`/${slow}/_design/f`, { filters: { slow: filter } });
    await server.fill(slow, Array.from({ length: 60 }, (_, n) => ({ _id: `n${n}` })));
    const feed = await server.feed(`/${slow}/_changes?filter=f/slow&feed=continuous&heartbeat=100`);
    // All documents take the filter more than two seconds; what comes meanwhile are heartbeats.
    assert.equal(await feed.nextLine(), '');
    assert.equal(await feed.nextLine(), '');
    feed.close();
  });

  test('continuous and eventsource feeds', async () => {
    const reply = await server.get(`/${db}/_changes?feed=continuous&filter=f/large&timeout=300`);
    const rows = parsedLines(reply.text);
    assert.ok(rows.length >= 6 && rows.slice(0, -1).every((row) => row.id !== 'n1'));
    const events = await server.get(`/${db}/_changes?feed=eventsource&filter=f/self&timeout=300`);
    assert.equal(events.text.match(/^data: \{/gm).length, 1);
  });

  test('all leaves are tested, each on its own', async () => {
    const conflicted = await server.database();
    expectStatus(await server.put(`/${conflicted}/_design/f`, { filters: { yes: 'function(doc) { return doc.yes; }' } }), 201);
    const docs = ['a', 'b', 'c'].map((letter) => ({ _id: 'x', _rev: `1-${letter.repeat(32)}`, yes: letter !== 'c' }));
    expectStatus(await server.post(`/${conflicted}/_bulk_docs`, { docs, new_edits: false }), 201);
    const winner = expectStatus(await server.get(`/${conflicted}/_changes?filter=f/yes`), 200);
    assert.equal(winner.results.length, 0);
    const all = expectStatus(await server.get(`/${conflicted}/_changes?filter=f/yes&style=all_docs`), 200);
    assert.deepEqual(all.results[0].changes.map((change) => change.rev[2]).sort(), ['a', 'b']);
  });

  test('deleted documents are tested by what is left of them', async () => {
    const name = await server.database();
    expectStatus(await server.put(`/${name}/_design/f`, { filters: { gone: 'function(doc) { return doc._deleted && doc._rev; }' } }), 201);
    const [rev] = await server.fill(name, [{ _id: 'a' }, { _id: 'b' }]);
    expectStatus(await server.delete(`/${name}/a?rev=${rev}`), 200);
    assert.deepEqual(ids(await server.get(`/${name}/_changes?filter=f/gone`)), ['a']);
  });

  test('a filter that throws or loops fails its own request', async (context) => {
    expectError(await server.get(`/${db}/_changes?filter=f/throws`), 500, 'TypeError');
    const limited = await Server.startFor(context, { env: { OCTAVO_JAVASCRIPT_CALL_TIME: '200ms' } });
    const name = await limited.database();
    expectStatus(await limited.put(`/${name}/_design/f`, { filters: { loops: 'function() { while (true) {} }' } }), 201);
    const began = Date.now();
    const [looping, ready] = await Promise.all([limited.get(`/${name}/_changes?filter=f/loops`), limited.get('/_up')]);
    expectError(looping, 500, 'resource_limit');
    expectStatus(ready, 200);
    assert.ok(Date.now() - began < 8_000 * patience);
  });

  test('what is not there is not found', async () => {
    expectError(await server.get(`/${db}/_changes?filter=none/large`), 404, 'not_found');
    expectError(await server.get(`/${db}/_changes?filter=f/none`), 404, 'not_found', 'missing json key: none');
    expectError(await server.get(`/${db}/_changes?filter=f`), 400, 'bad_request');
  });
});

describe('update functions', () => {
  let server, db;
  before(async () => {
    server = await Server.start({ admin: true });
    db = await server.database();
    const design = {
      updates: {
        create: "function(doc, req) { return [{_id: req.uuid, from: req.form.name || req.body}, 'made']; }",
        touch: "function(doc, req) { if (!doc) { if (req.id) return [{_id: req.id, n: 1}, 'new']; return [null, 'nothing']; }"
          + " doc.n = (doc.n || 0) + 1; doc.by = req.userCtx.name; return [doc, {json: {n: doc.n}, headers: {'X-Own': 'yes'}}]; }",
        status: "function(doc, req) { return [null, {code: Number(req.query.code), body: 'status'}]; }",
        binary: "function() { return [null, {base64: 'AAH/', headers: {'Content-Type': 'image/x-own'}}]; }",
        inject: "function(doc, req) { return [{_id: 'injected'}, {headers: {'X-Own': 'a\\r\\nSet-Cookie: evil=1'}, body: 'x'}]; }",
        injectname: "function(doc, req) { return [{_id: 'injected'}, {headers: {'X-Own: 1\\r\\nY': 'a'}, body: 'x'}]; }",
        framing: "function(doc, req) { return [null, {headers: {'Content-Length': '3', 'Transfer-Encoding': 'chunked', 'Connection': 'close'}, body: 'longer'}]; }",
        echo: 'function(doc, req) { return [null, {json: req}]; }',
        nothing: 'function() {}',
        helped: "function() { registerType('x', 'a/b'); provides('x', send); start({}); return [null, 'rows: ' + getRow()]; }",
        throws: "function() { throw new Error('no'); }",
        ruled: "function(doc, req) { return [{_id: 'ruled', bad: true}, 'x']; }",
        odd: "function(doc, req) { return [{_id: 'odd'}, {unknown: 1}]; }",
        idless: "function(doc, req) { return [{n: 1}, 'x']; }",
      },
    };
    expectStatus(await server.put(`/${db}/_design/u`, design), 201);
  });
  after(() => server?.stop());
  const update = (name, body, options) => server.post(`/${db}/_design/u/_update/${name}`, body, options);

  test('makes a document', async () => {
    const reply = await update('create', 'plain text', { headers: { 'Content-Type': 'text/plain' } });
    assert.equal(reply.status, 201);
    assert.equal(reply.text, 'made');
    assert.equal(reply.headers['content-type'], 'text/html; charset=utf-8');
    const id = reply.headers['x-couch-id'];
    const stored = expectStatus(await server.get(`/${db}/${id}`), 200);
    assert.equal(stored.from, 'plain text');
    assert.equal(reply.headers['x-couch-update-newrev'], stored._rev);
  });

  test('reads forms', async () => {
    const reply = await update('create', 'name=Ann+B%C3%A4r&x=1', { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    assert.equal((await server.get(`/${db}/${reply.headers['x-couch-id']}`)).body.from, 'Ann Bär');
  });

  test('changes the document that the URL names', async () => {
    assert.equal((await server.put(`/${db}/_design/u/_update/touch/t1`)).text, 'new');
    const second = await server.put(`/${db}/_design/u/_update/touch/t1`);
    assert.equal(second.status, 201);
    assert.deepEqual(second.body, { n: 2 });
    assert.equal(second.headers['content-type'], 'application/json');
    assert.equal(second.headers['x-own'], 'yes');
    assert.ok(second.headers['x-couch-update-newrev'].startsWith('2-'));
    assert.equal((await server.get(`/${db}/t1`)).body.by, 'admin');
    assert.equal((await server.put(`/${db}/_design/u/_update/touch/with%2Fslash`)).headers['x-couch-id'], 'with%2Fslash');
  });

  test('is told of the request, but not of passwords and sessions', async () => {
    const login = await server.post('/_session', credentials, { auth: false });
    const session = login.headers['set-cookie'][0].split(';')[0];
    const headers = { Cookie: `${session}; theme=dark`, 'X-Own': 'seen', 'X-CouchDB-WWW-Authenticate': 'Cookie' };
    const reply = await server.put(`/${db}/_design/u/_update/echo/some%2Fid?a=1&key=%5B2%5D`, { n: 1 }, { headers, auth: false });
    const request = expectStatus(reply, 200);
    assert.equal(request.method, 'PUT');
    assert.equal(request.id, 'some/id');
    assert.deepEqual(request.query, { a: '1', key: [2] });
    assert.deepEqual(request.path, [db, '_design', 'u', '_update', 'echo', 'some/id']);
    assert.equal(request.raw_path, `/${db}/_design/u/_update/echo/some%2Fid?a=1&key=%5B2%5D`);
    assert.equal(request.body, '{"n":1}');
    assert.equal(request.headers['X-Own'], 'seen');
    assert.deepEqual(request.cookie, { theme: 'dark' });
    assert.equal(request.headers.Cookie, 'theme=dark');
    assert.ok(!reply.text.includes(session.split('=')[1]));
    const basic = expectStatus(await update('echo'), 200);
    assert.equal(basic.userCtx.name, 'admin');
    assert.equal(basic.headers.Authorization, undefined);
    assert.equal(request.info.db_name, db);
    assert.equal(request.userCtx.name, 'admin');
    assert.deepEqual(request.userCtx.roles, ['_admin']);
    assert.equal(request.peer, '127.0.0.1');
    assert.match(request.uuid, /^[0-9a-f]{32}$/);
  });

  test('may store nothing', async () => {
    const reply = await update('touch');
    assert.equal(reply.status, 200);
    assert.equal(reply.text, 'nothing');
    assert.equal(reply.headers['x-couch-id'], undefined);
  });

  test('may call the helpers of shows and lists, which do nothing', async () => {
    assert.equal((await update('helped')).text, 'rows: null');
  });

  test('chooses status and body', async () => {
    assert.equal((await update('status?code=418')).status, 418);
    const binary = await update('binary');
    assert.deepEqual([...binary.raw], [0, 1, 255]);
    assert.equal(binary.headers['content-type'], 'image/x-own');
    expectError(await update('status?code=99'), 500, 'external_response_error');
    expectError(await update('status?code=1000'), 500, 'external_response_error');
  });

  test('cannot smuggle headers', async () => {
    for (const name of ['inject', 'injectname']) {
      const reply = await update(name);
      expectError(reply, 500, 'external_response_error');
      assert.equal(reply.headers['set-cookie'], undefined);
    }
    // Nor is anything stored for a reply that cannot be sent.
    expectError(await server.get(`/${db}/injected`), 404, 'not_found');
    const framed = await update('framing');
    assert.equal(framed.text, 'longer');
  });

  test('fails as a request, not as a server', async () => {
    expectError(await update('nothing'), 500, 'render_error', 'undefined response from update function');
    expectError(await update('throws'), 500, 'Error');
    expectError(await update('odd'), 500, 'external_response_error');
    expectError(await server.get(`/${db}/odd`), 404, 'not_found');
    expectError(await update('idless'), 400, 'illegal_docid');
    expectError(await update('none'), 404, 'not_found', 'missing updates function none on design doc _design/u');
    expectError(await server.post(`/${db}/_design/none/_update/x`), 404, 'not_found', 'missing');
    expectError(await server.get(`/${db}/_design/u/_update/touch`), 405, 'method_not_allowed');
  });

  test('is validated', async () => {
    expectStatus(await server.put(`/${db}/_design/v`, { validate_doc_update: "function(d) { if (d.bad) throw {forbidden: 'bad'}; }" }), 201);
    expectError(await update('ruled'), 403, 'forbidden', 'bad');
  });

  test('nano calls it', async () => {
    const alice = nano(server.urlWithCredentials).use(db);
    const reply = await alice.atomic('u', 'touch', 't1', { any: 'thing' });
    assert.equal(reply.n, 3);
  });
});

describe('what CouchDB has left behind', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
    expectStatus(await server.put(`/${db}/_design/old`, { shows: { s: 'x' }, lists: { l: 'x' }, rewrites: [] }), 201);
  });
  after(() => server?.stop());

  test('shows, lists and rewrites say that they are gone', async () => {
    expectError(await server.get(`/${db}/_design/old/_show/s`), 410, 'gone');
    expectError(await server.get(`/${db}/_design/old/_show/s/doc`), 410, 'gone');
    expectError(await server.get(`/${db}/_design/old/_list/l/v`), 410, 'gone');
    expectError(await server.post(`/${db}/_design/old/_list/l/other/v`, {}), 410, 'gone');
    expectError(await server.get(`/${db}/_design/old/_rewrite/a/b`), 410, 'gone');
    expectError(await server.post(`/${db}/_temp_view`, { map: 'function (doc) { emit(1); }' }), 410, 'gone');
  });
});
