// Files that came to harm: the server refuses them and says so, nothing that is left is removed, and `octavo check`
// names the damage whatever it is.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { binary, expectStatus, Server } from '../harness.mjs';

const check = (folder) => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('OCTAVO_')));
  const result = spawnSync(binary, ['check', '--data-dir', folder], { encoding: 'utf8', timeout: 60_000, env });
  return { ...result, text: result.stdout + result.stderr };
};

/// Files called data.mdb below a folder, with what they hold.
function dataFiles(folder) {
  return fs.readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name === 'data.mdb')
    .map((entry) => path.join(entry.path, entry.name));
}

/// A small generator with a seed, so that a failure can be repeated.
function generator(seed) {
  let state = seed;
  return (limit) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * limit);
  };
}

describe('a data folder with damaged files', () => {
  let server;
  let sound;
  let partition, catalog, index, view;

  const restore = () => {
    for (const [file, bytes] of sound) {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, bytes);
    }
  };
  const folders = () => fs.readdirSync(path.join(server.dataDir, 'databases')).sort();

  before(async () => {
    server = await Server.start();
    const docs = Array.from({ length: 400 }, (_, n) => ({ _id: `p${n % 3}:${n}`, n, text: 'x'.repeat(n % 200) }));
    await server.put('/hurt?partitioned=true');
    await server.fill('hurt', docs);
    expectStatus(await server.post('/hurt/_index', { index: { fields: ['n'] }, ddoc: 'n', name: 'n', partitioned: false }), 200);
    expectStatus(await server.post('/hurt/_find', { selector: { n: 7 } }), 200);
    expectStatus(await server.put('/hurt/_design/v', { options: { partitioned: false },
      views: { n: { map: 'function(doc) { emit(doc.n, 1); }', reduce: '_sum' } } }), 201);
    expectStatus(await server.get('/hurt/_design/v/_view/n'), 200);
    await server.put('/well');
    await server.put('/well/a', { kept: true });
    await server.stop({ keepFolder: true });
    sound = new Map(dataFiles(server.dataDir).map((file) => [file, fs.readFileSync(file)]));
    catalog = path.join(server.dataDir, 'catalog', 'data.mdb');
    index = [...sound.keys()].find((file) => file.includes('index-'));
    view = [...sound.keys()].find((file) => file.includes('view-'));
    partition = path.join(path.dirname(path.dirname(index)), 'partition-0', 'data.mdb');
    assert.ok(sound.has(catalog) && sound.has(partition) && sound.has(view));
  });
  after(() => server?.removeFolder());

  test('is sound before', () => {
    const result = check(server.dataDir);
    assert.equal(result.status, 0, result.text);
  });

  test('a partition that is cut off is refused, and its neighbours are served', async () => {
    fs.truncateSync(partition, 3 * 4096);
    const found = check(server.dataDir);
    assert.equal(found.status, 1, found.text);
    assert.match(found.text, /hurt: partition-0: .*cut off/);
    await server.relaunch();
    const reply = await server.get('/hurt/p0:0');
    assert.equal(reply.status, 500);
    assert.equal(reply.body.error, 'file_corruption');
    assert.match(reply.body.reason, /cut off/);
    assert.equal((await server.put('/hurt/p0:new', {})).status, 500);
    assert.equal((await server.get('/well/a')).body.kept, true);
    await server.stop({ keepFolder: true });
    restore();
    assert.equal(check(server.dataDir).status, 0);
  });

  test('a partition whose file is gone is not replaced by an empty one', async () => {
    fs.rmSync(partition);
    assert.equal(check(server.dataDir).status, 1);
    await server.relaunch();
    assert.equal((await server.get('/hurt/p0:0')).status, 500);
    await server.stop({ keepFolder: true });
    assert.ok(!fs.existsSync(partition));
    restore();
  });

  for (const [how, harm] of [
    ['gone', () => fs.rmSync(catalog)],
    ['empty', () => fs.truncateSync(catalog, 0)],
    ['cut off', () => fs.truncateSync(catalog, 2 * 4096)],
  ]) {
    test(`a catalog that is ${how} keeps the server from starting, and all databases stay`, async () => {
      const all = folders();
      harm();
      const found = check(server.dataDir);
      assert.equal(found.status, 1, found.text);
      await assert.rejects(server.launch(), /catalog/);
      assert.deepEqual(folders(), all);
      restore();
      assert.equal(check(server.dataDir).status, 0);
    });
  }

  test('a damaged index is built again', async () => {
    fs.truncateSync(index, 2 * 4096);
    assert.equal(check(server.dataDir).status, 1);
    await server.relaunch();
    const reply = await server.post('/hurt/_find', { selector: { n: { $gte: 390 } }, use_index: 'n', execution_stats: true });
    assert.equal(reply.body.docs.length, 10);
    assert.equal(reply.body.execution_stats.total_docs_examined, 10);
    await server.stop({ keepFolder: true });
    const found = check(server.dataDir);
    assert.equal(found.status, 0, found.text);
    restore();
  });

  test('a damaged view is built again', async () => {
    fs.truncateSync(view, 2 * 4096);
    const damaged = check(server.dataDir);
    assert.equal(damaged.status, 1);
    assert.match(damaged.text, /view-/);
    await server.relaunch();
    assert.deepEqual(expectStatus(await server.get('/hurt/_design/v/_view/n'), 200).rows, [{ key: null, value: 400 }]);
    await server.stop({ keepFolder: true });
    const found = check(server.dataDir);
    assert.equal(found.status, 0, found.text);
    restore();
  });

  test('whatever bytes are changed, the check ends by itself and tells', () => {
    const random = generator(20);
    const files = [partition, catalog, index, view];
    let told = 0;
    for (let round = 0; round < 32; ++round) {
      const file = files[round % files.length];
      const bytes = Buffer.from(sound.get(file));
      for (let n = random(4); n >= 0; --n) {
        // Every other change is near the front of a page, where the structure is.
        const at = random(bytes.length);
        bytes[random(2) ? at : at - (at % 4096) + random(64)] ^= 1 << random(8);
      }
      fs.writeFileSync(file, bytes);
      const result = check(server.dataDir);
      assert.equal(result.signal, null, `round ${round}: ${result.text}`);
      assert.ok(result.status === 0 || result.status === 1, `round ${round}: ${result.text}`);
      if (result.status === 1) {
        ++told;
        assert.ok(result.text.trim().length > 0);
      }
      restore();
    }
    assert.ok(told > 10, `${told}`);
  });
});
