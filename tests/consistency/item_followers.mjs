// Readers of a container's change feed by the pull model of the Cosmos DB API, and of the log of all versions by both APIs.
import { Follower, PollFollower, StreamFollower } from './followers.mjs';
import { sequenceNumber } from './history.mjs';
import { Random } from '../support/random.mjs';
import { Connection } from './requests.mjs';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const revOf = (etag) => etag.replaceAll('"', '');

/// Those of a container; none of other databases.
export function makeItemFollowers(context) {
  const { shape, seed } = context;
  if (!shape.container) return [];
  const make = (kind, name, options) => new kind({ ...context, name, random: new Random(seed, name), ...options });
  const partition = new Random(seed, 'item followers').pick(shape.partitions);
  const scope = { items: true, live: true };
  const inPartition = { partition, sentinel: shape.sentinelOf(partition) };
  const every = { scope: { every: true } };
  return [
    make(ItemFollower, 'items', { scope }),
    make(ItemFollower, 'items, interrupted', { scope, interrupted: true }),
    make(ItemFollower, 'items of a key', { scope: { ...scope, partition }, ...inPartition }),
    ...Array.from({ length: shape.q }, (_, range) => make(RangeFollower, `items of range ${range}`, { scope, range })),
    make(VersionFollower, 'all versions of items', { scope: { items: true, every: true } }),
    make(VersionFollower, 'all versions of items, interrupted', { scope: { items: true, every: true }, interrupted: true }),
    make(StreamFollower, 'continuous, all versions, interrupted', { ...every, query: 'mode=all_versions', interrupted: true }),
    make(PollFollower, 'normal, all versions, pages', { ...every, feed: 'normal', limited: true, query: 'mode=all_versions' }),
  ];
}

/// Page after page from the tag of the page before; the newest state of each item.
class ItemFollower extends Follower {
  mode = 'Incremental Feed';
  tag = undefined;

  async session() {
    const connection = new Connection(this.server, this.history);
    this.hangUp = () => connection.close();
    for (let requests = this.random.between(1, 30); requests > 0 && !this.done; --requests) {
      const hangUpAfterMs = this.interrupted && this.random.chance(0.3) ? this.random.below(60) : undefined;
      const reply = await this.ask(connection, hangUpAfterMs);
      if (reply.lost) break;
      if (reply.status === 410 && this.bounds && !this.wasSplit) {
        this.wasSplit = true;
        continue;
      }
      if (![200, 304].includes(reply.status)) {
        this.refused(reply);
        break;
      }
      if (reply.status === 200) for (const row of reply.body.Documents) this.takeItem(row);
      this.tag = reply.headers.etag;
      const position = revOf(this.tag);
      if (sequenceNumber(position) < sequenceNumber(this.since)) this.history.complain(`${this.name}: the position ${position} is before ${this.since}`);
      this.pass(position);
      if (reply.status === 304) await sleep(this.random.between(0, 40));
    }
    connection.close();
  }
  ask(connection, hangUpAfterMs) {
    const headers = { 'A-IM': this.mode };
    if (this.tag !== undefined) headers['If-None-Match'] = this.tag;
    if (this.random.chance(0.6)) headers['x-ms-max-item-count'] = String(this.random.between(1, 20));
    if (this.wasSplit) {
      headers['x-ms-start-epk'] = this.bounds.minInclusive;
      if (this.bounds.maxExclusive !== 'FF') headers['x-ms-end-epk'] = this.bounds.maxExclusive;
    } else if (this.range !== undefined) {
      headers['x-ms-documentdb-partitionkeyrangeid'] = String(this.range);
    }
    const { partition } = this;
    return connection.sendSigned('GET', `${this.shape.containerPath}/docs`, undefined, { headers, partition, hangUpAfterMs });
  }
  takeItem({ id: itemId, pk, _etag, tag }) {
    const id = `${pk}:${itemId}`;
    const rev = revOf(_etag);
    this.rows.push({ at: this.history.tick(), id, revs: [rev], doc: { _id: id, _rev: rev, tag } });
    this.look(id);
  }
}

/// One of the ranges that clients read side by side: the partition keys of one physical partition, and when that was
/// split, what lies between its bounds.
class RangeFollower extends ItemFollower {
  async prepare() {
    const connection = new Connection(this.server, this.history);
    const partitions = [];
    // A reader's session token tells where its item would be.
    for (const partition of [...this.shape.partitions, 'y0', 'y1', 'y2']) {
      let reply;
      do {
        await this.serverUp();
        reply = await connection.sendSigned('GET', `${this.shape.containerPath}/docs/none`, undefined, { partition });
      } while (reply.lost);
      if (reply.headers['x-ms-session-token'].split(':')[0] === String(this.range)) partitions.push(partition);
    }
    let ranges;
    do {
      await this.serverUp();
      ranges = await connection.sendSigned('GET', `${this.shape.containerPath}/pkranges`);
    } while (ranges.lost);
    this.bounds = ranges.body.PartitionKeyRanges.find(({ id }) => id === String(this.range));
    connection.close();
    this.scope = { ...this.scope, partitions };
    const last = this.shape.partitions.filter((partition) => partitions.includes(partition)).at(-1);
    if (last !== undefined) {
      this.sentinel = this.shape.sentinelOf(last);
      return;
    }
    this.history.followers = this.history.followers.filter((follower) => follower !== this);
    this.done = true;
    this.finish();
  }
}

/// Every version from the moment on at which it began.
class VersionFollower extends ItemFollower {
  mode = 'Full-Fidelity Feed';

  async prepare() {
    const connection = new Connection(this.server, this.history);
    this.tag = '*';
    let reply;
    do {
      await this.serverUp();
      reply = await this.ask(connection);
    } while (reply.lost);
    connection.close();
    if (![200, 304].includes(reply.status)) return this.refused(reply);
    this.tag = reply.headers.etag;
    this.since = revOf(this.tag);
    // A 200 has what was written while the request was on its way, from the first such version on.
    const rows = reply.status === 200 ? reply.body.Documents : [];
    this.from = rows.length > 0 ? rows[0].metadata.lsn - 1 : sequenceNumber(this.since);
    for (const row of rows) this.takeItem(row);
    return undefined;
  }
  takeItem({ current, previous, metadata }) {
    const { lsn: seq, operationType: operation } = metadata;
    const row = { at: this.history.tick(), seq: String(seq), operation };
    if (operation === 'delete') {
      const id = `${metadata.partitionKey.pk}:${metadata.id}`;
      this.rows.push({ ...row, id, revs: [], after: revOf(previous._etag), deleted: true });
      return;
    }
    const id = `${current.pk}:${current.id}`;
    const rev = revOf(current._etag);
    this.rows.push({ ...row, id, revs: [rev], doc: { _id: id, _rev: rev, tag: current.tag } });
    this.look(id);
  }
}
