// Who may ask the Cosmos DB API, and what it says to mistakes: plain HTTP.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { authorization, cosmosClient, cosmosRequest, errorOf } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('access to the Cosmos DB API', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const refused = async (status, message, options, method = 'GET', target = '/dbs') => {
    const reply = await cosmosRequest(server, method, target, options);
    assert.equal(reply.status, status, reply.text);
    assert.match(reply.body.message, message);
    assert.ok(reply.headers['x-ms-activity-id']);
    return reply;
  };

  test('the well-known key opens a server of this machine that has no key and no admins', async () => {
    assert.equal((await cosmosRequest(server, 'GET', '/')).status, 200);
    assert.equal((await cosmosRequest(server, 'GET', '/dbs')).status, 200);
  });

  test('a missing, malformed or wrong signature is 401 and says what is wrong', async () => {
    const missing = await refused(401, /authorization is missing/, { headers: { authorization: undefined } });
    assert.equal(missing.body.code, 'Unauthorized');
    await refused(401, /malformed/, { headers: { authorization: 'hello' } });
    await refused(401, /malformed/, { headers: { authorization: '%zz' } });
    await refused(401, /unknown type/, { headers: { authorization: encodeURIComponent('type=aad&ver=1.0&sig=x') } });
    await refused(401, /not base64/, { headers: { authorization: encodeURIComponent('type=master&ver=1.0&sig=*') } });
    await refused(401, /payload to sign: 'get\\ndbs\\n/, { key: randomBytes(64).toString('base64') });
    await refused(401, /resource token/, { headers: { authorization: encodeURIComponent('type=resource&ver=1.0&sig=abc;def;') } });
    // Signed for another method, or another resource.
    const date = new Date().toUTCString();
    await refused(401, /payload/, { headers: { authorization: authorization('POST', '/dbs', date), 'x-ms-date': date } });
    await refused(401, /payload/, { headers: { authorization: authorization('GET', '/dbs/a', date), 'x-ms-date': date } }, 'GET', '/dbs/b');
  });

  test('a request of another hour is refused, so that it cannot be sent again', async () => {
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    await refused(403, /15 minutes/, { headers: { authorization: authorization('GET', '/dbs', date), 'x-ms-date': date } });
    await refused(401, /x-ms-date/, { headers: { authorization: authorization('GET', '/dbs', 'yesterday'), 'x-ms-date': 'yesterday' } });
  });

  test('keys of one\'s own take the place of the well-known one', async (t) => {
    const keys = { key: randomBytes(64).toString('base64'), second: randomBytes(64).toString('base64'), reading: randomBytes(64).toString('base64') };
    const own = await Server.startFor(t, {
      env: { OCTAVO_COSMOS_KEY: keys.key, OCTAVO_COSMOS_SECONDARY_KEY: keys.second, OCTAVO_COSMOS_READ_ONLY_KEY: keys.reading },
    });
    for (const key of [keys.key, keys.second, keys.reading]) assert.equal((await cosmosRequest(own, 'GET', '/dbs', { key })).status, 200);
    const denied = await cosmosRequest(own, 'GET', '/dbs');
    assert.equal(denied.status, 401);
    assert.match(denied.body.message, /well-known key/);
    assert.equal((await cosmosRequest(own, 'POST', '/dbs', { key: keys.reading, body: { id: 'a' } })).status, 403);
    assert.equal((await cosmosRequest(own, 'POST', '/dbs', { key: keys.second, body: { id: 'a' } })).status, 201);
    const error = await errorOf(cosmosClient(own).databases.readAll().fetchAll());
    assert.equal(error.code, 401);
  });

  test('the read-only key stays one, whatever headers say', async (t) => {
    const keys = { key: randomBytes(64).toString('base64'), reading: randomBytes(64).toString('base64') };
    const own = await Server.startFor(t, { env: { OCTAVO_COSMOS_KEY: keys.key, OCTAVO_COSMOS_READ_ONLY_KEY: keys.reading } });
    const { database } = await cosmosClient(own, { key: keys.key }).databases.create({ id: 'a' });
    const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    await container.items.create({ id: 'i', pk: 'x' });
    const { user } = await database.users.create({ id: 'ann' });
    await user.permissions.create({ id: 'all', permissionMode: 'all', resource: container.url });
    const ask = (method, target, body, headers = {}) => cosmosRequest(own, method, target, { key: keys.reading, body, headers, partition: ['x'] });
    for (const name of ['x-ms-documentdb-isquery', 'x-ms-cosmos-is-query-plan-request']) {
      const headers = { [name]: 'True' };
      assert.equal((await ask('POST', `/${container.url}/operations/partitionkeydelete`, {}, headers)).status, 403);
      assert.equal((await ask('DELETE', `/${container.url}/docs/i`, undefined, headers)).status, 403);
      assert.equal((await ask('POST', `/${container.url}/docs/i`, {}, headers)).status, 403);
      if (name.endsWith('query')) continue;
      assert.equal((await ask('POST', '/dbs', { id: 'b' }, headers)).status, 403);
      assert.equal((await ask('POST', '/dbs/a/colls', { id: 'd', partitionKey: { paths: ['/pk'] } }, headers)).status, 403);
      assert.equal((await ask('POST', '/dbs/a/users', { id: 'eve' }, headers)).status, 403);
    }
    // A permission shows a token that may do more.
    assert.equal((await ask('GET', '/dbs/a/users/ann/permissions')).status, 403);
    assert.equal((await ask('GET', '/dbs/a/users/ann/permissions/all')).status, 403);
    assert.equal((await ask('GET', `/${container.url}/docs/i`)).status, 200);
    const query = { query: 'SELECT * FROM c' };
    assert.equal((await ask('POST', `/${container.url}/docs`, query, { 'x-ms-documentdb-isquery': 'True', 'content-type': 'application/query+json' })).status, 200);
  });

  test('a match that would take minutes ends, also for who may only read', async (t) => {
    const keys = { key: randomBytes(64).toString('base64'), reading: randomBytes(64).toString('base64') };
    const own = await Server.startFor(t, { env: { OCTAVO_COSMOS_KEY: keys.key, OCTAVO_COSMOS_READ_ONLY_KEY: keys.reading } });
    const { database } = await cosmosClient(own, { key: keys.key }).databases.create({ id: 'a' });
    const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    await container.items.create({ id: 'i', pk: 'x' });
    const headers = { 'x-ms-documentdb-isquery': 'True', 'content-type': 'application/query+json' };
    const match = (pattern) => cosmosRequest(own, 'POST', `/${container.url}/docs`, {
      key: keys.reading, partition: ['x'], headers,
      body: { query: 'SELECT VALUE REGEXMATCH(@s, @p) FROM c', parameters: [{ name: '@s', value: 'a'.repeat(1_500_000) }, { name: '@p', value: pattern }] },
    });
    assert.equal((await match(`${'a'.repeat(8000)}b`)).body.Documents[0], false);
    const ended = await match('(.*a){12}b?c|(.*a){12}[bd]');
    assert.equal(ended.status, 413, ended.text);
    assert.match(ended.body.message, /regular expression|too much/i);
  });

  test('a token ends with its container; permissions of one name are one', async () => {
    const client = cosmosClient(server);
    const { database } = await client.databases.create({ id: 'ending' });
    const key = { paths: ['/pk'] };
    const { container } = await database.containers.create({ id: 'c', partitionKey: key });
    const { user } = await database.users.create({ id: 'ann' });
    const wanted = { id: 'x', permissionMode: 'all', resource: container.url };
    const made = await Promise.allSettled(Array.from({ length: 20 }, () => user.permissions.create(wanted)));
    assert.equal(made.filter((one) => one.status === 'fulfilled').length, 1);
    for (const one of made) if (one.status === 'rejected') assert.equal(one.reason.code, 409);
    const token = made.find((one) => one.status === 'fulfilled').value.resource._token;
    const ask = async (authorization) =>
      (await cosmosRequest(server, 'GET', `/${container.url}`, { headers: { authorization: encodeURIComponent(authorization) } })).status;
    assert.equal(await ask(token), 200);
    await container.delete();
    await database.containers.create({ id: 'c', partitionKey: key });
    assert.equal(await ask(token), 403);
    const { resource: again } = await user.permission('x').read();
    assert.equal(await ask(again._token), 200);
    await user.permission('x').delete();
    assert.equal(await ask(again._token), 403);
  });

  test('what has changed is not deleted or replaced by who has not seen it', async () => {
    const client = cosmosClient(server);
    const { database } = await client.databases.create({ id: 'guarded' });
    await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    await database.users.create({ id: 'ann' });
    for (const path of ['/dbs/guarded/colls/c', '/dbs/guarded/users/ann', '/dbs/guarded']) {
      const { body, headers } = await cosmosRequest(server, 'GET', path);
      assert.equal(headers.etag, body._etag, path);
      assert.equal((await cosmosRequest(server, 'DELETE', path, { headers: { 'if-match': '"other"' } })).status, 412, path);
      assert.equal((await cosmosRequest(server, 'GET', path)).status, 200, path);
      assert.equal((await cosmosRequest(server, 'DELETE', path, { headers: { 'if-match': body._etag } })).status, 204, path);
    }
  });

  test('a token opens its partition key, not the container', async () => {
    const client = cosmosClient(server);
    const { database } = await client.databases.create({ id: 'tokens' });
    const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    for (const pk of ['x', 'y']) await container.items.create({ id: 'i', pk });
    const { user } = await database.users.create({ id: 'ann' });
    const { resource: permission } = await user.permissions.create({
      id: 'x', permissionMode: 'all', resource: container.url, resourcePartitionKey: ['x'],
    });
    const ask = async (method, target, { partition, body, headers = {} } = {}) =>
      (await cosmosRequest(server, method, target, { partition, body, headers: { ...headers, authorization: encodeURIComponent(permission._token) } })).status;
    const docs = `/${container.url}/docs`;
    assert.equal(await ask('GET', `${docs}/i`, { partition: ['x'] }), 200);
    assert.equal(await ask('POST', docs, { partition: ['x'], body: { id: 'j', pk: 'x' } }), 201);
    assert.equal(await ask('GET', `/${container.url}`), 200);

    assert.equal(await ask('GET', `${docs}/i`, { partition: ['y'] }), 403);
    assert.equal(await ask('GET', docs), 403);
    assert.equal(await ask('GET', docs, { headers: { 'x-ms-cosmos-is-query-plan-request': 'True' } }), 403);
    assert.equal(await ask('POST', docs, { partition: ['x'], body: { id: 'j', pk: 'y' } }), 400);
    const deletion = [{ operationType: 'Delete', id: 'i', partitionKey: '["y"]' }];
    const batch = { 'x-ms-cosmos-is-batch-request': 'True', 'x-ms-documentdb-partitionkeyrangeid': '0' };
    assert.equal(await ask('POST', docs, { partition: ['x'], body: deletion, headers: batch }), 403);
    const remove = `/${container.url}/operations/partitionkeydelete`;
    assert.equal(await ask('POST', remove, { partition: ['y'] }), 403);
    assert.equal(await ask('POST', remove), 403);
    assert.equal(await ask('DELETE', `/${container.url}`, { partition: ['x'] }), 403);
    assert.equal((await container.item('i', 'y').read()).statusCode, 200);
    assert.equal(await ask('POST', remove, { partition: ['x'] }), 200);
    assert.equal((await container.item('i', 'x').read()).statusCode, 404);
  });

  test('a token for one partition key runs functions, but makes none', async () => {
    const { database } = await cosmosClient(server).databases.create({ id: 'tokens-functions' });
    const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    const body = 'function () { __.response.setBody(1); }';
    await container.scripts.storedProcedures.create({ id: 'one', body });
    const { user } = await database.users.create({ id: 'ann' });
    const { resource: permission } = await user.permissions.create({
      id: 'x', permissionMode: 'all', resource: container.url, resourcePartitionKey: ['x'],
    });
    const headers = { authorization: encodeURIComponent(permission._token) };
    const ask = async (method, target, sent) => (await cosmosRequest(server, method, target, { partition: ['x'], body: sent, headers })).status;
    assert.equal(await ask('POST', `/${container.url}/sprocs/one`, []), 200);
    assert.equal(await ask('GET', `/${container.url}/sprocs/one`), 200);
    const made = { id: 'one', body: 'function () {}', triggerType: 'Pre', triggerOperation: 'All' };
    for (const kind of ['sprocs', 'triggers', 'udfs']) {
      assert.equal(await ask('POST', `/${container.url}/${kind}`, { ...made, id: 'two' }), 403, kind);
      assert.equal(await ask('PUT', `/${container.url}/${kind}/one`, made), 403, kind);
      assert.equal(await ask('DELETE', `/${container.url}/${kind}/one`), 403, kind);
    }
    assert.equal((await container.scripts.storedProcedure('one').read()).resource.body, body);
  });

  test('validate_doc_update sees no user name for a token, however it is spelled', async () => {
    const { database } = await cosmosClient(server).databases.create({ id: 'tokens-rules' });
    const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    const rules = `function (after, before, user) { if (user.roles.indexOf('_admin') < 0) throw { forbidden: 'who are you?' }; }`;
    const put = await server.request('PUT', '/tokens-rules%2Fc/_design/rules', { body: { validate_doc_update: rules } });
    assert.equal(put.status, 201);
    const { user } = await database.users.create({ id: 'ann' });
    const { resource: permission } = await user.permissions.create({ id: 'all', permissionMode: 'all', resource: container.url });
    const encoded = encodeURIComponent(permission._token);
    for (const token of [encoded, encoded.replace('resource', '%72esource'), encoded.replace('type%3D', 'typ%65%3d')]) {
      const reply = await cosmosRequest(server, 'POST', `/${container.url}/docs`, {
        partition: ['x'], body: { id: 'i', pk: 'x' }, headers: { authorization: token },
      });
      assert.equal(reply.status, 403, reply.text);
      assert.match(reply.body.message, /who are you/);
    }
    assert.equal((await container.items.create({ id: 'i', pk: 'x' })).statusCode, 201);
  });

  test('a token does not outlive its database', async () => {
    const client = cosmosClient(server);
    const make = async () => {
      const { database } = await client.databases.create({ id: 'again' });
      return (await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } })).container;
    };
    const container = await make();
    const { user } = await container.database.users.create({ id: 'ann' });
    const { resource: permission } = await user.permissions.create({ id: 'all', permissionMode: 'all', resource: container.url });
    const headers = { authorization: encodeURIComponent(permission._token) };
    assert.equal((await cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers })).status, 200);
    await container.database.delete();
    await make();
    assert.equal((await cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers })).status, 403);
  });

  test('a server with an admin does not take the well-known key', async (t) => {
    const guarded = await Server.startFor(t, { admin: true });
    const reply = await cosmosRequest(guarded, 'GET', '/dbs');
    assert.equal(reply.status, 401);
    assert.match(reply.body.message, /OCTAVO_COSMOS_KEY/);
  });

  test('the well-known key may be configured, beside an admin', async (t) => {
    const open = await Server.startFor(t, { admin: true, env: { OCTAVO_COSMOS_KEY: 'emulator' } });
    assert.equal((await cosmosRequest(open, 'GET', '/dbs')).status, 200);
    assert.equal((await cosmosRequest(open, 'GET', '/dbs', { key: randomBytes(64).toString('base64') })).status, 401);
  });

  test('pages of allowed origins may ask, by preflight and with readable replies', async (t) => {
    const origin = 'https://shop.example.com';
    const shared = await Server.startFor(t, { config: `[cors]\nenabled = true\norigins = ["${origin}"]\n` });
    const preflight = { Origin: origin, 'Access-Control-Request-Method': 'PATCH', authorization: undefined };
    const asked = await cosmosRequest(shared, 'OPTIONS', '/dbs/a/colls/b/docs/c', {
      headers: { ...preflight, 'Access-Control-Request-Headers': 'authorization, x-ms-date, x-ms-version' } });
    assert.equal(asked.status, 204);
    assert.equal(asked.headers['access-control-allow-origin'], origin);
    assert.match(asked.headers['access-control-allow-methods'], /PATCH/);
    const refusal = await cosmosRequest(shared, 'OPTIONS', '/dbs', {
      headers: { ...preflight, 'Access-Control-Request-Headers': 'x-other' } });
    assert.equal(refusal.headers['access-control-allow-methods'], undefined);
    const read = await cosmosRequest(shared, 'GET', '/dbs', { headers: { Origin: origin } });
    assert.equal(read.headers['access-control-allow-origin'], origin);
    assert.match(read.headers['access-control-expose-headers'], /x-ms-continuation/);
    const failed = await cosmosRequest(shared, 'GET', '/dbs/none', { headers: { Origin: origin } });
    assert.deepEqual([failed.status, failed.headers['access-control-allow-origin']], [404, origin]);
    const foreign = await cosmosRequest(shared, 'GET', '/dbs', { headers: { Origin: 'https://evil.example.com' } });
    assert.equal(foreign.headers['access-control-allow-origin'], undefined);
  });

  test('an invalid key is refused at the start; the port can be closed', async (t) => {
    await assert.rejects(Server.startFor(t, { env: { OCTAVO_COSMOS_KEY: 'short' } }));
    const closed = await Server.startFor(t, { args: ['--cosmos-enabled=false'] });
    assert.equal(closed.cosmosPort, 0);
    assert.equal((await closed.get('/')).status, 200);
  });

  test('what is not there, and what cannot be done', async () => {
    await refused(404, /no such resource/, {}, 'GET', '/nothing');
    await refused(404, /no database/, {}, 'GET', '/dbs/none');
    await refused(404, /no container/, {}, 'GET', '/dbs/none/colls/none');
    const owner = await refused(404, /Owner resource/, { partition: ['x'] }, 'GET', '/dbs/none/colls/none/docs/a');
    assert.equal(owner.headers['x-ms-substatus'], '1003');
    await refused(404, /Owner resource/, { body: { id: 'c', partitionKey: { paths: ['/pk'] } } }, 'POST', '/dbs/none/colls');
    await refused(405, /verb/, { body: {} }, 'PUT', '/dbs');
    await refused(405, /verb/, {}, 'DELETE', '/');
    await refused(404, /no container/, {}, 'GET', '/dbs/a/colls/b/conflicts');
  });

  test('bodies that are no resource are named as such', async () => {
    await refused(400, /JSON/, { body: '{' }, 'POST', '/dbs');
    await refused(400, /object/, { body: '[]' }, 'POST', '/dbs');
    await refused(400, /'id; '/, { body: {} }, 'POST', '/dbs');
    await refused(400, /string/, { body: { id: 1 } }, 'POST', '/dbs');
    await refused(400, /'\/'/, { body: { id: 'a/b' } }, 'POST', '/dbs');
    await refused(400, /255/, { body: { id: 'x'.repeat(256) } }, 'POST', '/dbs');
    await refused(400, /space/, { body: { id: 'a ' } }, 'POST', '/dbs');
  });

  test('a definition may be long, but not any length', async () => {
    const reply = await cosmosRequest(server, 'POST', '/dbs', { body: { id: 'long', padding: 'x'.repeat(1024 * 1024) } });
    assert.equal(reply.status, 413);
    assert.match(reply.body.message, /at most 1048576 bytes/);
    const { database } = await cosmosClient(server).databases.create({ id: 'long-bodies' });
    const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    const long = 'x'.repeat(1_500_000);
    await container.items.create({ id: 'i', pk: 'x' });
    assert.equal((await container.item('i', 'x').patch([{ op: 'set', path: '/text', value: long }])).resource.text, long);
  });

  test('items need their key, and one that fits', async () => {
    const client = cosmosClient(server);
    const { database } = await client.databases.create({ id: 'keys' });
    const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    const docs = `/${container.url}/docs`;
    await refused(400, /must be supplied/, {}, 'GET', `${docs}/a`);
    await refused(400, /fewer components/, { partition: [] }, 'GET', `${docs}/a`);
    await refused(400, /more components/, { partition: ['a', 'b'] }, 'GET', `${docs}/a`);
    for (const header of ['a', '"a"', '{}', '[[]]', '[{"a":1}]', '["a"', '']) {
      await refused(400, /[Pp]artition ?[Kk]ey|key/, { headers: { 'x-ms-documentdb-partitionkey': header } }, 'GET', `${docs}/a`);
    }
    await refused(400, /2048/, { partition: ['x'.repeat(2049)] }, 'GET', `${docs}/a`);
    const mismatch = await refused(400, /doesn't match/, { partition: ['x'], body: { id: 'a', pk: 'y' } }, 'POST', docs);
    assert.equal(mismatch.headers['x-ms-substatus'], '1001');
    await refused(400, /doesn't match/, { partition: ['list'], body: { id: 'a', pk: ['list'] } }, 'POST', docs);
    await refused(400, /JSON object/, { partition: ['x'], body: '{"id":"a","pk":"x"' }, 'POST', docs);
    await refused(400, /JSON object/, { partition: ['x'], body: '[]' }, 'POST', docs);
    await refused(400, /'id; '/, { partition: ['x'], body: { pk: 'x' } }, 'POST', docs);
    await refused(400, /'id'.*string/, { partition: ['x'], body: { id: 5, pk: 'x' } }, 'POST', docs);
    // Without the header the item says its key itself.
    assert.equal((await cosmosRequest(server, 'POST', docs, { body: { id: 'a', pk: 'x' } })).status, 201);
    const quiet = await cosmosRequest(server, 'POST', docs, { body: { id: 'b', pk: 'x' }, headers: { Prefer: 'return=minimal' } });
    assert.equal(quiet.status, 201);
    assert.equal(quiet.text, '');
    assert.match(quiet.headers.etag, /^"1-/);
  });
});
