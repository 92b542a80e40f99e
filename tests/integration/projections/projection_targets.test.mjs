// `target.create`: a projection that creates the database for its rows.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cosmosClient } from '../cosmos.mjs';
import { expectError, expectStatus, Server } from '../harness.mjs';
import { createProjection, current, documentsOf, save } from './projection_support.mjs';

const rows = (target, more = {}) => ({ target, key: '{user}', id: '{_id}', fields: { '*': true }, ...more });
const items = (target, more = {}) => ({ target, fields: { '*': true, id: 'c._id' }, ...more });

async function refuses(server, source, definition, status, error, reason) {
  expectError(await server.put(`/${source}/_projection/p`, definition), status, error, reason);
}

async function assertMissing(server, db) {
  expectError(await server.get(`/${encodeURIComponent(db)}`), 404, 'not_found');
}

describe('a target of the CouchDB API', () => {
  test('is created as PUT /{db} does, and used again', async (t) => {
    const server = await Server.startFor(t);
    const source = await server.database();
    await save(server, source, 'a', { user: 'ann' });
    const create = { partitioned: true, q: 3, ttl: -1, throughput: 500, tombstone_retention: 60, auto_index: true };
    await createProjection(server, source, 'p', rows({ db: 'made', create }));
    await current(server, source, 'p');
    assert.deepEqual([...(await documentsOf(server, 'made')).keys()], ['ann:a']);
    const { props, cluster } = expectStatus(await server.get('/made'), 200);
    assert.equal(props.partitioned, true);
    assert.equal(cluster.q, 3);
    assert.deepEqual(expectStatus(await server.get('/made/_properties'), 200), { ttl: -1, throughput: 500, tombstone_retention: 60 });

    // The same request again, and another projection into the same database.
    expectStatus(await server.put(`/${source}/_projection/p`, rows({ db: 'made', create })), 200);
    await createProjection(server, source, 'other', rows({ db: 'made', create: { partitioned: true } }, { key: 'o{user}' }));
    await current(server, source, 'other');
    assert.deepEqual([...(await documentsOf(server, 'made')).keys()], ['ann:a', 'oann:a']);

    // After a restart the definition is read again.
    await server.kill();
    await server.relaunch();
    await save(server, source, 'b', { user: 'bob' });
    await current(server, source, 'p');
    assert.ok((await documentsOf(server, 'made')).has('bob:b'));
  });

  test('without members it is not partitioned, and may be exclusive', async (t) => {
    const server = await Server.startFor(t);
    const source = await server.database();
    await createProjection(server, source, 'p', rows({ db: 'made', exclusive: true, create: {} }, { key: undefined }));
    assert.deepEqual(expectStatus(await server.get('/made'), 200).props, {});
    expectError(await server.put('/made/mine', {}), 403, 'derived_document');
  });

  test('one that exists must be as described', async (t) => {
    const server = await Server.startFor(t);
    const source = await server.database();
    const plain = await server.database();
    const partitioned = await server.database('partitioned=true');
    await refuses(server, source, rows({ db: plain, create: { partitioned: true } }), 412, 'target_differs', /not partitioned/);
    await refuses(server, source, rows({ db: partitioned, create: {} }, { key: undefined }), 412, 'target_differs', /is a partitioned database/);
    await createProjection(server, source, 'p', rows({ db: plain, create: {} }, { key: undefined }));

    // A changed definition creates nothing, and is checked likewise.
    const { rev } = expectStatus(await server.get(`/${source}/_projection/p`), 200);
    const change = (target) => server.put(`/${source}/_projection/p?rev=${rev}`, rows(target, { key: undefined, where: 'c.x = 1' }));
    expectError(await change({ db: plain, create: { partitioned: true } }), 412, 'target_differs');
    expectError(await change({ db: 'elsewhere', create: {} }), 404, 'target_missing');
    await assertMissing(server, 'elsewhere');
    expectStatus(await change({ db: plain, create: {} }), 200);
  });

  test('bad descriptions are refused by name', async (t) => {
    const server = await Server.startFor(t);
    const source = await server.database();
    const refused = (create, status, error, reason, db = 'made') => refuses(server, source, rows({ db, create }), status, error, reason);
    await refused(7, 400, 'projection_syntax', /`target.create` must be an object/);
    await refused({ partitions: 3 }, 400, 'unknown_member', /`partitions` of `target.create`; the known ones are partitioned, q/);
    await refused({ partitioned: 'true' }, 400, 'projection_syntax', /`partitioned` must be true or false/);
    await refused({ partitioned: true, q: 'x' }, 400, 'projection_syntax', /`q` must be a whole number/);
    await refused({ partitioned: true, q: 0 }, 400, 'projection_syntax', /`target.create`: The `q` value/);
    await refused({ partitioned: true, q: 1000 }, 400, 'projection_syntax', /at most 64/);
    await refused({ partitioned: true, ttl: 0 }, 400, 'projection_syntax', /`ttl`/);
    await refused({ partitioned: true, throughput: -1 }, 400, 'projection_syntax', /`throughput`/);
    await refused({ partitioned: true }, 400, 'projection_syntax', /Name: 'Made'/, 'Made');
    await refused({}, 400, 'projection_syntax', /system database _replicator/, '_replicator');
    await assertMissing(server, 'made');
  });

  test('what else is wrong is found before it is created', async (t) => {
    const server = await Server.startFor(t);
    const source = await server.database();
    const create = { partitioned: true };
    const target = { db: 'made', create };
    await refuses(server, source, rows(target, { where: 'c.' }), 400, 'projection_syntax');
    await refuses(server, source, rows(target, { key: undefined }), 400, 'key_template');
    await refuses(server, source, rows(target, { joins: { a: { lookup: { db: 'nowhere', id: 'x' } } } }), 404, 'join_missing');
    await refuses(server, source, rows({ db: 'made', create: {} }), 400, 'key_template');
    const into = await server.database('partitioned=true');
    for (let n = 0; n < 20; ++n) await createProjection(server, source, `p${n}`, rows({ db: into }));
    await refuses(server, source, rows(target), 400, 'limit', /at most 20/);
    expectError(await server.put(`/${source}/_projection/p1`, rows(target)), 409, 'conflict');
    await assertMissing(server, 'made');
  });

  test('of several at once for one target, all that fit are stored', async (t) => {
    const server = await Server.startFor(t);
    const source = await server.database();
    const put = (name, key) => server.put(`/${source}/_projection/${name}`, rows({ db: 'made', create: { partitioned: true } }, { key }));
    const replies = await Promise.all(Array.from({ length: 8 }, (_, n) => put(`p${n % 4}`, `k${n}{user}`)));
    // Of two definitions under one name one is refused, and takes no target away from the others.
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 201, 201, 201, 409, 409, 409, 409]);
    await save(server, source, 'a', { user: 'ann' });
    for (let n = 0; n < 4; ++n) await current(server, source, `p${n}`);
    assert.equal((await documentsOf(server, 'made')).size, 4);
  });

  test('of two at once under one name, the one that is refused leaves no target', async (t) => {
    const server = await Server.startFor(t);
    const source = await server.database();
    for (let n = 0; n < 8; ++n) {
      const names = [`a${n}`, `b${n}`];
      const put = (db) => server.put(`/${source}/_projection/p${n}`, rows({ db, create: { partitioned: true } }));
      const replies = await Promise.all(names.map(put));
      assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409]);
      const { definition } = expectStatus(await server.get(`/${source}/_projection/p${n}`), 200);
      assert.deepEqual((await server.get('/_all_dbs')).body.filter((name) => names.includes(name)), [definition.target.db]);
    }
  });

  test('only a server admin creates one, and administrators of it use it', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    const source = await server.database();
    const security = { admins: { names: ['ann'], roles: [] }, members: { names: [], roles: [] } };
    expectStatus(await server.put(`/${source}/_security`, security), 200);
    expectStatus(await server.put('/_users/org.couchdb.user:ann', { name: 'ann', password: 'secret', roles: [], type: 'user' }), 201);
    const definition = rows({ db: 'made', create: { partitioned: true } });
    const asAnn = { auth: 'ann:secret' };
    expectError(await server.put(`/${source}/_projection/p`, definition, asAnn), 403, 'forbidden', /only a server admin/);
    await assertMissing(server, 'made');
    await createProjection(server, source, 'p', definition);
    const second = { ...definition, key: 's{user}' };
    expectError(await server.put(`/${source}/_projection/s`, second, asAnn), 403, 'forbidden', /administrator of the target/);
    expectStatus(await server.put('/made/_security', security), 200);
    expectStatus(await server.put(`/${source}/_projection/s`, second, asAnn), 201);
  });
});

