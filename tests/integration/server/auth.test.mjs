import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { credentials, eventually, expectError, expectStatus, patience, Server, sleep } from '../harness.mjs';

const config = '[auth]\npbkdf2_iterations = 1000\n';
const basic = (login) => ({ auth: login });

function cookieOf(reply) {
  const header = reply.headers['set-cookie']?.find((cookie) => cookie.startsWith('AuthSession='));
  return header && { header, value: header.split(';')[0] };
}

describe('administrators and sessions', () => {
  let server;
  before(async () => {
    server = await Server.start({ admin: true, config });
  });
  after(() => server?.stop());

  test('every user may see the root, _up and the own session', async () => {
    for (const path of ['/', '/_up', '/_session']) expectStatus(await server.get(path, basic(false)), 200);
  });

  test('only an administrator creates and deletes databases', async () => {
    expectError(await server.put('/made', undefined, basic(false)), 401, 'unauthorized', 'You are not a server admin.');
    expectStatus(await server.put('/made'), 201);
    expectError(await server.delete('/made', basic(false)), 401, 'unauthorized', 'You are not a server admin.');
    expectStatus(await server.delete('/made'), 200);
  });

  test('only an administrator sees lists, tasks, statistics and settings', async () => {
    for (const path of ['/_all_dbs', '/_active_tasks', '/_membership', '/_node/_local/_stats', '/_node/_local/_config',
      '/_node/_local/_system', '/_dbs_info', '/_search_analyze?analyzer=simple&text=a']) {
      expectStatus(await server.get(path, basic(false)), 401);
      expectStatus(await server.get(path), 200);
    }
  });

  test('only an administrator learns which paths the server does not have, and which methods', async () => {
    for (const [method, path] of [['GET', '/_unknown'], ['GET', '/_unknown/x'], ['POST', '/_unknown'], ['GET', '/_global_changes'],
      ['DELETE', '/_membership']]) {
      expectError(await server.request(method, path, basic(false)), 401, 'unauthorized', 'You are not a server admin.');
    }
    expectError(await server.get('/_unknown'), 404, 'not_found', 'There is no such endpoint: /_unknown');
    expectStatus(await server.delete('/_membership'), 405);
    expectStatus(await server.delete('/_up', basic(false)), 405);
  });

  test('below a database, only its members learn that', async () => {
    await server.put('/closed');
    await server.put('/closed/_security', { members: { names: ['ann'] } });
    for (const [method, path] of [['GET', '_unknown'], ['PUT', '_unknown'], ['DELETE', '_find']]) {
      const reply = await server.request(method, `/closed/${path}`, basic(false));
      expectError(reply, 401, 'unauthorized', 'You are not authorized to access this db.');
    }
    expectStatus(await server.get('/closed/_unknown'), 404);
    expectStatus(await server.delete('/closed/_find'), 405);
  });

  test('a session needs a body of one of two types', async () => {
    const reply = await server.post('/_session', 'name=ann&password=x', { auth: false, headers: { 'Content-Type': 'text/plain' } });
    expectError(reply, 415, 'bad_content_type', "Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'");
  });

  test('a wrong password is refused everywhere', async () => {
    expectError(await server.get('/', basic(`${credentials.name}:wrong`)), 401, 'unauthorized', 'Name or password is incorrect.');
    expectStatus(await server.get('/_session', basic('unknown:x')), 401);
    expectError(await server.get('/', { headers: { Authorization: 'Basic !!!notbase64' } }), 400, 'bad_request',
      'Authorization header has invalid base64 value');
  });

  test('the settings do not show passwords', async () => {
    const reply = await server.get('/_node/_local/_config');
    assert.ok(!reply.text.includes(credentials.password));
  });

  test('a session begins with name and password, as JSON or as a form', async () => {
    for (const [body, headers] of [
      [{ name: credentials.name, password: credentials.password }, {}],
      [`name=${credentials.name}&password=${encodeURIComponent(credentials.password)}`, { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ]) {
      const reply = await server.post('/_session', body, { auth: false, headers });
      assert.deepEqual(expectStatus(reply, 200), { ok: true, name: credentials.name, roles: ['_admin'] });
      const cookie = cookieOf(reply);
      assert.match(cookie.header, /; Path=\//);
      assert.match(cookie.header, /; HttpOnly/i);
      assert.match(cookie.header, /; Max-Age=\d+/i);
      const session = await server.get('/_session', { auth: false, headers: { Cookie: cookie.value } });
      assert.deepEqual(session.body.userCtx, { name: credentials.name, roles: ['_admin'] });
      assert.equal(session.body.info.authenticated, 'cookie');
      assert.ok(session.body.info.authentication_handlers.includes('cookie'));
      expectStatus(await server.get('/_all_dbs', { auth: false, headers: { Cookie: cookie.value } }), 200);
    }
  });

  test('a session with a wrong password does not begin', async () => {
    const reply = await server.post('/_session', { name: credentials.name, password: 'wrong' }, basic(false));
    expectError(reply, 401, 'unauthorized', 'Name or password is incorrect.');
  });

  test('a request without credentials has a session without a name', async () => {
    const body = (await server.get('/_session', basic(false))).body;
    assert.equal(body.ok, true);
    assert.deepEqual(body.userCtx, { name: null, roles: [] });
    assert.equal(body.info.authenticated, undefined);
  });

  test('Basic says so in the session', async () => {
    const body = (await server.get('/_session')).body;
    assert.equal(body.info.authenticated, 'default');
    assert.deepEqual(body.userCtx.roles, ['_admin']);
  });

  test('a session ends by DELETE', async () => {
    const reply = await server.delete('/_session', basic(false));
    assert.deepEqual(expectStatus(reply, 200), { ok: true });
    assert.match(reply.headers['set-cookie'][0], /^AuthSession=;/);
  });

  test('a forged or mangled cookie is not a session', async () => {
    const reply = await server.post('/_session', { name: credentials.name, password: credentials.password }, basic(false));
    const { value } = cookieOf(reply);
    const flipped = value.slice(0, -2) + (value.endsWith('AA') ? 'BB' : 'AA');
    const forged = 'AuthSession=' + Buffer.from(`${credentials.name}:7FFFFFFF:xxxxxxxxxxxxxxxxxxxx`).toString('base64');
    for (const cookie of [flipped, forged, 'AuthSession=garbage', 'AuthSession=', 'AuthSession=%%%']) {
      const answer = await server.get('/_all_dbs', { auth: false, headers: { Cookie: cookie } });
      assert.ok([400, 401].includes(answer.status), `${cookie}: ${answer.status}`);
    }
  });

  test('the administrator may ask who is asking in every way', async () => {
    const reply = await server.get('/_session', { headers: { 'X-CouchDB-WWW-Authenticate': 'Cookie' } });
    expectStatus(reply, 200);
    const refused = await server.get('/_all_dbs', { auth: false, headers: { 'X-CouchDB-WWW-Authenticate': 'Cookie' } });
    assert.equal(refused.headers['www-authenticate'], 'Cookie');
  });
});

describe('users and the security of databases', () => {
  let server;
  const user = (name, more = {}) => ({ _id: `org.couchdb.user:${name}`, type: 'user', name, password: `${name}-pw`, roles: [], ...more });
  const as = (name) => ({ auth: `${name}:${name}-pw` });
  const userPath = (name) => `/_users/org.couchdb.user:${name}`;
  before(async () => {
    server = await Server.start({ admin: true, config });
    if ((await server.get('/_users')).status === 404) expectStatus(await server.put('/_users'), 201);
    for (const doc of [user('bob'), user('eva', { roles: ['staff'] }), user('max', { roles: ['boss'] })]) {
      expectStatus(await server.put(`/_users/${doc._id}`, doc), 201);
    }
  });
  after(() => server?.stop());

  test('a user document keeps no password', async () => {
    const doc = (await server.get(userPath('bob'))).body;
    assert.equal(doc.password, undefined);
    assert.equal(doc.password_scheme, 'pbkdf2');
    assert.equal(typeof doc.derived_key, 'string');
    assert.equal(typeof doc.salt, 'string');
    assert.equal(doc.iterations, 1000);
  });

  test('a user signs in with name and password, and has the roles', async () => {
    const body = (await server.get('/_session', as('eva'))).body;
    assert.deepEqual(body.userCtx, { name: 'eva', roles: ['staff'] });
    const session = await server.post('/_session', { name: 'eva', password: 'eva-pw' }, { auth: false });
    assert.deepEqual(expectStatus(session, 200), { ok: true, name: 'eva', roles: ['staff'] });
    expectStatus(await server.get('/_session', { auth: 'eva:wrong' }), 401);
  });

  test('a changed password counts at once', async () => {
    await server.put(userPath('changing'), user('changing'));
    expectStatus(await server.get('/_session', as('changing')), 200);
    const doc = (await server.get(userPath('changing'))).body;
    expectStatus(await server.put(userPath('changing'), { ...doc, password: 'new' }), 201);
    expectStatus(await server.get('/_session', as('changing')), 401);
    expectStatus(await server.get('/_session', { auth: 'changing:new' }), 200);
  });

  test('a deleted user cannot log in', async () => {
    const { rev } = (await server.put(userPath('leaving'), user('leaving'))).body;
    expectStatus(await server.get('/_session', as('leaving')), 200);
    expectStatus(await server.delete(`${userPath('leaving')}?rev=${rev}`), 200);
    expectStatus(await server.get('/_session', as('leaving')), 401);
  });

  test('user documents have rules', async () => {
    expectStatus(await server.put(userPath('x'), user('y', { _id: undefined })), 403);
    expectStatus(await server.put(userPath('x'), { type: 'user', roles: [] }), 403);
    expectStatus(await server.put(userPath('x'), { ...user('x'), _id: undefined, roles: undefined }), 403);
    expectStatus(await server.put(userPath('x'), { ...user('x'), roles: ['_special'] }), 403);
    expectStatus(await server.put(userPath('x'), { ...user('x'), roles: 'staff' }), 403);
    expectStatus(await server.put('/_users/not-a-user-id', { type: 'user', name: 'x', roles: [] }), 403);
  });

  test('the users database is for administrators', async () => {
    for (const path of ['/_users', '/_users/_all_docs', '/_users/_changes', userPath('bob'), userPath('eva')]) {
      expectStatus(await server.get(path, as('bob')), 403);
      expectStatus(await server.get(path, basic(false)), 401);
    }
    const own = (await server.get(userPath('bob'))).body;
    expectStatus(await server.put(userPath('bob'), { ...own, roles: ['boss'] }, as('bob')), 403);
    assert.deepEqual((await server.get(userPath('bob'))).body.roles, []);
  });

  test('a new database is for administrators, until its security says otherwise', async () => {
    const db = await server.database();
    await server.put(`/${db}/doc`, {});
    expectError(await server.get(`/${db}/doc`, basic(false)), 401, 'unauthorized', 'You are not authorized to access this db.');
    expectError(await server.get(`/${db}/doc`, as('bob')), 403, 'forbidden', 'You are not allowed to access this db.');
    assert.deepEqual((await server.get(`/${db}/_security`)).body, { members: { roles: ['_admin'] }, admins: { roles: ['_admin'] } });
    expectStatus(await server.put(`/${db}/_security`, {}), 200);
    expectStatus(await server.get(`/${db}/doc`, basic(false)), 200);
    expectStatus(await server.put(`/${db}/other`, {}, basic(false)), 201);
  });

  test('members by name and by role', async () => {
    const db = await server.database();
    expectStatus(await server.put(`/${db}/_security`, { members: { names: ['bob'], roles: ['staff'] } }), 200);
    expectStatus(await server.put(`/${db}/doc`, { a: 1 }, as('bob')), 201);
    expectStatus(await server.get(`/${db}/doc`, as('eva')), 200);
    expectStatus(await server.get(`/${db}/doc`, as('max')), 403);
    expectStatus(await server.get(`/${db}/doc`, basic(false)), 401);
    expectStatus(await server.get(`/${db}/doc`), 200);
    for (const path of ['_all_docs', '_changes', '_index', '', '_security', '_design_docs', '_local_docs']) {
      expectStatus(await server.get(`/${db}/${path}`, as('max')), 403);
    }
    expectStatus(await server.post(`/${db}/_find`, { selector: {} }, as('max')), 403);
    expectStatus(await server.post(`/${db}/_bulk_get`, { docs: [] }, as('max')), 403);
    expectStatus(await server.post(`/${db}/_find`, { selector: {} }, as('eva')), 200);
  });

  test('admins of a database write design documents, indexes and security', async () => {
    const db = await server.database();
    await server.put(`/${db}/_security`, { members: { roles: ['staff'] }, admins: { roles: ['boss'] } });
    const design = { language: 'query', views: {} };
    expectError(await server.put(`/${db}/_design/a`, design, as('eva')), 403, 'forbidden', 'You are not a db or server admin.');
    expectStatus(await server.put(`/${db}/_design/a`, design, as('max')), 201);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['a'] } }, as('eva')), 403);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['a'] } }, as('max')), 200);
    expectError(await server.put(`/${db}/_security`, {}, as('eva')), 403, 'forbidden');
    expectStatus(await server.put(`/${db}/_security`, { members: { roles: ['staff'] }, admins: { roles: ['boss'] } }, as('max')), 200);
    expectError(await server.delete(`/${db}`, as('max')), 401, 'unauthorized', 'You are not a server admin.');
    expectStatus(await server.put(`/${db}/_revs_limit`, '10', as('eva')), 403);
    expectStatus(await server.post(`/${db}/_compact`, {}, as('eva')), 403);
  });

  test('a security object must be one', async () => {
    const db = await server.database();
    expectStatus(await server.put(`/${db}/_security`, []), 400);
    expectStatus(await server.put(`/${db}/_security`, { members: [] }), 400);
    expectStatus(await server.put(`/${db}/_security`, { admins: { names: 'bob' } }), 400);
    expectStatus(await server.put(`/${db}/_security`, { members: { roles: [5] } }), 400);
    expectStatus(await server.put(`/${db}/_security`, { custom: { any: 'thing' } }), 200);
    assert.deepEqual((await server.get(`/${db}/_security`)).body, { custom: { any: 'thing' } });
  });

  test('users survive a restart', async () => {
    await server.stop({ keepFolder: true });
    await server.relaunch();
    expectStatus(await server.get('/_session', as('bob')), 200);
    expectStatus(await server.get('/_session', { auth: 'bob:wrong' }), 401);
  });
});

