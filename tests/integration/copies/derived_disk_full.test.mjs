// A full or failing disk under a projection and a copy: both say why they wait, and have everything when it works again.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { layer, startFailing, until } from '../failing_disk.mjs';
import { expectStatus } from '../harness.mjs';
import { assertSameRows, createProjection, current, documentsOf, projected } from '../projections/projection_support.mjs';
import { assertSameContent, beginCopy, contentOf, copied, copiedContent, finish } from './copy_support.mjs';

const USERS = 5;

describe('a disk that fails under a projection and a copy', { skip: !layer }, () => {
  let server;
  let copyId;
  let written = 0;
  const [source, rows, copy] = ['orders', 'orders-by-user', 'orders-copied'];
  const statusOf = async () => ({
    projection: expectStatus(await server.get(`/${source}/_projection/by_user`), 200),
    copy: expectStatus(await server.get(`/${source}/_copy/${copyId}`), 200),
  });
  // Some new documents, and a change of each tenth. Only files outside of the source fail, so that this succeeds.
  const write = async (count) => {
    const { rows: known } = expectStatus(await server.get(`/${source}/_all_docs`), 200);
    const changed = known.filter((_, n) => n % 10 === 0).map(({ id, value }) => ({ _id: id, _rev: value.rev, user: `u${written % USERS}`, n: -written }));
    const added = Array.from({ length: count }, () => ({ _id: `o${written++}`, user: `u${written % USERS}`, n: written, filler: 'x'.repeat(300) }));
    await server.fill(source, [...changed, ...added]);
  };
  const check = async () => {
    const documents = await documentsOf(server, source);
    const { skipped } = await current(server, source, 'by_user');
    assert.equal(skipped.errors, 0);
    assertSameRows(await documentsOf(server, rows), projected(documents, { key: ({ user }) => user }));
    await copied(server, source, copyId, { hadFailed: true });
    const expected = copiedContent(await contentOf(server, source), ({ _id, user }) => `${user}:${_id}`);
    assertSameContent(await contentOf(server, copy), expected);
  };
  /// The folder of a database below the data folder.
  const folderOf = async (db) => expectStatus(await server.get(`/${db}`), 200).update_seq.split('-').at(-1);

  before(async () => {
    server = await startFailing({ args: ['--storage-map-bytes-initial', '1MiB'] });
    expectStatus(await server.put(`/${source}?q=2`), 201);
    for (const db of [rows, copy]) expectStatus(await server.put(`/${db}?partitioned=true&q=2`), 201);
    await createProjection(server, source, 'by_user', { target: { db: rows }, key: '{user}', id: '{_id}', fields: { '*': true } });
    copyId = await beginCopy(server, source, { target: copy, key: '{user}', id: '{_id}' });
    await write(200);
    await check();
  });
  after(() => server?.end());

  for (const [name, rule] of [
    ['is full', 'enospc write after=60000'],
    ['is full at once', 'enospc write'],
    ['cannot be synced', 'eio sync'],
    ['refuses each other write', 'eio write times=3'],
  ]) {
    test(`the disk of the targets ${name}`, async () => {
      const folders = [await folderOf(rows), await folderOf(copy)];
      const fired = server.fired();
      server.faults(folders.map((folder) => `${rule} path=${folder}`));
      await write(300);
      await until('a fault', () => server.fired() > fired);
      if (!rule.includes('times')) {
        await until('both say why', async () => {
          const { projection, copy: copying } = await statusOf();
          return projection.state === 'waiting' && Boolean(projection.reason) && Boolean(copying.reason);
        });
      }
      await write(50);
      server.faults([]);
      await check();
    });
  }

  for (const state of ['projection', 'copy']) {
    test(`the disk of the ${state}'s state is full`, async () => {
      const fired = server.fired();
      server.faults([`enospc write path=${state}-`]);
      await write(100);
      await until('a fault', () => server.fired() > fired);
      server.faults([]);
      await check();
    });
  }

  test('a copy that had failures can be finished', async () => {
    await finish(server, source, copyId);
    expectStatus(await server.put(`/${copy}/u1:own`, { own: true }), 201);
  });
});
