// The disk full, failing, or out of reach, under the real server: writes say so, reads continue, and nothing needs a
// restart. Files fail by the file layer of tests/crash, which the sanitizers do not allow.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { assertDiskFull, checkFiles, env, layer, onSmallDisk, startFailing, uncompressed, until } from '../failing_disk.mjs';
import { binary, docIds, expectStatus, ids, Server, sleep } from '../harness.mjs';

/// Writers that run until told to stop; every reply is kept by document.
function load(server, count) {
  const state = { acknowledged: [], refused: [], other: [], stop: false };
  const writer = async (w) => {
    for (let n = 0; !state.stop; n++) {
      const id = `p${w}:w${w}-${n}`;
      const reply = await server.put(`/shop/${id}`, { n: w * 1e6 + n, filler: 'x'.repeat(2000) });
      if (reply.status === 201) state.acknowledged.push(id);
      else if (reply.status === 507) state.refused.push(id);
      else state.other.push(`${id}: ${reply.status} ${reply.text}`);
      if (reply.status !== 201) await sleep(5);
    }
  };
  state.done = Promise.all(Array.from({ length: count }, (_, w) => writer(w)));
  return state;
}

describe('a full disk', { skip: !layer }, () => {
  let server;
  before(async () => {
    server = await startFailing({ args: ['--storage-map-bytes-initial', '1MiB'] });
    expectStatus(await server.put('/shop?partitioned=true&q=2'), 201);
    await server.fill('shop', Array.from({ length: 50 }, (_, n) => ({ _id: `seed${n % 3}:${n}`, n: -1 - n })));
    await server.post('/shop/_index', { index: { fields: ['n'] }, ddoc: 'local', name: 'local' });
    await server.post('/shop/_index', { index: { fields: ['n'] }, ddoc: 'global', name: 'global', partitioned: false });
    await server.post('/shop/_find', { selector: { n: { $lt: 0 } } });
  });
  after(() => server?.end());

  test('under load: writes 507, reads and feeds continue, and writes resume when there is space', async () => {
    const feed = await server.feed('/shop/_changes?feed=continuous&since=0&heartbeat=200');
    const written = load(server, 6);
    await until('some writes', () => written.acknowledged.length > 50);
    server.faults(['enospc write after=100000']);
    await until('the disk is full', () => written.refused.length > 30);

    // Nothing else is refused, while it lasts.
    expectStatus(await server.get('/shop/seed0:0'), 200);
    expectStatus(await server.get(`/shop/${written.acknowledged.at(-1)}`), 200);
    expectStatus(await server.get('/shop/_all_docs?limit=10'), 200);
    expectStatus(await server.get('/shop/_partition/seed1/_all_docs'), 200);
    expectStatus(await server.get('/shop/_changes?limit=10'), 200);
    expectStatus(await server.get('/shop/_changes?feed=longpoll&since=0&limit=3'), 200);
    expectStatus(await server.post('/shop/_partition/seed1/_find', { selector: { n: -1 } }), 200);
    expectStatus(await server.post('/shop/_find', { selector: { n: -7 } }), 200);
    expectStatus(await server.get('/_all_dbs'), 200);
    // The state is that of the latest write, and some writes still find room in the files.
    await until('the disk is reported', async () => expectStatus(await server.get('/_up'), 200).writes === 'insufficient_storage');

    // Each kind of write says why; now none finds room in what the files have already.
    server.faults(['enospc write']);
    assertDiskFull(await server.put('/shop/seed0:new', { a: 1 }));
    assertDiskFull(await server.post('/shop', { _id: 'seed0:posted' }));
    assertDiskFull(await server.put('/another'));
    assertDiskFull(await server.put('/shop/_security', { members: { names: ['x'], roles: [] }, admins: { names: [], roles: [] } }));
    const bulk = await server.post('/shop/_bulk_docs', { docs: [{ _id: 'seed0:b1' }, { _id: 'seed1:b2' }] });
    expectStatus(bulk, 201);
    assert.deepEqual(bulk.body.map((row) => row.error), ['insufficient_storage', 'insufficient_storage']);
    const batch = await server.post('/shop/_partition/seed0/_batch', { docs: [{ _id: 'seed0:half1' }, { _id: 'seed0:half2' }] });
    assert.equal(batch.status, 507, batch.text);
    for (const id of ['seed0:new', 'seed0:b1', 'seed1:b2', 'seed0:half1', 'seed0:half2']) {
      expectStatus(await server.get(`/shop/${id}`), 404);
    }
    expectStatus(await server.get('/another'), 404);

    // Space again: the same process writes.
    const before = written.acknowledged.length;
    server.faults([]);
    await until('writes resume', () => written.acknowledged.length > before + 50);
    written.stop = true;
    await written.done;
    assert.deepEqual(written.other, []);
    expectStatus(await server.put('/shop/seed0:new', { a: 1 }), 201);
    expectStatus(await server.put('/another'), 201);
    assert.deepEqual((await server.get('/_up')).body, { status: 'ok', seeds: {} });

    // What was acknowledged is there; what was refused is not; the follower saw just that.
    const all = ids((await server.get('/shop/_all_docs')).body.rows);
    const stored = new Set(all);
    for (const id of written.acknowledged) assert.ok(stored.has(id), `${id} was acknowledged`);
    for (const id of written.refused) assert.ok(!stored.has(id), `${id} was refused`);
    const followed = new Set();
    while (followed.size < stored.size) followed.add((await feed.nextRow()).id);
    assert.deepEqual([...followed].sort(), [...stored].sort());
    feed.close();

    // Indexes have caught up with all of it.
    const found = await server.post('/shop/_find', { selector: { n: { $gte: 0 } }, fields: ['_id'], limit: 100_000, use_index: ['global', 'global'] });
    expectStatus(found, 200);
    assert.deepEqual(docIds(found.body.docs).sort(), [...written.acknowledged].sort());
  });

  test('an index that cannot be built for lack of space is built when there is some, and queries do without it', async () => {
    server.faults(['enospc write path=index- after=0']);
    const reply = await server.post('/shop/_index', { index: { fields: ['filler'] }, ddoc: 'late', name: 'late', partitioned: false });
    expectStatus(reply, 200);
    const query = { selector: { filler: { $gt: null } }, fields: ['_id'], limit: 5 };
    expectStatus(await server.post('/shop/_find', query), 200);
    server.faults([]);
    await until('the index is used', async () => {
      const explained = await server.post('/shop/_explain', query);
      expectStatus(explained, 200);
      return explained.body.index.name === 'late';
    }, 20_000);
    assert.equal((await server.post('/shop/_find', query)).body.docs.length, 5);
  });
});

