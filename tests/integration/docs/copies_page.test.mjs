// Copies: what docs/copies.md says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server } from '../harness.mjs';
import { checkCommands, readPage } from '../pages.mjs';

test('the commands of docs/copies.md work as written', async (t) => {
  const page = readPage('docs/copies.md');
  const server = await Server.startFor(t);
  const count = await checkCommands(page, server);
  assert.ok(count > 15, `${count} commands`);
});
