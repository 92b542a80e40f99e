// Offenders that do not read, and followers without number.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, head, jsonRequest, leave, open, openMany, Outcomes } from './raw_client.mjs';

/// Clients that ask for much and read nothing. Meanwhile, when `writes`, the documents they asked for are overwritten
/// again and again. Waits for the server to end them, at most `seconds`.
export async function notReading({ port, ready, connections, target, seconds, writes = 0 }) {
  const outcomes = new Outcomes();
  const sockets = await openMany(connections, () => open(port, outcomes, head(`GET ${target} HTTP/1.1`, 'Host: x'), { reading: false }));
  ready();
  let ended = 0;
  for (const socket of sockets) {
    // Without reading, the end shows as a failed write: what is sent now and then is not even a request yet.
    socket.probe = setInterval(() => socket.writable && socket.write('G'), 500);
    socket.done.then(() => { clearInterval(socket.probe); if (!socket.leaving) ++ended; });
  }
  const begun = Date.now();
  const sizes = writes ? await overwrite(port, writes, seconds) : undefined;
  while (ended < connections && Date.now() - begun < seconds * 1000) await sleep(100);
  for (const socket of sockets) { clearInterval(socket.probe); leave(socket); }
  return { outcomes: outcomes.counts, ended, ...(sizes && { fileBytes: { first: sizes[0], last: sizes.at(-1), rounds: sizes.length - 1 } }) };
}

/// Overwrites documents of `big` in bulk, `rounds` times over, and says how the file grew.
async function overwrite(port, rounds, seconds) {
  const client = new Client(port);
  const call = async (method, target, body) => JSON.parse((await client.request(jsonRequest(method, target, body), { timeoutMs: 60_000 })).text);
  const fileBytes = async () => (await call('GET', '/big')).sizes.file;
  const sizes = [await fileBytes()];
  const end = Date.now() + seconds * 1000;
  for (let round = 0; round < rounds && Date.now() < end; ++round) {
    const rows = (await call('GET', '/big/_all_docs?limit=500')).rows;
    const docs = rows.map((row) => ({ _id: row.id, _rev: row.value.rev, round, text: 'x'.repeat(1800) }));
    await call('POST', '/big/_bulk_docs', { docs });
    sizes.push(await fileBytes());
  }
  client.close();
  return sizes;
}

/// Followers of one database's feed, idle for `seconds`; then one document is written, and all must hear of it.
export async function followers({ port, ready, connections, seconds, database }) {
  const outcomes = new Outcomes();
  let heard = 0;
  const sockets = await openMany(connections, () => {
    const socket = open(port, outcomes, head(`GET /${database}/_changes?feed=continuous&since=now&heartbeat=60000 HTTP/1.1`, 'Host: x'), { reading: false });
    let text = '';
    socket.on('data', (chunk) => {
      if (socket.heard) return;
      text += chunk.toString('latin1');
      if (text.startsWith('HTTP/1.1 200')) { if (!socket.begun) outcomes.add(200); socket.begun = true; }
      if (text.includes('"woken"')) { socket.heard = true; ++heard; text = ''; }
    });
    return socket;
  });
  const begin = Date.now();
  while ((outcomes.counts[200] ?? 0) < connections && Date.now() - begin < 30_000) await sleep(50);
  ready();
  await sleep(seconds * 1000);
  const client = new Client(port);
  const written = Date.now();
  const reply = await client.request(jsonRequest('PUT', `/${database}/woken`, {}));
  if (reply.status !== 201) throw new Error(`the document was not written: ${reply.status}`);
  const writtenMs = Date.now() - written;
  while (heard < connections && Date.now() - written < 30_000) await sleep(20);
  const heardMs = Date.now() - written;
  client.close();
  sockets.forEach(leave);
  return { outcomes: outcomes.counts, heard, heardMs, writtenMs };
}
