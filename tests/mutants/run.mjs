// Plants each fault of mutants.mjs in a copy of the source, builds it, and runs the campaigns that must find the fault.
//
//   node run.mjs [--only TEXT] [--folder build/mutants] [--all]
//
// `--only`: faults whose name contains the text. `--all`: runs every campaign of a fault, not only until one finds it.
// Prints Markdown: the fault, the campaigns that found it, and those that did not. Fails when none finds a fault, when a
// campaign that is named does not exist, or when a fault does not compile.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { mutants } from './mutants.mjs';

const root = path.join(import.meta.dirname, '..', '..');
const { values: options } = parseArgs({
  options: { only: { type: 'string', default: '' }, folder: { type: 'string', default: path.join(root, 'build/mutants') },
    all: { type: 'boolean', default: false } },
});
const source = path.resolve(options.folder);
const build = path.join(source, 'build');

function run(command, args, more = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 30, ...more });
  return { ok: result.status === 0, text: `${result.stdout}${result.stderr}` };
}

function mustRun(command, args, more) {
  const { ok, text } = run(command, args, more);
  if (!ok) throw new Error(`${command} ${args.join(' ')}:\n${text.slice(-4000)}`);
  return text;
}

/// Files that have not changed keep their times, so that a second run compiles what changed.
function copySource() {
  fs.mkdirSync(source, { recursive: true });
  const files = mustRun('git', ['-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard']).split('\0');
  for (const file of files.filter((name) => name && fs.existsSync(path.join(root, name)))) {
    const to = path.join(source, file);
    const text = fs.readFileSync(path.join(root, file));
    if (fs.existsSync(to) && fs.readFileSync(to).equals(text)) continue;
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.copyFileSync(path.join(root, file), to);
  }
}

/// Whether the tests with such names pass; throws if there are none.
function passes(pattern) {
  const found = run('ctest', ['--test-dir', build, '-R', pattern, '--no-tests=error', '--parallel', '2', '--stop-on-failure']);
  if (/No tests were found/.test(found.text)) throw new Error(`no test is named ${pattern}`);
  return found.ok;
}

copySource();
mustRun('cmake', ['--preset', 'release', '-DOCTAVO_TESTS=ON', `-DOCTAVO_NPM_DIR=${path.join(root, 'build/integration')}`],
  { cwd: source });
console.log('| fault | found by | not found by |\n|---|---|---|');
let ok = true;
for (const mutant of mutants.filter(({ name }) => name.includes(options.only))) {
  const file = path.join(source, mutant.file);
  const original = fs.readFileSync(file, 'utf8');
  if (original.split(mutant.before).length !== 2) throw new Error(`not once in ${mutant.file}: ${mutant.before}`);
  const found = [];
  const missed = [];
  try {
    fs.writeFileSync(file, original.replace(mutant.before, () => mutant.after));
    mustRun('cmake', ['--build', build]);
    for (const pattern of mutant.tests) {
      if (found.length > 0 && !options.all) break;
      (passes(pattern) ? missed : found).push(`\`${pattern.replaceAll('|', '\\|')}\``);
    }
  } finally {
    fs.writeFileSync(file, original);
  }
  if (found.length === 0) ok = false;
  console.log(`| ${mutant.name} | ${found.join(', ') || 'none'} | ${missed.join(', ')} |`);
}
process.exitCode = ok ? 0 : 1;
