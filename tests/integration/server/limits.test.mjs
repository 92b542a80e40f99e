// Settings that bound what the server does, and how it starts, stops and logs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { docIds, eventually, expectError, expectStatus, ids, patience, Server, sleep } from '../harness.mjs';
import { readOfThreads } from '../processes.mjs';

describe('limits', () => {
  test('a bulk request with too many documents is refused', async (t) => {
    const server = await Server.startFor(t, { config: '[database]\ndocuments_per_bulk_max = 10\n' });
    const db = await server.database();
    const docs = (count) => Array.from({ length: count }, (_, n) => ({ _id: `d${n}` }));
    expectError(await server.post(`/${db}/_bulk_docs`, { docs: docs(11) }), 413, 'max_bulk_docs_count_exceeded');
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: docs(10) }), 201);
    await server.stop();
  });

  test('a request for the differences of too many revisions is refused', async (t) => {
    const server = await Server.startFor(t, { config: '[database]\ndocuments_per_bulk_max = 10\n' });
    const db = await server.database();
    const asked = (count) => ({ a: Array.from({ length: count }, (_, n) => `1-${n}`) });
    for (const call of ['_revs_diff', '_missing_revs']) {
      expectError(await server.post(`/${db}/${call}`, asked(11)), 413, 'too_large', /more than 10 revisions/);
      expectStatus(await server.post(`/${db}/${call}`, asked(10)), 200);
    }
    await server.stop();
  });

  test('a full logical partition refuses more, and the others take writes', async (t) => {
    const server = await Server.startFor(t, { config: '[database]\nlogical_partition_bytes_max = "20KiB"\n' });
    const db = await server.database('partitioned=true');
    let refused;
    for (let n = 0; n < 100 && !refused; ++n) {
      const reply = await server.put(`/${db}/full:${n}`, { text: 'x'.repeat(1000) });
      if (reply.status !== 201) refused = reply;
    }
    expectError(refused, 403, 'partition_overflow', /^Partition limit exceeded due to update on 'full:\d+'$/);
    expectStatus(await server.put(`/${db}/other:1`, { text: 'x' }), 201);
    const rows = (await server.get(`/${db}/_partition/full/_all_docs`)).body.rows;
    assert.ok(rows.length >= 10 && rows.length <= 21, `${rows.length}`);
    for (const row of rows.slice(0, 10)) expectStatus(await server.delete(`/${db}/${row.id}?rev=${row.value.rev}`), 200);
    expectStatus(await server.put(`/${db}/full:again`, { text: 'x' }), 201);
    await server.stop();
  });

  test('a sort without an index that is too large is refused, and an index cures it', async (t) => {
    const server = await Server.startFor(t, { config: '[query]\nsort_bytes_max = "64KiB"\n' });
    const db = await server.database();
    await server.fill(db, Array.from({ length: 2000 }, (_, n) => ({ _id: `d${n}`, n, text: 'x'.repeat(200) })));
    const query = { selector: { n: { $gte: 0 } }, sort: ['n'], limit: 2000 };
    expectError(await server.post(`/${db}/_find`, query), 400, 'no_usable_index');
    await server.post(`/${db}/_index`, { index: { fields: ['n'] } });
    assert.equal(expectStatus(await server.post(`/${db}/_find`, query), 200).docs.length, 2000);
    await server.stop();
  });

  test('few physical partitions kept open serve many databases', async (t) => {
    const server = await Server.startFor(t, { config: '[storage]\nopen_partitions_max = 4\n' });
    for (let n = 0; n < 25; ++n) {
      expectStatus(await server.put(`/db${n}?q=2`), 201);
      await server.fill(`db${n}`, Array.from({ length: 20 }, (_, i) => ({ _id: `d${i}`, n })));
    }
    const feed = await server.feed('/db3/_changes?feed=continuous&since=now&heartbeat=10000');
    const replies = await Promise.all(Array.from({ length: 200 }, (_, i) => server.get(`/db${i % 25}/d${i % 20}`)));
    replies.forEach((reply, i) => assert.equal(expectStatus(reply, 200).n, i % 25));
    const lists = await Promise.all(Array.from({ length: 25 }, (_, n) => server.get(`/db${n}/_all_docs`)));
    for (const list of lists) assert.equal(expectStatus(list, 200).rows.length, 20);
    await server.put('/db3/woken', {});
    assert.equal((await feed.nextRow()).id, 'woken');
    feed.close();
    await server.stop();
  });

  test('a small map grows while readers and writers work', async (t) => {
    // Without a limit a map is reserved so large that it does not grow. The sanitizers' own maps do not fit under one.
    const through = patience > 1 ? undefined : ['prlimit', `--as=${64 * 2 ** 30}`];
    const server = await Server.startFor(t, { config: '[storage]\nmap_bytes_initial = "64KiB"\n', through });
    const db = await server.database();
    await server.post(`/${db}/_index`, { index: { fields: ['w'] }, ddoc: 'w' });
    let running = true;
    const reader = (async () => {
      while (running) {
        expectStatus(await server.get(`/${db}/_all_docs?include_docs=true&limit=200`), 200);
        expectStatus(await server.post(`/${db}/_find`, { selector: { w: 3 } }), 200);
      }
    })();
    await Promise.all(Array.from({ length: 8 }, async (_, w) => {
      for (let n = 0; n < 10; ++n) {
        await server.fill(db, Array.from({ length: 100 }, (_, i) => ({ _id: `w${w}-${n}-${i}`, w, text: 'x'.repeat(500) })));
      }
    }));
    running = false;
    await reader;
    assert.equal((await server.get(`/${db}`)).body.doc_count, 8001);
    await server.stop();
  });

  test('unacknowledged writes beyond the room for waiting ones are refused, and none that was accepted is lost', async (t) => {
    const server = await Server.startFor(t, { config: '[storage]\nqueued_bytes_max = "1MiB"\n' });
    const names = ['one', 'two', 'three'];
    for (const name of names) expectStatus(await server.put(`/${name}`), 201);
    const accepted = Object.fromEntries(names.map((name) => [name, 0]));
    let refused = 0;
    const text = 'x'.repeat(200_000);
    for (let round = 0; round < 5; ++round) {
      await Promise.all(Array.from({ length: 60 }, async (_, n) => {
        const name = names[n % names.length];
        const reply = await server.put(`/${name}/d${round}-${n}?batch=ok`, { text });
        assert.ok(reply.status === 202 || reply.status === 503, `${reply.status}`);
        if (reply.status === 202) accepted[name] += 1;
        else refused += 1;
      }));
    }
    t.diagnostic(`${refused} of 300 were refused`);
    for (const name of names) {
      await eventually(async () => (await server.get(`/${name}`)).body.doc_count === accepted[name]);
    }
    await server.stop();
  });

  for (const durability of ['relaxed', 'ephemeral']) {
    test(`durability ${durability} keeps everything over a clean stop`, async (t) => {
      const server = await Server.startFor(t, { config: `[storage]\ndurability = "${durability}"\n` });
      await server.put('/db');
      await server.fill('db', Array.from({ length: 500 }, (_, n) => ({ _id: `d${n}`, n })));
      await server.stop({ keepFolder: true });
      await server.relaunch();
      assert.equal((await server.get('/db/_all_docs')).body.rows.length, 500);
      await server.stop();
    });
  }
});

