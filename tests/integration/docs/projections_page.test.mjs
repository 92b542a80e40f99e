// Projections: what docs/projections.md says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server } from '../harness.mjs';
import { checkCommands, checkProgram, readPage } from '../pages.mjs';

test('the program and the commands of docs/projections.md work as written', async (t) => {
  const page = readPage('docs/projections.md');
  const server = await Server.startFor(t);
  assert.equal(await checkProgram(page, server), 1);
  const count = await checkCommands(page, server);  // the last ones use the containers of the program
  assert.ok(count > 50, `${count} commands`);
});
