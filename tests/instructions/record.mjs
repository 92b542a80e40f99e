// The recorded counts: a table in docs/benchmarks.md between two markers.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const file = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../docs/benchmarks.md');
const BEGIN = '<!-- instructions: begin -->\n';
const END = '<!-- instructions: end -->\n';

function parts() {
  const text = fs.readFileSync(file, 'utf8');
  const begin = text.indexOf(BEGIN) + BEGIN.length;
  const end = text.indexOf(END);
  if (begin < BEGIN.length || end < begin) throw new Error(`${file} has no place for the instruction counts`);
  return [text.slice(0, begin), text.slice(begin, end), text.slice(end)];
}

export function recorded() {
  const rows = [...parts()[1].matchAll(/^\| (.+?) \| ([\d,]+) \|$/gm)];
  return new Map(rows.map(([, name, count]) => [name, Number(count.replaceAll(',', ''))]));
}

export function record(counts) {
  const [before, , after] = parts();
  const rows = [...counts].map(([name, count]) => `| ${name} | ${count.toLocaleString('en-US')} |\n`);
  fs.writeFileSync(file, `${before}| request | instructions |\n|---|---:|\n${rows.join('')}${after}`);
}
