// `swap` "database": the rows of a changed definition are made in a database of its own, which takes the place of the target.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { cosmosClient } from '../cosmos.mjs';
import { namesBelow } from '../folders.mjs';
import { expectError, expectStatus, Server, sleep } from '../harness.mjs';
import { assertSameRows, createProjection, current, documentsOf, pathOf, projected, save, soon } from './projection_support.mjs';

const count = 3000;
const posts = Array.from({ length: count }, (_, n) => ({ _id: `p${n}`, type: 'post', user: `u${n % 7}`, title: `t${n % 50}`, date: n % 101 }));

let number = 0;
const named = () => `feed-${++number}`;
const first = (target, more = {}) => ({
  target: { db: target, exclusive: true, create: { partitioned: true, q: 2 } },
  key: '{user}', id: '{_id}', fields: { '*': true }, swap: 'database', ...more,
});
const byUser = { key: ({ user }) => user };

async function filled(server, docs = posts) {
  const source = await server.database('q=2');
  await server.fill(source, docs);
  return { source, target: named() };
}
const statusOf = async (server, source) => expectStatus(await server.get(`${pathOf(source)}/_projection/p`), 200);
async function change(server, source, definition) {
  const { rev, next } = await statusOf(server, source);
  return expectStatus(await server.put(`${pathOf(source)}/_projection/p?rev=${next?.rev ?? rev}`, definition), 200);
}
async function changed(server, source, rev) {
  await soon(async () => {
    const status = await statusOf(server, source);
    assert.equal(status.rev, rev, JSON.stringify(status));
    assert.equal(status.state, 'active');
    assert.equal(status.next, null);
  }, 20_000);
  return current(server, source, 'p');
}
const databasesOf = async (server, prefix) =>
  expectStatus(await server.get('/_all_dbs'), 200).filter((name) => name.startsWith(prefix) && /^-|^$/.test(name.slice(prefix.length)));
/// The database of before is deleted in the background.
const isAlone = (server, target) => soon(async () => assert.deepEqual(await databasesOf(server, target), [target]), 20_000);

