// The last lines of what each failed test printed: failures.mjs TESTS_XML. scripts/test.sh prints them after all tests,
// as the end of a long log is what a reader of continuous integration sees.
import { testsOf } from './test_report.mjs';

const LINES_PER_TEST = 60;

for (const { name, output } of testsOf(process.argv[2]).filter(({ failed }) => failed)) {
  const lines = output.trimEnd().split('\n');
  console.log(`\nFAILED: ${name}`);
  if (lines.length > LINES_PER_TEST) console.log(`(the last ${LINES_PER_TEST} of ${lines.length} lines)`);
  console.log(lines.slice(-LINES_PER_TEST).map((line) => `  ${line}`).join('\n'));
}
