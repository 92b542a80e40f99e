// Runs what a page of the documentation says: its commands and its programs, in their order, and compares what they print.
//
// In shell blocks, a comment beside or below a command is its expected result, if it begins with a status of failure
// (`# 404`), with JSON (`# {"ok":true}`), with both, or with a header (`# Location: …`). In JavaScript blocks, the comments
// that begin with an arrow (`// → [1]`) are the lines that the program prints. `…` stands for anything; a result may take
// several comment lines.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { patience } from './harness.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));  // the packages of the clients are found from here
export const root = process.env.OCTAVO_SOURCE_DIR;
export const run = promisify(execFile);
export const readPage = (file) => fs.readFileSync(path.join(root, file), 'utf8');

/// The addresses that pages name, each with that of the server.
const local = (text, server) => text
  .replaceAll('http://127.0.0.1:5984', server.url)
  .replaceAll('http://localhost:8081', `http://127.0.0.1:${server.cosmosPort}`);

/// The code blocks of a language.
export const blocks = (page, language) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(([, block]) => block.trim());

/// The commands in the shell blocks of a page, each with the comment beside it and below it.
function commandsOf(page) {
  const found = [];
  for (const line of blocks(page, 'sh').join('\n').split('\n')) {
    const [, code, comment] = line.match(/^(.*?)\s*(?:(?:^|\s)# (.*))?$/);
    if (code === '') found.at(-1).comment += `\n${comment ?? ''}`;
    else if (/^(\w+=|curl )/.test(code)) found.push({ code, comment: comment ?? '' });
    else {
      found.at(-1).code += `\n${code}`;
      found.at(-1).comment += comment ?? '';
    }
  }
  return found;
}

/// A pattern for a text as documentation shows it.
const shown = (text) => new RegExp(
  `^${text.replaceAll(/\n */g, '').split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('.*')}$`);

/// Runs the commands of a page, each of which must have the status and the reply that the page shows. Returns their number.
export async function checkCommands(page, server) {
  const all = commandsOf(local(page, server));
  // A feed that waits is left after some seconds, as by a reader.
  const curl = `curl() {
    case "$*" in *feed=continuous*) set -- --max-time ${2 * patience} "$@" ;; esac
    command curl -s -w '%{stderr}%{http_code}' "$@"
  }`;
  const separator = '\x1e';
  const script = [curl, ...all.map(({ code }) => `${code}\nprintf '\\x1e'; printf '\\x1e' >&2`)].join('\n');
  const { stdout, stderr } = await run('bash', ['--norc', '-c', script], { env: { PATH: process.env.PATH } });
  const [replies, statuses] = [stdout, stderr].map((text) => text.split(separator));
  const results = all.map((command, index) =>
    ({ ...command, reply: replies[index].trim().replaceAll(/\r?\n/g, ''), status: statuses[index] }));
  const requests = results.filter(({ code }) => code.includes('curl '));
  const different = requests.filter(({ comment, reply, status }) => {
    const [, failure, example] = comment.trim().match(/^([45]\d\d\b)? ?((?:[{[]|[A-Z][\w-]+: )[^]*)?/);
    return !(failure ? status === failure : /^20[012]$/.test(status)) || (example && !shown(example).test(reply));
  });
  const lines = different.map(({ code, comment, reply, status }) => `${code}\n→ ${status} ${reply}\nexpected: ${comment}\n`);
  assert.equal(lines.join('\n'), '');
  return requests.length;
}

/// Runs a program for the Azure Cosmos DB API. Returns what it prints.
export async function runProgram(source, server) {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', local(source, server)], { cwd: here });
  return stdout;
}

/// Runs the JavaScript blocks of a page as one program, which must print what the page shows. Returns the number of lines.
export async function checkProgram(page, server) {
  const source = blocks(page, 'js').join('\n');
  const expected = [...source.matchAll(/\/\/ → (.*(?:\n *\/\/ {3}.*)*)/g)].map(([, text]) => text.replace(/\n *\/\/ {3}/g, '\n'));
  const printed = (await runProgram(source, server)).trim().split('\n');
  const different = printed.filter((line, index) => !shown(expected[index] ?? '').test(line));
  assert.equal(different.join('\n'), '');
  assert.equal(printed.length, expected.length);
  return printed.length;
}
