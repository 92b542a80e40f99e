// A server whose disk is full, fails, or is small. Files fail by the file layer of tests/crash, which the sanitizers do not
// allow: `layer` is undefined then.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { binary, Server, sleep } from './harness.mjs';

const layerFile = path.join(process.env.OCTAVO_SOURCE_DIR ?? '../..', 'tests/crash/file_layer.mjs');
export const layer = process.env.FILE_LAYER_LIBRARY ? await import(layerFile) : undefined;

/// The tests' own OCTAVO_… variables would be settings of the server.
export const env = { PATH: process.env.PATH, TMPDIR: os.tmpdir() };

/// Documents of equal characters then take the space that their size says.
export const uncompressed = ['--storage-compression', 'none'];

/// `octavo check` finds nothing wrong: otherwise its exit status is 1, and this throws.
export const checkFiles = (dataDir) => execFileSync(binary, ['check', '--data-dir', dataDir], { encoding: 'utf8', env });

/// A server whose files can be made to fail: `server.faults([...rules])`.
export async function startFailing(options = {}) {
  const dataDir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-full-')));
  const control = `${dataDir}.faults`;
  const server = await Server.start({ ...options, dataDir, env: { ...options.env, ...layer.preload({ root: dataDir, faults: control }) } });
  server.faults = (rules) => layer.setFaults(control, rules);
  server.fired = () => layer.firedFaults(control).length;
  server.end = async () => {
    server.faults([]);
    await server.stop();
    checkFiles(dataDir);
    fs.rmSync(dataDir, { recursive: true, force: true });
    for (const suffix of ['', '.fired']) fs.rmSync(control + suffix, { force: true });
  };
  return server;
}

export function assertDiskFull(reply) {
  assert.equal(reply.status, 507, reply.text);
  assert.equal(reply.body.error, 'insufficient_storage');
  assert.match(reply.body.reason, /disk is full/i);
  assert.match(reply.body.reason, /free some space/i);
}

/// A command that gives the server a disk of its own, of `mebibytes`, on `folder`; undefined where that is not allowed.
export function onSmallDisk(folder, mebibytes) {
  const script = `mount -t tmpfs -o size=${mebibytes}m,mode=700 tmpfs "${folder}" && exec "$@"`;
  for (const unshare of [['unshare', '--mount'], ['unshare', '--user', '--map-root-user', '--mount']]) {
    const command = [...unshare, 'sh', '-c', script, 'sh'];
    try {
      execFileSync(command[0], [...command.slice(1), 'true'], { stdio: 'ignore' });
      return command;
    } catch {
      // the next one
    }
  }
  return undefined;
}

export async function until(what, condition, ms = 10_000) {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(20)) {
    if (await condition()) return;
  }
  assert.fail(`not within ${ms} ms: ${what}`);
}