describe('a changed definition in a database of its own', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const begun = async (more, docs) => {
    const { source, target } = await filled(server, docs);
    await createProjection(server, source, 'p', first(target, more));
    await current(server, source, 'p');
    return { source, target };
  };

  test('takes the place of the target, with another partition key, and nothing is left of the former one', async () => {
    const { source, target } = await begun();
    const { rev } = await change(server, source, first(target, { key: 't{title}', where: 'c.date < 50' }));
    const status = await changed(server, source, rev);
    const rows = { key: ({ title }) => `t${title}`, select: ({ date }) => date < 50 };
    assertSameRows(await documentsOf(server, target), projected(await documentsOf(server, source), rows));
    assert.equal(status.rows, posts.filter(({ date }) => date < 50).length);
    await isAlone(server, target);
    // The one that was built is known by its name no more.
    await save(server, source, 'p1', { type: 'post', user: 'new', title: 'new', date: 1 });
    await current(server, source, 'p');
    assert.deepEqual((await documentsOf(server, target)).get('tnew:p1'), { type: 'post', user: 'new', title: 'new', date: 1 });
  });

  test('what is created may differ: a database that is not partitioned takes the place of a partitioned one', async () => {
    const { source, target } = await begun();
    const plain = { target: { db: target, exclusive: true, create: { partitioned: false } }, id: '{_id}', fields: ['user'], swap: 'database' };
    const { rev } = await change(server, source, plain);
    await changed(server, source, rev);
    assert.equal(expectStatus(await server.get(`/${target}`), 200).props.partitioned, undefined);
    assert.equal((await documentsOf(server, target)).size, count);
    assert.deepEqual((await documentsOf(server, target)).get('p1'), { user: 'u1' });
  });

  test('readers see all rows of the old definition, or all of the new one, and no row becomes older', async () => {
    const { source, target } = await begun({ fields: { user: true, version: '"old"', n: 'c.n' } }, [{ _id: 'z', user: 'u', n: 0 }, ...posts]);
    let stopping = false;
    let written = 0;
    const write = async () => {
      while (!stopping) await save(server, source, 'z', { user: 'u', n: ++written });
    };
    const versions = [];
    const read = async () => {
      let newest = 0;
      while (!stopping) {
        const { rows } = expectStatus(await server.get(`/${target}/_all_docs?include_docs=true`), 200);
        const docs = rows.map(({ doc }) => doc);
        assert.equal(docs.length, count + 1);
        const seen = new Set(docs.map(({ version }) => version));
        assert.equal(seen.size, 1, 'rows of both definitions in one reply');
        const { n } = docs.find(({ _id }) => _id === 'u:z');
        assert.ok(n >= newest, `${n} after ${newest}`);
        newest = n;
        versions.push(...seen);
      }
    };
    const work = [write(), read()];
    const { rev } = await change(server, source, first(target, { fields: { user: true, version: '"new"', n: 'c.n' } }));
    await changed(server, source, rev);
    await sleep(200);
    stopping = true;
    await Promise.all(work);
    assert.deepEqual([...new Set(versions)], ['old', 'new']);
  });

  test('security, design documents and aliases of the target stay', async () => {
    const { source, target } = await begun();
    const design = { options: { partitioned: false }, views: { all: { map: 'function (doc) { emit(doc.user, 1); }', reduce: '_count' } } };
    expectStatus(await server.put(`/${target}/_design/d`, design), 201);
    const before = expectStatus(await server.get(`/${target}/_design/d`), 200);
    expectStatus(await server.put(`/${target}/_security`, { members: { names: ['ann'], roles: [] } }), 200);
    expectStatus(await server.put(`/${target}/_aliases/${target}-read`, {}), 201);
    const { rev } = await change(server, source, first(target, { where: 'c.date < 50' }));
    await changed(server, source, rev);
    assert.deepEqual(expectStatus(await server.get(`/${target}/_design/d`), 200), before);
    const view = expectStatus(await server.get(`/${target}/_design/d/_view/all`), 200);
    assert.equal(view.rows[0].value, posts.filter(({ date }) => date < 50).length);
    assert.deepEqual(expectStatus(await server.get(`/${target}/_security`), 200).members.names, ['ann']);
    assert.equal(expectStatus(await server.get(`/${target}-read`), 200).db_name, target);
    assert.deepEqual(expectStatus(await server.get(`/${target}/_aliases`), 200).aliases, [`${target}-read`]);
  });

  test('a projection that reads the target continues with the new one', async () => {
    const { source, target } = await begun();
    const last = await server.database('partitioned=true');
    await createProjection(server, target, 'chained', {
      include_derived: true, target: { db: last }, key: '{title}', id: '{_id}', fields: { '*': true },
    });
    const { rev } = await change(server, source, first(target, { where: 'c.date < 50' }));
    await changed(server, source, rev);
    const expected = posts.filter(({ date }) => date < 50).length;
    await soon(async () => assert.equal((await documentsOf(server, last)).size, expected), 20_000);
    await save(server, source, 'late', { type: 'post', user: 'u', title: 't', date: 1 });
    await soon(async () => assert.equal((await documentsOf(server, last)).size, expected + 1), 20_000);
  });

  test('another change meanwhile takes its place, and a removal leaves no database that was being built', async () => {
    const { source, target } = await begun();
    expectStatus(await server.post(`/${source}/_projection/p/_pause`, {}), 200);
    await change(server, source, first(target, { key: 'a{user}' }));
    const { next } = await statusOf(server, source);
    assert.deepEqual((await databasesOf(server, target)).sort(), [target, next.target].sort());
    // Clients write there as little as in the target.
    expectError(await server.put(`/${next.target}/a:b`, {}), 403, 'derived_document');
    await change(server, source, first(target, { key: 'b{user}' }));
    const second = (await statusOf(server, source)).next.target;
    assert.notEqual(second, next.target);
    assert.deepEqual((await databasesOf(server, target)).sort(), [target, second].sort());
    expectStatus(await server.post(`/${source}/_projection/p/_resume`, {}), 200);
    await soon(async () => assert.equal((await statusOf(server, source)).next, null), 20_000);
    assert.ok([...(await documentsOf(server, target)).keys()].every((id) => id.startsWith('bu')));
    await isAlone(server, target);

    expectStatus(await server.post(`/${source}/_projection/p/_pause`, {}), 200);
    await change(server, source, first(target, { key: 'c{user}' }));
    expectStatus(await server.delete(`/${source}/_projection/p?rows=keep`), 200);
    assert.deepEqual(await databasesOf(server, target), [target]);
    assert.equal((await documentsOf(server, target)).size, count);
  });

  test('when the source is deleted, what was being built is, too', async () => {
    const { source, target } = await begun();
    expectStatus(await server.post(`/${source}/_projection/p/_pause`, {}), 200);
    await change(server, source, first(target, { key: 'a{user}' }));
    expectStatus(await server.delete(`/${source}`), 200);
    await isAlone(server, target);
    assert.equal((await documentsOf(server, target)).size, count);
  });

  test('is refused without `exclusive` and `create`, with a join of the target, and with another target', async () => {
    const { source, target } = await begun();
    const put = async (definition) => server.put(`/${source}/_projection/p?rev=${(await statusOf(server, source)).rev}`, definition);
    const definition = first(target, { key: 'x{user}' });
    expectError(await put({ ...definition, swap: 'both' }), 400, 'projection_syntax');
    expectError(await put({ ...definition, target: { db: target, exclusive: true } }), 400, 'projection_syntax');
    expectError(await put({ ...definition, target: { ...definition.target, exclusive: false } }), 400, 'projection_syntax');
    const joins = { other: { count: { db: target, by: '{user}', equals: '{user}' } } };
    expectError(await put({ ...definition, joins }), 400, 'projection_syntax');
    const other = await server.database('partitioned=true');
    expectError(await put({ ...definition, target: { ...definition.target, db: other } }), 400, 'target_differs');
    assert.equal((await statusOf(server, source)).next, null);
    assert.deepEqual(await databasesOf(server, target), [target]);
  });

  test('a container gets another partition key, and @azure/cosmos goes on', async () => {
    const client = cosmosClient(server);
    const id = `shop${++number}`;
    const { database } = await client.databases.create({ id });
    const { container } = await database.containers.create({ id: 'orders', partitionKey: '/id' });
    for (let n = 0; n < 30; ++n) await container.items.create({ id: `o${n}`, city: `c${n % 3}`, user: `u${n % 5}` });
    const under = (path) => ({
      target: { db: `${id}/by`, exclusive: true, create: { partitionKey: { paths: [path], kind: 'Hash' } } },
      fields: { '*': true }, swap: 'database',
    });
    const source = `${id}/orders`;
    await createProjection(server, source, 'p', under('/city'));
    await current(server, source, 'p');
    const by = database.container('by');
    const keyed = async (key) => (await by.items.query('SELECT * FROM c', { partitionKey: key }).fetchAll()).resources.length;
    assert.equal(await keyed('c1'), 10);
    const { rev } = await change(server, source, under('/user'));
    await changed(server, source, rev);
    const { resource } = await by.read();
    assert.deepEqual(resource.partitionKey.paths, ['/user']);
    assert.equal(await keyed('u1'), 6);
    assert.equal((await by.item('o1', 'u1').read()).resource.city, 'c1');
    await soon(async () => {
      const { resources } = await database.containers.readAll().fetchAll();
      assert.deepEqual(resources.map((one) => one.id).sort(), ['by', 'orders']);
    }, 20_000);
  });
});

