// The change feed processor of the .NET client: its lease documents and the requests that it makes with them
// (ChangeFeedProcessor/LeaseManagement: DocumentServiceLeaseManagerCosmos, DocumentServiceLeaseStoreCosmos,
// DocumentServiceLeaseContainerCosmos, DocumentServiceLeaseUpdaterCosmos).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('the change feed processor of the .NET client', () => {
  let server, client, monitored, leases, prefix;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    monitored = await newContainer(client, { throughput: 20_000 });
    leases = await newContainer(client, { partitionKey: { paths: ['/id'] } });
    const { resource } = await monitored.read();
    // ChangeFeedProcessorCore: host name of the account, resource ids of database and container.
    prefix = `localhost_${resource._self.split('/')[1]}_${resource._rid}`;
    for (let i = 0; i < 20; ++i) await monitored.items.create({ id: `${i}`, pk: `p${i}` });
  });
  after(() => server?.stop());

  const docs = (id) => `/${leases.url}/docs${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;
  const lease = (method, id, options = {}) => cosmosRequest(server, method, docs(method === 'POST' ? undefined : id), { partition: [id], ...options });
  const newLease = (range, owner) => ({ id: `${prefix}..${range.id}`, version: 1, _etag: '', LeaseToken: `${range.minInclusive}-${range.maxExclusive}`,
    FeedRange: { Range: { min: range.minInclusive, max: range.maxExclusive } }, Owner: owner ?? null, ContinuationToken: null, Mode: 'Incremental Feed',
    properties: {}, timestamp: new Date().toISOString() });

  test('the store of leases is initialized once, under a lock that expires', async () => {
    const marker = `${prefix}.info`;
    const lock = `${prefix}.lock`;
    assert.equal((await lease('GET', marker)).status, 404);
    const locked = await lease('POST', lock, { body: { id: lock, ttl: 30 } });
    assert.equal(locked.status, 201);
    assert.equal((await lease('POST', lock, { body: { id: lock, ttl: 30 } })).status, 409);
    assert.equal((await lease('POST', marker, { body: { id: marker } })).status, 201);
    assert.equal((await lease('DELETE', lock, { headers: { 'If-Match': locked.headers.etag } })).status, 204);
    assert.equal((await lease('GET', marker)).status, 200);
  });

  test('leases of all ranges are created, listed by their prefix, acquired, and lost to another host', async () => {
    const { body } = await cosmosRequest(server, 'GET', `/${monitored.url}/pkranges`);
    for (const range of body.PartitionKeyRanges) assert.equal((await lease('POST', `${prefix}..${range.id}`, { body: newLease(range) })).status, 201);
    const listed = await cosmosRequest(server, 'POST', docs(), {
      body: { query: `SELECT * FROM c WHERE STARTSWITH(c.id, '${prefix}..')` }, headers: { 'content-type': 'application/query+json',
        'x-ms-documentdb-isquery': 'True', 'x-ms-documentdb-query-enablecrosspartition': 'True', 'x-ms-documentdb-partitionkeyrangeid': '0',
        'x-ms-cosmos-supported-serialization-formats': 'JsonText,CosmosBinary' } });
    assert.equal(listed.status, 200);
    assert.deepEqual(listed.body.Documents.map((one) => one.Owner), body.PartitionKeyRanges.map(() => null));
    const [first] = listed.body.Documents;
    const taken = await lease('PUT', first.id, { body: { ...first, Owner: 'one' }, headers: { 'If-Match': first._etag } });
    assert.equal(taken.status, 200);
    assert.equal(taken.body.Owner, 'one');
    const late = await lease('PUT', first.id, { body: { ...first, Owner: 'two' }, headers: { 'If-Match': first._etag } });
    assert.equal(late.status, 412);
    assert.equal((await lease('GET', first.id)).body.Owner, 'one');
  });

  test('a processor reads the changes of its leases, keeps the continuation and continues after it', async () => {
    const { body } = await cosmosRequest(server, 'GET', `/${monitored.url}/pkranges`);
    const seen = [];
    const read = async (range, continuation) => {
      const reply = await cosmosRequest(server, 'GET', `/${monitored.url}/docs`, { headers: { 'A-IM': 'Incremental Feed', 'x-ms-max-item-count': '7',
        'x-ms-documentdb-partitionkeyrangeid': range.id, ...(continuation ? { 'If-None-Match': continuation } : {}) } });
      if (reply.status === 200) seen.push(...reply.body.Documents.map((one) => one.id));
      return reply;
    };
    const process = async (range) => {
      const id = `${prefix}..${range.id}`;
      for (;;) {
        const { body: mine } = await lease('GET', id);
        const page = await read(range, mine.ContinuationToken);
        const saved = await lease('PUT', id, { body: { ...mine, Owner: 'host', ContinuationToken: page.headers.etag }, headers: { 'If-Match': mine._etag } });
        assert.equal(saved.status, 200);
        if (page.status === 304) return;
      }
    };
    for (const range of body.PartitionKeyRanges) await process(range);
    assert.deepEqual(seen.sort(), Array.from({ length: 20 }, (_, i) => `${i}`).sort());
    await monitored.items.create({ id: 'later', pk: 'later' });
    seen.length = 0;
    for (const range of body.PartitionKeyRanges) await process(range);
    assert.deepEqual(seen, ['later']);
  });
});
