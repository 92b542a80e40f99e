// Programs that set a CouchDB server up.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import addCors from 'add-cors-to-couchdb';
import { Server } from '../harness.mjs';

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
});
