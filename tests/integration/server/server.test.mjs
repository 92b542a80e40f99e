import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, Server } from '../harness.mjs';

describe('server endpoints', () => {
  let server;
  before(async () => {
    server = await Server.start();
    for (const name of ['alpha', 'beta', 'gamma', 'delta']) await server.put(`/${name}`);
  });
  after(() => server?.stop());

  test('the root welcomes with version, vendor and features', async () => {
    const reply = await server.get('/');
    expectStatus(reply, 200);
    assert.equal(reply.body.couchdb, 'Welcome');
    assert.match(reply.body.version, /^\d+\.\d+\.\d+/);
    assert.match(reply.body.uuid, /^[0-9a-f]{32}$/);
    assert.deepEqual(reply.body.features, ['partitioned', 'reshard', 'search']);
    assert.equal(typeof reply.body.vendor.name, 'string');
    assert.match(reply.headers['content-type'], /^application\/json/);
    assert.ok(reply.headers.server && reply.headers.date && reply.headers['x-couch-request-id']);
  });

  test('the server keeps its uuid over requests', async () => {
    assert.equal((await server.get('/')).body.uuid, (await server.get('/')).body.uuid);
  });

  test('HEAD answers the head of GET without a body', async () => {
    const get = await server.get('/');
    const head = await server.head('/');
    expectStatus(head, 200);
    assert.equal(head.text, '');
    assert.equal(head.headers['content-length'], get.headers['content-length']);
  });

  test('replication is refused by name, not accepted and forgotten', async () => {
    const job = { source: 'alpha', target: 'beta' };
    expectError(await server.post('/_replicate', job), 501, 'not_implemented', /does not replicate yet/);
    expectError(await server.put('/_replicator/job', job), 501, 'not_implemented', /does not replicate yet/);
    const rows = expectStatus(await server.post('/_replicator/_bulk_docs', { docs: [{ _id: 'job', ...job }] }), 201);
    assert.equal(rows[0].error, 'not_implemented');
    assert.deepEqual(expectStatus(await server.get('/_scheduler/jobs'), 200), { total_rows: 0, offset: 0, jobs: [] });
    assert.deepEqual(expectStatus(await server.get('/_scheduler/docs/_replicator'), 200).docs, []);
    expectStatus(await server.get('/_scheduler/docs/_replicator/job'), 404);
    expectStatus(await server.put('/_replicator/_design/rules', { language: 'javascript' }), 201);
  });

  test('_up says ok', async () => {
    assert.equal(expectStatus(await server.get('/_up'), 200).status, 'ok');
  });

  test('_uuids gives as many different ids as asked for', async () => {
    const one = expectStatus(await server.get('/_uuids'), 200);
    assert.equal(one.uuids.length, 1);
    const many = await server.get('/_uuids?count=100');
    assert.equal(new Set(many.body.uuids).size, 100);
    for (const uuid of many.body.uuids) assert.match(uuid, /^[0-9a-f]{32}$/);
    assert.match(many.headers['cache-control'], /no-cache/);
  });

  test('_uuids refuses more than a thousand', async () => {
    expectStatus(await server.get('/_uuids?count=1000'), 200);
    expectError(await server.get('/_uuids?count=1001'), 400, 'bad_request', 'count parameter too large');
    expectStatus(await server.get('/_uuids?count=many'), 400);
  });

  test('_uuids is for GET', async () => {
    const reply = await server.post('/_uuids', {});
    expectError(reply, 405, 'method_not_allowed', /^Only GET.* allowed$/);
    assert.match(reply.headers.allow, /^GET/);
  });

  test('_all_dbs lists in order, and pages', async () => {
    // The databases of the system itself come first.
    const own = (names) => names.filter((name) => !name.startsWith('_'));
    assert.deepEqual(own((await server.get('/_all_dbs')).body), ['alpha', 'beta', 'delta', 'gamma']);
    assert.deepEqual((await server.get('/_all_dbs?limit=2&startkey="a"')).body, ['alpha', 'beta']);
    assert.deepEqual((await server.get('/_all_dbs?skip=3&startkey="a"')).body, ['gamma']);
    assert.deepEqual((await server.get('/_all_dbs?descending=true&limit=1')).body, ['gamma']);
    assert.deepEqual((await server.get('/_all_dbs?startkey="b"&endkey="e"')).body, ['beta', 'delta']);
    assert.deepEqual((await server.get('/_all_dbs?start_key="beta"&end_key="delta"')).body, ['beta', 'delta']);
  });

  test('_dbs_info tells of all databases, or of those asked for', async () => {
    const all = expectStatus(await server.get('/_dbs_info'), 200);
    assert.deepEqual(all.map((row) => row.key).filter((name) => !name.startsWith('_')), ['alpha', 'beta', 'delta', 'gamma']);
    const some = expectStatus(await server.post('/_dbs_info', { keys: ['gamma', 'nowhere'] }), 200);
    assert.equal(some[0].info.db_name, 'gamma');
    assert.deepEqual(some[1], { key: 'nowhere', error: 'not_found' });
    expectError(await server.post('/_dbs_info', {}), 400, 'bad_request', '`keys` member must exist.');
    expectError(await server.post('/_dbs_info', { keys: 'a' }), 400, 'bad_request', '`keys` member must be an array.');
    const tooMany = Array.from({ length: 101 }, (_, n) => `db${n}`);
    expectStatus(await server.post('/_dbs_info', { keys: tooMany }), 400);
  });

  test('_active_tasks is a list', async () => {
    assert.ok(Array.isArray(expectStatus(await server.get('/_active_tasks'), 200)));
  });

  test('_membership names one node', async () => {
    const body = expectStatus(await server.get('/_membership'), 200);
    assert.equal(body.all_nodes.length, 1);
    assert.deepEqual(body.cluster_nodes, body.all_nodes);
  });

  test('_node/_local names the node, and has statistics, system and settings', async () => {
    const name = expectStatus(await server.get('/_node/_local'), 200).name;
    assert.equal((await server.get('/_membership')).body.all_nodes[0], name);
    const stats = expectStatus(await server.get('/_node/_local/_stats'), 200);
    assert.ok(stats.couchdb?.httpd ?? stats.couchdb, JSON.stringify(stats).slice(0, 200));
    expectStatus(await server.get('/_node/_local/_system'), 200);
    const config = expectStatus(await server.get('/_node/_local/_config'), 200);
    assert.equal(typeof config, 'object');
    expectStatus(await server.get('/_node/nonode@elsewhere/_stats'), 404);
  });

  test('_prometheus speaks the text format', async () => {
    const reply = await server.get('/_node/_local/_prometheus');
    expectStatus(reply, 200);
    assert.match(reply.headers['content-type'], /^text\/plain/);
    assert.match(reply.text, /^# TYPE [a-z_]+ (counter|gauge|histogram|summary)$/m);
    assert.match(reply.text, /^octavo_build_info\{version="[\d.]+"\} 1$/m);
    for (const name of ['octavo_data_folder_free_bytes', 'process_open_fds', 'process_max_fds']) {
      assert.ok(Number(reply.text.match(new RegExp(`^${name} (\\S+)$`, 'm'))[1]) > 0, name);
    }
  });

  test('commits are counted, with the requests in them and the time they took', async () => {
    const metrics = async () => Object.fromEntries([...(await server.get('/_node/_local/_prometheus')).text.matchAll(
      /^octavo_(commit_duration_seconds_(?:count|sum)|commit_duration_seconds_bucket\{le="\+Inf"\}|committed_requests_total|write_queue_bytes|databases) (\S+)$/gm)]
      .map(([, name, value]) => [name, Number(value)]));
    const before = await metrics();
    const db = await server.database();
    for (let n = 0; n < 10; ++n) expectStatus(await server.put(`/${db}/d${n}`, {}), 201);
    const after = await metrics();
    assert.ok(after.committed_requests_total >= before.committed_requests_total + 10);
    assert.ok(after.commit_duration_seconds_count >= before.commit_duration_seconds_count + 10);
    assert.equal(after['commit_duration_seconds_bucket{le="+Inf"}'], after.commit_duration_seconds_count);
    assert.ok(after.commit_duration_seconds_sum > before.commit_duration_seconds_sum);
    assert.equal(after.write_queue_bytes, 0);
    assert.equal(after.databases, before.databases + 1);
  });

  test('request counters grow with requests', async () => {
    const total = async () =>
      [...(await server.get('/_node/_local/_prometheus')).text.matchAll(/^[a-z_]*requests_total(?:\{[^}]*\})? (\S+)$/gm)]
        .reduce((sum, match) => sum + Number(match[1]), 0);
    const before = await total();
    for (let n = 0; n < 10; ++n) await server.get('/');
    assert.ok((await total()) >= before + 10);
  });

  test('an unknown endpoint is not found', async () => {
    expectStatus(await server.get('/_nothing_here'), 404);
    expectStatus(await server.get('/alpha/_nothing_here'), 404);
  });

  test('what docs/couchdb.md says is not offered is refused', async () => {
    const page = fs.readFileSync(path.join(process.env.OCTAVO_SOURCE_DIR, 'docs/couchdb.md'), 'utf8');
    const section = page.split('\n## Not offered, and why\n')[1].split('\n## ')[0];
    const settings = [], endpoints = [];
    for (const [, subject, here] of section.matchAll(/^\| (.+?) \| (.+?) \|/gm)) {
      const [, group] = subject.match(/^`(\w+)\/\w+`/) ?? [];
      for (const [, word] of group ? subject.matchAll(/`([\w/]+)`/g) : []) settings.push(word.includes('/') ? word : `${group}/${word}`);
      const [, method = 'GET', target] = subject.match(/^`(?:(GET|POST) \/)?(_\S+)`/) ?? [];
      if (target) endpoints.push([method, `/${target.replace('{n}', '_local')}`, Number(here)]);
    }
    assert.ok(settings.length >= 9, settings.join());
    assert.equal(endpoints.length, 4, endpoints.join());
    for (const [method, target, status] of endpoints) expectStatus(await server.request(method, target), status);
    for (const setting of [...settings, 'vhosts/a.example.com', 'cors:a.example.com/origins']) {
      expectError(await server.put(`/_node/_local/_config/${setting}`, '"true"'), 403, 'modification_not_allowed', /there is no such setting/);
    }
  });

  test('a request id is taken over when it is well formed', async () => {
    const reply = await server.get('/', { headers: { 'X-Couch-Request-ID': 'abcdef1234' } });
    assert.equal(reply.headers['x-couch-request-id'], 'abcdef1234');
  });

  test('a request id that is not well formed is replaced', async () => {
    for (const sent of ['a b', 'x'.repeat(65)]) {
      const reply = await server.get('/', { headers: { 'X-Couch-Request-ID': sent } });
      assert.match(reply.headers['x-couch-request-id'], /^[0-9a-f]{10}$/);
    }
  });
});
