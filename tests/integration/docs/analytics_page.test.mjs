// The analytical store: what docs/analytics.md says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needsLibrary, startAnalytics } from '../analytics/analytics_support.mjs';
import { checkCommands, readPage } from '../pages.mjs';

test('the commands of docs/analytics.md work as written', needsLibrary, async (t) => {
  const page = readPage('docs/analytics.md');
  const server = await startAnalytics(t);
  const count = await checkCommands(page, server);
  assert.ok(count > 10, `${count} commands`);
});
