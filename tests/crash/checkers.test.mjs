// The checkers of this folder can fail: each is given what it must object to. And the file layer does what it says.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { cosmosRequest } from '../integration/cosmos_request.mjs';
import { expectStatus, Server, sleep } from '../integration/harness.mjs';
import { Disk, readRecording } from './disk.mjs';
import { Follower, forgetting } from './forgetting.mjs';
import { clearFaults, firedFaults, library, preload, setFaults } from './file_layer.mjs';
import { compare, databaseKey, documentKey, History, Replay, versionsKey } from './history.mjs';
import { Failure, killingTest } from './killing.mjs';
import { observe } from './observe.mjs';
import { checkOrder } from './orders.mjs';
import { powerLossTest } from './power_loss.mjs';
import { changedBelowNumber, upgradeTest } from './upgrade.mjs';
import { Random } from '../support/random.mjs';
import { compareRelaxed } from './relaxed.mjs';
import { World } from './workload.mjs';

const hasLayer = fs.existsSync(library);
const leaf = (n, generation = 1) => ({ rev: `${generation}-${'0'.repeat(30)}${10 + n}`, generation, deleted: false, body: { n } });
const doc = (n) => ({ leaves: [leaf(n)] });
const [a, b] = [documentKey('db', 'a'), documentKey('db', 'b')];
const database = databaseKey('db');
const existing = [database, { partitioned: false }];
const map = (entries) => new Map([existing, ...Object.entries(entries)]);

function temporaryFolder(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-checkers-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the comparison', () => {
  test('accepts what was acknowledged', () => {
    assert.deepEqual(compare(map({ [a]: doc(1) }), [], map({ [a]: doc(1) })), []);
  });
  test('objects to a lost, a changed and a resurrected document', () => {
    assert.match(compare(map({ [a]: doc(1) }), [], map({})).join(), /acknowledged .* found nothing/);
    assert.match(compare(map({ [a]: doc(1) }), [], map({ [a]: doc(2) })).join(), /acknowledged .* found/);
    assert.match(compare(map({}), [], map({ [a]: doc(1) })).join(), /no request wrote/);
  });
  test('objects to a lost conflict', () => {
    const both = { leaves: [leaf(1), leaf(2)] };
    assert.equal(compare(map({ [a]: both }), [], map({ [a]: { leaves: [leaf(2), leaf(1)] } })).length, 0);
    assert.equal(compare(map({ [a]: both }), [], map({ [a]: doc(1) })).length, 1);
  });
  test('lets a request in flight be there or not, and nothing else', () => {
    const pending = [{ name: 'put', atomic: false, effects: new Map([[a, doc(2)]]) }];
    for (const seen of [doc(1), doc(2)]) assert.deepEqual(compare(map({ [a]: doc(1) }), pending, map({ [a]: seen })), []);
    assert.equal(compare(map({ [a]: doc(1) }), pending, map({ [a]: doc(3) })).length, 1);
  });
  test('objects to half an atomic batch', () => {
    const effects = new Map([[a, doc(1)], [b, doc(2)]]);
    const half = map({ [b]: doc(2) });
    assert.deepEqual(compare(map({}), [{ name: 'bulk', atomic: false, effects }], half), []);
    assert.match(compare(map({}), [{ name: 'batch', atomic: true, effects }], half).join(), /half there/);
    assert.deepEqual(compare(map({}), [{ name: 'batch', atomic: true, effects }], map(Object.fromEntries(effects))), []);
  });
  test('objects to a deleted database that comes back, and to one that is half deleted', () => {
    assert.match(compare(new Map(), [], new Map([existing])).join(), /no request wrote/);
    const pending = [{ name: 'deletes db', atomic: false, effects: new Map([[database, undefined]]) }];
    const state = map({ [a]: doc(1) });
    assert.deepEqual(compare(state, pending, map({ [a]: doc(1) })), []);
    assert.deepEqual(compare(state, pending, new Map()), []);
    assert.match(compare(state, pending, map({})).join(), /half there/);
  });
  test('takes what was acknowledged before a moment for certain, what was sent before it for possible', () => {
    const request = (sent, acknowledged, key) => ({ sent, acknowledged, effects: new Map([[key, doc(1)]]) });
    const replay = new Replay([request(1n, 3n, a), request(2n, 5n, b)]);
    assert.deepEqual([...replay.at(2n).state.keys(), replay.at(2n).pending.length], [1]);
    assert.deepEqual([...replay.at(4n).state.keys(), replay.at(4n).pending.length], [a, 1]);
    assert.deepEqual([...replay.at(6n).state.keys(), replay.at(6n).pending.length], [a, b, 0]);
  });
});

