// Clients that write to a server as fast as it answers, each on documents, databases or indexes of its own, and put down
// what they asked for and what was acknowledged in a History.
import { compareOwnRows, designDocuments, ownRows } from './functions.mjs';
import { Client, expected, Refused } from './client.mjs';
import { ContainerClient, createContainer, databaseName as containerDatabase } from './container_client.mjs';
import { deleteEarly, Follower, forgetting, ForgettingClient } from './forgetting.mjs';
import { databaseKey, documentKey, indexKey, localKey, winnerOf } from './history.mjs';

/// The databases that live as long as the folder.
export const lasting = [
  { name: 'plain-1', partitioned: false, q: 1 },
  { name: 'plain-3', partitioned: false, q: 3, versions: true },
  { name: 'parted-1', partitioned: true, q: 1, versions: true },
  { name: 'parted-2', partitioned: true, q: 2 },
];
const PARTITIONS_MAX = 24;
const lastingIndexes = [
  { database: 'plain-1', fields: ['a'] },
  { database: 'plain-3', fields: ['b', 'a'] },
  { database: 'parted-1', fields: ['a'], partitioned: true },
  { database: 'parted-1', fields: ['b', 'a'], partitioned: false },
  { database: 'parted-2', fields: ['c'], partitioned: true },
  { database: 'parted-2', fields: ['a'], partitioned: false },
  { database: forgetting.name, fields: ['a'] },
];

const DOCUMENTS_PER_CLIENT = 24;
const LOCALS_PER_CLIENT = 3;

/// Writes documents of its own in one of the lasting databases.
class DocumentClient extends Client {
  constructor(world, number, database) {
    super(world, `client ${number}`);
    this.database = database.name;
    this.partitions = database.partitioned ? [`c${number}`, `c${number}-other`] : [undefined];
    const long = (n) => (n % 12 === 5 ? 'long'.repeat(140) : '');
    this.ids = this.partitions.map((partition) => Array.from({ length: DOCUMENTS_PER_CLIENT / this.partitions.length },
      (_, n) => (partition ? `${partition}:${n}${long(n)}` : `c${number}-${n}${long(n)}`)));
    this.locals = Array.from({ length: LOCALS_PER_CLIENT }, (_, n) => `c${number}-${n}`);
  }

  step() {
    const { random, database } = this;
    const place = random.below(this.partitions.length);
    const ids = this.ids[place];
    const id = random.pick(ids);
    switch (random.weighted({ put: 10, delete: 3, bulk: 2, batch: 4, conflict: 2, purge: 1, local: 1, forbidden: 1, view: 1 })) {
      case 'put':
        return this.writeOne(database, id, false);
      case 'delete':
        return this.writeOne(database, id, this.isLive(database, id));
      case 'bulk':
        return this.writeMany(database, this.several(this.ids.flat(), 10));
      case 'batch':
        return this.writeMany(database, this.several(ids, 6), this.partitions[place]);
      case 'conflict':
        return this.writeConflict(id);
      case 'purge':
        return this.value(documentKey(database, id)) ? this.purge(id) : this.writeOne(database, id, false);
      case 'local':
        return this.writeLocal(random.pick(this.locals));
      case 'forbidden':
        return this.writeForbidden(id);
      case 'view':
        return this.lookAtOwnDocuments();
    }
  }

  /// A write that the validation refuses, alone or among others, leaves nothing.
  async writeForbidden(id) {
    const { sent } = this.edit(this.database, id);
    const forbidden = { ...sent, forbidden: true };
    if (this.random.chance(0.5)) {
      expected(await this.server.put(`/${this.database}/${encodeURIComponent(id)}`, forbidden), 403);
    } else {
      const [row] = expected(await this.server.post(`/${this.database}/_bulk_docs`, { docs: [forbidden] }), 201);
      if (row.error !== 'forbidden') throw new Refused(JSON.stringify(row));
    }
  }

