// Data models in columns: what docs/models-analytics.md says.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { needsLibrary, startAnalytics } from '../analytics/analytics_support.mjs';
import { checkCommands, checkProgram, readPage } from '../pages.mjs';

test('the program and the commands of docs/models-analytics.md work as written', needsLibrary, async (t) => {
  const page = readPage('docs/models-analytics.md');
  const exports = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-exports-'));
  t.after(() => fs.rmSync(exports, { recursive: true, force: true }));
  const server = await startAnalytics(t, { args: [`--analytics-export-folder=${exports}`] });
  await checkProgram(page, server);
  const count = await checkCommands(page, server);
  assert.ok(count > 12, `${count} commands`);
});
