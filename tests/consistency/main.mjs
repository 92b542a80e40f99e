// Runs histories against a server and checks them; see docs/reliability.md.
//
//   node main.mjs [--seed N] [--histories N | --minutes M] [--clients N] [--steps N] [--restarts N] [--only N]
//
// OCTAVO_BINARY names the server. Reports of sanitizers and unexpected exceptions in its output count as failures. The seed of a failed run is
// printed; with it the same clients ask for the same things again, though not at the same moments.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Server } from '../integration/harness.mjs';
import { checkDatabaseUpdates } from './feed_order.mjs';
import { UpdatesFollower } from './followers.mjs';
import { History } from './history.mjs';
import { runHistory } from './run.mjs';
import { DatabaseChurn } from './database_churn.mjs';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string' }, histories: { type: 'string', default: '8' }, minutes: { type: 'string' },
    clients: { type: 'string', default: '16' }, steps: { type: 'string', default: '120' }, restarts: { type: 'string', default: '2' },
    only: { type: 'string' },
  },
});
const seed = options.seed ?? String(randomInt(1_000_000_000));
const shapes = [
  { partitioned: true, q: 1 }, { partitioned: true, q: 4, container: true }, { partitioned: false, q: 4 }, { partitioned: false, q: 1 },
];
const badLine = /WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer|runtime error:|SUMMARY: |unexpected exception/;

const reports = [];
const watch = (server) => {
  for (const line of server.lines) if (badLine.test(line)) reports.push(line);  // up to now
  for (const stream of [server.process.stdout, server.process.stderr]) {
    stream.on('data', (text) => {
      for (const line of String(text).split('\n')) {
        if (badLine.test(line)) reports.push(line);
        if (badLine.test(line) || (reports.length > 0 && line !== '' && !line.includes(' access '))) process.stderr.write(`server: ${line}\n`);
      }
    });
  }
};

console.log(`seed ${seed}`);
const deadline = options.minutes ? Date.now() + Number(options.minutes) * 60_000 : Infinity;
const count = options.minutes ? Infinity : Number(options.histories);
const totals = {};
const problems = [];
// The throughput of a container makes its physical partitions here, and is not to hold the clients up. With sanitizers,
// the connection that prepares a run waits for minutes until it reads the final states.
const server = await Server.start({ args: ['--database-enforce-throughput=false', '--http-idle-timeout=10m'] });
watch(server);
const relaunch = server.relaunch.bind(server);
server.relaunch = async () => {
  await relaunch();
  watch(server);
};

for (let number = 1; number <= count && Date.now() < deadline && problems.length === 0; ++number) {
  if (options.only && Number(options.only) !== number) continue;
  const shape = shapes[(number - 1) % shapes.length];
  // Every other round of the shapes is run with restarts.
  const restarts = Math.floor((number - 1) / shapes.length) % 2 === 1 ? Number(options.restarts) : 0;
  const history = new History();
  const serverUp = () => new Promise((resolve) => setTimeout(resolve, 20));
  const updates = new UpdatesFollower({ server, history, serverUp });
  const followingUpdates = updates.follow();
  const churn = new DatabaseChurn({ server, history, seed: `${seed}/${number}`, number });
  const churning = restarts === 0 ? churn.work() : undefined;
  const result = await runHistory({
    server, seed: `${seed}/${number}`, number, ...shape, restarts, history, clients: Number(options.clients), steps: Number(options.steps),
  });
  churn.stop();
  await churning;
  await updates.stop();
  await followingUpdates;
  const databases = new Map([...churn.databases, [result.database, { last: 'updated', written: result.written }]]);
  const found = [...result.problems, ...checkDatabaseUpdates(updates.rows, databases)];
  const figures = { histories: 1, ...result.figures, databases: databases.size };
  figures.followers += 1;
  figures.events += updates.rows.length;
  for (const [name, value] of Object.entries(figures)) totals[name] = (totals[name] ?? 0) + value;
  console.log(`history ${number}: ${result.shape.description}: ` +
    `${Object.entries(result.figures).map(([name, value]) => `${value} ${name}`).join(', ')}; ${result.seconds.toFixed(1)} s`);
  for (const problem of found) problems.push(`history ${number}: ${problem}`);
  await server.delete(result.shape.path);
}
try {
  await server.stop();
} catch (error) {
  problems.push(error.message);
}
for (const report of reports) problems.push(`the server reported: ${report}`);

console.log(`in all: ${Object.entries(totals).map(([name, value]) => `${value} ${name}`).join(', ')}`);
if (problems.length > 0) {
  for (const problem of problems.slice(0, 40)) console.error(`WRONG: ${problem}`);
  console.error(`${problems.length} problems; again: --seed ${seed} --clients ${options.clients} --steps ${options.steps}`);
  process.exit(1);
}
