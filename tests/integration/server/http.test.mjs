// The protocol itself: connections, framing, compression, limits.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';
import { expectError, expectStatus, patience, Server, sleep } from '../harness.mjs';

const crlf = (...lines) => lines.join('\r\n') + '\r\n\r\n';

describe('HTTP', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
    await server.fill(db, Array.from({ length: 200 }, (_, n) => ({ _id: `d${n}`, text: 'some words that repeat '.repeat(10) })));
  });
  after(() => server?.stop());

  test('a connection serves many requests', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (let n = 0; n < 20; ++n) expectStatus(await server.get(`/${db}/d${n}`, { agent }), 200);
    const sockets = Object.values(agent.freeSockets).flat();
    assert.equal(sockets.length, 1);
    agent.destroy();
  });

  test('pipelined requests are answered in order', async () => {
    const requests = [5, 3, 9, 1].map((n) => crlf(`GET /${db}/d${n} HTTP/1.1`, 'Host: x', ...(n === 1 ? ['Connection: close'] : [])));
    const text = await server.rawExchange(requests.join(''));
    assert.deepEqual([...text.matchAll(/"_id":"(d\d)"/g)].map((match) => match[1]), ['d5', 'd3', 'd9', 'd1']);
  });

  test('pipelined writes with bodies are answered in order', async () => {
    const put = (id, body) => `PUT /${db}/${id} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const text = await server.rawExchange(put('pipe1', '{"n":1}') + put('pipe2', '{"n":2}') + crlf(`GET /${db}/pipe1 HTTP/1.1`, 'Host: x', 'Connection: close'));
    assert.equal([...text.matchAll(/^HTTP\/1\.1 201/gm)].length, 2);
    assert.match(text, /"n":1/);
  });

  test('Connection: close closes', async () => {
    const begin = Date.now();
    const text = await server.rawExchange(crlf('GET / HTTP/1.1', 'Host: x', 'Connection: close'), { idleMs: 5000 });
    assert.match(text, /^HTTP\/1\.1 200/);
    assert.ok(Date.now() - begin < 3000 * patience);
  });

  test('HTTP/1.0 is answered and closed', async () => {
    const begin = Date.now();
    const text = await server.rawExchange(crlf('GET / HTTP/1.0'), { idleMs: 5000 });
    assert.match(text, /^HTTP\/1\.[01] 200/);
    assert.ok(!/transfer-encoding: chunked/i.test(text));
    assert.ok(Date.now() - begin < 3000 * patience);
    const list = await server.rawExchange(crlf(`GET /${db}/_all_docs HTTP/1.0`), { idleMs: 5000 });
    assert.ok(!/transfer-encoding: chunked/i.test(list));
    assert.match(list, /"d99"/);
  });

  test('a chunked request body is taken', async () => {
    const body = '{"chunked":true}';
    const reply = await server.put(`/${db}/chunked`, body, { headers: { 'Transfer-Encoding': 'chunked' } });
    expectStatus(reply, 201);
    assert.equal((await server.get(`/${db}/chunked`)).body.chunked, true);
    const raw = await server.rawExchange(
      `PUT /${db}/chunked2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
      '3\r\n{"a\r\n4;ext=1\r\n":1}\r\n0\r\nTrailer: x\r\n\r\n');
    assert.match(raw, /^HTTP\/1\.1 201/);
  });

  test('Expect: 100-continue is continued, or refused before the body', async () => {
    const text = await new Promise((resolve) => {
      const socket = net.connect(server.port, '127.0.0.1');
      let seen = '';
      socket.setTimeout(3000, () => socket.destroy());
      socket.on('data', (chunk) => {
        seen += chunk;
        if (seen === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write('{"a":1}');
        if (/HTTP\/1\.1 201/.test(seen)) socket.destroy();
      });
      socket.on('close', () => resolve(seen));
      socket.write(crlf(`PUT /${db}/expected HTTP/1.1`, 'Host: x', 'Content-Type: application/json', 'Content-Length: 7', 'Expect: 100-continue'));
    });
    assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201/);
    const refused = await server.rawExchange(
      crlf(`PUT /${db}/huge HTTP/1.1`, 'Host: x', 'Content-Length: 99999999999', 'Expect: 100-continue'), { idleMs: 2000 });
    assert.match(refused, /^HTTP\/1\.1 (413|417)/);
  });

  test('compressed request bodies are unpacked', async () => {
    const body = Buffer.from(JSON.stringify({ packed: 'x'.repeat(5000) }));
    for (const [encoding, packed] of [['gzip', zlib.gzipSync(body)], ['deflate', zlib.deflateSync(body)]]) {
      const reply = await server.put(`/${db}/packed-${encoding}`, packed, { headers: { 'Content-Encoding': encoding } });
      expectStatus(reply, 201);
      assert.equal((await server.get(`/${db}/packed-${encoding}`)).body.packed.length, 5000);
    }
    expectStatus(await server.put(`/${db}/packed-x`, body, { headers: { 'Content-Encoding': 'magic' } }), 415);
    expectStatus(await server.put(`/${db}/packed-y`, body, { headers: { 'Content-Encoding': 'gzip' } }), 400);
  });

  test('a bomb of compression is refused', async () => {
    const bomb = zlib.gzipSync(Buffer.alloc(300 * 1024 * 1024, 0x20));
    const before = server.anonymousMemoryBytes();
    const reply = await server.put(`/${db}/bomb`, bomb, { headers: { 'Content-Encoding': 'gzip' } });
    expectStatus(reply, 413);
    // A sanitizer keeps freed memory for a while: there the figure says nothing.
    if (patience === 1) assert.ok(server.anonymousMemoryBytes() - before < 200 * 1024 * 1024);
  });

  test('replies are compressed for those who accept it', async () => {
    for (const [encoding, unpack] of [['gzip', zlib.gunzipSync], ['deflate', zlib.inflateSync]]) {
      const reply = await server.get(`/${db}/_all_docs?include_docs=true`, { headers: { 'Accept-Encoding': encoding } });
      assert.equal(reply.headers['content-encoding'], encoding);
      const body = JSON.parse(unpack(reply.raw));
      assert.ok(body.rows.length >= 200);
      assert.ok(reply.raw.length * 3 < JSON.stringify(body).length);
      assert.match(reply.headers.vary, /accept-encoding/i);
    }
    const plain = await server.get(`/${db}/_all_docs?include_docs=true`);
    assert.equal(plain.headers['content-encoding'], undefined);
    const none = await server.get(`/${db}/_all_docs?include_docs=true`, { headers: { 'Accept-Encoding': 'gzip;q=0, identity' } });
    assert.equal(none.headers['content-encoding'], undefined);
  });

  test('HEAD works everywhere GET does', async () => {
    for (const path of ['/', `/${db}`, `/${db}/d1`, `/${db}/_all_docs`, `/${db}/_changes`, '/_all_dbs', `/${db}/_index`, '/_session']) {
      const reply = await server.head(path);
      expectStatus(reply, 200);
      assert.equal(reply.text, '');
    }
    expectStatus(await server.head(`/${db}/nothing`), 404);
  });

  test('headers that are too long are refused', async () => {
    const text = await server.rawExchange(crlf('GET / HTTP/1.1', 'Host: x', `X-Long: ${'x'.repeat(200_000)}`), { idleMs: 2000 });
    assert.match(text, /^HTTP\/1\.1 431/);
  });

  test('a request line that is too long is refused', async () => {
    const text = await server.rawExchange(crlf(`GET /${'x'.repeat(200_000)} HTTP/1.1`, 'Host: x'), { idleMs: 2000 });
    assert.match(text, /^HTTP\/1\.1 (414|431)/);
  });

  test('a body that is too long is refused', async () => {
    const text = await server.rawExchange(crlf(`PUT /${db}/long HTTP/1.1`, 'Host: x', 'Content-Length: 999999999999'), { idleMs: 2000 });
    assert.match(text, /^HTTP\/1\.1 413/);
  });

  for (const [name, bytes] of Object.entries({
    'not HTTP at all': 'hello there\r\n\r\n',
    'a bad version': crlf('GET / HTTP/9.9', 'Host: x'),
    'a bad header': crlf('GET / HTTP/1.1', 'Host x'),
    'two lengths': crlf('PUT /x HTTP/1.1', 'Host: x', 'Content-Length: 1', 'Content-Length: 2'),
    'a length and chunks': crlf('PUT /x HTTP/1.1', 'Host: x', 'Content-Length: 5', 'Transfer-Encoding: chunked'),
    'a negative length': crlf('PUT /x HTTP/1.1', 'Host: x', 'Content-Length: -1'),
    'a length that is no number': crlf('PUT /x HTTP/1.1', 'Host: x', 'Content-Length: many'),
    'a space before the colon': crlf('GET / HTTP/1.1', 'Host: x', 'Content-Length : 5'),
    'a bare line feed in a header': 'GET / HTTP/1.1\r\nHost: x\r\nX: a\n b\r\n\r\n',
    'a control character in the target': 'GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n',
    'bad chunks': crlf('PUT /x HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked') + 'zz\r\n',
    'an endless chunk size': crlf('PUT /x HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked') + 'f'.repeat(100) + '\r\n',
  })) {
    test(`${name} is a bad request`, async () => {
      const text = await server.rawExchange(bytes);
      assert.match(text, /^HTTP\/1\.1 (400|405|413|501|505)/, JSON.stringify(text.slice(0, 200)));
      expectStatus(await server.get('/'), 200);
    });
  }

  test('a client that speaks HTTP/2 without negotiation is asked for HTTP/1.1', async () => {
    const client = http2.connect(server.url);
    client.on('error', () => {});
    const request = client.request({ ':path': '/' });
    const [error] = await once(request, 'error').catch((failure) => [failure]);
    client.destroy();
    assert.equal(error.code, 'ERR_HTTP2_STREAM_ERROR');
    assert.match(error.message, /NGHTTP2_HTTP_1_1_REQUIRED/);
    // One that sends no request gets a reply in HTTP/1.1 after a second.
    assert.match(await server.rawExchange('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), /^HTTP\/1\.1 505/);
    const endless = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.alloc(100_000)]);
    assert.match(await server.rawExchange(endless), /^HTTP\/1\.1 505/);
    expectStatus(await server.get('/'), 200);
  });

  test('an absolute request target is understood', async () => {
    const text = await server.rawExchange(crlf(`GET http://127.0.0.1:${server.port}/${db}/d1 HTTP/1.1`, 'Host: x', 'Connection: close'));
    assert.match(text, /^HTTP\/1\.1 (200|400)/);
  });

  test('a client that leaves in the middle of a large reply does no harm', async () => {
    for (let n = 0; n < 20; ++n) {
      await new Promise((resolve) => {
        const socket = net.connect(server.port, '127.0.0.1', () => socket.write(crlf(`GET /${db}/_all_docs?include_docs=true HTTP/1.1`, 'Host: x')));
        socket.once('data', () => socket.destroy());
        socket.on('close', resolve);
      });
    }
    expectStatus(await server.get('/'), 200);
  });

  test('many connections at once are all served', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 300 });
    const replies = await Promise.all(Array.from({ length: 1500 }, (_, n) => server.get(`/${db}/d${n % 200}`, { agent })));
    assert.ok(replies.every((reply) => reply.status === 200));
    agent.destroy();
  });
});

