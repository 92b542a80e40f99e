import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectStatus, Server } from './harness.mjs';

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
