// A client of the Azure Cosmos DB API: it writes items of its own, one at a time or in transactional batches.
import { cosmosRequest } from '../integration/cosmos_request.mjs';
import { Client, expected, VERSIONS_KEPT_S } from './client.mjs';
import { databaseKey, documentKey } from './history.mjs';
import { askInOrder } from './orders.mjs';

const container = { database: 'cosmos', id: 'items', partitions: 2 };
/// As a database of the CouchDB API.
export const databaseName = `${container.database}/${container.id}`;
const containerPath = `/dbs/${container.database}/colls/${container.id}`;
const ITEMS_PER_CLIENT = 16;

/// The container that all of these clients write to.
export async function createContainer(founder) {
  expected(await cosmosRequest(founder.server, 'POST', '/dbs', { body: { id: container.database } }), 201);
  await founder.run(`creates ${databaseName}`, {
    effects: new Map([[databaseKey(databaseName), { partitioned: true, versions: true }]]),
    send: () => cosmosRequest(founder.server, 'POST', `/dbs/${container.database}/colls`, {
      body: { id: container.id, partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
        changeFeedPolicy: { retentionDuration: VERSIONS_KEPT_S / 60 } },
      headers: { 'x-ms-offer-throughput': String(10_000 * container.partitions) },
    }),
    accept(reply) {
      expected(reply, 201);
      return this.effects;
    },
  });
}

export class ContainerClient extends Client {
  constructor(world, number) {
    super(world, `container client ${number}`);
    this.keys = [`k${number}`, `k${number}-other`];
  }

  ask = (method, path, options) => cosmosRequest(this.server, method, path, options);

  step() {
    const { random } = this;
    const pk = random.pick(this.keys);
    const id = random.pick(this.ids());
    switch (random.weighted({ upsert: 8, remove: 2, patch: 3, move: 3, batch: 5, taken: 1, order: 1 })) {
      case 'upsert':
        return this.upsert(pk, id);
      case 'remove':
        return this.isThere(pk, id) ? this.remove(pk, id) : this.upsert(pk, id);
      case 'patch':
        return this.isThere(pk, id) ? this.patch(pk, id) : this.upsert(pk, id);
      case 'move': {
        const other = random.pick(this.ids().filter((one) => !this.isThere(pk, one)));
        return other !== undefined && this.isThere(pk, id) ? this.move(pk, id, other) : this.upsert(pk, id);
      }
      case 'batch':
        return this.batch(pk);
      case 'taken':
        return this.isThere(pk, id) ? this.createAgain(pk, id) : this.upsert(pk, id);
      case 'order':
        return this.order();
    }
  }

  ids = () => Array.from({ length: ITEMS_PER_CLIENT / this.keys.length }, (_, n) => String(n));
  key = (pk, id) => documentKey(databaseName, `${pk}:${id}`);
  leaf = (pk, id) => this.value(this.key(pk, id))?.leaves[0];
  isThere = (pk, id) => this.leaf(pk, id)?.deleted === false;
  item = (pk, id) => ({ id, pk, count: 0, ...this.body() });

  /// What there is after one more write. `rev`: not known before the reply, and not told by all.
  next(pk, id, body, rev) {
    const generation = (this.leaf(pk, id)?.generation ?? 0) + 1;
    return [this.key(pk, id), { leaves: [{ rev, generation, deleted: body === undefined, body: body ?? {} }] }];
  }

  async upsert(pk, id) {
    const body = this.item(pk, id);
    const statuses = this.isThere(pk, id) ? [200] : [201];
    await this.run(`upserts ${pk}:${id}`, {
      effects: new Map([this.next(pk, id, body)]),
      send: () => this.ask('POST', `${containerPath}/docs`, { body, partition: [pk], headers: { 'x-ms-documentdb-is-upsert': 'true' } }),
      accept: (reply) => new Map([this.next(pk, id, body, JSON.parse(expected(reply, ...statuses)._etag))]),
    });
  }

  async patch(pk, id) {
    const { body } = this.leaf(pk, id);
    const patched = { ...body, count: body.count + 1 };
    await this.run(`patches ${pk}:${id}`, {
      effects: new Map([this.next(pk, id, patched)]),
      send: () => this.ask('PATCH', `${containerPath}/docs/${id}`, { partition: [pk], body: { operations: [{ op: 'incr', path: '/count', value: 1 }] } }),
      accept: (reply) => new Map([this.next(pk, id, patched, JSON.parse(expected(reply, 200)._etag))]),
    });
  }

  /// The item gets another id: it is under one of the two, never under both or none.
  async move(pk, id, other) {
    const body = this.item(pk, other);
    await this.run(`gives ${pk}:${id} the id ${other}`, {
      atomic: true,
      effects: new Map([this.next(pk, id, undefined), this.next(pk, other, body)]),
      send: () => this.ask('PUT', `${containerPath}/docs/${id}`, { body, partition: [pk] }),
      accept: (reply) => new Map([this.next(pk, id, undefined), this.next(pk, other, body, JSON.parse(expected(reply, 200)._etag))]),
    });
  }

  async remove(pk, id) {
    await this.run(`deletes ${pk}:${id}`, {
      effects: new Map([this.next(pk, id, undefined)]),
      send: () => this.ask('DELETE', `${containerPath}/docs/${id}`, { partition: [pk] }),
      accept(reply) {
        expected(reply, 204);
        return this.effects;
      },
    });
  }

  /// An item with the id of another changes nothing.
  async createAgain(pk, id) {
    expected(await this.ask('POST', `${containerPath}/docs`, { body: this.item(pk, id), partition: [pk] }), 409);
  }

  /// The first query of an order has an index made, beside the writes.
  async order() {
    expected((await askInOrder(this.server, databaseName, this.random)).reply, 200);
  }

  /// Several upserts and deletions of one partition key: all of them, or none.
  async batch(pk) {
    const ids = this.random.sample(this.ids(), this.random.between(2, 6));
    const wanted = ids.map((id) => (this.isThere(pk, id) && this.random.chance(0.3) ? { id } : { id, body: this.item(pk, id) }));
    const operations = wanted.map(({ id, body }) => (body ? { operationType: 'Upsert', resourceBody: body } : { operationType: 'Delete', id }));
    await this.run(`batch of ${ids.map((id) => `${pk}:${id}`).join(', ')}`, {
      atomic: true,
      effects: new Map(wanted.map(({ id, body }) => this.next(pk, id, body))),
      send: () => this.ask('POST', `${containerPath}/docs`, {
        body: operations, partition: [pk],
        headers: { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'true' },
      }),
      accept: (reply) => {
        const results = expected(reply, 200);
        return new Map(wanted.map(({ id, body }, n) => this.next(pk, id, body, body && results[n].eTag ? JSON.parse(results[n].eTag) : undefined)));
      },
    });
  }
}