describe('a database that drops its tombstones', () => {
  const forgotten = documentKey(forgetting.name, 'a');
  const gone = { leaves: [{ ...leaf(2, 2), deleted: true, body: {} }] };
  const there = [databaseKey(forgetting.name), { partitioned: false }];
  const state = (value) => new Map([there, ...(value ? [[forgotten, value]] : [])]);

  test('may lack a deleted document, and no other, and has none back', () => {
    for (const seen of [gone, undefined]) assert.deepEqual(compare(state(gone), [], state(seen)), []);
    assert.match(compare(state(gone), [], state(doc(1))).join(), /acknowledged .* found/);
    assert.match(compare(state(doc(1)), [], state()).join(), /acknowledged .* found nothing/);
    assert.match(compare(map({ [a]: gone }), [], map({})).join(), /acknowledged .* found nothing/);
  });
  test('may begin a document again at the first generation or after the tombstone', () => {
    const again = { leaves: [{ ...leaf(3), rev: undefined, generation: undefined }] };
    const pending = [{ name: 'put', atomic: false, effects: new Map([[forgotten, again]]) }];
    for (const generation of [1, 3]) {
      assert.deepEqual(compare(state(gone), pending, state({ leaves: [leaf(3, generation)] })), []);
    }
    assert.equal(compare(state(gone), pending, state({ leaves: [leaf(4)] })).length, 1);
  });
  test('may lack a tombstone at each moment after the deletion, and at none before', () => {
    const [written, again] = [doc(1), { leaves: [leaf(3, 1)] }];
    const request = (sent, acknowledged, value) => ({ name: 'x', sent, acknowledged, effects: new Map([[forgotten, value]]) });
    const requests = [request(1n, 2n, written), request(3n, 5n, gone), request(7n, 9n, again)];
    const moments = [[3n, [written]], [4n, [written, gone, undefined]], [6n, [gone, undefined]],
                     [8n, [gone, undefined, again]], [10n, [again]]];
    for (const [time, allowed] of moments) {
      for (const value of [written, gone, undefined, again]) {
        const { state, pending } = new Replay(requests).at(time);
        state.set(...there);
        const problems = compare(state, pending, new Map([there, ...(value ? [[forgotten, value]] : [])]));
        assert.equal(problems.length, allowed.includes(value) ? 0 : 1, `${time}: ${JSON.stringify(value)}`);
      }
    }
  });
  test('with relaxed durability may lack a tombstone, and has no document as it never was', () => {
    const made = { client: 'x', name: 'make', sent: 1n, acknowledged: 2n, effects: new Map([there]) };
    const write = (sent, value) => ({ client: 'x', name: 'x', sent, acknowledged: sent + 1n, effects: new Map([[forgotten, value]]) });
    const story = [made, write(3n, doc(1)), write(5n, gone)];
    const against = (value, partitions) =>
      compareRelaxed(story, 20n, state(gone), [], state(value), new Map([[forgetting.name, partitions]]));
    for (const partitions of [1, 2]) {
      for (const value of [undefined, doc(1), gone]) assert.deepEqual(against(value, partitions), []);
      assert.equal(against(doc(2), partitions).length, 1);
      assert.equal(against({ leaves: [{ ...leaf(3, 3), deleted: true, body: {} }] }, partitions).length, 1);
    }
  });

  const row = (id, deleted) => ({ id, seq: '1-x', changes: [{ rev: '1-x' }], ...(deleted && { deleted }) });
  const feed = (...results) => ({ status: 200, body: { results, last_seq: '9-x', pending: 0 } });
  const refusal = { status: 400, text: '', body: { error: 'tombstones_gone' } };
  /// Answers with `changes`, one after the other, and with documents of these ids.
  const serverWith = (changes, ids) => ({
    get: async (target) => target.includes('_changes') ? changes.shift()
      : { status: 200, body: { rows: ids.map((id) => ({ id, value: { rev: '1-x' } })) } },
  });

  test('must tell a follower of each deletion, or to begin again', async () => {
    const world = { seed: 1 };
    const follower = new Follower(world, 0);
    const problemsWith = (changes, ids) => {
      world.server = serverWith(changes, ids);
      return follower.compare();
    };
    assert.deepEqual(await problemsWith([feed(row('a'), row('b'))], ['a', 'b']), []);
    assert.deepEqual(await problemsWith([feed(row('a', true))], ['b']), []);
    assert.match((await problemsWith([feed()], [])).join(), /was not told that b was deleted/);
    assert.match((await problemsWith([feed()], ['b', 'c'])).join(), /c at undefined/);
    assert.deepEqual(await problemsWith([refusal, feed(row('c'))], ['c']), []);
    assert.equal(follower.takeRestarts(), 1);
  });
  test('after a power loss must tell so a follower that continues where it was at that moment', async () => {
    const follower = new Follower({ seed: 1, server: serverWith([feed(row('a'), row('b')), feed(row('b', true))]) }, 0);
    await follower.readPage(10);
    const between = process.hrtime.bigint();
    await follower.readPage(10);
    const at = (time, changes, ids) => follower.resumed(serverWith(changes, ids), time).compare();
    assert.equal(follower.resumed(serverWith([], []), 0n), undefined);
    assert.deepEqual(await at(between, [feed(row('b', true))], ['a']), []);
    assert.match((await at(between, [feed()], ['a'])).join(), /was not told that b was deleted/);
    assert.deepEqual(await at(between, [refusal, feed(row('a'))], ['a']), []);
    assert.deepEqual(await at(process.hrtime.bigint(), [feed()], ['a']), []);
  });
});

