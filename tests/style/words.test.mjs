// Words that comments, titles of tests and documents do not use, each with the plain ones that say the same. Text in quotes
// of any kind next to a word is data: Cloudant has a user `nobody`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const FILES_MIN = 1000;
const instead = {
  'anew': 'again',
  'go on|goes on|going on|gone on|went on': 'continue, resume, be served',
  'in earnest': 'nothing',
  'mend|mends|mended': 'fix, correct',
  'somebody|anybody|nobody': 'a client, a caller, every user, no client',
  'whoever': 'the caller, the client',
};
const quote = '[`"\']';
const rules = Object.entries(instead).map(([words, plain]) =>
  ({ pattern: new RegExp(`(?<!${quote})\\b(?:${words})\\b(?!${quote}|:)`, 'gi'), plain }));

const texts = ['.h', '.cpp', '.mjs', '.js', '.sh', '.lua', '.cmake', '.md'];
// Records of decisions are not rewritten.
const folders = ['base', 'config', 'storage', 'partitioning', 'query', 'analytics', 'api', 'server', 'tests', 'scripts', 'docs'];
const left = ['docs/decisions/', 'tests/style/words.test.mjs'];

function filesIn(folder) {
  return fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' || entry.name === 'build' ? [] : filesIn(file);
    return texts.includes(path.extname(file)) && !left.some((start) => file.startsWith(start)) ? [file] : [];
  });
}

const files = [...folders.flatMap(filesIn), 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];

/// What `text` says in words of the table: [{line, word, plain}].
const found = (text) => text.split('\n').flatMap((line, i) => rules.flatMap(({ pattern, plain }) =>
  [...line.matchAll(pattern)].map(([word]) => ({ line: i + 1, word, plain }))));

test('the files are found', () => assert.ok(files.length > FILES_MIN, String(files.length)));

test('no text uses a word of the table', () => {
  const wrong = files.flatMap((file) => found(fs.readFileSync(path.join(root, file), 'utf8'))
    .map(({ line, word, plain }) => `${file}:${line}: ${word} (instead: ${plain})`));
  assert.deepEqual(wrong, []);
});

test('words of the table are found, and data are not', () => {
  const text = '// Nobody reads it.\n// It goes on, made anew.\n{"nobody": []}, `nobody`, nobody: [], "nobody"\n';
  assert.deepEqual(found(text).map(({ line, word }) => [line, word]), [[1, 'Nobody'], [2, 'anew'], [2, 'goes on']]);
});
