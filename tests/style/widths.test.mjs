// Scripts are read in a terminal and in reviews: no line is wider than the documents are. clang-format looks after C++.
// A JSON member with a text cannot be divided, so it may be wider.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const WIDTH_MAX = 125;
const SCRIPTS_MIN = 25;
const member = /^ *"[^"]+": "(?:[^"\\]|\\.)*",?$/;

const filesIn = (folder, wanted) => fs.readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && wanted(entry.name))
  .map((entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name)));
const isShell = (name) => name.endsWith('.sh');
const scripts = [...filesIn('scripts', () => true), ...filesIn('tests', isShell), ...filesIn('.ci', () => true)]
  .filter((file) => !file.includes('node_modules'));

/// The lines of `text` that are too wide, by number.
const tooWide = (text) => text.split('\n').flatMap((line, i) =>
  [...line].length > WIDTH_MAX && !member.test(line) ? [i + 1] : []);

test('the scripts are found', () => assert.ok(scripts.length >= SCRIPTS_MIN, scripts.join(' ')));

test(`no line of a script is wider than ${WIDTH_MAX} characters`, () => {
  const wide = scripts.flatMap((file) =>
    tooWide(fs.readFileSync(path.join(root, file), 'utf8')).map((line) => `${file}:${line}`));
  assert.deepEqual(wide, []);
});

test('lines that are too wide are found', () => {
  const wide = 'x'.repeat(WIDTH_MAX);
  assert.deepEqual(tooWide(`${wide}\n${wide}x\n  "name": "${wide}",\n  "name": "${wide}", "other": 1\n`), [2, 4]);
});