describe('logs of versions', () => {
  const log = versionsKey('db', 'a');
  const logged = [database, { partitioned: false, versions: true }];
  const version = (operation, n, generation) => ({ operation, rev: leaf(n, generation).rev, body: { n } });
  const [created, replaced, deleted] = [version('create', 1), version('replace', 2, 2), version('delete', 2, 2)];
  const at = (n, generation, gone = false) => ({ leaves: [{ ...leaf(n, generation), deleted: gone, body: gone ? {} : { n } }] });

  /// A history of edits of one document, each acknowledged.
  async function historyOf(...values) {
    const history = new History();
    history.state.set(...logged);
    for (const value of values) {
      const effects = new Map([[a, value]]);
      await history.run('x', 'writes a', { effects, send: async () => ({}), accept: () => effects });
    }
    return history;
  }

  test('follow from the edits: what readers see, once, in order', async () => {
    const { state } = await historyOf(at(1), at(2, 2), at(3, 3, true), at(4, 4), undefined);
    const fourth = version('create', 4, 4);
    assert.deepEqual(state.get(log), [created, replaced, deleted, fourth, { ...fourth, operation: 'delete' }]);
    const conflict = { leaves: [...at(1).leaves, leaf(0)] };
    assert.deepEqual((await historyOf(at(1), conflict)).state.get(log), [created]);
  });
  test('a lost, a doubled, a changed and an invented version, and two that changed places', async () => {
    const { state } = await historyOf(at(1), at(2, 2));
    const seen = (...versions) => compare(state, [], new Map([logged, [a, at(2, 2)], [log, versions]]));
    assert.deepEqual(seen(created, replaced), []);
    for (const wrong of [[created], [replaced], [created, created, replaced], [created, { ...replaced, body: {} }],
                         [created, replaced, version('replace', 3, 3)], [replaced, created], []]) {
      assert.match(seen(...wrong).join(), /versions db a: acknowledged .* found/);
    }
  });
  test('a document without its version, and a version without its document', async () => {
    const { state } = await historyOf(at(1));
    const pending = [{ name: 'put', atomic: false, effects: new Map([[a, at(2, 2)], [log, [created, replaced]]]) }];
    const seen = (value, ...versions) => compare(state, pending, new Map([logged, [a, value], [log, versions]])).join();
    assert.equal(seen(at(1), created), '');
    assert.equal(seen(at(2, 2), created, replaced), '');
    assert.match(seen(at(2, 2), created), /do not agree/);
    assert.match(seen(at(1), created, replaced), /do not agree/);
  });
  test('the log of a server is read, and its chain of versions looked at', async (t) => {
    const server = await Server.startFor(t);
    expectStatus(await server.put('/db?all_versions=3600'), 201);
    const { rev } = expectStatus(await server.put('/db/a', { n: 1 }), 201);
    expectStatus(await server.put('/db/a', { n: 2, _rev: rev }), 201);
    const { seen, problems } = await observe(server, new Random(1));
    assert.deepEqual(problems, []);
    assert.deepEqual(seen.get(log).map(({ operation, body }) => [operation, body.n]), [['create', 1], ['replace', 2]]);
    const get = server.get;
    server.get = async (target) => {
      const reply = await get(target);
      if (target.includes('all_versions')) reply.body.results.pop();
      return reply;
    };
    assert.match((await observe(server, new Random(1))).problems.join(), /versions: a is at 2-.*, its last version is/);
  });
});

