// One history: a database, its clients and followers, the end, and the documents as they are then.
import { timeout } from '../integration/harness.mjs';
import { checkHistory } from './checker.mjs';
import { Client, functionDocuments, indexes, Knowledge } from './clients.mjs';
import { Compactions } from './compactions.mjs';
import { Derived } from './derived.mjs';
import { makeFollowers } from './followers.mjs';
import { History } from './history.mjs';
import { ItemClient } from './item_client.mjs';
import { makeItemFollowers } from './item_followers.mjs';
import { PartitionMoves } from './partition_moves.mjs';
import { Random } from '../support/random.mjs';
import { Connection } from './requests.mjs';
import { Shape } from './shape.mjs';

const CATCH_UP_MS = 30_000;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/// Runs and checks one history. `restarts`: how often the server is killed with SIGKILL meanwhile, at most.
/// Returns { problems, figures, seconds, database, shape, written: when its last write began }.
export async function runHistory({ server, seed, number, q, partitioned, container, clients: clientCount, steps, restarts = 0, history = new History() }) {
  const shape = new Shape({ name: `history-${number}`, q, partitioned, container });
  const begun = Date.now();
  const up = new Availability();
  const context = { server, seed, shape, history, knowledge: new Knowledge(), serverUp: () => up.wait() };
  const administrator = new Connection(server, history);
  await prepare(administrator, shape, history);
  const derived = new Derived({ server, shape, number });
  await derived.begin();

  const followers = [...makeFollowers(context), ...makeItemFollowers(context)];
  const following = followers.map((follower) => follower.follow());
  const clients = Array.from({ length: clientCount }, (_, i) => {
    const kind = shape.container && i % 2 === 1 ? ItemClient : Client;
    return new kind({ ...context, number: i + 1 });
  });
  const moves = new PartitionMoves(context);
  // Followers of a range find out first which keys are in it.
  // The one partition of a database with q=1 is ordered as a whole, which two are not.
  const moving = shape.q === 1 ? undefined : Promise.all(followers.map((follower) => follower.begun)).then(() => moves.work());
  const compactions = new Compactions(context);
  const compacting = compactions.work();
  const working = Promise.all(clients.map((client) => client.work(steps, context.serverUp)));
  const kills = restarts > 0 ? await restartWhile(working, server, up, restarts, new Random(seed, 'restarts')) : 0;
  await working;
  moves.stop();
  compactions.stop();
  await moving;
  await compacting;

  // One that begins after a sentinel would wait for it for ever.
  await Promise.all(followers.map((follower) => follower.begun));
  const written = await writeSentinels(administrator, shape, history);
  await Promise.race([Promise.all(followers.map((follower) => follower.complete)), timeout(CATCH_UP_MS)]);
  for (const follower of followers) {
    if (!follower.done) history.complain(`${follower.name}: did not see its sentinel within ${CATCH_UP_MS} ms; it is at ${follower.since}`);
    follower.stop();
  }
  await Promise.all(following);
  const finals = await readFinals(administrator, shape, history);
  await checkFeedAtRest(administrator, shape, history, finals);
  for (const problem of await derived.check()) history.complain(problem);
  administrator.close();
  const { problems, figures } = checkHistory(history, finals);
  return { problems, figures: { clients: clientCount, ...figures, kills, splits: moves.splits, merges: moves.merges, compactions: compactions.done }, seconds: (Date.now() - begun) / 1000, database: shape.name, written, shape };
}

async function must(connection, method, path, body, status) {
  const reply = await connection.send(method, path, body);
  if (reply.status !== status) throw new Error(`${method} ${path}: ${reply.status} ${reply.text ?? reply.error}`);
  return reply;
}

async function prepare(connection, shape, history) {
  const { path } = shape;
  if (shape.container) await createContainer(connection, shape);
  else await must(connection, 'PUT', `${path}?q=${shape.q}${shape.partitioned ? '&partitioned=true' : ''}`, undefined, 201);
  // The whole history of a document is read at the end.
  await must(connection, 'PUT', `${path}/_revs_limit`, 1_000_000, 200);
  for (const { partitioned, ...index } of indexes) {
    if (partitioned && !shape.partitioned) continue;
    const id = `_design/${index.ddoc}`;
    const made = await must(connection, 'POST', `${path}/_index`, { ...index, ...(shape.partitioned ? { partitioned } : {}) }, 200);
    const { _rev: rev } = (await must(connection, 'GET', `${path}/${id}`, undefined, 200)).body;
    history.record({ name: 'index', begin: made.begin, end: made.end, unit: shape.unitOf(id), writes: [{ id, named: null, deleted: false, rev, tag: null }] });
  }
  for (const document of functionDocuments(shape)) {
    const { _id: id } = document;
    const made = await must(connection, 'PUT', `${path}/${id}`, document, 201);
    history.record({ name: 'functions', begin: made.begin, end: made.end, unit: shape.unitOf(id), writes: [{ id, named: null, deleted: false, rev: made.body.rev, tag: null }] });
  }
  // What the clients take for a query by an index must be one.
  const explain = async (where, query, wanted, covering = false) => {
    const plan = (await must(connection, 'POST', `${path}${where}/_explain`, query, 200)).body;
    if (plan.index.name !== wanted || Boolean(plan.covering) !== covering) throw new Error(`the plan is not by ${wanted}: ${JSON.stringify(plan)}`);
  };
  await explain('', { selector: { hot: 1, n: 1 }, use_index: ['by-hot', 'by-hot'] }, 'by-hot');
  await explain('', { selector: { tag: 'x' }, use_index: ['by-tag', 'by-tag'], fields: ['_id', 'tag'] }, 'by-tag', true);
  if (shape.partitioned) await explain('/_partition/a0', { selector: { n: 1 }, use_index: ['by-n', 'by-n'] }, 'by-n');
}