describe('a changed definition in a database of its own, and crashes', () => {
  test('kill -9 at any time: it takes the place of the target once, and nothing else stays', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await filled(server);
    await createProjection(server, source, 'p', first(target));
    await current(server, source, 'p');
    let key = 'u';
    for (const pause of [0, 5, 20, 60, 100, 140, 180, 220, 300]) {
      key += 'x';
      const { rev } = await change(server, source, first(target, { key: `${key}{user}` }));
      await sleep(pause);
      await server.kill();
      await server.relaunch();
      await changed(server, source, rev);
      assertSameRows(await documentsOf(server, target), projected(await documentsOf(server, source), { key: ({ user }) => `${key}${user}` }));
      await isAlone(server, target);
    }
    // Before the change is answered: it is in effect, or forgotten.
    for (let pause = 0; pause < 24; pause += 2) {
      key += 'y';
      const { rev } = await statusOf(server, source);
      const put = server.put(`/${source}/_projection/p?rev=${rev}`, first(target, { key: `${key}{user}` })).catch(() => undefined);
      await sleep(pause);
      await server.kill();
      await put;
      await server.relaunch();
      await soon(async () => {
        const { state, next } = await statusOf(server, source);
        assert.deepEqual({ state, next }, { state: 'active', next: null });
      }, 20_000);
      const { definition } = await current(server, source, 'p');
      const prefix = definition.key.replace('{user}', '');
      assertSameRows(await documentsOf(server, target), projected(await documentsOf(server, source), { key: ({ user }) => `${prefix}${user}` }));
      await isAlone(server, target);
    }
    await soon(() => {
      const folders = namesBelow(server.dataDir).filter((name) => /projection-[0-9a-f]{32}$/.test(name));
      assert.equal(folders.length, 1);
      assert.ok(existsSync(server.dataDir));
    }, 20_000);
  });
});