describe('sessions that run out', () => {
  test('a cookie is good for the session timeout, also over a restart', async (t) => {
    const timeoutS = 4 + patience;
    const server = await Server.startFor(t, { admin: true, config: '[auth]\npbkdf2_iterations = 1000\nsession_timeout = "' + timeoutS + 's"\n' });
    const reply = await server.post('/_session', { name: credentials.name, password: credentials.password }, { auth: false });
    const headers = { Cookie: cookieOf(reply).value };
    await server.stop({ keepFolder: true });
    await server.relaunch();
    expectStatus(await server.get('/_all_dbs', { auth: false, headers }), 200);
    await sleep(1000 * timeoutS + 1200);
    expectStatus(await server.get('/_all_dbs', { auth: false, headers }), 401);
    await server.stop();
  });
});

describe('SIGHUP', () => {
  const level = (name) => `[log]\nlevel = "${name}"\n`;
  const admins = (list) => `${config}[admins]\n${Object.entries(list).map(([name, password]) => `${name} = "${password}"\n`).join('')}`;

  test('admins and the level of the log are read again; a configuration that cannot be used changes nothing', async (t) => {
    const server = await Server.startFor(t, { config: admins({ ann: 'one', bob: 'two' }), keepConfig: true });
    const status = async (login) => (await server.get('/_all_dbs', basic(login))).status;
    const session = cookieOf(await server.post('/_session', { name: 'bob', password: 'two' }, { auth: false })).value;
    const inSession = async () => (await server.get('/_all_dbs', { auth: false, headers: { Cookie: session } })).status;
    assert.deepEqual([await status('ann:one'), await status('bob:two'), await inSession()], [200, 200, 200]);

    fs.writeFileSync(server.configFile, admins({ ann: 'new', eve: 'three' }));
    await server.reload(/as the configuration has them now/);
    assert.deepEqual([await status('ann:new'), await status('eve:three')], [200, 200]);
    assert.deepEqual([await status('ann:one'), await status('bob:two'), await inSession()], [401, 401, 401]);

    for (const wrong of ['[admins', `${admins({ ann: 'newer' })}[server]\nport = "none"\n`]) {
      fs.writeFileSync(server.configFile, wrong);
      await server.reload(/error SIGHUP: the configuration cannot be used, nothing changes/);
      assert.deepEqual([await status('ann:new'), await status('eve:three'), await status('ann:newer')], [200, 200, 401]);
    }

    fs.writeFileSync(server.configFile, admins({ ann: 'new' }) + level('warn'));
    const before = server.lines.length;
    server.process.kill('SIGHUP');
    await eventually(async () => (await status('eve:three')) === 401);
    assert.ok(!server.lines.slice(before).some((line) => line.includes('SIGHUP: certificates')), 'an event of the level info');
    await server.stop();
  });

  test('an admin that the configuration names while the server runs closes it to all others', async (t) => {
    const server = await Server.startFor(t, { config, keepConfig: true });
    expectStatus(await server.put('/open'), 201);
    fs.writeFileSync(server.configFile, admins({ ann: 'one' }));
    await server.reload(/as the configuration has them now/);
    expectStatus(await server.put('/closed'), 401);
    expectStatus(await server.put('/closed', undefined, basic('ann:one')), 201);
    await server.stop();
  });
});

