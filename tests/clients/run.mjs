// Runs one suite of clients in another language against a server of its own:
//
//   node tests/clients/run.mjs LANGUAGE SUITE [--write]
//
// LANGUAGE is a folder beside this file with two scripts: `install.sh FOLDER` installs the clients in FOLDER, `run.sh
// FOLDER SUITE` runs a suite, which appends what it finds to OCTAVO_RESULTS (results.mjs). A run passes if run.sh does,
// if the server has logged nothing unexpected and answered no request with an error of its own, and if the results are
// those of results/LANGUAGE-SUITE.jsonl. --write writes that file; a suite is a test of CTest when it is there.
//
// OCTAVO_BINARY is the server; OCTAVO_CLIENTS_DIR is where clients are installed (build/clients), and where the log of the
// server stays. Exits with 77 if the tools of the language are missing.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { wellKnownKey } from '../integration/cosmos_request.mjs';
import { credentials, Server } from '../integration/harness.mjs';
import { canonicalLines, differences, linesOf, resultsFile, root } from './results.mjs';
import { unexpectedLines } from './server_log.mjs';

const SKIPPED = 77;
const here = path.dirname(fileURLToPath(import.meta.url));
const [language, suite, write] = process.argv.slice(2);
const scripts = path.join(here, language ?? '');
if (!suite || !fs.existsSync(path.join(scripts, 'run.sh'))) {
  console.error('usage: run.mjs LANGUAGE SUITE [--write]; LANGUAGE is a folder of tests/clients with a run.sh');
  process.exit(2);
}
const folder = path.join(process.env.OCTAVO_CLIENTS_DIR ?? path.join(root, 'build/clients'), language);
fs.mkdirSync(folder, { recursive: true });

// Suites of one language may start together: one installs while the others wait.
const installed = spawnSync('flock', [path.join(folder, '.lock'), path.join(scripts, 'install.sh'), folder], { stdio: 'inherit' });
if (installed.status !== 0) process.exit(installed.status ?? 1);

/// The certificate that the server has made for itself.
function certificateOf(server) {
  return new Promise((resolve, reject) => {
    https.get(`https://localhost:${server.cosmosPort}/_explorer/emulator.pem`, { rejectUnauthorized: false, agent: false }, (reply) => {
      let text = '';
      reply.on('data', (chunk) => { text += chunk; });
      reply.on('end', () => resolve(text));
    }).on('error', reject);
  });
}

/// Replies with a status from 500 on, by status, except 501, which says what is not offered.
async function failedReplies(server) {
  const { text } = await server.get('/_node/_local/_prometheus');
  const counts = [...text.matchAll(/^octavo_http_replies_total\{[^}]*"(\d+)"[^}]*\} (\d+)/gm)];
  assert.ok(counts.length > 0, 'the metrics do not count replies');
  return counts.filter(([, status, count]) => Number(status) >= 500 && status !== '501' && count !== '0')
    .map(([, status, count]) => `${count} replies with ${status}`);
}

const log = [];
const server = await Server.start({ admin: true, env: { OCTAVO_COSMOS_KEY: 'emulator' }, onLine: (line) => log.push(line) });
const files = { results: path.join(folder, `${suite}.jsonl`), ca: path.join(folder, `${suite}.pem`), log: path.join(folder, `${suite}.log`) };
fs.writeFileSync(files.results, '');
fs.writeFileSync(files.ca, await certificateOf(server));

const env = {
  ...process.env,
  OCTAVO_COUCH_URL: server.url,
  OCTAVO_USER: credentials.name,
  OCTAVO_PASSWORD: credentials.password,
  OCTAVO_COSMOS_URL: `http://localhost:${server.cosmosPort}`,
  OCTAVO_COSMOS_HTTPS_URL: `https://localhost:${server.cosmosPort}`,
  OCTAVO_COSMOS_KEY: wellKnownKey,
  OCTAVO_CA: files.ca,
  OCTAVO_RESULTS: files.results,
  OCTAVO_DOSE: process.env.OCTAVO_DOSE ?? process.env.OCTAVO_TEST_DOSE ?? 'full',
};
// Not spawnSync: the log of the server is read meanwhile.
const status = await new Promise((resolve) => {
  spawn(path.join(scripts, 'run.sh'), [folder, suite], { env, stdio: ['ignore', 'inherit', 'inherit'] })
    .once('error', (error) => { console.error(error.message); resolve(1); })
    .once('close', (code, signal) => resolve(code ?? signal));
});
const faults = status === 0 ? [] : [`run.sh ended with ${status}`];
try {
  faults.push(...await failedReplies(server));
  await server.stop();
} catch (error) {
  faults.push(await server.explain(error));
  await server.kill();
  server.removeFolder();
}
fs.writeFileSync(files.log, `${log.join('\n')}\n`);
faults.push(...unexpectedLines(log).map((line) => `unexpected in the log: ${line}`));

const lines = canonicalLines(fs.readFileSync(files.results, 'utf8'));
const kept = resultsFile(language, suite);
if (write === '--write') fs.writeFileSync(kept, `${lines.join('\n')}\n`);
const changed = differences(linesOf(kept), lines);
if (changed.length > 0) faults.push(`other results than ${path.relative(root, kept)} (--write keeps them):`, ...changed);

const count = (verdict) => lines.filter((line) => JSON.parse(line).result === verdict).length;
console.log(`${language} ${suite}: ${count('works')} operations work, ${count('differs')} differ, ${count('not_offered')} are not offered`);
for (const fault of faults) console.error(`FAILED: ${fault}`);
if (faults.length > 0) console.error(`the server's log: ${files.log}`);
process.exit(faults.length > 0 ? 1 : 0);
