// Starts and stops the real server for the tests, and speaks plain HTTP to it.
//
// Every suite starts a server of its own on a free port with a folder of its own, so suites may run side by side. The
// HTTP client is node:http and not fetch: fetch rewrites paths, forbids bodies on GET and hides what went over the wire.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 30_000;
const LOG_LINES_KEPT = 400;

/// How many times the usual time everything may take. CTest sets it for builds with sanitizers, which are slow; a test
/// that bounds a time multiplies its bound.
export const patience = Number(process.env.TEST_PATIENCE ?? 1);

export const binary = process.env.OCTAVO_BINARY ?? path.resolve(here, '../../build/octavo');
export const credentials = { name: 'admin', password: 'correct horse' };

/// Only what a program needs to run: the caller's OCTAVO_… and COUCHDB_… settings must not leak into the tests.
function cleanEnvironment(extra) {
  const env = {};
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'LANG', 'ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS']) {
    if (process.env[name] !== undefined) env[name] = process.env[name];
  }
  return { ...env, ...extra };
}

/// A running server. `start` returns when it has said READY.
export class Server {
  /// Options: `keepConfig: true` keeps the file of `config`, at `configFile`, for reload();
  /// `args` more arguments of `serve`; `env` more environment; `config` TOML text; `dataDir` an existing
  /// folder (default: a new one, removed by stop); `admin: true` for an administrator `credentials`; `through` a command
  /// that becomes the server, such as prlimit; `patience` times the usual time to start, answer and stop
  /// (and times that of the build); `onLine` is called with each line of the log.
  static async start(options = {}) {
    const server = new Server(options);
    await server.launch();
    return server;
  }

  /// A server for one test, which may stop it itself; when the test is over, however it ends, the server is gone.
  static async startFor(testContext, options = {}) {
    const server = new Server(options);
    testContext.after(async () => {
      if (server.process) await server.kill();
      if (server.ownsFolder) server.removeFolder();
    });
    await server.launch();
    return server;
  }

  constructor(options) {
    this.options = options;
    this.patience = patience * (options.patience ?? 1);
    this.ownsFolder = options.dataDir === undefined;
    this.dataDir = options.dataDir ?? fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-test-'));
    this.lines = [];
  }

