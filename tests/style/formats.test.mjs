// docs/formats.md shows every file format as the sources state it. A format is a block in a comment:
//
//   Format (title):
//     name := …                      the lines below the heading, indented by three spaces or more
//
// The page has the same lines under `**Title** (file):`, with prose between the blocks that is written by hand.
//
//   node tests/style/formats.test.mjs --write     copies the blocks of the sources into the page
//
// A new block needs its heading in the page first: `**Title** ([file](../file)):` where it belongs. The title identifies
// the block, so a block may move to another file.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const page = path.join(root, 'docs/formats.md');
const layers = ['base', 'config', 'storage', 'partitioning', 'query', 'analytics', 'api', 'server'];
const blocksMin = 60;
// What lives in memory only is no format of files or tokens.
const inMemory = new Set(['partitioning/throughput/consumption.cpp', 'query/json/internal/tape.h']);

const comment = /^\s*\/\/\/?(?!\/)(.*)$/;
const heading = /^ Format \((.+)\):$/;
const isIndented = (text) => /^ {3,}\S/.test(text);

const sources = layers.flatMap((folder) => fs.readdirSync(path.join(root, folder), { recursive: true })
  .filter((name) => /\.(cpp|h)$/.test(name)).map((name) => path.join(folder, name))).sort();

/// The lines of a block without the indentation that they share.
function dedent(lines) {
  const indents = lines.filter((line) => line !== '').map((line) => line.length - line.trimStart().length);
  const shared = Math.min(...indents);
  return lines.map((line) => line.slice(shared)).join('\n');
}

/// The blocks of one source, and the lines with `:=` in comments that stand in none.
function readSource(text) {
  const lines = text.split('\n').map((line) => comment.exec(line)?.[1]);
  const blocks = [];
  const stray = [];
  for (let i = 0; i < lines.length; ++i) {
    const title = lines[i] === undefined ? undefined : heading.exec(lines[i])?.[1];
    if (title === undefined) {
      if (lines[i]?.includes(' := ')) stray.push(lines[i].trim());
      continue;
    }
    const body = [];
    while (i + 1 < lines.length && lines[i + 1] !== undefined) {
      // An empty comment line belongs to the block if an indented line follows.
      if (!isIndented(lines[i + 1]) && !(lines[i + 1] === '' && isIndented(lines[i + 2] ?? ''))) break;
      body.push(lines[++i]);
    }
    while (body[0] === '') body.shift();
    blocks.push({ title, text: body.length > 0 ? dedent(body) : '' });
  }
  return { blocks, stray };
}

const read = sources.map((file) => ({ file, ...readSource(fs.readFileSync(path.join(root, file), 'utf8')) }));
const found = read.flatMap(({ file, blocks }) => blocks.map((block) => ({ file, ...block })));

const caption = (title, file) => `**${title[0].toUpperCase()}${title.slice(1)}** ([${file}](../${file})):`;
const captionLine = /^\*\*(.+)\*\* \(\[(.+)\]\(\.\.\/.+\)\):$/;

/// The page in parts: prose, or a block with its caption and text.
function readPage() {
  const lines = fs.readFileSync(page, 'utf8').split('\n');
  const parts = [];
  for (let i = 0; i < lines.length; ++i) {
    if (!captionLine.test(lines[i])) {
      parts.push({ line: lines[i] });
      continue;
    }
    const part = { caption: lines[i], text: undefined };
    if (lines[i + 1] === '' && lines[i + 2] === '```text') {
      const end = lines.indexOf('```', i + 3);
      part.text = lines.slice(i + 3, end).join('\n');
      i = end;
    }
    parts.push(part);
  }
  return parts;
}

if (process.argv.includes('--write')) {
  const titleOf = (name) => captionLine.exec(name)[1].toLowerCase();
  const stated = new Map(found.map(({ title, file, text }) => [title.toLowerCase(), { caption: caption(title, file), text }]));
  const parts = readPage();
  const lines = parts.flatMap((part) => {
    if (part.caption === undefined) return [part.line];
    const block = stated.get(titleOf(part.caption)) ?? part;
    return [block.caption, '', '```text', block.text, '```'];
  });
  fs.writeFileSync(page, lines.join('\n'));
  const shown = new Set(parts.filter((part) => part.caption !== undefined).map((part) => titleOf(part.caption)));
  for (const [title, block] of stated) if (!shown.has(title)) console.log(`not in the page: ${block.caption}`);
  for (const title of shown) if (!stated.has(title)) console.log(`not in the sources: ${title}`);
} else {
  test('the sources state their formats in blocks', () => {
    assert.ok(found.length >= blocksMin, `found ${found.length} blocks, expected at least ${blocksMin}`);
    assert.deepEqual(found.filter(({ text }) => text === ''), []);
    const titles = found.map(({ title }) => title.toLowerCase());
    assert.deepEqual(titles.filter((title, i) => titles.indexOf(title) !== i), []);
  });

  test('every grammar in a comment belongs to a block with a heading', () => {
    const stray = read.filter(({ file }) => !inMemory.has(file))
      .flatMap(({ file, stray: lines }) => lines.map((line) => `${file}: ${line}`));
    assert.deepEqual(stray, []);
  });

  test('the page shows every block once, as the source states it', () => {
    const shown = readPage().filter((part) => part.caption !== undefined).map((part) => [part.caption, part.text]);
    const stated = found.map(({ title, file, text }) => [caption(title, file), text]);
    assert.deepEqual(shown.sort(), stated.sort(), 'to renew the page: node tests/style/formats.test.mjs --write');
  });

  test('a block ends where the indentation ends', () => {
    const { blocks, stray } = readSource([
      '/// Format (rows):', '///', '///   a := b', '///     | c', '///', '///   d → e', '///', '/// Prose.',
      '/// f := g', '//   h := i'].join('\n'));
    assert.deepEqual(blocks, [{ title: 'rows', text: 'a := b\n  | c\n\nd → e' }]);
    assert.deepEqual(stray, ['f := g', 'h := i']);
  });
}
