// What all clients of the crash test have in common: they ask, and put down in the History what they asked for.
import { databaseKey, documentKey, forgettingDatabase, generation, indexKey, winnerOf } from './history.mjs';
import { Random } from '../support/random.mjs';

/// Longer than any folder lives.
export const VERSIONS_KEPT_S = 24 * 3600;

export class Refused extends Error {}

/// The body of a reply with one of these statuses; another is an error.
export function expected(reply, ...statuses) {
  if (!statuses.includes(reply.status)) throw new Refused(`${reply.status} ${reply.text.slice(0, 300)}`);
  return reply.body;
}

/// One client: what it does, it does with documents, databases or indexes of its own.
export class Client {
  constructor(world, name) {
    this.world = world;
    this.name = name;
    this.random = new Random(world.seed, name);
  }
  get server() {
    return this.world.server;
  }
  value = (key) => this.world.history.state.get(key);
  run = (what, options) => this.world.history.run(this.name, `${this.name} ${what}`, options);

  createDatabase({ name, partitioned, q, versions = false, retention }) {
    // Nothing expires within the test, but the times of expiration are kept beside the documents, and must agree with them.
    const query = `q=${q}${partitioned ? '&partitioned=true&ttl=86400' : ''}${versions ? `&all_versions=${VERSIONS_KEPT_S}` : ''}` +
      `${retention ? `&tombstone_retention=${retention}` : ''}`;
    return this.run(`creates ${name}`, {
      effects: new Map([[databaseKey(name), { partitioned, versions }]]),
      send: () => this.server.put(`/${name}?${query}`),
      accept(reply) {
        expected(reply, 201);
        return this.effects;
      },
    });
  }

  deleteDatabase(name) {
    return this.run(`deletes ${name}`, {
      effects: new Map([[databaseKey(name), undefined]]),
      send: () => this.server.delete(`/${name}`),
      accept(reply) {
        expected(reply, 200);
        return this.effects;
      },
    });
  }

  createIndex({ database, ddoc, name, fields, partitioned }) {
    const body = { index: { fields }, ddoc, name };
    if (this.value(databaseKey(database)).partitioned) body.partitioned = partitioned;
    return this.run(`creates index ${ddoc} of ${database}`, {
      effects: new Map([[indexKey(database, ddoc, name), { fields, partitioned: body.partitioned ?? false }]]),
      send: () => this.server.post(`/${database}/_index`, body),
      accept(reply) {
        expected(reply, 200);
        return this.effects;
      },
    });
  }

  deleteIndex(database, ddoc, name) {
    return this.run(`deletes index ${ddoc} of ${database}`, {
      effects: new Map([[indexKey(database, ddoc, name), undefined]]),
      send: () => this.server.delete(`/${database}/_index/${ddoc}/json/${name}`),
      accept(reply) {
        expected(reply, 200);
        return this.effects;
      },
    });
  }

  body() {
    const { random } = this;
    const body = { nonce: `${this.name} ${this.world.nextNonce()}`, a: random.below(10) };
    if (random.chance(0.9)) body.b = `text ${random.below(20)}`;
    if (random.chance(0.8)) body.c = random.pick([null, true, 1.5, 'é', [1, 'two'], { deep: random.below(5) }]);
    if (random.chance(0.15)) body.filling = 'x'.repeat(random.between(500, 3000));
    if (random.chance(0.02)) body.filling = 'y'.repeat(random.between(20_000, 80_000));
    return body;
  }

  /// A write on top of the winner of what is there: what to send, and what the document is then.
  edit(database, id, deleted = false) {
    const key = documentKey(database, id);
    const leaves = this.value(key)?.leaves ?? [];
    const parent = leaves.length > 0 ? winnerOf(leaves) : undefined;
    const body = deleted ? {} : this.body();
    const isUnsure = database === forgettingDatabase && parent?.deleted;
    const leaf = { rev: undefined, generation: isUnsure ? undefined : (parent?.generation ?? 0) + 1, deleted, body };
    const sent = { _id: id, ...body };
    if (parent && !parent.deleted) sent._rev = parent.rev;
    if (deleted) sent._deleted = true;
    const others = leaves.filter((other) => other !== parent);
    return { key, sent, with: (rev) => ({ leaves: [...others, rev ? { ...leaf, rev, generation: generation(rev) } : leaf] }) };
  }
  isLive(database, id) {
    const leaves = this.value(documentKey(database, id))?.leaves;
    return leaves !== undefined && !winnerOf(leaves).deleted;
  }

  writeOne(database, id, deleted) {
    const edit = this.edit(database, id, deleted);
    const target = `/${database}/${encodeURIComponent(id)}`;
    return this.run(`${deleted ? 'deletes' : 'writes'} ${id}`, {
      effects: new Map([[edit.key, edit.with(undefined)]]),
      send: () => deleted ? this.server.delete(`${target}?rev=${edit.sent._rev}`) : this.server.put(target, edit.sent),
      accept: (reply) => new Map([[edit.key, edit.with(expected(reply, 200, 201).rev)]]),
    });
  }

  /// Several documents, some of them to be deleted, by _bulk_docs or, whole or not at all, by _batch.
  writeMany(database, ids, partition) {
    const edits = ids.map((id) => this.edit(database, id, this.isLive(database, id) && this.random.chance(0.2)));
    const atomic = partition !== undefined;
    const target = atomic ? `/${database}/_partition/${partition}/_batch` : `/${database}/_bulk_docs`;
    return this.run(`${atomic ? 'batch' : 'bulk'} of ${ids.join(', ')}`, {
      atomic,
      effects: new Map(edits.map((edit) => [edit.key, edit.with(undefined)])),
      send: () => this.server.post(target, { docs: edits.map((edit) => edit.sent) }),
      accept(reply) {
        const rows = expected(reply, 201);
        return new Map(edits.map((edit, i) => {
          if (!rows[i].ok) throw new Refused(JSON.stringify(rows[i]));
          return [edit.key, edit.with(rows[i].rev)];
        }));
      },
    });
  }
}
