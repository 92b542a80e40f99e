// One port of the Cosmos DB API serves HTTPS and HTTP: the first byte of a connection decides.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CosmosClient } from '@azure/cosmos';
import { authorization, cosmosClient, newContainer, wellKnownKey } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

/// One request without a signature. `ca`: over HTTPS, trusting this certificate; `blind`: over HTTPS, trusting any.
function request(server, target, { ca, blind = false, headers = {}, host = '127.0.0.1' } = {}) {
  const secure = ca !== undefined || blind;
  const options = { host, port: server.cosmosPort, path: target, headers, ca, rejectUnauthorized: !blind, agent: false };
  return new Promise((resolve, reject) => {
    (secure ? https : http).get(options, (reply) => {
      let text = '';
      reply.on('data', (chunk) => { text += chunk; });
      reply.on('end', () => resolve({ status: reply.statusCode, text, headers: reply.headers }));
    }).on('error', reject);
  });
}

const certificateOf = async (server, options) => (await request(server, '/_explorer/emulator.pem', options)).text;

/// What comes back for raw bytes, until the server closes the connection.
function exchange(server, parts) {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = net.connect(server.cosmosPort, '127.0.0.1', async () => {
      for (const part of parts) {
        socket.write(part);
        await new Promise((next) => setTimeout(next, 30));
      }
    });
    socket.on('data', (chunk) => { text += chunk.toString('latin1'); });
    socket.on('error', (error) => (text === '' ? reject(error) : undefined));
    socket.on('close', () => resolve(text));
  });
}

function signed(target) {
  const date = new Date().toUTCString();
  return { 'x-ms-date': date, 'x-ms-version': '2020-07-15', authorization: authorization('GET', target, date) };
}

const certificateFile = (server) => path.join(server.dataDir, 'development-certificate.pem');

describe('HTTP and HTTPS on one port', () => {
  let server, ca;
  before(async () => {
    server = await Server.start();
    ca = await certificateOf(server, { blind: true });
  });
  after(() => server?.stop());

  test('the certificate can be downloaded over both schemes, without a key', async () => {
    const plain = await request(server, '/_explorer/emulator.pem');
    assert.equal(plain.status, 200);
    assert.match(plain.text, /^-----BEGIN CERTIFICATE-----\n[\s\S]+-----END CERTIFICATE-----\n$/);
    assert.ok(!plain.text.includes('PRIVATE KEY'));
    assert.equal(plain.text, ca);
  });

  test('the probes of the emulator answer over both schemes, without a key', async () => {
    for (const target of ['/alive', '/ready']) {
      for (const options of [{}, { blind: true }]) assert.equal((await request(server, target, options)).status, 200, target);
    }
    assert.equal((await request(server, '/dbs')).status, 401);
  });

  test('the client works over HTTPS once it trusts the certificate, by each name of this machine', async () => {
    for (const host of ['localhost', '127.0.0.1']) {
      const agent = new https.Agent({ ca, family: 4 });
      const client = new CosmosClient({ endpoint: `https://${host}:${server.cosmosPort}`, key: wellKnownKey, agent });
      const container = await newContainer(client);
      const text = 'x'.repeat(200_000);
      await container.items.create({ id: 'a', pk: 'p', text });
      assert.equal((await container.item('a', 'p').read()).resource.text.length, text.length);
      client.dispose();
      agent.destroy();
    }
  });

  test('a client that does not trust the certificate is not let on by the server', async () => {
    await assert.rejects(request(server, '/', { ca: '' }), /self.signed|unable to verify/i);
  });

  test('clients of both schemes see the same items at once', async () => {
    const agent = new https.Agent({ ca, keepAlive: true });
    const secure = new CosmosClient({ endpoint: `https://127.0.0.1:${server.cosmosPort}`, key: wellKnownKey, agent });
    const plain = cosmosClient(server);
    const container = await newContainer(plain);
    const same = secure.database(container.database.id).container(container.id);
    await Promise.all(Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? container : same).items.create({ id: `i${n}`, pk: 'p' })));
    for (const one of [container, same]) {
      assert.equal((await one.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources[0], 20);
    }
    plain.dispose();
    secure.dispose();
    agent.destroy();
  });

  test('the account names its endpoints by the scheme and the host of the request', async () => {
    for (const [options, scheme] of [[{}, 'http'], [{ ca }, 'https']]) {
      const reply = await request(server, '/', { ...options, headers: { ...signed('/'), Host: `localhost:${server.cosmosPort}` } });
      assert.equal(reply.status, 200, reply.text);
      const { writableLocations } = JSON.parse(reply.text);
      assert.equal(writableLocations[0].databaseAccountEndpoint, `${scheme}://localhost:${server.cosmosPort}/`);
    }
  });

  test('behind a proxy, the account names its endpoints as the proxy tells', async () => {
    const headers = { ...signed('/'), 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'db.example.com' };
    for (const options of [{}, { ca }]) {
      const reply = await request(server, '/', { ...options, headers });
      assert.equal(JSON.parse(reply.text).readableLocations[0].databaseAccountEndpoint, 'https://db.example.com/', reply.text);
    }
  });

  test('the certificate is for local names and this machine, and for nothing else', () => {
    const text = execFileSync('openssl', ['x509', '-noout', '-subject', '-ext', 'subjectAltName', '-enddate'], { input: ca }).toString();
    const validTo = text.match(/notAfter=(.*)/)[1];
    assert.match(text, /CN ?= ?localhost/);
    for (const name of ['DNS:localhost', 'IP Address:127.0.0.1', 'IP Address:0:0:0:0:0:0:0:1']) assert.ok(text.includes(name), name);
    if (os.hostname() !== 'localhost' && /^[\w.-]+$/.test(os.hostname())) assert.ok(text.includes(`DNS:${os.hostname()}`));
    const years = (Date.parse(validTo) - Date.now()) / (365.25 * 24 * 3600 * 1000);
    assert.ok(years > 9.9 && years < 10.1, validTo);
  });

  test('only the server may read the file with the key', () => {
    assert.equal(fs.statSync(certificateFile(server)).mode & 0o777, 0o600);
    assert.match(fs.readFileSync(certificateFile(server), 'utf8'), /PRIVATE KEY/);
  });

  test('a first byte that comes late and alone starts a request as any other', async () => {
    const reply = await exchange(server, ['G', 'E', 'T /_explorer/emulator.pem HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n']);
    assert.match(reply, /^HTTP\/1\.1 200 /);
  });

  test('a first byte of neither scheme is answered 400, in the form of this API', async () => {
    const reply = await exchange(server, [Buffer.from([0x80, 0x2e, 0x01, 0x00, 0x02])]);
    assert.match(reply, /^HTTP\/1\.1 400 /);
    assert.match(reply, /"code":"BadRequest"/);
  });

  test('a handshake that is garbage ends the connection, and nothing else', async () => {
    const reply = await exchange(server, [Buffer.concat([Buffer.from([0x16]), Buffer.alloc(600, 0xa5)])]).catch(() => '');
    assert.ok(!reply.includes('HTTP/1.1'));
    assert.equal((await request(server, '/_explorer/emulator.pem', { ca })).status, 200);
  });

  test('the well-known key counts under names of this machine only, over both schemes', async () => {
    // The certificate is not made out to that name either, but a browser's owner may have accepted it.
    for (const options of [{}, { blind: true }]) {
      const rebound = await request(server, '/dbs', { ...options, headers: { ...signed('/dbs'), Host: 'evil.example' } });
      assert.equal(rebound.status, 401, rebound.text);
      const local = await request(server, '/dbs', { ...options, headers: { ...signed('/dbs'), Host: 'localhost' } });
      assert.equal(local.status, 200, local.text);
    }
  });
});

