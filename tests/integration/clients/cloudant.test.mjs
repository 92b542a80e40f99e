import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import sdk from '@ibm-cloud/cloudant';
import core from 'ibm-cloud-sdk-core';
import { credentials, docIds, ids, REV, Server } from '../harness.mjs';

const { CloudantV1, BasicAuthenticator, CouchdbSessionAuthenticator, ChangesFollower, Pagination, PagerType } = sdk;
const { NoAuthAuthenticator } = core;
const login = { username: credentials.name, password: credentials.password };

const methods = Object.getOwnPropertyNames(CloudantV1.prototype).filter((name) => name !== 'constructor');
const succeeded = new Set();  // methods of which a call has succeeded

/// A client that notes which of its methods succeed.
function client(server, authenticator) {
  const service = new CloudantV1({ authenticator });
  service.setServiceUrl(server.url);
  return new Proxy(service, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      if (!methods.includes(name)) return value.bind(target);
      return async (...parameters) => {
        const response = await value.apply(target, parameters);
        succeeded.add(name);
        return response;
      };
    },
  });
}

async function textOf(stream) {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

const failure = (promise) => promise.then(() => assert.fail('it should have failed'), (error) => error);

describe('@ibm-cloud/cloudant', () => {
  let server, cloudant;
  before(async () => {
    server = await Server.start({ admin: true });
    cloudant = client(server, new BasicAuthenticator(login));
  });
  after(() => server?.stop());

  test('reads the server information', async () => {
    const { result } = await cloudant.getServerInformation();
    assert.equal(result.couchdb, 'Welcome');
    assert.equal(typeof result.version, 'string');
    assert.equal((await cloudant.getUpInformation()).result.status, 'ok');
    assert.equal((await cloudant.getUuids({ count: 2 })).result.uuids.length, 2);
    assert.ok(Array.isArray((await cloudant.getMembershipInformation()).result.allNodes));
    assert.ok(Array.isArray((await cloudant.getActiveTasks()).result));
  });

  test('signs in by session, and without authentication sees only what is public', async () => {
    const bySession = client(server, new CouchdbSessionAuthenticator(login));
    const { result } = await bySession.getSessionInformation();
    assert.equal(result.ok, true);
    assert.equal(result.userCtx.name, credentials.name);
    assert.equal((await bySession.putDatabase({ db: 'by-session' })).status, 201);
    const anonymous = client(server, new NoAuthAuthenticator());
    assert.equal((await anonymous.getServerInformation()).status, 200);
    const error = await failure(anonymous.putDatabase({ db: 'by-anonymous' }));
    assert.equal(error.code, 401);
    const wrong = await failure(client(server, new BasicAuthenticator({ ...login, password: 'no' })).getAllDbs());
    assert.equal(wrong.code, 401);
  });

  test('creates, lists, describes and deletes databases', async () => {
    assert.equal((await cloudant.putDatabase({ db: 'plain' })).status, 201);
    const twice = await failure(cloudant.putDatabase({ db: 'plain' }));
    assert.equal(twice.code, 412);
    assert.ok((await cloudant.getAllDbs()).result.includes('plain'));
    assert.equal((await cloudant.headDatabase({ db: 'plain' })).status, 200);
    assert.equal((await cloudant.getDatabaseInformation({ db: 'plain' })).result.dbName, 'plain');
    const infos = (await cloudant.postDbsInfo({ keys: ['plain', 'nowhere'] })).result;
    assert.equal(infos[0].key, 'plain');
    assert.equal(infos[0].info.dbName, 'plain');
    assert.equal(infos[1].error, 'not_found');
    assert.equal((await cloudant.deleteDatabase({ db: 'plain' })).result.ok, true);
    assert.equal((await failure(cloudant.headDatabase({ db: 'plain' }))).code, 404);
  });

  test('writes, reads, changes and deletes documents', async () => {
    await cloudant.putDatabase({ db: 'documents' });
    const posted = (await cloudant.postDocument({ db: 'documents', document: { _id: 'a', n: 1 } })).result;
    assert.match(posted.rev, REV);
    const put = (await cloudant.putDocument({ db: 'documents', docId: 'a', document: { n: 2 }, rev: posted.rev })).result;
    const read = (await cloudant.getDocument({ db: 'documents', docId: 'a', revs: true })).result;
    assert.equal(read.n, 2);
    assert.equal(read._revisions.start, 2);
    const head = await cloudant.headDocument({ db: 'documents', docId: 'a' });
    assert.equal(head.headers.etag, `"${put.rev}"`);
    const deleted = (await cloudant.deleteDocument({ db: 'documents', docId: 'a', rev: put.rev })).result;
    assert.equal(deleted.ok, true);
    assert.equal((await failure(cloudant.getDocument({ db: 'documents', docId: 'a' }))).code, 404);
    assert.equal((await cloudant.putLocalDocument({ db: 'documents', docId: 'here', document: { x: 1 } })).result.ok, true);
    assert.equal((await cloudant.getLocalDocument({ db: 'documents', docId: 'here' })).result.x, 1);
  });

  test('bulk calls', async () => {
    await cloudant.putDatabase({ db: 'bulk' });
    const docs = Array.from({ length: 10 }, (_, n) => ({ _id: `doc${n}`, n }));
    const written = (await cloudant.postBulkDocs({ db: 'bulk', bulkDocs: { docs } })).result;
    assert.equal(written.length, 10);
    const got = (await cloudant.postBulkGet({ db: 'bulk', docs: [{ id: 'doc3' }, { id: 'nope' }] })).result.results;
    assert.equal(got[0].docs[0].ok.n, 3);
    assert.equal(got[1].docs[0].error.error, 'not_found');
    const all = (await cloudant.postAllDocs({ db: 'bulk', includeDocs: true, startKey: 'doc2', limit: 3 })).result;
    assert.deepEqual(ids(all.rows), ['doc2', 'doc3', 'doc4']);
    const queries = (await cloudant.postAllDocsQueries({ db: 'bulk', queries: [{ keys: ['doc1'] }, { limit: 2 }] })).result;
    assert.deepEqual(queries.results.map((result) => result.rows.length), [1, 2]);
    const diff = (await cloudant.postRevsDiff({ db: 'bulk',
      documentRevisions: { doc1: [written[1].rev, `2-${'0'.repeat(32)}`] } })).result;
    assert.deepEqual(diff.doc1.missing, [`2-${'0'.repeat(32)}`]);
  });

  test('a partitioned database: information, _all_docs, _find, _explain', async () => {
    const created = await cloudant.putDatabase({ db: 'products', partitioned: true, q: 2 });
    assert.equal(created.status, 201);
    assert.equal((await cloudant.getDatabaseInformation({ db: 'products' })).result.props.partitioned, true);
    const docs = Array.from({ length: 20 }, (_, n) => ({
      _id: `${n % 2 ? 'small-appliances' : 'large-appliances'}:${1000 + n}`, price: n, brand: n % 3 ? 'Salter' : 'Kenwood',
    }));
    await cloudant.postBulkDocs({ db: 'products', bulkDocs: { docs } });
    const partition = { db: 'products', partitionKey: 'small-appliances' };
    const info = (await cloudant.getPartitionInformation(partition)).result;
    assert.equal(info.dbName, 'products');
    assert.equal(info.partition, 'small-appliances');
    assert.equal(info.docCount, 10);
    assert.ok(info.sizes.active > 0);
    const listed = (await cloudant.postPartitionAllDocs({ ...partition, includeDocs: true, limit: 3 })).result;
    assert.deepEqual(ids(listed.rows), ['small-appliances:1001', 'small-appliances:1003', 'small-appliances:1005']);
    const index = (await cloudant.postIndex({
      db: 'products', ddoc: 'by-price', name: 'price', type: 'json', index: { fields: [{ price: 'asc' }] }, partitioned: true,
    })).result;
    assert.equal(index.result, 'created');
    const query = { ...partition, selector: { price: { $gt: 10 } }, fields: ['_id', 'price'], sort: [{ price: 'desc' }] };
    const found = (await cloudant.postPartitionFind({ ...query, executionStats: true })).result;
    assert.deepEqual(found.docs.map((doc) => doc.price), [19, 17, 15, 13, 11]);
    const explained = (await cloudant.postPartitionExplain(query)).result;
    assert.equal(explained.index.ddoc, '_design/by-price');
    assert.equal(explained.partitioned, true);
    const wrong = await failure(cloudant.postDocument({ db: 'products', document: { _id: 'nocolon' } }));
    assert.equal(wrong.code, 400);
  });

  test('global indexes: create, find, explain, list, delete', async () => {
    await cloudant.putDatabase({ db: 'orders', partitioned: true });
    const docs = Array.from({ length: 40 }, (_, n) => ({
      _id: `order${n}:order`, type: n % 4 ? 'order' : 'other', userid: `user${n % 5}`, date: `2019-01-${10 + (n % 20)}` }));
    await cloudant.postBulkDocs({ db: 'orders', bulkDocs: { docs } });
    await cloudant.postIndex({ db: 'orders', ddoc: 'by-customer', name: 'by-customer', type: 'json', partitioned: false,
      index: { partialFilterSelector: { type: 'order' }, fields: [{ userid: 'asc' }, { date: 'asc' }] } });
    const query = { db: 'orders', selector: { type: 'order', userid: 'user1' }, useIndex: ['by-customer'] };
    const found = (await cloudant.postFind({ ...query, executionStats: true })).result;
    assert.deepEqual(docIds(found.docs).sort(), [1, 6, 11, 21, 26, 31].map((n) => `order${n}:order`).sort());
    assert.equal(found.executionStats.totalDocsExamined, 6);
    assert.equal((await cloudant.postExplain(query)).result.index.name, 'by-customer');
    const listed = (await cloudant.getIndexesInformation({ db: 'orders' })).result;
    assert.equal(listed.totalRows, 2);
    const deleted = await cloudant.deleteIndex({ db: 'orders', ddoc: 'by-customer', type: 'json', index: 'by-customer' });
    assert.equal(deleted.result.ok, true);
    assert.equal((await cloudant.getIndexesInformation({ db: 'orders' })).result.totalRows, 1);
  });

  test('changes, and the changes follower', async () => {
    await cloudant.putDatabase({ db: 'changing' });
    const docs = Array.from({ length: 30 }, (_, n) => ({ _id: `c${n}` }));
    await cloudant.postBulkDocs({ db: 'changing', bulkDocs: { docs } });
    const page = (await cloudant.postChanges({ db: 'changing', limit: 10 })).result;
    assert.equal(page.results.length, 10);
    assert.equal(page.pending, 20);
    const rest = (await cloudant.postChanges({ db: 'changing', since: page.lastSeq, includeDocs: true })).result;
    assert.equal(rest.results.length, 20);
    assert.ok(rest.results.every((row) => row.doc._id === row.id));
    const seen = [];
    for await (const change of new ChangesFollower(cloudant, { db: 'changing' }).startOneOff()) seen.push(change.id);
    assert.deepEqual([...seen].sort(), docIds(docs).sort());
    const updates = (await cloudant.getDbUpdates({ feed: 'normal' })).result;
    assert.ok(updates.results.some((row) => row.dbName === 'changing'));
  });

  test('pages through all documents and through a query', async () => {
    await cloudant.putDatabase({ db: 'paged', partitioned: true });
    const docs = Array.from({ length: 55 }, (_, n) => ({ _id: `p${n % 2}:${String(n).padStart(3, '0')}`, n }));
    await cloudant.postBulkDocs({ db: 'paged', bulkDocs: { docs } });
    const collect = async (type, params) => {
      const seen = [];
      for await (const row of Pagination.newPagination(cloudant, type, { db: 'paged', limit: 10, ...params }).rows()) seen.push(row);
      return seen;
    };
    assert.deepEqual(ids(await collect(PagerType.POST_ALL_DOCS, {})), docIds(docs).sort());
    assert.equal((await collect(PagerType.POST_PARTITION_ALL_DOCS, { partitionKey: 'p1' })).length, 27);
    assert.equal((await collect(PagerType.POST_FIND, { selector: { n: { $gte: 20 } } })).length, 35);
    assert.equal((await collect(PagerType.POST_PARTITION_FIND, { partitionKey: 'p0', selector: { n: { $lt: 40 } } })).length, 20);
  });

  test('reads and writes the security object', async () => {
    await cloudant.putDatabase({ db: 'secured' });
    const members = { names: ['bob'], roles: ['staff'] };
    assert.equal((await cloudant.putSecurity({ db: 'secured', members })).result.ok, true);
    assert.deepEqual((await cloudant.getSecurity({ db: 'secured' })).result.members, members);
  });

  test('gives permissions to an API key, which _security enforces', async () => {
    await cloudant.putDatabase({ db: 'keyed' });
    const { result: key } = await cloudant.postApiKeys();
    const reader = client(server, new BasicAuthenticator({ username: key.key, password: key.password }));
    assert.equal((await failure(reader.getDatabaseInformation({ db: 'keyed' }))).code, 403);
    await cloudant.putCloudantSecurityConfiguration({ db: 'keyed', cloudant: { [key.key]: ['_reader'], nobody: [] } });
    assert.equal((await reader.getDatabaseInformation({ db: 'keyed' })).status, 200);
    assert.equal((await failure(reader.postDocument({ db: 'keyed', document: {} }))).code, 403);
    const anyone = client(server, new NoAuthAuthenticator());
    assert.equal((await failure(anyone.getDatabaseInformation({ db: 'keyed' }))).code, 401);
    assert.equal((await failure(cloudant.getCapacityThroughputInformation())).code, 501);
  });

  test('changes CORS while the server runs', async () => {
    const origin = 'https://shop.example.com';
    const allowed = async () => (await server.get('/', { headers: { Origin: origin } })).headers['access-control-allow-origin'];
    assert.equal((await cloudant.getCorsInformation()).result.enableCors, false);
    assert.equal(await allowed(), undefined);
    const change = { origins: [origin, 'https://a.example.com'], enableCors: true, allowCredentials: false };
    assert.deepEqual((await cloudant.putCorsConfiguration(change)).result, { ok: true });
    const shown = async () => (({ origins, enableCors, allowCredentials }) => ({ origins, enableCors, allowCredentials }))(
      (await cloudant.getCorsInformation()).result);
    assert.deepEqual(await shown(), change);
    assert.equal(await allowed(), origin);
    assert.equal((await failure(cloudant.putCorsConfiguration({ ...change, origins: ['https://b.example.com', 7] }))).code, 400);
    assert.deepEqual(await shown(), change);
    await cloudant.putCorsConfiguration({ ...change, enableCors: false });
    assert.equal(await allowed(), undefined);
  });

  test('sends compressed bodies', async () => {
    const compressing = client(server, new BasicAuthenticator(login));
    compressing.setEnableGzipCompression(true);
    await compressing.putDatabase({ db: 'compressed' });
    const document = { _id: 'big', text: 'x'.repeat(100_000) };
    assert.equal((await compressing.postDocument({ db: 'compressed', document })).status, 201);
    assert.equal((await compressing.getDocument({ db: 'compressed', docId: 'big' })).result.text.length, 100_000);
  });

  test('design documents, views, partition views and their information', async () => {
    await cloudant.putDatabase({ db: 'report', partitioned: true });
    await cloudant.postBulkDocs({ db: 'report', bulkDocs: { docs: [
      { _id: 'o1:order', date: [2019, 1], total: 10 }, { _id: 'o2:order', date: [2019, 2], total: 20 },
      { _id: 'o3:order', date: [2020, 1], total: 40 }] } });
    const map = 'function(doc) { emit(doc.date, doc.total); }';
    await cloudant.putDesignDocument({ db: 'report', ddoc: 'all', designDocument: {
      options: { partitioned: false }, views: { sales: { map, reduce: '_sum' } } } });
    await cloudant.putDesignDocument({ db: 'report', ddoc: 'own', designDocument: { views: { sales: { map, reduce: '_stats' } } } });
    const years = await cloudant.postView({ db: 'report', ddoc: 'all', view: 'sales', groupLevel: 1 });
    assert.deepEqual(years.result.rows, [{ key: [2019], value: 30 }, { key: [2020], value: 40 }]);
    const listed = await cloudant.postView({ db: 'report', ddoc: 'all', view: 'sales', reduce: false, includeDocs: true,
      startKey: [2019, 2] });
    assert.deepEqual(ids(listed.result.rows), ['o2:order', 'o3:order']);
    const several = await cloudant.postViewQueries({ db: 'report', ddoc: 'all', view: 'sales',
      queries: [{ reduce: false, limit: 1 }, { group: true }] });
    assert.deepEqual(several.result.results.map((result) => result.rows.length), [1, 3]);
    const own = await cloudant.postPartitionView({ db: 'report', partitionKey: 'o3', ddoc: 'own', view: 'sales' });
    assert.deepEqual(own.result.rows, [{ key: null, value: { sum: 40, count: 1, min: 40, max: 40, sumsqr: 1600 } }]);
    const info = await cloudant.getDesignDocumentInformation({ db: 'report', ddoc: 'all' });
    assert.equal(info.result.name, 'all');
    assert.equal(info.result.viewIndex.language, 'javascript');
    const refused = await failure(cloudant.postView({ db: 'report', ddoc: 'own', view: 'sales' }));
    assert.equal(refused.status, 400);
  });

  test('design documents are found, listed, read and deleted', async () => {
    await cloudant.putDatabase({ db: 'designs' });
    const named = { db: 'designs', ddoc: 'all' };
    const { rev } = (await cloudant.putDesignDocument({ ...named, designDocument: { views: { ids: { map: '(doc) => {}' } } } })).result;
    assert.equal((await cloudant.headDesignDocument(named)).headers.etag, `"${rev}"`);
    assert.deepEqual(Object.keys((await cloudant.getDesignDocument(named)).result.views), ['ids']);
    assert.deepEqual(ids((await cloudant.postDesignDocs({ db: 'designs' })).result.rows), ['_design/all']);
    const queried = await cloudant.postDesignDocsQueries({ db: 'designs', queries: [{ limit: 1 }, { keys: ['_design/none'] }] });
    assert.deepEqual(queried.result.results.map((result) => result.rows[0].error), [undefined, 'not_found']);
    assert.equal((await cloudant.deleteDesignDocument({ ...named, rev })).result.ok, true);
    assert.equal((await failure(cloudant.getDesignDocument(named))).code, 404);
  });

  test('local documents are found and deleted', async () => {
    await cloudant.putDatabase({ db: 'local' });
    const named = { db: 'local', docId: 'checkpoint' };
    await cloudant.putLocalDocument({ ...named, document: { seq: 7 } });
    assert.equal((await cloudant.headLocalDocument(named)).status, 200);
    assert.equal((await cloudant.deleteLocalDocument(named)).result.ok, true);
    assert.equal((await failure(cloudant.headLocalDocument(named))).code, 404);
  });

  test('shards of a database and of a document', async () => {
    await cloudant.putDatabase({ db: 'sharded', q: 2 });
    const { shards } = (await cloudant.getShardsInformation({ db: 'sharded' })).result;
    assert.deepEqual(Object.keys(shards), ['00000000-7fffffff', '80000000-ffffffff']);
    const { range, nodes } = (await cloudant.getDocumentShardsInfo({ db: 'sharded', docId: 'a' })).result;
    assert.deepEqual(shards[range], nodes);
  });

  test('searches, analyses a text, and tells of a search index', async () => {
    await cloudant.putDatabase({ db: 'searched', partitioned: true });
    await cloudant.postBulkDocs({ db: 'searched', bulkDocs: { docs: [{ _id: 'p:1', text: 'red apple' }, { _id: 'q:2', text: 'red pear' }] } });
    const indexes = { texts: { index: 'function (doc) { index("default", doc.text); }' } };
    await cloudant.putDesignDocument({ db: 'searched', ddoc: 'own', designDocument: { indexes } });
    await cloudant.putDesignDocument({ db: 'searched', ddoc: 'all', designDocument: { options: { partitioned: false }, indexes } });
    const everywhere = { db: 'searched', ddoc: 'all', index: 'texts', query: 'red' };
    const inPartition = { ...everywhere, ddoc: 'own', partitionKey: 'q' };
    assert.equal((await cloudant.postSearch(everywhere)).result.totalRows, 2);
    assert.equal(JSON.parse(await textOf((await cloudant.postSearchAsStream(everywhere)).result)).total_rows, 2);
    assert.deepEqual(ids((await cloudant.postPartitionSearch(inPartition)).result.rows), ['q:2']);
    assert.deepEqual(ids(JSON.parse(await textOf((await cloudant.postPartitionSearchAsStream(inPartition)).result)).rows), ['q:2']);
    assert.deepEqual((await cloudant.postSearchAnalyze({ analyzer: 'english', text: 'Running' })).result.tokens, ['run']);
    assert.equal((await cloudant.getSearchInfo({ db: 'searched', ddoc: 'all', index: 'texts' })).result.searchIndex.docCount, 2);
    const size = await cloudant.getSearchDiskSize({ db: 'searched', ddoc: 'all', index: 'texts' });
    assert.ok(size.result.searchIndex.diskSize > 0);
  });

  test('as a stream, each listing and query is the same as otherwise', async () => {
    await cloudant.putDatabase({ db: 'streamed', partitioned: true });
    await cloudant.postBulkDocs({ db: 'streamed', bulkDocs: { docs: [{ _id: 'p:1', n: 1 }, { _id: 'p:2', n: 2 }] } });
    const views = { n: { map: 'function (doc) { emit(doc.n, 1); }' } };
    await cloudant.putDesignDocument({ db: 'streamed', ddoc: 'own', designDocument: { views } });
    await cloudant.putDesignDocument({ db: 'streamed', ddoc: 'all', designDocument: { options: { partitioned: false }, views } });
    const db = 'streamed', partitionKey = 'p', selector = { n: { $gt: 0 } };
    const listings = {
      getDocument: [{ db, docId: 'p:1' }, 'n', 1],
      postAllDocs: [{ db, key: 'p:2' }, 'rows', 1],
      postAllDocsQueries: [{ db, queries: [{ limit: 1 }, { limit: 2 }] }, 'results', 2],
      postBulkGet: [{ db, docs: [{ id: 'p:1' }, { id: 'p:2' }] }, 'results', 2],
      postChanges: [{ db }, 'results', 4],
      postFind: [{ db, selector }, 'docs', 2],
      postPartitionAllDocs: [{ db, partitionKey }, 'rows', 2],
      postPartitionFind: [{ db, partitionKey, selector }, 'docs', 2],
      postPartitionView: [{ db, partitionKey, ddoc: 'own', view: 'n' }, 'rows', 2],
      postView: [{ db, ddoc: 'all', view: 'n' }, 'rows', 2],
      postViewQueries: [{ db, ddoc: 'all', view: 'n', queries: [{}, { key: 1 }] }, 'results', 2],
    };
    const size = (value) => (Array.isArray(value) ? value.length : value);
    for (const [method, [parameters, member, expected]] of Object.entries(listings)) {
      const { result } = await cloudant[method](parameters);
      const streamed = JSON.parse(await textOf((await cloudant[`${method}AsStream`](parameters)).result));
      assert.deepEqual([size(result[member]), size(streamed[member])], [expected, expected], method);
    }
  });

  test('a document, and several, as multipart', async () => {
    await cloudant.putDatabase({ db: 'parts' });
    await cloudant.postBulkDocs({ db: 'parts', bulkDocs: { docs: [{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }] } });
    const several = { db: 'parts', docs: [{ id: 'a' }, { id: 'b' }] };
    for (const kind of ['Mixed', 'Related']) {
      const bulk = await cloudant[`postBulkGetAs${kind}`](several);
      assert.match(bulk.headers['content-type'], new RegExp(`^multipart/${kind.toLowerCase()};`));
      assert.match(await textOf(bulk.result), /"_id":"a"[^]*"_id":"b"/);
      // Without attachments a document has one part: CouchDB, too, sends it as JSON.
      const one = await cloudant[`getDocumentAs${kind}`]({ db: 'parts', docId: 'a' });
      assert.equal(JSON.parse(await textOf(one.result)).n, 1);
    }
  });

  test('counts databases, and lists no replications', async () => {
    assert.equal((await cloudant.headUpInformation()).status, 200);
    const { total } = (await cloudant.getCurrentDatabasesInformation()).result.databases;
    assert.equal(total, (await cloudant.getAllDbs()).result.length);
    assert.equal((await cloudant.getSchedulerDocs()).result.totalRows, 0);
    assert.equal((await cloudant.getSchedulerJobs()).result.totalRows, 0);
  });

  // Each method with its parameters, and the status of the refusal.
  const replicationDocument = { source: { url: 'http://127.0.0.1/a' }, target: { url: 'http://127.0.0.1/b' } };
  const attachment = { db: 'refusing', docId: 'a', attachmentName: 'photo.png' };
  const notOffered = {
    deleteAttachment: [{ ...attachment, rev: `1-${'0'.repeat(32)}` }, 404],
    deleteReplicationDocument: [{ docId: 'r', rev: `1-${'0'.repeat(32)}` }, 404],
    getActivityTrackerEvents: [{}, 501],
    getAttachment: [attachment, 404],
    getCapacityDatabasesInformation: [{}, 501],
    getCapacityThroughputInformation: [{}, 501],
    getCurrentThroughputInformation: [{}, 501],
    getReplicationDocument: [{ docId: 'r' }, 404],
    getSchedulerDocument: [{ docId: 'r' }, 404],
    getSchedulerJob: [{ jobId: 'r' }, 404],
    headAttachment: [attachment, 404],
    headReplicationDocument: [{ docId: 'r' }, 404],
    headSchedulerDocument: [{ docId: 'r' }, 404],
    headSchedulerJob: [{ jobId: 'r' }, 404],
    postActivityTrackerEvents: [{ types: ['management'] }, 501],
    postReplicator: [{ replicationDocument }, 501],
    putAttachment: [{ ...attachment, attachment: Buffer.from('x'), contentType: 'image/png' }, 501],
    putCapacityThroughputConfiguration: [{ blocks: 1 }, 501],
    putReplicationDocument: [{ docId: 'r', replicationDocument }, 501],
  };

  test('what is not offered is refused', async () => {
    await cloudant.putDatabase({ db: 'refusing' });
    await cloudant.putDocument({ db: 'refusing', docId: 'a', document: {} });
    const statuses = {};
    for (const [method, [parameters]] of Object.entries(notOffered)) statuses[method] = (await failure(cloudant[method](parameters))).code;
    assert.deepEqual(statuses, Object.fromEntries(Object.entries(notOffered).map(([method, [, status]]) => [method, status])));
  });

  test('every other method of the client has succeeded in a test of this suite', () => {
    assert.deepEqual(methods.filter((name) => !notOffered[name] && !succeeded.has(name)), []);
  });
});