describe('compressed bodies', () => {
  const compression = (value) => `[storage]\ncompression = "${value}"\n`;
  const documentOf = (n) => ({ _id: `p:d${n}`, n, text: `text ${n}: ${'many equal words '.repeat(500)}` });
  const shown = ({ _rev, ...document }) => document;

  test('are read under either setting, have the sizes of their JSON, and take less space', async (t) => {
    const server = await Server.startFor(t, { config: compression('zstd') });
    const sizesOf = async (db) => expectStatus(await server.get(`/${db}`), 200).sizes;
    for (const db of ['packed', 'plain']) expectStatus(await server.put(`/${db}?partitioned=true`), 201);
    const index = { index: { fields: ['n'] }, name: 'n' };
    expectStatus(await server.post('/packed/_index', index), 200);
    const first = Array.from({ length: 100 }, (_, n) => documentOf(n));
    await server.fill('packed', first);
    expectStatus(await server.put('/packed/p:large', { n: 1000, text: 'x'.repeat(1_000_000) }), 201);  // by a worker

    await server.stop({ keepFolder: true });
    server.options.config = compression('none');
    await server.relaunch();
    await server.fill('plain', first);
    const second = Array.from({ length: 100 }, (_, n) => documentOf(100 + n));
    await server.fill('packed', second);
    const rows = expectStatus(await server.get('/packed/_all_docs?include_docs=true'), 200).rows.map(({ doc }) => doc);
    for (const document of [...first, ...second]) {
      assert.deepEqual(shown(rows.find(({ _id }) => _id === document._id)), document);
    }
    assert.deepEqual(shown(expectStatus(await server.get('/packed/p:d7'), 200)), documentOf(7));
    assert.equal(expectStatus(await server.get('/packed/p:large'), 200).text.length, 1_000_000);
    const found = await server.post('/packed/_find', { selector: { n: { $gte: 150 } }, limit: 200 });
    assert.equal(expectStatus(found, 200).docs.length, 51);

    await server.stop({ keepFolder: true });
    server.options.config = compression('zstd');
    await server.relaunch();
    expectStatus(await server.put('/small?partitioned=true'), 201);
    await server.fill('small', first);
    const [small, plain] = [await sizesOf('small'), await sizesOf('plain')];
    assert.equal(small.external, plain.external);
    assert.ok(2 * small.active < plain.active, `${small.active} and ${plain.active} bytes`);
    await server.stop();
  });
});

