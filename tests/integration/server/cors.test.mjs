import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { credentials, expectError, expectStatus, Server } from '../harness.mjs';

const origin = 'https://shop.example.com';

describe('CORS switched on', () => {
  let server;
  before(async () => {
    server = await Server.start({
      config: `[cors]\nenabled = true\norigins = ["${origin}"]\ncredentials = true\nmax_age = "600s"\n`,
    });
    await server.put('/db');
  });
  after(() => server?.stop());
  const from = (Origin, more = {}) => ({ headers: { Origin, ...more } });

  test('an allowed origin is named in the reply', async () => {
    const reply = await server.get('/db', from(origin));
    expectStatus(reply, 200);
    assert.equal(reply.headers['access-control-allow-origin'], origin);
    assert.equal(reply.headers['access-control-allow-credentials'], 'true');
    assert.match(reply.headers['access-control-expose-headers'], /etag/i);
    assert.match(reply.headers.vary ?? '', /origin/i);
  });

  test('another origin gets no permission', async () => {
    const reply = await server.get('/db', from('https://evil.example.com'));
    assert.equal(reply.headers['access-control-allow-origin'], undefined);
    assert.equal((await server.get('/db')).headers['access-control-allow-origin'], undefined);
  });

  test('errors are readable for an allowed origin too', async () => {
    const reply = await server.get('/nowhere', from(origin));
    expectStatus(reply, 404);
    assert.equal(reply.headers['access-control-allow-origin'], origin);
  });

  test('an allowed origin may write', async () => {
    expectStatus(await server.put('/db/from-afar', {}, from(origin)), 201);
    expectStatus(await server.post('/db/_bulk_docs', { docs: [] }, from(origin)), 201);
  });

  test('a preflight is answered', async () => {
    const reply = await server.request('OPTIONS', '/db/doc', from(origin, {
      'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'content-type, if-match' }));
    assert.ok([200, 204].includes(reply.status));
    assert.equal(reply.headers['access-control-allow-origin'], origin);
    assert.match(reply.headers['access-control-allow-methods'], /PUT/);
    assert.match(reply.headers['access-control-allow-headers'], /content-type/i);
    assert.equal(reply.headers['access-control-max-age'], '600');
  });

  test('a preflight for a method or origin not allowed gets no permission', async () => {
    const method = await server.request('OPTIONS', '/db', from(origin, { 'Access-Control-Request-Method': 'TRACE' }));
    assert.equal(method.headers['access-control-allow-methods'], undefined);
    const elsewhere = await server.request('OPTIONS', '/db', from('https://evil.example.com', { 'Access-Control-Request-Method': 'PUT' }));
    assert.equal(elsewhere.headers['access-control-allow-origin'], undefined);
  });
});

describe('CORS switched off', () => {
  test('no origin gets permission', async (t) => {
    const server = await Server.startFor(t);
    const reply = await server.get('/', { headers: { Origin: origin } });
    assert.equal(reply.headers['access-control-allow-origin'], undefined);
    await server.stop();
  });
});

describe('writes for pages of other sites', () => {
  const evil = 'https://evil.example';
  const from = (Origin, more = {}) => ({ headers: { Origin, ...more } });

  test('are refused where no credentials are needed', async (t) => {
    const server = await Server.startFor(t);
    await server.put('/db');
    for (const foreign of [evil, 'null', 'http://localhost:1', `http://127.0.0.1:${server.port + 1}`]) {
      expectError(await server.put('/db/doc', {}, from(foreign)), 403, 'forbidden', /cors\.origins/);
      expectError(await server.delete('/db', from(foreign)), 403, 'forbidden');
      expectError(await server.post('/_session', 'name=a&password=b', from(foreign, { 'Content-Type': 'application/x-www-form-urlencoded' })),
        403, 'forbidden');
    }
    expectStatus(await server.get('/db', from(evil)), 200);
    expectStatus(await server.get('/db'), 200);
    await server.stop();
  });

  test('are refused with a cookie, which browsers add by themselves, but not with a password', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    await server.put('/db');
    const login = await server.post('/_session', credentials, { auth: false });
    const Cookie = login.headers['set-cookie'][0].split(';')[0];
    const cookie = (Origin) => ({ auth: false, headers: { Cookie, ...(Origin && { Origin }) } });
    expectError(await server.put('/db/doc', {}, cookie(evil)), 403, 'forbidden');
    expectStatus(await server.put('/db/a', {}, cookie()), 201);
    expectStatus(await server.put('/db/b', {}, cookie(`http://127.0.0.1:${server.port}`)), 201);
    expectStatus(await server.put('/db/c', {}, from(evil)), 201);
    await server.stop();
  });

  test('a page of the server itself may write, also behind a proxy', async (t) => {
    const server = await Server.startFor(t);
    await server.put('/db');
    expectStatus(await server.put('/db/a', {}, from(`http://127.0.0.1:${server.port}`)), 201);
    expectStatus(await server.put('/db/b', {}, from('https://Shop.example', { 'X-Forwarded-Host': 'shop.example' })), 201);
    await server.stop();
  });
});
