// Counts the server's instructions under callgrind: a run with the requests less one without them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Server } from '../integration/harness.mjs';
import { prepare } from './requests.mjs';

const SLOWDOWN_MAX = 6;  // of the harness's patience: callgrind, on a busy machine

/// Starts the server under callgrind, prepares it by `fill`, sends the requests of `kind` (null: none), and returns all
/// instructions that the process executed.
async function count(kind, fill) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-instructions-'));
  const profile = path.join(folder, 'callgrind.out');
  const server = new Server({
    through: ['valgrind', '--tool=callgrind', `--callgrind-out-file=${profile}`, '--fair-sched=try', '--quiet'],
    args: ['--log-access=false', '--io-threads', '1', '--worker-threads', '1', '--storage-durability', 'ephemeral'],
    patience: SLOWDOWN_MAX,
  });
  try {
    await server.launch();
    const send = async (method, target, body, headers) => {
      const reply = await server.request(method, target, { body, headers });
      assert.ok(reply.status < 400, `${method} ${target}: ${reply.status} ${reply.text}`);
      return reply;
    };
    await fill(send);
    if (kind) {
      const headers = kind.etag ? { 'If-None-Match': (await send(...kind.make(0))).headers.etag } : {};
      for (let n = 0; n < kind.count; ++n) {
        const [method, target, body] = kind.make(n);
        const { status } = await send(method, target, body, headers);
        if (kind.status) assert.equal(status, kind.status);
      }
    }
    await server.stop();
    return Number(/^(?:summary|totals): (\d+)/m.exec(fs.readFileSync(profile, 'utf8'))[1]);
  } finally {
    await server.kill();
    server.removeFolder();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/// Instructions of one request (or one row, where `kind.per` says so) of each kind, on the state that `fill` makes.
export async function measure(kinds, fill = prepare) {
  const without = await count(null, fill);
  const result = new Map();
  for (const kind of kinds) {
    result.set(kind.name, Math.round((await count(kind, fill) - without) / (kind.count * (kind.per ?? 1))));
  }
  return result;
}