describe('a disk that fails', { skip: !layer }, () => {
  let server;
  before(async () => {
    server = await startFailing();
    expectStatus(await server.put('/shop?partitioned=true'), 201);
    expectStatus(await server.put('/shop/a:0', { n: 0 }), 201);
  });
  after(() => server?.end());

  for (const rule of ['eio fdatasync', 'eio synced-write', 'eio write']) {
    test(`${rule}: 500 and never 201, reads continue, and later writes are as durable as ever`, async () => {
      const key = rule.replace(/\W/g, '');
      expectStatus(await server.put(`/shop/a:${key}`, { n: 1 }), 201);
      const fired = server.fired();
      server.faults([`${rule} path=partition`]);
      const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => server.put(`/shop/a:${key}-${n}`, { n })));
      for (const reply of replies) {
        assert.equal(reply.status, 500, reply.text);
        assert.equal(reply.body.error, 'io_failure');
        assert.match(reply.body.reason, /the disk failed/i);
      }
      assert.ok(server.fired() > fired);
      expectStatus(await server.get(`/shop/a:${key}`), 200);
      expectStatus(await server.get('/shop/_all_docs'), 200);
      assert.equal((await server.get('/_up')).body.writes, 'io_failure');
      server.faults([]);
      for (let n = 0; n < 20; n++) expectStatus(await server.put(`/shop/a:${key}-${n}`, { n }), 201);
      await server.kill();
      await server.relaunch();
      for (let n = 0; n < 20; n++) expectStatus(await server.get(`/shop/a:${key}-${n}`), 200);
    });
  }

  test('one failing sync under load fails its group alone', async () => {
    server.faults(['eio fdatasync path=partition skip=1 times=1']);
    const replies = await Promise.all(Array.from({ length: 200 }, async (_, n) => {
      await sleep(n);
      return { id: `a:load-${n}`, status: (await server.put(`/shop/a:load-${n}`, { n })).status };
    }));
    server.faults([]);
    const count = (status) => replies.filter((reply) => reply.status === status).length;
    assert.ok(count(500) >= 1 && count(201) + count(500) === 200, JSON.stringify(replies.map((reply) => reply.status)));
    await server.kill();
    await server.relaunch();
    for (const { id, status } of replies) {
      const found = (await server.get(`/shop/${id}`)).status;
      if (status === 201) assert.equal(found, 200, id);
    }
  });
});

describe('a limit of the size of files', () => {
  test('is a full disk: writes 507, reads continue, the process lives, and other files still take writes', async (t) => {
    const limit = 4 * 2 ** 20;
    const server = await Server.startFor(t, { through: ['prlimit', `--fsize=${limit}:${limit}`], args: uncompressed });
    expectStatus(await server.put('/shop'), 201);
    expectStatus(await server.put('/other'), 201);
    let stored = 0;
    let reply;
    for (; stored < 100; stored++) {
      reply = await server.put(`/shop/d${stored}`, { filler: 'x'.repeat(200_000) });
      if (reply.status !== 201) break;
    }
    assert.equal(reply.status, 507, reply.text);
    assert.equal(reply.body.error, 'insufficient_storage');
    assert.match(reply.body.reason, /may not become larger/);
    assert.ok(stored > 5);
    for (let n = 0; n < stored; n++) expectStatus(await server.get(`/shop/d${n}`), 200);
    assert.equal((await server.get('/shop/_all_docs')).body.rows.length, stored);
    expectStatus(await server.put('/other/d', { a: 1 }), 201);
    await server.stop({ keepFolder: true });
    checkFiles(server.dataDir);
    await server.relaunch();
    assert.equal((await server.get('/shop')).body.doc_count, stored);
    await server.stop();
  });
});

