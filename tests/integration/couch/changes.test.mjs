import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, ids, Server } from '../harness.mjs';

const hex = (letter) => letter.repeat(32);

describe('_changes, all at once', () => {
  let server, db, revs, rows;
  before(async () => {
    server = await Server.start();
    db = await server.database();
    revs = await server.fill(db, [{ _id: 'a', kind: 1 }, { _id: 'b', kind: 2 }, { _id: 'c', kind: 1 }, { _id: 'd', kind: 2 }]);
    revs[1] = (await server.put(`/${db}/b`, { _rev: revs[1], kind: 3 })).body.rev;
    revs[2] = (await server.delete(`/${db}/c?rev=${revs[2]}`)).body.rev;
    await server.put(`/${db}/_design/dd`, { language: 'query' });
    rows = (await changes()).results;
  });
  after(() => server?.stop());
  const changes = async (query = '', options) => expectStatus(await server.get(`/${db}/_changes${query}`, options), 200);
  const post = async (query, body) => expectStatus(await server.post(`/${db}/_changes${query}`, body), 200);

  test('each document stands once, where it changed last', async () => {
    const body = await changes();
    assert.deepEqual(ids(body.results), ['a', 'd', 'b', 'c', '_design/dd']);
    assert.deepEqual(body.results[2].changes, [{ rev: revs[1] }]);
    assert.equal(body.results[3].deleted, true);
    assert.equal(body.results[0].deleted, undefined);
    assert.equal(body.pending, 0);
    assert.equal(body.last_seq, body.results[4].seq);
    assert.match(body.last_seq, /^7-/);
    assert.equal(body.last_seq, (await server.get(`/${db}`)).body.update_seq);
  });

  test('since gives what came later', async () => {
    assert.deepEqual(ids((await changes(`?since=${rows[1].seq}`)).results), ['b', 'c', '_design/dd']);
    assert.deepEqual(ids((await changes('?since=0')).results), ids(rows));
    assert.deepEqual(ids((await changes('?since=5')).results), ['c', '_design/dd']);
    const now = await changes('?since=now');
    assert.deepEqual(now.results, []);
    assert.equal(now.last_seq, rows.at(-1).seq);
  });

  test('ETag: the whole feed is sent again only after a change', async () => {
    const other = await server.database();
    await server.fill(other, [{ _id: 'x' }]);
    const get = (tag) => server.get(`/${other}/_changes`, tag && { headers: { 'If-None-Match': tag } });
    const first = await get();
    expectStatus(first, 200);
    const again = await get(first.headers.etag);
    assert.equal(again.status, 304);
    assert.equal(again.text, '');
    await server.fill(other, [{ _id: 'y' }]);
    assert.deepEqual(ids(expectStatus(await get(first.headers.etag), 200).results), ['x', 'y']);
    assert.equal((await server.get(`/${other}/_changes?feed=longpoll`)).headers.etag, undefined);
  });

  test('a since of another life of the database starts over', async () => {
    const other = await server.database();
    await server.fill(other, [{ _id: 'x' }, { _id: 'y' }]);
    const seq = (await server.get(`/${other}`)).body.update_seq;
    await server.delete(`/${other}`);
    await server.put(`/${other}`);
    await server.fill(other, [{ _id: 'z' }]);
    assert.deepEqual(ids((await server.get(`/${other}/_changes?since=${seq}`)).body.results), ['z']);
  });

  test('a since beyond the end starts over: the database was restored from a backup', async (t) => {
    const one = await Server.startFor(t);
    const name = await one.database();
    await one.fill(name, [{ _id: 'kept' }]);
    await one.stop({ keepFolder: true });
    const backup = `${one.dataDir}.backup`;
    t.after(() => fs.rmSync(backup, { recursive: true, force: true }));
    fs.cpSync(one.dataDir, backup, { recursive: true });
    await one.relaunch();
    await one.fill(name, [1, 2, 3, 4, 5].map((n) => ({ _id: `lost${n}` })));
    const seq = (await one.get(`/${name}`)).body.update_seq;
    await one.stop({ keepFolder: true });
    fs.rmSync(one.dataDir, { recursive: true });
    fs.renameSync(backup, one.dataDir);
    await one.relaunch();
    await one.fill(name, [{ _id: 'new' }]);
    for (const feed of ['normal', 'longpoll']) {
      const body = expectStatus(await one.get(`/${name}/_changes?feed=${feed}&since=${seq}`), 200);
      assert.deepEqual(ids(body.results), ['kept', 'new'], feed);
      assert.match(body.last_seq, /^2-/);
      assert.deepEqual((await one.get(`/${name}/_changes?since=${body.last_seq}`)).body.results, []);
    }
    const follower = await one.feed(`/${name}/_changes?feed=continuous&since=${seq}`);
    assert.deepEqual([(await follower.nextRow()).id, (await follower.nextRow()).id], ['kept', 'new']);
    follower.close();
    await one.stop();
  });

  test('an invalid since is refused', async () => {
    expectStatus(await server.get(`/${db}/_changes?since=nonsense`), 400);
  });

  test('limit, with what is pending', async () => {
    const body = await changes('?limit=2');
    assert.deepEqual(ids(body.results), ['a', 'd']);
    assert.equal(body.pending, 3);
    assert.equal(body.last_seq, body.results[1].seq);
    assert.deepEqual(ids((await changes(`?limit=2&since=${body.last_seq}`)).results), ['b', 'c']);
  });

  test('limit=0 tells only where the feed is', async () => {
    const reply = await changes('?limit=0');
    assert.deepEqual(reply.results, []);
    assert.equal(reply.pending, rows.length);
    const since = rows[0].seq;
    assert.equal((await changes(`?limit=0&descending=true&since=${since}`)).pending, rows.length - 1);
  });

  test('descending', async () => {
    assert.deepEqual(ids((await changes('?descending=true')).results), ids(rows).reverse());
    assert.deepEqual(ids((await changes('?descending=true&limit=2')).results), ['_design/dd', 'c']);
  });

  test('include_docs', async () => {
    const body = await changes('?include_docs=true');
    assert.deepEqual(body.results[0].doc, { _id: 'a', _rev: revs[0], kind: 1 });
    assert.deepEqual(body.results[3].doc, { _id: 'c', _rev: revs[2], _deleted: true });
  });

  test('style=all_docs lists every leaf', async () => {
    const other = await server.database();
    await server.post(`/${other}/_bulk_docs`, { new_edits: false, docs: ['a', 'b', 'c'].map((letter) => ({
      _id: 'x', _rev: `1-${hex(letter)}`, ...(letter === 'c' && { _deleted: true }) })) });
    const main = (await server.get(`/${other}/_changes`)).body.results;
    assert.deepEqual(main[0].changes, [{ rev: `1-${hex('b')}` }]);
    const all = (await server.get(`/${other}/_changes?style=all_docs`)).body.results;
    assert.deepEqual(all[0].changes.map((change) => change.rev).sort(), ['a', 'b', 'c'].map((letter) => `1-${hex(letter)}`));
    const withConflicts = (await server.get(`/${other}/_changes?include_docs=true&conflicts=true`)).body.results;
    assert.deepEqual(withConflicts[0].doc._conflicts, [`1-${hex('a')}`]);
  });

  test('seq_interval leaves sequences out in between', async () => {
    const other = await server.database();
    await server.fill(other, Array.from({ length: 10 }, (_, n) => ({ _id: `d${n}` })));
    const { results, last_seq: last } = (await server.get(`/${other}/_changes?seq_interval=5`)).body;
    assert.equal(results.length, 10);
    assert.equal(results.filter((row) => row.seq !== null).length, 2);
    assert.match(last, /^10-/);
  });

  test('filter=_doc_ids by POST and by GET', async () => {
    assert.deepEqual(ids((await post('?filter=_doc_ids', { doc_ids: ['d', 'c', 'nope'] })).results), ['d', 'c']);
    const wanted = encodeURIComponent(JSON.stringify(['a']));
    assert.deepEqual(ids((await changes(`?filter=_doc_ids&doc_ids=${wanted}`)).results), ['a']);
    const body = await post(`?filter=_doc_ids&since=${rows[1].seq}`, { doc_ids: ['a', 'b'] });
    assert.deepEqual(ids(body.results), ['b']);
  });

  test('filter=_selector', async () => {
    assert.deepEqual(ids((await post('?filter=_selector', { selector: { kind: { $gt: 1 } } })).results), ['d', 'b']);
    assert.deepEqual(ids((await post('?filter=_selector', { selector: { _deleted: true } })).results), ['c']);
    assert.deepEqual(ids((await post('?filter=_selector&include_docs=true', { selector: { _id: 'a' } })).results), ['a']);
    expectStatus(await server.post(`/${db}/_changes?filter=_selector`, { selector: { kind: { $nothing: 1 } } }), 400);
    expectStatus(await server.post(`/${db}/_changes?filter=_selector`, {}), 400);
  });

  test('filter=_design', async () => {
    assert.deepEqual(ids((await changes('?filter=_design')).results), ['_design/dd']);
  });

  test('a filter that does not exist is not found', async () => {
    expectStatus(await server.get(`/${db}/_changes?filter=nodesign/nofilter`), 404);
  });

  test('POST without a filter is as GET', async () => {
    assert.deepEqual(ids((await post('', {})).results), ids(rows));
  });

  test('an unknown feed type is refused', async () => {
    const reply = await server.get(`/${db}/_changes?feed=carrier-pigeon`);
    assert.equal(reply.status, 400, reply.text);
    expectError(reply, 400, 'bad_request');
  });

  test('paging through many changes over several physical partitions misses none', async () => {
    const other = await server.database('q=4');
    const expected = new Set();
    for (let part = 0; part < 5; ++part) {
      const docs = Array.from({ length: 400 }, (_, n) => ({ _id: `d${part}-${n}` }));
      for (const doc of docs) expected.add(doc._id);
      await server.fill(other, docs);
    }
    const seen = [];
    for (let since = '0', pending = 1; pending > 0;) {
      const body = (await server.get(`/${other}/_changes?limit=137&since=${since}`)).body;
      seen.push(...ids(body.results));
      since = body.last_seq;
      pending = body.pending;
    }
    assert.equal(seen.length, 2000);
    assert.deepEqual(new Set(seen), expected);
  });

  test('sequences grow', async () => {
    const numbers = rows.map((row) => Number(row.seq.split('-')[0]));
    assert.deepEqual(numbers, [...numbers].sort((x, y) => x - y));
  });
});

