// Offenders that misuse connections and heads.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, head, jsonRequest, leave, open, openMany, Outcomes } from './raw_client.mjs';

/// Keeps `count` connections open for `seconds`, each doing what `make` started; those that end are begun again. Continues
/// until one of them has ended, for a minute at most: on a busy machine `seconds` can pass before the attacker has run.
async function keepUp(count, seconds, ready, make, each) {
  let over = false;
  let ended = 0;
  const alive = new Set();
  const begin = () => {
    const socket = make();
    alive.add(socket);
    socket.done.then(() => {
      ++ended;
      alive.delete(socket);
      // After a moment: a server that refuses at once is not to be measured by how fast it refuses.
      if (!over) setTimeout(() => { if (!over) begin(); }, 200);
    });
    return socket;
  };
  await openMany(count, begin);
  ready();
  const begun = Date.now();
  while (Date.now() - begun < (ended > 0 ? seconds : seconds + 60) * 1000) {
    for (const socket of alive) if (socket.writable) each?.(socket);
    await sleep(1000);
  }
  over = true;
  for (const socket of alive) leave(socket);
}

/// Heads that come one byte per second.
export async function slowHeaders({ port, ready, connections, seconds }) {
  const outcomes = new Outcomes();
  await keepUp(connections, seconds, ready, () => open(port, outcomes, 'GET /honest HTTP/1.1\r\nHost: x\r\nX-Slow: '),
    (socket) => socket.write('a'));
  return { outcomes: outcomes.counts };
}

/// Connections that never send a byte.
export async function silent({ port, ready, connections, seconds }) {
  const outcomes = new Outcomes();
  await keepUp(connections, seconds, ready, () => open(port, outcomes));
  return { outcomes: outcomes.counts };
}

/// Bodies that come one byte per second.
export async function slowBodies({ port, ready, connections, seconds }) {
  const outcomes = new Outcomes();
  const put = head('PUT /honest/slow:1 HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 1000000');
  const chunked = head('PUT /honest/slow:2 HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Transfer-Encoding: chunked');
  let n = 0;
  await keepUp(connections, seconds, ready, () => {
    const isChunked = ++n % 2 === 0;
    const socket = open(port, outcomes, isChunked ? chunked : put + '{"a":"');
    socket.drip = isChunked ? '1\r\n \r\n' : 'a';
    return socket;
  }, (socket) => socket.write(socket.drip));
  return { outcomes: outcomes.counts };
}

/// Idle connections that each sent one request; then all of them one more, to see that they are served.
export async function idle({ port, ready, connections, seconds }) {
  const outcomes = new Outcomes();
  const request = head('GET /honest/p1:d1 HTTP/1.1', 'Host: x');
  const sockets = await openMany(connections, () => open(port, outcomes, request));
  ready();
  await sleep(seconds * 1000);
  // The second requests that are served must be as many as the first ones.
  const served = outcomes.counts[200] ?? 0;
  for (const socket of sockets) if (socket.writable) socket.write(request);
  for (const begun = Date.now(); (outcomes.counts[200] ?? 0) < 2 * served && Date.now() - begun < 20_000;) await sleep(50);
  sockets.forEach(leave);
  return { outcomes: outcomes.counts };
}

/// The sending side is shut down right after the request: the reply must still come, whole. Then requests whose body is
/// cut off by that: nothing may be written.
export async function halfClosed({ port, ready, rounds }) {
  const outcomes = new Outcomes();
  const cut = new Outcomes();
  const wrong = [];
  ready();
  const kinds = {
    get: [head('GET /honest/p1:d1 HTTP/1.1', 'Host: x'), 200],
    put: [(n) => jsonRequest('PUT', `/honest/half:${process.pid}-${n}`, { n }), 201],
    find: [jsonRequest('POST', '/honest/_find', { selector: { kind: 'k1' }, limit: 200 }), 200],
    list: [head('GET /big/_all_docs?include_docs=true HTTP/1.1', 'Host: x'), 200],
    feed: [head('GET /big/_changes?include_docs=true HTTP/1.1', 'Host: x'), 200],
    http10: [head('GET /big/_all_docs?include_docs=true HTTP/1.0'), 200],
  };
  const expected = {};
  for (const kind of ['list', 'feed', 'http10']) {
    const whole = new Client(port);
    expected[kind] = (await whole.request(kinds[kind === 'http10' ? 'list' : kind][0])).bytes;
    whole.close();
  }
  for (let round = 0; round < rounds; ++round) {
    for (const [kind, [request, status]] of Object.entries(kinds)) {
      const seen = [];
      // A slow reader, so that the streams last: the server then notices the shut-down in the middle of its reply.
      const socket = open(port, outcomes, undefined, { reading: false });
      socket.on('connect', () => socket.end(typeof request === 'function' ? request(round) : request));
      socket.leaving = true;
      socket.replyReader.onReply = (reply) => { outcomes.add(reply.status); seen.push(reply); };
      if (round % 2 === 0) await sleep(700);
      socket.on('data', (chunk) => {
        try { socket.replyReader.push(chunk); } catch (error) { wrong.push(`${kind}: ${error.message}`); socket.destroy(); }
      });
      socket.on('end', () => socket.replyReader.end());
      await Promise.race([socket.done, sleep(10_000)]);
      leave(socket);
      const reply = seen[0];
      if (seen.length !== 1 || reply.status !== status || (expected[kind] && reply.bytes !== expected[kind])) {
        wrong.push(`${kind}: ${reply ? `${reply.status}, ${reply.bytes} of ${expected[kind]} bytes` : 'no whole reply'}`);
      }
    }
    const body = open(port, cut);
    body.on('connect', () => body.end(head('PUT /honest/half:never HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 100') + '{"a":1}'));
    if (await Promise.race([body.done.then(() => false), sleep(10_000, true)])) wrong.push('a body that was cut off: the connection stays');
    leave(body);
  }
  const check = new Client(port);
  const never = await check.request(head('GET /honest/half:never HTTP/1.1', 'Host: x'));
  if (never.status !== 404) wrong.push(`half a body was written: ${never.status}`);
  check.close();
  return { outcomes: outcomes.counts, cutOff: cut.counts, wrong };
}

