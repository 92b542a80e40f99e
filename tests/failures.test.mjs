// What a reader of continuous integration is shown of the tests that failed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = path.join(path.dirname(fileURLToPath(import.meta.url)), 'failures.mjs');

/// Runs these commands as tests of ctest, and returns what the script prints of them.
function failures(t, commands) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-failures-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  fs.writeFileSync(path.join(folder, 'CTestTestfile.cmake'),
    Object.entries(commands).map(([name, command]) => `add_test([=[${name}]=] /bin/sh -c [=[${command}]=])\n`).join(''));
  const junit = path.join(folder, 'tests.xml');
  spawnSync('ctest', ['--test-dir', folder, '--output-junit', junit]);
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, junit], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
}

test('the output of a failed test is shown, and that of others is not', (t) => {
  const shown = failures(t, { 'a "bad" <one>': "echo 'got <1> & <2>'; exit 1", 'a good one': 'echo fine' });
  assert.equal(shown, '\nFAILED: a "bad" <one>\n  got <1> & <2>\n');
});

test('of a long output, the last lines are shown', (t) => {
  const lines = failures(t, { long: 'seq 1000; exit 1' }).trimEnd().split('\n');
  assert.deepEqual(lines.slice(2, 4), ['(the last 60 of 1000 lines)', '  941']);
  assert.equal(lines.at(-1), '  1000');
});

test('when all tests passed, nothing is shown', (t) => {
  assert.equal(failures(t, { good: 'true' }), '');
});
