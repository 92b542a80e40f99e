// Exports into folders: what a reader of Parquet that knows nothing of Octavo finds there, what an export leaves as it is,
// and what a crash leaves behind.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import { randomOf } from '../edits.mjs';
import { eventually, expectError, expectStatus, patience, sleep } from '../harness.mjs';
import { ask, built, current, define, killProcess, needsLibrary, startAnalytics } from './analytics_support.mjs';

/// A server whose exports are in `folder`, which goes with the test.
async function startWithFolder(t, { args = [], ...options } = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-exports-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const server = await startAnalytics(t, { ...options, args: [`--analytics-export-folder=${folder}`, ...args] });
  return { server, folder };
}

const exportTo = (server, db, request, options) => server.post(`/${encodeURIComponent(db)}/_export`, request, { timeoutMs: 300_000, ...options });

async function exported(server, db, request) {
  await current(server, db);
  return expectStatus(await exportTo(server, db, request), 200);
}

/// The files of a folder as a reader of such folders sees them: {relative path: inode}.
function filesOf(folder) {
  const files = {};
  for (const name of fs.readdirSync(folder, { recursive: true }).sort()) {
    const entry = fs.statSync(path.join(folder, name));
    if (entry.isFile() && !path.basename(name).startsWith('_')) files[name] = entry.ino;
  }
  return files;
}

/// The rows in the files of a folder; the columns of the partitions come from the names of folders, as texts.
async function rowsOf(folder) {
  const rows = [];
  for (const name of Object.keys(filesOf(folder))) {
    const bytes = fs.readFileSync(path.join(folder, name));
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const partition = {};
    for (const part of path.dirname(name).split('/').filter((one) => one !== '.')) {
      const [column, text] = part.split('=').map(decodeURIComponent);
      partition[column] = text === '__HIVE_DEFAULT_PARTITION__' ? null : text;
    }
    for (const row of await parquetReadObjects({ file })) {
      rows.push(Object.fromEntries(Object.entries({ ...row, ...partition }).map(([key, value]) => [key, typeof value === 'bigint' ? Number(value) : value])));
    }
  }
  return rows.sort((one, other) => Buffer.compare(Buffer.from(one._id), Buffer.from(other._id)) || one._position - other._position);
}

/// The table's rows as rowsOf() reads them.
async function tableRows(server, db, columns, table) {
  const texts = columns.map((column) => `nullif("${column}"::varchar, '') as "${column}"`).join(', ');
  return ask(server, db, `select * ${texts && `replace (${texts})`} from ${table} order by _id${table === 'documents' ? '' : ', _position'}`);
}

async function assertExported(server, db, folder, columns, table = 'documents') {
  const read = await rowsOf(folder);
  const sorted = (row) => Object.fromEntries(Object.entries(row).sort());
  assert.deepEqual(read.map(sorted), (await tableRows(server, db, columns, table)).map(sorted));
}

const saveAll = async (server, db, docs) => {
  for (const one of expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201)) assert.ok(one.ok, JSON.stringify(one));
};

async function change(server, db, id, edit) {
  const doc = expectStatus(await server.get(`/${db}/${id}`), 200);
  await saveAll(server, db, [{ ...doc, ...edit }]);
}

