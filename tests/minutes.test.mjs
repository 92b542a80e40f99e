// What the table of minutes compares a run with, and when it warns.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = path.join(path.dirname(fileURLToPath(import.meta.url)), 'minutes.mjs');
const records = {
  'empty, short': { 'build release': 600, tests: 400, '  storage': 50, '  crash': 100 },
  'warm, short': { 'build release': 10, tests: 400, '  storage': 20, '  crash': 100 },
};

/// Runs the script on a report of these seconds; returns what it prints and the record afterwards.
function minutes(t, { hits, misses, dose, build = 100, storage = 20, crash = 100, record = records, options = [] }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-minutes-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const write = (name, text) => fs.writeFileSync(path.join(folder, name), text);
  write('steps.tsv', `build release\t${build}\ntests\t${storage + crash}\n`);
  write('ccache.tsv', `cache_miss\t${misses}\ndirect_cache_hit\t${hits}\npreprocessed_cache_hit\t0\n`);
  write('tests.xml', `<testcase name="storage: a key" classname="c" time="${storage}" status="run">\n` +
    `<testcase name="crash: killing" classname="c" time="${crash}" status="run">\n`);
  write('record.json', JSON.stringify(record));
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, folder, path.join(folder, 'record.json'), ...options],
    { encoding: 'utf8', env: { ...process.env, OCTAVO_TEST_DOSE: dose } });
  assert.equal(status, 0, stderr);
  return { stdout, record: JSON.parse(fs.readFileSync(path.join(folder, 'record.json'), 'utf8')) };
}
const warned = ({ stdout }) => stdout.match(/^WARNING: .*: (.*)$/m)?.[1].split(', ') ?? [];

test('steps that took a quarter longer than the record are named', (t) => {
  assert.deepEqual(warned(minutes(t, { hits: 100, misses: 0, dose: 'short', build: 25, storage: 31 })), ['build release', 'storage']);
  assert.deepEqual(warned(minutes(t, { hits: 100, misses: 0, dose: 'short', build: 12, storage: 30 })), []);
});

test('with a partly filled cache, tests are compared with the nearer record, and builds with none', (t) => {
  const mostlyHits = { hits: 60, misses: 40, dose: 'short', build: 5000, storage: 40 };
  const mostlyMisses = { ...mostlyHits, hits: 40, misses: 60 };
  assert.deepEqual(warned(minutes(t, mostlyHits)), ['storage']);
  assert.deepEqual(warned(minutes(t, mostlyMisses)), []);
});

test('when nothing was compiled, tests are compared with the record of a warm cache', (t) => {
  assert.deepEqual(warned(minutes(t, { hits: 0, misses: 0, dose: 'short', storage: 40 })), ['storage']);
});

test('full campaigns without a record are compared with short ones where their length does not matter', (t) => {
  assert.deepEqual(warned(minutes(t, { hits: 100, misses: 0, dose: 'full', build: 5, storage: 40, crash: 2000 })), ['storage']);
});

test('a record of the same campaigns is preferred to one of the same cache', (t) => {
  const record = { ...records, 'warm, full': { tests: 420, '  storage': 20, '  crash': 400 } };
  assert.deepEqual(warned(minutes(t, { hits: 0, misses: 100, dose: 'full', build: 5000, storage: 40, crash: 600, record })), ['tests', 'storage', 'crash']);
});

test('a run without any record is compared with nothing, and can become one', (t) => {
  const run = minutes(t, { hits: 50, misses: 50, dose: 'full', record: {}, options: ['--update'] });
  assert.match(run.stdout, /beside no record/);
  assert.deepEqual(warned(run), []);
  assert.deepEqual(run.record, { 'partly filled, full': { 'build release': 100, tests: 120, '  storage': 20, '  crash': 100 } });
});
