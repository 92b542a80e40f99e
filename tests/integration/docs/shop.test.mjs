// The design of a shop: what docs/shop.md says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server } from '../harness.mjs';
import { checkCommands, readPage } from '../pages.mjs';

test('the commands of docs/shop.md work as written, in their order', async (t) => {
  const count = await checkCommands(readPage('docs/shop.md'), await Server.startFor(t));
  assert.ok(count > 50, `${count} commands`);
});