describe('exports into folders', needsLibrary, () => {
  const cities = ['Bern', 'Zürich', 'a/b=c d%', '..', '', undefined, '__HIVE_DEFAULT_PARTITION__'];
  const orders = (count) => Array.from({ length: count }, (_, n) => ({ _id: `o${n}`, n, total: n * 1.5, paid: n % 2 === 0, city: cities[n % cities.length] }));

  test('a folder for each combination of values, which a reader of Parquet finds complete', async (t) => {
    const { server, folder } = await startWithFolder(t);
    const db = await server.database();
    await saveAll(server, db, orders(140));
    await define(server, db);
    const reply = await exported(server, db, { folder: 'orders', partition_by: ['city', 'paid'] });
    assert.equal(reply.folder, 'orders');
    assert.equal(reply.rows, 140);
    assert.equal(reply.partitions, 10);
    assert.equal(reply.written, 10);
    assert.equal(reply.removed, 0);
    assert.ok(reply.bytes > 0);
    const names = fs.readdirSync(path.join(folder, 'orders')).sort();
    assert.deepEqual(names, ['_octavo.json', 'city=..', 'city=Bern', 'city=Zürich', 'city=__HIVE_DEFAULT_PARTITION__', 'city=a%2Fb%3Dc d%25'].sort());
    assert.deepEqual(fs.readdirSync(path.join(folder, 'orders', 'city=Bern')).sort(), ['paid=false', 'paid=true']);
    const rows = await rowsOf(path.join(folder, 'orders'));
    assert.equal(rows.length, 140);
    const hiveNull = new Set(['', undefined, '__HIVE_DEFAULT_PARTITION__']);
    for (const row of rows) {
      const city = cities[row.n % cities.length];
      assert.equal(row.city, hiveNull.has(city) ? null : city);
      assert.equal(row.paid, String(row.n % 2 === 0));
      assert.equal(row.total, row.n * 1.5);
    }
    // What is written later follows from the sequence that the reply names.
    await saveAll(server, db, [{ _id: 'later' }]);
    const changes = expectStatus(await server.get(`/${db}/_changes?since=${encodeURIComponent(reply.update_seq)}`), 200);
    assert.deepEqual(changes.results.map(({ id }) => id), ['later']);
  });

  test('the next export writes only the partitions whose rows have changed', async (t) => {
    const { server, folder } = await startWithFolder(t);
    const db = await server.database();
    await saveAll(server, db, Array.from({ length: 60 }, (_, n) => ({ _id: `o${n}`, n, city: `c${n % 6}` })));
    await define(server, db);
    const request = { folder: 'orders', partition_by: ['city'] };
    const target = path.join(folder, 'orders');
    await exported(server, db, request);
    const first = filesOf(target);
    const same = await exported(server, db, request);
    assert.deepEqual([same.partitions, same.written, same.removed, same.bytes], [6, 0, 0, 0]);
    assert.deepEqual(filesOf(target), first);

    await change(server, db, 'o0', { n: 1000 });              // in c0
    await change(server, db, 'o1', { city: 'c2' });           // from c1 to c2
    await change(server, db, 'o3', { _deleted: true });       // in c3
    for (let n = 4; n < 60; n += 6) await change(server, db, `o${n}`, { _deleted: true });  // all of c4
    await saveAll(server, db, [{ _id: 'new', city: 'c9' }]);
    const next = await exported(server, db, request);
    assert.deepEqual([next.partitions, next.written, next.removed], [6, 5, 1]);
    const second = filesOf(target);
    const kept = Object.keys(second).filter((name) => second[name] === first[name]);
    assert.deepEqual(kept.map((name) => name.split('/')[0]), ['city=c5']);
    await assertExported(server, db, target, ['city']);

    // The same rows as two exports before are no reason to keep the files of the last one.
    await saveAll(server, db, [{ _id: 'extra', city: 'c5' }]);
    await exported(server, db, request);
    await change(server, db, 'extra', { _deleted: true });
    await exported(server, db, request);
    await assertExported(server, db, target, ['city']);
  });

  test('a new column, a wider type or another division writes all partitions again', async (t) => {
    const { server, folder } = await startWithFolder(t);
    const db = await server.database();
    await saveAll(server, db, Array.from({ length: 12 }, (_, n) => ({ _id: `o${n}`, n, city: `c${n % 3}` })));
    await define(server, db);
    const request = { folder: 'orders', partition_by: ['city'] };
    const target = path.join(folder, 'orders');
    await exported(server, db, request);
    await change(server, db, 'o0', { color: 'red' });
    assert.equal((await exported(server, db, request)).written, 3);
    await change(server, db, 'o0', { n: 0.5 });
    assert.equal((await exported(server, db, request)).written, 3);
    await assertExported(server, db, target, ['city']);
    const whole = await exported(server, db, { folder: 'orders' });
    assert.deepEqual([whole.partitions, whole.written, whole.removed], [1, 1, 3]);
    assert.equal(Object.keys(filesOf(target)).filter((name) => name.includes('/')).length, 0);
    await assertExported(server, db, target, []);
    const other = await exported(server, db, { folder: 'orders', partition_by: ['n'], format: 'parquet' });
    assert.equal(other.partitions, 12);
    await assertExported(server, db, target, ['n']);
  });

  test('a row that stays although its document was deleted is written again', async (t) => {
    const { server, folder } = await startWithFolder(t);
    const db = await server.database();
    await saveAll(server, db, Array.from({ length: 4 }, (_, n) => ({ _id: `o${n}`, city: `c${n % 2}` })));
    await define(server, db, { ttl: -1 });
    const request = { folder: 'orders', partition_by: ['city'] };
    await exported(server, db, request);
    await change(server, db, 'o1', { _deleted: true });
    const reply = await exported(server, db, request);
    assert.deepEqual([reply.rows, reply.written], [4, 1]);
    assert.deepEqual((await rowsOf(path.join(folder, 'orders'))).map((row) => row._deleted), [false, true, false, false]);
  });

  test('a file that is missing or has another length is written again', async (t) => {
    const { server, folder } = await startWithFolder(t);
    const db = await server.database();
    await saveAll(server, db, Array.from({ length: 12 }, (_, n) => ({ _id: `o${n}`, n, city: `c${n % 3}` })));
    await define(server, db);
    const request = { folder: 'orders', partition_by: ['city'] };
    await exported(server, db, request);
    const target = path.join(folder, 'orders');
    const [one, two] = Object.keys(filesOf(target));
    fs.rmSync(path.join(target, one));
    fs.truncateSync(path.join(target, two), 10);
    assert.equal((await exported(server, db, request)).written, 2);
    await assertExported(server, db, target, ['city']);
    fs.rmSync(target, { recursive: true });
    assert.equal((await exported(server, db, request)).written, 3);
  });

  test('a table without rows is a folder without files', async (t) => {
    const { server, folder } = await startWithFolder(t);
    const db = await server.database();
    await define(server, db);
    const reply = await exported(server, db, { folder: 'orders' });
    assert.deepEqual([reply.rows, reply.partitions], [0, 0]);
    assert.deepEqual(filesOf(path.join(folder, 'orders')), {});
  });

  test('more partitions than are written at once', async (t) => {
    const { server, folder } = await startWithFolder(t);
    const db = await server.database();
    await saveAll(server, db, Array.from({ length: 1_000 }, (_, n) => ({ _id: `o${n}`, n, group: n % 250 })));
    await define(server, db);
    assert.equal((await exported(server, db, { folder: 'groups', partition_by: ['group'] })).written, 250);
    await assertExported(server, db, path.join(folder, 'groups'), ['group']);
  });

  test('what is wrong with a request is said', async (t) => {
    const { server, folder } = await startWithFolder(t, { args: ['--analytics-max-temp-size=64KiB'] });
    const db = await server.database();
    expectError(await exportTo(server, db, { folder: 'x' }), 404, 'not_found');
    await saveAll(server, db, [{ _id: 'a', city: 'x', items: [1, 'two'] }]);
    await define(server, db);
    await current(server, db);
    for (const name of ['', '.', '..', '.hidden', 'a/b', '/etc', 'a\0b', 'ü', 'x'.repeat(129), 7, null]) {
      expectError(await exportTo(server, db, { folder: name }), 400, 'export_syntax', /`folder`/);
    }
    expectError(await exportTo(server, db, {}), 400, 'export_syntax', /`folder` is missing/);
    for (const columns of ['city', ['city', 'city'], [1], Array.from({ length: 9 }, (_, n) => `c${n}`)]) {
      expectError(await exportTo(server, db, { folder: 'x', partition_by: columns }), 400, 'export_syntax', /`partition_by` must be/);
    }
    expectError(await exportTo(server, db, { folder: 'x', partition_by: ['City'] }), 400, 'export_syntax', /no column City/);
    expectError(await exportTo(server, db, { folder: 'x', partition_by: ['_id'] }), 400, 'export_syntax', /no column _id/);
    expectError(await exportTo(server, db, { folder: 'x', partition_by: ['items'] }), 400, 'export_syntax', /column items is /);
    expectError(await exportTo(server, db, { folder: 'x', format: 'csv' }), 400, 'export_syntax', /Parquet/);
    expectError(await exportTo(server, db, { folder: 'x', mode: 'append' }), 400, 'export_syntax', /`mode`/);
    fs.mkdirSync(path.join(folder, 'mine'));
    fs.writeFileSync(path.join(folder, 'mine', 'letter.txt'), 'dear');
    expectError(await exportTo(server, db, { folder: 'mine' }), 409, 'export_folder', /name another folder/);
    assert.equal(fs.readFileSync(path.join(folder, 'mine', 'letter.txt'), 'utf8'), 'dear');

    expectStatus(await exportTo(server, db, { folder: 'taken' }), 200);
    const other = await server.database();
    await define(server, other);
    await current(server, other);
    expectError(await exportTo(server, other, { folder: 'taken' }), 409, 'export_folder');

    await saveAll(server, db, [{ _id: 'long', city: 'y'.repeat(300) }]);
    await current(server, db);
    expectError(await exportTo(server, db, { folder: 'x', partition_by: ['city'] }), 400, 'export_limit', /300 bytes/);
    await saveAll(server, db, Array.from({ length: 10_001 }, (_, n) => ({ _id: `n${n}`, n, city: 'x', text: `${Math.random()}${Math.random()}` })));
    await current(server, db);
    expectError(await exportTo(server, db, { folder: 'x', partition_by: ['n'] }), 400, 'export_limit', /10000 combinations/);
    expectError(await exportTo(server, db, { folder: 'taken' }), 400, 'memory_limit', /max_temp_size/);
    assert.equal((await rowsOf(path.join(folder, 'taken'))).length, 1);
    assert.deepEqual(fs.readdirSync(folder).filter((name) => name.endsWith('.next')), []);
  });

  test('a server without the setting has no folders, and members may not export into one', async (t) => {
    const server = await startAnalytics(t, { admin: true });
    expectStatus(await server.put('/shop'), 201);
    await define(server, 'shop');
    await current(server, 'shop');
    expectError(await exportTo(server, 'shop', { folder: 'x' }), 501, 'exports_disabled', /analytics\.export_folder/);
    expectStatus(await server.put('/_users/org.couchdb.user:ann', { name: 'ann', password: 'secret word', roles: [], type: 'user' }), 201);
    expectStatus(await server.put('/shop/_security', { admins: { names: [], roles: [] }, members: { names: ['ann'], roles: [] } }), 200);
    expectError(await exportTo(server, 'shop', { folder: 'x' }, { auth: 'ann:secret word' }), 403, 'forbidden');
  });
});