  /// Everything that was acknowledged is in a view that is asked afterwards. The replicated ones may be of another's
  /// nonce only where a purge brought an older leaf up, so all leaves are this client's.
  async lookAtOwnDocuments() {
    const documents = this.ids.flat().flatMap((id) => {
      const leaves = this.value(documentKey(this.database, id))?.leaves ?? [];
      const winner = leaves.length > 0 ? winnerOf(leaves) : undefined;
      return winner && !winner.deleted ? [{ _id: id, ...winner.body }] : [];
    });
    const key = encodeURIComponent(JSON.stringify(this.name));
    const reply = await this.server.get(`/${this.database}/_design/whole/_view/by_writer?key=${key}`);
    const wrong = compareOwnRows(ownRows(this.name, documents), expected(reply, 200).rows);
    if (wrong.length > 0) throw new Error(`its own documents in a view: ${wrong.join(', ')}`);
  }

  several(from, most) {
    const left = [...from];
    return Array.from({ length: this.random.between(2, most) }, () => left.splice(this.random.below(left.length), 1)[0]);
  }

  /// One or two revisions that come from elsewhere: a branch of their own, or on top of what is there.
  writeConflict(id) {
    const { random, database } = this;
    const key = documentKey(database, id);
    let leaves = this.value(key)?.leaves ?? [];
    const docs = [];
    // Two at once would leave open which of them the log of versions shows.
    const most = this.value(databaseKey(database)).versions ? 1 : 2;
    for (let n = random.between(1, most); n > 0; --n) {
      const parent = leaves.length > 0 && random.chance(0.4) ? random.pick(leaves) : undefined;
      const start = (parent?.generation ?? random.between(0, 2)) + 1;
      const hash = random.hex(32);
      const body = this.body();
      const deleted = random.chance(0.2);
      const ids = [hash];
      if (parent) ids.push(parent.rev.slice(parent.rev.indexOf('-') + 1));
      else for (let g = start - 1; g > 0; --g) ids.push(random.hex(32));
      docs.push({ _id: id, _rev: `${start}-${hash}`, _revisions: { start, ids }, ...body, ...(deleted && { _deleted: true }) });
      leaves = [...leaves.filter((leaf) => leaf !== parent), { rev: `${start}-${hash}`, generation: start, deleted, body }];
      // The second goes beside the first: what is there by then is not known when it is sent.
      if (parent) break;
    }
    return this.run(`replicates ${docs.length} revisions of ${id}`, {
      atomic: true,  // in one request, hence in one transaction
      effects: new Map([[key, { leaves }]]),
      send: () => this.server.post(`/${database}/_bulk_docs`, { new_edits: false, docs }),
      accept(reply) {
        if (expected(reply, 201).length > 0) throw new Refused(reply.text);
        return this.effects;
      },
    });
  }

  /// All revisions, or one of several.
  purge(id) {
    const { database } = this;
    const key = documentKey(database, id);
    const { leaves } = this.value(key);
    const purged = leaves.length > 1 && this.random.chance(0.5) ? [this.random.pick(leaves)] : leaves;
    const left = leaves.filter((leaf) => !purged.includes(leaf));
    return this.run(`purges ${purged.length} of ${leaves.length} revisions of ${id}`, {
      effects: new Map([[key, left.length > 0 ? { leaves: left } : undefined]]),
      send: () => this.server.post(`/${database}/_purge`, { [id]: purged.map((leaf) => leaf.rev) }),
      accept(reply) {
        const done = expected(reply, 201).purged[id];
        if (done.length !== purged.length) throw new Refused(reply.text);
        return this.effects;
      },
    });
  }

