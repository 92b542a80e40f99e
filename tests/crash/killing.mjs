// Kills a server under load with SIGKILL, again and again, and looks each time whether anything acknowledged is missing
// or anything is half there.
//
//   node killing.mjs --cycles 2000 [--seed N] [--folder DIR]
//
// One cycle: load for a random moment, SIGKILL, `octavo check` on a copy of the folder, start (killed during the start,
// too, now and then), compare everything with what was acknowledged. A folder lives for some cycles, then a new one
// begins. The printed seed brings the clients' requests back; when they meet the kill is up to the machine.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { dose } from '../dose.mjs';
import { binary, Server, sleep } from '../integration/harness.mjs';
import { compare, History } from './history.mjs';
import { observe } from './observe.mjs';
import { Random, seedFrom } from '../support/random.mjs';
import { World } from './workload.mjs';

const CYCLES_PER_FOLDER = 10;
const LOAD_MS_MAX = 400;
const PATIENCE = 10;  // a machine with much else to do is no loss
const FOLDERS_AT_ONCE = 2;
const serverArguments = ['--log-access=false', '--storage-map-bytes-initial=256KiB'];

/// Runs `octavo check`; resolves with problems as text, '' for none.
export async function checkFolder(folder) {
  const ours = Object.entries(process.env).filter(([name]) => !/^(OCTAVO|COUCHDB)_/.test(name));
  const check = spawn(binary, ['check', '--data-dir', folder],
    { env: Object.fromEntries(ours), stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [check.stdout, check.stderr]) stream.on('data', (data) => (text += data));
  const code = await new Promise((resolve, reject) => {
    check.once('close', (status, signal) => resolve(signal ?? status));
    check.once('error', reject);
  });
  return code === 0 && / sound$/m.test(text) ? '' : `octavo check ended with ${code}:\n${text}`;
}

export class Failure extends Error {}

/// Starts the server and kills it before or just after it is ready.
async function killDuringStart(dataDir, random) {
  const server = new Server({ dataDir, args: serverArguments, patience: PATIENCE });
  const launched = server.launch().catch(() => undefined);
  await sleep(random.below(40));
  server.process?.kill('SIGKILL');
  await launched;
  await server.kill();
}

async function cycle(folder, random, totals) {
  const { world, history, server, tamper } = folder;
  let killed = false;
  const load = world.load(server, () => killed);
  const moment = sleep(5 + random.below(LOAD_MS_MAX));
  await Promise.race([moment, load]);
  killed = true;
  await server.kill();
  ++totals.kills;
  world.stop();
  await load;
  totals.acknowledged += history.acknowledgedCount;
  const pending = history.pending();
  totals.pending += pending.length;

  tamper?.(folder.dataDir);
  const copy = `${folder.dataDir}-copy`;
  fs.cpSync(folder.dataDir, copy, { recursive: true });
  const unsound = await checkFolder(copy);
  fs.rmSync(copy, { recursive: true });
  if (unsound) throw new Failure(unsound);

  if (random.chance(0.1)) {
    await killDuringStart(folder.dataDir, random);
    ++totals.kills;
  }
  const look = async () => {
    await server.relaunch();
    const [observed, missed] = [await observe(server, random), await world.missedByFollowers(server)];
    observed.problems.push(...missed);
    return observed;
  };
  // Not to start, or not to answer, is a loss too.
  const { seen, problems } = await look().catch(async (error) => ({ seen: new Map(), problems: [await server.explain(error)] }));
  problems.push(...compare(history.state, pending, seen));
  totals.registers += history.state.size;
  totals.gone += world.restartsOfFollowers();
  if (problems.length > 0) throw new Failure(problems.slice(0, 20).join('\n'));
  history.adopt(seen);
}

/// Throws a Failure that names the seed and the folder, which then stays. Two folders are on their way at once, as much of
/// a cycle is waiting for the disk. `tamper(dataDir)` is called after each kill: to see that damage is noticed.
export async function killingTest({ cycles, seed, parent = os.tmpdir(), report = () => {}, tamper }) {
  const totals = { cycles: 0, folders: 0, kills: 0, acknowledged: 0, pending: 0, registers: 0, gone: 0 };
  const start = Date.now();
  let begun = 0;
  const workThroughFolder = async (number) => {
    const random = new Random(seed, `folder ${number}`);
    const history = new History();
    const world = new World({ seed: random.below(2 ** 32), history });
    const dataDir = fs.mkdtempSync(path.join(parent, 'octavo-crash-'));
    const server = new Server({ dataDir, args: serverArguments, patience: PATIENCE });
    let n = 0;
    try {
      await server.launch();
      await world.furnish(server);
      for (; n < CYCLES_PER_FOLDER && begun < cycles; ++n) {
        ++begun;
        await cycle({ dataDir, history, world, server, tamper }, random, totals);
        ++totals.cycles;
        report({ ...totals, seconds: (Date.now() - start) / 1000 });
      }
    } catch (error) {
      error.message = `seed ${seed}, folder ${number} (${dataDir}), its cycle ${n + 1}:\n${error.message}\n` +
        server.lines.slice(-30).join('\n');
      begun = cycles;
      throw error;
    } finally {
      await server.kill();
    }
    fs.rmSync(dataDir, { recursive: true });
  };
  const work = async () => {
    while (begun < cycles) await workThroughFolder(totals.folders++);
  };
  const outcomes = await Promise.allSettled(Array.from({ length: FOLDERS_AT_ONCE }, work));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return { ...totals, seconds: (Date.now() - start) / 1000 };
}

export const summary = ({ cycles, folders, kills, acknowledged, pending, registers, gone, seconds }) =>
  `${cycles} cycles in ${folders} folders, ${kills} kills, ${acknowledged} acknowledged writes, ${pending} in flight at a ` +
  `kill, ${registers} values compared, ${gone} times a follower began again, ${seconds.toFixed(0)} s`;

if (process.argv[1]?.endsWith('killing.mjs')) {
  const text = { type: 'string' };
  const { values } = parseArgs({ options: { cycles: { ...text, default: '200' }, seed: text, folder: text } });
  const seed = seedFrom(values.seed);
  console.log(`seed ${seed}`);
  let shown = 0;
  const report = (totals) => {
    if (totals.seconds - shown < 10) return;
    shown = totals.seconds;
    console.log(summary(totals));
  };
  try {
    console.log(`passed: ${summary(await killingTest({ cycles: dose(Number(values.cycles)), seed, parent: values.folder, report }))}`);
  } catch (error) {
    console.error(error instanceof Failure ? `FAILED: ${error.message}` : error);
    process.exit(1);
  }
}
