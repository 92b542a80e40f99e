// The minutes of each step of scripts/test.sh, beside those of the record: minutes.mjs REPORT_FOLDER RECORD [--update].
//
// The record holds, for runs with an empty and with a warm compiler cache, with short campaigns and with full ones
// (dose.mjs), the seconds of each step, and of each group of tests the sum of its tests' seconds. A step that took a
// quarter longer than there, and 10 s, is named. --update writes this run into the record.
//
// A run without a record of its own is compared with the nearest one: steps before the tests only with a run with the
// same state of the cache, and what depends on the length of the campaigns only with a run with the same length.
import fs from 'node:fs';
import path from 'node:path';
import { dosedGroups } from './dose.mjs';
import { testsOf } from './test_report.mjs';

const [folder, recordFile, update] = process.argv.slice(2);
const seconds = new Map();
for (const line of fs.readFileSync(path.join(folder, 'steps.tsv'), 'utf8').trim().split('\n')) {
  const [step, value] = line.split('\t');
  seconds.set(step, Number(value));
}

// `asan: crash: killing` belongs to `asan: crash`, `storage: a key …` to `storage`.
const groupOf = (test) => /^((asan|thread): )?[a-z ]+/.exec(test)?.[0].trim() ?? test;
for (const test of testsOf(path.join(folder, 'tests.xml'))) {
  const group = `  ${groupOf(test.name)}`;
  seconds.set(group, (seconds.get(group) ?? 0) + test.seconds);
}

const cache = Object.fromEntries(fs.readFileSync(path.join(folder, 'ccache.tsv'), 'utf8').trim().split('\n').map((line) => line.split('\t')));
const hits = Number(cache.direct_cache_hit ?? 0) + Number(cache.preprocessed_cache_hit ?? 0);
const misses = Number(cache.cache_miss ?? 0);
// built: nothing was compiled
const kind = hits + misses === 0 ? 'built' : misses * 10 <= hits ? 'warm' : hits * 10 <= misses ? 'empty' : 'partly filled';
const dose = process.env.OCTAVO_TEST_DOSE ?? 'full';
const run = `${kind}, ${dose}`;

const record = fs.existsSync(recordFile) ? JSON.parse(fs.readFileSync(recordFile, 'utf8')) : {};
const kinds = [kind, ...(misses > hits ? ['empty', 'warm'] : ['warm', 'empty'])];
const nearest = [dose, dose === 'full' ? 'short' : 'full'].flatMap((length) => kinds.map((state) => `${state}, ${length}`))
  .find((name) => record[name]);
const [nearestKind, nearestDose] = nearest?.split(', ') ?? [];

/// Whether the time of a step means the same in this run and in the nearest one.
function isComparable(step) {
  const isGroup = step.startsWith('  ');
  if (!isGroup && step !== 'tests' && (nearestKind !== kind || kind === 'partly filled')) return false;
  return nearestDose === dose || (step !== 'tests' && !dosedGroups.includes(step.trim().replace(/^(asan|thread): /, '')));
}

const grown = [];
console.log(`\nMinutes of each step (compiler cache: ${kind}, ${hits} hits, ${misses} misses), beside ` +
  `${nearest ? `the record of "${nearest}"` : 'no record'}:`);
for (const [step, value] of seconds) {
  const was = nearest && isComparable(step) ? record[nearest][step] : undefined;
  if (was === undefined && value < 5 && step.startsWith('  ')) continue;
  const more = was !== undefined && value > was * 1.25 && value > was + 10;
  if (more) grown.push(step.trim());
  console.log(`${step.padEnd(34)}${(value / 60).toFixed(1).padStart(7)}${was === undefined ? '' : (was / 60).toFixed(1).padStart(7)}${more ? '  more by a quarter' : ''}`);
}
if (grown.length > 0) console.log(`WARNING: took at least a quarter longer than the record: ${grown.join(', ')}`);
console.log();
if (update === '--update') {
  record[run] = Object.fromEntries([...seconds].map(([step, value]) => [step, Math.round(value)]).filter(([, value]) => value >= 5));
  fs.writeFileSync(recordFile, `${JSON.stringify(record, null, 2)}\n`);
}
