// Databases and containers get other names while clients use them, and aliases lead to them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, errorOf, newContainer } from '../cosmos.mjs';
import { pathOf, save } from '../edits.mjs';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';

let names = 0;
const freshName = () => `renamed${++names}`;
const rename = async (server, db, name, more = {}) =>
  expectStatus(await server.post(`${pathOf(db)}/_rename`, { name, ...more }), 200);
const aliasesOf = async (server, db) => expectStatus(await server.get(`${pathOf(db)}/_aliases`), 200).aliases;
const allDatabases = async (server) => expectStatus(await server.get('/_all_dbs'), 200);

describe('a database that gets another name', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  test('keeps its documents, indexes, security and sequences', async () => {
    const db = await server.database('q=2');
    await save(server, db, 'a', { city: 'Rome' });
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['city'] }, name: 'by-city' }), 200);
    const security = { admins: { names: ['ann'], roles: [] }, members: { names: ['bob'], roles: [] } };
    expectStatus(await server.put(`/${db}/_security`, security), 200);
    const before = expectStatus(await server.get(`/${db}`), 200);
    const name = freshName();
    assert.deepEqual(await rename(server, db, name), { ok: true, name });
    const info = expectStatus(await server.get(`/${name}`), 200);
    assert.equal(info.db_name, name);
    assert.equal(info.update_seq, before.update_seq);
    assert.deepEqual(expectStatus(await server.get(`/${name}/_security`), 200), security);
    const found = expectStatus(await server.post(`/${name}/_find`, { selector: { city: 'Rome' }, use_index: 'by-city' }), 200);
    assert.deepEqual(found.docs.map(({ _id }) => _id), ['a']);
    const changes = expectStatus(await server.get(`/${name}/_changes?since=${encodeURIComponent(before.update_seq)}`), 200);
    assert.deepEqual(changes.results, []);
    const listed = await allDatabases(server);
    assert.ok(listed.includes(name) && !listed.includes(db), String(listed));
  });

  test('is found under its former name, too, also after a restart', async (t) => {
    const own = await Server.startFor(t);
    const db = await own.database();
    await save(own, db, 'a', {});
    expectStatus(await own.put(`/${db}/_security`, { members: { names: [], roles: ['r'] } }), 200);
    await rename(own, db, 'later');
    const saved = await save(own, db, 'b', {});
    assert.equal(expectStatus(await own.get(`/later/b`), 200)._rev, saved.rev);
    assert.deepEqual(await aliasesOf(own, 'later'), [db]);
    assert.equal(expectStatus(await own.get(`/${db}`), 200).db_name, 'later');
    await own.kill();
    await own.launch();
    assert.equal(expectStatus(await own.get(`/${db}`), 200).doc_count, 2);
    assert.deepEqual((await allDatabases(own)).filter((name) => !name.startsWith('_')), ['later']);
    assert.deepEqual(await aliasesOf(own, db), [db]);
    assert.deepEqual(expectStatus(await own.get(`/later/_security`), 200).members, { names: [], roles: ['r'] });
  });

  test('without an alias its former name is free', async () => {
    const db = await server.database();
    await save(server, db, 'a', {});
    const name = freshName();
    await rename(server, db, name, { alias: false });
    expectError(await server.get(`/${db}`), 404, 'not_found');
    expectStatus(await server.put(`/${db}`), 201);
    assert.equal(expectStatus(await server.get(`/${db}`), 200).doc_count, 0);
    assert.equal(expectStatus(await server.get(`/${name}`), 200).doc_count, 1);
    expectStatus(await server.delete(`/${db}`), 200);
    assert.equal(expectStatus(await server.get(`/${name}`), 200).doc_count, 1);
  });

  test('gets its former name back, and may be renamed again and again', async () => {
    const db = await server.database();
    const [one, two] = [freshName(), freshName()];
    await rename(server, db, one);
    await rename(server, one, two);
    assert.deepEqual(await aliasesOf(server, two), [db, one].sort());
    assert.equal(expectStatus(await server.get(`/${db}`), 200).db_name, two);
    await rename(server, two, db);
    assert.deepEqual(await aliasesOf(server, db), [one, two].sort());
    await rename(server, db, db);  // nothing to do
    assert.equal(expectStatus(await server.get(`/${one}`), 200).db_name, db);
  });

  test('writers notice nothing', async () => {
    const db = await server.database('q=2');
    const order = [db, freshName(), freshName(), freshName()];
    let stopped = false;
    let written = 0;
    const write = async (writer) => {
      for (let i = 0; !stopped || i < 5; ++i) {
        await save(server, db, `w${writer}-${i}`, { writer, i });
        ++written;
      }
    };
    const writers = [0, 1, 2, 3].map(write);
    for (let i = 0; i < 40; ++i) await rename(server, order[i % 4], order[(i + 1) % 4]);
    stopped = true;
    await Promise.all(writers);
    assert.equal(expectStatus(await server.get(`/${order[0]}`), 200).doc_count, written);
  });

  test('a feed that waits continues, and _db_updates names both', async () => {
    const db = await server.database();
    const { last_seq: since } = expectStatus(await server.get('/_db_updates?since=now'), 200);
    const waiting = server.get(`/${db}/_changes?feed=longpoll&since=now&timeout=20000`);
    const name = freshName();
    await rename(server, db, name);
    await save(server, name, 'a', {});
    assert.deepEqual(expectStatus(await waiting, 200).results.map(({ id }) => id), ['a']);
    const { results } = expectStatus(await server.get(`/_db_updates?since=${encodeURIComponent(since)}`), 200);
    const events = results.filter(({ db_name }) => [db, name].includes(db_name)).map(({ db_name, type }) => [db_name, type]);
    assert.deepEqual(events, [[db, 'deleted'], [name, 'updated']]);
  });

  test('a split that runs meanwhile ends under the new name', async () => {
    const db = await server.database('q=1');
    await server.fill(db, Array.from({ length: 3000 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(500) })));
    const [{ id }] = expectStatus(await server.post('/_reshard/jobs', { type: 'split', db }), 201);
    const name = freshName();
    await rename(server, db, name);
    await eventually(async () => {
      const job = expectStatus(await server.get(`/_reshard/jobs/${id}`), 200);
      assert.notEqual(job.job_state, 'failed', JSON.stringify(job));
      return job.job_state === 'completed';
    });
    assert.equal(expectStatus(await server.get(`/${name}`), 200).doc_count, 3000);
  });

  test('projections and copies follow the databases that they know', async () => {
    const [source, target, joined, copyTarget] = [await server.database(), await server.database(), await server.database(), await server.database()];
    await save(server, joined, 'u1', { name: 'ann' });
    await save(server, source, 'p1', { user: 'u1' });
    const definition = {
      target: { db: target }, id: '{_id}', fields: { by: 'author.name' },
      joins: { author: { lookup: { db: joined, id: '{user}' } } },
    };
    expectStatus(await server.put(`/${source}/_projection/p`, definition), 201);
    const { id: copy } = expectStatus(await server.post(`/${source}/_copy`, { target: copyTarget }), 202);
    const renamed = [freshName(), freshName(), freshName(), freshName()];
    await rename(server, source, renamed[0], { alias: false });
    await rename(server, target, renamed[1], { alias: false });
    await rename(server, joined, renamed[2], { alias: false });
    await rename(server, copyTarget, renamed[3], { alias: false });
    // The former names now are those of other databases, which must stay as they are.
    for (const name of [source, target, joined, copyTarget]) expectStatus(await server.put(`/${name}`), 201);
    const arrive = async (by) => eventually(async () => {
      const rows = expectStatus(await server.get(`/${renamed[1]}/_all_docs?include_docs=true`), 200).rows;
      const copies = expectStatus(await server.get(`/${renamed[3]}`), 200).doc_count;
      return rows.length === by.length && rows.every(({ doc }, i) => doc.by === by[i]) && copies === by.length;
    });
    await save(server, renamed[0], 'p2', { user: 'u1' });
    await arrive(['ann', 'ann']);
    await save(server, renamed[2], 'u1', { name: 'ann b.' });
    await arrive(['ann b.', 'ann b.']);
    await server.kill();
    await server.launch();
    // No request names the source: it is opened because of its projections.
    await save(server, renamed[2], 'u1', { name: 'ann c.' });
    await arrive(['ann c.', 'ann c.']);
    for (const name of [source, target, joined, copyTarget]) {
      assert.equal(expectStatus(await server.get(`/${name}`), 200).doc_count, 0);
    }
    expectStatus(await server.delete(`/${renamed[0]}/_copy/${copy}`), 200);
    expectError(await server.get(`/${renamed[3]}`), 404, 'not_found');
    expectStatus(await server.get(`/${copyTarget}`), 200);
  });

  test('aliases are added and removed', async () => {
    const db = await server.database();
    expectStatus(await server.put(`/${db}/_aliases/short`), 201);
    expectStatus(await server.put(`/${db}/_aliases/short`), 201);  // again
    await save(server, 'short', 'a', {});
    assert.deepEqual(await aliasesOf(server, db), ['short']);
    expectStatus(await server.delete(`/${db}/_aliases/short`), 200);
    expectError(await server.get('/short'), 404, 'not_found');
    expectError(await server.delete(`/${db}/_aliases/short`), 404, 'not_found');
    expectStatus(await server.get(`/${db}/a`), 200);
  });

  test('an alias is no database: it is neither created nor deleted', async () => {
    const db = await server.database();
    const other = await server.database();
    const name = freshName();
    await rename(server, db, name);
    expectError(await server.put(`/${db}`), 412, 'file_exists');
    const refused = await server.delete(`/${db}`);
    expectError(refused, 400, 'is_alias');
    assert.match(refused.body.reason, new RegExp(`${db} is an alias of ${name}`));
    expectError(await server.post(`/${other}/_rename`, { name: db }), 412, 'file_exists');
    expectError(await server.put(`/${other}/_aliases/${db}`), 412, 'file_exists');
    // Its aliases go with a database.
    expectStatus(await server.delete(`/${name}`), 200);
    expectError(await server.get(`/${db}`), 404, 'not_found');
    expectStatus(await server.put(`/${db}`), 201);
  });

  test('what is no name, or is taken, is refused', async () => {
    const db = await server.database();
    const other = await server.database();
    const post = (body) => server.post(`/${db}/_rename`, body);
    expectError(await post({ name: other }), 412, 'file_exists');
    expectError(await post({ name: 'Upper' }), 400, 'illegal_database_name');
    expectError(await post({ name: 'x'.repeat(300) }), 400, 'database_name_too_long');
    expectError(await post({ name: '_users' }), 400, 'illegal_database_name');
    expectError(await post({ name: '../x' }), 400, 'illegal_database_name');
    for (const body of [{}, { name: '' }, { name: 7 }, { name: 'x', alias: 'yes' }, { name: 'x', more: 1 }]) {
      expectError(await post(body), 400, 'bad_request');
    }
    expectError(await server.put(`/${db}/_aliases/${other}`), 412, 'file_exists');
    expectError(await server.put(`/${db}/_aliases/Upper`), 400, 'illegal_database_name');
    expectError(await server.post('/missing/_rename', { name: 'x' }), 404, 'not_found');
    expectStatus(await server.get(`/${db}`), 200);
  });
});