test('a connection that sends no first byte is given up', async (t) => {
  const server = await Server.startFor(t, { env: { OCTAVO_HTTP_HEADER_TIMEOUT: '200ms' } });
  assert.equal(await exchange(server, []), '');
  assert.equal((await request(server, '/_explorer/emulator.pem')).status, 200);
  await server.stop();
});

test('a server stops at once while a connection has sent nothing', async (t) => {
  const server = await Server.startFor(t, { env: { OCTAVO_SHUTDOWN_TIMEOUT: '1h' } });
  const closed = exchange(server, []);
  assert.equal((await request(server, '/_explorer/emulator.pem')).status, 200);
  await server.stop();
  assert.equal(await closed, '');
});

test('a restart keeps the certificate, and a damaged one is replaced', async (t) => {
  const server = await Server.startFor(t);
  const first = await certificateOf(server);
  await server.stop({ keepFolder: true });
  await server.relaunch();
  assert.equal(await certificateOf(server, { ca: first }), first);
  await server.stop({ keepFolder: true });
  fs.writeFileSync(certificateFile(server), 'damaged');
  await server.relaunch();
  const second = await certificateOf(server);
  assert.match(second, /BEGIN CERTIFICATE/);
  assert.notEqual(second, first);
  assert.equal(await certificateOf(server, { ca: second }), second);
  await server.stop();
});

test('`off` serves HTTP only, and makes no certificate', async (t) => {
  const server = await Server.startFor(t, { env: { OCTAVO_COSMOS_TLS: 'off' } });
  assert.equal((await request(server, '/_explorer/emulator.pem')).status, 404);
  assert.equal((await request(server, '/', { headers: signed('/') })).status, 200);
  await assert.rejects(request(server, '/', { blind: true }));
  assert.ok(!fs.existsSync(certificateFile(server)));
  await server.stop();
});

describe('with a configured certificate', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-one-port-'));
  const [key, certificate] = [path.join(folder, 'key.pem'), path.join(folder, 'certificate.pem')];
  const issue = (name) => execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
    '-keyout', key, '-out', certificate, '-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'], { stdio: 'ignore' });
  const config = `[tls]\ncertificate = "${certificate}"\nkey = "${key}"\n`;
  before(() => issue('first'));
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  test('it is used, and plain HTTP is told the address with https', async (t) => {
    const server = await Server.startFor(t, { config });
    const ca = fs.readFileSync(certificate, 'utf8');
    assert.equal(await certificateOf(server, { ca }), ca);
    assert.ok(!fs.existsSync(certificateFile(server)));
    const plain = await request(server, '/', { headers: signed('/') });
    assert.equal(plain.status, 400);
    assert.equal(JSON.parse(plain.text).code, 'BadRequest');
    assert.ok(plain.text.includes(`https://127.0.0.1:${server.cosmosPort}`), plain.text);
    await server.stop();
  });

  test('`both` serves plain HTTP beside it, and SIGHUP renews it', async (t) => {
    const server = await Server.startFor(t, { config: `${config}[cosmos]\ntls = "both"\n`, keepConfig: true });
    const before = fs.readFileSync(certificate, 'utf8');
    assert.equal(await certificateOf(server), before);
    assert.equal(await certificateOf(server, { ca: before }), before);
    issue('second');
    await server.reload(/as the configuration has them now/);
    const renewed = fs.readFileSync(certificate, 'utf8');
    assert.notEqual(renewed, before);
    assert.equal(await certificateOf(server, { ca: renewed }), renewed);
    await server.stop();
  });
});
