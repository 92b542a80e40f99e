// The page of the clients is that of their results, and what makes both notices mistakes. Needs no server and no client.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pageOf } from './page.mjs';
import { canonicalLines, differences, keptResults, linesOf, resultsFile, root } from './results.mjs';
import { unexpectedLines } from './server_log.mjs';

const result = (more) => ({ client: 'azure-cosmos', language: 'Python', version: '4.17.1', api: 'cosmos', mode: 'sync', area: 'items',
  operation: 'create_item', result: 'works', ...more });
const text = (...results) => results.map((one) => `${JSON.stringify(one)}\n`).join('');

test('docs/clients.md is made of the kept results', () => {
  const { status, stderr } = spawnSync('node', [path.join(root, 'tests/clients/page.mjs'), '--check'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});

test('the kept results are in their one form, and each suite can be run', () => {
  for (const { language, suite } of keptResults()) {
    const lines = linesOf(resultsFile(language, suite));
    assert.deepEqual(lines, canonicalLines(lines.join('\n')));
    assert.ok(lines.length > 0, suite);
    for (const script of ['install.sh', 'run.sh']) {
      fs.accessSync(path.join(root, 'tests/clients', language, script), fs.constants.X_OK);
    }
  }
});

test('lines of results get one order and lose empty notes', () => {
  const { client, ...rest } = result({ note: '' });
  assert.deepEqual(canonicalLines(text({ ...rest, client }, result({ mode: 'aio' }))),
                   [JSON.stringify(result({ mode: 'aio' })), JSON.stringify(result())]);
});

test('invalid results are refused', () => {
  assert.throws(() => canonicalLines(text(result({ time: 'now' }))), /unknown field time/);
  assert.throws(() => canonicalLines(text(result({ mode: '' }))), /no mode/);
  assert.throws(() => canonicalLines(text(result({ result: 'fine' }))), /result is not one of/);
  assert.throws(() => canonicalLines(text(result({ result: 'differs' }))), /no note/);
  assert.throws(() => canonicalLines(text(result(), result({ result: 'differs', note: 'otherwise' }))), /two results/);
});

test('lines that a run lacks, and new ones, are told', () => {
  assert.deepEqual(differences(['a', 'b'], ['b', 'c']), ['- a', '+ c']);
});

test('the page names the modes of an operation that not all modes have, and the notes', () => {
  const page = pageOf([{ language: 'python', suite: 'cosmos', results: [result(), result({ mode: 'aio' }), result({ operation: 'read_item' }),
    result({ operation: 'search', result: 'not_offered', note: 'refused (400)' })] }]);
  assert.match(page, /\| `azure-cosmos` \| Python \| 4\.17\.1 \| Azure Cosmos DB \| aio, sync \| 3 \| 0 \| 1 \| python cosmos \|/);
  assert.match(page, /\| items \| `create_item`, `read_item` \(sync\) \|/);
  assert.match(page, /\| items: `search` \| sync \| refused \(400\) \|/);
});

test('the page names the modes of an area that not all modes have', () => {
  const page = pageOf([{ language: 'python', suite: 'cosmos', results: [result(), result({ mode: 'aio' }),
    result({ mode: 'own tests', area: 'test_crud' })] }]);
  assert.match(page, /\| items \(aio, sync\) \| `create_item` \|/);
  assert.match(page, /\| test_crud \(own tests\) \| `create_item` \|/);
});

test('warnings and errors of the server are told, unless a suite provokes them', () => {
  const line = (rest) => `2026-11-28T11:50:29.918Z ${rest}`;
  const bad = [line('error commit failed'), line('warning a view cannot be opened'), 'octavo: an assertion failed'];
  const good = [line('info stopped'), line('access c0d28bd285 127.0.0.1 - GET / 500 13 1us'), line('warning the system allows 20000 open files'),
    line('warning database d: physical partition 1 spends 900 of at most 400 request units per second (225 %)')];
  assert.deepEqual(unexpectedLines([...good, ...bad]), bad);
});