describe('a disk that is really full', () => {
  test('databases can be closed to users and deleted, which makes room', async (t) => {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-small-'));
    t.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
    const through = onSmallDisk(dataDir, 12);
    if (!through) {
      t.skip('this user may not mount a file system');
      return;
    }
    const server = await Server.startFor(t, { dataDir, through, args: uncompressed });
    expectStatus(await server.put('/shop'), 201);
    const fill = async (bytes) => {
      for (let n = 0, refused = 0; refused < 3; n++) {
        const reply = await server.post('/shop', { filler: 'x'.repeat(bytes) });
        if (reply.status === 201) continue;
        assertDiskFull(reply);
        refused++;
        assert.ok(n < 100_000);
      }
    };
    for (const bytes of [200_000, 20_000, 3000, 10]) await fill(bytes);
    assertDiskFull(await server.put('/another'));

    const security = { admins: { names: [], roles: ['_admin'] }, members: { names: ['reader'], roles: [] } };
    for (let n = 0; n < 50; n++) expectStatus(await server.put('/shop/_security', security), 200);
    expectStatus(await server.delete('/shop'), 200);
    await until('there is room again', async () => (await server.put('/another')).status === 201);
    expectStatus(await server.put('/another/d', { filler: 'x'.repeat(1_000_000) }), 201);
    await server.stop();
  });
});

describe('a process that has no descriptors left', () => {
  test('answers 503 for what it cannot open, never 404, and serves again when some are free', async (t) => {
    const server = await Server.startFor(t, { through: ['prlimit', '--nofile=96:96'], args: ['--storage-open-partitions-max', '1000'] });
    const names = Array.from({ length: 40 }, (_, n) => `db${n}`);
    const created = [];
    for (const name of names) {
      const reply = await server.put(`/${name}`);
      assert.ok([201, 503].includes(reply.status), reply.text);
      if (reply.status === 201) created.push(name);
    }
    assert.ok(created.length > 3);
    const sockets = [];
    for (let n = 0; n < 120; n++) {
      const socket = net.connect(server.port, '127.0.0.1');
      socket.on('error', () => {});
      sockets.push(socket);
    }
    await sleep(300);
    for (const name of created) {
      const reply = await server.get(`/${name}`, { timeoutMs: 2000 }).catch(() => undefined);
      if (!reply) continue;
      assert.ok([200, 503].includes(reply.status), `${name}: ${reply.status} ${reply.text}`);
    }
    for (const socket of sockets) socket.destroy();
    await until('every database answers', async () => {
      for (const name of created) {
        const reply = await server.get(`/${name}`, { timeoutMs: 5000 }).catch(() => undefined);
        if (reply?.status !== 200) return false;
      }
      return true;
    });
    expectStatus(await server.put('/db-after'), 201);
    expectStatus(await server.put(`/${created[0]}/d`, { a: 1 }), 201);
    await server.stop();
  });
});

describe('a log that cannot be written', () => {
  const freePort = () => new Promise((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
  const ask = (port, method, target, body) => new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method, path: target, agent: false, headers: { 'Content-Type': 'application/json' } },
      (response) => { response.resume(); response.on('end', () => resolve(response.statusCode)); });
    request.on('error', reject);
    request.end(body);
  });

  for (const [what, redirection] of [['closed', '<&- >&- 2>&-'], ['full', '>/dev/full 2>&1']]) {
    test(`standard error ${what}: the server serves, and no line of it gets into the data`, async () => {
      const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-log-'));
      const port = await freePort();
      const child = spawn('sh', ['-c', `exec "$0" "$@" ${redirection}`, binary, 'serve', '--data-dir', dataDir, '--port', String(port), '--cosmos-port', '0',
        '--log-access', '--log-level', 'debug'], { stdio: 'inherit', env });
      const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
      await until('it answers', () => ask(port, 'GET', '/').then(() => true, () => false));
      assert.equal(await ask(port, 'PUT', '/shop'), 201);
      for (let n = 0; n < 50; n++) assert.equal(await ask(port, 'PUT', `/shop/d${n}`, '{}'), 201);
      assert.equal(await ask(port, 'GET', '/shop/%00'), 404);
      child.kill('SIGTERM');
      assert.deepEqual(await exited, { code: 0, signal: null });
      checkFiles(dataDir);
      fs.rmSync(dataDir, { recursive: true, force: true });
    });
  }
});
