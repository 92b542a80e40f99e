import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import nano from 'nano';
import { credentials, docIds, eventually, ids, REV, Server } from '../harness.mjs';

describe('nano', () => {
  let server, couch, db;
  before(async () => {
    server = await Server.start({ admin: true });
    couch = nano(server.urlWithCredentials);
    await couch.db.create('alice');
    db = couch.use('alice');
  });
  after(() => server?.stop());

  const failure = (promise) => promise.then(() => assert.fail('it should have failed'), (error) => error);

  test('reads the server info and lists databases', async () => {
    const info = await couch.info();
    assert.equal(info.couchdb, 'Welcome');
    assert.ok((await couch.db.list()).includes('alice'));
    assert.equal((await couch.db.get('alice')).db_name, 'alice');
    assert.equal((await couch.uuids(3)).uuids.length, 3);
  });

  test('creates, reads, changes and destroys a document', async () => {
    const created = await db.insert({ happy: true }, 'rabbit');
    assert.equal(created.ok, true);
    assert.match(created.rev, REV);
    const read = await db.get('rabbit');
    assert.deepEqual(read, { _id: 'rabbit', _rev: created.rev, happy: true });
    const changed = await db.insert({ ...read, happy: false });
    assert.ok(changed.rev.startsWith('2-'));
    const head = await db.head('rabbit');
    assert.equal(head.etag, `"${changed.rev}"`);
    assert.equal((await db.destroy('rabbit', changed.rev)).ok, true);
    const error = await failure(db.get('rabbit'));
    assert.equal(error.statusCode, 404);
    assert.equal(error.error, 'not_found');
    assert.equal(error.reason, 'deleted');
  });

  test('gives a document without an id a new one', async () => {
    const created = await db.insert({ nameless: true });
    assert.match(created.id, /^[0-9a-f]{32}$/);
    assert.equal((await db.get(created.id)).nameless, true);
  });

  test('refuses a write with an old revision', async () => {
    const first = await db.insert({ n: 1 }, 'conflicted');
    await db.insert({ n: 2, _rev: first.rev }, 'conflicted');
    const error = await failure(db.insert({ n: 3, _rev: first.rev }, 'conflicted'));
    assert.equal(error.statusCode, 409);
    assert.equal(error.error, 'conflict');
    assert.equal(error.reason, 'Document update conflict.');
  });

  test('reads the revisions and the conflicts of a document', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(32));
    await db.bulk({ new_edits: false, docs: [
      { _id: 'tree', _rev: `1-${a}`, v: 'a' },
      { _id: 'tree', _rev: `2-${b}`, _revisions: { start: 2, ids: [b, a] }, v: 'b' },
      { _id: 'tree', _rev: `2-${c}`, _revisions: { start: 2, ids: [c, a] }, v: 'c' },
    ] });
    const winner = await db.get('tree', { conflicts: true });
    assert.equal(winner._rev, `2-${c}`);
    assert.deepEqual(winner._conflicts, [`2-${b}`]);
    const revs = await db.get('tree', { revs: true });
    assert.deepEqual(revs._revisions, { start: 2, ids: [c, a] });
    assert.equal((await db.get('tree', { rev: `2-${b}` })).v, 'b');
    const info = await db.get('tree', { revs_info: true });
    assert.deepEqual(info._revs_info[0], { rev: `2-${c}`, status: 'available' });
  });

  test('writes in bulk, lists and fetches by keys', async () => {
    await couch.db.create('bulk');
    const bulk = couch.use('bulk');
    const rows = await bulk.bulk({ docs: [{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }, { _id: 'c', n: 3 }] });
    assert.deepEqual(ids(rows), ['a', 'b', 'c']);
    const listed = await bulk.list();
    assert.equal(listed.total_rows, 3);
    assert.deepEqual(ids(listed.rows), ['a', 'b', 'c']);
    const keyed = await bulk.list({ keys: ['c', 'nope', 'a'] });
    assert.deepEqual(keyed.rows.map((row) => row.key), ['c', 'nope', 'a']);
    assert.equal(keyed.rows[1].error, 'not_found');
    const fetched = await bulk.fetch({ keys: ['b', 'a'] });
    assert.deepEqual(fetched.rows.map((row) => row.doc.n), [2, 1]);
    const revs = await bulk.fetchRevs({ keys: ['b'] });
    assert.match(revs.rows[0].value.rev, REV);
    const ranged = await bulk.list({ start_key: 'b', include_docs: true });
    assert.deepEqual(ranged.rows.map((row) => row.doc._id), ['b', 'c']);
    await couch.db.destroy('bulk');
    assert.equal((await failure(couch.db.get('bulk'))).statusCode, 404);
  });

  test('creates an index and finds by it', async () => {
    await couch.db.create('films');
    const films = couch.use('films');
    await films.bulk({ docs: Array.from({ length: 30 }, (_, n) => ({ _id: `film${n}`, year: 1990 + n, title: `T${n}` })) });
    const created = await films.createIndex({ index: { fields: ['year'] }, ddoc: 'by-year', name: 'year' });
    assert.deepEqual(created, { result: 'created', id: '_design/by-year', name: 'year' });
    const found = await films.find({ selector: { year: { $gte: 2015 } }, fields: ['_id', 'year'], sort: [{ year: 'desc' }] });
    assert.deepEqual(found.docs.map((doc) => doc.year), [2019, 2018, 2017, 2016, 2015]);
    const page = await films.find({ selector: { year: { $gt: 0 } }, limit: 20 });
    assert.equal(page.docs.length, 20);
    const rest = await films.find({ selector: { year: { $gt: 0 } }, limit: 20, bookmark: page.bookmark });
    assert.equal(rest.docs.length, 10);
  });

  test('follows changes with the changes reader', async () => {
    await couch.db.create('followed');
    const followed = couch.use('followed');
    const seen = [];
    const reader = followed.changesReader.start({ since: '0', timeout: 5000 });
    reader.on('change', (change) => seen.push(change.id));
    const failures = [];
    reader.on('error', (error) => failures.push(error));
    for (const id of ['one', 'two', 'three']) await followed.insert({}, id);
    await eventually(() => seen.length === 3);
    assert.deepEqual([...seen].sort(), ['one', 'three', 'two']);
    followed.changesReader.stop();
    assert.deepEqual(failures.filter((error) => !/abort/i.test(String(error))), []);
  });

  test('reads all changes at once with get and with spool', async () => {
    await couch.db.create('spooled');
    const spooled = couch.use('spooled');
    await spooled.bulk({ docs: Array.from({ length: 25 }, (_, n) => ({ _id: `d${n}` })) });
    const batches = [];
    await new Promise((resolve, reject) => {
      spooled.changesReader.get({ since: '0', batchSize: 10, timeout: 300 })
        .on('batch', (batch) => batches.push(batch.length)).on('end', resolve).on('error', reject);
    });
    assert.deepEqual(batches, [10, 10, 5]);
    let spoolCount = 0;
    await new Promise((resolve, reject) => {
      spooled.changesReader.spool({ since: '0', batchSize: 7 })
        .on('batch', (batch) => { spoolCount += batch.length; }).on('end', resolve).on('error', reject);
    });
    assert.equal(spoolCount, 25);
    const changes = await spooled.changes({ limit: 4 });
    assert.equal(changes.results.length, 4);
    assert.equal(changes.pending, 21);
  });

  test('signs in with a cookie', async () => {
    const visitor = nano(server.url);
    assert.equal((await visitor.session()).userCtx.name, null);
    const signedIn = await visitor.auth(credentials.name, credentials.password);
    assert.deepEqual(signedIn, { ok: true, name: credentials.name, roles: ['_admin'] });
    const session = await visitor.session();
    assert.equal(session.userCtx.name, credentials.name);
    assert.deepEqual(session.userCtx.roles, ['_admin']);
    await visitor.db.create('with-cookie');
    const wrong = await failure(nano(server.url).auth(credentials.name, 'wrong'));
    assert.equal(wrong.statusCode, 401);
    assert.equal(wrong.reason, 'Name or password is incorrect.');
  });

  test('works with a partitioned database', async () => {
    await couch.db.create('zoo', { partitioned: true });
    const zoo = couch.use('zoo');
    await zoo.bulk({ docs: [
      { _id: 'canidae:dog', weight: 30 }, { _id: 'canidae:wolf', weight: 40 }, { _id: 'felidae:cat', weight: 4 },
    ] });
    const info = await zoo.partitionInfo('canidae');
    assert.equal(info.doc_count, 2);
    assert.equal(info.partition, 'canidae');
    assert.deepEqual(ids((await zoo.partitionedList('canidae')).rows), ['canidae:dog', 'canidae:wolf']);
    const found = await zoo.partitionedFind('canidae', { selector: { weight: { $gt: 35 } } });
    assert.deepEqual(docIds(found.docs), ['canidae:wolf']);
    await zoo.createIndex({ index: { fields: ['weight'] }, ddoc: 'w', partitioned: true });
    const sorted = await zoo.partitionedFind('canidae', { selector: { weight: { $gt: 0 } }, sort: ['weight'] });
    assert.deepEqual(docIds(sorted.docs), ['canidae:dog', 'canidae:wolf']);
  });

  test('streams a list', async () => {
    const stream = db.listAsStream();
    let text = '';
    for await (const chunk of stream) text += chunk;
    assert.ok(JSON.parse(text).rows.length > 0);
  });

  test('views: rows, keys, reduces, streams', async () => {
    const sales = couch.use((await couch.db.create('sales'), 'sales'));
    await sales.bulk({ docs: [{ _id: 'a', city: 'Rome', sum: 1 }, { _id: 'b', city: 'Oslo', sum: 2 }, { _id: 'c', city: 'Rome', sum: 4 }] });
    await sales.insert({ views: { by_city: { map: 'function(doc) { emit(doc.city, doc.sum); }', reduce: '_sum' } } }, '_design/shop');
    const listed = await sales.view('shop', 'by_city', { reduce: false, include_docs: true });
    assert.deepEqual(ids(listed.rows), ['b', 'a', 'c']);
    assert.equal(listed.total_rows, 3);
    assert.equal(listed.rows[0].doc.city, 'Oslo');
    const grouped = await sales.view('shop', 'by_city', { group: true });
    assert.deepEqual(grouped.rows, [{ key: 'Oslo', value: 2 }, { key: 'Rome', value: 5 }]);
    assert.deepEqual(ids((await sales.view('shop', 'by_city', { reduce: false, keys: ['Rome'] })).rows), ['a', 'c']);
    const missing = await failure(sales.view('shop', 'nothing'));
    assert.equal(missing.statusCode, 404);
    assert.equal(missing.reason, 'missing_named_view');
    let text = '';
    for await (const chunk of sales.viewAsStream('shop', 'by_city', { reduce: false })) text += chunk;
    assert.equal(JSON.parse(text).rows.length, 3);
  });

  test('views of one partition', async () => {
    await couch.db.create('devices', { partitioned: true });
    const devices = couch.use('devices');
    await devices.bulk({ docs: Array.from({ length: 12 }, (_, n) => ({ _id: `d${n % 2}:${n}`, n })) });
    await devices.insert({ views: { v: { map: 'function(doc) { emit(doc.n, 1); }' } } }, '_design/own');
    const { rows } = await devices.partitionedView('d1', 'own', 'v', { startkey: 5 });
    assert.deepEqual(rows.map((row) => row.key), [5, 7, 9, 11]);
  });
});
