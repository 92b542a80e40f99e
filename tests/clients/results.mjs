// What a client can do with Octavo: one line of JSON for each operation, written by the suites of tests/clients, kept in
// tests/clients/results and shown by docs/clients.md.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
export const root = path.resolve(here, '../..');
const fields = ['client', 'language', 'version', 'api', 'mode', 'area', 'operation', 'result', 'note'];
const needed = fields.filter((field) => field !== 'note');
const verdicts = ['works', 'differs', 'not_offered'];

export const resultsFile = (language, suite) => path.join(here, 'results', `${language}-${suite}.jsonl`);

/// The lines of a suite in the one form in which they are kept: sorted, with their fields in order. Throws if a line is
/// invalid, or if an operation has two.
export function canonicalLines(text) {
  const lines = text.split('\n').filter(Boolean).map((line) => {
    const result = JSON.parse(line);
    const unknown = Object.keys(result).filter((field) => !fields.includes(field));
    const missing = needed.filter((field) => typeof result[field] !== 'string' || result[field] === '');
    const faults = [...unknown.map((field) => `unknown field ${field}`), ...missing.map((field) => `no ${field}`),
      ...(verdicts.includes(result.result) ? [] : [`result is not one of ${verdicts.join(', ')}`]),
      ...(result.result === 'works' || result.note ? [] : ['no note says how it differs, or why it is not offered'])];
    if (faults.length > 0) throw new Error(`${line}: ${faults.join('; ')}`);
    return JSON.stringify(Object.fromEntries(fields.filter((field) => result[field]).map((field) => [field, result[field]])));
  }).sort();
  const operations = new Set();
  for (const line of lines) {
    const { client, mode, area, operation } = JSON.parse(line);
    const name = `${client}, ${mode}: ${area}, ${operation}`;
    if (operations.has(name)) throw new Error(`two results of one operation: ${name}`);
    operations.add(name);
  }
  return lines;
}

/// How the lines of a run differ from the kept ones: `- ` is missing in the run, `+ ` is new in it.
export function differences(kept, run) {
  return [...kept.filter((line) => !run.includes(line)).map((line) => `- ${line}`),
    ...run.filter((line) => !kept.includes(line)).map((line) => `+ ${line}`)];
}

export const linesOf = (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : []);

/// All results that are kept, by suite: [{ language, suite, results }].
export function keptResults() {
  return fs.readdirSync(path.join(here, 'results')).filter((name) => name.endsWith('.jsonl')).sort().map((name) => {
    const [, language, suite] = /^([a-z]+)-([a-z0-9_]+)\.jsonl$/.exec(name);
    return { language, suite, results: linesOf(resultsFile(language, suite)).map((line) => JSON.parse(line)) };
  });
}