  async launch() {
    const args = ['serve', '--data-dir', this.dataDir, '--port', '0', '--cosmos-port', '0', '--bind', '127.0.0.1', ...(this.options.args ?? [])];
    const configFolder = this.options.config !== undefined ? fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-config-')) : undefined;
    if (configFolder) {
      const file = path.join(configFolder, 'octavo.toml');
      fs.writeFileSync(file, this.options.config);
      this.configFile = file;
      args.push('--config', file);
    }
    const env = cleanEnvironment(this.options.env);
    if (this.options.admin) {
      env.COUCHDB_USER = credentials.name;
      env.COUCHDB_PASSWORD = credentials.password;
    }
    const [program, ...before] = [...(this.options.through ?? []), binary];
    this.process = spawn(program, [...before, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.exited = new Promise((resolve) => {
      this.process.once('error', (error) => resolve({ error }));
      this.process.once('close', (code, signal) => resolve({ code, signal }));
    });
    // A crashed runner must not leave servers behind.
    this.onExit = () => this.process.kill('SIGKILL');
    process.once('exit', this.onExit);

    const ready = new Promise((resolve) => {
      const watch = (stream) => {
        let rest = '';
        stream.setEncoding('utf8');
        stream.on('data', (text) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop();
          for (const line of lines) {
            this.lines.push(line);
            this.options.onLine?.(line);
            if (this.lines.length > LOG_LINES_KEPT) this.lines.shift();
            const match = line.match(/READY port=(\d+) in=(\d+)\s?ms cosmos_port=(\d+)/);
            if (match) resolve({ port: Number(match[1]), readyMs: Number(match[2]), cosmosPort: Number(match[3]) });
          }
        });
      };
      watch(this.process.stdout);
      watch(this.process.stderr);
    });
    const outcome = await Promise.race([ready, this.exited, timeout(START_TIMEOUT_MS * this.patience, 'timeout')]);
    if (configFolder && !this.options.keepConfig) fs.rmSync(configFolder, { recursive: true, force: true });  // it is read once
    if (outcome === 'timeout' || outcome.port === undefined) {
      this.process.kill('SIGKILL');
      throw new Error(`${binary} did not become ready (${JSON.stringify(outcome)}):\n${this.lines.join('\n')}`);
    }
    this.port = outcome.port;
    this.readyMs = outcome.readyMs;
    this.cosmosPort = outcome.cosmosPort;
    this.url = `http://127.0.0.1:${this.port}`;
    this.urlWithCredentials =
      `http://${encodeURIComponent(credentials.name)}:${encodeURIComponent(credentials.password)}@127.0.0.1:${this.port}`;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  }

  /// SIGTERM, and the server must leave with 0. Removes the folder unless the caller brought it.
  async stop({ keepFolder = false } = {}) {
    this.agent?.destroy();
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGTERM');
    const outcome = await Promise.race([this.exited, timeout(STOP_TIMEOUT_MS * this.patience, 'timeout')]);
    process.removeListener('exit', this.onExit);
    this.removeConfig();
    if (outcome === 'timeout') {
      this.process.kill('SIGKILL');
      await this.exited;
    }
    if (this.ownsFolder && !keepFolder) this.removeFolder();
    assert.deepEqual(outcome, { code: 0, signal: null }, `the server did not stop cleanly:\n${this.lines.join('\n')}`);
  }

  /// SIGHUP; returns when the log says what came of it, as `expected` matches.
  async reload(expected) {
    const before = this.lines.length;
    this.process.kill('SIGHUP');
    await eventually(() => this.lines.slice(before).some((line) => line.includes('SIGHUP:')));
    assert.match(this.lines.slice(before).join('\n'), expected);
  }

  /// kill -9: the folder stays.
  async kill() {
    this.agent?.destroy();
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL');
    await this.exited;
    process.removeListener('exit', this.onExit);
    this.removeConfig();
  }

  removeConfig() {
    if (this.configFile) fs.rmSync(path.dirname(this.configFile), { recursive: true, force: true });
  }

  /// An error of a request as text, and with it the server's end where that is its cause.
  async explain(error) {
    const outcome = await Promise.race([this.exited, sleep(500)]);
    if (outcome === undefined) return error.message;
    return `${error.message}; the server ended with ${outcome.signal ?? outcome.code}:\n${this.lines.slice(-20).join('\n')}`;
  }

  /// Starts again on the same folder, after stop({ keepFolder: true }) or kill().
  async relaunch() {
    await this.launch();
  }

  removeFolder() {
    fs.rmSync(this.dataDir, { recursive: true, force: true });
  }

  /// Resident memory outside the page cache, from /proc.
  anonymousMemoryBytes() {
    const status = fs.readFileSync(`/proc/${this.process.pid}/status`, 'utf8');
    return Number(status.match(/^RssAnon:\s+(\d+) kB/m)[1]) * 1024;
  }

  /// One request. `body`: an object or array is sent as JSON; a string or Buffer as it is. `auth`: `name:password`,
  /// false for none; default: the administrator when there is one.
  /// Returns {status, headers, text, body, raw}; `body` is the parsed JSON, or the text when it is not JSON.
  async request(method, target, options = {}) {
    const { body, headers = {}, auth, agent = this.agent } = options;
    const timeoutMs = options.timeoutMs !== undefined ? options.timeoutMs * patience : REQUEST_TIMEOUT_MS * this.patience;
    const sent = { ...headers };
    let payload;
    if (body !== undefined) {
      const plain = typeof body === 'string' || Buffer.isBuffer(body);
      payload = plain ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
      if (!hasHeader(sent, 'content-type')) sent['Content-Type'] = 'application/json';
      if (!hasHeader(sent, 'content-length') && !hasHeader(sent, 'transfer-encoding')) sent['Content-Length'] = payload.length;
    } else if (['POST', 'PUT'].includes(method) && !hasHeader(sent, 'content-length')) {
      sent['Content-Length'] = 0;
    }
    const login = auth ?? (this.options.admin ? `${credentials.name}:${credentials.password}` : false);
    if (login && !hasHeader(sent, 'authorization')) sent.Authorization = 'Basic ' + Buffer.from(login).toString('base64');
    return new Promise((resolve, reject) => {
      const request = http.request(
        { host: '127.0.0.1', port: this.port, method, path: target, headers: sent, agent, timeout: timeoutMs },
        (response) => {
          const chunks = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const raw = Buffer.concat(chunks);
            const text = raw.toString('utf8');
            resolve({ status: response.statusCode, headers: response.headers, raw, text, body: parseOr(text) });
          });
        },
      );
      request.on('timeout', () => request.destroy(new Error(`${method} ${target}: no reply in ${timeoutMs} ms`)));
      request.on('error', reject);
      request.end(payload);
    });
  }

  get = (target, options) => this.request('GET', target, options);
  head = (target, options) => this.request('HEAD', target, options);
  put = (target, body, options) => this.request('PUT', target, { ...options, body });
  post = (target, body, options) => this.request('POST', target, { ...options, body });
  delete = (target, options) => this.request('DELETE', target, options);
  copy = (target, destination, options = {}) =>
    this.request('COPY', target, { ...options, headers: { ...options.headers, Destination: destination } });

  /// A new database with a unique name; returns the name. `query` goes to the PUT: 'partitioned=true&q=2'.
  async database(query = '', options) {
    const name = `test-${randomBytes(6).toString('hex')}`;
    const reply = await this.put(`/${name}${query ? '?' + query : ''}`, undefined, options);
    expectStatus(reply, 201);
    return name;
  }

  /// Writes documents in one _bulk_docs and asserts that each was accepted. Returns the revisions in order.
  async fill(database, docs) {
    const reply = await this.post(`/${database}/_bulk_docs`, { docs });
    expectStatus(reply, 201);
    assert.equal(reply.body.length, docs.length);
    for (const row of reply.body) assert.equal(row.ok, true, JSON.stringify(row));
    return reply.body.map((row) => row.rev);
  }

  /// Opens a streaming reply (a feed). See Feed.
  async feed(target, options = {}) {
    return Feed.open(this, target, options);
  }

  /// Sends raw bytes on a new connection and returns all that comes back until the server closes, or `idleMs` pass
  /// without a byte.
  async rawExchange(bytes, { idleMs = 5000 * patience } = {}) {
    return new Promise((resolve, reject) => {
      const chunks = [];
      const socket = net.connect(this.port, '127.0.0.1', () => {
        for (const part of Array.isArray(bytes) ? bytes : [bytes]) socket.write(part);
      });
      socket.setTimeout(idleMs, () => socket.destroy());
      socket.on('data', (chunk) => chunks.push(chunk));
      socket.on('error', (error) => (chunks.length ? undefined : reject(error)));
      socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    });
  }
}