describe('start and stop', () => {
  test('requests that run when the server stops are answered', async (t) => {
    const server = await Server.startFor(t);
    const db = await server.database();
    await server.fill(db, Array.from({ length: 1000 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(200) })));
    const writes = Array.from({ length: 50 }, (_, n) => server.put(`/${db}/last${n}`, { n }).catch((error) => error));
    await sleep(5);
    await server.stop({ keepFolder: true });
    const answered = (await Promise.all(writes)).filter((reply) => reply.status === 201);
    await server.relaunch();
    for (const reply of answered) expectStatus(await server.get(`/${db}/${reply.body.id}`), 200);
    await server.stop();
  });

  test('a folder of a newer format is refused with a clear message', async (t) => {
    const server = await Server.startFor(t);
    await server.stop({ keepFolder: true });
    fs.writeFileSync(path.join(server.dataDir, 'octavo.format'), '999\n');
    await assert.rejects(server.relaunch(), /newer|format/i);
  });

  test('a folder left half made by a killed server starts', async (t) => {
    const server = await Server.startFor(t);
    for (let n = 0; n < 5; ++n) {
      const work = Array.from({ length: 8 }, (_, i) => server.put(`/half${n}-${i}?q=4`).catch(() => {}));
      const gone = Array.from({ length: 4 }, (_, i) => server.delete(`/half${n - 1}-${i}`).catch(() => {}));
      await sleep(10 * n);
      await server.kill();
      await Promise.all([...work, ...gone]);
      await server.relaunch();
      for (const name of (await server.get('/_all_dbs')).body) {
        expectStatus(await server.get(`/${encodeURIComponent(name)}`), 200);
        const status = { _users: 403, _replicator: 501 }[name] ?? 201;
        expectStatus(await server.put(`/${encodeURIComponent(name)}/check${n}`, {}), status);
      }
    }
    await server.stop();
  });

  test('an index being built when the server is killed is complete afterwards', async (t) => {
    const server = await Server.startFor(t);
    await server.put('/db?q=2');
    for (let part = 0; part < 10; ++part) {
      await server.fill('db', Array.from({ length: 2000 }, (_, n) => ({ _id: `d${part}-${n}`, v: n % 100, text: 'x'.repeat(100) })));
    }
    const creating = server.post('/db/_index', { index: { fields: ['v'] }, ddoc: 'v', name: 'v' }).catch(() => {});
    await sleep(15);
    await server.kill();
    await creating;
    await server.relaunch();
    await server.post('/db/_index', { index: { fields: ['v'] }, ddoc: 'v', name: 'v' });
    const body = (await server.post('/db/_find', { selector: { v: 42 }, use_index: 'v', limit: 1000, execution_stats: true })).body;
    assert.equal(body.docs.length, 200);
    assert.equal(new Set(docIds(body.docs)).size, 200);
    assert.equal(body.execution_stats.total_docs_examined, 200);
    await server.stop();
  });

  test('the feed and the list agree after many kills', async (t) => {
    const server = await Server.startFor(t);
    await server.put('/db?q=3');
    for (let round = 0; round < 5; ++round) {
      const writers = Array.from({ length: 6 }, async (_, w) => {
        for (let n = 0; ; ++n) {
          try {
            await server.post('/db/_bulk_docs', { docs: Array.from({ length: 20 }, (_, i) => ({ _id: `r${round}-${w}-${n}-${i}` })) });
          } catch {
            return;
          }
        }
      });
      await sleep(150);
      await server.kill();
      await Promise.all(writers);
      await server.relaunch();
      const listed = ids((await server.get('/db/_all_docs')).body.rows);
      const fed = (await server.get('/db/_changes')).body;
      assert.deepEqual(ids(fed.results).sort(), listed.sort());
      assert.equal(fed.last_seq, (await server.get('/db')).body.update_seq);
    }
    await server.stop();
  });
});

