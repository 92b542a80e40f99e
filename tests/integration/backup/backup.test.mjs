// Backups of a running server: what is in them, and what a server that starts with one makes of it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { analyticsArgs, ask, current as analysed, define, needsLibrary } from '../analytics/analytics_support.mjs';
import { cosmosRequest } from '../cosmos_request.mjs';
import { checkFiles, uncompressed } from '../failing_disk.mjs';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';
import { checkCommands, readPage } from '../pages.mjs';
import { createProjection, current, documentsOf } from '../projections/projection_support.mjs';
import { beginCopy, copied } from '../copies/copy_support.mjs';
import { reshard, shardsOf } from '../reshard.mjs';
import { backUp, begin, contentOf, ended, setRate, startOn, startWithBackups, stateOf } from './backup_support.mjs';

const map = (body) => ({ views: { n: { map: `function (doc) { ${body} }`, reduce: '_sum' } } });
const documents = (count, from = 0) =>
  Array.from({ length: count }, (_, n) => ({ _id: `k${(from + n) % 20}:${from + n}`, n: from + n, text: `word${n % 7} common`, even: n % 2 === 0 }));

/// Databases with indexes of all kinds, deletions, conflicts, local documents, security objects and aliases.
async function fillServer(server) {
  expectStatus(await server.put('/shop?partitioned=true&q=3'), 201);
  expectStatus(await server.put('/plain?q=2'), 201);
  await server.fill('shop', documents(600));
  expectStatus(await server.post('/shop/_index', { index: { fields: ['n'] }, name: 'local', partitioned: true }), 200);
  expectStatus(await server.post('/shop/_index', { index: { fields: ['n'] }, name: 'global', partitioned: false }), 200);
  expectStatus(await server.put('/shop/_design/v', { ...map('emit(doc.even, 1);'), options: { partitioned: false } }), 201);
  await server.fill('plain', documents(200));
  expectStatus(await server.put('/plain/_design/s', { indexes: { text: { index: 'function (doc) { index("text", doc.text || ""); }' } } }), 201);
  const { rev } = expectStatus(await server.get('/plain/_all_docs?key="k1:1"'), 200).rows[0].value;
  expectStatus(await server.delete(`/plain/k1:1?rev=${rev}`), 200);
  expectStatus(await server.post('/plain/_bulk_docs', { new_edits: false, docs: [{ _id: 'k2:2', _rev: `1-${'f'.repeat(32)}`, branch: true }] }), 201);
  expectStatus(await server.put('/plain/_local/checkpoint', { at: 17 }), 201);
  expectStatus(await server.put('/plain/_security', { members: { names: ['ann'] }, admins: { names: [] } }), 200);
}

async function answersOf(server) {
  return {
    shop: await contentOf(server, 'shop'),
    plain: await contentOf(server, 'plain'),
    local: expectStatus(await server.post('/shop/_partition/k3/_find', { selector: { n: { $gt: 100 } } }), 200).docs,
    global: expectStatus(await server.post('/shop/_find', { selector: { n: { $gt: 500 } }, sort: ['n'], use_index: 'global', limit: 200 }), 200).docs,
    view: expectStatus(await server.get('/shop/_design/v/_view/n?group=true'), 200).rows,
    search: expectStatus(await server.get('/plain/_design/s/_search/text?q=text:word3&limit=200'), 200).rows.map(({ id }) => id).sort(),
  };
}

