// A database that drops its tombstones after a second, clients that delete and create documents in it, and followers of
// its feed that may be too slow.
import { sleep } from '../integration/harness.mjs';
import { Client, expected } from './client.mjs';
import { forgettingDatabase } from './history.mjs';

export const forgetting = { name: forgettingDatabase, partitioned: false, q: 2, retention: 1 };
const DOCUMENTS_PER_CLIENT = 16;
const EARLY = 'early';
const DROPPED_WITHIN_MS = 30_000;

/// Deletes about as often as it writes. It creates documents again without knowing whether their tombstones are left.
export class ForgettingClient extends Client {
  constructor(world, number) {
    super(world, `forgetting client ${number}`);
    this.ids = Array.from({ length: DOCUMENTS_PER_CLIENT }, (_, n) => `f${number}-${n}`);
  }

  step() {
    const { random } = this;
    const id = random.pick(this.ids);
    if (random.chance(0.2)) return this.writeMany(forgetting.name, random.sample(this.ids, random.between(2, 8)));
    return this.writeOne(forgetting.name, id, this.isLive(forgetting.name, id) && random.chance(0.6));
  }
}

/// Keeps a copy as a replica does. It begins again when it is told that tombstones are gone, and must not miss a deletion
/// otherwise.
export class Follower extends Client {
  #since = 0;
  #copy = new Map();
  #restarts = 0;
  #past = [];  ///< where it was after each page: { time, since, copy }

  /// Every second one is lazy: it reads a page now and then, so that it is behind when tombstones are dropped.
  constructor(world, number) {
    super(world, `follower ${number}`);
    this.isLazy = number % 2 === 1;
  }

  /// A follower of `server` that continues where this one was before `time`; undefined if it had read nothing by then.
  resumed(server, time) {
    const position = this.#past.findLast((past) => past.time < time);
    if (!position) return undefined;
    const follower = new Follower({ seed: this.world.seed, server }, 0);
    follower.name = this.name;
    follower.#since = position.since;
    follower.#copy = new Map(position.copy);
    return follower;
  }

  async step() {
    await sleep(this.random.below(40));
    if (!this.isLazy) await this.readPage(this.random.between(1, 12));
  }

  /// False: that was the end of the feed.
  async readPage(limit) {
    const reply = await this.server.get(`/${forgetting.name}/_changes?since=${encodeURIComponent(this.#since)}&limit=${limit}`);
    if (reply.status === 400 && reply.body.error === 'tombstones_gone') {
      this.#since = 0;
      this.#copy.clear();
      ++this.#restarts;
      return true;
    }
    const { results, last_seq, pending } = expected(reply, 200);
    for (const { id, deleted, changes } of results) {
      if (deleted) this.#copy.delete(id);
      else this.#copy.set(id, changes[0].rev);
    }
    this.#since = last_seq;
    this.#past.push({ time: process.hrtime.bigint(), since: last_seq, copy: new Map(this.#copy) });
    return pending > 0;
  }

  takeRestarts() {
    const restarts = this.#restarts;
    this.#restarts = 0;
    return restarts;
  }

  /// Reads the rest of the feed, and compares the copy with the documents. To be called while no client writes.
  async compare() {
    if (this.isLazy && this.random.chance(0.6)) {
      await this.readPage(5);
      return [];
    }
    while (await this.readPage(1_000));
    const { rows } = expected(await this.server.get(`/${forgetting.name}/_all_docs`), 200);
    const problems = [];
    const copy = new Map(this.#copy);
    for (const { id, value } of rows) {
      if (copy.get(id) !== value.rev) problems.push(`${this.name}: ${id} at ${copy.get(id)}, the document at ${value.rev}`);
      copy.delete(id);
    }
    for (const id of copy.keys()) problems.push(`${this.name}: was not told that ${id} was deleted`);
    return problems;
  }
}

/// A document that is written and deleted before all others.
export async function deleteEarly(client) {
  await client.writeOne(forgetting.name, EARLY, false);
  await client.writeOne(forgetting.name, EARLY, true);
}

/// Resolves when the tombstone of that document is gone.
export async function untilDropped(server) {
  const end = Date.now() + DROPPED_WITHIN_MS;
  while (expected(await server.get(`/${forgetting.name}/${EARLY}`), 404).reason !== 'missing') {
    if (Date.now() > end) throw new Error(`no tombstone was dropped within ${DROPPED_WITHIN_MS} ms`);
    await sleep(20);
  }
}
