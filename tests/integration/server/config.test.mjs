// Settings that change while the server runs: /_node/_local/_config, under Octavo's and CouchDB's names.
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { cosmosRequest } from '../cosmos_request.mjs';
import { credentials, eventually, expectError, expectStatus, patience, Server, sleep } from '../harness.mjs';

const root = '/_node/_local/_config';
const login = `${credentials.name}:${credentials.password}`;
const cheap = '[auth]\npbkdf2_iterations = 1000\n';
const anonymous = { auth: false };

const set = async (server, name, value, options) =>
  expectStatus(await server.put(`${root}/${name}`, JSON.stringify(String(value)), options), 200);
const unset = async (server, name, options) => expectStatus(await server.delete(`${root}/${name}`, options), 200);

/// The settings that docs/configuration.md marks as changeable, as "section/key".
function changeable() {
  const file = path.join(process.env.OCTAVO_SOURCE_DIR, 'docs/configuration.md');
  let section;
  return fs.readFileSync(file, 'utf8').split('\n').flatMap((line) => {
    section = line.match(/^## \[(\w+)\]/)?.[1] ?? section;
    const key = line.match(/^\| `(\w+)`[^|]*↻/)?.[1];
    return key ? [`${section}/${key}`] : [];
  });
}

/// Sends raw bytes and returns how many milliseconds the server kept the connection.
const connectionMs = async (server, bytes) => {
  const begin = Date.now();
  await server.rawExchange(bytes);
  return Date.now() - begin;
};

const busyFunction = (ms) => `function (doc, req) { var end = Date.now() + ${ms}; while (Date.now() < end) {} return [null, 'x']; }`;
const preflight = (server, headers) => server.request('OPTIONS', '/', { ...anonymous,
  headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'PUT', ...headers } });
const withCors = async (server, check) => {
  await set(server, 'cors/enabled', 'true');
  await set(server, 'cors/origins', 'https://a.example');
  await check();
  await unset(server, 'cors/enabled');
  await unset(server, 'cors/origins');
};

