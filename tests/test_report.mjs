// The tests of a run, from the JUnit file that ctest writes.
import fs from 'node:fs';

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const decoded = (text) => text.replace(/&(amp|lt|gt|quot|apos|#\d+);/g,
  (_, name) => entities[name] ?? String.fromCodePoint(Number(name.slice(1))));

/// [{ name, seconds, failed, output }]; none if there is no such file.
export function testsOf(junit) {
  if (!fs.existsSync(junit)) return [];
  return fs.readFileSync(junit, 'utf8').split('<testcase ').slice(1).map((text) => {
    const attribute = (name) => decoded(new RegExp(`\\b${name}="([^"]*)"`).exec(text)[1]);
    const output = /<system-out>([\s\S]*?)<\/system-out>/.exec(text)?.[1] ?? '';
    return { name: attribute('name'), seconds: Number(attribute('time')), failed: attribute('status') === 'fail', output: decoded(output) };
  });
}