describe('resources', () => {
  test('threads follow the processors that the process may use, not those of the machine', async (t) => {
    const allowed = fs.readFileSync('/proc/self/status', 'utf8').match(/^Cpus_allowed_list:\s*(\d+)/m)[1];
    const server = await Server.startFor(t, { through: ['taskset', '--cpu-list', allowed] });
    assert.match(server.lines.join('\n'), / may use 1 of \d+ processors and \d+ of \d+ MiB of memory: io_threads=1 worker_threads=1$/m);
    const names = readOfThreads(server.process.pid, 'comm').map((name) => name.trim());
    assert.deepEqual(names.filter((name) => name.startsWith('io-')), ['io-0']);
    await server.stop();
  });
});

describe('logs', () => {
  test('each request is a line, in text, but for good answers to those who ask for the health', async (t) => {
    const server = await Server.startFor(t);
    for (const probe of ['/_up', '/_ready']) expectStatus(await server.get(probe), 200);
    await server.get('/', { headers: { 'X-Couch-Request-ID': 'abcdef0123' } });
    await server.get('/nowhere');
    await eventually(() => server.lines.some((line) => line.includes('/nowhere') && line.includes('404')));
    await eventually(() => server.lines.some((line) => line.includes(' access abcdef0123 ')));
    assert.ok(!server.lines.some((line) => line.includes(' access ') && /_up|_ready/.test(line)));
    await server.stop();
  });

  test('each line is a JSON object when asked for', async (t) => {
    const server = new Server({ args: ['--log-format', 'json'] });
    t.after(() => server.removeFolder());
    // The harness waits for the READY line, which must be found in either format.
    await server.launch();
    t.after(() => server.kill());
    await server.get('/nowhere');
    await eventually(() => server.lines.some((line) => line.includes('/nowhere')));
    for (const line of server.lines) assert.equal(typeof JSON.parse(line), 'object', line);
    await server.stop();
  });

  test('passwords and cookies do not get into the log', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    await server.get('/_all_dbs');
    await server.post('/_session', { name: 'admin', password: 'correct horse' }, { auth: false });
    await server.get('/_session?password=correct+horse', { auth: false, headers: { Cookie: 'AuthSession=topsecretcookie' } });
    await sleep(200);
    await server.stop();
    const log = server.lines.join('\n');
    for (const secret of ['correct horse', 'topsecretcookie', Buffer.from('admin:correct horse').toString('base64')]) {
      assert.ok(!log.includes(secret), secret);
    }
  });
});
