// Followers of change feeds: each follows in its own way until it has seen its sentinel, and notes what it was told.
import { sequenceNumber } from './history.mjs';
import { Random } from '../support/random.mjs';
import { Connection, openStream } from './requests.mjs';

const CATCH_UP_MS = 30_000;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/// The followers of one database: every way to read a feed, whole and filtered, with and without interruptions.
export function makeFollowers(context) {
  const { shape, random = new Random(context.seed, 'followers') } = context;
  const named = [...random.sample(shape.hot, 5), shape.lastSentinel];
  const n = random.below(4);
  const partition = random.pick(shape.partitions);
  const selector = { selector: { $or: [{ n }, { sentinel: true }] } };
  const byIds = { query: 'filter=_doc_ids', body: { doc_ids: named }, scope: { ids: named } };
  const bySelector = { query: 'filter=_selector', body: selector, scope: { anyOf: [{ n }, { sentinel: true }] } };
  const make = (kind, name, options = {}) => new kind({ ...context, name, random: new Random(context.seed, name), ...options });
  const followers = [
    make(StreamFollower, 'continuous'),
    make(StreamFollower, 'continuous with documents, interrupted', { query: 'include_docs=true', interrupted: true }),
    make(StreamFollower, 'continuous all_docs, interrupted', { query: 'style=all_docs', interrupted: true }),
    make(StreamFollower, 'event source', { events: true }),
    make(StreamFollower, 'event source with documents, interrupted', { events: true, query: 'include_docs=true', interrupted: true }),
    make(StreamFollower, 'continuous from a middle', { late: true }),
    make(StreamFollower, 'continuous _doc_ids, interrupted', { ...byIds, interrupted: true }),
    make(StreamFollower, 'continuous _selector with documents, interrupted', { ...bySelector, query: `${bySelector.query}&include_docs=true`, interrupted: true }),
    make(PollFollower, 'long poll', { feed: 'longpoll' }),
    make(PollFollower, 'long poll, interrupted', { feed: 'longpoll', interrupted: true }),
    make(PollFollower, 'long poll from a middle', { feed: 'longpoll', late: true }),
    make(PollFollower, 'long poll _doc_ids', { feed: 'longpoll', ...byIds }),
    make(PollFollower, 'normal', { feed: 'normal' }),
    make(PollFollower, 'normal, pages', { feed: 'normal', limited: true, query: 'include_docs=true' }),
    make(PollFollower, 'normal _doc_ids', { feed: 'normal', ...byIds }),
    make(PollFollower, 'normal _selector', { feed: 'normal', limited: true, ...bySelector }),
  ];
  if (shape.partitioned) {
    const scoped = { path: `${shape.path}/_partition/${partition}/_changes`, scope: { partition }, sentinel: shape.sentinelOf(partition) };
    followers.push(
      make(StreamFollower, 'partition continuous, interrupted', { ...scoped, interrupted: true }),
      make(PollFollower, 'partition long poll', { ...scoped, feed: 'longpoll' }),
      make(PollFollower, 'partition normal, pages', { ...scoped, feed: 'normal', limited: true, query: 'include_docs=true' }),
    );
  }
  return followers;
}

export class Follower {
  constructor({ server, history, shape, name, random, path = `${shape.path}/_changes`, query = '', body, scope = {},
    sentinel = shape.lastSentinel, serverUp = async () => {}, ...options }) {
    Object.assign(this, { server, history, shape, name: `${shape.name} ${name}`, random, path, query, body, scope, sentinel, serverUp }, options);
    this.from = 0;
    this.since = '0';
    this.rows = [];
    this.passes = [];
    this.complete = new Promise((resolve) => (this.finish = resolve));
    /// When it is known after which sequence it follows: what is written then is told to it.
    this.begun = new Promise((resolve) => (this.begin = resolve));
    history.followers.push(this);
  }

  /// Until the sentinel has come, or `stop` was called.
  async follow() {
    await this.prepare();
    if (this.late) await this.beginInTheMiddle();
    this.begin();
    while (!this.done) {
      await this.session();
      if (!this.done) await this.serverUp();
    }
  }
  async prepare() {}
  stop() {
    this.done = true;
    this.hangUp?.();
  }
  async beginInTheMiddle() {
    await sleep(this.random.between(100, 1000));
    await this.serverUp();
    const connection = new Connection(this.server, this.history);
    const info = await connection.send('GET', this.path.slice(0, this.path.lastIndexOf('/')));
    connection.close();
    if (info.lost) return;
    this.since = info.body.update_seq;
    this.from = sequenceNumber(this.since);
  }
  target(parameters) {
    return `${this.path}?${[...parameters, this.query].filter(Boolean).join('&')}`;
  }
  take(row) {
    this.rows.push({ at: this.history.tick(), seq: row.seq, id: row.id, revs: row.changes.map((change) => change.rev), deleted: row.deleted, doc: row.doc, operation: row.operation });
    this.since = row.seq;
    this.look(row.id);
  }
  /// The sentinel is the end.
  look(id) {
    if (id !== this.sentinel) return;
    this.done = true;
    this.finish();
  }
  pass(seq) {
    this.passes.push({ at: this.history.tick(), seq });
    this.since = seq;
  }
  refused(outcome) {
    this.history.complain(`${this.name}: was answered ${outcome.status}: ${String(outcome.text).slice(0, 300)}`);
    this.stop();
  }
}