/// Connections that send some bytes, perhaps a request, and are reset at a random moment.
export async function resets({ port, ready, together, seconds }) {
  const outcomes = new Outcomes();
  const beginnings = [
    '', 'G', 'GET /honest/p1:d1 HTTP/1.1\r\nHo', head('GET /honest/p1:d1 HTTP/1.1', 'Host: x'),
    head('GET /big/_all_docs?include_docs=true HTTP/1.1', 'Host: x'),
    head('GET /honest/_changes?feed=continuous HTTP/1.1', 'Host: x'),
    jsonRequest('POST', '/honest/_find', { selector: { kind: 'k1' } }),
    head('PUT /honest/reset:1 HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 100000') + '{',
    head('PUT /honest/reset:1 HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked') + 'ffff\r\nabc',
  ];
  let opened = 0;
  const end = Date.now() + seconds * 1000;
  ready();
  await Promise.all(Array.from({ length: together }, async (_, worker) => {
    for (let n = worker; Date.now() < end; ++n) {
      const socket = open(port, outcomes, beginnings[n % beginnings.length]);
      socket.leaving = true;
      ++opened;
      await sleep(Math.random() * 20);
      if (socket.connecting) socket.destroy(); else socket.resetAndDestroy();
    }
  }));
  return { outcomes: {}, opened };
}

/// Heads that are too long, too many, too large.
export async function hugeHeads({ port, ready, rounds, together }) {
  const outcomes = new Outcomes();
  const kinds = [
    head('GET / HTTP/1.1', 'Host: x', `X-Long: ${'x'.repeat(1 << 20)}`),
    head('GET / HTTP/1.1', 'Host: x', ...Array.from({ length: 1000 }, (_, n) => `X-${n}: y`)),
    head('GET / HTTP/1.1', 'Host: x', ...Array.from({ length: 100_000 }, (_, n) => `X-${n}: y`)),
    head(`GET /${'x'.repeat(1 << 20)} HTTP/1.1`, 'Host: x'),
    head(`GET /honest?${'a=b&'.repeat(300_000)} HTTP/1.1`, 'Host: x'),
  ];
  ready();
  for (let round = 0; round < rounds; ++round) {
    await Promise.all(Array.from({ length: together }, async (_, n) => {
      const socket = open(port, outcomes, kinds[n % kinds.length]);
      await socket.done;
    }));
  }
  return { outcomes: outcomes.counts };
}

/// `requests` requests in one send, on each of several connections at once.
export async function pipelined({ port, ready, connections, requests, reading = true, seconds = 0, target = '/honest/p1:d1' }) {
  const outcomes = new Outcomes();
  const burst = head(`GET ${target} HTTP/1.1`, 'Host: x').repeat(requests);
  ready();
  const begun = Date.now();
  do {
    await Promise.all(Array.from({ length: connections }, async () => {
      let seen = 0;
      const socket = open(port, outcomes, burst, { reading, onReply: () => { if (++seen === requests) leave(socket); } });
      await (reading ? socket.done : Promise.race([socket.done, sleep(Math.max(0, begun + seconds * 1000 - Date.now()))]));
      leave(socket);
    }));
  } while (reading && Date.now() - begun < seconds * 1000);
  return { outcomes: outcomes.counts };
}

/// More connections than the server takes: those beyond are told 503.
export async function overLimit({ port, ready, connections }) {
  const outcomes = new Outcomes();
  const retryAfter = new Set();
  const sockets = await openMany(connections, () => open(port, outcomes, head('GET / HTTP/1.1', 'Host: x'), {
    onReply: (reply) => { if (reply.status === 503) retryAfter.add(reply.headers['retry-after']); },
  }), { together: 50 });
  ready();
  await sleep(2500);
  sockets.forEach(leave);
  return { outcomes: outcomes.counts, retryAfter: [...retryAfter] };
}
