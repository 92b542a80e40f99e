// Revision trees: conflicts, histories, deleted leaves, and the calls replication is made of.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, Server } from '../harness.mjs';

const hex = (letter) => letter.repeat(32);
const rev = (generation, letter) => `${generation}-${hex(letter)}`;

describe('revision trees', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
  });
  after(() => server?.stop());

  /// Writes revisions as a replicator does: each with its whole history, newest first, as letters.
  async function graft(id, ...leaves) {
    const docs = leaves.map(({ generation, path, ...body }) => ({
      _id: id, _rev: rev(generation, path[0]), _revisions: { start: generation, ids: [...path].map(hex) }, ...body,
    }));
    const reply = await server.post(`/${db}/_bulk_docs`, { docs, new_edits: false });
    assert.deepEqual(expectStatus(reply, 201), []);
  }
  const get = async (path) => expectStatus(await server.get(`/${db}/${path}`), 200);

  test('the winner is the longest living branch, then the greatest revision id', async () => {
    await graft('longest', { generation: 2, path: 'fa', n: 1 }, { generation: 3, path: 'cba', n: 2 });
    assert.equal((await get('longest'))._rev, rev(3, 'c'));
    await graft('greatest', { generation: 2, path: 'ba', n: 1 }, { generation: 2, path: 'ca', n: 2 });
    assert.equal((await get('greatest'))._rev, rev(2, 'c'));
    await graft('living', { generation: 1, path: 'a', n: 1 }, { generation: 5, path: 'fedcb', _deleted: true });
    assert.equal((await get('living'))._rev, rev(1, 'a'));
  });

  test('the winner does not depend on the order of arrival', async () => {
    await graft('one-way', { generation: 2, path: 'ca' });
    await graft('one-way', { generation: 2, path: 'ba' });
    await graft('other-way', { generation: 2, path: 'ba' });
    await graft('other-way', { generation: 2, path: 'ca' });
    assert.equal((await get('one-way'))._rev, (await get('other-way'))._rev);
  });

  test('conflicts and deleted conflicts are listed, greatest first', async () => {
    await graft('conflicted', { generation: 2, path: 'ba' }, { generation: 2, path: 'da' }, { generation: 2, path: 'ca' },
      { generation: 2, path: 'ea', _deleted: true });
    const doc = await get('conflicted?conflicts=true&deleted_conflicts=true');
    assert.equal(doc._rev, rev(2, 'd'));
    assert.deepEqual(doc._conflicts, [rev(2, 'c'), rev(2, 'b')]);
    assert.deepEqual(doc._deleted_conflicts, [rev(2, 'e')]);
    const plain = await get('conflicted');
    assert.equal(plain._conflicts, undefined);
    assert.equal(plain._deleted_conflicts, undefined);
  });

  test('a document without conflicts lists none', async () => {
    await graft('peaceful', { generation: 1, path: 'a' });
    const doc = await get('peaceful?conflicts=true&deleted_conflicts=true');
    assert.equal(doc._conflicts, undefined);
    assert.equal(doc._deleted_conflicts, undefined);
  });

  test('revs shows the history of the revision that was read', async () => {
    await graft('historical', { generation: 4, path: 'dcba' }, { generation: 3, path: 'fba' });
    assert.deepEqual((await get('historical?revs=true'))._revisions, { start: 4, ids: [...'dcba'].map(hex) });
    assert.deepEqual((await get(`historical?revs=true&rev=${rev(3, 'f')}`))._revisions, { start: 3, ids: [...'fba'].map(hex) });
  });

  test('revs_info tells which revisions are at hand', async () => {
    const first = (await server.put(`/${db}/informed`, { n: 1 })).body.rev;
    const second = (await server.put(`/${db}/informed`, { n: 2, _rev: first })).body.rev;
    const info = (await get('informed?revs_info=true'))._revs_info;
    assert.deepEqual(info[0], { rev: second, status: 'available' });
    assert.equal(info[1].rev, first);
    assert.ok(['available', 'missing'].includes(info[1].status));
    await graft('partly', { generation: 2, path: 'ba' });
    assert.deepEqual((await get('partly?revs_info=true'))._revs_info,
      [{ rev: rev(2, 'b'), status: 'available' }, { rev: rev(1, 'a'), status: 'missing' }]);
  });

  test('meta is conflicts, deleted conflicts and revs_info at once', async () => {
    await graft('meta', { generation: 2, path: 'ba' }, { generation: 2, path: 'ca' }, { generation: 2, path: 'da', _deleted: true });
    const doc = await get('meta?meta=true');
    assert.deepEqual(doc._conflicts, [rev(2, 'b')]);
    assert.deepEqual(doc._deleted_conflicts, [rev(2, 'd')]);
    assert.equal(doc._revs_info[0].status, 'available');
  });

  test('open_revs=all gives every leaf, deleted ones too', async () => {
    await graft('open', { generation: 2, path: 'ba', n: 'b' }, { generation: 2, path: 'ca', n: 'c' },
      { generation: 2, path: 'da', _deleted: true });
    const reply = await server.get(`/${db}/open?open_revs=all`, { headers: { Accept: 'application/json' } });
    const leaves = expectStatus(reply, 200).map((row) => row.ok);
    assert.deepEqual(leaves.map((leaf) => leaf._rev).sort(), [rev(2, 'b'), rev(2, 'c'), rev(2, 'd')]);
    assert.equal(leaves.find((leaf) => leaf._rev === rev(2, 'd'))._deleted, true);
  });

  test('open_revs with a list gives those, and tells what is missing', async () => {
    await graft('picked', { generation: 2, path: 'ba', n: 'b' }, { generation: 2, path: 'ca', n: 'c' });
    const wanted = encodeURIComponent(JSON.stringify([rev(2, 'b'), rev(7, 'f')]));
    const reply = await server.get(`/${db}/picked?open_revs=${wanted}&revs=true`, { headers: { Accept: 'application/json' } });
    const rows = expectStatus(reply, 200);
    assert.equal(rows[0].ok.n, 'b');
    assert.deepEqual(rows[0].ok._revisions, { start: 2, ids: [hex('b'), hex('a')] });
    assert.deepEqual(rows[1], { missing: rev(7, 'f') });
    expectError(await server.get(`/${db}/picked?open_revs=nonsense`), 400, 'bad_request');
  });

  test('open_revs sends a large revision once, however often it is named', async () => {
    await graft('heavy', { generation: 1, path: 'a', text: 'x'.repeat(4_000_000) });
    const wanted = encodeURIComponent(JSON.stringify(Array(500).fill(rev(1, 'a'))));
    const reply = await server.get(`/${db}/heavy?open_revs=${wanted}&revs_info=true`, { headers: { Accept: 'application/json' } });
    const rows = expectStatus(reply, 200);
    assert.equal(rows.length, 1);
    assert.equal(rows[0].ok.text.length, 4_000_000);
  });

  test('open_revs is multipart if that is among what the client accepts', async () => {
    await graft('parts', { generation: 1, path: 'a', n: 1 });
    for (const accept of ['multipart/mixed', 'multipart/mixed, multipart/related, application/json']) {
      const reply = await server.get(`/${db}/parts?open_revs=all`, { headers: { Accept: accept } });
      expectStatus(reply, 200);
      assert.match(reply.headers['content-type'], /^multipart\/mixed; boundary=/);
      assert.match(reply.text, /Content-Type: application\/json\r\n\r\n\{"_id":"parts"/);
    }
  });

  test('latest gives the leaf that came of an old revision', async () => {
    await graft('evolved', { generation: 3, path: 'cba', n: 'c' });
    assert.equal((await get(`evolved?rev=${rev(1, 'a')}&latest=true`))._rev, rev(3, 'c'));
    const wanted = encodeURIComponent(JSON.stringify([rev(1, 'a')]));
    const reply = await server.get(`/${db}/evolved?open_revs=${wanted}&latest=true`, { headers: { Accept: 'application/json' } });
    assert.equal(reply.body[0].ok._rev, rev(3, 'c'));
  });

  test('an edit of a losing branch leaves the other alone', async () => {
    await graft('branches', { generation: 2, path: 'ba', n: 'b' }, { generation: 2, path: 'ca', n: 'c' });
    const edited = expectStatus(await server.put(`/${db}/branches`, { _rev: rev(2, 'b'), n: 'bb' }), 201);
    assert.ok(edited.rev.startsWith('3-'));
    const doc = await get('branches?conflicts=true');
    assert.equal(doc._rev, edited.rev);
    assert.deepEqual(doc._conflicts, [rev(2, 'c')]);
  });

  test('deleting the winner brings the next branch up', async () => {
    await graft('succession', { generation: 2, path: 'ba', n: 'b' }, { generation: 2, path: 'ca', n: 'c' });
    await server.delete(`/${db}/succession?rev=${rev(2, 'c')}`);
    assert.equal((await get('succession'))._rev, rev(2, 'b'));
    await server.delete(`/${db}/succession?rev=${rev(2, 'b')}`);
    expectError(await server.get(`/${db}/succession`), 404, 'not_found', 'deleted');
  });

  test('new_edits=false is idempotent, and extends known branches', async () => {
    await graft('idempotent', { generation: 2, path: 'ba', n: 1 });
    const before = (await server.get(`/${db}`)).body.update_seq;
    await graft('idempotent', { generation: 2, path: 'ba', n: 1 });
    assert.equal((await server.get(`/${db}`)).body.update_seq, before);
    await graft('idempotent', { generation: 3, path: 'cba', n: 2 });
    const doc = await get('idempotent?conflicts=true');
    assert.equal(doc._rev, rev(3, 'c'));
    assert.equal(doc._conflicts, undefined);
  });

  test('a branch that came without its beginning learns it from a longer history', async () => {
    const put = async (start, path, body = {}) => expectStatus(await server.put(`/${db}/completed?new_edits=false`,
      { ...body, _revisions: { start, ids: [...path].map(hex) } }), 201);
    await put(2, 'b', { n: 2 });
    await put(3, 'cba', { n: 3 });
    assert.deepEqual((await get('completed?revs=true'))._revisions, { start: 3, ids: [...'cba'].map(hex) });
    await put(1, 'a', { n: 1 }); // an ancestor: not a conflict
    assert.equal((await get('completed?conflicts=true'))._conflicts, undefined);
    await put(5, 'e', { n: 5 });
    await put(5, 'edcba', { n: 'not taken' });
    const doc = await get('completed?revs=true&conflicts=true');
    assert.equal(doc.n, 5);
    assert.equal(doc._conflicts, undefined);
    assert.deepEqual(doc._revisions, { start: 5, ids: [...'edcba'].map(hex) });
  });

  test('PUT with new_edits=false stores the revision as given', async () => {
    const reply = await server.put(`/${db}/placed?new_edits=false`,
      { _rev: rev(3, 'c'), _revisions: { start: 3, ids: [hex('c'), hex('b')] }, n: 1 });
    expectStatus(reply, 201);
    assert.equal(reply.body.rev, rev(3, 'c'));
    assert.equal((await get('placed'))._rev, rev(3, 'c'));
  });

  test('revision ids of any length are kept', async () => {
    const reply = await server.post(`/${db}/_bulk_docs`, { new_edits: false, docs: [
      { _id: 'short', _rev: '1-abc', n: 1 }, { _id: 'short', _rev: '2-x', _revisions: { start: 2, ids: ['x', 'abc'] }, n: 2 }] });
    assert.deepEqual(expectStatus(reply, 201), []);
    const doc = await get('short?revs=true');
    assert.equal(doc._rev, '2-x');
    assert.deepEqual(doc._revisions, { start: 2, ids: ['x', 'abc'] });
    expectStatus(await server.put(`/${db}/short`, { _rev: '2-x', n: 3 }), 201);
  });

  test('_revs_diff tells which revisions are missing, and what could be their ancestors', async () => {
    await graft('diffed', { generation: 2, path: 'ba' });
    const reply = await server.post(`/${db}/_revs_diff`, {
      diffed: [rev(2, 'b'), rev(3, 'c')], unknown: [rev(1, 'a')], 'all-known': [],
    });
    const body = expectStatus(reply, 200);
    assert.deepEqual(body.diffed.missing, [rev(3, 'c')]);
    assert.deepEqual(body.diffed.possible_ancestors, [rev(2, 'b')]);
    assert.deepEqual(body.unknown, { missing: [rev(1, 'a')] });
    const known = expectStatus(await server.post(`/${db}/_revs_diff`, { diffed: [rev(2, 'b'), rev(1, 'a')] }), 200);
    assert.deepEqual(known, {});
  });

  test('_missing_revs lists the missing ones alone', async () => {
    await graft('missed', { generation: 1, path: 'a' });
    const body = expectStatus(await server.post(`/${db}/_missing_revs`, { missed: [rev(1, 'a'), rev(2, 'b')] }), 200);
    assert.deepEqual(body, { missing_revs: { missed: [rev(2, 'b')] } });
  });

  test('_purge forgets leaves, and the whole document with the last one', async () => {
    await graft('purged', { generation: 2, path: 'ba', n: 'b' }, { generation: 2, path: 'ca', n: 'c' });
    const one = await server.post(`/${db}/_purge`, { purged: [rev(2, 'c')] });
    assert.deepEqual(expectStatus(one, 201).purged, { purged: [rev(2, 'c')] });
    assert.equal((await get('purged'))._rev, rev(2, 'b'));
    assert.deepEqual(expectStatus(await server.get(`/${db}/_purged_infos`), 200).purged_infos.at(-1),
      { id: 'purged', revs: [rev(2, 'c')] });
    const two = await server.post(`/${db}/_purge`, { purged: [rev(2, 'b'), rev(9, 'f')], unknown: [rev(1, 'a')] });
    assert.deepEqual(expectStatus(two, 201).purged, { purged: [rev(2, 'b')], unknown: [] });
    expectError(await server.get(`/${db}/purged`), 404, 'not_found', 'missing');
    assert.ok(!(await server.get(`/${db}/_changes`)).body.results.some((row) => row.id === 'purged'));
    assert.ok((await server.put(`/${db}/purged`, {})).body.rev.startsWith('1-'));
  });

  test('histories are pruned to the revision limit', async () => {
    const limited = await server.database();
    await server.put(`/${limited}/_revs_limit`, '3');
    let last;
    for (let n = 0; n < 6; ++n) last = (await server.put(`/${limited}/doc`, { n, _rev: last })).body.rev;
    const doc = (await server.get(`/${limited}/doc?revs=true`)).body;
    assert.equal(doc._revisions.start, 6);
    assert.equal(doc._revisions.ids.length, 3);
  });

  test('a malformed revision in a bulk write is refused, and the others are written', async () => {
    const docs = [{ _id: 'x', _rev: 'nonsense' }, { _id: 'beside-x', _rev: `1-${'a'.repeat(32)}` }];
    const rows = expectStatus(await server.post(`/${db}/_bulk_docs`, { new_edits: false, docs }), 201);
    assert.deepEqual(rows, [{ id: 'x', error: 'bad_request', reason: 'Invalid rev format' }]);
    expectStatus(await server.get(`/${db}/beside-x`), 200);
  });

  test('a hundred conflicts are kept and counted once', async () => {
    const docs = Array.from({ length: 100 }, (_, n) => {
      const id = n.toString(16).padStart(32, '0');
      return { _id: 'crowded', _rev: `2-${id}`, _revisions: { start: 2, ids: [id, hex('a')] }, n };
    });
    const before = (await server.get(`/${db}`)).body.doc_count;
    await server.post(`/${db}/_bulk_docs`, { docs, new_edits: false });
    assert.equal((await server.get(`/${db}`)).body.doc_count, before + 1);
    const doc = await get('crowded?conflicts=true');
    assert.equal(doc.n, 99);
    assert.equal(doc._conflicts.length, 99);
    assert.equal((await get(`crowded?rev=2-${(42).toString(16).padStart(32, '0')}`)).n, 42);
  });
});
