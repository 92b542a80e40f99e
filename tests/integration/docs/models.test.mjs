// Data models: what docs/models.md says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server } from '../harness.mjs';
import { checkCommands, checkProgram, readPage } from '../pages.mjs';

test('the program and the commands of docs/models.md work as written', async (t) => {
  const page = readPage('docs/models.md');
  const server = await Server.startFor(t);
  const lines = await checkProgram(page, server);
  assert.ok(lines > 30, `${lines} lines`);
  const count = await checkCommands(page, server);  // they use the containers of the program
  assert.ok(count > 10, `${count} commands`);
});
