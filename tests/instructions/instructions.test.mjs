// No request may cost over 15 % more instructions than docs/benchmarks.md records. `node instructions.test.mjs --record`
// writes that record anew: do it when a cost grew for a good reason, and when it shrank.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measure } from './measure.mjs';
import { record, recorded } from './record.mjs';
import { requests } from './requests.mjs';

const GROWTH_MAX = 1.15;
const binary = process.env.OCTAVO_BINARY;
if (!binary) throw new Error('set OCTAVO_BINARY to the octavo program');

if (process.argv.includes('--record')) {
  const counts = await measure(binary, requests);
  record(counts);
  console.table(Object.fromEntries(counts));
} else {
  const limits = recorded();
  const counts = await measure(binary, requests);
  for (const { name } of requests) {
    test(name, () => {
      const limit = limits.get(name);
      assert.ok(limit > 0, 'it is not recorded');
      const count = counts.get(name);
      assert.ok(count > 0 && count <= limit * GROWTH_MAX, `${count} instructions, recorded are ${limit}`);
    });
  }
}