describe('a container as target', () => {
  test('is created in its database, with its policies, and used again', async (t) => {
    const server = await Server.startFor(t);
    const client = cosmosClient(server);
    const { database } = await client.databases.create({ id: 'blog' });
    const source = await server.database();
    await save(server, source, 'a', { user: { name: 'ann' } });
    const create = { partitionKey: { paths: ['/user/name'], kind: 'Hash' }, defaultTtl: 3600, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/n'] }] } };
    await createProjection(server, source, 'p', items({ db: 'blog/feed', create }));
    await current(server, source, 'p');
    const { resource } = await database.container('feed').read();
    assert.deepEqual(resource.partitionKey, { paths: ['/user/name'], kind: 'Hash', version: 2 });
    assert.equal(resource.defaultTtl, 3600);
    assert.deepEqual(resource.uniqueKeyPolicy.uniqueKeys, [{ paths: ['/n'] }]);
    const { resources } = await database.container('feed').items.query('SELECT c.id, c.user FROM c').fetchAll();
    assert.deepEqual(resources, [{ id: 'a', user: { name: 'ann' } }]);
    expectStatus(await server.put(`/${source}/_projection/p`, items({ db: 'blog/feed', create })), 200);
    await createProjection(server, source, 'again', items({ db: 'blog/feed', create }, { where: 'false' }));
  });

  test('a hierarchical key', async (t) => {
    const server = await Server.startFor(t);
    const { database } = await cosmosClient(server).databases.create({ id: 'blog' });
    const source = await server.database();
    const create = { partitionKey: { paths: ['/a', '/b'], kind: 'MultiHash' } };
    await createProjection(server, source, 'p', items({ db: 'blog/deep', create }));
    await save(server, source, 'x', { a: 1, b: 'y' });
    await current(server, source, 'p');
    const { resource } = await database.container('deep').item('x', [1, 'y']).read();
    assert.equal(resource.b, 'y');
  });

  test('one that exists must have the same key', async (t) => {
    const server = await Server.startFor(t);
    const { database } = await cosmosClient(server).databases.create({ id: 'blog' });
    await database.containers.create({ id: 'feed', partitionKey: { paths: ['/type'], version: 1 } });
    await database.containers.create({ id: 'deep', partitionKey: { paths: ['/type'], kind: 'MultiHash' } });
    expectStatus(await server.put('/blog%2Fcouch?partitioned=true'), 201);
    const source = await server.database();
    const refused = (create, reason, db = 'blog/feed') => refuses(server, source, items({ db, create }), 412, 'target_differs', reason);
    await refused({ partitionKey: { paths: ['/user'] } }, /has the partition key .*"\/type"/);
    await refused({ partitionKey: { paths: ['/type'], version: 2 } }, /"version":1/);
    await refused({ partitionKey: { paths: ['/type', '/user'], kind: 'MultiHash' } }, /partition key/);
    await refused({ partitionKey: { paths: ['/type'] } }, /MultiHash/, 'blog/deep');
    await refused({ partitioned: true }, /is a container/);
    await refused({ partitionKey: { paths: ['/type'] } }, /is a partitioned database of the CouchDB API/, 'blog/couch');
    await createProjection(server, source, 'p', items({ db: 'blog/feed', create: { partitionKey: { paths: ['/type'] } } }));
  });

  test('the checks are those of creating a container, and its database must exist', async (t) => {
    const server = await Server.startFor(t);
    const { database } = await cosmosClient(server).databases.create({ id: 'blog' });
    const source = await server.database();
    const refused = (create, status, error, reason, db = 'blog/feed') => refuses(server, source, items({ db, create }), status, error, reason);
    const partitionKey = { paths: ['/type'] };
    await refused({ partitionKey }, 404, 'target_missing', /has no database shop\. Create it first/, 'shop/feed');
    await refused({ partitionKey }, 400, 'projection_syntax', /\{database\}\/\{container\}/, 'feed');
    await refused({ partitionKey }, 400, 'projection_syntax', /`target.create`/, 'blog/a/b');
    await refused({ partitionKey }, 400, 'projection_syntax', /`target.create`/, 'blog/');
    await refused({ partitionKey, id: 'feed' }, 400, 'projection_syntax', /leave out `id`/);
    await refused({ partitionKey: 7 }, 400, 'projection_syntax', /partitionKey must be an object/);
    await refused({ partitionKey: { paths: [] } }, 400, 'projection_syntax', /at least one path/);
    await refused({ partitionKey: { paths: ['type'] } }, 400, 'projection_syntax', /'type' could not be accepted/);
    await refused({ partitionKey: { paths: ['/_ts'] } }, 400, 'projection_syntax', /system property/);
    await refused({ partitionKey: { paths: ['/a', '/b'], kind: 'Hash' } }, 400, 'projection_syntax', /Too many/);
    await refused({ partitionKey, defaultTtl: 0 }, 400, 'projection_syntax', /defaultTtl/);
    await refused({ partitionKey, indexingPolicy: { indexingMode: 'no' } }, 400, 'projection_syntax', /indexingMode/);
    await refused({ defaultTtl: 60 }, 400, 'unknown_member', /those of a container with its `partitionKey`/);
    await refuses(server, source, items({ db: 'blog/feed', create: { partitionKey } }, { id: '{_id}' }), 400, 'key_template');
    await refuses(server, source, items({ db: 'blog/feed', create: { partitionKey } }, { fields: ['a'] }), 400, 'key_not_projected');
    assert.deepEqual((await database.containers.readAll().fetchAll()).resources, []);
  });
});