const seed = Number(process.env.ANALYTICS_SEED ?? Date.now() % 2 ** 31);
const rounds = Number(process.env.ANALYTICS_ROUNDS ?? 6);

test(`a folder is one state of the table, whenever a process is killed, seed ${seed}`, needsLibrary, async (t) => {
  const random = randomOf(seed);
  const { server, folder } = await startWithFolder(t);
  const db = 'crashed';
  expectStatus(await server.put(`/${db}?q=1`), 201);
  await define(server, db);
  const target = path.join(folder, 'orders');
  let count = 0;
  const add = async () => {
    // One after the other: each state of the table has the documents up to a number.
    const docs = Array.from({ length: 200 }, () => ({ _id: `o${String(count).padStart(6, '0')}`, n: count, group: count++ % 40 }));
    await saveAll(server, db, docs);
  };
  const assertOneState = async () => {
    if (!fs.existsSync(target)) return;
    const rows = await rowsOf(target);
    assert.deepEqual(rows.map(({ n }) => n), rows.map((_, n) => n));
    for (const { n, group } of rows) assert.equal(group, String(n % 40));
  };
  const request = { folder: 'orders', partition_by: ['group'] };
  for (let round = 0; round < rounds; ++round) {
    await add();
    const running = exportTo(server, db, request).catch(() => undefined);
    await sleep(random(400) * patience);
    if (random(2)) {
      killProcess(server);
    } else {
      await server.kill();
      await server.relaunch();
    }
    await running;
    await assertOneState();
  }
  await eventually(async () => {
    await current(server, db);
    return (await exportTo(server, db, request)).status === 200;
  }, 120_000 * patience);
  await assertOneState();
  assert.equal((await rowsOf(target)).length, count);
  assert.deepEqual(fs.readdirSync(folder).sort(), ['.orders.lock', 'orders']);
});

