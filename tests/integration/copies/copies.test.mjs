// Copies of databases under another partition key, which follow their source until they are finished.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, newContainer } from '../cosmos.mjs';
import { erase, pathOf, save as saveIn } from '../edits.mjs';
import { namesBelow } from '../folders.mjs';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';
import { reshard, shardsOf } from '../reshard.mjs';
import { assertSameContent, beginCopy, contentOf, copied, copiedContent, copyOf, finish } from './copy_support.mjs';

const byUser = { key: '{userId}', id: '{orderId}' };
const idByUser = ({ userId, orderId }) => `${userId}:${orderId}`;

describe('a copy under another key', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const databases = async (more = 'partitioned=true&q=3') => ({ source: await server.database('q=2'), target: await server.database(more) });
  const order = (n) => ({ _id: `o${n}`, orderId: `o${n}`, userId: `u${n % 7}`, total: n });
  const save = (db, { _id, ...fields }) => saveIn(server, db, _id, fields);
  const expectCopy = async (source, target, idOf = idByUser) =>
    assertSameContent(await contentOf(server, target), copiedContent(await contentOf(server, source), idOf));

  test('has all documents, with their revisions, and follows what is written', async () => {
    const { source, target } = await databases();
    await server.fill(source, Array.from({ length: 2000 }, (_, n) => order(n)));
    const id = await beginCopy(server, source, { target, ...byUser });
    await copied(server, source, id);
    await expectCopy(source, target);
    await save(source, { ...order(1), total: 'changed' });
    await save(source, order(5000));
    await erase(server, source, 'o2');
    const status = await copied(server, source, id);
    assert.equal(status.copied, 2000);
    assert.equal(status.expected, 2000);
    await expectCopy(source, target);
    const gone = await server.get(`/${target}/u2:o2`);
    assert.equal(gone.status, 404);
    assert.equal(gone.body.reason, 'deleted');
  });

  test('a document moves when its value at the new key changes', async () => {
    const { source, target } = await databases();
    const id = await beginCopy(server, source, { target, ...byUser });
    await save(source, { _id: 'a', orderId: '1', userId: 'ann' });
    await copied(server, source, id);
    await save(source, { _id: 'a', orderId: '1', userId: 'bob' });
    await copied(server, source, id);
    assert.deepEqual([...(await contentOf(server, target)).keys()], ['bob:1']);
    // Another document may take the place that it has left.
    await save(source, { _id: 'b', orderId: '1', userId: 'ann' });
    await copied(server, source, id);
    await expectCopy(source, target);
  });

  test('conflicts, design documents and deleted leaves are copied whole', async () => {
    const { source, target } = await databases();
    const docs = [
      { _id: 'a', _rev: `1-${'a'.repeat(32)}`, orderId: '1', userId: 'ann', side: 'a' },
      { _id: 'a', _rev: `1-${'b'.repeat(32)}`, orderId: '1', userId: 'ann', side: 'b' },
      { _id: 'a', _rev: `1-${'c'.repeat(32)}`, _deleted: true },
    ];
    expectStatus(await server.post(`/${source}/_bulk_docs`, { new_edits: false, docs }), 201);
    await save(source, { _id: '_design/d', views: { all: { map: 'function (doc) { emit(doc.userId); }' } } });
    const id = await beginCopy(server, source, { target, ...byUser });
    await copied(server, source, id);
    await expectCopy(source, target);
    const leaves = async (db, _id) => expectStatus(await server.get(`/${db}/${_id}?open_revs=all`), 200)
      .map(({ ok: { _id: own, ...rest } }) => rest).sort((one, other) => (one._rev < other._rev ? -1 : 1));
    assert.deepEqual(await leaves(target, 'ann:1'), await leaves(source, 'a'));
    assert.equal(expectStatus(await server.get(`/${target}/_partition/ann/_design/d/_view/all`), 200).rows.length, 1);
    // The deletion of the winner lets another revision win, also in the copy.
    expectStatus(await server.delete(`/${source}/a?rev=1-${'b'.repeat(32)}`), 200);
    await copied(server, source, id);
    await expectCopy(source, target);
  });

  test('purged documents leave the copy', async () => {
    const { source, target } = await databases();
    const { rev } = await save(source, { _id: 'a', orderId: '1', userId: 'ann' });
    const id = await beginCopy(server, source, { target, ...byUser });
    await copied(server, source, id);
    expectStatus(await server.post(`/${source}/_purge`, { a: [rev] }), 201);
    await save(source, { _id: 'b', orderId: '2', userId: 'ann' });
    await copied(server, source, id);
    await eventually(async () => (await contentOf(server, target)).size === 1);
    await expectCopy(source, target);
  });

  test('splits and merges of both databases do not disturb it', async () => {
    const { source, target } = await databases();
    await server.fill(source, Array.from({ length: 500 }, (_, n) => order(n)));
    const id = await beginCopy(server, source, { target, ...byUser });
    for (const db of [source, target]) {
      const [range] = await shardsOf(server, db);
      await reshard(server, { type: 'split', db, range });
      await server.fill(source, Array.from({ length: 300 }, (_, n) => order(1000 + n + 300 * (db === target))));
    }
    await reshard(server, { type: 'merge', db: source });
    await server.fill(source, Array.from({ length: 300 }, (_, n) => order(2000 + n)));
    await copied(server, source, id);
    await expectCopy(source, target);
  });

  test('a document without the key stops the copy until it has one', async () => {
    const { source, target } = await databases();
    await save(source, { _id: 'a', orderId: '1' });
    const id = await beginCopy(server, source, { target, ...byUser });
    const failed = await eventually(async () => {
      const status = await copyOf(server, source, id);
      return status.state === 'failed' && status;
    });
    assert.match(failed.reason, /'a' can have no id in the target.*\{userId\}/);
    await save(source, { _id: 'a', orderId: '1', userId: 'ann' });
    await copied(server, source, id, { hadFailed: true });
    await expectCopy(source, target);
  });

  test('or it is left out, and counted', async () => {
    const { source, target } = await databases();
    await save(source, { _id: 'a', orderId: '1' });
    await save(source, { _id: 'b', orderId: '1', userId: 'ann' });
    const id = await beginCopy(server, source, { target, ...byUser, on_missing_key: 'skip' });
    assert.equal((await copied(server, source, id)).skipped, 1);
    assert.deepEqual([...(await contentOf(server, target)).keys()], ['ann:1']);
    await save(source, { _id: 'b', orderId: '1' });
    assert.equal((await copied(server, source, id)).skipped, 2);
    assert.equal((await contentOf(server, target)).size, 0);
    await save(source, { _id: 'a', orderId: '1', userId: 'eve' });
    assert.equal((await copied(server, source, id)).skipped, 1);
    assert.deepEqual([...(await contentOf(server, target)).keys()], ['eve:1']);
  });

  test('two documents that would have one id stop it, and both are named', async () => {
    const { source, target } = await databases();
    await save(source, { _id: 'a', orderId: '1', userId: 'ann' });
    await save(source, { _id: 'b', orderId: '1', userId: 'ann' });
    const id = await beginCopy(server, source, { target, ...byUser });
    const failed = await eventually(async () => {
      const status = await copyOf(server, source, id);
      return status.state === 'failed' && status;
    });
    for (const name of ["'a'", "'b'", "'ann:1'"]) assert.ok(failed.reason.includes(name), failed.reason);
    await save(source, { _id: 'b', orderId: '2', userId: 'ann' });
    await copied(server, source, id, { hadFailed: true });
    await expectCopy(source, target);
  });

  test('until it is finished no client writes to the target', async () => {
    const { source, target } = await databases();
    await server.fill(source, Array.from({ length: 100 }, (_, n) => order(n)));
    const id = await beginCopy(server, source, { target, ...byUser });
    await copied(server, source, id);
    const { _rev } = expectStatus(await server.get(`/${target}/u1:o1`), 200);
    const refused = /^The copy of .* has this database to itself/;
    expectError(await server.put(`/${target}/x:y`, {}), 403, 'derived_document', refused);
    expectError(await server.delete(`/${target}/u1:o1?rev=${_rev}`), 403, 'derived_document', refused);
    expectStatus(await server.put(`/${target}/_design/own`, { views: {} }), 201);

    const states = () => namesBelow(path.join(server.dataDir, 'databases')).filter((name) => /copy-[0-9a-f]{32}$/.test(name));
    const before = states().length;
    await finish(server, source, id);
    assert.equal((await copyOf(server, source, id)).state, 'done');
    expectStatus(await server.delete(`/${target}/u1:o1?rev=${_rev}`), 200);
    expectStatus(await server.put(`/${target}/x:y`, {}), 201);
    await save(source, order(1000));
    assert.equal((await server.get(`/${target}/u${1000 % 7}:o1000`)).status, 404);
    await eventually(() => states().length === before - 1);
    // It can be copied once more, and the ended one is still known.
    await beginCopy(server, source, { target: await server.database('partitioned=true'), ...byUser });
    const { copies } = expectStatus(await server.get(`/${source}/_copy`), 200);
    assert.equal(copies.length, 2);
  });

  test('finishing waits for everything that was written before', async () => {
    const { source, target } = await databases();
    const id = await beginCopy(server, source, { target, ...byUser });
    await server.fill(source, Array.from({ length: 5000 }, (_, n) => order(n)));
    await finish(server, source, id);
    await expectCopy(source, target);
  });

  test('cancelling removes the target, or keeps it', async () => {
    const { source, target } = await databases();
    await server.fill(source, Array.from({ length: 100 }, (_, n) => order(n)));
    const id = await beginCopy(server, source, { target, ...byUser });
    expectStatus(await server.delete(`/${source}/_copy/${id}`), 200);
    assert.equal((await server.get(`/${target}`)).status, 404);
    expectError(await server.get(`/${source}/_copy/${id}`), 404, 'not_found');
    const kept = await server.database('partitioned=true');
    const next = await beginCopy(server, source, { target: kept, ...byUser });
    expectStatus(await server.delete(`/${source}/_copy/${next}?target=keep`), 200);
    expectStatus(await server.put(`/${kept}/x:y`, {}), 201);
  });

  test('a paused copy stays where it is, also over a restart', async () => {
    const { source, target } = await databases();
    const id = await beginCopy(server, source, { target, ...byUser });
    await copied(server, source, id);
    expectStatus(await server.post(`/${source}/_copy/${id}/_pause`, {}), 200);
    await save(source, order(1));
    expectError(await server.post(`/${source}/_copy/${id}/_finish`, {}), 409, 'conflict', /paused/);
    await server.kill();
    await server.relaunch();
    assert.equal((await copyOf(server, source, id)).state, 'paused');
    assert.equal((await contentOf(server, target)).size, 0);
    expectStatus(await server.post(`/${source}/_copy/${id}/_resume`, {}), 200);
    await copied(server, source, id);
    await expectCopy(source, target);
  });

  test('a copy without templates keeps the ids, and the tombstones', async () => {
    const { source, target } = await databases('q=5');
    await save(source, { _id: 'gone' });
    await erase(server, source, 'gone');
    await save(source, { _id: 'a', n: 1 });
    const id = await beginCopy(server, source, { target });
    await copied(server, source, id);
    await expectCopy(source, target, ({ _id }) => _id);
    const changes = async (db) => expectStatus(await server.get(`/${db}/_changes`), 200).results
      .map(({ id: name, changes: [{ rev: last }], deleted }) => ({ name, last, deleted })).sort((one, other) => (one.name < other.name ? -1 : 1));
    assert.deepEqual(await changes(target), await changes(source));
  });

  test('an id that the target cannot have stops it', async () => {
    const { source, target } = await databases();
    await save(source, { _id: 'a:1' });
    await save(source, { _id: 'plain' });
    const id = await beginCopy(server, source, { target });
    await eventually(async () => /'plain' can have no id/.test((await copyOf(server, source, id)).reason));
    expectStatus(await server.delete(`/${source}/_copy/${id}?target=keep`), 200);
    const skipping = await beginCopy(server, source, { target: await server.database('partitioned=true'), on_missing_key: 'skip' });
    assert.equal((await copied(server, source, skipping)).skipped, 1);
  });

  test('a colon in the text of a key belongs to the key', async () => {
    const { source, target } = await databases();
    await save(source, { _id: 'a', userId: 'ann' });
    const id = await beginCopy(server, source, { target, key: 'user:{userId}', id: '{_id}' });
    await copied(server, source, id);
    assert.deepEqual([...(await contentOf(server, target)).keys()], ['user%3Aann:a']);
  });

  test('the same request again is the same copy', async () => {
    const { source, target } = await databases();
    const id = await beginCopy(server, source, { target, ...byUser });
    assert.equal(await beginCopy(server, source, { target, ...byUser }), id);
    await finish(server, source, id);
    assert.equal(await beginCopy(server, source, { target, ...byUser }), id);
  });

  test('bad requests say what is wrong', async () => {
    const { source, target } = await databases();
    const plain = await server.database();
    const post = (body) => server.post(`/${source}/_copy`, body);
    expectError(await post({}), 400, 'copy_syntax', /`target`/);
    expectError(await post({ target, key: '{userId}' }), 400, 'copy_syntax', /belong together/);
    expectError(await post({ target, ...byUser, grace: 60 }), 400, 'copy_syntax', /`grace` belong to/);
    expectError(await post({ target, ...byUser, swap: 'rows' }), 400, 'copy_syntax', /Unknown member `swap`/);
    expectError(await post({ target, ...byUser, rate_max: -1 }), 400, 'copy_syntax', /`rate_max`/);
    expectError(await post({ target: plain, ...byUser }), 400, 'copy_syntax', /no partitions/);
    expectError(await post({ target: 'nowhere', ...byUser }), 404, 'target_missing', /create it first/);
    expectError(await post({ target: source }), 400, 'copy_syntax', /into itself/);
    expectError(await post({ target: '_users' }), 400, 'copy_syntax', /system database/);
    expectStatus(await server.put(`/${plain}/x`, {}), 201);
    expectError(await post({ target: plain }), 409, 'copy_target', /must be empty/);
    await beginCopy(server, source, { target, ...byUser });
    expectError(await post({ target: await server.database() }), 409, 'copy_running');
    const other = await server.database();
    expectError(await server.post(`/${other}/_copy`, { target }), 409, 'copy_target', /belongs to the copy of/);
    const projection = { target: { db: target }, key: '{a}', id: '{_id}', fields: ['a'] };
    expectError(await server.put(`/${other}/_projection/p`, projection), 409, 'not_exclusive', /copy of/);
    expectError(await server.get(`/${source}/_copy/nothing`), 404, 'not_found');
  });

  test('what is forgotten of a copy that is done does not concern a later one with its target', async () => {
    const { source, target } = await databases();
    const done = await beginCopy(server, source, { target, ...byUser });
    await finish(server, source, done);
    const other = await server.database();
    const id = await beginCopy(server, other, { target, ...byUser });
    expectStatus(await server.delete(`/${source}/_copy/${done}`), 200);
    await copied(server, other, id);
    await server.kill();
    await server.relaunch();
    expectError(await server.put(`/${target}/x:y`, {}), 403, 'derived_document');
  });

  test('a logical partition that would exceed its limit stops it, until it has room', async (t) => {
    const small = await Server.startFor(t, { config: '[database]\nlogical_partition_bytes_max = 20000\n' });
    const source = await small.database('q=2');
    const target = await small.database('partitioned=true');
    const revisions = await small.fill(source, Array.from({ length: 70 }, (_, n) => ({ _id: `d${n}`, user: 'ann', text: 'x'.repeat(400) })));
    // Several chunks, of which some are written when the first one fails; the deletions are beyond the batch.
    for (let part = 0; part < 2; ++part) {
      await small.fill(source, Array.from({ length: 1000 }, (_, n) => ({ _id: `e${part}-${n}`, user: `u${n}`, text: randomBytes(5_000).toString('base64') })));
    }
    const id = await beginCopy(small, source, { target, key: '{user}', id: '{_id}' });
    await eventually(async () => /cannot be written: Partition key reached maximum size/.test((await copyOf(small, source, id)).reason));
    const written = await contentOf(small, target);
    const docs = revisions.map((_rev, n) => ({ _id: `d${n}`, _rev, _deleted: true })).filter(({ _id }) => written.has(`ann:${_id}`));
    expectStatus(await small.post(`/${source}/_bulk_docs`, { docs }), 201);
    await copied(small, source, id, { hadFailed: true });
    assertSameContent(await contentOf(small, target), copiedContent(await contentOf(small, source), ({ user, _id }) => `${user}:${_id}`));
  });

  test('a copy whose target was deleted has failed, and may be cancelled', async () => {
    const { source, target } = await databases();
    const id = await beginCopy(server, source, { target, ...byUser });
    await copied(server, source, id);
    expectStatus(await server.delete(`/${target}`), 200);
    await save(source, order(1));
    await eventually(async () => (await copyOf(server, source, id)).state === 'failed');
    expectStatus(await server.delete(`/${source}/_copy/${id}`), 200);
  });

  test('a target whose source was deleted is an independent database', async () => {
    const { source, target } = await databases();
    await save(source, order(1));
    const id = await beginCopy(server, source, { target, ...byUser });
    await copied(server, source, id);
    expectStatus(await server.delete(`/${source}`), 200);
    await eventually(async () => (await server.put(`/${target}/x:y`, {})).status === 201);
  });

  test('rate_max bounds the documents per second', async () => {
    const { source, target } = await databases();
    await server.fill(source, Array.from({ length: 300 }, (_, n) => order(n)));
    const begun = Date.now();
    const id = await beginCopy(server, source, { target, ...byUser, rate_max: 200 });
    await finish(server, source, id);
    assert.ok(Date.now() - begun > 900, `${Date.now() - begun} ms`);
    await expectCopy(source, target);
  });
});

