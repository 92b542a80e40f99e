// Records what a server under load writes and syncs, builds the folder as it could be had the power gone at moments of
// that time, and looks whether each opens, is sound, and has all that was acknowledged by then.
//
//   node power_loss.mjs [--images N | --every] [--seconds S] [--seed N] [--durability commit|relaxed]
//
// --images N takes N moments: a fifth each at random, at the end of a sync, while files and folders come and go, in the
// commits of search indexes, and after a compacted file has got its name; and besides, the first ones, in which the data
// folder is made. --every takes each end of a sync and the moment before it. With `relaxed` the last writes may be gone: then
// what is there must be what was there at some earlier moment (relaxed.mjs).
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { dose } from '../dose.mjs';
import { Server, sleep } from '../integration/harness.mjs';
import { Disk, isBoundary, isReplacement, isSearchCommit, isStructural, readRecording, writeImage } from './disk.mjs';
import { preload, setFaults } from './file_layer.mjs';
import { compare, History, Replay } from './history.mjs';
import { checkFolder, Failure } from './killing.mjs';
import { observe } from './observe.mjs';
import { Random, seedFrom } from '../support/random.mjs';
import { compareRelaxed } from './relaxed.mjs';
import { World } from './workload.mjs';

const LAUNCHES = 2;
/// Making the data folder and its catalog takes so many, and happens once.
const FIRST_RECORDS = 40;
const ROOM_BYTES_MIN = 4 * 2 ** 30;
const serverArguments = ['--log-access=false', '--storage-map-bytes-initial=256KiB'];

/// A server on a folder that does not exist yet, under load, with one orderly restart in between. At first the disk is as
/// fast as memory, then it is slow: so what readers see before it is certain gets its turn.
async function record({ seed, folder, seconds, durability }) {
  const history = new History();
  const world = new World({ seed, history, documentClients: 12, databaseClients: 2, indexClients: 1, forgettingClients: 0 });
  const root = path.join(folder, 'disk');
  fs.mkdirSync(root);
  const logs = [];
  const server = new Server({ dataDir: path.join(root, 'data'), args: [...serverArguments, `--storage-durability=${durability}`] });
  for (let n = 0; n < LAUNCHES; ++n) {
    logs.push(path.join(folder, `log-${n}`));
    const faults = path.join(folder, 'faults');
    server.options.env = preload({ root, log: logs[n], faults });
    if (n > 0) setFaults(faults, ['delay=4 synced-write path=partition', 'delay=1 fdatasync path=partition']);
    await server.launch();
    if (n === 0) await world.furnish(server);
    const load = world.load(server);
    await Promise.race([sleep((seconds * 500) / LAUNCHES), load]);
    await Promise.race([world.compactAll(), load]);
    await Promise.race([sleep((seconds * 500) / LAUNCHES), load]);
    world.stop();
    await load;
    await server.stop();
  }
  return { history, records: readRecording(logs) };
}

/// Indexes of records after which the power goes, in order.
function moments(records, random, images, every) {
  const those = (wanted) => records.flatMap((record, i) => (wanted(record) ? [i] : []));
  const boundaries = those(isBoundary);
  if (every) return boundaries.flatMap((i) => (i > 0 ? [i - 1, i] : [i]));
  const structural = those(isStructural);
  const commits = those(isSearchCommit);
  const replacements = those(isReplacement);
  const chosen = Array.from({ length: images }, (_, n) => [
    () => random.below(records.length),
    () => random.pick(boundaries) - random.below(2),
    () => random.pick(structural) + random.below(12),
    () => random.pick(commits) + random.below(3),
    () => random.pick(replacements.length > 0 ? replacements : structural) + random.below(12),
  ][n % 5]());
  for (let i = 0; i < FIRST_RECORDS; ++i) chosen.push(i);
  return chosen.map((i) => Math.min(Math.max(i, 0), records.length - 1)).sort((a, b) => a - b);
}

async function lookAt(folder, random, certain) {
  const [copy, original] = [path.join(folder, 'checked'), path.join(folder, 'served')];
  const dataDir = path.join(original, 'data');
  // Before the folder was made there is nothing to check.
  const problems = fs.existsSync(path.join(copy, 'data', 'catalog')) ? [await checkFolder(path.join(copy, 'data'))] : [];
  const server = new Server({ dataDir, args: serverArguments });
  try {
    await server.launch();
    const { seen, problems: found, partitionCounts } = await observe(server, random);
    problems.push(...found, ...certain(seen, partitionCounts));
  } catch (error) {
    problems.push(await server.explain(error));
  } finally {
    await server.kill();
  }
  return problems.filter(Boolean);
}

