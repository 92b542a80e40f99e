#!/usr/bin/env node
// The model test: random calls to the server and to the model of the dialect, every reply compared; what differs is
// made short and printed as a script.
//
//   node run.mjs --ci                the seeds of CI, and one at random, which is printed
//   node run.mjs --seed 7            one sequence (repeatable)
//   node run.mjs --minutes 20        as many as fit, from a random seed, which is printed
//   node run.mjs --sequences 100     this number of sequences
//   node run.mjs --replay file.json  the calls a failure left
// More: --calls N per sequence, --failures DIR where failures are kept, --keep-going past failures.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { dose } from '../dose.mjs';
import { Server } from '../integration/harness.mjs';
import { SETTINGS } from './settings.mjs';
import { Campaign } from './driver/campaign.mjs';
import { replay } from './driver/session.mjs';
import { curlLine } from './driver/template.mjs';

const CI_SEEDS = 60;

const { values: options } = parseArgs({
  options: {
    ci: { type: 'boolean', default: false },
    seed: { type: 'string', multiple: true, default: [] },
    sequences: { type: 'string', default: '0' },
    minutes: { type: 'string', default: '0' },
    calls: { type: 'string', default: '60' },
    replay: { type: 'string' },
    failures: { type: 'string', default: os.tmpdir() },
    'keep-going': { type: 'boolean', default: false },
  },
});

const started = Date.now();

function* seeds() {
  for (const seed of options.seed) yield Number(seed);
  for (let seed = 1; options.ci && seed <= dose(CI_SEEDS); ++seed) yield seed;
  const base = Math.floor(Math.random() * 2 ** 31);
  const count = options.ci ? 1 : Number(options.sequences);
  const until = started + Number(options.minutes) * 60_000;
  if (count > 0 || until > started) console.log(`random seeds from ${base}`);
  for (let i = 0; i < count || Date.now() < until; ++i) yield base + i;
}

async function report(campaign, seed, failure) {
  console.log(`\nSEED ${seed}: call ${failure.calls.length} differs: ${failure.wrong}`);
  const { calls, wrong } = await campaign.shorten(failure);
  const file = path.join(options.failures, `model-failure-${seed}.json`);
  fs.writeFileSync(file, `[\n${calls.map((call) => `  ${JSON.stringify(call)}`).join(',\n')}\n]\n`);
  console.log(`In ${calls.length} calls (node ${process.argv[1]} --replay ${file}):\n`);
  for (const call of calls) console.log(`  ${curlLine(call)}`);
  console.log(`\n  ${wrong ?? 'It does not fail each time.'}\n`);
}

async function replayFile(server) {
  const failure = await replay(server, JSON.parse(fs.readFileSync(options.replay, 'utf8')));
  console.log(failure ? `call ${failure.call.n} differs: ${failure.wrong}` : 'every reply is as expected');
  return failure ? 1 : 0;
}

async function runSeeds(server) {
  const campaign = new Campaign(server, { calls: Number(options.calls) });
  for (const seed of seeds()) {
    const failure = await campaign.run(seed);
    if (!failure) continue;
    await report(campaign, seed, failure);
    if (!options['keep-going']) break;
  }
  const { sequences, calls, restarts, failures } = campaign.figures;
  const seconds = Math.round((Date.now() - started) / 1000);
  console.log(`${sequences} sequences, ${calls} calls, ${restarts} restarts, ${failures} failures in ${seconds} s`);
  return failures > 0 ? 1 : 0;
}

const server = await Server.start({ config: SETTINGS });
try {
  process.exitCode = await (options.replay ? replayFile(server) : runSeeds(server));
} finally {
  await server.kill();
  server.removeFolder();
}
