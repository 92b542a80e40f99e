// Calls made to the server and to the model side by side, in databases of their own.
import { cosmosRequest } from '../../integration/cosmos_request.mjs';
import { sleep } from '../../integration/harness.mjs';
import { expireItems, settledAt } from '../dialect/cosmos/lifetime.mjs';
import { Model } from '../dialect/model.mjs';
import { Binder } from './binder.mjs';
import { compareReplies } from './compare.mjs';
import { ask } from './ask.mjs';
import { nameOf, renderCall } from './template.mjs';

/// `d` and `e` are containers of the Cosmos DB API. `e` has what only that API knows, and is written by it alone.
export const DATABASES = ['a', 'b', 'c', 'd', 'e'];

// A write without an acknowledgement is there after some milliseconds.
const LOOK_AFTER_MS = 10;
const LOOKS_MAX = 200;
// Tombstones are dropped some seconds after they are old enough.
const FORGET_LOOK_MS = 100;
const FORGET_LOOKS_MAX = 600;

let sessions = 0;

export class Session {
  /// `ask`: what makes the calls (ask.mjs); self-tests put one in between.
  constructor(server, { createModel = () => new Model(), ask: asker = ask } = {}) {
    this.server = server;
    this.ask = asker;
    this.prefix = `m${process.pid}-${++sessions}-`;
    this.model = createModel();
    this.binder = new Binder();
    this.written = new Map(); // call and document → the revision it got
  }

  nameOf(database) {
    return nameOf(this.prefix, database);
  }

  /// Makes one call. Returns what is wrong, or undefined.
  async step(call) {
    if (call.restart) return this.#restart(call.restart);
    if (call.forget) return this.#forget();
    const context = { prefix: this.prefix, binder: this.binder };
    const sent = renderCall(call, { ...context, speaker: 'server' });
    const asked = renderCall(call, { ...context, speaker: 'model' });
    await this.#settleExpirations(call, asked.target);
    let reply;
    try {
      reply = await this.ask(this.server, sent);
    } catch (error) {
      return `no reply: ${error.message}`;
    }
    const before = new Map([...this.model.databases].map(([name, database]) => [name, database.sequence]));
    const expected = this.model.handle(asked, { reply, sent: parseOr(sent.body) });
    const wrong = compareReplies(expected, reply, this.binder);
    if (wrong) return wrong;
    for (const [place, rev] of revisionsIn(call, reply)) this.written.set(`${call.n} ${place}`, rev);
    if (reply.body?.bookmark && reply.body.bookmark !== 'nil') this.binder.setBookmark(call.n, reply.body.bookmark);
    const continuation = reply.headers['x-ms-continuation'];
    if (continuation) this.binder.setBookmark(call.n, continuation);
    if (sent.target.includes('batch=ok') && reply.status === 202) await this.#settle(sent, reply);
    return this.#adoptOrder(before);
  }

