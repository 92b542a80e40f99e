// Writes docs/clients.md from the results of the suites (results.mjs): page.mjs. With --check, says whether the page is
// the one that the results make.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { keptResults, root } from './results.mjs';

const pageFile = path.join(root, 'docs/clients.md');
const apis = { cosmos: 'Azure Cosmos DB', couch: 'CouchDB' };
const introduction = `# Client libraries

Octavo is tested with the client libraries that programs use, unmodified. Each operation of a library that Octavo has is
called in every mode of the library, and what it returns is compared with what the library's documentation promises. An
operation *works* if nothing differs; *differs* if it does something else than with the original server; and is *not offered*
if it fails with the error that the note names. Libraries for JavaScript are tested by the suites that the
[README](../README.md#what-works) names; those for other languages are listed here.

The tests run with \`scripts/test.sh clients\`; this page is written by \`node tests/clients/page.mjs\` from their results.
`;

const grouped = (items, keyOf) => Map.groupBy ? Map.groupBy(items, keyOf) : items.reduce((groups, item) => {
  const key = keyOf(item);
  return groups.set(key, [...(groups.get(key) ?? []), item]);
}, new Map());
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const table = (head, rows) => [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
const count = (results, verdict) => String(results.filter(({ result }) => result === verdict).length);
const distinct = (values) => [...new Set(values)].sort();
const code = (text) => `\`${text}\``;

const modesOf = (results) => distinct(results.map(({ mode }) => mode));
const inModes = (text, has, all) => (has.length === all.length ? text : `${text} (${has.join(', ')})`);

/// `items (sync, aio)` and its operations, such as `read_item (aio)`: modes are named where not all modes of the client
/// have the area, or not all modes of the area have the operation.
function rowOf([area, results], modes) {
  const inArea = modesOf(results);
  const operations = [...grouped(results, ({ operation }) => operation)]
    .map(([operation, found]) => inModes(code(operation), modesOf(found), inArea));
  return [inModes(area, inArea, modes), operations.join(', ')];
}

function clientSection(client, results) {
  const modes = modesOf(results);
  const working = grouped(results.filter(({ result }) => result === 'works'), ({ area }) => area);
  const parts = [`## ${client} (${results[0].language})`];
  if (working.size > 0) {
    parts.push(`What works${modes.length > 1 ? `, in the modes ${modes.join(', ')}` : ''}:`,
      table(['area', 'operations'], [...working].map((row) => rowOf(row, modes))));
  }
  for (const [verdict, title] of [['differs', 'What differs'], ['not_offered', 'What is not offered']]) {
    const rows = [...grouped(results.filter(({ result }) => result === verdict), ({ area, operation, note }) => `${area}\n${operation}\n${note}`)];
    if (rows.length === 0) continue;
    parts.push(`${title}:`, table(['operation', 'modes', 'note'], rows.map(([, found]) =>
      [`${found[0].area}: ${code(found[0].operation)}`, distinct(found.map(({ mode }) => mode)).join(', '), found[0].note])));
  }
  return parts.join('\n\n');
}

/// The page of `suites`, as keptResults returns them.
export function pageOf(suites) {
  const all = suites.flatMap(({ language, suite, results }) => results.map((result) => ({ ...result, suite: `${language} ${suite}` })));
  const clients = [...grouped(all, ({ client, language, api }) => JSON.stringify([language, client, api]))].sort(([a], [b]) => (a < b ? -1 : 1));
  const overview = table(['client', 'language', 'version', 'API', 'modes', 'works', 'differs', 'not offered', 'suites'], clients.map(([, results]) => [
    code(results[0].client), results[0].language, distinct(results.map(({ version }) => version)).join(', '), apis[results[0].api] ?? results[0].api,
    distinct(results.map(({ mode }) => mode)).join(', '), count(results, 'works'), count(results, 'differs'), count(results, 'not_offered'),
    distinct(results.map(({ suite }) => suite)).join(', ')]));
  return `${[introduction.trimEnd(), overview, ...clients.map(([, results]) => clientSection(results[0].client, results))].join('\n\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = pageOf(keptResults());
  if (process.argv[2] !== '--check') fs.writeFileSync(pageFile, page);
  else if (fs.readFileSync(pageFile, 'utf8') !== page) {
    console.error('docs/clients.md is not what tests/clients/results make: run node tests/clients/page.mjs');
    process.exit(1);
  }
}