describe('the check of a container\'s orders', () => {
  test('notices an item that the order lacks, one too many, and another value', async (t) => {
    const server = await Server.startFor(t);
    expectStatus(await cosmosRequest(server, 'POST', '/dbs', { body: { id: 'd' } }), 201);
    const definition = { id: 'c', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } };
    expectStatus(await cosmosRequest(server, 'POST', '/dbs/d/colls', { body: definition }), 201);
    const documents = Array.from({ length: 20 }, (_, n) => ({ _id: `k:${n}`, id: `${n}`, pk: 'k', a: n, c: [null, true, 'é', [n]][n % 4], ...(n % 3 && { b: `text ${n}` }) }));
    expectStatus(await server.post('/d%2Fc/_bulk_docs', { docs: documents }), 201);
    const problems = async (expected, seed = 1) => {
      const said = [];
      await checkOrder(server, 'd/c', expected, new Random(seed), (text) => said.push(text));
      return said.join();
    };
    for (let seed = 0; seed < 24; ++seed) assert.equal(await problems(documents, seed), '');
    assert.match(await problems([...documents, { _id: 'k:20', a: 20 }]), /k:20 missing/);
    assert.match(await problems(documents.slice(1)), /k:0 is repeated, or is not there/);
    const changed = documents.map((doc) => ({ ...doc, a: -1, b: 'x', c: 'x', filling: 'x', nonce: 'x', none: 'x' }));
    assert.match(await problems(changed), /k:0 has another value/);
  });
});

