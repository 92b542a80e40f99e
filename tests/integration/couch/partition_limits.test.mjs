// How near partitions are to their limits, before they are reached: in replies, metrics and the log.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';

const limited = { config: '[database]\nlogical_partition_bytes_max = "100KiB"\n' };

/// Fills a logical partition with some KB, in documents of 10 KB.
async function fill(server, db, partition, kilobytes) {
  for (let n = 0; n < kilobytes / 10; ++n) {
    expectStatus(await server.put(`/${db}/${partition}:${n}`, { text: 'x'.repeat(10_000) }), 201);
  }
}

const warnings = (server) => server.lines.filter((line) => line.includes('of at most'));

describe('limits of partitions', () => {
  test('the bytes of a logical partition are shown beside their limit', async (t) => {
    const server = await Server.startFor(t, limited);
    const db = await server.database('partitioned=true&q=2');
    await fill(server, db, 'ann', 50);
    const reply = await server.get(`/${db}/_partition/ann`);
    const { sizes, limits } = expectStatus(reply, 200);
    assert.doesNotMatch(reply.text, /:[\d.]+E/);  // 0.5, and not 5E-1
    assert.equal(limits.bytes.used, sizes.external);
    assert.equal(limits.bytes.max, 102_400);
    assert.ok(Math.abs(limits.bytes.share - sizes.external / 102_400) < 0.001);
    assert.equal(limits.request_units.max, 10_000);
    assert.equal(limits.request_units.enforced, false);
    assert.ok(limits.request_units.per_second > 0);
    const none = (await server.get(`/${db}/_partition/none`)).body.limits;
    assert.deepEqual(none.bytes, { used: 0, max: 102_400, share: 0 });
    assert.equal(none.request_units.per_second, 0);
  });

  test('the partitions nearest to a limit come first, also after a restart', async (t) => {
    const server = await Server.startFor(t, limited);
    const db = await server.database('partitioned=true&q=2');
    for (const [partition, kilobytes] of [['eve', 20], ['ann', 80], ['bob', 50]]) await fill(server, db, partition, kilobytes);
    expectStatus(await server.put(`/${db}/small:1`, {}), 201);
    const check = async (names) => {
      const { logical, physical } = expectStatus(await server.get(`/${db}/_limits`), 200);
      assert.deepEqual(logical.map((one) => one.partition), names);
      assert.ok(logical[0].bytes.share > 0.75 && logical[0].bytes.share < 0.85, JSON.stringify(logical[0]));
      for (const { partition, range } of logical) {
        assert.equal(range, (await server.get(`/${db}/_shards/${partition}:x`)).body.range);
      }
      assert.equal(physical.length, 2);
      for (const one of physical) assert.ok(one.bytes.used > 0 && one.bytes.max === 50 * 2 ** 30, JSON.stringify(one));
    };
    await check(['ann', 'bob', 'eve', 'small']);  // small is there as it has spent request units
    assert.equal((await server.get(`/${db}/_limits?top=1`)).body.logical.length, 1);
    expectError(await server.get(`/${db}/_limits?top=x`), 400, 'bad_request', /`top` must be a whole number/);
    await server.stop({ keepFolder: true });
    await server.relaunch();
    await check(['ann', 'bob', 'eve']);
    // A partition that has become small is not near its limit.
    for (const { id, value } of (await server.get(`/${db}/_partition/ann/_all_docs`)).body.rows) {
      expectStatus(await server.delete(`/${db}/${id}?rev=${value.rev}`), 200);
    }
    const { logical } = (await server.get(`/${db}/_limits`)).body;
    assert.equal(logical.find((one) => one.bytes.share > 0.3).partition, 'bob');
  });

  test('the log warns once of a logical partition with 80 % of its bytes, and metrics count it', async (t) => {
    const server = await Server.startFor(t, limited);
    const db = await server.database('partitioned=true');
    await fill(server, db, 'half', 50);
    await fill(server, db, 'near', 90);
    await eventually(() => warnings(server).length > 0, 40_000);
    const seen = `database ${db}: logical partition "near" has \\d+ of at most 102400 bytes \\(8\\d %\\)`;
    assert.match(warnings(server)[0], new RegExp(seen));
    const metrics = (await server.get('/_node/_local/_prometheus')).text;
    assert.match(metrics, /octavo_partitions_near_limit\{kind="logical",limit="bytes",at_least="0.8"\} 1\n/);
    assert.match(metrics, /octavo_partitions_near_limit\{kind="logical",limit="bytes",at_least="0.95"\} 0\n/);
    assert.match(metrics, /octavo_partition_limit_used_ratio\{kind="logical",limit="bytes"\} 0.8\d/);
    assert.doesNotMatch(metrics, /near"/);
    expectStatus(await server.put(`/${db}/near:more`, { text: 'x'.repeat(4_000) }), 201);
    assert.equal(warnings(server).length, 1);
  });

  test('the log warns of request units where they are limited', async (t) => {
    const server = await Server.startFor(t, {});
    const db = await server.database('partitioned=true&throughput=5');
    expectStatus(await server.put(`/${db}/hot:1`, { text: 'x'.repeat(700_000) }), 201);  // some 300 units, for a minute
    const { limits } = (await server.get(`/${db}/_throughput`)).body.partitions[0];
    assert.deepEqual([limits.request_units.max, limits.request_units.enforced], [5, true]);
    await eventually(() => warnings(server).length > 0, 40_000);
    assert.match(warnings(server)[0], /(logical partition "hot"|physical partition 0) spends \d+ of at most 5 request units/);
  });

  test('strangers may not read them', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    const db = await server.database();
    expectStatus(await server.put(`/${db}/_security`, { members: { names: ['bob'] } }), 200);
    expectError(await server.get(`/${db}/_limits`, { auth: false }), 401, 'unauthorized');
    expectStatus(await server.get(`/${db}/_limits`), 200);
  });
});
