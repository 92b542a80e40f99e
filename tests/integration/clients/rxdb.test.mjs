// RxDB keeps collections in a program, and replicates them with a CouchDB database of the same documents.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createRxDatabase } from 'rxdb';
import { replicateCouchDB } from 'rxdb/plugins/replication-couchdb';
import { getRxStorageMemory } from 'rxdb/plugins/storage-memory';
import { credentials, eventually, Server } from '../harness.mjs';

const schema = {
  version: 0,
  primaryKey: 'id',
  type: 'object',
  properties: { id: { type: 'string', maxLength: 100 }, name: { type: 'string' }, age: { type: 'integer' } },
  required: ['id'],
};

describe('RxDB', () => {
  let server;
  const databases = [];
  before(async () => {
    server = await Server.start({ admin: true });
  });
  after(async () => {
    for (const database of databases) await database.close();
    await server?.stop();
  });

  const authorization = `Basic ${Buffer.from(`${credentials.name}:${credentials.password}`).toString('base64')}`;
  const authorizedFetch = (url, options = {}) =>
    fetch(url, { ...options, headers: { ...options.headers, authorization } });

  /// A collection of a new program, which replicates with the server's database `name` in both directions.
  async function replicated(name) {
    const database = await createRxDatabase({
      name: `rx-${Math.random().toString(36).slice(2)}`, storage: getRxStorageMemory(), multiInstance: false,
    });
    databases.push(database);
    const { people } = await database.addCollections({ people: { schema } });
    const replication = replicateCouchDB({
      replicationIdentifier: `people-${database.name}`,
      collection: people,
      url: `${server.url}/${name}/`,
      fetch: authorizedFetch,
      live: true,
      pull: { batchSize: 60, heartbeat: 1000 },
      push: { batchSize: 60 },
    });
    replication.error$.subscribe((error) => { replication.lastError = error; });
    await replication.awaitInitialReplication();
    return { people, replication };
  }

  async function newDatabase(name) {
    const reply = await authorizedFetch(`${server.url}/${name}`, { method: 'PUT' });
    assert.equal(reply.status, 201);
  }

  test('pushes and pulls several batches of documents', async () => {
    await newDatabase('batches');
    const there = Array.from({ length: 250 }, (_, i) => ({ _id: `server-${i}`, name: 'there', age: i }));
    await authorizedFetch(`${server.url}/batches/_bulk_docs`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ docs: there }),
    });
    const { people, replication } = await replicated('batches');
    assert.equal((await people.find().exec()).length, 250);
    await people.bulkInsert(Array.from({ length: 250 }, (_, i) => ({ id: `client-${i}`, name: 'here', age: i })));
    await replication.awaitInSync();
    const info = await (await authorizedFetch(`${server.url}/batches`)).json();
    assert.equal(info.doc_count, 500);
    assert.equal(replication.lastError, undefined);
  });

  test('changes and deletions reach another program without polling', async () => {
    await newDatabase('live');
    const one = await replicated('live');
    const two = await replicated('live');
    const inserted = await one.people.insert({ id: 'ann', name: 'Ann', age: 30 });
    await eventually(async () => (await two.people.findOne('ann').exec())?.name === 'Ann');
    const seen = await two.people.findOne('ann').exec();
    await seen.patch({ age: 31 });
    await eventually(async () => (await one.people.findOne('ann').exec())?.age === 31);
    await inserted.getLatest().remove();
    await eventually(async () => await two.people.findOne('ann').exec() === null);
    assert.equal(one.replication.lastError, undefined);
    assert.equal(two.replication.lastError, undefined);
  });

  test('two programs that change one document at once agree in the end', async () => {
    await newDatabase('conflict');
    const one = await replicated('conflict');
    await one.people.insert({ id: 'bob', name: 'Bob', age: 1 });
    await one.replication.awaitInSync();
    const two = await replicated('conflict');
    await Promise.all([
      one.people.findOne('bob').exec().then((document) => document.patch({ age: 10 })),
      two.people.findOne('bob').exec().then((document) => document.patch({ age: 20 })),
    ]);
    await eventually(async () => {
      const stored = await (await authorizedFetch(`${server.url}/conflict/bob`)).json();
      const ages = [stored.age, (await one.people.findOne('bob').exec()).age, (await two.people.findOne('bob').exec()).age];
      return ages.every((age) => age === ages[0] && age !== 1);
    });
  });
});