describe('the comparison after a power loss with relaxed durability', () => {
  const made = { client: 'x', name: 'make', sent: 1n, acknowledged: 2n, effects: new Map([existing]) };
  const write = (client, sent, key, n) =>
    ({ client, name: `${client} ${n}`, sent, acknowledged: sent + 1n, effects: new Map([[key, doc(n)]]) });
  const requests = [made, write('x', 3n, a, 1), write('y', 5n, b, 2), write('x', 7n, a, 3)];
  const against = (entries) => compareRelaxed(requests, 20n, map({ [a]: doc(3), [b]: doc(2) }), [], map(entries), new Map([['db', 1]]));

  test('accepts each earlier moment', () => {
    for (const moment of [{}, { [a]: doc(1) }, { [a]: doc(1), [b]: doc(2) }, { [a]: doc(3), [b]: doc(2) }]) {
      assert.deepEqual(against(moment), []);
    }
  });
  test('objects to what never was so', () => {
    assert.equal(against({ [a]: doc(9) }).length, 1);
    assert.equal(against({ [b]: doc(2) }).length, 1);
    assert.match(against({ [a]: doc(3) }).join(), /'x 3' is there, 'y 2', acknowledged before it was sent, is not/);
    assert.equal(compareRelaxed(requests, 20n, map({}), [], new Map(), new Map()).length, 1);
  });
});

/// A log as the file layer writes it.
function writeLog(folder, records) {
  const log = Buffer.concat(records.map(({ kind, flags = 0, handle = 0, offset = 0, length = 0, payload = '' }, i) => {
    const bytes = Buffer.from(payload);
    const head = Buffer.alloc(48);
    head.writeUInt32LE(48 + bytes.length, 0);
    head.writeUInt16LE(kind, 4);
    head.writeUInt16LE(flags, 6);
    head.writeBigUInt64LE(BigInt(i + 1), 8);
    head.writeUInt32LE(handle, 24);
    head.writeBigUInt64LE(BigInt(offset), 32);
    head.writeBigUInt64LE(BigInt(length), 40);
    return Buffer.concat([head, bytes]);
  }));
  fs.writeFileSync(path.join(folder, 'log'), log);
  return readRecording([path.join(folder, 'log')]);
}

/// All images that a few hundred tries bring, as texts.
function images(records, options) {
  const disk = new Disk(options);
  for (const record of records) disk.apply(record);
  const random = new Random(1);
  const text = (entry) => entry instanceof Map ? `{${[...entry].map(([name, inner]) => `${name}:${text(inner)}`).join(' ')}}`
                                               : entry.toString('latin1');
  return new Set(Array.from({ length: 400 }, () => text(disk.image(random, records.length).tree)));
}

describe('the disk', () => {
  const createFile = [{ kind: 1, flags: 1, handle: 1, payload: 'f' }];
  const sync = (handle, at) => [{ kind: 10, handle }, { kind: 11, handle, offset: at }];
  const openRoot = { kind: 1, flags: 8, handle: 9 };

  test('may lose a file whose folder was not synced, and its contents, one without the other', (t) => {
    const seen = images(writeLog(temporaryFolder(t), [...createFile, { kind: 3, handle: 1, length: 2, payload: 'ab' }]));
    assert.deepEqual([...seen].sort(), ['{f:\0\0}', '{f:ab}', '{f:}', '{}'].sort());
  });
  test('keeps what was synced, and only what was written before the sync began', (t) => {
    const records = [...createFile, { kind: 3, handle: 1, length: 1, payload: 'a' }, openRoot, { kind: 10, handle: 1 },
                     { kind: 3, handle: 1, offset: 1, length: 1, payload: 'b' }, { kind: 11, handle: 1, offset: 4 }, ...sync(9, 7)];
    assert.deepEqual([...images(writeLog(temporaryFolder(t), records))].sort(), ['{f:a\0}', '{f:ab}', '{f:a}'].sort());
  });
  test('keeps a write through O_DSYNC, above older ones that may be lost', (t) => {
    const records = [...createFile, openRoot, ...sync(9, 3), { kind: 3, handle: 1, length: 2, payload: 'ab' },
                     { kind: 3, flags: 2, handle: 1, length: 1, payload: 'X' }];
    assert.deepEqual([...images(writeLog(temporaryFolder(t), records))].sort(), ['{f:Xb}', '{f:X\0}', '{f:X}'].sort());
  });
  test('tears a write between blocks', (t) => {
    const payload = 'a'.repeat(4096) + 'b'.repeat(4096);
    const records = [...createFile, openRoot, ...sync(9, 3), { kind: 3, handle: 1, length: 8192, payload }];
    const seen = [...images(writeLog(temporaryFolder(t), records))];
    assert.ok(seen.some((image) => image === `{f:${'a'.repeat(4096)}}`));
    assert.ok(seen.some((image) => image === `{f:${'\0'.repeat(4096)}${'b'.repeat(4096)}}`));
  });
  test('renames whole or not at all', (t) => {
    const records = [...createFile, openRoot, ...sync(9, 3), { kind: 6, payload: 'f\0g' }];
    assert.deepEqual([...images(writeLog(temporaryFolder(t), records))].sort(), ['{f:}', '{g:}']);
  });
});

