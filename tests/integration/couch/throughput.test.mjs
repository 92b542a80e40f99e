// Request units on the CouchDB API: what replies say, budgets of databases, what is spent where.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, Server, sleep } from '../harness.mjs';

const chargeOf = (reply) => Number(reply.headers['x-request-charge']);

/// Reads a document until it is refused; the refusal.
async function untilRefused(server, target, tries = 500) {
  for (let n = 0; n < tries; n++) {
    const reply = await server.get(target);
    if (reply.status === 429) return reply;
  }
  throw new Error(`nothing refused in ${tries} requests`);
}

describe('throughput', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  test('every reply about documents carries its charge', async () => {
    const db = await server.database('partitioned=true');
    const put = await server.put(`/${db}/p:a`, { n: 1 });
    assert.ok(chargeOf(put) > 4);
    assert.equal(chargeOf(await server.get(`/${db}/p:a`)), 1);
    assert.equal(chargeOf(await server.get(`/${db}/p:none`)), 1);
    assert.ok(chargeOf(await server.post(`/${db}/_bulk_docs`, { docs: [{ _id: 'p:b' }, { _id: 'p:c' }] })) > 2 * 4);
    assert.ok(chargeOf(await server.post(`/${db}/_partition/p/_batch`, { docs: [{ _id: 'p:d' }] })) > 4);
    for (const [target, body] of [
      ['_find', { selector: { n: 1 } }],
      ['_partition/p/_find', { selector: { n: 1 } }],
      ['_sql', { query: 'SELECT * FROM c' }],
      ['_all_docs', { keys: ['p:a'] }],
      ['_bulk_get', { docs: [{ id: 'p:a' }, { id: 'p:b' }] }],
    ]) {
      assert.ok(chargeOf(await server.post(`/${db}/${target}`, body)) >= 2, target);
    }
    assert.equal((await server.get(`/${db}`)).headers['x-request-charge'], undefined);
  });

  test('a query of a text index is charged for the documents that it reads, and waits for its budget', async () => {
    const db = await server.database('partitioned=true&throughput=20');
    for (const id of ['a', 'b', 'c']) expectStatus(await server.put(`/${db}/p:${id}`, { text: 'red' }), 201);
    expectStatus(await server.post(`/${db}/_index`, { type: 'text', ddoc: 't', partitioned: false, index: {} }), 200);
    const ask = (limit) => server.post(`/${db}/_find`, { selector: { $text: 'red' }, limit });
    const spent = async () => (await server.get(`/${db}/_throughput`)).body.partitions[0].total;
    const before = await spent();
    const [one, three] = [await ask(1), await ask(3)];
    assert.ok(chargeOf(one) > 2 && chargeOf(three) > chargeOf(one) + 0.1, `${one.headers['x-request-charge']} ${three.headers['x-request-charge']}`);
    assert.ok(Math.abs(await spent() - before - chargeOf(one) - chargeOf(three)) < 0.2);
    let refused;
    for (let n = 0; n < 100 && refused?.status !== 429; n++) refused = await ask(3);
    expectError(refused, 429, 'too_many_requests');
  });

  test('a database without throughput is never refused', async () => {
    const db = await server.database();
    await server.put(`/${db}/a`, {});
    for (let n = 0; n < 300; n++) expectStatus(await server.get(`/${db}/a`), 200);
    const report = expectStatus(await server.get(`/${db}/_throughput`), 200);
    assert.equal(report.throughput, null);
    assert.ok(report.partitions[0].total >= 300);
    assert.equal(report.partitions[0].refused, 0);
  });

  test('a spent budget answers 429, and says when to come again', async () => {
    const db = await server.database('partitioned=true&throughput=20');
    expectStatus(await server.put(`/${db}/p:a`, {}), 201);
    const refused = await untilRefused(server, `/${db}/p:a`);
    expectError(refused, 429, 'too_many_requests');
    assert.match(refused.body.reason, /Request rate is large/);
    const waitMs = Number(refused.headers['x-retry-after-ms']);
    assert.ok(waitMs > 0 && waitMs <= 10_000, String(waitMs));
    assert.equal(Number(refused.headers['retry-after']), Math.ceil(waitMs / 1000));
    assert.equal(refused.headers['x-request-charge'], undefined);
    // Writes and queries pay from the same budget.
    let all = [];
    for (let n = 0; n < 20 && !all.includes(429); n++) {
      all = [(await server.put(`/${db}/p:w${n}`, {})).status, (await server.post(`/${db}/_find`, { selector: {} })).status,
        (await server.get(`/${db}/_all_docs`)).status, (await server.post(`/${db}/_sql`, { query: 'SELECT * FROM c' })).status];
    }
    assert.ok(all.includes(429), String(all));
    // Requests that read or write no documents are served.
    expectStatus(await server.get(`/${db}`), 200);
    const report = expectStatus(await server.get(`/${db}/_throughput`), 200);
    assert.equal(report.throughput, 20);
    assert.ok(report.partitions[0].refused > 0);
    expectStatus(await server.put(`/${db}/_properties`, {}), 200);
    for (let n = 0; n < 100; n++) expectStatus(await server.get(`/${db}/p:a`), 200);
    assert.equal((await server.get(`/${db}/_throughput`)).body.throughput, null);
  });

  test('writes without confirmation, and refused writes, are charged, too', async () => {
    const db = await server.database('throughput=20');
    expectStatus(await server.put(`/${db}/a`, {}), 201);
    const refused = await server.put(`/${db}/a`, { _rev: '1-00000000000000000000000000000000' });
    assert.equal(refused.status, 409);
    assert.equal(chargeOf(refused), 1);
    let reply;
    for (let n = 0; n < 500 && reply?.status !== 429; n++) reply = await server.put(`/${db}/b${n}?batch=ok`, {});
    expectError(reply, 429, 'too_many_requests');
  });

  test('requests are served after the time that the refusal named', async () => {
    const db = await server.database('throughput=50');
    expectStatus(await server.put(`/${db}/a`, {}), 201);
    const refused = await untilRefused(server, `/${db}/a`);
    await sleep(Number(refused.headers['x-retry-after-ms']) + 5);
    expectStatus(await server.get(`/${db}/a`), 200);
  });

  test('one physical partition is refused while another is served, document by document', async () => {
    const db = await server.database('q=2&throughput=40');
    const { partitions } = (await server.get(`/${db}/_throughput`)).body;
    assert.deepEqual(partitions.map((one) => one.throughput), [20, 20]);
    const ids = { [partitions[0].range]: undefined, [partitions[1].range]: undefined };
    for (let n = 0; Object.values(ids).includes(undefined); n++) {
      ids[expectStatus(await server.get(`/${db}/_shards/d${n}`), 200).range] ??= `d${n}`;
    }
    const [hot, cool] = Object.values(ids);
    // Some 180 request units, which 20 a second pay for in nine seconds.
    expectStatus(await server.put(`/${db}/${hot}`, { text: 'x'.repeat(400_000) }), 201);
    assert.equal((await server.get(`/${db}/${hot}`)).status, 429);
    assert.notEqual((await server.get(`/${db}/${cool}`)).status, 429);
    const { body } = await server.post(`/${db}/_bulk_docs`, { docs: [{ _id: hot }, { _id: cool }] });
    assert.equal(body[0].error, 'too_many_requests', JSON.stringify(body));
    assert.equal(body[1].ok, true);
  });

  test('hot partitions are seen', async () => {
    const db = await server.database('partitioned=true&q=2');
    for (const id of ['ann:1', 'bob:1', 'eve:1']) expectStatus(await server.put(`/${db}/${id}`, {}), 201);
    for (let n = 0; n < 50; n++) await server.get(`/${db}/bob:1`);
    const report = expectStatus(await server.get(`/${db}/_throughput?hot=2`), 200);
    const hot = report.partitions.flatMap((one) => one.hot_partitions).sort((a, b) => b.request_units - a.request_units);
    assert.equal(hot[0].partition, 'bob');
    assert.ok(hot[0].request_units >= 50, JSON.stringify(hot));
    assert.ok((await server.get(`/${db}/_partition/bob`)).body.request_units >= 50);
    assert.equal((await server.get(`/${db}/_partition/missing`)).body.request_units, 0);
    expectError(await server.get(`/${db}/_throughput?hot=x`), 400, 'bad_request');
    const text = (await server.get('/_node/_local/_prometheus')).text;
    assert.match(text, new RegExp(`octavo_database_request_units_total\\{database="${db}",partition="0"\\} \\d`));
  });

  test('a server may show throughput without enforcing it', async (t) => {
    const lenient = await Server.startFor(t, { config: '[database]\nenforce_throughput = false\n' });
    const db = await lenient.database('throughput=1');
    await lenient.put(`/${db}/a`, {});
    for (let n = 0; n < 50; n++) expectStatus(await lenient.get(`/${db}/a`), 200);
    await lenient.stop({ keepFolder: true });
  });
});
