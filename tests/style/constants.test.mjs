// A constant is spelled like any other variable: `slice_bytes`, never `kSliceBytes`. names.test.mjs looks at the
// names of the product only; this test reads the sources of the tests too, and the comments, which name constants.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const folders = ['base', 'config', 'storage', 'partitioning', 'query', 'analytics', 'api', 'server', 'tests'];
const SOURCES_MIN = 600;
const units = new Set(['kB']);  // as /proc/self/status writes it

const isSource = (name) => /\.(h|cpp)$/.test(name) && !/(^|\/)(node_modules|build)\//.test(name);
const sources = folders.flatMap((folder) =>
  fs.readdirSync(path.join(root, folder), { recursive: true }).filter(isSource).map((name) => `${folder}/${name}`));

const camelConstants = (text) =>
  [...text.matchAll(/\bk[A-Z]\w*/g)].map(([name]) => name).filter((name) => !units.has(name));

test('the sources are found', () => {
  assert.ok(sources.length >= SOURCES_MIN, `found ${sources.length} sources, expected at least ${SOURCES_MIN}`);
});

test('no constant is spelled kCamel', () => {
  assert.deepEqual(sources.flatMap((file) =>
    camelConstants(fs.readFileSync(path.join(root, file), 'utf8')).map((name) => `${file}: ${name}`)), []);
});

test('kCamel is found', () => {
  assert.deepEqual(camelConstants('constexpr int kRows = 8; // kept_bytes, 4 kB, Store::kReaderSlots'),
    ['kRows', 'kReaderSlots']);
});
