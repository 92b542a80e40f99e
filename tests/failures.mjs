// The last lines of what each failed test printed: failures.mjs TESTS_XML. scripts/test.sh prints them after all tests,
// as the end of a long log is what a reader of continuous integration sees.
import fs from 'node:fs';

const linesPerTest = 60;
const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const decoded = (text) => text.replace(/&(amp|lt|gt|quot|apos|#\d+);/g,
  (_, name) => entities[name] ?? String.fromCodePoint(Number(name.slice(1))));

const junit = process.argv[2];
const cases = fs.existsSync(junit) ? fs.readFileSync(junit, 'utf8').split('<testcase ').slice(1) : [];
for (const text of cases.filter((one) => /status="fail"/.test(one.slice(0, one.indexOf('>'))))) {
  const name = decoded(/name="([^"]*)"/.exec(text)[1]);
  const output = decoded(/<system-out>([\s\S]*?)<\/system-out>/.exec(text)?.[1] ?? '').trimEnd().split('\n');
  console.log(`\nFAILED: ${name}`);
  if (output.length > linesPerTest) console.log(`(the last ${linesPerTest} of ${output.length} lines)`);
  console.log(output.slice(-linesPerTest).map((line) => `  ${line}`).join('\n'));
}
