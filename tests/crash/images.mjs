// Builds folders as a power loss could leave them, from the recording of a server, and has each looked at.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Server } from '../integration/harness.mjs';
import { isBoundary, writeImage } from './disk.mjs';
import { checkFolder, Failure } from './killing.mjs';

const ROOM_BYTES_MIN = 4 * 2 ** 30;

/// A new folder, in memory if there is room for the recording and an image: nothing here needs a real disk.
export function recordingFolder(parent) {
  const memory = '/dev/shm';
  const room = fs.existsSync(memory) ? fs.statfsSync?.(memory) : undefined;
  const roomy = room && room.bavail * room.bsize > ROOM_BYTES_MIN ? memory : os.tmpdir();
  return fs.mkdtempSync(path.join(parent ?? roomy, 'octavo-power-'));
}

/// Indexes of records: the end of each sync, and the moment before it.
export const atEachSync = (records) =>
  records.flatMap((record, i) => (!isBoundary(record) ? [] : i > 0 ? [i - 1, i] : [i]));

/// Builds an image of the disk after each of the records `moments`, which are in order. `look({ image, tree, mode, time })`
/// returns problems. Throws a Failure that names the moment and the image, which then stays.
export async function lookAtImages({ folder, name, records, disk, random, moments, look }) {
  let applied = -1;
  for (const moment of moments) {
    while (applied < moment) disk.apply(records[++applied]);
    const next = records[moment + 1];
    const { mode, tree } = disk.image(random, records[moment].sequence, next);
    const image = path.join(folder, 'image');
    for (const copy of ['checked', 'served']) writeImage(tree, path.join(image, copy));
    // Nothing happened on the disk until the next record: what was acknowledged before it counts.
    const problems = await look({ image, tree, mode, time: next?.time ?? process.hrtime.bigint() });
    if (problems.length > 0) {
      throw new Failure(`${name}, power lost after record ${moment + 1} of ${records.length} ` +
        `(${mode}), image in ${image}:\n${problems.slice(0, 20).join('\n')}`);
    }
    fs.rmSync(image, { recursive: true });
  }
  while (applied < records.length - 1) disk.apply(records[++applied]);
  const mapped = disk.mappedFiles();
  if (mapped.length > 0) throw new Failure(`files are changed through writable maps: ${mapped.join(', ')}`);
  if (disk.misorders.length > 0) throw new Failure(disk.misorders.slice(0, 20).join('\n'));
}

/// Problems of an image: of the check of one copy, and those that `read(server)` finds in a server on the other.
export async function lookAt(image, serverArguments, read) {
  const [checked, served] = ['checked', 'served'].map((copy) => path.join(image, copy, 'data'));
  // Before the folder was made there is nothing to check.
  const problems = fs.existsSync(path.join(checked, 'catalog')) ? [await checkFolder(checked)] : [];
  const server = new Server({ dataDir: served, args: serverArguments });
  try {
    await server.launch();
    problems.push(...await read(server));
  } catch (error) {
    problems.push(await server.explain(error));
  } finally {
    await server.kill();
  }
  return problems.filter(Boolean);
}

export const countModes = (modes) => Object.entries(modes).map(([mode, count]) => `${mode} ${count}`).join(', ');