describe('HTTP limits and timeouts', () => {
  let server;
  before(async () => {
    server = await Server.start({ config: `[http]
header_timeout = "2s"
body_timeout = "2s"
idle_timeout = "1s"
request_body_bytes_max = 100000
[database]
document_bytes_max = 50000
` });
    await server.put('/db');
  });
  after(() => server?.stop());

  const untilClosed = (first, { every } = {}) => new Promise((resolve) => {
    const begin = Date.now();
    let text = '';
    const socket = net.connect(server.port, '127.0.0.1', () => socket.write(first));
    const drip = every && setInterval(() => socket.writable && socket.write(every), 100);
    socket.on('data', (chunk) => { text += chunk; });
    socket.on('error', () => {});
    socket.on('close', () => { clearInterval(drip); resolve({ text, ms: Date.now() - begin }); });
    setTimeout(() => socket.destroy(), 9000 * patience).unref();
  });

  test('headers that come too slowly time out', async () => {
    const { text, ms } = await untilClosed('GET / HTTP/1.1\r\n', { every: 'X: y\r\n' });
    assert.ok(ms < 6000 * patience, `${ms}`);
    assert.ok(text === '' || /^HTTP\/1\.1 408/.test(text), text);
  });

  test('a body that stops times out', async () => {
    const { text, ms } = await untilClosed(crlf('PUT /db/x HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 100') + '{"a"');
    assert.ok(ms < 6000 * patience, `${ms}`);
    assert.ok(text === '' || /^HTTP\/1\.1 408/.test(text), text);
  });

  test('an idle connection is closed', async () => {
    const { text, ms } = await untilClosed(crlf('GET / HTTP/1.1', 'Host: x'));
    assert.match(text, /^HTTP\/1\.1 200/);
    assert.ok(ms >= 900 && ms < 6000 * patience, `${ms}`);
  });

  test('a feed is not an idle connection', async () => {
    const feed = await server.feed('/db/_changes?feed=continuous&since=now&heartbeat=200');
    await sleep(2500);
    assert.equal(feed.ended, false);
    feed.close();
  });

  test('a body over the limit is refused with 413', async () => {
    expectError(await server.put('/db/x', { text: 'x'.repeat(150_000) }), 413, 'too_large',
      /^the request entity is too large\. The request body has 1500\d\d bytes; the limit is \w+ \(http\.request_body_bytes_max\)\.$/);
    const chunked = await server.put('/db/x', JSON.stringify({ text: 'x'.repeat(150_000) }), { headers: { 'Transfer-Encoding': 'chunked' } })
      .catch((error) => error);
    assert.ok(chunked.status === 413 || chunked instanceof Error);
  });
});
