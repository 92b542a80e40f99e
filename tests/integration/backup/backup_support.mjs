// Backups in tests: making one, and looking into it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { eventually, expectStatus, Server } from '../harness.mjs';
import { checkFiles } from '../failing_disk.mjs';

/// A new folder for backups, removed after the test.
export function backupFolder(t) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-backup-')));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/// A server with a folder for backups: `server.backups`.
export async function startWithBackups(t, { args = [], ...options } = {}) {
  const folder = backupFolder(t);
  const server = await Server.startFor(t, { ...options, args: ['--backup-folder', folder, ...args] });
  server.backups = folder;
  return server;
}

export const begin = async (server, folder) => expectStatus(await server.post('/_backup', { folder }), 202);
export const stateOf = async (server) => expectStatus(await server.get('/_backup'), 200);

/// How many bytes a second a backup may take: '64KiB'. '0': no limit.
export const setRate = async (server, rate) =>
  expectStatus(await server.put('/_node/_local/_config/storage/compaction_rate', JSON.stringify(rate)), 200);

/// Waits until no backup runs, and returns how the last one ended.
export async function ended(server, timeoutMs = 60_000) {
  let status;
  await eventually(async () => {
    status = await stateOf(server);
    return status.state !== 'running';
  }, timeoutMs);
  return status;
}

/// Makes a backup, which must succeed and be sound; returns its folder.
export async function backUp(server, name = 'b1') {
  await begin(server, name);
  const status = await ended(server);
  assert.equal(status.state, 'complete', JSON.stringify(status));
  const folder = path.join(server.backups, name);
  assert.match(checkFiles(folder), /sound/);
  return folder;
}

/// A server with the data of a backup. It writes into the backup's folder.
export const startOn = (t, dataDir, options = {}) => Server.startFor(t, { ...options, dataDir });

/// All documents of a database with their revisions and conflicts, the deleted ones, and the local ones.
export async function contentOf(server, db) {
  const at = `/${encodeURIComponent(db)}`;
  const { rows } = expectStatus(await server.get(`${at}/_all_docs?include_docs=true&conflicts=true`), 200);
  const { results } = expectStatus(await server.get(`${at}/_changes?style=all_docs`), 200);
  const deleted = results.filter((row) => row.deleted).map(({ id, changes }) => ({ id, changes })).sort((a, b) => (a.id < b.id ? -1 : 1));
  const local = expectStatus(await server.get(`${at}/_local_docs?include_docs=true`), 200).rows;
  const security = expectStatus(await server.get(`${at}/_security`), 200);
  return { rows, deleted, local, security };
}