describe('a backup', () => {
  test('has all documents, and a server that starts with it answers as the first one', async (t) => {
    const server = await startWithBackups(t);
    await fillServer(server);
    const before = await answersOf(server);
    assert.equal(before.search.length, 29);

    await begin(server, 'b1');
    assert.equal((await ended(server)).state, 'complete');
    // Nothing that follows the documents is in it. A check makes global indexes.
    const folder = path.join(server.backups, 'b1');
    const tags = fs.readdirSync(path.join(folder, 'databases'));
    assert.ok(tags.length >= 2);
    for (const tag of tags) {
      for (const name of fs.readdirSync(path.join(folder, 'databases', tag))) assert.match(name, /^partition-\d+$/);
    }
    assert.equal(fs.statSync(folder).mode & 0o777, 0o700);
    assert.match(checkFiles(folder), /sound/);

    const second = await startOn(t, folder);
    assert.deepEqual(await answersOf(second), before);
    await server.fill('shop', documents(50, 600));
    await second.fill('shop', documents(50, 600));
    const later = await answersOf(second);
    assert.deepEqual(later, await answersOf(server));
    assert.notDeepEqual(later, before);
  });

  test('has containers with their items, and programs read and change them', async (t) => {
    const server = await startWithBackups(t);
    const items = '/dbs/stock/colls/things/docs';
    const partition = ['p'];
    const read = (from) => cosmosRequest(from, 'GET', `${items}/i1`, { partition });
    assert.equal((await cosmosRequest(server, 'POST', '/dbs', { body: { id: 'stock' } })).status, 201);
    const container = { id: 'things', partitionKey: { paths: ['/pk'], kind: 'Hash' }, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/name'] }] } };
    assert.equal((await cosmosRequest(server, 'POST', '/dbs/stock/colls', { body: container })).status, 201);
    const item = { id: 'i1', pk: 'p', name: 'chair' };
    assert.equal((await cosmosRequest(server, 'POST', items, { body: item, partition })).status, 201);

    const second = await startOn(t, await backUp(server));
    assert.deepEqual((await read(second)).body, (await read(server)).body);
    assert.equal((await cosmosRequest(second, 'POST', items, { body: { ...item, id: 'i2' }, partition })).status, 409);
    assert.equal((await cosmosRequest(second, 'POST', items, { body: { ...item, id: 'i2', name: 'desk' }, partition })).status, 201);
    const query = await cosmosRequest(second, 'POST', items, {
      body: { query: 'SELECT c.id FROM c ORDER BY c.name' },
      partition,
      headers: { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True' },
    });
    assert.deepEqual(query.body.Documents, [{ id: 'i1' }, { id: 'i2' }]);
  });

  test('lets those who follow a change feed begin again, also where new writes have passed their position', async (t) => {
    const server = await startWithBackups(t);
    const db = await server.database();
    await server.fill(db, [{ _id: 'a' }, { _id: 'b' }]);
    const folder = await backUp(server);
    await server.fill(db, [{ _id: 'lost' }]);
    const seen = expectStatus(await server.get(`/${db}/_changes`), 200).last_seq;

    const second = await startOn(t, folder);
    await second.fill(db, [{ _id: 'c' }, { _id: 'd' }, { _id: 'e' }]);
    const ids = (reply) => expectStatus(reply, 200).results.map(({ id }) => id);
    assert.deepEqual(ids(await second.get(`/${db}/_changes?since=${seen}`)), ['a', 'b', 'c', 'd', 'e']);
    // Positions of its own are as everywhere, also after a restart.
    const own = expectStatus(await second.get(`/${db}/_changes`), 200).last_seq;
    await second.stop({ keepFolder: true });
    await second.relaunch();
    await second.fill(db, [{ _id: 'f' }]);
    assert.deepEqual(ids(await second.get(`/${db}/_changes?since=${own}`)), ['f']);
    // Nothing changes on the first server.
    assert.deepEqual(ids(await server.get(`/${db}/_changes?since=${seen}`)), []);
  });

  test('two servers that start with copies of one backup have different positions', async (t) => {
    const server = await startWithBackups(t);
    const db = await server.database();
    await server.fill(db, [{ _id: 'a' }]);
    const folder = await backUp(server);
    const copy = `${folder}-copy`;
    fs.cpSync(folder, copy, { recursive: true });
    const [one, other] = [await startOn(t, folder), await startOn(t, copy)];
    await one.fill(db, [{ _id: 'b' }]);
    await other.fill(db, [{ _id: 'c' }, { _id: 'd' }]);
    const { last_seq: seen } = expectStatus(await one.get(`/${db}/_changes`), 200);
    assert.deepEqual(expectStatus(await other.get(`/${db}/_changes?since=${seen}`), 200).results.map(({ id }) => id), ['a', 'c', 'd']);
  });

  test('has users, whose passwords work, and admins', async (t) => {
    const server = await startWithBackups(t, { admin: true });
    expectStatus(await server.put('/_users/org.couchdb.user:ann', { _id: 'org.couchdb.user:ann', name: 'ann', type: 'user', roles: [], password: 'secret' }), 201);
    expectStatus(await server.put('/_node/_local/_config/admins/eve', '"other"'), 200);
    const second = await startOn(t, await backUp(server), { admin: true });
    expectStatus(await second.get('/_session', { auth: 'ann:secret' }), 200);
    expectStatus(await second.get('/_session', { auth: 'ann:wrong' }), 401);
    assert.deepEqual(expectStatus(await second.get('/_session', { auth: 'eve:other' }), 200).userCtx.roles, ['_admin']);
  });
});

describe('what follows documents, after a start with a backup', () => {
  test('a projection replaces its rows and follows new writes', async (t) => {
    const server = await startWithBackups(t);
    const source = await server.database();
    const target = await server.database('partitioned=true&q=2');
    await server.fill(source, Array.from({ length: 300 }, (_, n) => ({ _id: `d${n}`, user: `u${n % 5}`, n })));
    await createProjection(server, source, 'by_user', { target: { db: target }, key: '{user}', id: '{_id}', fields: { '*': true } });
    await current(server, source, 'by_user');
    expectStatus(await server.put(`/${target}/own:document`, { mine: true }), 201);
    const rows = await documentsOf(server, target);
    assert.equal(rows.size, 301);

    const second = await startOn(t, await backUp(server));
    expectStatus(await second.put(`/${source}/new`, { user: 'u1', n: -1 }), 201);
    const { rev } = expectStatus(await second.get(`/${source}/_all_docs?key="d7"`), 200).rows[0].value;
    expectStatus(await second.delete(`/${source}/d7?rev=${rev}`), 200);
    rows.set('u1:new', { user: 'u1', n: -1 });
    rows.delete('u2:d7');
    await eventually(async () => {
      const present = await documentsOf(second, target);
      return present.size === rows.size && present.has('u1:new') && !present.has('u2:d7');
    }, 30_000);
    assert.deepEqual(new Map([...await documentsOf(second, target)].sort()), new Map([...rows].sort()));
  });

  test('rows of which the source in the backup knows nothing are removed', async (t) => {
    // The target is copied after the source, so it may have rows of later documents. Here it has them from a projection
    // whose source was emptied on the first server while nothing of the target changed any more.
    const server = await startWithBackups(t);
    const source = await server.database();
    const target = await server.database('partitioned=true');
    await createProjection(server, source, 'p', { target: { db: target }, key: '{user}', id: '{_id}', fields: { '*': true } });
    await server.fill(source, [{ _id: 'd1', user: 'ann', n: 1 }, { _id: 'd2', user: 'ann', n: 2 }]);
    await current(server, source, 'p');
    expectStatus(await server.post(`/${source}/_projection/p/_pause`, {}), 200);
    const { rev } = expectStatus(await server.get(`/${source}/_all_docs?key="d1"`), 200).rows[0].value;
    expectStatus(await server.post(`/${source}/_purge`, { d1: [rev] }), 201);
    const second = await startOn(t, await backUp(server));
    assert.equal((await documentsOf(second, target)).size, 2);
    expectStatus(await second.post(`/${source}/_projection/p/_resume`, {}), 200);
    await eventually(async () => (await documentsOf(second, target)).size === 1, 30_000);
    assert.deepEqual([...(await documentsOf(second, target)).keys()], ['ann:d2']);
  });

  test('an analytical store is made again, without the rows of deleted documents that it has kept', needsLibrary, async (t) => {
    const server = await startWithBackups(t, { args: analyticsArgs() });
    const db = await server.database();
    const [rev] = await server.fill(db, [{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }]);
    await define(server, db, { ttl: -1 });
    await analysed(server, db);
    expectStatus(await server.delete(`/${db}/a?rev=${rev}`), 200);
    await analysed(server, db);
    const rows = (from) => ask(from, db, 'select _id, _deleted, n from documents order by _id');
    assert.deepEqual(await rows(server), [{ _id: 'a', _deleted: true, n: 1 }, { _id: 'b', _deleted: false, n: 2 }]);
    const second = await startOn(t, await backUp(server), { args: analyticsArgs() });
    await second.fill(db, [{ _id: 'c', n: 3 }]);
    await analysed(second, db);
    assert.deepEqual(await rows(second), [{ _id: 'b', _deleted: false, n: 2 }, { _id: 'c', _deleted: false, n: 3 }]);
  });

  test('a copy that has not ended is left out with its target, and can be begun again', async (t) => {
    const server = await startWithBackups(t);
    const source = await server.database();
    await server.fill(source, Array.from({ length: 50 }, (_, n) => ({ _id: `d${n}`, user: `u${n % 5}` })));
    const target = await server.database('partitioned=true');
    const id = await beginCopy(server, source, { target, key: '{user}', id: '{_id}' });
    await copied(server, source, id);
    const second = await startOn(t, await backUp(server));
    assert.equal((await second.get(`/${target}`)).status, 404);
    assert.deepEqual(expectStatus(await second.get(`/${source}/_copy`), 200).copies, []);
    expectStatus(await second.put(`/${target}?partitioned=true`), 201);
    await copied(second, source, await beginCopy(second, source, { target, key: '{user}', id: '{_id}' }));
    assert.equal(expectStatus(await second.get(`/${target}`), 200).doc_count, 50);
  });
});

describe('requests', () => {
  test('are answered as the documentation says', async (t) => {
    const server = await startWithBackups(t);
    const [, section] = readPage('docs/operations.md').match(/### Of a running server\n([^]*?)\n### /);
    assert.equal(await checkCommands(section, server), 2);
    assert.equal((await ended(server)).state, 'complete');
  });

  test('without a folder for backups the reply names the setting', async (t) => {
    const server = await Server.startFor(t);
    expectError(await server.post('/_backup', { folder: 'b' }), 501, 'backups_disabled', /backup\.folder \(OCTAVO_BACKUP_FOLDER\)/);
    assert.deepEqual(await stateOf(server), { state: 'none' });
  });

  test('only a server admin may ask', async (t) => {
    const server = await startWithBackups(t, { admin: true });
    for (const method of ['GET', 'POST', 'DELETE']) expectStatus(await server.request(method, '/_backup', { auth: false, body: { folder: 'b' } }), 401);
    assert.deepEqual(fs.readdirSync(server.backups), []);
  });

  test('what is no plain name, and what is no known member, is refused', async (t) => {
    const server = await startWithBackups(t);
    for (const folder of ['', '.', '..', '.hidden', 'a/b', '/tmp/x', '../x', 'a\\b', 'a\u0000b', 'a\nb', 'ä', 'x.part', 'x'.repeat(129)]) {
      expectError(await server.post('/_backup', { folder }), 400, 'backup_syntax', /`folder` must be a name/);
    }
    for (const body of [{}, { folder: 7 }, { folder: 'b', compress: true }]) expectError(await server.post('/_backup', body), 400, 'backup_syntax');
    expectStatus(await server.post('/_backup', 'folder=b', { headers: { 'Content-Type': 'text/plain' } }), 415);
    assert.deepEqual(fs.readdirSync(server.backups), []);
  });

  test('a backup keeps its name, and another one takes another', async (t) => {
    const server = await startWithBackups(t);
    await backUp(server, 'monday');
    expectError(await server.post('/_backup', { folder: 'monday' }), 412, 'file_exists', /choose another name/);
    await backUp(server, 'tuesday');
    assert.deepEqual(fs.readdirSync(server.backups).sort(), ['monday', 'tuesday']);
  });

  test('a running one is shown, excludes others, and is cancelled with all that it has made', async (t) => {
    const server = await startWithBackups(t, { args: uncompressed });
    await setRate(server, '64KiB');
    const db = await server.database();
    await server.fill(db, Array.from({ length: 400 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(4000) })));
    await begin(server, 'slow');
    await eventually(async () => (await stateOf(server)).bytes > 0, 20_000);
    const status = await stateOf(server);
    assert.equal(status.state, 'running');
    assert.equal(status.folder, 'slow');
    assert.ok(status.bytes_total > 1_000_000, JSON.stringify(status));
    assert.ok(status.databases <= status.databases_total);
    expectError(await server.post('/_backup', { folder: 'other' }), 409, 'backup_running', /slow/);
    const task = expectStatus(await server.get('/_active_tasks'), 200).find(({ type }) => type === 'backup');
    assert.equal(task.index, 'slow');
    assert.deepEqual(fs.readdirSync(server.backups), ['slow.part']);

    expectStatus(await server.delete('/_backup'), 200);
    assert.equal((await stateOf(server)).state, 'cancelled');
    assert.deepEqual(fs.readdirSync(server.backups), []);
    expectError(await server.delete('/_backup'), 404, 'not_found');
    await setRate(server, '0');
    await backUp(server, 'slow');
    expectError(await server.delete('/_backup'), 404, 'not_found');
    assert.deepEqual(fs.readdirSync(server.backups), ['slow']);
  });
});

describe('while others work', () => {
  test('what was acknowledged before the beginning is in it, beside 8 writers, a split, a renaming, and databases that come and go', async (t) => {
    const server = await startWithBackups(t, { args: uncompressed });
    await setRate(server, '1MiB');
    const db = await server.database('partitioned=true&q=2');
    const gone = await server.database();
    await server.fill(gone, documents(10));
    const renamed = await server.database();
    await server.fill(renamed, documents(10));
    for (let n = 0; n < 6; ++n) await server.fill(db, documents(1000, n * 1000).map((doc) => ({ ...doc, filler: 'y'.repeat(1000) })));
    const acknowledged = new Map();  // id → n, as of the last reply
    let stopped = false;
    const writers = Array.from({ length: 8 }, (_, w) => (async () => {
      for (let n = 0; !stopped; ++n) {
        const id = `w${w}:${n % 200}`;
        const known = acknowledged.get(id);
        const made = expectStatus(await server.put(`/${db}/${id}`, { n, ...(known ? { _rev: known.rev } : {}) }), 201);
        acknowledged.set(id, { n, rev: made.rev });
      }
    })());
    await eventually(() => acknowledged.size > 400, 30_000);
    const before = new Map(acknowledged);
    await begin(server, 'b1');
    await eventually(async () => (await stateOf(server)).databases_total > 0);
    expectStatus(await server.delete(`/${gone}`), 200);
    expectStatus(await server.post(`/${renamed}/_rename`, { name: `${renamed}-new` }), 200);
    const created = await server.database();
    await reshard(server, { type: 'split', db });
    assert.equal((await stateOf(server)).state, 'running', 'the split did not happen during the backup');
    const status = await ended(server, 120_000);
    stopped = true;
    await Promise.all(writers);
    assert.equal(status.state, 'complete', JSON.stringify(status));

    const folder = path.join(server.backups, 'b1');
    const second = await startOn(t, folder);
    assert.equal((await shardsOf(second, db)).length, 4);
    for (const [id, { n }] of before) {
      const doc = expectStatus(await second.get(`/${db}/${id}`), 200);
      assert.ok(doc.n >= n, `${id}: ${doc.n} in the backup, ${n} was acknowledged`);
    }
    const names = expectStatus(await second.get('/_all_dbs'), 200);
    assert.ok(!names.includes(created) && !names.includes(gone), names.join());
    assert.equal(expectStatus(await second.get(`/${renamed}-new`), 200).doc_count, 10);
    assert.equal(expectStatus(await second.get(`/${renamed}`), 200).db_name, `${renamed}-new`, 'the alias');
    const { doc_count: count } = expectStatus(await second.get(`/${db}`), 200);
    assert.ok(count >= 6000 + before.size, `${count} documents`);
    await second.fill(db, documents(10, 6000));
    await second.stop({ keepFolder: true });
  });
});
