// Documents name sources and folders, which move. Every name must be that of a file or folder of the present tree:
//
//   storage/catalog.h, query/walk      a path from the top folder, anywhere in the text; the extension may be left out
//   `planner_costs.cpp`                the end of a path, in code quotes
//   [splits](splits.md)                a relative link
//
// The records in docs/decisions are not rewritten, so they may name files as these were called at their time.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const tops = ['base', 'config', 'storage', 'partitioning', 'query', 'analytics', 'api', 'server', 'tests', 'scripts', 'docs', 'cmake'];
const extensions = ['.h', '.cpp', '.mjs', '.test.mjs', '.sh', '.md', '.cmake'];
const documents = [
  ...fs.readdirSync(path.join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
  'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
const NAMES_MIN = 100;  // in all documents
const notAPath = new Set(['docs/s']);  // documents per second

const known = new Set([...fs.readdirSync(root), ...tops.flatMap((top) =>
  fs.readdirSync(path.join(root, top), { recursive: true }).map((name) => `${top}/${name}`))]);
const ends = new Set([...known].flatMap((file) =>
  file.split('/').map((_, position, parts) => parts.slice(position).join('/'))));

const fromTop = new RegExp(String.raw`(?<![\w./<>{}-])(?:${tops.join('|')})/[\w./-]*\w`, 'g');
const sourceName = /`([\w./-]+\.(?:h|cpp|mjs|js|sh|cmake))`/g;
const link = /\]\(([^)#:]+)(?:#[^)]*)?\)/g;

const exists = (file) => known.has(file) || extensions.some((extension) => known.has(file + extension));

/// What `text`, a document in `folder`, names: all of it, and what does not exist.
function readDocument(text, folder) {
  const paths = [...text.matchAll(fromTop)].map(([name]) => name).filter((name) => !notAPath.has(name));
  const names = [...text.matchAll(sourceName)].map(([, name]) => name);
  const links = [...text.matchAll(link)].map(([, target]) => target);
  return {
    count: paths.length + names.length + links.length,
    missing: [...new Set([
      ...paths.filter((name) => !exists(name)),
      ...names.filter((name) => !ends.has(name)),
      ...links.filter((target) => !fs.existsSync(path.join(root, folder, target))),
    ])],
  };
}

const read = documents.map((file) =>
  ({ file, ...readDocument(fs.readFileSync(path.join(root, file), 'utf8'), path.dirname(file)) }));

test('the documents name files', () => {
  const count = read.reduce((sum, document) => sum + document.count, 0);
  assert.ok(count >= NAMES_MIN, `found ${count} names, expected at least ${NAMES_MIN}`);
});

test('every file that a document names exists', () => {
  assert.deepEqual(read.flatMap(({ file, missing }) => missing.map((name) => `${file}: ${name}`)), []);
});

test('names that no file has are found', () => {
  const text = 'See `storage/catalog.h`, storage/catalog, query/walk/, `catalog.h` and [formats](formats.md#views). ' +
    'Gone: `storage/no_catalog.h`, query/no_walk/, `no_catalog.h`, [formats](no_formats.md). ' +
    'Not of this tree: https://example.org/docs/page, {db}/query/x, 5 docs/s, [a page](https://example.org/).';
  assert.deepEqual(readDocument(text, 'docs').missing,
                   ['storage/no_catalog.h', 'query/no_walk', 'no_catalog.h', 'no_formats.md']);
});
