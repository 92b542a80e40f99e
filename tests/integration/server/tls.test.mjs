import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import tls from 'node:tls';
import { CosmosClient } from '@azure/cosmos';
import { newContainer, wellKnownKey } from '../cosmos.mjs';
import { expectError, Server } from '../harness.mjs';

describe('TLS', () => {
  let server, folder, ca;
  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-tls-'));
    const [key, certificate] = [path.join(folder, 'key.pem'), path.join(folder, 'certificate.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout', key,
      '-out', certificate, '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'], { stdio: 'ignore' });
    ca = fs.readFileSync(certificate);
    server = await Server.start({ config: `[tls]\ncertificate = "${certificate}"\nkey = "${key}"\n` });
  });
  after(async () => {
    fs.rmSync(folder, { recursive: true, force: true });
    await server?.stop();
  });

  const request = (method, target, body) => new Promise((resolve, reject) => {
    const sent = https.request({ host: '127.0.0.1', port: server.port, method, path: target, ca, headers: { 'Content-Type': 'application/json' } }, (reply) => {
      let text = '';
      reply.on('data', (chunk) => { text += chunk; });
      reply.on('end', () => resolve({ status: reply.statusCode, text, headers: reply.headers }));
    });
    sent.on('error', reject);
    sent.end(body);
  });

  test('requests work as over plain HTTP', async () => {
    assert.equal((await request('GET', '/')).status, 200);
    const created = await request('PUT', '/db');
    assert.equal(created.status, 201);
    assert.equal(created.headers.location, `https://127.0.0.1:${server.port}/db`);
    const text = 'x'.repeat(1_000_000);
    assert.equal((await request('PUT', '/db/doc', JSON.stringify({ text }))).status, 201);
    assert.equal(JSON.parse((await request('GET', '/db/doc')).text).text.length, text.length);
  });

  test('the Cosmos API is served over TLS, too', async () => {
    const agent = new https.Agent({ ca });
    const client = new CosmosClient({ endpoint: `https://127.0.0.1:${server.cosmosPort}`, key: wellKnownKey, agent });
    const container = await newContainer(client);
    const text = 'x'.repeat(1_000_000);
    await container.items.create({ id: 'a', pk: 'p', text });
    assert.equal((await container.item('a', 'p').read()).resource.text.length, text.length);
    const { resources } = await container.items.query('SELECT VALUE c.id FROM c').fetchAll();
    assert.deepEqual(resources, ['a']);
    client.dispose();
    agent.destroy();
  });

  test('old protocol versions are refused', async () => {
    const outcome = await new Promise((resolve) => {
      const socket = tls.connect({ host: '127.0.0.1', port: server.port, ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' });
      socket.on('secureConnect', () => resolve(socket.getProtocol()));
      socket.on('error', () => resolve('refused'));
    });
    assert.equal(outcome, 'refused');
  });

  test('SIGHUP takes a new certificate, and keeps the old one when the new one cannot be used', async (t) => {
    const own = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-tls-'));
    t.after(() => fs.rmSync(own, { recursive: true, force: true }));
    const [key, certificate] = [path.join(own, 'key.pem'), path.join(own, 'certificate.pem')];
    const issue = (name) => execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
      '-keyout', key, '-out', certificate, '-subj', `/CN=${name}`], { stdio: 'ignore' });
    issue('first');
    const renewed = await Server.startFor(t, { config: `[tls]\ncertificate = "${certificate}"\nkey = "${key}"\n`, keepConfig: true });
    const shown = (port) => new Promise((resolve, reject) => {
      const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().subject.CN);
        socket.destroy();
      });
      socket.on('error', reject);
    });
    const both = async () => [await shown(renewed.port), await shown(renewed.cosmosPort)];
    assert.deepEqual(await both(), ['first', 'first']);
    issue('second');
    await renewed.reload(/as the configuration has them now/);
    assert.deepEqual(await both(), ['second', 'second']);
    fs.writeFileSync(certificate, 'no certificate');
    await renewed.reload(/error SIGHUP: .*certificate/);
    assert.deepEqual(await both(), ['second', 'second']);
    await renewed.stop();
  });

  test('plain HTTP on the TLS port is told the address with https', async () => {
    const reply = await server.get('/');
    expectError(reply, 400, 'bad_request', `This port speaks HTTPS only: use https://127.0.0.1:${server.port}`);
    assert.equal(reply.headers.connection, 'close');
    const put = await server.put('/db/plain', { text: 'x'.repeat(100_000) });
    expectError(put, 400, 'bad_request', /https:\/\//);
    assert.equal((await request('GET', '/db/plain')).status, 404);
  });

  test('silence and noise on the TLS port do no harm', async () => {
    const noise = await server.rawExchange(Buffer.from([0x80, 0x2e, 0x01, 0x00, 0x02]));
    assert.match(noise, /^HTTP\/1\.1 400 /);
    const silent = net.connect(server.port, '127.0.0.1');
    assert.equal((await request('GET', '/_up')).status, 200);
    silent.destroy();
  });
});
