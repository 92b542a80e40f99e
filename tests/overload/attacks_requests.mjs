// Offenders whose requests cost much.
import { Client, head, jsonRequest, Outcomes } from './raw_client.mjs';

/// `clients` connections that each send one request after the other, for `seconds` or until `requests` were sent.
async function flood(port, clients, { seconds = Infinity, requests = Infinity }, request, onReply) {
  const outcomes = new Outcomes();
  const end = Date.now() + seconds * 1000;
  await Promise.all(Array.from({ length: clients }, async (_, c) => {
    const client = new Client(port);
    for (let n = c; n < requests && Date.now() < end; n += clients) {
      try {
        const reply = await client.request(request(n), { timeoutMs: 120_000 });
        outcomes.add(reply.status);
        onReply?.(reply, n);
      } catch (error) {
        outcomes.add(error.code ?? error.message);
      }
    }
    client.close();
  }));
  return outcomes;
}

/// Queries that no index serves, long lists of keys, bulk reads and writes.
export async function expensive({ port, ready, clients, seconds, keys = 100_000, docs = 100_000, kinds }) {
  const all = {
    scan: () => jsonRequest('POST', '/big/_find', { selector: { nothing: { $gt: 7 } }, limit: 1 }),
    regex: () => jsonRequest('POST', '/big/_find', { selector: { text: { $regex: '(x+x+)+y' } }, limit: 1 }),
    sort: () => jsonRequest('POST', '/big/_find', { selector: { n: { $gte: 0 } }, sort: [{ n: 'desc' }], limit: 5 }),
    keys: ((request) => () => request)(jsonRequest('POST', '/big/_all_docs', { keys: Array.from({ length: keys }, (_, n) => `d${n}`) })),
    bulkGet: ((request) => () => request)(jsonRequest('POST', '/big/_bulk_get', { docs: Array.from({ length: keys / 10 }, (_, n) => ({ id: `d${n}` })) })),
    bulkDocs: (n) => jsonRequest('POST', '/scratch/_bulk_docs', { docs: Array.from({ length: docs }, (_, i) => ({ _id: `b${n}-${i}` })) }),
    list: () => head('GET /big/_all_docs?include_docs=true HTTP/1.1', 'Host: x'),
  };
  const chosen = (kinds ?? Object.keys(all)).map((kind) => all[kind]);
  ready();
  const retryAfter = new Set();
  const outcomes = await flood(port, clients, { seconds }, (n) => chosen[n % chosen.length](n), (reply) => {
    if (reply.status === 503) retryAfter.add(reply.headers['retry-after']);
  });
  return { outcomes: outcomes.counts, retryAfter: [...retryAfter] };
}

/// Guesses of passwords, each for another name, so that no account is ever locked.
export async function guessing({ port, ready, clients, seconds }) {
  ready();
  const guess = (n) => head('GET /honest HTTP/1.1', 'Host: x', `Authorization: Basic ${Buffer.from(`user${n}:guess${n}`).toString('base64')}`);
  const outcomes = await flood(port, clients, { seconds }, guess);
  return { outcomes: outcomes.counts };
}

/// Reads and writes `count` databases in turn, from several connections; says how long each request took.
export async function inTurn({ port, ready, clients, count, seconds, requests, query = false }) {
  const latencies = [];
  const begun = new Map();
  ready();
  const request = (n) => {
    begun.set(n, process.hrtime.bigint());
    const db = `/turn${n % count}`;
    if (query) return jsonRequest('POST', `${db}/_find`, { selector: { kind: 'k' } });
    return n % 10 === 0 ? jsonRequest('PUT', `${db}/w${n}`, { n }) : head(`GET ${db}/d1 HTTP/1.1`, 'Host: x');
  };
  const outcomes = await flood(port, clients, { seconds, requests }, request, (reply, n) => {
    latencies.push(Number(process.hrtime.bigint() - begun.get(n)) / 1e6);
    begun.delete(n);
  });
  latencies.sort((a, b) => a - b);
  const quantile = (q) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))];
  return { outcomes: outcomes.counts, requests: latencies.length, p50: quantile(0.5), p99: quantile(0.99), max: latencies.at(-1) };
}