describe('the order of syncs', () => {
  const list = { kind: 1, flags: 1, handle: 2, payload: 'index/segments_1' };
  const folder = [{ kind: 8, payload: 'index' }, { kind: 1, flags: 1, handle: 1, payload: 'index/_0.tis' },
                  { kind: 10, handle: 1 }, { kind: 11, handle: 1, offset: 3 }];
  const misorders = (t, records) => {
    const disk = new Disk();
    for (const record of writeLog(temporaryFolder(t), records)) disk.apply(record);
    return disk.misorders;
  };

  test('a list of files is not made before the names in it are certain', (t) => {
    assert.match(misorders(t, [...folder, list])[0], /segments_1 .*_0\.tis/);
  });
  test('and may be made after', (t) => {
    const synced = [{ kind: 1, flags: 8, handle: 3, payload: 'index' }, { kind: 10, handle: 3 }, { kind: 11, handle: 3, offset: 6 }];
    assert.deepEqual(misorders(t, [...folder, ...synced, list]), []);
  });
});

describe('killing', () => {
  test('notices a folder that fell back to an earlier state', async (t) => {
    const tamper = (dataDir) => {
      const earlier = `${dataDir}-earlier`;
      if (fs.existsSync(earlier)) fs.rmSync(dataDir, { recursive: true });
      fs.cpSync(...(fs.existsSync(earlier) ? [earlier, dataDir] : [dataDir, earlier]), { recursive: true });
    };
    const parent = temporaryFolder(t);
    const failure = await killingTest({ cycles: 6, seed: 7, parent, tamper }).catch((error) => error);
    assert.ok(failure instanceof Failure, failure);
    assert.match(failure.message, /acknowledged/);
  });

  test('notices a document that went behind its back, and one that came', async (t) => {
    const server = await Server.startFor(t);
    const history = new History();
    const world = new World({ seed: 3, history });
    await world.furnish(server);
    const load = world.load(server);
    const isPlain = ([key, value]) => /^document plain-1 c0-\d+$/.test(key) && value.leaves.length === 1 && !value.leaves[0].deleted;
    do {
      await Promise.race([sleep(300), load]);
    } while (![...history.state].some(isPlain));
    world.stop();
    await load;
    const random = new Random(3);
    assert.deepEqual(compare(history.state, [], (await observe(server, random)).seen), []);
    const [, { leaves: [{ rev }] }] = [...history.state].find(isPlain);
    const id = [...history.state].find(([, value]) => value.leaves?.[0].rev === rev)[0].split(' ')[2];
    expectStatus(await server.delete(`/plain-1/${id}?rev=${rev}`), 200);
    expectStatus(await server.put('/plain-1/stranger', { nonce: 'stranger 1', a: 1 }), 201);
    const problems = compare(history.state, [], (await observe(server, random)).seen);
    assert.equal(problems.length, 2, problems.join('\n'));
  });
});

