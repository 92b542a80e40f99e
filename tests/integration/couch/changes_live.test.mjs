import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually, expectStatus, ids, patience, Server, sleep } from '../harness.mjs';

describe('_changes, as they come', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());
  const fresh = async (query) => {
    db = await server.database(query);
    return db;
  };

  test('a long poll answers at once when there is something', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'a' }]);
    const body = expectStatus(await server.get(`/${db}/_changes?feed=longpoll&timeout=10000`), 200);
    assert.deepEqual(ids(body.results), ['a']);
  });

  test('a long poll waits for the next change and then ends', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'a' }]);
    const waiting = server.get(`/${db}/_changes?feed=longpoll&since=now&timeout=20000`);
    await sleep(100);
    const begin = Date.now();
    await server.put(`/${db}/b`, {});
    const reply = await waiting;
    assert.ok(Date.now() - begin < 10_000 * patience);
    assert.deepEqual(ids(reply.body.results), ['b']);
    assert.equal(reply.body.last_seq, reply.body.results[0].seq);
  });

  test('a long poll that times out is empty', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'a' }]);
    const begin = Date.now();
    const body = expectStatus(await server.get(`/${db}/_changes?feed=longpoll&since=now&timeout=300`), 200);
    assert.ok(Date.now() - begin >= 250);
    assert.deepEqual(body.results, []);
    assert.equal(body.last_seq, (await server.get(`/${db}`)).body.update_seq);
  });

  test('a long poll with a filter wakes for a fitting change only', async () => {
    await fresh();
    const waiting = server.post(`/${db}/_changes?feed=longpoll&since=now&timeout=20000&filter=_selector`, { selector: { good: true } });
    await sleep(100);
    await server.put(`/${db}/bad`, { good: false });
    await sleep(200);
    await server.put(`/${db}/good`, { good: true });
    assert.deepEqual(ids((await waiting).body.results), ['good']);
  });

  test('a continuous feed sends what there is and then what comes', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'a' }, { _id: 'b' }]);
    const feed = await server.feed(`/${db}/_changes?feed=continuous&heartbeat=10000&include_docs=true`);
    assert.equal(feed.status, 200);
    assert.equal((await feed.nextRow()).id, 'a');
    assert.equal((await feed.nextRow()).id, 'b');
    const { rev } = (await server.put(`/${db}/c`, { n: 3 })).body;
    const row = await feed.nextRow();
    assert.equal(row.id, 'c');
    assert.deepEqual(row.changes, [{ rev }]);
    assert.equal(row.doc.n, 3);
    await server.delete(`/${db}/c?rev=${rev}`);
    assert.equal((await feed.nextRow()).deleted, true);
    feed.close();
  });

  test('a continuous feed beats while nothing happens', async () => {
    await fresh();
    const feed = await server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=100`);
    assert.equal(await feed.nextLine(), '');
    assert.equal(await feed.nextLine(), '');
    await server.put(`/${db}/x`, {});
    assert.equal((await feed.nextRow()).id, 'x');
    feed.close();
  });

  test('a continuous feed ends with its timeout and says where', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'a' }]);
    const feed = await server.feed(`/${db}/_changes?feed=continuous&timeout=200`);
    assert.equal((await feed.nextRow()).id, 'a');
    const last = await feed.nextRow();
    assert.equal(last.last_seq, (await server.get(`/${db}`)).body.update_seq);
    assert.equal(last.pending, 0);
    assert.equal(await feed.nextLine(), undefined);
  });

  test('a continuous feed ends at its limit', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
    const feed = await server.feed(`/${db}/_changes?feed=continuous&limit=2&heartbeat=10000`);
    assert.equal((await feed.nextRow()).id, 'a');
    assert.equal((await feed.nextRow()).id, 'b');
    assert.ok((await feed.nextRow()).last_seq);
    await feed.untilEnd();
  });

  test('a continuous feed with filters', async () => {
    await fresh();
    const byId = await server.feed(`/${db}/_changes?feed=continuous&heartbeat=10000&filter=_doc_ids`, { method: 'POST', body: { doc_ids: ['yes'] } });
    const bySelector = await server.feed(`/${db}/_changes?feed=continuous&heartbeat=10000&filter=_selector`, { method: 'POST', body: { selector: { n: 2 } } });
    await server.put(`/${db}/no`, { n: 1 });
    await server.put(`/${db}/yes`, { n: 2 });
    assert.equal((await byId.nextRow()).id, 'yes');
    assert.equal((await bySelector.nextRow()).id, 'yes');
    byId.close();
    bySelector.close();
  });

  test('an event source sends events with ids, and resumes after the last one seen', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'a' }, { _id: 'b' }]);
    const feed = await server.feed(`/${db}/_changes?feed=eventsource&heartbeat=60000`);
    assert.match(feed.headers['content-type'], /^text\/event-stream/);
    const event = async (from) => {
      const fields = {};
      for (;;) {
        const line = await from.nextLine();
        if (line === '' && fields.data) return fields;
        const colon = line.indexOf(':');
        if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trim();
      }
    };
    const first = await event(feed);
    assert.equal(JSON.parse(first.data).id, 'a');
    // The id is JSON, as the sequence is in the data.
    assert.equal(JSON.parse(first.data).seq, JSON.parse(first.id));
    assert.equal(JSON.parse((await event(feed)).data).id, 'b');
    await server.put(`/${db}/c`, {});
    assert.equal(JSON.parse((await event(feed)).data).id, 'c');
    feed.close();
    const resumed = await server.feed(`/${db}/_changes?feed=eventsource&heartbeat=60000`, { headers: { 'Last-Event-ID': first.id } });
    assert.equal(JSON.parse((await event(resumed)).data).id, 'b');
    resumed.close();
    const byParameter = await server.feed(`/${db}/_changes?feed=eventsource&heartbeat=60000&last-event-id=${first.id}`);
    assert.equal(JSON.parse((await event(byParameter)).data).id, 'b');
    byParameter.close();
  });

  test('concurrent writers and a follower: each change once, in order, none missed', async () => {
    await fresh('q=4');
    const feed = await server.feed(`/${db}/_changes?feed=continuous&since=0&heartbeat=10000`);
    const total = 400;
    let next = 0;
    const writer = async () => {
      while (next < total) {
        const n = next++;
        expectStatus(await server.put(`/${db}/w${n}`, { n }), 201);
      }
    };
    const writing = Promise.all(Array.from({ length: 16 }, writer));
    const seen = [];
    let last = 0;
    while (seen.length < total) {
      const row = await feed.nextRow(10_000);
      const number = Number(row.seq.split('-')[0]);
      assert.ok(number > last, `${number} after ${last}`);
      last = number;
      seen.push(row.id);
    }
    await writing;
    assert.equal(new Set(seen).size, total);
    feed.close();
  });

  test('a follower that goes away leaves nothing behind', async () => {
    await fresh();
    for (let n = 0; n < 50; ++n) {
      const feed = await server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=10000`);
      feed.close();
    }
    await server.put(`/${db}/x`, {});
    expectStatus(await server.get(`/${db}/x`), 200);
  });

  test('deleting the database ends its feeds', async () => {
    await fresh();
    const feed = await server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=10000`);
    await server.delete(`/${db}`);
    await feed.untilEnd();
  });

  test('a thousand followers all get a change, and idle ones cost no processor time', async () => {
    await fresh();
    const feeds = await Promise.all(Array.from({ length: 1000 }, () =>
      server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=60000`)));
    await server.put(`/${db}/news`, {});
    await eventually(() => feeds.every((feed) => feed.text.includes('"news"')), 10_000);
    for (const feed of feeds) feed.close();
  });
});

describe('_changes when the server stops', () => {
  test('open feeds do not hold it up', async (t) => {
    const server = await Server.startFor(t);
    const db = await server.database();
    const feed = await server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=60000`);
    const begin = Date.now();
    await server.stop();
    assert.ok(Date.now() - begin < 8000 * patience);
    await feed.untilEnd();
  });
});