describe('a container that gets another name', () => {
  let server;
  let client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  test('is used by clients under both names', async () => {
    const container = await newContainer(client);
    const database = container.database;
    await container.items.create({ id: 'a', pk: 'p' });
    const { resource: before } = await container.read();
    await rename(server, `${database.id}/items`, `${database.id}/Orders 2026`);
    const renamed = database.container('Orders 2026');
    const { resource } = await renamed.read();
    assert.equal(resource.id, 'Orders 2026');
    assert.equal(resource._rid, before._rid);
    await renamed.items.create({ id: 'b', pk: 'p' });
    await container.items.create({ id: 'c', pk: 'q' });
    const { resources } = await container.items.query('SELECT VALUE c.id FROM c ORDER BY c.id').fetchAll();
    assert.deepEqual(resources, ['a', 'b', 'c']);
    const { resources: listed } = await database.containers.readAll().fetchAll();
    assert.deepEqual(listed.map(({ id }) => id), ['Orders 2026']);
    assert.equal((await errorOf(database.containers.create({ id: 'items', partitionKey: { paths: ['/pk'] } }))).code, 409);
    assert.equal((await errorOf(container.delete())).code, 400);
    // A replacement names the container as it is called now.
    await renamed.replace({ ...resource, defaultTtl: 100 });
    assert.equal((await renamed.read()).resource.defaultTtl, 100);
    await renamed.delete();
    assert.equal((await errorOf(container.read())).code, 404);
  });

  test('a query continues under the other name', async () => {
    const container = await newContainer(client);
    for (let n = 0; n < 30; ++n) await container.items.create({ id: `i${n}`, pk: `p${n % 3}`, n });
    const query = 'SELECT VALUE c.n FROM c';
    const first = await container.items.query(query, { maxItemCount: 10, partitionKey: 'p1' }).fetchNext();
    await rename(server, `${container.database.id}/items`, `${container.database.id}/other`);
    const other = container.database.container('other');
    const rest = await other.items.query(query, { maxItemCount: 10, partitionKey: 'p1', continuationToken: first.continuationToken }).fetchAll();
    assert.equal(new Set([...first.resources, ...rest.resources]).size, first.continuationToken ? 10 : first.resources.length);
    assert.equal(new Set(first.resources).size, 10);
  });

  test('stays in its database, under a name that a container may have', async () => {
    const container = await newContainer(client);
    const db = `${container.database.id}/items`;
    const post = (name) => server.post(`${pathOf(db)}/_rename`, { name });
    const elsewhere = await post('other/items');
    expectError(elsewhere, 400, 'illegal_database_name');
    assert.match(elsewhere.body.reason, /stays in its database/);
    for (const id of ['', 'a/b', 'a?b', 'a#b', 'ends with a space ']) {
      assert.equal((await post(`${container.database.id}/${id}`)).status, 400, id);
    }
    assert.equal((await post(`${container.database.id}/${'x'.repeat(256)}`)).status, 400);
  });

  test('a resource token reaches it by the name that its permission has', async () => {
    const container = await newContainer(client);
    const database = container.database;
    await container.items.create({ id: 'a', pk: 'p' });
    const { user } = await database.users.create({ id: 'u' });
    const { resource } = await user.permissions.create({ id: 'p', permissionMode: 'Read', resource: container.url });
    await rename(server, `${database.id}/items`, `${database.id}/moved`);
    const limited = cosmosClient(server, { key: undefined, resourceTokens: { [container.url]: resource._token } });
    const { resource: item } = await limited.database(database.id).container('items').item('a', 'p').read();
    assert.equal(item.id, 'a');
  });
});

describe('with administrators', () => {
  test('only they rename, and members see the aliases', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    expectStatus(await server.put('/db'), 201);
    const user = { name: 'ann', password: 'p', roles: [], type: 'user' };
    expectStatus(await server.put('/_users/org.couchdb.user:ann', user), 201);
    expectStatus(await server.put('/db/_security', { admins: { names: ['ann'] }, members: { names: ['ann'] } }), 200);
    const asAnn = { auth: 'ann:p' };
    expectError(await server.post('/db/_rename', { name: 'x' }, asAnn), 401, 'unauthorized');
    expectError(await server.put('/db/_aliases/x', undefined, asAnn), 401, 'unauthorized');
    expectStatus(await server.post('/db/_rename', { name: 'x' }), 200);
    assert.deepEqual(expectStatus(await server.get('/db/_aliases', asAnn), 200).aliases, ['db']);
    expectError(await server.get('/db', { auth: false }), 401, 'unauthorized');
    expectError(await server.post('/_users/_rename', { name: 'x2' }), 400, 'bad_request');
  });
});