// Its throughput is what makes its physical partitions.
async function createContainer(connection, shape) {
  const container = { id: 'items', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 }, changeFeedPolicy: { retentionDuration: 60 } };
  const headers = { 'x-ms-offer-throughput': String(10_000 * shape.q) };
  for (const [path, body] of [['/dbs', { id: shape.owner }], [`/dbs/${shape.owner}/colls`, container]]) {
    const reply = await connection.sendSigned('POST', path, body, { headers: path === '/dbs' ? {} : headers });
    if (reply.status !== 201) throw new Error(`POST ${path}: ${reply.status} ${reply.text ?? reply.error}`);
  }
}

// One after another, so that each follower's sentinel is the last write that it is told of.
async function writeSentinels(connection, shape, history) {
  let begin;
  for (const id of shape.sentinels) {
    const body = { ...shape.placeIn(id), tag: id, n: -1, hot: 0, sentinel: true };
    const reply = await must(connection, 'PUT', `${shape.path}/${id}`, body, 201);
    begin = reply.begin;
    history.record({ name: 'sentinel', begin, end: reply.end, unit: shape.unitOf(id), writes: [{ ...body, id, named: null, deleted: false, rev: reply.body.rev }] });
  }
  return begin;
}

// All documents of the history with their revisions.
async function readFinals(connection, shape, history) {
  const finals = new Map();
  const ids = new Set([...shape.hot, ...shape.sentinels]);
  for (const operation of history.operations) for (const write of operation.writes) ids.add(write.id);
  for (const id of ids) {
    const reply = await connection.send('GET', `${shape.path}/${id}?open_revs=all&revs=true`);
    if (reply.status === 404) continue;
    if (reply.status !== 200 || reply.body.length !== 1) {
      history.complain(`${id}: the document at the end: ${reply.status} ${reply.text}`);
      continue;
    }
    const document = reply.body[0].ok;
    const { start, ids: hashes } = document._revisions;
    finals.set(id, { revs: hashes.map((hash, i) => `${start - i}-${hash}`).reverse(), deleted: document._deleted, tag: document.tag });
  }
  return finals;
}

// When nothing moves, the feed has each document once, at its last revision, and the same backwards.
async function checkFeedAtRest(connection, shape, history, finals) {
  const read = async (query) => (await must(connection, 'GET', `${shape.path}/_changes?${query}`, undefined, 200)).body;
  const rows = (await read('since=0')).results;
  const told = new Map(rows.map((row) => [row.id, row]));
  if (told.size !== rows.length) history.complain('at rest: the feed has a document twice');
  for (const [id, { revs, deleted }] of finals) {
    const row = told.get(id);
    if (row?.changes[0].rev !== revs.at(-1) || Boolean(row.deleted) !== Boolean(deleted)) {
      history.complain(`at rest: ${id} is at ${revs.at(-1)}, the feed says ${JSON.stringify(row)}`);
    }
  }
  for (const id of told.keys()) if (!finals.has(id)) history.complain(`at rest: the feed has ${id}, which is not there`);
  const back = (await read('descending=true')).results;
  if (JSON.stringify(back.reverse()) !== JSON.stringify(rows)) history.complain('at rest: the feed backwards is another one');
}

/// Whether requests make sense at the moment.
class Availability {
  #gate = Promise.resolve();
  #open;
  close() {
    this.#gate = new Promise((resolve) => (this.#open = resolve));
  }
  open() {
    this.#open?.();
  }
  wait() {
    return this.#gate;
  }
}

async function restartWhile(working, server, up, restarts, random) {
  let over = false;
  working.then(() => (over = true), () => (over = true));
  let kills = 0;
  while (kills < restarts) {
    await sleep(random.between(200, 800));
    if (over) break;
    up.close();
    await server.kill();
    await server.relaunch();
    up.open();
    ++kills;
  }
  return kills;
}
