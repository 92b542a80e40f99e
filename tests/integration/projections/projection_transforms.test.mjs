// Rows that a JavaScript function makes: any number of a document.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cosmosClient } from '../cosmos.mjs';
import { expectError, expectStatus, Server } from '../harness.mjs';
import { createProjection, current, documentsOf, erase, save, settled, soon } from './projection_support.mjs';

async function databases(server) {
  return { source: await server.database('q=2'), target: await server.database('partitioned=true&q=2') };
}

const byTag = (target, transform, more = {}) => ({ target: { db: target }, key: '{tag}', id: '{_id}', transform, ...more });
const tags = 'function (doc) { return doc.tags.map(function (tag) { return {tag: tag, title: doc.title}; }); }';

async function statusOf(server, source, name = 'p') {
  return expectStatus(await server.get(`/${source}/_projection/${name}`), 200);
}

describe('rows of a function', () => {
  test('a document gives several, one or none, and they follow it', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    await save(server, source, 'a', { title: 'A', tags: ['x', 'y', 'z'] });
    await save(server, source, 'b', { title: 'B', tags: [] });
    await createProjection(server, source, 'p', byTag(target, tags));
    const status = await current(server, source, 'p');
    assert.equal(status.rows, 3);
    assert.deepEqual([...await documentsOf(server, target)],
      [['x:a', { tag: 'x', title: 'A' }], ['y:a', { tag: 'y', title: 'A' }], ['z:a', { tag: 'z', title: 'A' }]]);
    const { _rev: first } = expectStatus(await server.get(`/${target}/y:a`), 200);

    await save(server, source, 'a', { title: 'A', tags: ['y', 'w'] });
    await save(server, source, 'b', { title: 'B', tags: ['y'] });
    await current(server, source, 'p');
    assert.deepEqual([...(await documentsOf(server, target)).keys()], ['w:a', 'y:a', 'y:b']);
    assert.equal(expectStatus(await server.get(`/${target}/y:a`), 200)._rev, first, 'a row that stays the same keeps its revision');

    await save(server, source, 'b', { title: 'C', tags: ['y'] });
    await erase(server, source, 'a');
    const { rows, candidates } = await current(server, source, 'p');
    assert.deepEqual([...await documentsOf(server, target)], [['y:b', { tag: 'y', title: 'C' }]]);
    assert.deepEqual([rows, candidates], [1, 1]);
    expectError(await server.put(`/${target}/y:b`, {}), 403, 'derived_document');

    expectStatus(await server.delete(`/${source}/_projection/p`), 202);
    await soon(async () => assert.equal((await documentsOf(server, target)).size, 0));
  });

  test('it may return one object, null, nothing, or up to 100 rows', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    const transform = `(doc) => {
      switch (doc.kind) {
        case 'one': return {tag: 'one'};
        case 'null': return null;
        case 'nothing': return;
        case 'many': return Array.from({length: doc.n}, (_, n) => ({tag: 't' + n}));
        case 'list': return [[{tag: 'x'}]];
        case 'text': return 'tag';
        case 'function': return () => ({tag: 'x'});
        case 'hole': return [{tag: 'x'}, null];
        case 'promise': return Promise.resolve({tag: 'x'});
        case 'number': return {tag: 'x', toJSON: () => 7};
      }
    }`;
    await createProjection(server, source, 'p', byTag(target, transform));
    const errorOf = async (fields) => {
      await save(server, source, 'd', fields);
      const { skipped, last_error, candidates } = await current(server, source, 'p');
      assert.deepEqual([skipped.errors, candidates], [1, 0], JSON.stringify(fields));
      assert.equal(last_error.doc, 'd');
      return last_error.error;
    };
    const rowsOf = async (fields) => {
      await save(server, source, 'd', fields);
      const { skipped, rows } = await current(server, source, 'p');
      assert.equal(skipped.errors, 0);
      return rows;
    };
    assert.equal(await rowsOf({ kind: 'one' }), 1);
    assert.equal(await rowsOf({ kind: 'null' }), 0);
    assert.equal(await rowsOf({ kind: 'many', n: 100 }), 100);
    assert.equal(await rowsOf({ kind: 'nothing' }), 0);
    assert.equal(await rowsOf({ kind: 'many', n: 0 }), 0);
    assert.match(await errorOf({ kind: 'many', n: 101 }), /returned 101 rows, and a document has at most 100/);
    assert.match(await errorOf({ kind: 'list' }), /returned an array for a row, which must be an object/);
    assert.match(await errorOf({ kind: 'text' }), /returned string for a row/);
    assert.match(await errorOf({ kind: 'function' }), /returned function for a row/);
    assert.match(await errorOf({ kind: 'hole' }), /returned null for a row/);
    assert.match(await errorOf({ kind: 'promise' }), /returned a promise for a row/);
    assert.match(await errorOf({ kind: 'number' }), /must be a JSON object/);
    assert.equal(await rowsOf({ kind: 'one' }), 1);
  });

  test('key and id are of the row, and `{_id}` is that of the document', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    const transform = '(doc) => doc.lines.map((line, n) => ({...doc, ...line, n}))';
    await createProjection(server, source, 'p', byTag(target, transform, { id: '{_id}/{n}' }));
    await save(server, source, 'o:1', { customer: 'c', lines: [{ tag: 'a:b' }, { tag: 7 }, { untagged: true }] });
    const { skipped, rows } = await current(server, source, 'p');
    assert.deepEqual([rows, skipped.undefined_key, skipped.errors], [2, 1, 0]);
    const found = await documentsOf(server, target);
    assert.deepEqual([...found.keys()], ['!7:o%3A1/!1', 'a%3Ab:o%3A1/!0']);
    // System properties of the document are no fields of a row.
    assert.deepEqual(found.get('!7:o%3A1/!1'), { customer: 'c', lines: [{ tag: 'a:b' }, { tag: 7 }, { untagged: true }], tag: 7, n: 1 });
    await save(server, source, 'o:1', { lines: [{ tag: 'x' }, { tag: 'x', _special: 1 }] });
    const { last_error, ...next } = await current(server, source, 'p');
    assert.match(last_error.error, /cannot have a field named '_special'/);
    assert.deepEqual([next.rows, next.skipped.undefined_key, next.skipped.errors], [0, 0, 1]);
  });

  test('two rows of one document with one id are an error of the document', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    await createProjection(server, source, 'p', byTag(target, tags));
    await save(server, source, 'a', { tags: ['x', 'y', 'x'] });
    await save(server, source, 'b', { tags: ['x'] });
    const { skipped, last_error, rows } = await current(server, source, 'p');
    assert.deepEqual([rows, skipped.errors], [1, 1]);
    assert.equal(last_error.doc, 'a');
    assert.match(last_error.error, /the 1\. and the 3\., have the same id 'x:a'/);
    await save(server, source, 'a', { tags: ['x', 'y'] });
    assert.equal((await current(server, source, 'p')).skipped.errors, 0);
    assert.equal((await documentsOf(server, target)).size, 3);
  });

  test('of rows of several documents with one id, that of the least source id counts', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    const transform = '(doc) => doc.tags.map((tag) => ({tag, from: doc._id}))';
    await createProjection(server, source, 'p', byTag(target, transform, { id: 'first' }));
    await save(server, source, 'b', { tags: ['x', 'y'] });
    await save(server, source, 'a', { tags: ['y', 'z'] });
    assert.equal((await current(server, source, 'p')).skipped.collisions, 1);
    const from = async () => Object.fromEntries([...await documentsOf(server, target)].map(([id, { from: one }]) => [id[0], one]));
    assert.deepEqual(await from(), { x: 'b', y: 'a', z: 'a' });
    await save(server, source, 'a', { tags: ['z'] });
    await current(server, source, 'p');
    assert.deepEqual(await from(), { x: 'b', y: 'b', z: 'a' });
    await save(server, source, 'b', { tags: ['z'] });
    assert.equal((await current(server, source, 'p')).skipped.collisions, 1);
    assert.deepEqual(await from(), { z: 'a' });
  });

  test('with a filter, and the newest of each key', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    const transform = '(doc) => doc.tags.map((tag) => ({tag, date: doc.date}))';
    await createProjection(server, source, 'p',
      byTag(target, transform, { where: "c.type = 'post'", newest: { by: 'date', n: 2 } }));
    const post = (id, date, ...of) => save(server, source, id, { type: 'post', date, tags: of });
    await post('a', 1, 'x', 'y');
    await post('b', 2, 'x');
    await post('c', 3, 'x', 'y');
    await post('d', 4, 'z');
    await save(server, source, 'e', { type: 'draft', date: 9 });  // the function would throw
    const { rows, candidates, skipped } = await current(server, source, 'p');
    assert.deepEqual([rows, candidates, skipped.errors], [5, 6, 0]);
    assert.deepEqual([...(await documentsOf(server, target)).keys()], ['x:b', 'x:c', 'y:a', 'y:c', 'z:d']);
    await erase(server, source, 'c');
    await current(server, source, 'p');
    assert.deepEqual([...(await documentsOf(server, target)).keys()], ['x:a', 'x:b', 'y:a', 'z:d']);
  });

  test('joined values are in the second argument, and their changes make the rows again', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    const users = await server.database();
    const transform = `function (doc, joined) {
      return doc.tags.map(function (tag) {
        return {tag: tag, author: joined.author === undefined ? 'nobody' : joined.author.name, likes: joined.likes, key: joined.author && joined.author._id};
      });
    }`;
    await createProjection(server, source, 'p', byTag(target, transform, {
      where: "c.type = 'post'",
      joins: {
        author: { lookup: { db: users, id: '{user}' } },
        likes: { count: { db: source, where: "c.type = 'like'", by: '{post}', equals: '{_id}' }, when: 'c.liked' } } }));
    await save(server, source, 'p1', { type: 'post', user: 'ann', tags: ['x', 'y'], liked: true });
    await save(server, source, 'p2', { type: 'post', user: 'bob', tags: ['x'] });
    await save(server, source, 'l1', { type: 'like', post: 'p1' });
    await settled(server, source, 'p');
    assert.deepEqual([...await documentsOf(server, target)], [
      ['x:p1', { tag: 'x', author: 'nobody', likes: 1 }], ['x:p2', { tag: 'x', author: 'nobody' }], ['y:p1', { tag: 'y', author: 'nobody', likes: 1 }]]);
    await save(server, users, 'ann', { name: 'Ann' });
    await save(server, source, 'l2', { type: 'like', post: 'p1' });
    await settled(server, source, 'p');
    assert.deepEqual([...await documentsOf(server, target)], [
      ['x:p1', { tag: 'x', author: 'Ann', likes: 2, key: 'ann' }], ['x:p2', { tag: 'x', author: 'nobody' }],
      ['y:p1', { tag: 'y', author: 'Ann', likes: 2, key: 'ann' }]]);
  });

  test('containers: rows have their key and id, of items or documents', async (t) => {
    const server = await Server.startFor(t);
    const { database } = await cosmosClient(server).databases.create({ id: 'shop' });
    const { container: orders } = await database.containers.create({ id: 'orders', partitionKey: '/customer' });
    const transform = '(doc) => doc.lines.map((line, n) => ({...doc, ...line, id: doc.id + "-" + n, lines: undefined}))';
    expectStatus(await server.put('/shop%2Forders/_projection/p', {
      target: { db: 'shop/lines', create: { partitionKey: { paths: ['/product'] } } }, transform }), 201);
    await orders.items.create({ id: 'o1', customer: 'ann', lines: [{ product: 'tea', n: 2 }, { product: 'cup', n: 1 }] });
    await current(server, 'shop/orders', 'p');
    const { resource } = await database.container('lines').item('o1-1', 'cup').read();
    assert.deepEqual([resource.customer, resource.n, resource.lines], ['ann', 1, undefined]);
    await orders.items.create({ id: 'o2', customer: 'bob', lines: [{ product: 'tea', id: 7 }] });
    const source = await server.database();
    expectStatus(await server.put(`/${source}/_projection/q`, { target: { db: 'shop/lines' }, transform: '(doc) => ({id: doc.number, ...doc})' }), 201);
    await save(server, source, 'd1', { number: 5, product: 'pot' });
    await save(server, source, 'd2', { number: 'five', product: 'pot' });
    const { skipped, last_error, rows } = await current(server, source, 'q');
    assert.deepEqual([rows, skipped.errors, last_error.doc], [1, 1, 'd1']);
    assert.equal((await database.container('lines').item('five', 'pot').read()).resource._id, undefined);
  });
});

