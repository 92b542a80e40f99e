// HTTP over bare sockets, for clients that count what they send and for clients that misbehave on purpose.
import net from 'node:net';

/// Takes replies out of what arrives on one connection. Bodies are counted, and kept only when asked for.
export class ReplyReader {
  /// `onReply({status, headers, bytes, text})` for each complete reply. `keep`: collect `text`.
  constructor(onReply, { keep = false } = {}) {
    this.onReply = onReply;
    this.keep = keep;
    this.rest = Buffer.alloc(0);
    this.reply = undefined;
  }

  push(chunk) {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    while (this.#step());
  }

  /// The connection ended: completes a reply that only its end completes. True when nothing is left half.
  end() {
    if (this.reply && this.reply.left === undefined && !this.reply.chunked) this.#finish();
    return this.reply === undefined && this.rest.length === 0;
  }

  #step() {
    if (!this.reply) return this.#head();
    const reply = this.reply;
    if (reply.chunked) return this.#chunk();
    if (reply.left === undefined) {
      this.#take(this.rest.length);
      return false;
    }
    this.#take(Math.min(reply.left, this.rest.length));
    if (reply.left > 0) return false;
    this.#finish();
    return this.rest.length > 0;
  }

  #head() {
    const end = this.rest.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const lines = this.rest.subarray(0, end).toString('latin1').split('\r\n');
    this.rest = this.rest.subarray(end + 4);
    const status = Number(lines[0].match(/^HTTP\/1\.[01] (\d{3})/)?.[1]);
    if (!status) throw new Error(`no status line: ${lines[0].slice(0, 100)}`);
    if (status === 100) return this.rest.length > 0;
    const headers = {};
    for (const line of lines.slice(1)) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      headers[name] = name in headers ? `${headers[name]}, ${line.slice(colon + 1).trim()}` : line.slice(colon + 1).trim();
    }
    const chunked = /chunked/i.test(headers['transfer-encoding'] ?? '');
    const length = headers['content-length'];
    const left = status === 204 || status === 304 ? 0 : length === undefined ? undefined : Number(length);
    this.reply = { status, headers, chunked, left, bytes: 0, parts: [] };
    return this.rest.length > 0 || left === 0;
  }

  #chunk() {
    const reply = this.reply;
    if (reply.left === undefined) {
      const end = this.rest.indexOf('\r\n');
      if (end < 0) return false;
      reply.left = parseInt(this.rest.subarray(0, end).toString('latin1'), 16);
      if (Number.isNaN(reply.left)) throw new Error('malformed chunk');
      this.rest = this.rest.subarray(end + 2);
      reply.last = reply.left === 0;
    }
    this.#take(Math.min(reply.left, this.rest.length));
    if (reply.left > 0 || this.rest.length < 2) return false;
    this.rest = this.rest.subarray(2);
    reply.left = undefined;
    if (reply.last) this.#finish();
    return this.rest.length > 0;
  }

  #take(bytes) {
    const reply = this.reply;
    if (bytes === 0) return;
    reply.bytes += bytes;
    if (this.keep) reply.parts.push(this.rest.subarray(0, bytes));
    this.rest = this.rest.subarray(bytes);
    if (reply.left !== undefined) reply.left -= bytes;
  }

  #finish() {
    const { status, headers, bytes, parts } = this.reply;
    this.reply = undefined;
    this.onReply({ status, headers, bytes, text: this.keep ? Buffer.concat(parts).toString('utf8') : undefined });
  }
}

/// A keep-alive connection that sends one request at a time and connects again when it was closed.
export class Client {
  constructor(port) {
    this.port = port;
  }

  /// The reply, or an Error after `timeoutMs`.
  request(bytes, { timeoutMs = 30_000 } = {}) {
    return new Promise((resolve, reject) => {
      if (!this.socket || this.socket.destroyed) this.#connect();
      const timer = setTimeout(() => this.#fail(new Error(`no reply in ${timeoutMs} ms`)), timeoutMs);
      this.resolve = (reply) => { clearTimeout(timer); this.resolve = this.reject = undefined; resolve(reply); };
      this.reject = (error) => { clearTimeout(timer); this.resolve = this.reject = undefined; reject(error); };
      this.socket.write(bytes);
    });
  }

  close() {
    this.socket?.destroy();
  }

  #connect() {
    const socket = net.connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    const reader = new ReplyReader((reply) => this.resolve?.(reply), { keep: true });
    socket.on('data', (chunk) => { try { reader.push(chunk); } catch (error) { this.#fail(error); } });
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => { if (this.socket === socket) this.#fail(new Error('the connection was closed')); });
    this.socket = socket;
  }

  #fail(error) {
    this.socket?.destroy();
    this.reject?.(error);
  }
}

export const head = (...lines) => lines.join('\r\n') + '\r\n\r\n';

export function jsonRequest(method, target, body, headers = []) {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  return head(`${method} ${target} HTTP/1.1`, 'Host: x', 'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`, ...headers) + text;
}

let nextSource = 0;
/// Loopback addresses in turn: one address has ports for 28,000 connections only.
export function sourceAddress() {
  nextSource = (nextSource + 1) % 40;
  return `127.0.1.${nextSource + 1}`;
}

/// What became of the offenders: replies by status, and connections that ended without one.
export class Outcomes {
  counts = {};

  add(what, times = 1) {
    this.counts[what] = (this.counts[what] ?? 0) + times;
  }

  toString() {
    return Object.entries(this.counts).map(([what, times]) => `${what}: ${times}`).join(', ');
  }
}

/// Connects; `first` is sent at once. Counts each reply's status, and at the end `closed` when no reply came, `reset`
/// for an error, `cut` for a reply that is not whole. Returns the socket; its `done` is resolved at its end.
export function open(port, outcomes, first, { reading = true, keep = false, onReply, source = sourceAddress() } = {}) {
  const socket = net.connect({ port, host: '127.0.0.1', localAddress: source, allowHalfOpen: true });
  let replies = 0;
  const reader = new ReplyReader((reply) => {
    ++replies;
    outcomes.add(reply.status);
    onReply?.(reply);
  }, { keep });
  socket.replyReader = reader;
  let broken = false;
  socket.done = new Promise((resolve) => {
    socket.on('error', (error) => {
      broken = true;
      if (replies === 0 && !socket.leaving) outcomes.add(error.code === 'ECONNREFUSED' ? 'refused' : 'reset');
    });
    socket.on('close', () => {
      if (!socket.leaving && !broken) {
        const begun = reader.reply !== undefined;
        if (!reader.end() && begun) outcomes.add('cut');
        else if (replies === 0) outcomes.add('closed');
      }
      resolve();
    });
  });
  if (reading) {
    socket.on('data', (chunk) => {
      try { reader.push(chunk); } catch (error) { outcomes.add(`malformed (${error.message})`); socket.destroy(); }
    });
    socket.on('end', () => socket.end());
  }
  if (first !== undefined) socket.write(first);
  return socket;
}

/// Ends a connection from our side, uncounted.
export function leave(socket) {
  socket.leaving = true;
  socket.destroy();
}

/// Opens `count` connections, some at a time: a listen queue is finite.
export async function openMany(count, make, { together = 200 } = {}) {
  const sockets = [];
  for (let begun = 0; begun < count; begun += together) {
    const batch = Array.from({ length: Math.min(together, count - begun) }, (_, i) => make(begun + i));
    await Promise.all(batch.map((socket) => new Promise((resolve) => {
      if (!socket.connecting) return resolve();
      socket.once('connect', resolve);
      socket.once('close', resolve);
    })));
    sockets.push(...batch);
  }
  return sockets;
}
