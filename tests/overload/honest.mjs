// Honest clients in a process of their own: few, unhurried, on connections that stay open. Talks to its parent by
// messages: `measure` begins a window, `report` ends it with the latencies.
import { Client, jsonRequest } from './raw_client.mjs';

const PAUSE_MS = 4;
const { port, authorization } = JSON.parse(process.argv[2]);
const headers = authorization ? [`Authorization: ${authorization}`] : [];

const kinds = {
  get: (n) => jsonRequest('GET', `/honest/p${n % 50}:d${n % 20}`, undefined, headers),
  put: (n) => jsonRequest('PUT', `/honest/w${process.pid}:${n}`, { n, text: 'x'.repeat(300) }, headers),
  find: (n) => jsonRequest('POST', `/honest/_partition/p${n % 50}/_find`, { selector: { kind: `k${n % 4}` } }, headers),
};
const wanted = { get: 200, put: 201, find: 200 };

let samples = {};
let failures = {};
const reset = () => {
  samples = { get: [], put: [], find: [] };
  failures = {};
};
reset();

async function client(kind) {
  const connection = new Client(port);
  for (let n = 0; ; ++n) {
    const begin = process.hrtime.bigint();
    let outcome;
    try {
      outcome = (await connection.request(kinds[kind](n), { timeoutMs: 20_000 })).status;
    } catch (error) {
      outcome = error.code ?? error.message;
    }
    samples[kind].push(Number(process.hrtime.bigint() - begin) / 1e6);
    if (outcome !== wanted[kind]) failures[`${kind} ${outcome}`] = (failures[`${kind} ${outcome}`] ?? 0) + 1;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

const quantile = (sorted, q) => sorted.length === 0 ? NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];

process.on('message', (message) => {
  if (message === 'measure') reset();
  if (message === 'report') {
    const report = { failures };
    for (const [kind, values] of Object.entries(samples)) {
      values.sort((a, b) => a - b);
      report[kind] = { count: values.length, p50: quantile(values, 0.5), p99: quantile(values, 0.99), max: values.at(-1) };
    }
    process.send(report);
  }
});
process.on('disconnect', () => process.exit(0));
for (const kind of ['get', 'get', 'put', 'find']) client(kind);