/// A reply that comes in pieces: lines of a continuous feed, events of an event source.
export class Feed {
  static async open(server, target, { method = 'GET', body, headers = {}, auth } = {}) {
    const feed = new Feed();
    const login = auth ?? (server.options.admin ? `${credentials.name}:${credentials.password}` : false);
    const sent = { ...headers };
    if (login) sent.Authorization = 'Basic ' + Buffer.from(login).toString('base64');
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    if (payload) {
      sent['Content-Type'] = 'application/json';
      sent['Content-Length'] = payload.length;
    }
    feed.agent = new http.Agent();
    feed.request = http.request({ host: '127.0.0.1', port: server.port, method, path: target, headers: sent, agent: feed.agent });
    feed.request.on('error', (error) => feed.#end(error));
    feed.request.end(payload);
    const response = await new Promise((resolve, reject) => {
      feed.request.once('response', resolve);
      feed.request.once('error', reject);
    });
    feed.status = response.statusCode;
    feed.headers = response.headers;
    response.setEncoding('utf8');
    response.on('data', (text) => feed.#push(text));
    response.on('end', () => feed.#end());
    response.on('error', (error) => feed.#end(error));
    return feed;
  }

  lines = [];
  text = '';
  ended = false;
  #rest = '';
  #waiters = [];

  #push(text) {
    this.text += text;
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    this.lines.push(...lines);
    this.#wake();
  }
  #end() {
    this.ended = true;
    this.#wake();
  }
  #wake() {
    for (const wake of this.#waiters.splice(0)) wake();
  }

  /// The next line (heartbeats come as empty lines), or undefined when the reply has ended.
  async nextLine(timeoutMs = 5000) {
    const deadline = Date.now() + timeoutMs * patience;
    while (this.lines.length === 0 && !this.ended) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`no line within ${timeoutMs} ms; so far: ${this.text.slice(-500)}`);
      await Promise.race([new Promise((resolve) => this.#waiters.push(resolve)), timeout(left)]);
    }
    return this.lines.shift();
  }

  /// The next JSON line, passing over heartbeats.
  async nextRow(timeoutMs = 5000) {
    for (;;) {
      const line = await this.nextLine(timeoutMs);
      if (line === undefined) return undefined;
      if (line.trim() !== '') return JSON.parse(line);
    }
  }

  async untilEnd(timeoutMs = 5000) {
    const deadline = Date.now() + timeoutMs * patience;
    while (!this.ended) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`the reply did not end within ${timeoutMs} ms`);
      await Promise.race([new Promise((resolve) => this.#waiters.push(resolve)), timeout(left)]);
    }
    return this.text;
  }

  close() {
    this.request.destroy();
    this.agent.destroy();
  }
}

function hasHeader(headers, name) {
  return Object.keys(headers).some((key) => key.toLowerCase() === name);
}

function parseOr(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function timeout(ms, value) {
  return new Promise((resolve) => setTimeout(resolve, ms, value).unref());
}

export function expectStatus(reply, status) {
  assert.equal(reply.status, status, `expected ${status}, got ${reply.status}: ${reply.text.slice(0, 500)}`);
  return reply.body;
}

/// An error reply with exactly this status, error and (when given; text or pattern) reason.
export function expectError(reply, status, error, reason) {
  expectStatus(reply, status);
  assert.equal(reply.body.error, error, reply.text);
  if (reason instanceof RegExp) assert.match(reply.body.reason, reason);
  else if (reason !== undefined) assert.equal(reply.body.reason, reason);
}

/// Runs `check` until it returns something true, or fails after `timeoutMs`.
export async function eventually(check, timeoutMs = 5000) {
  const deadline = Date.now() + timeoutMs * patience;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > deadline) assert.fail(`not within ${timeoutMs} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const ids = (rows) => rows.map((row) => row.id);
export const docIds = (docs) => docs.map((doc) => doc._id);
export const hash = (rev) => rev.slice(rev.indexOf('-') + 1);
export const generation = (rev) => Number(rev.slice(0, rev.indexOf('-')));
export const REV = /^[1-9][0-9]*-[0-9a-f]{32}$/;
