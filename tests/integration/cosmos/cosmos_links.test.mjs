// Paths as older clients write them: resource ids for names, as in `_self`, and empty segments.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { authorization, cosmosClient, cosmosRequest } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('links of the Cosmos DB API', () => {
  let server, database, container;
  before(async () => {
    server = await Server.start();
    ({ database } = await cosmosClient(server).databases.create({ id: 'links' }));
    ({ container } = await database.containers.create({ id: 'items', partitionKey: { paths: ['/pk'] } }));
  });
  after(() => server?.stop());

  const ask = async (status, method, target, options) => {
    const reply = await cosmosRequest(server, method, target, options);
    assert.equal(reply.status, status, `${method} ${target}: ${reply.text}`);
    return reply;
  };

  test('empty segments are ignored, and not signed', async () => {
    assert.equal((await ask(200, 'GET', '//dbs/links')).body.id, 'links');
    assert.equal((await ask(200, 'GET', '/dbs//links///colls/items')).body.id, 'items');
    const { headers } = await ask(201, 'POST', '//dbs/links/colls//items/docs', { body: { id: 'slashes', pk: 'x' } });
    assert.equal(headers['x-ms-alt-content-path'], 'dbs/links/colls/items');
    assert.equal((await ask(200, 'GET', '//dbs//')).body.Databases.length, 1);
  });

  test('databases and containers by _self, also mixed with names', async () => {
    const { resource: db } = await database.read();
    const { resource: coll } = await container.read();
    assert.equal((await ask(200, 'GET', `/${db._self}`)).body.id, 'links');
    assert.equal((await ask(200, 'GET', `/${coll._self}`)).body.id, 'items');
    assert.equal((await ask(200, 'GET', `/${db._self}colls`)).body.DocumentCollections[0].id, 'items');
    assert.equal((await ask(200, 'GET', `/${coll._self}pkranges`)).body.PartitionKeyRanges.length, 1);
    assert.equal((await ask(200, 'GET', `/${db._self}colls/items`)).body._rid, coll._rid);
    assert.equal((await ask(200, 'GET', `/dbs/links/colls/${coll._rid}`)).body.id, 'items');
    for (const target of ['/dbs/links/colls/items', `/${coll._self}`, `/${db._self}colls/items`]) {
      const { headers } = await ask(200, 'GET', target);  // the owner, to which the client for Java adds the container
      assert.deepEqual([headers['x-ms-alt-content-path'], headers['x-ms-content-path']], ['dbs/links', db._rid], target);
    }
    await ask(404, 'GET', '/dbs/AAAAAQ==');
    await ask(404, 'GET', `/${db._self}colls/AAAAAYAAAAE=`);

    const made = await ask(201, 'POST', `/${db._self}colls`, { body: { id: 'made', partitionKey: { paths: ['/pk'] } } });
    await ask(200, 'PUT', `/${made.body._self}`, { body: { id: 'made', partitionKey: { paths: ['/pk'] }, defaultTtl: 60 } });
    await ask(204, 'DELETE', `/${made.body._self}`);
    await ask(404, 'GET', '/dbs/links/colls/made');
  });

  test('items by _self, in their logical partition', async () => {
    const { resource: coll } = await container.read();
    const created = await ask(201, 'POST', `/${coll._self}docs`, { body: { id: 'a', pk: 'x' } });
    for (let n = 0; n < 20; n++) await container.items.create({ id: `other${n}`, pk: 'x' });
    const self = `/${created.body._self}`;
    const partition = ['x'];
    const read = await ask(200, 'GET', self, { partition });
    assert.equal(read.body.id, 'a');
    assert.equal(read.headers['x-ms-alt-content-path'], 'dbs/links/colls/items');
    assert.ok(Number(read.headers['x-ms-request-charge']) > 1);
    await ask(404, 'GET', self, { partition: ['y'] });
    await ask(400, 'GET', self);
    assert.equal((await ask(200, 'PUT', self, { partition, body: { id: 'a', pk: 'x', n: 1 } })).body.n, 1);
    const patched = await ask(200, 'PATCH', self, { partition, body: [{ op: 'incr', path: '/n', value: 1 }] });
    assert.equal(patched.body.n, 2);
    const headers = { 'x-ms-documentdb-isquery': 'True', 'content-type': 'application/query+json' };
    const found = await ask(200, 'POST', `/${coll._self}docs`, { body: { query: 'SELECT VALUE c.n FROM c WHERE c.id = "a"' }, headers });
    assert.deepEqual(found.body.Documents, [2]);
    await ask(204, 'DELETE', self, { partition });
    await ask(404, 'GET', self, { partition });
  });

  test('an item whose name looks like a resource id is found by its name', async () => {
    const { resource: first } = await container.items.create({ id: 'first', pk: 'names' });
    await container.items.create({ id: first._rid, pk: 'names', second: true });
    const reply = await ask(200, 'GET', `/${container.url}/docs/${encodeURIComponent(first._rid)}`, { partition: ['names'] });
    assert.equal(reply.body.second, true);
  });

  for (const [kind, definition] of Object.entries({
    triggers: { id: 'stamp', body: 'function () {}', triggerType: 'Pre', triggerOperation: 'All' },
    udfs: { id: 'half', body: 'function (n) { return n / 2; }' },
  })) {
    test(`${kind} by _self`, async () => {
      const { resource: coll } = await container.read();
      const { _self: self } = (await ask(201, 'POST', `/${coll._self}${kind}`, { body: definition })).body;
      assert.ok(self.startsWith(`${coll._self}${kind}/`), self);
      assert.equal((await ask(200, 'GET', `/${self}`)).body.id, definition.id);
      const body = { ...definition, body: 'function () { return 1; }' };
      assert.equal((await ask(200, 'PUT', `/${self}`, { body })).body.body, body.body);
      await ask(204, 'DELETE', `/${self}`);
      await ask(404, 'GET', `/${self}`);
    });
  }

  test('procedures, users and permissions by _self', async () => {
    const { resource: coll } = await container.read();
    const script = await ask(201, 'POST', `/${coll._self}sprocs`, { body: { id: 'p', body: 'function () { getContext().getResponse().setBody(7); }' } });
    assert.equal((await ask(200, 'GET', `/${script.body._self}`)).body.id, 'p');
    assert.equal((await ask(200, 'POST', `/${script.body._self}`, { partition: ['x'], body: [] })).body, 7);
    await ask(204, 'DELETE', `/${script.body._self}`);

    const { resource: db } = await database.read();
    const user = await ask(201, 'POST', `/${db._self}users`, { body: { id: 'ann' } });
    const wanted = { id: 'see', permissionMode: 'Read', resource: coll._self };
    const permission = await ask(201, 'POST', `/${user.body._self}permissions`, { body: wanted });
    assert.equal((await ask(200, 'GET', `/${user.body._self}`)).body.id, 'ann');
    assert.equal((await ask(200, 'GET', `/${permission.body._self}`)).body.id, 'see');
    assert.equal((await ask(200, 'GET', `/${user.body._self}permissions`)).body.Permissions.length, 1);
    const headers = { authorization: encodeURIComponent(permission.body._token) };
    await ask(200, 'GET', `/${coll._self}docs`, { headers });
    await ask(403, 'POST', `/${coll._self}docs`, { headers, body: { id: 'b', pk: 'x' } });
    await ask(204, 'DELETE', `/${permission.body._self}`);
    await ask(204, 'DELETE', `/${user.body._self}`);
  });

  test('a signature of another resource id is refused', async () => {
    const { resource: db } = await database.read();
    const date = new Date().toUTCString();
    const headers = { authorization: authorization('GET', '/dbs/AAAAAQ==', date), 'x-ms-date': date };
    await ask(401, 'GET', `/${db._self}`, { headers });
    // Nor is one by the resource id that a name has.
    await ask(401, 'GET', '/dbs/links', { headers: { ...headers, authorization: authorization('GET', `/${db._self}`, date) } });
  });
});
