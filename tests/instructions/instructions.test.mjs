// No request may cost over 15 % more instructions than docs/benchmarks.md records. `node instructions.test.mjs --record`
// replaces that record: do it when a cost grew for a good reason, and when it shrank.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measure } from './measure.mjs';
import { record, recorded } from './record.mjs';
import { requests } from './requests.mjs';

const GROWTH_MAX = 1.15;
const ATTEMPTS_MAX = 3;

if (process.argv.includes('--record')) {
  const counts = await measure(requests);
  record(counts);
  console.table(Object.fromEntries(counts));
} else {
  const limits = recorded();
  const counts = await measure(requests);
  for (const kind of requests) {
    const { name } = kind;
    test(name, async () => {
      const limit = limits.get(name);
      assert.ok(limit > 0, 'it is not recorded');
      let count = counts.get(name);
      // A busy machine only adds: what works in slices of time then needs more of them.
      for (let attempt = 1; attempt < ATTEMPTS_MAX && count > limit * GROWTH_MAX; ++attempt) {
        count = Math.min(count, (await measure([kind])).get(name));
      }
      assert.ok(count > 0 && count <= limit * GROWTH_MAX, `${count} instructions, recorded are ${limit}`);
    });
  }
}