  async #restart(signal) {
    if (signal === 'SIGKILL') await this.server.kill();
    else await this.server.stop({ keepFolder: true });
    await this.server.relaunch();
    return undefined;
  }

  // Has the tombstones of the CouchDB API's databases dropped, and no others afterwards. Each physical partition counts by
  // itself what it has dropped, so only databases with one of them are modelled.
  async #forget() {
    for (const [name, database] of this.model.databases) {
      const deleted = database.counts().doc_del_count;
      if (database.container || database.q > 1 || deleted === 0) continue;
      const path = `/${encodeURIComponent(name)}`;
      const { results } = (await this.server.get(`${path}/_changes`)).body;
      const newest = results.findLast((row) => row.deleted);
      await this.server.put(`${path}/_properties`, { tombstone_retention: 1 });
      let left = deleted;
      for (let looks = 0; left > 0 && looks < FORGET_LOOKS_MAX; ++looks) {
        await sleep(FORGET_LOOK_MS);
        left = (await this.server.get(path)).body.doc_del_count;
      }
      if (left > 0) return `${name} still has ${left} tombstones`;
      await this.server.put(`${path}/_properties`, {});
      database.dropTombstones(Number.parseInt(newest.seq, 10));
    }
    return undefined;
  }

  // Waits until it is sure which items have expired, unless the call is `blind`: no expiration can change its reply.
  async #settleExpirations({ blind }, target) {
    for (const database of this.model.databases.values()) {
      if (database.container?.defaultTtl === undefined) continue;
      const [owner, id] = database.name.split('/');
      const isAsked = target.startsWith(`/dbs/${owner}/colls/${id}`) || target.startsWith(`/${owner}%2F${id}`);
      const wait = settledAt(database) - Date.now();
      if (isAsked && !blind && wait > 0) await sleep(wait);
      expireItems(database, Date.now());
    }
  }

  // With batch=ok the reply comes before the write. Another write of the same document queues behind it: one that can
  // only conflict tells when the first is done. Where there are validations it is refused before it queues, so the
  // document is looked at until it is what the model says.
  async #settle(sent, reply) {
    const database = sent.target.slice(1).split(/[/?]/)[0];
    const path = `/${database}/${encodeURIComponent(reply.body.id)}`;
    await this.server.put(`${path}?rev=999999-${'f'.repeat(32)}`, {});
    const winner = this.model.databases.get(decodeURIComponent(database))?.winner(reply.body.id);
    const wanted = winner && !winner.deleted ? winner.rev : undefined;
    for (let looks = 0; looks < LOOKS_MAX; ++looks) {
      const { status, body } = await this.server.get(path);
      if ((status === 200 ? body._rev : undefined) === wanted) return;
      await sleep(LOOK_AFTER_MS);
    }
  }

  // Several physical partitions write side by side, so the order of one request's documents in the feed is the
  // server's: the model takes it over, after checking that these documents are what changed.
  async #adoptOrder(before) {
    for (const [name, database] of this.model.databases) {
      const since = before.get(name) ?? 0;
      if (database.q === 1 || database.sequence - since < 2) continue;
      const path = `/${encodeURIComponent(name)}`;
      const mine = database
        .feed()
        .filter(({ sequence }) => sequence > since)
        .map(({ id }) => id);
      const [{ body: feed }, { body: info }] = [
        await this.server.get(`${path}/_changes?descending=true&limit=${mine.length}`),
        await this.server.get(path),
      ];
      const theirs = feed.results.map(({ id }) => id);
      if ([...theirs].sort().join() !== [...mine].sort().join()) {
        return `the newest rows of the feed are ${theirs}, expected ${mine}`;
      }
      // Counted from the newest change of all, which may have been the purge of a document.
      for (const { id, seq } of feed.results) {
        const number = database.sequence - (Number.parseInt(info.update_seq, 10) - Number.parseInt(seq, 10));
        if (number <= since || number > database.sequence)
          return `${id} is at ${seq} of the feed, expected one of the newest`;
        database.documents.get(id).sequence = number;
      }
    }
    return undefined;
  }

  /// The databases go, so that the next session finds an empty server.
  async close() {
    for (const name of DATABASES) {
      await this.server.delete(`/${encodeURIComponent(this.nameOf(name))}`).catch(() => undefined);
    }
    await cosmosRequest(this.server, 'DELETE', `/dbs/${this.prefix}d`).catch(() => undefined);
  }
}

/// [[place, revision]…] that a reply tells of: what was written is named by it later.
function revisionsIn(call, { status, headers, body }) {
  const rows = [body].flat();
  if (call.api !== 'cosmos') return rows.filter((row) => row?.ok && row.rev).map((row) => [row.id, row.rev]);
  if (status >= 300 || call.method === 'GET') return [];
  const tags = Array.isArray(body) ? rows.map((row) => row?.eTag) : [headers.etag];
  return tags.map((tag, i) => [i, tag?.replaceAll('"', '')]).filter(([, rev]) => /^\d+-[0-9a-f]{32}$/.test(rev));
}

export function renameRevisions(call, renamed) {
  if (call.target === undefined || renamed.size === 0) return call;
  const rename = (text) => text?.replace(/\d+-[0-9a-f]{32}/g, (rev) => renamed.get(rev) ?? rev);
  const headers = Object.fromEntries(Object.entries(call.headers ?? {}).map(([name, value]) => [name, rename(value)]));
  return {
    ...call,
    target: rename(call.target),
    ...(call.body !== undefined && { body: rename(call.body) }),
    ...(call.headers && { headers }),
  };
}

const isUp = ({ process }) => process && process.exitCode === null && process.signalCode === null;

function parseOr(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/// Replays calls in a session of their own. Returns {call, wrong} of the first difference, or undefined.
///
/// Revisions are made from content: where an edit is not what it was when `written` was recorded, later calls name the
/// revision that it gets now. `calls` in the result are the calls as they were made.
export async function replay(server, recorded, { written = new Map(), ...options } = {}) {
  if (!isUp(server)) await server.relaunch();
  const session = new Session(server, options);
  const renamed = new Map();
  const calls = [];
  try {
    for (const call of recorded) {
      calls.push(renameRevisions(call, renamed));
      const wrong = await session.step(calls.at(-1));
      if (wrong) return { call, wrong, calls, written: session.written };
      for (const [place, rev] of session.written) {
        const old = written.get(place);
        if (old !== undefined && old !== rev) renamed.set(old, rev);
      }
    }
    return undefined;
  } finally {
    if (!isUp(server)) await server.relaunch();
    await session.close();
  }
}
