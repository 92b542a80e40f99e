// Counts the server's instructions under callgrind: a run with the requests less one without them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { prepare } from './requests.mjs';

const START_TIMEOUT_MS = 120_000;

/// Starts the server under callgrind, prepares it, sends the requests of `kind` (null: none), and returns all
/// instructions that the process executed.
async function count(binary, kind) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-instructions-'));
  const profile = path.join(folder, 'callgrind.out');
  const server = spawn('valgrind', [
    '--tool=callgrind', `--callgrind-out-file=${profile}`, '--fair-sched=try', '--quiet',
    binary, 'serve', '--data-dir', path.join(folder, 'data'), '--port', '0', '--cosmos-port', '0', '--log-access=false',
    '--io-threads', '1', '--worker-threads', '1', '--storage-durability', 'ephemeral',
  ], { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const port = await portOf(server);
    const send = (method, target, body, headers) => exchange(agent, port, method, target, body, headers);
    await prepare(send);
    if (kind) {
      const headers = kind.etag ? { 'If-None-Match': (await send(...kind.make(0))).headers.etag } : {};
      for (let n = 0; n < kind.count; ++n) {
        const [method, target, body] = kind.make(n);
        const { statusCode } = await send(method, target, body, headers);
        if (kind.status) assert.equal(statusCode, kind.status);
      }
    }
    const ended = new Promise((resolve) => server.once('close', (code) => resolve(code)));
    server.kill('SIGTERM');
    assert.equal(await ended, 0, 'the server ends well');
    return Number(/^(?:summary|totals): (\d+)/m.exec(fs.readFileSync(profile, 'utf8'))[1]);
  } finally {
    agent.destroy();
    server.kill('SIGKILL');
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function portOf(server) {
  return new Promise((resolve, reject) => {
    let text = '';
    const look = (chunk) => {
      text += chunk;
      const ready = /READY port=(\d+)/.exec(text);
      if (ready) resolve(Number(ready[1]));
    };
    server.stdout.on('data', look);
    server.stderr.on('data', look);
    server.once('error', (error) => reject(new Error(`valgrind does not start: ${error.message}`)));
    server.once('close', (code) => reject(new Error(`the server ended with ${code}:\n${text}`)));
    setTimeout(() => reject(new Error(`not ready in time:\n${text}`)), START_TIMEOUT_MS).unref();
  });
}

function exchange(agent, port, method, target, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const request = http.request({
      agent, port, method, path: target, host: '127.0.0.1',
      headers: { ...headers, ...(text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }) },
    }, (reply) => {
      reply.resume();
      reply.once('end', () => {
        if (reply.statusCode < 400) resolve(reply);
        else reject(new Error(`${method} ${target}: ${reply.statusCode}`));
      });
    });
    request.once('error', reject);
    request.end(text);
  });
}

/// Instructions of one request (or one row, where `kind.per` says so) of each kind.
export async function measure(binary, kinds) {
  const without = await count(binary, null);
  const result = new Map();
  for (const kind of kinds) {
    result.set(kind.name, Math.round((await count(binary, kind) - without) / (kind.count * (kind.per ?? 1))));
  }
  return result;
}