/// In memory if there is room for the recording and an image: nothing here needs a real disk.
function roomyFolder() {
  const memory = '/dev/shm';
  const room = fs.existsSync(memory) ? fs.statfsSync?.(memory) : undefined;
  return room && room.bavail * room.bsize > ROOM_BYTES_MIN ? memory : os.tmpdir();
}

/// Throws a Failure that names the seed, the moment and the image, which then stays.
export async function powerLossTest({ seed, images = 60, every = false, seconds = 1.5, durability = 'commit', parent,
                                      ignoreSyncs = false, report = () => {} }) {
  const start = Date.now();
  const folder = fs.mkdtempSync(path.join(parent ?? roomyFolder(), 'octavo-power-'));
  const { history, records } = await record({ seed, folder, seconds, durability });
  const random = new Random(seed, 'moments');
  const disk = new Disk({ ignoreSyncs });
  const replay = new Replay(history.requests);
  const totals = { seed, durability, records: records.length, boundaries: records.filter(isBoundary).length, images: 0,
                   acknowledged: history.acknowledgedCount, compared: 0, modes: {} };
  let applied = -1;
  for (const moment of moments(records, random, images, every)) {
    while (applied < moment) disk.apply(records[++applied]);
    const next = records[moment + 1];
    const { mode, tree } = disk.image(random, records[moment].sequence, next);
    const image = path.join(folder, 'image');
    for (const name of ['checked', 'served']) writeImage(tree, path.join(image, name));
    // Nothing happened on the disk until the next record: what was acknowledged before it counts.
    const time = next?.time ?? process.hrtime.bigint();
    const { state, pending, acknowledgedCount } = replay.at(time);
    const certain = (seen, partitionCounts) => durability === 'commit' ? compare(state, pending, seen)
                                                      : compareRelaxed(history.requests, time, state, pending, seen, partitionCounts);
    const problems = await lookAt(image, random, certain);
    if (problems.length > 0) {
      throw new Failure(`seed ${seed}, ${durability}, power lost after record ${moment + 1} of ${records.length} ` +
        `(${mode}), image in ${image}:\n${problems.slice(0, 20).join('\n')}`);
    }
    fs.rmSync(image, { recursive: true });
    ++totals.images;
    totals.compared += acknowledgedCount;
    totals.modes[mode] = (totals.modes[mode] ?? 0) + 1;
    report({ ...totals, seconds: (Date.now() - start) / 1000 });
  }
  while (applied < records.length - 1) disk.apply(records[++applied]);
  const mapped = disk.mappedFiles();
  if (mapped.length > 0) throw new Failure(`files are changed through writable maps: ${mapped.join(', ')}`);
  if (disk.misorders.length > 0) throw new Failure(disk.misorders.slice(0, 20).join('\n'));
  fs.rmSync(folder, { recursive: true });
  return { ...totals, seconds: (Date.now() - start) / 1000 };
}

export const summary = ({ durability, records, boundaries, images, acknowledged, compared, modes, seconds }) =>
  `${durability}: ${records} records with ${boundaries} syncs, ${acknowledged} acknowledged writes; ${images} images ` +
  `(${Object.entries(modes).map(([mode, count]) => `${mode} ${count}`).join(', ')}), each sound, ${compared} ` +
  `acknowledged writes found again, ${seconds.toFixed(0)} s`;

if (process.argv[1]?.endsWith('power_loss.mjs')) {
  const text = { type: 'string' };
  const { values } = parseArgs({ options: { images: text, every: { type: 'boolean' }, seconds: text, seed: text,
                                            durability: text, folder: text } });
  const seed = seedFrom(values.seed);
  console.log(`seed ${seed}`);
  let shown = 0;
  try {
    const totals = await powerLossTest({
      seed, every: values.every, durability: values.durability, parent: values.folder,
      images: values.images && dose(Number(values.images)), seconds: values.seconds && Number(values.seconds),
      report(now) {
        if (now.seconds - shown < 10) return;
        shown = now.seconds;
        console.log(summary(now));
      },
    });
    console.log(`passed: ${summary(totals)}`);
  } catch (error) {
    console.error(error instanceof Failure ? `FAILED: ${error.message}` : error);
    process.exit(1);
  }
}
