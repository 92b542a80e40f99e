// Runs what the README says: every command, and the feature table against the tests it names.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { binary, Server } from './harness.mjs';

const root = process.env.OCTAVO_SOURCE_DIR;
const readme = fs.readFileSync(path.join(root, 'README.md'), 'utf8');
const run = promisify(execFile);

/// The shell lines of one section.
function commands(section) {
  const text = readme.split(`\n## ${section}\n`)[1].split('\n## ')[0];
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap((block) => block[1].trim().split('\n'));
}

describe('the README', () => {
  let server, folder;
  before(async () => {
    server = await Server.start();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-readme-'));
    fs.symlinkSync(binary, path.join(folder, 'octavo'));
  });
  after(async () => {
    fs.rmSync(folder, { recursive: true, force: true });
    await server?.stop();
  });
  // Only the program on the PATH: OCTAVO_… variables of the tests would be settings of the server.
  const shell = (line) =>
    run('bash', ['-euc', line], { cwd: folder, env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder } });

  test('the six lines work as written, in order', async () => {
    const lines = commands('Six lines');
    assert.equal(lines.length, 6);
    const replies = [];
    for (const line of lines) {
      const { stdout } = await shell(line.replace('curl ', 'curl -s --fail-with-body ').replaceAll('http://127.0.0.1:5984', server.url));
      replies.push(JSON.parse(stdout));
    }
    assert.deepEqual(replies[0], { ok: true });
    assert.equal(replies[3].docs[0]._id, 'order555:order');
    assert.equal(replies[3].execution_stats.total_docs_examined, 1);
    assert.equal(replies[4].length, 2);
    assert.equal(replies[5].results.length, 3);
  });

  test('the two commands to start with exist and can be run', () => {
    const lines = commands('Start').map((line) => line.split(/\s+/)[0]);
    assert.deepEqual(lines, ['scripts/run.sh', 'scripts/test.sh']);
    for (const script of lines) fs.accessSync(path.join(root, script), fs.constants.X_OK);
  });

  test('the commands that configure and check work as written', async () => {
    const lines = commands('Configure');
    assert.equal(lines.length, 3);
    assert.match((await shell(lines[0])).stdout, /port = 6000/);
    assert.match((await shell(lines[1])).stdout, /bind = "0\.0\.0\.0"/);
    const data = await Server.start({ dataDir: path.join(folder, 'data') });
    await data.stop({ keepFolder: true });
    assert.match((await shell(lines[2])).stdout, /sound/);
  });

  test('the Docker command names files that are there', () => {
    assert.match(commands('Docker')[0], /docker compose up/);
    const compose = fs.readFileSync(path.join(root, 'compose.yaml'), 'utf8');
    for (const name of ['COUCHDB_USER', 'COUCHDB_PASSWORD']) assert.ok(compose.includes(name));
    assert.match(fs.readFileSync(path.join(root, 'Dockerfile'), 'utf8'), /HEALTHCHECK .*octavo", "health"/);
  });

  test('every feature names a test that is run, and every test is named', () => {
    const named = new Set([...readme.matchAll(/`tests\/integration\/([a-z_/]+)\.test\.mjs`/g)].map((match) => match[1]));
    const suites = fs.readdirSync(path.join(root, 'tests/integration'), { recursive: true })
      .filter((file) => file.endsWith('.test.mjs')).map((file) => file.replace('.test.mjs', ''));
    const ofTheProject = ['server/bad_input', 'server/command_line', 'server/limits', 'readme'];
    assert.ok(named.size > 50);
    assert.deepEqual([...named].sort(), suites.filter((suite) => !ofTheProject.includes(suite)).sort());
  });

  test('the measured figures are those of the benchmarks', () => {
    const benchmarks = fs.readFileSync(path.join(root, 'docs/benchmarks.md'), 'utf8');
    const table = readme.split('\n## Measured\n')[1].split('\n## ')[0];
    const figures = [...table.matchAll(/\b\d{1,3}(?:,\d{3})+(?=(?: docs)?\/s)/g)].map(([figure]) => figure);
    assert.ok(figures.length >= 15, figures.join());
    for (const figure of figures) assert.ok(benchmarks.includes(figure), figure);
  });

  test('every local link leads somewhere', () => {
    for (const [, target] of readme.matchAll(/\]\(([^)#]+)\)/g)) {
      if (!target.includes('://')) assert.ok(fs.existsSync(path.join(root, target)), target);
    }
  });
});