describe('exports of tables of arrays', needsLibrary, () => {
  const skus = ['lamp', 'desk', 'chair'];
  const order = (n, more = {}) => ({ _id: `o${n}`, n, city: `c${n % 2}`, items: Array.from({ length: n % 4 }, (_, i) => ({ sku: skus[(n + i) % 3], price: i + 0.5 })), ...more });

  test('a folder has their rows; the next one writes the partitions whose documents have changed', async (t) => {
    const { server, folder } = await startWithFolder(t);
    const db = await server.database();
    await saveAll(server, db, Array.from({ length: 40 }, (_, n) => order(n)));
    await define(server, db, { flatten: { '/items': 'items' } });
    const request = { folder: 'items', table: 'items', partition_by: ['sku'] };
    const target = path.join(folder, 'items');
    const first = await exported(server, db, request);
    assert.deepEqual([first.rows, first.partitions, first.written], [60, 3, 3]);
    assert.deepEqual(fs.readdirSync(target).sort(), ['_octavo.json', 'sku=chair', 'sku=desk', 'sku=lamp']);
    await assertExported(server, db, target, ['sku'], 'items');
    const same = await exported(server, db, request);
    assert.deepEqual([same.written, same.removed], [0, 0]);
    await change(server, db, 'o1', { items: [{ sku: 'desk', price: 100 }] });  // it was [desk] before
    assert.equal((await exported(server, db, request)).written, 1);
    await assertExported(server, db, target, ['sku'], 'items');
    await change(server, db, 'o1', { items: [] });
    const files = filesOf(target);
    const { written, rows } = await exported(server, db, request);
    assert.deepEqual([written, rows], [1, 59]);
    assert.equal(Object.entries(filesOf(target)).filter(([name, inode]) => files[name] === inode).length, 2);
    // Another array whose table has the same name and columns is another export, and so is the table of documents.
    await saveAll(server, db, [{ _id: 'other', others: [{ sku: 'desk', price: 1 }] }]);
    await define(server, db, { flatten: { '/others': 'items' } });
    await built(server, db);
    assert.equal((await exported(server, db, request)).rows, 1);
    await assertExported(server, db, target, ['sku'], 'items');
    assert.equal((await exported(server, db, { folder: 'items' })).rows, 41);
    await assertExported(server, db, target, []);
  });

  test('a file of each format has them', async (t) => {
    const { server } = await startWithFolder(t);
    const db = await server.database();
    await saveAll(server, db, [order(2), order(3)]);
    await define(server, db, { flatten: { '/items': 'items' } });
    const { sequence } = await current(server, db);
    const file = (format) => server.get(`/${db}/_export?table=items&format=${format}`, { timeoutMs: 300_000 });
    const expected = [2, 3].flatMap((n) => order(n).items.map((item, i) => ({ _id: `o${n}`, _position: i, _rest: null, ...item })));
    const parquet = await file('parquet');
    assert.equal(parquet.status, 200);
    assert.match(parquet.headers['content-disposition'], new RegExp(`"${db}-items\\.parquet"`));
    assert.match(parquet.headers['x-couch-update-seq'], new RegExp(`^${sequence}-`));
    const read = await parquetReadObjects({ file: parquet.raw.buffer.slice(parquet.raw.byteOffset, parquet.raw.byteOffset + parquet.raw.byteLength) });
    assert.deepEqual(read.map((row) => ({ ...row, _position: Number(row._position) })), expected);
    assert.deepEqual((await file('ndjson')).text.trim().split('\n').map((line) => JSON.parse(line)), expected);
    assert.deepEqual((await file('csv')).text.trim().split('\r\n'), ['"_id","_position","_rest","sku","price"', ...expected.map((row) => `${row._id},${row._position},,${row.sku},${row.price}`)]);
  });

  test('a table that the store does not have is refused', async (t) => {
    const { server, folder } = await startWithFolder(t);
    const db = await server.database();
    await define(server, db, { flatten: { '/items': 'items' } });
    await current(server, db);
    for (const table of ['other', 'state', 'items"; --', 'Items', '']) {
      expectError(await server.get(`/${db}/_export?format=csv&table=${encodeURIComponent(table)}`), 400, 'query_parse_error', /documents, items/);
      expectError(await exportTo(server, db, { folder: 'x', table }), 400, 'export_syntax', /documents, items/);
    }
    expectError(await exportTo(server, db, { folder: 'x', table: 7 }), 400, 'export_syntax', /`table`/);
    expectError(await exportTo(server, db, { folder: 'x', table: 'items', partition_by: ['_id'] }), 400, 'export_syntax');
    assert.deepEqual(fs.readdirSync(folder).filter((name) => !name.startsWith('.')), []);
  });
});
