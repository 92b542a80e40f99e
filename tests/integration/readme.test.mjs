// Runs what the README and docs/api.md say: every command, and the feature table against the tests it names.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { cosmosRequest } from './cosmos_request.mjs';
import { binary, expectStatus, Server } from './harness.mjs';
import { blocks, checkCommands, checkProgram, readPage, root, run, runProgram } from './pages.mjs';

const readme = readPage('README.md');
const sectionOf = (section) => readme.split(`\n## ${section}\n`)[1].split('\n## ')[0];

/// The shell lines of one section.
const commands = (section) => blocks(sectionOf(section), 'sh').flatMap((block) => block.split('\n'));

/// `NAME=value` of a command, as an object.
const variables = (command) => Object.fromEntries([...command.matchAll(/\b([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]));

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

  test('the program for the Azure Cosmos DB API works as written', async () => {
    const [program, ...others] = blocks(sectionOf('Azure Cosmos DB'), 'js');
    assert.deepEqual(others, []);
    assert.ok(program.includes('http://localhost:8081'));
    const items = JSON.parse(await runProgram(`${program}\nconsole.log(JSON.stringify(resources));`, server));
    assert.deepEqual(items.map(({ id, customer, total }) => [id, customer, total]), [['1', 'ann', 12.5]]);
  });

  test('the Docker commands name files that are there', () => {
    assert.match(commands('Docker')[0], /docker compose up/);
    assert.match(fs.readFileSync(path.join(root, 'Dockerfile'), 'utf8'), /HEALTHCHECK .*octavo", "health"/);
  });

  test('compose.yaml takes the variables of its command, and repeats the command', () => {
    const compose = fs.readFileSync(path.join(root, 'compose.yaml'), 'utf8');
    const [command] = commands('Docker');
    const passed = [...compose.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name);
    assert.deepEqual(Object.keys(variables(command)), passed);
    assert.equal(compose.split('\n')[0], `# ${command}`);
  });

  test('with the variables of each Docker command, port 8081 takes the well-known key, and both APIs answer', async (t) => {
    const starts = commands('Docker').map(variables);
    assert.equal(starts.length, 2);
    for (const env of starts) {
      const started = await Server.startFor(t, { env });
      expectStatus(await cosmosRequest(started, 'GET', '/dbs'), 200);
      expectStatus(await started.get('/_all_dbs', { auth: `${env.COUCHDB_USER}:${env.COUCHDB_PASSWORD}` }), 200);
    }
  });

  test('every feature names a test that is run, and every test is named', () => {
    const named = new Set([...readme.matchAll(/`tests\/integration\/([a-z_/]+)\.test\.mjs`/g)].map((match) => match[1]));
    const suites = fs.readdirSync(path.join(root, 'tests/integration'), { recursive: true })
      .filter((file) => file.endsWith('.test.mjs')).map((file) => file.replace('.test.mjs', ''));
    const ofTheProject = ['server/bad_input', 'server/command_line', 'server/limits', 'format_examples', 'readme'];
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

describe('pages', () => {
  test('the commands of docs/api.md work as written, in their order', async (t) => {
    const count = await checkCommands(readPage('docs/api.md'), await Server.startFor(t));
    assert.ok(count > 40, `${count} commands`);
  });

  test('a result that a page shows wrongly is found', async (t) => {
    const server = await Server.startFor(t);
    const url = 'http://127.0.0.1:5984';
    const commands = (...lines) => checkCommands(['```sh', ...lines, '```'].join('\n'), server);
    assert.equal(await commands(`curl ${url}  # {"couchdb":"Welcome",…`, '#  "version":…}', `curl ${url}/no  # 404 {…}`), 2);
    await assert.rejects(commands(`curl ${url}  # {"couchdb":"Goodbye",…}`), /Goodbye/);
    await assert.rejects(commands(`curl ${url}/no`), /404/);
    await assert.rejects(commands(`curl ${url}  # 404`), /200/);
    const program = (...lines) => checkProgram(['```js', ...lines, '```'].join('\n'), server);
    assert.equal(await program('console.log("one");', '// → o…e', 'console.log(2);  // → 2'), 2);
    await assert.rejects(program('console.log(1);', '// → 2'), /1/);
    await assert.rejects(program('console.log(1);', '// → 1', '// → 2'), /1 !== 2/);
  });
});