describe('_db_updates', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  test('tells of databases created, changed and deleted', async () => {
    await server.put('/one');
    await server.put('/two');
    await server.put('/one/doc', {});
    await server.delete('/two');
    const body = expectStatus(await server.get('/_db_updates'), 200);
    assert.equal(typeof body.last_seq, 'string');
    const last = new Map(body.results.map((row) => [row.db_name, row.type]));
    assert.equal(last.get('two'), 'deleted');
    assert.ok(['updated', 'created'].includes(last.get('one')));
  });

  test('continues where it was left', async () => {
    const { last_seq: since } = (await server.get('/_db_updates')).body;
    await server.put('/three');
    const body = (await server.get(`/_db_updates?since=${since}`)).body;
    assert.deepEqual(body.results.map((row) => [row.db_name, row.type]), [['three', 'created']]);
  });

  test('wakes a long poll', async () => {
    const { last_seq: since } = (await server.get('/_db_updates')).body;
    const waiting = server.get(`/_db_updates?feed=longpoll&since=${since}&timeout=10000`);
    await server.put('/four');
    assert.equal((await waiting).body.results[0].db_name, 'four');
  });

  test('runs continuously', async () => {
    const feed = await server.feed('/_db_updates?feed=continuous&since=now&heartbeat=10000');
    await server.put('/five');
    assert.equal((await feed.nextRow()).db_name, 'five');
    feed.close();
  });
});
