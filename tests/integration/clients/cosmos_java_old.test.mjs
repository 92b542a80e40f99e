// Requests of Java's client 2.x (com.microsoft.azure:azure-cosmosdb), as its source builds them. Its own tests for Microsoft's
// emulator found what is tested here.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { authorization, cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

const common = { 'x-ms-version': '2018-09-17', accept: 'application/json', 'user-agent': 'cosmosdb-java-sdk/2.6.16' };

describe('requests of the Java client 2', () => {
  let server, client, container, database;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client);
    database = `/dbs/${container.database.id}`;
    for (let i = 0; i < 3; ++i) await container.items.create({ id: `i${i}`, pk: 'x' });
  });
  after(() => server?.stop());

  const send = async (status, method, target, { headers, ...rest } = {}) => {
    const reply = await cosmosRequest(server, method, target, { ...rest, headers: { ...common, ...headers } });
    assert.equal(reply.status, status, `${method} ${target}: ${reply.text}`);
    return reply;
  };

  async function pagesOf(target, name) {
    const pages = [];
    let continuation;
    do {
      const { body, headers } = await send(200, 'GET', target, { headers: { 'x-ms-max-item-count': '2', 'x-ms-continuation': continuation } });
      assert.equal(body._count, body[name].length);
      pages.push(body[name].map(({ id }) => id));
      continuation = headers['x-ms-continuation'];
    } while (continuation);
    return pages;
  }

  test('users, permissions and offers come in pages', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) await send(201, 'POST', `${database}/users`, { body: { id } });
    assert.deepEqual(await pagesOf(`${database}/users`, 'Users'), [['a', 'b'], ['c', 'd'], ['e']]);
    for (const id of ['p', 'q', 'r']) await send(201, 'POST', `${database}/users/a/permissions`, { body: { id, permissionMode: 'Read', resource: container.url } });
    assert.deepEqual(await pagesOf(`${database}/users/a/permissions`, 'Permissions'), [['p', 'q'], ['r']]);
    for (let i = 0; i < 2; ++i) await container.database.containers.create({ id: `more${i}`, partitionKey: '/pk' }, { offerThroughput: 400 });
    const pages = await pagesOf('/offers', 'Offers');
    assert.ok(pages.length > 1 && pages.slice(0, -1).every((page) => page.length === 2), JSON.stringify(pages));
    assert.equal(new Set(pages.flat()).size, pages.flat().length);
    await send(400, 'GET', `${database}/users`, { headers: { 'x-ms-continuation': '*' } });
  });

  test('functions are upserted', async () => {
    const kinds = [['sprocs', { body: 'function () {}' }], ['udfs', { body: 'function () {}' }], ['triggers', { body: 'function () {}', triggerType: 'Pre', triggerOperation: 'All' }]];
    const headers = { 'x-ms-documentdb-is-upsert': 'true' };
    for (const [kind, script] of kinds) {
      const made = await send(201, 'POST', `/${container.url}/${kind}`, { headers, body: { id: 'f', ...script } });
      const changed = await send(200, 'POST', `/${container.url}/${kind}`, { headers, body: { id: 'f', ...script, body: 'function () { return 1; }' } });
      assert.equal(changed.body._rid, made.body._rid);
      assert.notEqual(changed.body._etag, made.body._etag);
      assert.equal((await send(200, 'GET', `/${container.url}/${kind}/f`)).body.body, 'function () { return 1; }');
      await send(412, 'POST', `/${container.url}/${kind}`, { headers: { ...headers, 'if-match': made.body._etag }, body: { id: 'f', ...script } });
      await send(409, 'POST', `/${container.url}/${kind}`, { body: { id: 'f', ...script } });
    }
  });

  test('a write may leave the links of its item out of the reply', async () => {
    const headers = { 'x-ms-exclude-system-properties': 'true' };
    const create = await send(201, 'POST', `/${container.url}/docs`, { headers, partition: ['e'], body: { id: 'e', pk: 'e' } });
    const patch = await send(200, 'PATCH', `/${container.url}/docs/e`, { headers, partition: ['e'], body: [{ op: 'set', path: '/n', value: 1 }] });
    for (const { body } of [create, patch]) {
      assert.deepEqual(Object.keys(body).filter((name) => name.startsWith('_')), ['_rid', '_etag', '_ts']);
    }
    const { body } = await send(200, 'GET', `/${container.url}/docs/e`, { headers, partition: ['e'] });
    assert.deepEqual(Object.keys(body).filter((name) => name.startsWith('_')), ['_rid', '_self', '_etag', '_attachments', '_ts']);
  });

  test('TOP 0 is asked with pages of no items', async () => {
    const headers = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True', 'x-ms-documentdb-query-enablecrosspartition': 'true', 'x-ms-max-item-count': '0' };
    const { body } = await send(200, 'POST', `/${container.url}/docs`, { headers, body: { query: 'SELECT TOP 0 * FROM c' } });
    assert.deepEqual(body.Documents, []);
    await send(400, 'GET', `/${container.url}/docs`, { headers: { 'x-ms-max-item-count': '-2' } });
  });

  test('the account has the headers that the client reads as numbers', async () => {
    const { headers } = await send(200, 'GET', '/');
    for (const name of ['x-ms-max-media-storage-usage-mb', 'x-ms-media-storage-usage-mb']) assert.match(headers[name], /^\d+$/);
  });

  test('the name of the header etag is in lower case, as the client looks for it', async () => {
    const names = async (target, more) => {
      const date = new Date().toUTCString();
      const headers = { ...common, 'x-ms-date': date, authorization: authorization('GET', target, date), ...more };
      return new Promise((resolve, reject) => {
        http.get({ host: '127.0.0.1', port: server.cosmosPort, path: target, headers }, (reply) => { reply.resume(); resolve(reply.rawHeaders); }).on('error', reject);
      });
    };
    assert.ok((await names(`/${container.url}`)).includes('etag'));
    assert.ok((await names(`/${container.url}/docs/i0`, { 'x-ms-documentdb-partitionkey': '["x"]' })).includes('etag'));
    assert.ok((await names(`/${container.url}/docs`, { 'A-IM': 'Incremental feed', 'x-ms-documentdb-partitionkeyrangeid': '0' })).includes('etag'));
  });

  test('a created container names its database, to which the client adds the container', async () => {
    const { headers } = await send(201, 'POST', `${database}/colls`, { body: { id: 'named', partitionKey: { paths: ['/pk'] } } });
    assert.equal(headers['x-ms-alt-content-path'], `dbs/${container.database.id}`);
  });

  test('a permission shows the link that it was created with', async () => {
    const { resource: item } = await container.item('i1', 'x').read();
    const links = [container.url, (await container.read()).resource._self, item._self];
    await send(201, 'POST', `${database}/users`, { body: { id: 'links' } });
    for (const [i, resource] of links.entries()) {
      const { body } = await send(201, 'POST', `${database}/users/links/permissions`, { body: { id: `p${i}`, permissionMode: 'Read', resource } });
      assert.equal(body.resource, resource);
      assert.ok(!('given' in body));
      const headers = { authorization: encodeURIComponent(body._token), 'x-ms-documentdb-partitionkey': '["x"]' };
      await send(200, 'GET', `/${container.url}/docs/i1`, { headers });
    }
    const { body } = await send(200, 'GET', `${database}/users/links/permissions`);
    assert.deepEqual(body.Permissions.map(({ resource }) => resource), links);
  });
});