describe('what a function may do', () => {
  test('clocks and random numbers throw: rows are made again', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    const transform = `(doc) => {
      const uses = {
        now: () => Date.now(), date: () => new Date(), text: () => Date(), random: () => Math.random(),
        other: () => new (new Date(0).constructor)(), derived: () => new (class extends Date {})(),
        reflected: () => Reflect.construct(Date, []), formatted: () => new Intl.DateTimeFormat().format(),
        kept: () => { seen = doc._id; return seen; },
      };
      return {tag: uses[doc.use] ? String(uses[doc.use]()) : new Date(doc.at).toISOString() + Date.UTC(2020, 0) + Date.parse('2020-01-01')};
    }`;
    await createProjection(server, source, 'p', byTag(target, transform));
    const uses = { now: /Date\.now\(\) cannot be used/, date: /new Date\(\) without arguments/, text: /Date\(\)/, random: /Math\.random\(\)/,
      other: /new Date\(\)/, derived: /new Date\(\)/, reflected: /new Date\(\)/, formatted: /TypeError/, kept: /seen is not defined/ };
    for (const [use, expected] of Object.entries(uses)) {
      await save(server, source, 'd', { use });
      const { skipped, last_error } = await current(server, source, 'p');
      assert.equal(skipped.errors, 1, use);
      assert.match(last_error.error, expected, use);
    }
    await save(server, source, 'd', { at: 86_400_000 });
    assert.equal((await current(server, source, 'p')).skipped.errors, 0);
    assert.equal([...(await documentsOf(server, target)).values()][0].tag, '1970-01-02T00:00:00.000Z15778368000001577836800000');
  });

  test('an exception leaves the document out, with its text, or stops the projection', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    await createProjection(server, source, 'skips', byTag(target, tags));
    await save(server, source, 'bad', { title: 'x' });
    await save(server, source, 'good', { tags: ['x'] });
    const { skipped, last_error, rows } = await current(server, source, 'skips');
    assert.deepEqual([skipped.errors, rows, last_error.doc], [1, 1, 'bad']);
    assert.match(last_error.error, /projection skips transform: TypeError: doc\.tags is undefined \(line 1\)/);

    await createProjection(server, source, 'stops', byTag(target, tags, { key: 's{tag}', on_error: 'stop' }));
    await soon(async () => {
      const { state, reason, last_error: last } = await statusOf(server, source, 'stops');
      assert.equal(state, 'failed');
      assert.match(reason, /doc\.tags is undefined/);
      assert.equal(last.doc, 'bad');
    });
    await save(server, source, 'bad', { tags: [] });
    await soon(async () => assert.equal((await statusOf(server, source, 'stops')).state, 'active'), 10_000);
    assert.deepEqual([...(await documentsOf(server, target)).keys()], ['sx:good', 'x:good']);
  });

  test('limits always stop the projection, and other ones go on', async (t) => {
    const server = await Server.startFor(t, { args: ['--javascript-call-time', '1s', '--javascript-output-bytes-max', '64KiB', '--javascript-heap-bytes-max', '16MiB'] });
    const { source, target } = await databases(server);
    await createProjection(server, source, 'plain', byTag(target, undefined, { fields: ['tag'] }));
    const limits = {
      loop: 'while (true);', memory: 'const all = []; for (;;) all.push(new Array(100000).fill(doc.tag));',
      deep: 'return (function f() { return f() + 1; })();', large: "return {tag: 'x', text: 'x'.repeat(1 << 17)};",
    };
    const reasons = { loop: /took too long/, memory: /too much memory/, deep: /too much recursion/, large: /output is too large/ };
    for (const [name, body] of Object.entries(limits)) {
      await createProjection(server, source, name, byTag(target, `function (doc) { ${body} }`, { key: name }));
    }
    await save(server, source, 'd', { tag: 'x' });
    for (const name of Object.keys(limits)) {
      await soon(async () => {
        const { state, reason, skipped } = await statusOf(server, source, name);
        assert.equal(state, 'failed');
        assert.match(reason, reasons[name]);
        assert.equal(skipped.errors, 0);
      }, 30_000);
    }
    await current(server, source, 'plain');
    assert.deepEqual([...(await documentsOf(server, target)).keys()], ['x:d']);
    // Another function, first one that fails as well.
    const change = async (body) => {
      const { rev, next } = await statusOf(server, source, 'large');
      const definition = byTag(target, `function (doc) { ${body} }`, { key: 'large' });
      return expectStatus(await server.put(`/${source}/_projection/large?rev=${next?.rev ?? rev}`, definition), 200).rev;
    };
    await change(limits.deep);
    await soon(async () => assert.match((await statusOf(server, source, 'large')).next.reason, /too much recursion/), 30_000);
    const rev = await change('return {tag: doc.tag};');
    await soon(async () => {
      const { state, rev: now } = await statusOf(server, source, 'large');
      assert.deepEqual([state, now], ['active', rev]);
    }, 30_000);
    assert.deepEqual([...(await documentsOf(server, target)).keys()], ['large:d', 'x:d']);

    expectStatus(await server.post(`/${source}/_projection/loop/_pause`, {}), 200);
    expectStatus(await server.delete(`/${source}/_projection/loop?rows=keep`), 200);
  });
});

