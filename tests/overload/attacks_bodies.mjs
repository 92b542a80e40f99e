// Offenders that send much.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import { head, open, Outcomes } from './raw_client.mjs';

/// Writes `piece` `times` times, no faster than the server reads; stops when the connection ends.
async function pour(socket, piece, times) {
  let sent = 0;
  for (; sent < times && socket.writable; ++sent) {
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain').catch(() => {}), socket.done]);
  }
  return sent * piece.length;
}

/// Bodies of a gigabyte: announced, in chunks, and as a small file that unpacks to one.
export async function hugeBodies({ port, ready, together, bytes = 1 << 30, rounds = 1 }) {
  const outcomes = { announced: new Outcomes(), chunked: new Outcomes(), packed: new Outcomes() };
  const put = (...headers) => head('PUT /honest/huge:1 HTTP/1.1', 'Host: x', 'Content-Type: application/json', ...headers);
  const zeros = zlib.gzipSync(Buffer.alloc(1 << 24, 0x20));
  const members = Array.from({ length: Math.ceil(bytes / (1 << 24)) }, () => zeros);
  const bomb = Buffer.concat(members);
  const piece = Buffer.alloc(1 << 16, 0x20);
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]);
  let announcedMs = 0;
  let received = 0;
  ready();
  for (let round = 0; round < rounds; ++round) await Promise.all(Array.from({ length: together }, async () => {
    const begun = Date.now();
    const announced = open(port, outcomes.announced, put(`Content-Length: ${bytes}`), { onReply: () => { announcedMs = Math.max(announcedMs, Date.now() - begun); } });
    const chunked = open(port, outcomes.chunked, put('Transfer-Encoding: chunked'));
    const packed = open(port, outcomes.packed, put('Content-Encoding: gzip', `Content-Length: ${bomb.length}`));
    packed.write(bomb);
    received += await pour(chunked, chunk, bytes / piece.length);
    await Promise.all([announced.done, chunked.done, packed.done]);
  }));
  return { outcomes: Object.fromEntries(Object.entries(outcomes).map(([kind, seen]) => [kind, seen.counts])), announcedMs, received };
}

/// Many large documents at once, each on a connection of its own.
export async function manyBodies({ port, ready, connections, bytes, rounds = 1 }) {
  const outcomes = new Outcomes();
  const body = Buffer.from(JSON.stringify({ text: 'x'.repeat(bytes - 20) }));
  const put = (id) => head(`PUT /scratch/${id} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', `Content-Length: ${body.length}`);
  ready();
  for (let round = 0; round < rounds; ++round) {
    await Promise.all(Array.from({ length: connections }, async (_, n) => {
      const socket = open(port, outcomes, put(`b${round}-${n}`), { onReply: () => socket.end() });
      socket.write(body);
      await Promise.race([socket.done, sleep(120_000)]);
      socket.destroy();
    }));
  }
  return { outcomes: outcomes.counts };
}

/// Bodies that are sent but for their last byte, so that the server must keep them all.
export async function heldBodies({ port, ready, connections, bytes, seconds }) {
  const outcomes = new Outcomes();
  const piece = Buffer.alloc(1 << 16, 0x20);
  const sockets = Array.from({ length: connections }, () =>
    open(port, outcomes, head('PUT /scratch/held HTTP/1.1', 'Host: x', 'Content-Type: application/json', `Content-Length: ${bytes}`)));
  await Promise.all(sockets.map((socket) => pour(socket, piece, bytes / piece.length - 1)));
  ready();
  await Promise.race([sleep(seconds * 1000), Promise.all(sockets.map((socket) => socket.done))]);
  for (const socket of sockets) { socket.leaving = true; socket.destroy(); }
  return { outcomes: outcomes.counts };
}
