// Ten kinds of hostile clients, several at a time, while their database's map grows and partitions are split.
import crypto from 'node:crypto';
import { Client, head, jsonRequest, Outcomes } from './raw_client.mjs';

const MB = 1_000_000;

/// What the hostile clients need: documents of 8 MB, a function without an end.
async function prepare(port) {
  const client = new Client(port);
  const ask = async (method, target, body) => {
    const reply = await client.request(jsonRequest(method, target, body), { timeoutMs: 60_000 });
    if (reply.status >= 400) throw new Error(`${method} ${target}: ${reply.status}`);
  };
  await ask('PUT', '/hostile?q=2');
  await ask('PUT', '/hostile/text', { text: 'a'.repeat(7 * MB) });
  await ask('PUT', '/hostile/numbers', { numbers: Array.from({ length: 500_000 }, (_, n) => n) });
  let seed = 1;
  const digits = () => (seed = (seed * 48271) % 2147483647).toString(16).padStart(8, '0');
  await ask('PUT', '/hostile/hexadecimal', { text: Array.from({ length: MB - 100 }, digits).join('') });
  await ask('PUT', '/hostile/_design/endless', { filters: { never: 'function(doc) { for (;;) {} }' } });
  client.close();
}

/// Bytes of the files of the hostile database, and ranges of it and of the honest one.
async function sizeOf(port) {
  const client = new Client(port);
  const ask = async (target) => JSON.parse((await client.request(head(`GET ${target} HTTP/1.1`, 'Host: 127.0.0.1'), { timeoutMs: 60_000 })).text);
  const [info, hostile, honest] = [await ask('/hostile'), await ask('/hostile/_shards'), await ask('/honest/_shards')];
  client.close();
  return { fileBytes: info.sizes.file, ranges: [hostile, honest].map(({ shards }) => Object.keys(shards).length) };
}

const literal = `${'a'.repeat(8000)}b`;
/// Each makes the n-th request of its kind.
export const hostileKinds = {
  literalRegex: () => jsonRequest('POST', '/hostile/_find', { selector: { text: { $regex: literal } } }),
  nestedRegex: () => jsonRequest('POST', '/hostile/_find', { selector: { text: { $regex: '(a+a+)+b' } } }),
  sqlRegex: ((request) => () => request)(jsonRequest('POST', '/hostile/_sql', {
    query: 'SELECT VALUE REGEXMATCH(@s, @p)', parameters: [{ name: '@s', value: 'a'.repeat(3 * MB) }, { name: '@p', value: literal }],
  })),
  manyConditions: ((request) => () => request)(jsonRequest('POST', '/hostile/_find', {
    selector: { numbers: { $elemMatch: { $or: Array.from({ length: 3000 }, () => ({ $eq: 0.5 })) } } },
  })),
  longList: ((request) => () => request)(jsonRequest('POST', '/hostile/_find', {
    selector: { numbers: { $all: Array.from({ length: 20_000 }, (_, n) => n) } },
  })),
  // Each needs a larger file than the one before: the text packs badly.
  largeDocuments: ((text) => (n) => jsonRequest('PUT', `/hostile/large${process.pid}-${n}`, { text }))(
    crypto.randomBytes(4.5 * MB).toString('base64')),
  compressed: () => head('GET /hostile/hexadecimal HTTP/1.1', 'Host: 127.0.0.1', 'Accept-Encoding: gzip'),
  endlessFilter: () => head('GET /hostile/_changes?filter=endless/never HTTP/1.1', 'Host: 127.0.0.1'),
  bulk: (n) => jsonRequest('POST', '/scratch/_bulk_docs', { docs: Array.from({ length: 10_000 }, (_, i) => ({ _id: `m${n}-${i}` })) }),
  listing: () => head('GET /big/_all_docs?include_docs=true HTTP/1.1', 'Host: 127.0.0.1'),
};

/// `together` kinds at a time for `seconds`; each second the next kind takes the place of the oldest. Every few seconds a
/// partition of the hostile and of the honest database is split.
export async function mixed({ port, ready, seconds, together = 8, splits = true }) {
  await prepare(port);
  const outcomes = new Outcomes();
  const perKind = {};
  const names = Object.keys(hostileKinds);
  const end = Date.now() + seconds * 1000;
  let n = 0;
  const client = async (slot) => {
    for (let turn = slot; Date.now() < end; turn += together) {
      const kind = names[turn % names.length];
      const connection = new Client(port);
      const changeAt = Math.min(end, Date.now() + 1000);
      do {
        let outcome;
        try {
          outcome = (await connection.request(hostileKinds[kind](n++), { timeoutMs: 60_000 })).status;
        } catch (error) {
          outcome = error.code ?? error.message;
        }
        outcomes.add(outcome);
        (perKind[kind] ??= new Outcomes()).add(outcome);
      } while (Date.now() < changeAt);
      connection.close();
    }
  };
  const splitOutcomes = new Outcomes();
  const split = async () => {
    const connection = new Client(port);
    for (let round = 0; splits && round < 3 && Date.now() < end; ++round) {
      for (const database of ['hostile', 'honest']) {
        const job = jsonRequest('POST', '/_reshard/jobs', { type: 'split', db: database });
        splitOutcomes.add(await connection.request(job, { timeoutMs: 60_000 }).then((reply) => reply.status, (error) => error.code ?? error.message));
      }
      await new Promise((resolve) => setTimeout(resolve, (seconds * 1000) / 4));
    }
    connection.close();
  };
  const before = await sizeOf(port);
  ready();
  await Promise.all([split(), ...Array.from({ length: together }, (_, slot) => client(slot))]);
  const after = await sizeOf(port);
  return {
    outcomes: outcomes.counts, perKind: Object.fromEntries(Object.entries(perKind).map(([kind, { counts }]) => [kind, counts])),
    splits: splitOutcomes.counts, sizes: { before, after },
  };
}