describe('a server that wants valid users', () => {
  test('refuses requests without credentials, except _up', async (t) => {
    const server = await Server.startFor(t, { admin: true, config: '[auth]\nrequire_valid_user = true\npbkdf2_iterations = 1000\n' });
    expectStatus(await server.get('/_up', { auth: false }), 200);
    const refused = await server.get('/', { auth: false });
    expectError(refused, 401, 'unauthorized', 'Authentication required.');
    assert.equal(refused.headers['www-authenticate'], 'Basic realm="server"');
    expectStatus(await server.get('/'), 200);
    await server.stop();
  });
});

describe('a server behind a proxy that knows the users', () => {
  test('believes only the proxy, by its token', async (t) => {
    const server = await Server.startFor(t, { admin: true, config: '[auth]\nproxy_secret = "shared"\npbkdf2_iterations = 1000\n' });
    const session = async (name, secret) => {
      const token = createHmac('sha256', secret).update(name).digest('hex');
      const headers = { 'X-Auth-CouchDB-UserName': name, 'X-Auth-CouchDB-Roles': 'staff,blogger', 'X-Auth-CouchDB-Token': token };
      return expectStatus(await server.get('/_session', { auth: false, headers }), 200);
    };
    const known = await session('jane', 'shared');
    assert.deepEqual(known.userCtx, { name: 'jane', roles: ['staff', 'blogger'] });
    assert.equal(known.info.authenticated, 'proxy');
    assert.ok(known.info.authentication_handlers.includes('proxy'));
    assert.equal((await session('jane', 'guessed')).userCtx.name, null);
    await server.stop();
  });
});

describe('a server without administrators', () => {
  test('on loopback every user may do everything', async (t) => {
    const server = await Server.startFor(t);
    const body = (await server.get('/_session')).body;
    assert.deepEqual(body.userCtx, { name: null, roles: ['_admin'] });
    expectStatus(await server.put('/free'), 201);
    await server.stop();
  });
});