describe('power loss', { skip: !hasLayer && 'no file layer in this build' }, () => {
  test('notices a disk that lies about its syncs', async (t) => {
    const parent = temporaryFolder(t);
    const lie = { seed: 1, images: 40, seconds: 1, ignoreSyncs: true, parent };
    const failure = await powerLossTest(lie).catch((error) => error);
    assert.ok(failure instanceof Failure, failure);
  });
});

describe('power loss at the first start on a folder of an earlier format', () => {
  const tree = (files) => new Map([['data', new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)]))]]);
  const original = tree({ 'octavo.format': '1\n', 'data.mdb': 'old' });

  test('may change what it likes after the number of the format, and nothing before', () => {
    const changes = (files) => changedBelowNumber(tree(files), original).length;
    assert.equal(changes({ 'octavo.format': '2\n', 'data.mdb': 'new', 'index': '' }), 0);
    assert.equal(changes({ 'octavo.format': '1\n', 'octavo.format.new': '2', 'data.mdb': 'old', 'lock.mdb': 'x' }), 0);
    assert.equal(changes({ 'octavo.format': '1\n', 'data.mdb': 'new' }), 1);
    assert.equal(changes({ 'octavo.format': '1\n', 'data.mdb': 'old', 'index': '' }), 1);
    assert.equal(changes({ 'octavo.format': '1\n' }), 1);
    assert.equal(changes({ 'data.mdb': 'old' }), 1);
  });
  test('notices a disk that lies about its syncs', { skip: !hasLayer && 'no file layer in this build' }, async (t) => {
    const failure = await upgradeTest({ seed: 1, ignoreSyncs: true, parent: temporaryFolder(t) }).catch((error) => error);
    assert.ok(failure instanceof Failure, failure);
  });
});

describe('the file layer', { skip: !hasLayer && 'no file layer in this build' }, () => {
  test('records what the streams of C++ write', async (t) => {
    const folder = temporaryFolder(t);
    const [dataDir, log] = [path.join(folder, 'data'), path.join(folder, 'log')];
    const server = await Server.startFor(t, { dataDir, env: preload({ root: folder, log }) });
    expectStatus(await server.put('/db'), 201);
    expectStatus(await server.put('/db/_design/d', { views: { v: { map: 'function (doc) { emit(doc._id); }' } } }), 201);
    expectStatus(await server.get('/db/_design/d/_view/v'), 200);
    await server.stop();
    const written = readRecording([log]).filter(({ kind, path }) => kind === 3 && path.endsWith('/definition.json.new'));
    assert.match(Buffer.concat(written.map(({ payload }) => payload)).toString(), /emit\(doc\._id\)/);
  });

  test('makes calls fail while a rule stands, and lets them pass when it is gone', async (t) => {
    const folder = temporaryFolder(t);
    const dataDir = path.join(folder, 'data');
    const faults = path.join(folder, 'faults');
    const server = await Server.startFor(t, { dataDir, env: preload({ root: dataDir, faults }) });
    expectStatus(await server.put('/db'), 201);
    setFaults(faults, ['eio fdatasync path=partition-0']);
    expectStatus(await server.put('/db/a', { n: 1 }), 500);
    assert.deepEqual(firedFaults(faults).map(({ operation, error }) => [operation, error])[0], ['fdatasync', 'eio']);
    clearFaults(faults);
    expectStatus(await server.put('/db/b', { n: 1 }), 201);

    setFaults(faults, ['enospc write path=databases/ after=100000']);
    let status;
    const filling = crypto.randomBytes(6000).toString('base64');  // text that packs badly
    for (let n = 0; n < 100 && status !== 507; ++n) ({ status } = await server.put(`/db/full-${n}`, { filling }));
    assert.equal(status, 507);
    expectStatus(await server.get('/db/b'), 200);
    clearFaults(faults);
    expectStatus(await server.put('/db/c', { filling }), 201);
    await server.stop();
  });
});