/// What each setting does to requests: setting it, seeing its effect.
const effects = {
  'server/allowed_hosts': 'on a server without admins, below',
  'server/shutdown_timeout': 'at the end of the server, below',
  'cosmos/item_bytes_max': 'with the well-known key, below',
  'storage/open_partitions_max': 'with many databases, below',
  'storage/compaction': 'with a large file, in server/automatic_compaction.test.mjs',
  'storage/compaction_share': 'as above',
  'storage/compaction_rate': 'as above',
  'auth/jwt_required_claims': 'with tokens, below',
  'auth/jwt_roles_claim_path': 'with tokens, below',
  'log/level': 'with the log, below',
  'log/slow_request': 'with the log, below',
  'couch_peruser/enable': 'with users, below',
  'couch_peruser/delete_dbs': 'with users, below',
  'couch_peruser/database_prefix': 'with users, below',
  'couch_peruser/q': 'with users, below',

  async 'auth/require_valid_user'(server) {
    expectStatus(await server.get('/', anonymous), 200);
    await set(server, 'auth/require_valid_user', 'true');
    expectStatus(await server.get('/', anonymous), 401);
  },
  async 'auth/challenge'(server) {
    const challenge = async () => expectStatus(await server.get('/_all_dbs', anonymous), 401) &&
      (await server.get('/_all_dbs', anonymous)).headers['www-authenticate'];
    assert.equal(await challenge(), undefined);
    await set(server, 'auth/challenge', 'Basic realm="couchdb"');
    assert.equal(await challenge(), 'Basic realm="couchdb"');
    expectStatus(await server.put(`${root}/auth/challenge`, JSON.stringify('a\r\nSet-Cookie: b')), 400);
  },
  async 'auth/admin_only_all_dbs'(server) {
    expectStatus(await server.get('/_all_dbs', anonymous), 401);
    await set(server, 'auth/admin_only_all_dbs', 'false');
    expectStatus(await server.get('/_all_dbs', anonymous), 200);
  },
  async 'auth/session_timeout'(server) {
    await set(server, 'auth/session_timeout', '77s');
    const reply = await server.post('/_session', { name: credentials.name, password: credentials.password }, anonymous);
    assert.match(reply.headers['set-cookie'][0], /Max-Age=77/);
  },
  async 'auth/cookie_secret'(server) {
    const reply = await server.post('/_session', { name: credentials.name, password: credentials.password }, anonymous);
    const Cookie = reply.headers['set-cookie'][0].split(';')[0];
    const asSession = () => server.get('/_all_dbs', { ...anonymous, headers: { Cookie } });
    expectStatus(await asSession(), 200);
    await set(server, 'auth/cookie_secret', 'another secret');
    expectStatus(await asSession(), 401);
  },
  async 'auth/proxy_secret'(server) {
    const headers = { 'X-Auth-CouchDB-UserName': 'bob',
      'X-Auth-CouchDB-Token': createHmac('sha256', 'shared').update('bob').digest('hex') };
    const name = async () => (await server.get('/_session', { ...anonymous, headers })).body.userCtx.name;
    assert.equal(await name(), null);
    await set(server, 'auth/proxy_secret', 'shared');
    assert.equal(await name(), 'bob');
  },
  async 'auth/pbkdf2_iterations'(server) {
    await set(server, 'auth/pbkdf2_iterations', 1234);
    expectStatus(await server.put('/_users/org.couchdb.user:iris', { type: 'user', name: 'iris', roles: [], password: 'x' }), 201);
    assert.equal((await server.get('/_users/org.couchdb.user:iris')).body.iterations, 1234);
  },
  async 'http/request_head_bytes_max'(server) {
    const get = () => server.get('/', { headers: { 'X-Long': 'x'.repeat(4000) } });
    expectStatus(await get(), 200);
    await set(server, 'http/request_head_bytes_max', '2KiB');
    expectStatus(await get(), 431);
  },
  async 'http/request_body_bytes_max'(server, db) {
    await set(server, 'database/document_bytes_max', '1KiB');
    await set(server, 'http/request_body_bytes_max', '2KiB');
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: [{ text: 'x'.repeat(4000) }] }), 413);
    await unset(server, 'http/request_body_bytes_max');
    await unset(server, 'database/document_bytes_max');
    return 'is reset';
  },
  async 'http/connections_max'(server) {
    await server.get('/');  // this connection stays
    await set(server, 'http/connections_max', 1);
    assert.match(await server.rawExchange('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 503/);
  },
  async 'http/requests_in_flight_max'(server, db) {
    expectStatus(await server.put(`/${db}/_design/busy`, { updates: { busy: busyFunction(300) } }), 201);
    await set(server, 'http/requests_in_flight_max', 1);
    const replies = await Promise.all(Array.from({ length: 24 }, () => server.post(`/${db}/_design/busy/_update/busy`)));
    assert.ok(replies.some(({ status }) => status === 503));
  },
  async 'http/header_timeout'(server) {
    await set(server, 'http/header_timeout', '50ms');
    assert.ok(await connectionMs(server, 'GET / HTTP/1.1\r\nHost:') < 4000 * patience);
  },
  async 'http/body_timeout'(server, db) {
    await set(server, 'http/body_timeout', '50ms');
    const head = `POST /${db} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic ${Buffer.from(login).toString('base64')}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
    assert.ok(await connectionMs(server, head) < 4000 * patience);
  },
  async 'http/idle_timeout'(server) {
    await set(server, 'http/idle_timeout', '50ms');
    assert.ok(await connectionMs(server, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n') < 4000 * patience);
    await sleep(500 * patience);  // until this client knows which of its connections were closed
  },
  async 'http/send_timeout'(server, db) {
    const text = 'x'.repeat(6_000_000);
    for (let n = 0; n < 8; ++n) expectStatus(await server.put(`/${db}/large${n}`, { text }), 201);
    await set(server, 'http/send_timeout', '100ms');
    const received = await new Promise((resolve) => {
      let bytes = 0;
      const socket = net.connect(server.port, '127.0.0.1', () => {
        socket.write(`GET /${db}/_all_docs?include_docs=true HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n` +
          `Authorization: Basic ${Buffer.from(login).toString('base64')}\r\n\r\n`);
        socket.pause();
        setTimeout(() => socket.resume(), 3000 * patience);
      });
      socket.on('data', (chunk) => { bytes += chunk.length; });
      socket.on('error', () => {});
      socket.on('close', () => resolve(bytes));
    });
    assert.ok(received < 8 * text.length, `${received} bytes came`);
    expectStatus(await server.delete(`/${db}`), 200);  // so that nothing has to split it
  },
  async 'http/compression_bytes_min'(server) {
    const encoding = async () => (await server.get('/_node/_local/_versions', { headers: { 'Accept-Encoding': 'gzip' } })).headers['content-encoding'];
    assert.equal(await encoding(), undefined);
    await set(server, 'http/compression_bytes_min', 10);
    assert.equal(await encoding(), 'gzip');
  },
  async 'http/decode_plus_to_space'(server, db) {
    assert.equal(expectStatus(await server.put(`/${db}/a+b`, {}), 201).id, 'a b');
    await set(server, 'http/decode_plus_to_space', 'false');
    assert.equal(expectStatus(await server.put(`/${db}/a+b`, {}), 201).id, 'a+b');
  },
  async 'cors/enabled'(server) {
    await set(server, 'cors/origins', 'https://a.example');
    assert.equal((await preflight(server)).headers['access-control-allow-origin'], undefined);
    await set(server, 'cors/enabled', 'true');
    assert.equal((await preflight(server)).headers['access-control-allow-origin'], 'https://a.example');
    await unset(server, 'cors/origins');
  },
  async 'cors/origins'(server) {
    await withCors(server, async () => {
      await set(server, 'cors/origins', 'https://b.example');
      assert.equal((await preflight(server)).headers['access-control-allow-origin'], undefined);
      assert.equal((await preflight(server, { Origin: 'https://b.example' })).headers['access-control-allow-origin'], 'https://b.example');
    });
    return 'is reset';
  },
  async 'cors/credentials'(server) {
    await withCors(server, async () => {
      await set(server, 'cors/credentials', 'true');
      assert.equal((await preflight(server)).headers['access-control-allow-credentials'], 'true');
    });
  },
  async 'cors/methods'(server) {
    await withCors(server, async () => {
      await set(server, 'cors/methods', 'GET, POST');
      assert.equal((await preflight(server)).headers['access-control-allow-methods'], undefined);
      assert.equal((await preflight(server, { 'Access-Control-Request-Method': 'POST' })).headers['access-control-allow-methods'], 'GET, POST');
    });
  },
  async 'cors/headers'(server) {
    await withCors(server, async () => {
      const asked = async () => (await preflight(server, { 'Access-Control-Request-Headers': 'x-own' })).headers['access-control-allow-headers'];
      assert.equal(await asked(), undefined);
      await set(server, 'cors/headers', 'x-own');
      assert.equal(await asked(), 'x-own');
    });
  },
  async 'cors/max_age'(server) {
    await withCors(server, async () => {
      await set(server, 'cors/max_age', '33');
      assert.equal((await preflight(server)).headers['access-control-max-age'], '33');
    });
  },
  async 'database/default_q'(server) {
    await set(server, 'database/default_q', 3);
    assert.equal((await server.get(`/${await server.database()}`)).body.cluster.q, 3);
  },
  async 'database/q_max'(server) {
    await set(server, 'database/q_max', 2);
    expectStatus(await server.put('/too-many?q=3'), 400);
  },
  async 'database/document_bytes_max'(server, db) {
    await set(server, 'database/document_bytes_max', '1KiB');
    expectStatus(await server.put(`/${db}/d`, { text: 'x'.repeat(2000) }), 413);
  },
  async 'database/physical_partition_bytes_max'(server, db) {
    await server.fill(db, Array.from({ length: 400 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(1000) })));
    await set(server, 'database/physical_partition_bytes_max', '128KiB');
    await eventually(async () => (await server.get(`/${db}`)).body.cluster.q > 1, 30_000);
  },
  async 'database/merge'(server, db) {
    const ranges = async () => (await server.get(`/${db}`)).body.cluster.q;
    await set(server, 'database/merge_after', '1s');
    await set(server, 'database/merge', 'false');
    expectStatus(await server.post('/_reshard/jobs', { type: 'split', db }), 201);
    await eventually(async () => await ranges() === 2, 30_000);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    assert.equal(await ranges(), 2);
    await set(server, 'database/merge', 'true');
    await eventually(async () => await ranges() === 1, 30_000);
  },
  'database/merge_after': 'with merge, above',
  async 'database/revs_limit'(server) {
    await set(server, 'database/revs_limit', 7);
    assert.equal((await server.get(`/${await server.database()}/_revs_limit`)).body, 7);
  },
  async 'database/replaced_kept'(server, db) {
    const replaced = async (id) => {
      const { rev } = expectStatus(await server.put(`/${db}/${id}`, { n: 1 }), 201);
      expectStatus(await server.put(`/${db}/${id}`, { n: 2, _rev: rev }), 201);
      return (await server.get(`/${db}/${id}?rev=${rev}`)).status;
    };
    assert.equal(await replaced('a'), 200);
    await set(server, 'database/replaced_kept', '0s');
    assert.equal(await replaced('b'), 404);
  },
  async 'database/replaced_share_max'(server, db) {
    const text = () => randomBytes(200_000).toString('hex');  // not to be compressed much
    await server.fill(db, Array.from({ length: 20 }, (_, n) => ({ _id: `d${n}`, text: text() })));
    const oldestStatus = async (id) => {  // of replaced bodies with 2 MB in all
      const revs = [];
      for (let n = 0; n < 12; ++n) {
        revs.push(expectStatus(await server.put(`/${db}/${id}`, { n, text: text(), _rev: revs.at(-1) }), 201).rev);
      }
      return (await server.get(`/${db}/${id}?rev=${revs[0]}`)).status;
    };
    await set(server, 'http/request_body_bytes_max', '64MiB');
    await set(server, 'database/replaced_share_max', 100);
    assert.equal(await oldestStatus('a'), 200);
    await set(server, 'database/replaced_share_max', 0);
    assert.equal(await oldestStatus('b'), 404);
    await unset(server, 'http/request_body_bytes_max');
  },
  async 'database/enforce_throughput'(server) {
    const db = await server.database('throughput=1');
    await server.put(`/${db}/a`, {});
    const statuses = async () => {
      const seen = new Set();
      for (let n = 0; n < 50; ++n) seen.add((await server.get(`/${db}/a`)).status);
      return [...seen].sort();
    };
    assert.ok((await statuses()).includes(429));
    await set(server, 'database/enforce_throughput', 'false');
    assert.deepEqual(await statuses(), [200]);
    await set(server, 'database/enforce_throughput', 'true');
    assert.ok((await statuses()).includes(429));
  },
  async 'javascript/call_time'(server, db) {
    expectStatus(await server.put(`/${db}/_design/busy`, { updates: { busy: busyFunction(1000) } }), 201);
    const call = () => server.post(`/${db}/_design/busy/_update/busy`);
    expectStatus(await call(), 200);
    await set(server, 'javascript/call_time', '50ms');
    expectError(await call(), 500, 'resource_limit', /call_time/);
  },
  async 'log/access'(server) {
    const lines = async () => {
      server.lines.splice(0);
      expectStatus(await server.get('/_node/_local/_versions'), 200);
      await sleep(1200 * patience);
      return server.lines.filter((line) => line.includes('/_versions')).length;
    };
    const before = await lines();
    await set(server, 'log/access', String(before === 0));
    assert.equal(await lines(), before === 0 ? 1 : 0);
  },
  async 'database/documents_per_bulk_max'(server, db) {
    await set(server, 'database/documents_per_bulk_max', 1);
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: [{}, {}] }), 413);
  },
  async 'advice/record'(server, db) {
    const find = async () => expectStatus(await server.post(`/${db}/_find`, { selector: { n: 1 } }), 200);
    const recorded = async () =>
      expectStatus(await server.post(`/${db}/_partition_advisor`, { candidates: ['/n'] }), 200).recorded.requests;
    await find();
    assert.equal(await recorded(), 1);
    await set(server, 'advice/record', 'false');
    await find();
    assert.equal(await recorded(), 1);
  },
  async 'query/find_limit_default'(server, db) {
    await server.fill(db, [{ n: 1 }, { n: 2 }, { n: 3 }]);
    const count = async () => expectStatus(await server.post(`/${db}/_find`, { selector: { n: { $gt: 0 } } }), 200).docs.length;
    assert.equal(await count(), 3);
    await set(server, 'query/find_limit_default', 2);
    assert.equal(await count(), 2);
  },
  async 'query/find_strict'(server, db) {
    await server.fill(db, [{ n: 1 }]);
    const find = () => server.post(`/${db}/_find`, { selector: { n: { $gt: 0 } }, sort: ['n'] });
    expectStatus(await find(), 200);
    await set(server, 'query/find_strict', 'true');
    expectStatus(await find(), 400);
  },
  async 'query/sort_bytes_max'(server, db) {
    await server.fill(db, Array.from({ length: 2000 }, (_, n) => ({ n, text: 'x'.repeat(200) })));
    const find = () => server.post(`/${db}/_find`, { selector: { n: { $gte: 0 } }, sort: ['n'], limit: 2000 });
    expectStatus(await find(), 200);
    await set(server, 'query/sort_bytes_max', '64KiB');
    expectError(await find(), 400, 'no_usable_index');
  },
  async 'uuids/algorithm'(server) {
    await set(server, 'uuids/algorithm', 'uuid_v7');
    assert.match((await server.get('/_uuids')).body.uuids[0], /^[0-9a-f]{12}7[0-9a-f]{19}$/);
  },
  async 'uuids/utc_id_suffix'(server) {
    await set(server, 'uuids/algorithm', 'utc_id');
    await set(server, 'uuids/utc_id_suffix', '-here');
    assert.match((await server.get('/_uuids')).body.uuids[0], /^[0-9a-f]{14}-here$/);
    await unset(server, 'uuids/algorithm');
  },
  async 'uuids/max_count'(server) {
    await set(server, 'uuids/max_count', 2);
    expectStatus(await server.get('/_uuids?count=3'), 400);
  },
};

describe('each setting that can change has its effect at once', () => {
  let server;
  before(async () => { server = await Server.start({ admin: true }); });
  after(() => server?.stop());

  test('none is left out', () => assert.deepEqual(Object.keys(effects).sort(), changeable().sort()));

  for (const [name, effect] of Object.entries(effects)) {
    if (typeof effect !== 'function') continue;
    test(name, async () => {
      const outcome = await effect(server, await server.database());
      if (outcome !== 'is reset') await unset(server, name);
      expectStatus(await server.get('/_up'), 200);
    });
  }

  test('log/level and log/slow_request', async () => {
    const db = await server.database();
    expectStatus(await server.put(`/${db}/_design/busy`, { updates: { busy: busyFunction(50) } }), 201);
    const isSlow = (line) => /slow request: .*_update/.test(line);
    const linesOfBusy = async () => {
      server.lines.splice(0);
      const reply = await server.post(`/${db}/_design/busy/_update/busy`);
      assert.equal(reply.text, 'x');
      await server.get('/_up');
      await sleep(300 * patience);
      return server.lines.filter(isSlow).length;
    };
    assert.equal(await linesOfBusy(), 0);
    await set(server, 'log/slow_request', '10ms');
    assert.equal(await linesOfBusy(), 1);
    await set(server, 'log/level', 'error');
    assert.equal(await linesOfBusy(), 0);
    await unset(server, 'log/level');
    await unset(server, 'log/slow_request');
  });

  test('storage/open_partitions_max', async () => {
    for (let n = 0; n < 20; ++n) await server.database();
    const open = async () => (await server.get('/_node/_local/_stats/couchdb/open_databases')).body.value;
    assert.ok(await open() >= 20);
    await set(server, 'storage/open_partitions_max', 4);
    await eventually(async () => await open() < 15, 20_000);
    await unset(server, 'storage/open_partitions_max');
  });

  test('couch_peruser', async () => {
    const user = (name) => server.put(`/_users/org.couchdb.user:${name}`, { type: 'user', name, roles: [], password: 'x' });
    const info = (name) => server.get(`/${name}`);
    await set(server, 'couch_peruser/database_prefix', 'own-');
    await set(server, 'couch_peruser/q', 2);
    await set(server, 'couch_peruser/enable', 'true');
    const { rev } = expectStatus(await user('bob'), 201);
    await eventually(async () => (await info('own-626f62')).status === 200, 20_000);
    assert.equal((await info('own-626f62')).body.cluster.q, 2);
    const asBob = { auth: 'bob:x' };
    expectStatus(await server.put('/own-626f62/d', {}, asBob), 201);
    expectStatus(await user('eve'), 201);
    await eventually(async () => (await info('own-657665')).status === 200, 20_000);
    expectStatus(await server.get('/own-626f62/d', { auth: 'eve:x' }), 403);
    await set(server, 'couch_peruser/delete_dbs', 'true');
    expectStatus(await server.delete(`/_users/org.couchdb.user:bob?rev=${rev}`), 200);
    await eventually(async () => (await info('own-626f62')).status === 404, 20_000);
    for (const key of ['enable', 'delete_dbs', 'database_prefix', 'q']) await unset(server, `couch_peruser/${key}`);
  });
});

test('a server without admins takes the names of hosts and the size of items at run time', async (t) => {
  const server = await Server.startFor(t, { config: '[cosmos]\nenabled = true\n' });
  const named = () => server.get('/', { headers: { Host: 'db.example.com' } });
  expectStatus(await named(), 403);
  await set(server, 'server/allowed_hosts', 'db.example.com');
  expectStatus(await named(), 200);

  expectStatus(await cosmosRequest(server, 'POST', '/dbs', { body: { id: 'd' } }), 201);
  expectStatus(await cosmosRequest(server, 'POST', '/dbs/d/colls', { body: { id: 'c', partitionKey: { paths: ['/id'], kind: 'Hash', version: 2 } } }), 201);
  const create = (id) => cosmosRequest(server, 'POST', '/dbs/d/colls/c/docs', { body: { id, text: 'x'.repeat(3000) }, partition: [id] });
  expectStatus(await create('a'), 201);
  await set(server, 'cosmos/item_bytes_max', '2KiB');
  expectStatus(await create('b'), 413);

  await set(server, 'server/shutdown_timeout', '1234ms');
  await server.stop();
  assert.ok(server.lines.some((line) => line.includes('at most 1234 ms')), server.lines.slice(-5).join('\n'));
});

test('JSON Web Tokens that were accepted are checked by the settings of now', async (t) => {
  const secret = 'a secret of more than thirty-two bytes!';
  const server = await Server.startFor(t, { admin: true, config: `[jwt_keys]\n"hs256:_default" = "${Buffer.from(secret).toString('base64')}"\n` });
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${part({ typ: 'JWT', alg: 'HS256' })}.${part({ sub: 'jane', groups: ['staff'], '_couchdb.roles': ['old'] })}`;
  const Authorization = `Bearer ${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  const session = () => server.get('/_session', { ...anonymous, headers: { Authorization } });
  assert.deepEqual(expectStatus(await session(), 200).userCtx, { name: 'jane', roles: ['old'] });
  await set(server, 'auth/jwt_roles_claim_path', 'groups');
  assert.deepEqual(expectStatus(await session(), 200).userCtx, { name: 'jane', roles: ['staff'] });
  await set(server, 'auth/jwt_required_claims', 'exp');
  assert.ok([400, 401].includes((await session()).status));
  await set(server, 'jwt_auth/required_claims', ' sub, {sub, "jane"}');
  assert.equal((await server.get(`${root}/auth/jwt_required_claims`)).body, 'sub, sub=jane');
  assert.equal((await server.get(`${root}/jwt_auth/required_claims`)).body, 'sub, {sub, "jane"}');
  expectStatus(await session(), 200);
  await set(server, 'jwt_auth/required_claims', '{sub, "john"}');
  assert.ok([400, 401].includes((await session()).status));
  expectError(await server.put(`${root}/jwt_auth/required_claims`, '"{sub, john}"'), 400, 'bad_request', /NAME=VALUE/);
  await server.stop();
});

describe('what is changed stays', () => {
  test('after kill -9, as soon as the reply has come', async (t) => {
    const server = await Server.startFor(t, { config: cheap });
    await set(server, 'uuids/max_count', 5);
    await set(server, 'admins/ann', 'one');
    await server.kill();
    await server.relaunch();
    expectStatus(await server.get('/_uuids?count=6'), 400);
    expectStatus(await server.get('/_all_dbs', anonymous), 401);
    expectStatus(await server.get('/_all_dbs', { auth: 'ann:one' }), 200);
    const files = fs.readdirSync(path.join(server.dataDir, 'catalog')).map((name) => fs.readFileSync(path.join(server.dataDir, 'catalog', name)));
    assert.ok(files.every((bytes) => !bytes.includes('ann:one') && !bytes.includes('"one"')));
    await unset(server, 'admins/ann', { auth: 'ann:one' });
    await unset(server, 'uuids/max_count');
    await server.stop({ keepFolder: true });
    await server.relaunch();
    expectStatus(await server.get('/_uuids?count=6', anonymous), 200);
    expectStatus(await server.get('/_all_dbs', anonymous), 200);
    await server.stop();
  });

  test('unless file, environment or flags say otherwise, and those are named', async (t) => {
    const server = await Server.startFor(t, { config: `${cheap}[cors]\nmax_age = "5m"\n`, keepConfig: true,
      env: { OCTAVO_UUIDS_MAX_COUNT: '9' }, args: ['--query-find-limit-default', '4'] });
    const put = (name, value) => server.put(`${root}/${name}`, JSON.stringify(value));
    expectError(await put('cors/max_age', '60'), 403, 'modification_not_allowed', /octavo\.toml:4/);
    expectError(await put('uuids/max_count', '60'), 403, 'modification_not_allowed', /OCTAVO_UUIDS_MAX_COUNT/);
    expectError(await put('query/find_limit_default', '60'), 403, 'modification_not_allowed', /--query-find-limit-default/);
    expectError(await put('chttpd/port', '60'), 403, 'modification_not_allowed', /server\.port/);
    await set(server, 'database/default_q', 2);

    fs.writeFileSync(server.configFile, `${cheap}[database]\ndefault_q = 3\n`);
    expectStatus(await server.post(`${root}/_reload`), 200);
    assert.equal((await server.get(`${root}/database/default_q`)).body, '3');
    assert.equal((await server.get(`${root}/cors/max_age`)).body, '600');
    fs.writeFileSync(server.configFile, cheap);
    await server.reload(/as the configuration has them now/);
    await eventually(async () => (await server.get(`${root}/database/default_q`)).body === '2');
    fs.writeFileSync(server.configFile, '[nonsense');
    expectError(await server.post(`${root}/_reload`), 400, 'bad_request', /cannot be used, nothing changes/);
    await server.stop();
  });
});

describe('programs that set up CouchDB', () => {
  let server;
  before(async () => { server = await Server.start({ config: cheap }); });
  after(() => server?.stop());

  test('add-cors-to-couchdb: all settings at once, for each node', async () => {
    const { cluster_nodes: nodes } = expectStatus(await server.get('/_membership'), 200);
    const plain = { headers: { 'Content-Type': 'text/plain;charset=UTF-8' } };
    const replies = await Promise.all(nodes.flatMap((node) => [
      ['httpd/enable_cors', '"true"'],
      ['cors/origins', '"*"'],
      ['cors/credentials', '"true"'],
      ['cors/methods', '"GET, PUT, POST, HEAD, DELETE"'],
      ['cors/headers', '"accept, authorization, content-type, origin, referer, x-csrf-token"'],
    ].map(([name, value]) => server.put(`/_node/${node}//_config/${name}`, value, plain))));
    for (const reply of replies) expectStatus(reply, 200);
    const reply = await server.request('OPTIONS', '/', { headers: { Origin: 'https://any.example',
      'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'x-csrf-token' } });
    assert.equal(reply.headers['access-control-allow-origin'], 'https://any.example');
    assert.equal(reply.headers['access-control-allow-credentials'], 'true');
  });

  test('the set-up script of Self-hosted LiveSync', async (t) => {
    const fresh = await Server.startFor(t, { config: cheap });
    const ann = { auth: 'ann:one' };
    expectStatus(await fresh.post('/_cluster_setup', { action: 'enable_single_node', username: 'ann', password: 'one',
      bind_address: '127.0.0.1', port: fresh.port, singlenode: true }), 201);
    const settings = { 'chttpd/require_valid_user': 'true', 'chttpd_auth/require_valid_user': 'true',
      'httpd/WWW-Authenticate': 'Basic realm="couchdb"', 'httpd/enable_cors': 'true', 'chttpd/enable_cors': 'true',
      'chttpd/max_http_request_size': '4294967296', 'couchdb/max_document_size': '50000000', 'cors/credentials': 'true',
      'cors/origins': 'app://obsidian.md,capacitor://localhost,http://localhost' };
    for (const [name, value] of Object.entries(settings)) {
      await set(fresh, name, value, ann);
      assert.equal((await fresh.get(`${root}/${name}`, ann)).body.replaceAll(', ', ','), value, name);
    }
    const refused = await fresh.get('/notes', { ...anonymous, headers: { Origin: 'app://obsidian.md' } });
    expectStatus(refused, 401);
    assert.equal(refused.headers['www-authenticate'], 'Basic realm="couchdb"');
    assert.equal(refused.headers['access-control-allow-origin'], 'app://obsidian.md');
    await fresh.stop();
  });

  test('couchdb-bootstrap with _config.json, twice', async () => {
    const config = { couch_httpd_auth: { timeout: 1200 }, chttpd: { require_valid_user: false }, couchdb: { max_document_size: 4000000 },
      log: { level: 'warning' }, admins: { ann: 'secret' } };
    const { all_nodes: nodes } = expectStatus(await server.get('/_membership'), 200);
    const write = async (options) => {
      const old = {};
      for (const [section, keys] of Object.entries(config)) {
        for (const [key, value] of Object.entries(keys)) {
          const reply = await server.put(`/_node/${nodes[0]}/_config/${section}/${key}`, JSON.stringify(value.toString()), options);
          old[`${section}/${key}`] = expectStatus(reply, 200);
        }
      }
      return old;
    };
    assert.deepEqual(await write(), { 'couch_httpd_auth/timeout': '600', 'chttpd/require_valid_user': 'false',
      'couchdb/max_document_size': '8388608', 'log/level': 'info', 'admins/ann': '' });
    assert.deepEqual(await write({ auth: 'ann:secret' }), { 'couch_httpd_auth/timeout': '1200', 'chttpd/require_valid_user': 'false',
      'couchdb/max_document_size': '4000000', 'log/level': 'warning', 'admins/ann': '*****' });
  });

  test('a set-up script for a single node', async (t) => {
    const fresh = await Server.startFor(t, { config: cheap });
    assert.deepEqual(expectStatus(await fresh.get('/_cluster_setup'), 200), { state: 'single_node_disabled' });
    expectError(await fresh.post('/_cluster_setup', { action: 'enable_single_node' }), 400, 'bad_request', /requires admin account/);
    const wanted = { action: 'enable_single_node', username: 'ann', password: 'one', bind_address: '127.0.0.1', port: fresh.port, singlenode: true };
    expectError(await fresh.post('/_cluster_setup', { ...wanted, bind_address: '0.0.0.0' }), 400, 'bad_request', /OCTAVO_BIND/);
    assert.deepEqual(expectStatus(await fresh.post('/_cluster_setup', wanted), 201), { ok: true });
    const asAnn = { auth: 'ann:one' };
    expectStatus(await fresh.post('/_cluster_setup', { action: 'finish_cluster', ensure_dbs_exist: ['_users', '_global_changes'] }, asAnn), 201);
    expectStatus(await fresh.get('/_global_changes', asAnn), 200);
    expectStatus(await fresh.post('/_cluster_setup', wanted, asAnn), 201);
    assert.deepEqual(expectStatus(await fresh.get('/_cluster_setup', asAnn), 200), { state: 'single_node_enabled' });
    expectStatus(await fresh.get('/_cluster_setup', anonymous), 401);
    expectError(await fresh.post('/_cluster_setup', { action: 'add_node', host: 'b' }, asAnn), 400, 'bad_request', /single node/);
    expectError(await fresh.post('/_cluster_setup', {}, asAnn), 400, 'bad_request', /Invalid Action/);
    await fresh.stop();
  });

  test('only server admins read and change settings', async (t) => {
    const closed = await Server.startFor(t, { admin: true });
    expectStatus(await closed.put('/_users/org.couchdb.user:bob', { type: 'user', name: 'bob', roles: [], password: 'x' }), 201);
    for (const [auth, status] of [[false, 401], ['bob:x', 401]]) {
      expectStatus(await closed.put(`${root}/log/level`, '"debug"', { auth }), status);
      expectStatus(await closed.delete(`${root}/log/level`, { auth }), status);
      expectStatus(await closed.post(`${root}/_reload`, undefined, { auth }), status);
      expectStatus(await closed.get(root, { auth }), status);
    }
    expectError(await closed.put(`${root}/admins/${credentials.name}`, '"new"'), 403, 'modification_not_allowed', /COUCHDB_USER/);
    await closed.stop();
  });
});