  writeLocal(id) {
    const key = localKey(this.database, id);
    const before = this.value(key);
    const target = `/${this.database}/_local/${id}`;
    if (before && this.random.chance(0.3)) {
      return this.run(`deletes _local/${id}`, {
        effects: new Map([[key, undefined]]),
        send: () => this.server.delete(`${target}?rev=0-${before.generation}`),
        accept(reply) {
          expected(reply, 200);
          return this.effects;
        },
      });
    }
    const body = this.body();
    const after = { generation: (before?.generation ?? 0) + 1, body };
    return this.run(`writes _local/${id}`, {
      effects: new Map([[key, after]]),
      send: () => this.server.put(target, { ...body, ...(before && { _rev: `0-${before.generation}` }) }),
      accept: (reply) => new Map([[key, { generation: Number(expected(reply, 201).rev.slice('0-'.length)), body }]]),
    });
  }
}

/// Creates and deletes databases, and furnishes them in between.
class DatabaseClient extends Client {
  constructor(world, number) {
    super(world, `creator ${number}`);
    this.names = [0, 1].map((n) => `passing-${number}-${n}`);
  }

  step() {
    const { random } = this;
    const database = random.pick(this.names);
    const facts = this.value(databaseKey(database));
    if (!facts) return this.createDatabase({ name: database, partitioned: random.chance(0.5), q: random.between(1, 3) });
    const id = (n) => (facts.partitioned ? `p${n % 3}:${n}` : `d${n}`);
    const ddoc = `index-${random.below(2)}`;
    switch (random.weighted({ put: 4, bulk: 3, index: 3, delete: 3 })) {
      case 'put':
        return this.writeOne(database, id(random.below(20)), false);
      case 'bulk':
        return this.writeMany(database, Array.from({ length: 12 }, (_, n) => id(n)));
      case 'index':
        if (this.value(indexKey(database, ddoc, ddoc))) return this.deleteIndex(database, ddoc, ddoc);
        return this.createIndex(
          { database, ddoc, name: ddoc, fields: random.pick([['a'], ['b', 'a']]), partitioned: random.chance(0.5) });
      case 'delete':
        return this.deleteDatabase(database);
    }
  }
}

/// Creates and deletes indexes of the lasting databases while others write there.
class IndexClient extends Client {
  constructor(world, number) {
    super(world, `indexer ${number}`);
    this.ddocs = [0, 1].map((n) => `passing-${number}-${n}`);
  }

  step() {
    const { random } = this;
    const database = random.pick(this.world.databases);
    const ddoc = random.pick(this.ddocs);
    if (random.chance(0.2)) return this.toggleFunctions(database);
    if (random.chance(0.15)) return this.move(random.chance(0.25) ? containerDatabase : database.name);
    if (random.chance(0.1)) return this.compact(database);
    if (this.value(indexKey(database.name, ddoc, ddoc))) return this.deleteIndex(database.name, ddoc, ddoc);
    const fields = random.pick([['b'], ['c'], ['c', 'a'], ['a', 'b', 'c']]);
    return this.createIndex({ database: database.name, ddoc, name: ddoc, fields, partitioned: random.chance(0.5) });
  }

  /// A split or a merge. The history checks the contents of partitions, not their number. Refused: the other client moves
  /// the range, 400, or has done so, 404.
  async move(database) {
    const ranges = Object.keys(expected(await this.server.get(`/${encodeURIComponent(database)}/_shards`), 200).shards);
    if (ranges.length > 1 && this.random.chance(ranges.length >= PARTITIONS_MAX ? 1 : 0.4)) {
      const first = this.random.below(ranges.length - 1);
      const body = { type: 'merge', db: database, ranges: [ranges[first + 1], ranges[first]] };
      return expected(await this.server.post('/_reshard/jobs', body), 201, 400);
    }
    if (ranges.length >= PARTITIONS_MAX) return undefined;
    const body = { type: 'split', db: database, range: this.random.pick(ranges) };
    return expected(await this.server.post('/_reshard/jobs', body), 201, 400, 404);
  }

