// The requests of the .NET client in gateway mode (Azure/azure-cosmos-dotnet-v3), as its source builds them: methods, paths
// and headers are those of the named classes, and the checks are what the client reads from the replies.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

// CosmosHttpClientCore, RequestInvokerHandler, GatewayStoreModel: headers that each request has. The capabilities are
// PartitionMerge and IgnoreUnknownRntbdTokens.
const common = {
  accept: 'application/json', 'cache-control': 'no-cache', 'x-ms-version': '2020-07-15',
  'user-agent': 'cosmos-netstandard-sdk/3.62.1|1|X64|Debian GNU/Linux 12|.NET 8.0.11|N|',
  'x-ms-cosmos-sdk-supportedcapabilities': '9', 'x-ms-noretry-449': 'True',
  'x-ms-activity-id': '2f9c2a41-0e1d-4a8e-9c3c-3f6c3d1f4b52',
};
const queryJson = 'application/query+json';
// QueryPlanRetriever.SupportedQueryFeatures, as an enumeration of flags is written.
const features = 'Aggregate, Distinct, GroupBy, MultipleOrderBy, MultipleAggregates, OffsetAndLimit, OrderBy, Top, ' +
  'NonValueAggregate, DCount, NonStreamingOrderBy, CountIf, HybridSearch, WeightedRankFusion, HybridSearchSkipOrderByRewrite';

