import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { binary, expectStatus, patience, Server } from '../harness.mjs';

function runWith(variables, ...args) {
  return new Promise((resolve) =>
    execFile(binary, args, { timeout: 20_000 * patience, env: { PATH: process.env.PATH, ...variables } }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr })));
}

const run = (...args) => runWith({}, ...args);

/// A folder that is gone when the test is over, however it ends.
function folderFor(testContext) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-command-line-'));
  testContext.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the octavo program', () => {
  test('tells its version', async () => {
    const { code, stdout } = await run('version');
    assert.equal(code, 0);
    assert.match(stdout, /\d+\.\d+\.\d+/);
  });

  test('helps', async () => {
    const { code, stdout } = await run('--help');
    assert.equal(code, 0);
    for (const word of ['serve', 'health', 'check', 'version']) assert.ok(stdout.includes(word), word);
    const serve = await run('serve', '--help');
    for (const word of ['--data-dir', '--bind', '--port', '--config']) assert.ok(serve.stdout.includes(word), word);
  });

  test('health asks a running server', async (t) => {
    const server = await Server.startFor(t);
    const good = await run('health', '--url', `${server.url}/_up`);
    await server.stop();
    assert.equal(good.code, 0, good.stderr);
    const bad = await run('health', '--url', `${server.url}/_up`);
    assert.equal(bad.code, 1);
    assert.equal(bad.stderr, `No answer from ${server.url}/_up: Connection refused.\n`);
  });

  test('health knows the port of the server that uses the data folder, until the server stops', async (t) => {
    const server = await Server.startFor(t);
    const good = await runWith({ OCTAVO_DATA_DIR: server.dataDir, OCTAVO_PORT: '1' }, 'health');
    await server.stop({ keepFolder: true });
    assert.equal(good.code, 0, good.stderr);
    const bad = await runWith({ OCTAVO_DATA_DIR: server.dataDir, OCTAVO_PORT: '1' }, 'health');
    server.removeFolder();
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /^No answer from http:\/\/127\.0\.0\.1:1\/_up: Connection refused\.$/m);
  });

  test('check finds a sound folder sound', async (t) => {
    const server = await Server.startFor(t);
    await server.put('/db?q=2');
    await server.fill('db', Array.from({ length: 50 }, (_, n) => ({ _id: `d${n}`, n })));
    await server.post('/db/_index', { index: { fields: ['n'] } });
    await server.put('/db/_design/d', { views: { v: { map: "function (doc) { log('seen'); emit(doc.n.missing.member); }" } } });
    expectStatus(await server.get('/db/_design/d/_view/v'), 200);
    await server.stop({ keepFolder: true });
    const { code, stdout, stderr } = await run('check', '--data-dir', server.dataDir);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /^checked \d+ databases, \d+ documents in \d+ ms: sound\n$/);
    assert.equal(stderr, '');
    server.removeFolder();
  });

  test('check says why it cannot look', async () => {
    const { code, stderr } = await run('check', '--data-dir', `/tmp/${'x'.repeat(300)}`);
    assert.equal(code, 1);
    assert.match(stderr, /^octavo: cannot look into .*name too long/i);
  });

  test('check finds a damaged folder damaged', async (t) => {
    const server = await Server.startFor(t);
    await server.put('/db');
    for (let part = 0; part < 3; ++part) {
      await server.fill('db', Array.from({ length: 1000 }, (_, n) => ({ _id: `d${part}-${n}`, text: 'x'.repeat(300) })));
    }
    await server.stop({ keepFolder: true });
    const files = fs.readdirSync(server.dataDir, { recursive: true }).map((name) => path.join(server.dataDir, name))
      .filter((file) => fs.statSync(file).isFile()).sort((a, b) => fs.statSync(b).size - fs.statSync(a).size);
    const handle = fs.openSync(files[0], 'r+');
    for (let page = 4; page < 200; page += 2) fs.writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, page * 4096);
    fs.closeSync(handle);
    const { code } = await run('check', '--data-dir', server.dataDir);
    assert.equal(code, 1);
    server.removeFolder();
  });

  test('a public address without any authentication is refused, with advice', async (t) => {
    const folder = folderFor(t);
    const { code, stdout, stderr } = await run('serve', '--data-dir', folder, '--port', '0', '--bind', '0.0.0.0');
    assert.notEqual(code, 0);
    assert.match(stdout + stderr, /admin|password/i);
  });

  test('an unknown setting is refused with a suggestion', async (t) => {
    const { code, stderr } = await run('serve', '--prot', '5984');
    assert.notEqual(code, 0);
    assert.match(stderr, /--port/);
    const folder = folderFor(t);
    const file = path.join(folder, 'octavo.toml');
    fs.writeFileSync(file, '[server]\nprot = 1\n');
    const fromFile = await run('serve', '--config', file);
    assert.notEqual(fromFile.code, 0);
    assert.match(fromFile.stderr, /port/);
  });

  test('--print-config prints settings that can be read again', async (t) => {
    const printed = await run('serve', '--port', '1234', '--print-config');
    assert.equal(printed.code, 0, printed.stderr);
    assert.match(printed.stdout, /port\s*=\s*1234/);
    const folder = folderFor(t);
    const file = path.join(folder, 'octavo.toml');
    fs.writeFileSync(file, printed.stdout);
    const again = await run('serve', '--config', file, '--print-config');
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, /port\s*=\s*1234/);
  });

  test('settings come from the environment, also from secret files', async (t) => {
    const folder = folderFor(t);
    fs.writeFileSync(path.join(folder, 'password'), 'from-a-file\n');
    const server = await Server.startFor(t, { env: { COUCHDB_USER: 'root', COUCHDB_PASSWORD_FILE: path.join(folder, 'password'), OCTAVO_DATABASE_DEFAULT_Q: '3' } });
    expectStatus(await server.put('/db', undefined, { auth: 'root:from-a-file' }), 201);
    assert.equal((await server.get('/db', { auth: 'root:from-a-file' })).body.cluster.q, 3);
    await server.stop();
  });
});