  /// The documents, or the views of a design document.
  async compact(database) {
    const designs = Object.keys(designDocuments(database)).map((id) => id.replace('_design', ''));
    const target = this.random.pick(['', ...designs]);
    return expected(await this.server.post(`/${database.name}/_compact${target}`, {}), 202, ...(target ? [404] : []));
  }

  /// Views that are built and removed. Design documents are no registers: whether this one is there, only it asks.
  async toggleFunctions(database) {
    const target = `/${database.name}/_design/passing-${this.name.replace(' ', '-')}`;
    const there = expected(await this.server.get(target), 200, 404);
    if (there._rev) return expected(await this.server.delete(`${target}?rev=${there._rev}`), 200);
    const { options, language, views } = designDocuments(database)['_design/whole'];
    return expected(await this.server.put(target, { language, views, ...(options && { options }) }), 201);
  }
}

/// All clients of one folder. `server` may be killed and started again between two loads.
export class World {
  #nonce = 0;
  #running = false;

  constructor({ seed, history, documentClients = 24, databaseClients = 3, indexClients = 2, containerClients = 4, forgettingClients = 3 }) {
    this.seed = seed;
    this.history = history;
    this.databases = forgettingClients > 0 ? [...lasting, forgetting] : lasting;
    this.followers = Array.from({ length: Math.min(forgettingClients, 2) }, (_, n) => new Follower(this, n));
    this.clients = [
      ...Array.from({ length: documentClients }, (_, n) => new DocumentClient(this, n, lasting[n % lasting.length])),
      ...Array.from({ length: databaseClients }, (_, n) => new DatabaseClient(this, n)),
      ...Array.from({ length: indexClients }, (_, n) => new IndexClient(this, n)),
      ...Array.from({ length: containerClients }, (_, n) => new ContainerClient(this, n)),
      ...Array.from({ length: forgettingClients }, (_, n) => new ForgettingClient(this, n)),
      ...this.followers,
    ];
  }
  nextNonce = () => ++this.#nonce;

  /// The lasting databases and indexes, all acknowledged.
  async furnish(server) {
    this.server = server;
    const founder = new Client(this, 'founder');
    for (const database of this.databases) await founder.createDatabase(database);
    await createContainer(founder);
    if (this.databases.includes(forgetting)) await deleteEarly(founder);
    for (const [n, index] of lastingIndexes.entries()) {
      if (!this.databases.some(({ name }) => name === index.database)) continue;
      await founder.createIndex({ partitioned: false, ...index, ddoc: `lasting-${n}`, name: `lasting-${n}` });
    }
    for (const database of this.databases) {
      for (const [id, document] of Object.entries(designDocuments(database))) {
        expected(await server.put(`/${database.name}/${id}`, document), 201);
      }
    }
  }

  async compactAll() {
    for (const { name } of this.databases) expected(await this.server.post(`/${name}/_compact`, {}), 202);
  }

  /// What followers of the database that drops tombstones have missed. To be called while no client writes.
  async missedByFollowers(server) {
    this.server = server;
    return (await Promise.all(this.followers.map((follower) => follower.compare()))).flat();
  }

  /// How often followers began again since the last call.
  restartsOfFollowers() {
    return this.followers.reduce((count, follower) => count + follower.takeRestarts(), 0);
  }

  /// Lets all clients write until stop() or until the server is gone. Throws when it refuses something it must not.
  async load(server, isKilled = () => false) {
    this.server = server;
    this.#running = true;
    const work = async (client) => {
      while (this.#running) {
        try {
          await client.step();
        } catch (error) {
          if (!(error instanceof Refused) && isKilled()) return;
          this.#running = false;
          const last = this.history.requests.findLast((request) => request.client === client.name);
          error.message = `${client.name}: ${last?.name}: ${error.message}`;
          throw error;
        }
      }
    };
    const outcomes = await Promise.allSettled(this.clients.map(work));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }
  stop() {
    this.#running = false;
  }
}
