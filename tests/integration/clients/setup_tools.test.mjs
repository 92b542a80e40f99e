// Programs that set a CouchDB server up: its configuration, databases, users, design documents and permissions.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import addCors from 'add-cors-to-couchdb';
import bootstrap from 'couchdb-bootstrap';
import { expectStatus, Server } from '../harness.mjs';

describe('setup tools', () => {
  let server;
  before(async () => {
    server = await Server.start({ admin: true });
  });
  after(() => server?.stop());

  test('add-cors-to-couchdb lets pages of other origins ask, at once', async () => {
    const origin = 'https://app.example.com';
    const before = await server.request('GET', '/_up', { headers: { Origin: origin } });
    assert.equal(before.headers['access-control-allow-origin'], undefined);
    await addCors(server.url, 'admin:correct horse');
    const reply = await server.request('GET', '/_up', { headers: { Origin: origin } });
    assert.ok(['*', origin].includes(reply.headers['access-control-allow-origin']), JSON.stringify(reply.headers));
  });

  test('couchdb-bootstrap writes configuration, permissions and documents, again without a change', async () => {
    const project = {
      _config: { chttpd: { require_valid_user: 'true' }, cors: { origins: 'https://shop.example.com' } },
      shop: {
        _security: { members: { names: ['ann'], roles: [] }, admins: { names: [], roles: ['owner'] } },
        settings: { currency: 'EUR' },
        _design: { orders: { views: { by_day: { map: 'function (doc) { emit(doc.day); }' } } } },
        _local: { note: { text: 'kept here' } },
      },
    };
    const run = () => new Promise((resolve, reject) => {
      bootstrap(server.urlWithCredentials, structuredClone(project), (error, result) => (error ? reject(error) : resolve(result)));
    });
    const first = await run();
    assert.equal(first.configure['chttpd/require_valid_user'].ok, true);
    expectStatus(await server.request('GET', '/shop', { auth: false }), 401);
    assert.equal((await server.request('GET', '/shop/settings')).body.currency, 'EUR');
    assert.deepEqual((await server.request('GET', '/shop/_security')).body.members.names, ['ann']);
    expectStatus(await server.request('GET', '/shop/_design/orders/_view/by_day'), 200);
    const again = await run();
    assert.equal(again.configure['chttpd/require_valid_user'].unchanged, true);
  });
});
