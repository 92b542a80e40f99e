import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { namesBelow } from '../folders.mjs';
import { docIds, eventually, expectStatus, ids, patience, Server, sleep } from '../harness.mjs';

const hex = (letter) => letter.repeat(32);

/// Everything of a server that a restart must keep, as one value.
async function picture(server) {
  const result = {};
  for (const name of (await server.get('/_all_dbs')).body) {
    const { sizes, instance_start_time: start, ...info } = (await server.get(`/${name}`)).body;
    result[name] = {
      info, start,
      docs: (await server.get(`/${name}/_all_docs?include_docs=true&conflicts=true`)).body.rows,
      changes: (await server.get(`/${name}/_changes?style=all_docs`)).body,
      local: (await server.get(`/${name}/_local_docs?include_docs=true`)).body.rows,
      indexes: (await server.get(`/${name}/_index`)).body,
      security: (await server.get(`/${name}/_security`)).body,
      revsLimit: (await server.get(`/${name}/_revs_limit`)).body,
    };
  }
  result.uuid = (await server.get('/')).body.uuid;
  return result;
}

async function furnish(server) {
  await server.put('/plain?q=3');
  await server.put('/parted?partitioned=true&q=2');
  await server.put('/gone');
  const revs = await server.fill('plain', Array.from({ length: 300 }, (_, n) => ({ _id: `d${n}`, n, mod: n % 10 })));
  await server.put('/plain/d1', { _rev: revs[1], n: 'changed' });
  await server.delete(`/plain/d2?rev=${revs[2]}`);
  await server.post('/plain/_bulk_docs', { new_edits: false, docs: ['a', 'b'].map((letter) => ({
    _id: 'forked', _rev: `2-${hex(letter)}`, _revisions: { start: 2, ids: [hex(letter), hex('0')] }, letter })) });
  await server.put('/plain/_local/checkpoint', { seq: 42 });
  await server.put('/plain/_security', { members: { names: [], roles: [] }, admins: { names: ['x'], roles: [] } });
  await server.put('/plain/_revs_limit', '77');
  await server.put(`/plain/${'k'.repeat(2000)}`, { long: true });
  await server.fill('parted', Array.from({ length: 100 }, (_, n) => ({ _id: `p${n % 4}:d${n}`, n })));
  await server.post('/plain/_index', { index: { fields: ['mod'] }, ddoc: 'mod', name: 'mod' });
  await server.post('/parted/_index', { index: { fields: ['n'] }, ddoc: 'local', name: 'local' });
  await server.post('/parted/_index', { index: { fields: ['n'] }, ddoc: 'global', name: 'global', partitioned: false });
  await server.delete('/gone');
}

async function checkQueries(server) {
  const byMod = (await server.post('/plain/_find', { selector: { mod: 7 }, execution_stats: true, limit: 100 })).body;
  assert.equal(byMod.docs.length, 30);
  assert.equal(byMod.execution_stats.total_docs_examined, 30);
  const local = (await server.post('/parted/_partition/p1/_find', { selector: { n: 41 }, execution_stats: true })).body;
  assert.deepEqual(docIds(local.docs), ['p1:d41']);
  assert.equal(local.execution_stats.total_docs_examined, 1);
  const global = (await server.post('/parted/_find', { selector: { n: 42 }, execution_stats: true })).body;
  assert.deepEqual(docIds(global.docs), ['p2:d42']);
  assert.equal(global.execution_stats.total_docs_examined, 1);
}

for (const [how, end] of [['SIGTERM', (server) => server.stop({ keepFolder: true })], ['kill -9', (server) => server.kill()]]) {
  describe(`after ${how}`, () => {
    let server;
    before(async () => {
      server = await Server.start();
      await furnish(server);
    });
    after(() => server?.stop());

    test('everything is there as it was, and works', async () => {
      const earlier = await picture(server);
      await checkQueries(server);
      await end(server);
      await server.relaunch();
      const now = await picture(server);
      assert.deepEqual(now, earlier);
      assert.deepEqual((await server.get('/_all_dbs')).body.filter((name) => !name.startsWith('_')), ['parted', 'plain']);
      await checkQueries(server);
      const since = earlier.plain.changes.last_seq;
      await server.put('/plain/later', { mod: 7 });
      assert.deepEqual(ids((await server.get(`/plain/_changes?since=${since}`)).body.results), ['later']);
      assert.equal((await server.post('/plain/_find', { selector: { mod: 7 }, limit: 100 })).body.docs.length, 31);
    });

    test('it is ready soon', () => {
      assert.ok(server.readyMs < 4000 * patience, `${server.readyMs} ms`);
    });
  });
}

