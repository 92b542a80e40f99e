// Records the first start of the present program on a data folder of an earlier format, and the compaction of its
// databases; builds the folder as it could be had the power gone at a moment of that time, and looks whether each opens, is
// sound, and answers as the earlier program did.
//
//   node upgrade.mjs [--images N | --every] [--seed N]
//
// --every takes the end of each sync and the moment before it, --images N takes N of these and besides the first ones. A
// folder that has the number of the earlier format must be as the earlier program left it: that one would open it.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import zlib from 'node:zlib';
import { dose } from '../dose.mjs';
import { databases, replies } from '../integration/format_replies.mjs';
import { eventually, expectStatus, Server } from '../integration/harness.mjs';
import { Random, seedFrom } from '../support/random.mjs';
import { Disk, isBoundary, readRecording } from './disk.mjs';
import { firedFaults, preload, setFaults } from './file_layer.mjs';
import { atEachSync, countModes, lookAt, lookAtImages, recordingFolder } from './images.mjs';
import { Failure } from './killing.mjs';

const FORMAT = 1;
/// All states around the first syncs are looked at: these write the number of the format.
const FIRST_SYNCS = 6;
const COMPACTION_MS = 60_000;
const fixtures = path.join(import.meta.dirname, '../format');
const serverArguments = ['--log-access=false', '--storage-map-bytes-initial=256KiB'];

/// The first start ends where it would make the number of the format certain, with an error. The second must not rely on it.
async function record(folder, root) {
  const [dataDir, faults] = [path.join(root, 'data'), path.join(folder, 'faults')];
  const logs = [0, 1].map((n) => path.join(folder, `log-${n}`));
  const first = new Server({ dataDir, args: serverArguments, env: preload({ root, log: logs[0], faults }) });
  // Before the folder, the file with the number is synced.
  setFaults(faults, ['eio fsync path=data skip=1']);
  await first.launch().catch(() => {});
  await first.kill();
  const server = new Server({ dataDir, args: serverArguments, env: preload({ root, log: logs[1] }) });
  await server.launch();
  for (const db of databases) {
    expectStatus(await server.post(`/${db}/_compact`, {}), 202);
    await eventually(async () => (await server.get(`/${db}`)).body.compact_running === false, COMPACTION_MS);
  }
  await server.stop();
  const isStopped = firedFaults(faults).some(({ operation, path: where }) => operation === 'fsync' && where === 'data');
  return { records: readRecording(logs), isStopped };
}

/// The files of a tree by their paths. What LMDB and the server lock is no content.
function* filesOf(tree, prefix = '') {
  for (const [name, entry] of tree) {
    if (entry instanceof Map) yield* filesOf(entry, `${prefix}${name}/`);
    else if (name !== 'lock.mdb' && name !== 'octavo.lock') yield [prefix + name, entry];
  }
}

/// What the earlier program would find changed, although the number of the format lets it open the folder.
export function changedBelowNumber(image, original) {
  const [is, was] = [image, original].map((tree) => new Map(filesOf(tree)));
  const number = 'data/octavo.format';
  if (!is.has(number)) return [`there is no ${number}`];
  if (!is.get(number).equals(was.get(number))) return [];
  is.delete(`${number}.new`);
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => !is.has(name) || !was.get(name)?.equals(is.get(name)))
    .map((name) => `${name} is changed, and the folder has format ${FORMAT}`);
}

/// Throws a Failure that names the seed, the moment and the image, which then stays.
export async function upgradeTest({ seed, images = 40, every = false, parent, ignoreSyncs = false, report = () => {} }) {
  const start = Date.now();
  const folder = recordingFolder(parent);
  const root = path.join(folder, 'disk');
  fs.mkdirSync(path.join(root, 'data'), { recursive: true });
  execFileSync('tar', ['-xzf', path.join(fixtures, `format-${FORMAT}.tar.gz`), '-C', path.join(root, 'data')]);
  const expected = JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(fixtures, `format-${FORMAT}.json.gz`))));
  const disk = new Disk({ ignoreSyncs });
  disk.load(root);
  const random = new Random(seed, 'moments');
  const original = disk.image(random, 0).tree;
  const { records, isStopped } = await record(folder, root);

  const all = atEachSync(records);
  const [first, later] = [all.slice(0, 2 * FIRST_SYNCS), all.slice(2 * FIRST_SYNCS)];
  const moments = every ? all : [...first, ...random.sample(later, images).sort((a, b) => a - b)];
  const totals = { seed, records: records.length, boundaries: records.filter(isBoundary).length, images: 0, untouched: 0,
                   modes: {} };
  const look = async ({ image, tree, mode }) => {
    const problems = changedBelowNumber(tree, original);
    problems.push(...await lookAt(image, serverArguments, async (server) => {
      const answers = await replies(server);
      return expected.flatMap(([name, value], i) =>
        isDeepStrictEqual(answers[i], [name, value]) ? [] : [`${name}: ${JSON.stringify(answers[i]).slice(0, 300)}`]);
    }));
    ++totals.images;
    const [number, former] = [tree, original].map((whole) => whole.get('data').get('octavo.format'));
    totals.untouched += former.equals(number ?? Buffer.alloc(0));
    totals.modes[mode] = (totals.modes[mode] ?? 0) + 1;
    if (problems.length === 0) report({ ...totals, seconds: (Date.now() - start) / 1000 });
    return problems;
  };
  await lookAtImages({ folder, name: `seed ${seed}`, records, disk, random, moments, look });
  if (!isStopped) throw new Failure('the first start did not sync the folder when it had written the number of the format');
  fs.rmSync(folder, { recursive: true });
  return { ...totals, seconds: (Date.now() - start) / 1000 };
}

export const summary = ({ records, boundaries, images, untouched, modes, seconds }) =>
  `${records} records with ${boundaries} syncs; ${images} images (${countModes(modes)}), each sound and complete, ` +
  `${untouched} still of format ${FORMAT}, ${seconds.toFixed(0)} s`;

if (process.argv[1]?.endsWith('upgrade.mjs')) {
  const text = { type: 'string' };
  const { values } = parseArgs({ options: { images: text, every: { type: 'boolean' }, seed: text, folder: text } });
  const seed = seedFrom(values.seed);
  console.log(`seed ${seed}`);
  let shown = 0;
  try {
    const totals = await upgradeTest({
      seed, every: values.every, parent: values.folder, images: values.images && dose(Number(values.images)),
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