describe('a copy of a container', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  const nameOf = (container) => `${container.database.id}/${container.id}`;
  const itemsOf = async (container) => {
    const { resources } = await container.items.query('SELECT * FROM c').fetchAll();
    return resources.map(({ _rid, _self, _attachments, ...item }) => item).sort((one, other) => (one.id < other.id ? -1 : 1));
  };

  test('has the items under another key path, with their etags and times', async () => {
    const source = await newContainer(client, { partitionKey: { paths: ['/id'] } });
    const target = await newContainer(client, { partitionKey: { paths: ['/userId'] } });
    for (let n = 0; n < 50; ++n) await source.items.create({ id: `i${n}`, userId: `u${n % 5}`, n });
    const id = await beginCopy(server, nameOf(source), { target: nameOf(target) });
    await copied(server, nameOf(source), id);
    assert.deepEqual(await itemsOf(target), await itemsOf(source));
    await source.item('i1', 'i1').patch([{ op: 'set', path: '/userId', value: 'u9' }]);
    await source.item('i2', 'i2').delete();
    await copied(server, nameOf(source), id);
    assert.deepEqual(await itemsOf(target), await itemsOf(source));
    const { resource } = await target.item('i1', 'u9').read();
    assert.equal(resource.n, 1);
    await assert.rejects(target.items.create({ id: 'x', userId: 'u1' }), ({ code }) => code === 403);
    await finish(server, nameOf(source), id);
    await target.items.create({ id: 'x', userId: 'u1' });
  });

  test('fails where a unique key no longer holds, and says for which item, until its value is free', async () => {
    const source = await newContainer(client, { partitionKey: { paths: ['/id'] } });
    const target = await newContainer(client, { partitionKey: { paths: ['/userId'] }, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } });
    await source.items.create({ id: 'a', userId: 'u', mail: 'm' });
    await source.items.create({ id: 'b', userId: 'u', mail: 'm' });
    // So many that a change of the first items is beyond their batch.
    for (let n = 0; n < 1500; n += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, i) => source.items.create({ id: `i${n + i}`, userId: `u${n + i}`, mail: 'm' })));
    }
    const id = await beginCopy(server, nameOf(source), { target: nameOf(target) });
    const failed = await eventually(async () => {
      const status = await copyOf(server, nameOf(source), id);
      return status.state === 'failed' && status;
    });
    assert.match(failed.reason, /cannot be written: Unique index constraint violation/);
    const [written] = (await itemsOf(target)).filter(({ userId }) => userId === 'u');
    await source.item(written.id, written.id).patch([{ op: 'set', path: '/mail', value: 'n' }]);
    await copied(server, nameOf(source), id, { hadFailed: true });
    assert.deepEqual(await itemsOf(target), await itemsOf(source));
  });

  test('is to another container only', async () => {
    const source = await newContainer(client, { partitionKey: { paths: ['/id'] } });
    const database = await server.database();
    expectError(await server.post(`${pathOf(nameOf(source))}/_copy`, { target: database }), 400, 'copy_syntax', /A container is copied to a container/);
  });
});