describe('kill -9 under load', () => {
  test('no acknowledged write is lost, in many rounds', async (t) => {
    const server = await Server.startFor(t);
    await server.put('/loaded?q=2');
    await server.post('/loaded/_index', { index: { fields: ['round'] }, ddoc: 'round', name: 'round' });
    const acknowledged = new Map();
    for (let round = 0; round < 6; ++round) {
      let running = true;
      const writer = async (w) => {
        for (let n = 0; running; ++n) {
          const id = `r${round}-w${w}-n${n}`;
          try {
            const reply = await server.put(`/loaded/${id}`, { round, n });
            if (reply.status === 201) acknowledged.set(id, reply.body.rev);
          } catch {
            return;
          }
        }
      };
      const before = acknowledged.size;
      const writers = Array.from({ length: 16 }, (_, w) => writer(w));
      await eventually(() => acknowledged.size > before, 20_000);
      await sleep(300);
      await server.kill();
      running = false;
      await Promise.all(writers);
      await server.relaunch();
      const rows = (await server.get('/loaded/_all_docs')).body.rows.filter((row) => !row.id.startsWith('_design'));
      const stored = new Map(rows.map((row) => [row.id, row.value.rev]));
      for (const [id, rev] of acknowledged) assert.equal(stored.get(id), rev, `round ${round}: ${id} was acknowledged`);
      // Documents, feed and index tell the same story, also of writes that were in flight.
      const changes = (await server.get('/loaded/_changes')).body.results.filter((row) => !row.id.startsWith('_design'));
      assert.deepEqual(ids(changes).sort(), [...stored.keys()].sort());
      const found = (await server.post('/loaded/_find', { selector: { round }, limit: 100_000, use_index: 'round' })).body;
      assert.deepEqual(docIds(found.docs).sort(), [...stored.keys()].filter((id) => id.startsWith(`r${round}-`)).sort());
      assert.equal((await server.get('/loaded')).body.doc_count, stored.size + 1);
    }
    await server.stop();
  });
});

describe('the data folder', () => {
  test('is used by one server at a time', async (t) => {
    const server = await Server.startFor(t);
    const second = new Server({ dataDir: server.dataDir });
    await assert.rejects(second.launch(), /did not become ready/);
    expectStatus(await server.get('/'), 200);
    await server.stop();
  });

  test('is shown with its whole path, and announced when it is new', async (t) => {
    const parent = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-folder-'));
    t.after(() => fs.rmSync(parent, { recursive: true, force: true }));
    const folder = path.join(parent, 'data');
    const server = await Server.startFor(t, { dataDir: path.relative(process.cwd(), folder) });
    const first = server.lines.join('\n');
    assert.ok(first.includes(`created a new data folder: ${folder}\n`), first);
    assert.ok(first.includes(` data=${folder}`), first);
    await server.stop();
    const before = server.lines.length;
    await server.relaunch();
    const second = server.lines.slice(before).join('\n');
    assert.ok(!second.includes('created a new data folder'), second);
    assert.ok(second.includes(` data=${folder}`), second);
    await server.stop();
  });

  test('is not readable for others', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    await server.put('/db');
    await server.put('/db/doc', { secret: 'a very particular secret' });
    for (const name of namesBelow(server.dataDir)) {
      const found = fs.statSync(path.join(server.dataDir, name), { throwIfNoEntry: false });
      if (found) assert.equal(found.mode & 0o007, 0, `${name} has mode ${(found.mode & 0o777).toString(8)}`);
    }
    await server.stop();
  });

  test('holds no password in clear', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    await server.put('/db');
    await server.stop({ keepFolder: true });
    for (const name of fs.readdirSync(server.dataDir, { recursive: true })) {
      const file = path.join(server.dataDir, name);
      if (fs.statSync(file).isFile()) assert.ok(!fs.readFileSync(file).includes('correct horse'), name);
    }
    server.removeFolder();
  });
});

test('a server whose requests are cut off at its end writes what it has taken, and ends in order', async (t) => {
  const server = await Server.startFor(t, { env: { OCTAVO_SHUTDOWN_TIMEOUT: '50ms', OCTAVO_STORAGE_COMPRESSION: 'none' } });
  expectStatus(await server.put('/scratch'), 201);
  const text = 'x'.repeat(7_900_000);
  const requests = Array.from({ length: 40 }, (_, n) => server.put(`/scratch/d${n}`, { text }).catch(() => ({ status: 'cut off' })));
  await Promise.race(requests);
  await sleep(100);
  server.process.kill('SIGTERM');
  const replies = await Promise.all(requests);
  await server.exited;
  await server.stop({ keepFolder: true });
  assert.ok(replies.some(({ status }) => status === 'cut off'), 'all had ended before');
  await server.relaunch();
  for (const [n, { status }] of replies.entries()) {
    if (status === 201) expectStatus(await server.request('HEAD', `/scratch/d${n}`), 200);
  }
});