describe('definitions', () => {
  test('a text that is no function is refused with what is wrong', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    const refused = async (more, error, reason) =>
      expectError(await server.put(`/${source}/_projection/p`, byTag(target, tags, more)), 400, error, reason);
    await refused({ transform: 'function (doc) { return 1 + ; }' }, 'projection_syntax', /`transform` is not valid: SyntaxError: .* \(line 1\)/);
    await refused({ transform: '{"a": 1}' }, 'projection_syntax', /does not eval to a function/);
    await refused({ transform: 'function (doc) {}\nfunction' }, 'projection_syntax', /SyntaxError/);
    await refused({ transform: '(() => { throw new Error("no") })()' }, 'projection_syntax', /Error: no/);
    await refused({ transform: '((n) => (doc) => ({n}))(Date.now())' }, 'projection_syntax', /Date\.now\(\) cannot be used/);
    await refused({ transform: 7 }, 'projection_syntax', /`transform` must be a string/);
    await refused({ transform: '' }, 'projection_syntax', /`transform` must be a string/);
    await refused({ transform: `function (doc) { ${'//'.repeat(40_000)}\n}` }, 'limit', /65536 bytes/);
    await refused({ fields: ['tag'] }, 'projection_syntax', /absent if there are `fields`/);
    await refused({ transform: undefined }, 'projection_syntax', /`fields` is missing.*`transform`/);
    await refused({ key: undefined }, 'key_template', /`key` is missing/);
    assert.deepEqual((await server.get(`/${source}/_projection`)).body.projections, []);
    // Helpers beside the function are possible.
    await createProjection(server, source, 'p', byTag(target, 'const row = (tag) => ({tag});\n(doc) => doc.tags.map(row)'));
    await save(server, source, 'a', { tags: ['x'] });
    assert.equal((await current(server, source, 'p')).rows, 1);
  });

  test('another function takes the place of fields, and fields of a function', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    const docs = Array.from({ length: 700 }, (_, n) => ({ _id: `d${n}`, tag: `t${n % 5}`, tags: [`t${n % 5}`, `u${n % 3}`, `v${n % 2}`] }));
    await server.fill(source, docs);
    const plain = byTag(target, undefined, { fields: ['tag'] });
    const change = async (definition) => {
      const { rev } = await statusOf(server, source);
      const { rev: next } = expectStatus(await server.put(`/${source}/_projection/p?rev=${rev}`, definition), 200);
      await soon(async () => {
        const status = await statusOf(server, source);
        assert.deepEqual([status.rev, status.state], [next, 'active']);
      }, 20_000);
      return current(server, source, 'p');
    };
    const several = docs.flatMap(({ _id, tags: all }) => all.map((tag) => `${tag}:${_id}`)).sort();
    const single = docs.map(({ _id, tag }) => `${tag}:${_id}`).sort();
    await createProjection(server, source, 'p', plain);
    await current(server, source, 'p');
    const { _rev } = expectStatus(await server.get(`/${target}/t0:d0`), 200);
    const same = '(doc) => doc.tags.map((tag) => ({tag}))';
    assert.equal((await change(byTag(target, same))).rows, several.length);
    assert.deepEqual([...(await documentsOf(server, target)).keys()], several);
    assert.equal(expectStatus(await server.get(`/${target}/t0:d0`), 200)._rev, _rev);
    await change(byTag(target, '(doc) => doc.tags.map((tag, n) => ({tag, n}))'));
    assert.deepEqual((await documentsOf(server, target)).get('u1:d1'), { tag: 'u1', n: 1 });
    assert.equal((await change(plain)).rows, single.length);
    assert.deepEqual([...(await documentsOf(server, target)).keys()], single);
  });

  test('rows are known after a restart and a rebuild, and nothing is written again', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await databases(server);
    await createProjection(server, source, 'p', byTag(target, tags));
    await server.fill(source, Array.from({ length: 300 }, (_, n) => ({ _id: `d${n}`, tags: ['x', 'y', `z${n}`] })));
    await current(server, source, 'p');
    const { update_seq: before } = expectStatus(await server.get(`/${target}`), 200);
    await server.kill();
    await server.relaunch();
    expectStatus(await server.post(`/${source}/_projection/p/_rebuild`, {}), 200);
    assert.equal((await current(server, source, 'p')).rows, 900);
    assert.equal(expectStatus(await server.get(`/${target}`), 200).update_seq, before);
    await save(server, source, 'd7', { tags: ['x'] });
    assert.equal((await current(server, source, 'p')).rows, 898);
    expectStatus(await server.post(`/${source}/_purge`, { d8: [(await server.get(`/${source}/d8`)).body._rev] }), 201);
    await soon(async () => assert.equal((await current(server, source, 'p')).rows, 895));
  });
});
