// The rows that docs/formats.md shows are those that LMDB's own tools print of such a folder.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { expectStatus, Server } from './harness.mjs';

const text = fs.readFileSync(path.join(process.env.OCTAVO_SOURCE_DIR, 'docs/formats.md'), 'utf8');
/// Trees and what is printed of them. A row that is cut has its mark.
const examples = [...text.matchAll(/^mdb_dump -p -s (\w+) databases\/[0-9a-f]{32}\/partition-0\n((?:#  .*\n)+)/gm)]
  .map(([, tree, lines]) => ({ tree, rows: lines.split('\n').filter(Boolean).map((line) => line.slice(3)) }));

/// Bytes of a line of `mdb_dump -p`.
const bytesOf = (line) => Buffer.from(line.replace(/\\([0-9a-f]{2})|[^]/g, (one, hex) => hex ?? Buffer.from(one).toString('hex')), 'hex');
/// The record of a document without its time, five bytes after the head and a sequence below 128.
const withoutTime = (line) => {
  const bytes = bytesOf(line);
  return Buffer.concat([bytes.subarray(0, 2), bytes.subarray(7)]).toString('hex');
};

describe('the examples of formats.md', () => {
  let server;
  let folder;
  before(async () => {
    server = await Server.start();
    expectStatus(await server.put('/shop?partitioned=true'), 201);
    expectStatus(await server.put('/shop/fruit:apple', { price: 2 }), 201);
    for (let price = 1, _rev; price <= 19; price++) _rev = expectStatus(await server.put('/shop/fruit:pear', { price, _rev }), 201).rev;
    expectStatus(await server.put('/shop/tool:saw', { price: 9 }), 201);
    await server.stop({ keepFolder: true });
    const [, row] = dump('catalog', 'databases').join('\n').match(/^ shop\n (.*)$/m);
    folder = `databases/${row.match(/[0-9a-f]{32}/)[0]}/partition-0`;
  });
  after(() => server?.removeFolder());

  const dump = (where, tree) => execFileSync('mdb_dump', ['-p', '-s', tree, path.join(server.dataDir, where)], { encoding: 'latin1' }).split('\n');

  test('there are some of four trees', () => {
    assert.deepEqual(examples.map(({ tree }) => tree), ['documents', 'feed', 'logical', 'histories']);
  });

  for (const { tree, rows } of examples) {
    test(`of the tree ${tree}`, () => {
      const lines = dump(folder, tree);
      const found = lines.slice(lines.indexOf('HEADER=END') + 1, lines.indexOf('DATA=END')).map((line) => line.slice(1));
      assert.equal(found.length, rows.length);
      for (const [n, row] of rows.entries()) {
        const [shown, rest] = row.split(/ …/);
        if (rest !== undefined) assert.ok(found[n].startsWith(shown), `${found[n]} begins as ${shown}`);
        else if (tree === 'documents' && n % 2 === 1) assert.equal(withoutTime(found[n]), withoutTime(row));
        else assert.equal(found[n], row);
      }
    });
  }
});
