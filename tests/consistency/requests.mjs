// HTTP for clients and followers: one connection each, and the moments of each request on the run's clock.
import http from 'node:http';
import { authorization } from '../integration/cosmos_request.mjs';

const REPLY_TIMEOUT_MS = 60_000;

/// One connection of one client to each API.
export class Connection {
  constructor(server, history) {
    this.server = server;
    this.history = history;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  }

  /// Returns { begin, end, status, headers, body }. Without a complete reply: { begin, end: Infinity, lost: true }.
  /// `hangUpAfterMs`: go away then, whether or not the reply has come. `port`: another API's.
  send(method, path, body, { headers = {}, hangUpAfterMs, port = this.server.port } = {}) {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const sent = { Accept: 'application/json', ...headers };
    if (payload) {
      sent['Content-Type'] = 'application/json';
      sent['Content-Length'] = payload.length;
    }
    return new Promise((resolve) => {
      const begin = this.history.tick();
      const lose = (error) => resolve({ begin, end: Infinity, lost: true, error });
      const request = http.request(
        { host: '127.0.0.1', port, method, path, headers: sent, agent: this.agent, timeout: REPLY_TIMEOUT_MS },
        (response) => {
          const chunks = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('error', lose);
          response.on('aborted', lose);
          response.on('end', () => {
            if (!response.complete) return lose();
            const end = this.history.tick();
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({ begin, end, status: response.statusCode, headers: response.headers, body: parse(text), text });
          });
        },
      );
      request.on('timeout', () => request.destroy(new Error('no reply')));
      request.on('error', lose);
      request.end(payload);
      if (hangUpAfterMs !== undefined) setTimeout(() => request.destroy(new Error('hung up')), hangUpAfterMs);
    });
  }

  /// The same by the Cosmos DB API, signed. `partition`: the partition key that it is about.
  sendSigned(method, path, body, { partition, headers = {}, ...options } = {}) {
    const date = new Date().toUTCString();
    const signed = { 'x-ms-date': date, 'x-ms-version': '2020-07-15', authorization: authorization(method, path, date) };
    if (partition !== undefined) signed['x-ms-documentdb-partitionkey'] = JSON.stringify([partition]);
    return this.send(method, path, body, { ...options, headers: { ...signed, ...headers }, port: this.server.cosmosPort });
  }

  close() {
    this.agent.destroy();
  }
}

/// A reply without end: `onText` gets what comes. Returns { close(), ended: Promise } at once.
export function openStream(server, path, { method = 'GET', body, headers = {}, onText }) {
  const agent = new http.Agent();
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const sent = { ...headers };
  if (payload) {
    sent['Content-Type'] = 'application/json';
    sent['Content-Length'] = payload.length;
  }
  let request;
  let closed = false;
  const ended = new Promise((resolve) => {
    const end = (outcome) => {
      agent.destroy();
      resolve(outcome);
    };
    request = http.request({ host: '127.0.0.1', port: server.port, method, path, headers: sent, agent }, (response) => {
      response.setEncoding('utf8');
      if (response.statusCode !== 200) {
        let text = '';
        response.on('data', (part) => (text += part));
        response.on('end', () => end({ status: response.statusCode, text }));
        return;
      }
      response.on('data', (text) => closed || onText(text));
      response.on('end', () => end({ status: 200 }));
      response.on('aborted', () => end({ status: 200 }));
      response.on('error', () => end({ status: 200 }));
    });
    request.on('error', () => end({ status: 0 }));
    request.end(payload);
  });
  return {
    ended,
    close() {
      closed = true;
      request.destroy();
    },
  };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
