// Replaced revisions can be read for a while, as until CouchDB's next compaction.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, eventually, Server } from '../harness.mjs';

describe('replaced revisions', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
  });
  after(() => server?.stop());

  /// Writes a document `count` times, and returns its revisions, oldest first.
  async function edits(id, count) {
    const revisions = [];
    for (let n = 1; n <= count; ++n) {
      const reply = await server.put(`/${db}/${id}`, { n, ...(n > 1 && { _rev: revisions.at(-1) }) });
      revisions.push(expectStatus(reply, 201).rev);
    }
    return revisions;
  }

  test('rev reads each of them, with its own ETag', async () => {
    const revisions = await edits('read', 4);
    for (const [i, rev] of revisions.entries()) {
      const reply = await server.get(`/${db}/read?rev=${rev}`);
      assert.deepEqual(expectStatus(reply, 200), { _id: 'read', _rev: rev, n: i + 1 });
      assert.equal(reply.headers.etag, `"${rev}"`);
    }
    expectError(await server.get(`/${db}/read?rev=1-${'0'.repeat(32)}`), 404, 'not_found', 'missing');
  });

  test('revs_info, open_revs and _bulk_get show them', async () => {
    const [first, second] = await edits('shown', 2);
    const info = expectStatus(await server.get(`/${db}/shown?revs_info=true`), 200)._revs_info;
    assert.deepEqual(info, [{ rev: second, status: 'available' }, { rev: first, status: 'available' }]);
    const wanted = encodeURIComponent(JSON.stringify([first]));
    const opened = await server.get(`/${db}/shown?open_revs=${wanted}`, { headers: { Accept: 'application/json' } });
    assert.equal(expectStatus(opened, 200)[0].ok.n, 1);
    const got = await server.post(`/${db}/_bulk_get`, { docs: [{ id: 'shown', rev: first }] });
    assert.equal(expectStatus(got, 200).results[0].docs[0].ok.n, 1);
  });

  test('a deletion can be undone with them', async () => {
    const [first] = await edits('undone', 1);
    const { rev } = expectStatus(await server.delete(`/${db}/undone?rev=${first}`), 200);
    const info = expectStatus(await server.get(`/${db}/undone?rev=${rev}&revs_info=true`), 200)._revs_info;
    assert.deepEqual(info.map((one) => one.status), ['deleted', 'available']);
    const before = expectStatus(await server.get(`/${db}/undone?rev=${first}`), 200);
    expectStatus(await server.put(`/${db}/undone`, { n: before.n, _rev: rev }), 201);
    expectStatus(await server.request('COPY', `/${db}/undone?rev=${first}`, { headers: { Destination: 'copied' } }), 201);
    assert.equal(expectStatus(await server.get(`/${db}/copied`), 200).n, 1);
  });

  test('they outlive a restart, but not a compaction', async (t) => {
    const before = await Server.startFor(t);
    expectStatus(await before.put('/kept'), 201);
    const first = expectStatus(await before.put('/kept/a', { n: 1 }), 201).rev;
    expectStatus(await before.put('/kept/a', { n: 2, _rev: first }), 201);
    await before.stop({ keepFolder: true });
    const own = await Server.startFor(t, { dataDir: before.dataDir });
    assert.equal(expectStatus(await own.get(`/kept/a?rev=${first}`), 200).n, 1);
    expectStatus(await own.post('/kept/_compact', {}), 202);
    await eventually(async () => (await own.get('/kept')).body.compact_running === false);
    expectError(await own.get(`/kept/a?rev=${first}`), 404, 'not_found', 'missing');
    assert.equal((await own.get('/kept/a?revs_info=true')).body._revs_info[1].status, 'missing');
  });

  test('database.replaced_kept = 0 keeps none', async (t) => {
    const own = await Server.startFor(t, { config: '[database]\nreplaced_kept = "0s"\n' });
    expectStatus(await own.put('/none'), 201);
    const first = expectStatus(await own.put('/none/a', { n: 1 }), 201).rev;
    expectStatus(await own.put('/none/a', { n: 2, _rev: first }), 201);
    expectError(await own.get(`/none/a?rev=${first}`), 404, 'not_found', 'missing');
  });
});
