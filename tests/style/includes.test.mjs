// Dependencies point down: server → api → query → partitioning → storage → config → base. A folder includes itself and what is
// below it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const layers = ['base', 'config', 'storage', 'partitioning', 'query', 'api', 'server'];  // from the bottom up

const sources = (folder) => fs.readdirSync(path.join(root, folder), { recursive: true })
  .filter((name) => /\.(cpp|h)$/.test(name)).map((name) => path.join(folder, name));

function* includes() {
  for (const folder of layers) {
    for (const file of sources(folder)) {
      for (const [, quoted, system] of fs.readFileSync(path.join(root, file), 'utf8').matchAll(/^#include (?:"([^"]+)"|<([^>]+)>)/gm)) {
        yield { folder, file, included: quoted ?? system };
      }
    }
  }
}

test('no folder includes one above it', () => {
  const upward = [...includes()].filter(({ folder, included }) =>
    layers.indexOf(included.split('/')[0]) > layers.indexOf(folder));
  assert.deepEqual(upward.map(({ file, included }) => `${file} includes ${included}`), []);
});

test('the product includes no test', () => {
  const tests = [...includes()].filter(({ included }) => included.startsWith('tests/') || included.includes('catch2'));
  assert.deepEqual(tests, []);
});
