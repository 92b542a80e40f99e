// Programs that set a CouchDB server up.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
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

  test('couchdb-bootstrap makes databases, users, rights, designs and settings of a folder, and again what changed', async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-bootstrap-'));
    t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
    const write = (name, value) => {
      fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      fs.writeFileSync(path.join(folder, name), typeof value === 'string' ? value : JSON.stringify(value));
    };
    const rights = { admins: { names: [], roles: ['_admin'] }, members: { names: ['alice'], roles: [] } };
    const alice = { _id: 'org.couchdb.user:alice', type: 'user', name: 'alice', password: 'secure', roles: [] };
    write('_config.json', { couch_httpd_auth: { timeout: 1200 }, log: { level: 'warning' } });
    write('_users/alice.json', alice);
    write('myapp/_security.json', rights);
    write('myapp/_design/notes/views/by-date/map.js', 'function (doc) { emit(doc.date, null) }');
    write('myapp/first.json', { date: 1 });
    write('empty/_security.json', rights);
    const address = server.url.replace('//', '//admin:correct%20horse@');
    const run = () => promisify(bootstrap)(address, folder);

    await run();

    assert.deepEqual((await server.get('/myapp/_security')).body.members.names, ['alice']);
    assert.equal((await server.get('/_node/_local/_config/couch_httpd_auth/timeout')).body, '1200');
    const asAlice = { auth: 'alice:secure' };
    const view = '/myapp/_design/notes/_view/by-date';
    assert.deepEqual(expectStatus(await server.get(view, asAlice), 200).rows.map(({ id }) => id), ['first']);
    expectStatus(await server.get('/empty', asAlice), 200);

    const { _rev: before } = (await server.get('/myapp/_design/notes')).body;
    // It signs in as a user to compare the password, and would remain signed in as that user: the cookie counts before the header.
    fs.rmSync(path.join(folder, '_users'), { recursive: true });
    write('myapp/second.json', { date: 0 });
    write('myapp/first.json', { date: 2 });
    await run();
    assert.equal((await server.get('/myapp/_design/notes')).body._rev, before);
    assert.deepEqual((await server.get(view, asAlice)).body.rows.map(({ key }) => key), [0, 2]);
    expectStatus(await server.get('/myapp/first', { auth: 'alice:wrong' }), 401);
  });
});
