// A page must not reach a server without admins under a name of its own (DNS rebinding).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosRequest } from '../cosmos_request.mjs';
import { expectError, expectStatus, Server } from '../harness.mjs';

const under = (Host) => ({ headers: { Host } });

describe('the header Host on a server without admins', () => {
  let server;
  before(async () => {
    server = await Server.start({ config: '[server]\nallowed_hosts = ["db.example.com"]\n[cosmos]\nenabled = true\n' });
    await server.put('/db');
  });
  after(() => server?.stop());

  test('a host name that an attacker may have registered reads and writes nothing', async () => {
    const host = under(`rebound.example:${server.port}`);
    expectError(await server.get('/db', host), 403, 'forbidden', /Host.*server\.allowed_hosts/s);
    expectError(await server.put('/db/d', {}, host), 403, 'forbidden', /Host/);
    expectStatus(await server.get('/db/d'), 404);
  });

  test('local names, addresses and allowed names are served', async () => {
    for (const host of ['localhost', `127.0.0.1:${server.port}`, '[::1]', 'octavo', 'host.docker.internal', 'DB.example.com:80']) {
      expectStatus(await server.get('/db', under(host)), 200);
    }
  });

  test('the well-known key counts under local names only', async () => {
    expectStatus(await cosmosRequest(server, 'GET', '/dbs', { headers: { Host: 'localhost:8081' } }), 200);
    const reply = await cosmosRequest(server, 'GET', '/dbs', { headers: { Host: 'rebound.example' } });
    expectStatus(reply, 401);
    assert.match(reply.body.message, /local name/);
  });
});

test('a server with an admin answers under any name', async (t) => {
  const server = await Server.start({ admin: true });
  t.after(() => server.stop());
  expectStatus(await server.get('/_all_dbs', under('db.example.com')), 200);
});