/// feed=continuous, or feed=eventsource with `events`.
export class StreamFollower extends Follower {
  async session() {
    const feed = this.events ? 'eventsource' : 'continuous';
    const header = this.events && this.random.chance(0.5);  // as a browser resumes
    const since = header ? '0' : this.since;
    const path = this.target([`feed=${feed}`, `since=${since}`, `heartbeat=${this.random.between(20, 2000)}`]);
    let rest = '';
    let event = {};
    let rowsLeft = this.interrupted ? this.random.between(1, 200) : Infinity;
    const stream = openStream(this.server, path, {
      method: this.body ? 'POST' : 'GET',
      body: this.body,
      headers: header ? { 'Last-Event-ID': this.since } : {},
      onText: (text) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop();
        for (const line of lines) {
          if (this.done || rowsLeft <= 0) return;
          const row = this.events ? (event = this.#field(event, line)).row : line.trim() === '' ? undefined : JSON.parse(line);
          if (!row) continue;
          event = {};
          if (row.last_seq !== undefined) {
            this.pass(row.last_seq);
            continue;
          }
          this.take(row);
          --rowsLeft;
        }
        if (this.done || rowsLeft <= 0) stream.close();
      },
    });
    this.hangUp = () => stream.close();
    const timer = this.interrupted ? setTimeout(() => stream.close(), this.random.between(30, 1500)) : undefined;
    const outcome = await stream.ended;
    clearTimeout(timer);
    if (outcome.status >= 400) this.refused(outcome);
  }

  // Fields of an event up to the empty line that ends it, which gives it a `row`.
  #field(event, line) {
    if (line === '') {
      if (!event.data || event.event === 'heartbeat') return {};
      const row = JSON.parse(event.data);
      if (event.id !== undefined && event.id.replaceAll('"', '') !== row.seq) this.history.complain(`${this.name}: the event ${event.id} has the sequence ${row.seq}`);
      return { row };
    }
    const colon = line.indexOf(':');
    return colon > 0 ? { ...event, [line.slice(0, colon)]: line.slice(colon + 1).trim() } : event;
  }
}

/// feed=longpoll or feed=normal, each request after the last sequence of the one before.
export class PollFollower extends Follower {
  async session() {
    const connection = new Connection(this.server, this.history);
    this.hangUp = () => connection.close();
    for (let requests = this.random.between(1, 30); requests > 0 && !this.done; --requests) {
      const parameters = [`feed=${this.feed}`, `since=${this.since}`];
      if (this.feed === 'longpoll') parameters.push(`timeout=${this.random.between(100, 3000)}`);
      if (this.limited) parameters.push(`limit=${this.random.between(1, 20)}`);
      const hangUpAfterMs = this.interrupted && this.random.chance(0.3) ? this.random.below(100) : undefined;
      const reply = await connection.send(this.body ? 'POST' : 'GET', this.target(parameters), this.body, { hangUpAfterMs });
      if (reply.lost) break;
      if (reply.status !== 200) {
        this.refused(reply);
        break;
      }
      // A feed from the beginning may end with documents that were written before it reached them. They have its last
      // sequence, and come again in their places.
      let { results: rows, last_seq: lastSeq } = reply.body;
      const isLast = (row) => sequenceNumber(row.seq) === sequenceNumber(lastSeq);
      if (sequenceNumber(this.since) === 0 && rows.filter(isLast).length > 1) {
        rows = rows.filter((row) => !isLast(row));
        lastSeq = rows.at(-1)?.seq ?? this.since;
      }
      for (const row of rows) this.take(row);
      if (this.rows.length > 0 && sequenceNumber(lastSeq) < sequenceNumber(this.rows.at(-1).seq)) {
        this.history.complain(`${this.name}: last_seq ${lastSeq} is before its last row ${this.rows.at(-1).seq}`);
      }
      this.pass(lastSeq);
      if (this.feed === 'normal') await sleep(this.random.between(0, 40));
    }
    connection.close();
  }
}

/// A continuous follower of _db_updates; notes { at, seq, database, type }.
export class UpdatesFollower {
  constructor({ server, history, serverUp }) {
    Object.assign(this, { server, history, serverUp });
    this.rows = [];
    this.since = '0';
  }
  async follow() {
    while (!this.done) {
      let rest = '';
      const stream = openStream(this.server, `/_db_updates?feed=continuous&heartbeat=1000&since=${this.since}`, {
        onText: (text) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop();
          for (const line of lines) {
            if (line.trim() === '') continue;
            const row = JSON.parse(line);
            if (row.last_seq !== undefined) continue;
            this.since = row.seq;
            this.rows.push({ at: this.history.tick(), seq: row.seq, database: row.db_name, type: row.type });
          }
        },
      });
      this.hangUp = () => stream.close();
      const outcome = await stream.ended;
      if (outcome.status >= 400) {
        this.history.complain(`_db_updates was answered ${outcome.status}: ${outcome.text}`);
        return;
      }
      if (!this.done) await this.serverUp();
    }
  }
  /// The end, once it has been told of all that was done before.
  async stop() {
    const last = `last-${Date.now()}`;
    await this.server.put(`/${last}`);
    for (const end = Date.now() + CATCH_UP_MS; Date.now() < end && !this.rows.some((row) => row.database === last);) await sleep(20);
    this.done = true;
    this.hangUp?.();
    await this.server.delete(`/${last}`);
  }
}
