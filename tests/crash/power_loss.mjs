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
import path from 'node:path';
import { parseArgs } from 'node:util';
import { dose } from '../dose.mjs';
import { Server, sleep } from '../integration/harness.mjs';
import { Disk, isBoundary, isReplacement, isSearchCommit, isStructural, readRecording } from './disk.mjs';
import { preload, setFaults } from './file_layer.mjs';
import { forgetting, untilDropped } from './forgetting.mjs';
import { compare, History, Replay } from './history.mjs';
import { atEachSync, countModes, lookAt, lookAtImages, recordingFolder } from './images.mjs';
import { Failure } from './killing.mjs';
import { observe } from './observe.mjs';
import { Random, seedFrom } from '../support/random.mjs';
import { compareRelaxed } from './relaxed.mjs';
import { World } from './workload.mjs';

const LAUNCHES = 2;
/// The records that make the data folder and its catalog, which happens once.
const FIRST_RECORDS = 40;
/// Times are stored in seconds: after two of them a tombstone is older than its retention, one second.
const UNTIL_TOMBSTONES_ARE_OLD_MS = 2000;
/// A database looks for old tombstones a second after it was opened.
const BEFORE_THEY_ARE_DROPPED_MS = 900;
const serverArguments = ['--log-access=false', '--storage-map-bytes-initial=256KiB'];

/// A server on a folder that does not exist yet, under load, with one orderly restart in between. At first the disk is as
/// fast as memory, then it is slow: so readers also see writes before these are durable. The second load lasts until
/// the tombstones of the first are dropped.
async function record({ seed, folder, seconds, durability }) {
  const history = new History();
  const world = new World({ seed, history, documentClients: 12, databaseClients: 2, indexClients: 1, forgettingClients: 2 });
  const root = path.join(folder, 'disk');
  fs.mkdirSync(root);
  const logs = [];
  const server = new Server({ dataDir: path.join(root, 'data'), args: [...serverArguments, `--storage-durability=${durability}`] });
  const missed = [];
  for (let n = 0; n < LAUNCHES; ++n) {
    logs.push(path.join(folder, `log-${n}`));
    const faults = path.join(folder, 'faults');
    server.options.env = preload({ root, log: logs[n], faults });
    if (n === 0) {
      await server.launch();
      await world.furnish(server);
    } else {
      setFaults(faults, ['delay=4 synced-write path=partition', 'delay=1 fdatasync path=partition']);
      await sleep(UNTIL_TOMBSTONES_ARE_OLD_MS - BEFORE_THEY_ARE_DROPPED_MS);
      await server.launch();
      await server.get(`/${forgetting.name}`);
      await sleep(BEFORE_THEY_ARE_DROPPED_MS);
    }
    const load = world.load(server);
    await Promise.race([sleep((seconds * 500) / LAUNCHES), load]);
    await Promise.race([world.compactAll(), load]);
    await Promise.race([sleep((seconds * 500) / LAUNCHES), load]);
    if (n > 0) await Promise.race([untilDropped(server), load]);
    world.stop();
    await load;
    missed.push(...await world.missedByFollowers(server));
    await server.stop();
  }
  if (missed.length > 0) throw new Failure(`seed ${seed}, before any power loss:\n${missed.slice(0, 20).join('\n')}`);
  return { history, followers: world.followers, records: readRecording(logs) };
}

/// Indexes of records after which the power goes, in order.
function moments(records, random, images, every) {
  const those = (wanted) => records.flatMap((record, i) => (wanted(record) ? [i] : []));
  const boundaries = those(isBoundary);
  if (every) return atEachSync(records);
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

/// Throws a Failure that names the seed, the moment and the image, which then stays.
export async function powerLossTest({ seed, images = 60, every = false, seconds = 1.5, durability = 'commit', parent,
                                      ignoreSyncs = false, report = () => {} }) {
  const start = Date.now();
  const folder = recordingFolder(parent);
  const { history, followers, records } = await record({ seed, folder, seconds, durability });
  const random = new Random(seed, 'moments');
  const replay = new Replay(history.requests);
  const totals = { seed, durability, records: records.length, boundaries: records.filter(isBoundary).length, images: 0,
                   acknowledged: history.acknowledgedCount, compared: 0, restarts: 0, modes: {} };

  /// What followers miss that continue where they were. With `relaxed`, they may have read what is lost.
  const missed = async (server, time) => {
    if (durability !== 'commit') return [];
    const resumed = followers.flatMap((follower) => follower.resumed(server, time) ?? []);
    const problems = (await Promise.all(resumed.map((follower) => follower.compare()))).flat();
    for (const follower of resumed) totals.restarts += follower.takeRestarts();
    return problems;
  };
  const look = async ({ image, mode, time }) => {
    const { state, pending, acknowledgedCount } = replay.at(time);
    const problems = await lookAt(image, serverArguments, async (server) => {
      const { seen, problems: found, partitionCounts } = await observe(server, random);
      const lost = durability === 'commit' ? compare(state, pending, seen)
                                           : compareRelaxed(history.requests, time, state, pending, seen, partitionCounts);
      return [...found, ...lost, ...await missed(server, time)];
    });
    ++totals.images;
    totals.compared += acknowledgedCount;
    totals.modes[mode] = (totals.modes[mode] ?? 0) + 1;
    if (problems.length === 0) report({ ...totals, seconds: (Date.now() - start) / 1000 });
    return problems;
  };
  await lookAtImages({ folder, name: `seed ${seed}, ${durability}`, records, disk: new Disk({ ignoreSyncs }), random,
                       moments: moments(records, random, images, every), look });
  fs.rmSync(folder, { recursive: true });
  return { ...totals, seconds: (Date.now() - start) / 1000 };
}

export const summary = ({ durability, records, boundaries, images, acknowledged, compared, restarts, modes, seconds }) =>
  `${durability}: ${records} records with ${boundaries} syncs, ${acknowledged} acknowledged writes; ${images} images ` +
  `(${countModes(modes)}), each sound, ${compared} acknowledged writes found again, ` +
  `${restarts} times a follower began again, ${seconds.toFixed(0)} s`;

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
