// Moments of the analytical process that are too short to be met: a statement of it waits for the test.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { eventually, patience } from '../harness.mjs';
import { library } from './analytics_support.mjs';

const source = path.join(process.env.OCTAVO_SOURCE_DIR, 'tests/integration/analytics/held_statements.c');

/// A library in the place of DuckDB's, as arguments of a server. One statement at a time waits: the first one with the text that
/// hold() was given.
export function holdStatements(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-held-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'libheld.so');
  execFileSync('cc', ['-shared', '-fPIC', `-DFOLDER="${folder}"`, '-o', file, source,
    '-Wl,--no-as-needed', library, `-Wl,-rpath,${path.dirname(library)}`]);
  const sha256 = createHash('sha256').update(fs.readFileSync(file)).digest('hex');
  const at = (name) => path.join(folder, name);
  const there = (name) => eventually(() => fs.existsSync(at(name)), 120_000 * patience);
  return {
    args: [`--analytics-library=${file}`, `--analytics-library-sha256=${sha256}`],
    /// What waits already continues.
    hold(text) {
      for (const name of ['held', 'ended']) fs.rmSync(at(name), { force: true });
      fs.writeFileSync(at('next'), text);
      fs.renameSync(at('next'), at('hold'));
    },
    /// Such a statement waits.
    reached: () => there('held'),
    release: () => fs.rmSync(at('hold')),
    /// It has run, and its connection has ended.
    ended: () => there('ended'),
  };
}