describe('requests of the .NET client', () => {
  let server, client, container, rid, databaseRid, path;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client, { throughput: 20_000 });
    path = `/${container.url}/docs`;
    const { body } = await send('GET', `/${container.url}`);
    rid = body._rid;
    databaseRid = body._self.split('/')[1];
    for (let i = 0; i < 12; ++i) await container.items.create({ id: `i${i}`, pk: `p${i % 3}`, n: i });
  });
  after(() => server?.stop());

  const send = (method, target, { headers, ...rest } = {}) => cosmosRequest(server, method, target, { ...rest, headers: { ...common, ...headers } });

  /// CosmosQueryClientCore.ExecuteItemQueryAsync with the options of QueryRequestOptions.PopulateRequestOptions.
  const query = (text, headers = {}, options = {}) => send('POST', options.path ?? path, {
    body: { query: text, ...(options.parameters ? { parameters: options.parameters } : {}) }, ...options,
    headers: {
      'content-type': queryJson, 'x-ms-documentdb-isquery': 'True', 'x-ms-documentdb-query-iscontinuationexpected': 'False',
      'x-ms-cosmos-supported-serialization-formats': 'JsonText,CosmosBinary', 'x-ms-max-item-count': '2147483647',
      'x-ms-documentdb-populatequerymetrics': 'True', 'x-ms-cosmos-correlated-activityid': common['x-ms-activity-id'],
      'x-ms-cosmos-query-optimisticdirectexecute': 'False', ...headers,
    } });

  /// CosmosQueryClientCore.ExecuteQueryPlanRequestAsync.
  const plan = (text, headers = {}) => send('POST', path, { body: { query: text }, headers: {
    'content-type': queryJson, 'x-ms-cosmos-is-query-plan-request': 'True', 'x-ms-cosmos-supported-query-features': features,
    'x-ms-cosmos-query-version': '1.0', 'x-ms-cosmos-correlated-activityid': common['x-ms-activity-id'], ...headers } });

  /// PartitionKeyRangeCache.GetRoutingMapForCollectionAsync: reads until 304.
  async function ranges(container = rid, database = databaseRid) {
    const found = [];
    let etag;
    for (let pages = 0; pages < 10; ++pages) {
      const reply = await send('GET', `/dbs/${database}/colls/${container}/pkranges`, { headers: {
        'a-im': 'Incremental Feed', 'x-ms-max-item-count': '-1', ...(etag ? { 'if-none-match': etag } : {}) } });
      etag = reply.headers.etag;
      assert.ok(etag);
      if (reply.status === 304) return found;
      assert.equal(reply.status, 200);
      found.push(...reply.body.PartitionKeyRanges);
    }
    throw new Error('the feed of ranges has no end');
  }

  test('the account has what AccountProperties parses', async () => {
    const { status, headers, body } = await send('GET', '/');
    assert.equal(status, 200);
    assert.match(headers['content-type'], /^application\/json/);
    for (const locations of [body.writableLocations, body.readableLocations]) {
      assert.equal(locations.length, 1);
      assert.ok(new URL(locations[0].databaseAccountEndpoint));
      assert.equal(typeof locations[0].name, 'string');
    }
    assert.equal(body.userConsistencyPolicy.defaultConsistencyLevel, 'Session');
    assert.equal(body.enableMultipleWriteLocations, false);
    for (const policy of [body.userReplicationPolicy, body.systemReplicationPolicy]) {
      assert.ok(Number.isInteger(policy.minReplicaSetSize) && Number.isInteger(policy.maxReplicasetSize));
    }
    assert.ok(Number.isInteger(body.readPolicy.primaryReadCoefficient) && Number.isInteger(body.readPolicy.secondaryReadCoefficient));
    // A text that is a dictionary; the client passes it to its parser of queries.
    assert.ok(JSON.parse(body.queryEngineConfiguration).maxSqlQueryInputLength > 0);
    assert.equal(typeof body.id, 'string');
  });

  test('the configuration of clients says that no telemetry is wanted', async () => {
    // TelemetryToServiceHelper.GetDatabaseAccountClientConfigAsync, AccountClientConfiguration.
    const reply = await send('GET', '/clientconfigs');
    assert.equal(reply.status, 200);
    assert.equal(reply.body.clientTelemetryConfiguration.isEnabled, false);
    assert.equal((await send('POST', '/clientconfigs', { body: {} })).status, 405);
  });

  test('the ranges of a container are read by resource ids until nothing is new', async () => {
    const found = await ranges();
    assert.equal(found.length, 2);
    assert.equal(found[0].minInclusive, '');
    assert.equal(found[0].maxExclusive, found[1].minInclusive);
    assert.equal(found[1].maxExclusive, 'FF');
  });

  test('a container has what ContainerProperties parses', async () => {
    const { status, body, headers } = await send('GET', `/${container.url}`);
    assert.equal(status, 200);
    assert.ok(headers.etag);
    assert.deepEqual(body.partitionKey.paths, ['/pk']);
    assert.equal(body.partitionKey.kind, 'Hash');
    assert.ok(['Geography', 'Geometry'].includes(body.geospatialConfig?.type ?? 'Geography'));
    assert.equal(typeof body.indexingPolicy.automatic, 'boolean');
    assert.match(body.indexingPolicy.indexingMode.toLowerCase(), /^(consistent|none)$/);
    assert.equal(body._self, `dbs/${databaseRid}/colls/${rid}/`);
  });

  test('an item can be created, upserted, read, replaced and deleted, and each reply has what the session needs', async () => {
    const partition = ['crud'];
    const check = (reply, status) => {
      assert.equal(reply.status, status);
      // SessionContainer.SetSessionToken takes the owner's id and name from the reply, and a token if there is one.
      if (status < 300) assert.match(reply.headers['x-ms-session-token'], /^\d+:-1#\d+$/);
      assert.equal(reply.headers['x-ms-content-path'], rid);
      assert.equal(reply.headers['x-ms-alt-content-path'], container.url);
      assert.match(reply.headers['x-ms-documentdb-partitionkeyrangeid'], /^\d+$/);
      assert.ok(Number(reply.headers['x-ms-request-charge']) > 0);
      return reply;
    };
    const body = { id: 'an id, with: signs=', pk: 'crud', n: 1 };
    const item = `${path}/${encodeURIComponent(body.id)}`;
    const created = check(await send('POST', path, { partition, body }), 201);
    assert.equal(created.headers.etag, created.body._etag);
    check(await send('POST', path, { partition, body: { ...body, n: 2 }, headers: { 'x-ms-documentdb-is-upsert': 'True' } }), 200);
    check(await send('GET', item, { partition, headers: { 'x-ms-session-token': created.headers['x-ms-session-token'] } }), 200);
    check(await send('PUT', item, { partition, body, headers: { 'if-match': created.headers.etag } }), 412);
    check(await send('PUT', item, { partition, body }), 200);
    check(await send('DELETE', item, { partition }), 204);
    check(await send('GET', item, { partition }), 404);
  });

  test('a write without content is answered without one, but with its ETag', async () => {
    const reply = await send('POST', path, { partition: ['m'], body: { id: 'm', pk: 'm' }, headers: {
      prefer: 'return=minimal', 'x-ms-documentdb-is-upsert': 'True' } });
    assert.equal(reply.status, 201);
    assert.equal(reply.text, '');
    assert.ok(reply.headers.etag);
  });

  test('binary JSON is offered for points and queries, and text is what comes', async () => {
    const read = await send('GET', `${path}/i0`, { partition: ['p0'], headers: { 'x-ms-cosmos-supported-serialization-formats': 'CosmosBinary' } });
    assert.equal(read.status, 200);
    assert.equal(read.body.n, 0);
    const found = await query('SELECT VALUE c.n FROM c WHERE c.pk = "p0" ORDER BY c.n', { 'x-ms-documentdb-partitionkey': '["p0"]' });
    assert.deepEqual(found.body.Documents, [0, 3, 6, 9]);
    assert.equal(found.headers['x-ms-item-count'], '4');
    assert.equal(found.body._rid, rid);
  });

  test('a query of one partition is executed at once, page by page', async () => {
    const rows = [];
    let continuation;
    do {
      const page = await query('SELECT VALUE c.n FROM c ORDER BY c.n DESC', {
        'x-ms-documentdb-partitionkey': '["p1"]', 'x-ms-cosmos-query-optimisticdirectexecute': 'True', 'x-ms-max-item-count': '3',
        'x-ms-documentdb-query-iscontinuationexpected': 'True', ...(continuation ? { 'x-ms-continuation': continuation } : {}) });
      assert.equal(page.status, 200);
      rows.push(...page.body.Documents);
      continuation = page.headers['x-ms-continuation'];
    } while (continuation);
    assert.deepEqual(rows, [10, 7, 4, 1]);
  });

  test('a query plan is one that the client executes on each range', async () => {
    const { status, body } = await plan('SELECT c.n FROM c WHERE STARTSWITH(c.id, "i") ORDER BY c.n');
    assert.equal(status, 200);
    assert.equal(body.partitionedQueryExecutionInfoVersion, 2);
    assert.deepEqual(body.queryInfo.orderBy, ['Ascending']);
    assert.deepEqual(body.queryInfo.orderByExpressions, ['c.n']);
    assert.equal(body.queryInfo.distinctType, 'None');
    assert.deepEqual(body.queryRanges, [{ min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false }]);
    const rows = [];
    for (const range of await ranges()) {
      const page = await query(body.queryInfo.rewrittenQuery.replace('{documentdb-formattableorderbyquery-filter}', 'true'), {
        'x-ms-documentdb-partitionkeyrangeid': range.id, 'x-ms-documentdb-query-enablecrosspartition': 'True' });
      assert.equal(page.status, 200, page.text);
      rows.push(...page.body.Documents.map((one) => one.payload.n));
    }
    assert.deepEqual(rows.sort((a, b) => a - b), Array.from({ length: 12 }, (_, i) => i));
  });

  test('a query that is wrong is 400 with the message in JSON', async () => {
    for (const reply of [await plan('SELECT * FRM c'), await query('SELECT * FRM c', { 'x-ms-documentdb-partitionkey': '["p1"]' })]) {
      assert.equal(reply.status, 400);
      assert.equal(reply.body.code, 'BadRequest');
      assert.equal(typeof reply.body.message, 'string');
      assert.match(reply.headers['content-type'], /^application\/json/);
    }
  });

  test('ReadMany asks each range for its items by id and key', async () => {
    // ReadManyQueryHelper.CreateReadManyQueryDefinitionForOther.
    const text = 'SELECT * FROM c WHERE ( ( c.id = @param_id0 AND c["pk"] = @param_pk00 ) OR ' +
      '( c.id = @param_id1 AND IS_DEFINED(c["pk"]) = false ) OR ( c.id = @param_id2 AND c["pk"] = @param_pk20 ) )';
    const parameters = [['@param_id0', 'i4'], ['@param_pk00', 'p1'], ['@param_id1', 'i5'], ['@param_id2', 'i5'], ['@param_pk20', 'p2']]
      .map(([name, value]) => ({ name, value }));
    const ids = [];
    for (const range of await ranges()) {
      const page = await query(text, { 'x-ms-documentdb-partitionkeyrangeid': range.id, 'x-ms-documentdb-query-enablecrosspartition': 'True' }, { parameters });
      assert.equal(page.status, 200);
      ids.push(...page.body.Documents.map((one) => one.id));
    }
    assert.deepEqual(ids.sort(), ['i4', 'i5']);
  });

  /// NetworkAttachedDocumentContainer.MonadicChangeFeedAsync.
  const changes = (range, headers = {}) => send('GET', path, { headers: { 'a-im': 'Incremental Feed', 'x-ms-max-item-count': '5',
    'x-ms-documentdb-partitionkeyrangeid': range, ...headers } });

  test('a change feed has a count and an ETag on every page, also on one without changes', async () => {
    let seen = 0;
    for (const { id } of await ranges()) {
      let etag;
      for (;;) {
        const page = await changes(id, etag ? { 'if-none-match': etag } : {});
        assert.match(page.headers['x-ms-item-count'], /^\d+$/, `${page.status}`);
        assert.ok(page.headers.etag);
        etag = page.headers.etag;
        if (page.status === 304) break;
        assert.equal(page.status, 200);
        assert.equal(Number(page.headers['x-ms-item-count']), page.body.Documents.length);
        seen += page.body.Documents.filter((one) => /^i\d/.test(one.id)).length;
      }
    }
    assert.equal(seen, 12);
  });

  test('a change feed begins now, at a time, and in a part of a range', async () => {
    const [{ id, maxExclusive }] = await ranges();
    const now = await changes(id, { 'if-none-match': '*' });
    assert.equal(now.status, 304);
    assert.ok(now.headers.etag);
    assert.match(now.headers['x-ms-item-count'], /^\d+$/);
    const past = await changes(id, { 'if-modified-since': new Date(Date.now() - 3_600_000).toUTCString() });
    assert.equal(past.status, 200);
    const half = await changes(id, { 'x-ms-read-key-type': 'EffectivePartitionKeyRange', 'x-ms-start-epk': '', 'x-ms-end-epk': maxExclusive });
    assert.equal(half.status, 200);
    // RntbdConstants.RntdbReadFeedKeyType: the client writes the name of the enumeration.
    const none = await changes(id, { 'x-ms-read-key-type': 'EffectivePartitionKeyRange', 'x-ms-start-epk': '00', 'x-ms-end-epk': '0000000000000001' });
    assert.equal(none.status, 304);
  });

  test('lists of databases, containers and items have a count', async () => {
    for (const target of ['/dbs', `/${container.url.split('/colls')[0]}/colls`, path]) {
      const reply = await send('GET', target);
      assert.equal(reply.status, 200);
      assert.match(reply.headers['x-ms-item-count'], /^\d+$/, target);
    }
  });

  test('the throughput is read and replaced by a query of the offers', async () => {
    // CosmosOffers.GetOfferV2Async; the offer is then read and written by its _self.
    const found = await query('select * from root r where r.offerResourceId= @targetRID', {}, {
      path: '/offers', parameters: [{ name: '@targetRID', value: rid }] });
    assert.equal(found.status, 200);
    const [offer] = found.body.Offers;
    assert.equal(offer.content.offerThroughput, 20_000);
    assert.equal(offer.offerVersion, 'V2');
    const read = await send('GET', `/${offer._self}`);
    assert.equal(read.status, 200);
    const replaced = await send('PUT', `/${offer._self}`, { body: { ...read.body, content: { offerThroughput: 20_100 } } });
    assert.equal(replaced.status, 200);
    assert.equal(replaced.body.content.offerThroughput, 20_100);
    assert.ok(Number(replaced.headers['x-ms-cosmos-min-throughput']) > 0);
  });

  test('a patch is applied if its condition holds', async () => {
    // ContainerCore.PatchItemStreamAsync, PatchOperationsJsonConverter.
    const patch = (body) => send('PATCH', `${path}/i1`, { partition: ['p1'], headers: { 'content-type': 'application/json-patch+json' }, body });
    const done = await patch({ condition: 'from c where c.n = 1', operations: [
      { op: 'add', path: '/tags', value: ['a'] }, { op: 'set', path: '/tags/-', value: 'b' }, { op: 'incr', path: '/hits', value: 2 },
      { op: 'move', from: '/hits', path: '/count' }] });
    assert.equal(done.status, 200, done.text);
    assert.deepEqual([done.body.tags, done.body.count], [['a', 'b'], 2]);
    assert.equal((await patch({ condition: 'from c where c.n = 7', operations: [{ op: 'remove', path: '/tags' }] })).status, 412);
  });

  test('a prefix of a hierarchical key is a part of a range', async () => {
    // RequestInvokerHandler.ResolveFeedRangeBasedOnPrefixContainerAsync: from the hash of the prefix to the same with FF.
    const require = createRequire(import.meta.url);
    const { hashPartitionKey } = require(require.resolve('@azure/cosmos').replace('index.js', 'utils/hashing/hash.js'));
    const partitionKey = { paths: ['/tenant', '/user'], kind: 'MultiHash', version: 2 };
    const deep = await newContainer(client, { partitionKey });
    for (const [tenant, user] of [['a', '1'], ['a', '2'], ['b', '1'], ['c', '1']]) await deep.items.create({ id: tenant + user, tenant, user });
    const start = hashPartitionKey(['a'], partitionKey);
    const headers = { 'x-ms-documentdb-partitionkeyrangeid': '0', 'x-ms-read-key-type': 'EffectivePartitionKeyRange',
      'x-ms-start-epk': start, 'x-ms-end-epk': `${start}FF`, 'x-ms-documentdb-query-enablecrosspartition': 'True' };
    const found = await query('SELECT VALUE c.id FROM c', headers, { path: `/${deep.url}/docs` });
    assert.deepEqual(found.body.Documents.sort(), ['a1', 'a2']);
    const changed = await send('GET', `/${deep.url}/docs`, { headers: { ...headers, 'a-im': 'Incremental Feed' } });
    assert.deepEqual(changed.body.Documents.map((one) => one.id).sort(), ['a1', 'a2']);
  });

  test('all items of a key are deleted', async () => {
    // ContainerCore.DeleteAllItemsByPartitionKeyStreamAsync.
    await container.items.create({ id: 'd', pk: 'dropped' });
    const reply = await send('POST', `/${container.url}/operations/partitionkeydelete`, { partition: ['dropped'] });
    assert.equal(reply.status, 200);
  });
});
