// Plays scripts/scenario.sh against a server and looks at each reply it recorded.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { docIds, ids, REV, Server } from '../harness.mjs';

const script = path.join(process.env.OCTAVO_SOURCE_DIR, 'scripts/scenario.sh');
const orderIds = ['delivery', 'dispatch', 'item1', 'item2', 'order', 'payment'].map((key) => `order555:${key}`);
const product = 'Home#Kitchen#Small Appliances:1000042';
const userIds = ['auth', 'delivery1', 'delivery2'].map((key) => `user19952622:${key}`);

describe('the e-commerce scenario', () => {
  let server, folder;
  const reply = (name) => JSON.parse(fs.readFileSync(path.join(folder, `${name}.json`), 'utf8'));

  before(async () => {
    server = await Server.start();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-scenario-'));
    await promisify(execFile)(script, ['--record', folder, server.url], { timeout: 120_000 });
  });
  after(async () => {
    fs.rmSync(folder, { recursive: true, force: true });
    await server?.stop();
  });

  test('the databases are partitioned and start empty', () => {
    for (const name of ['products', 'users', 'orders']) {
      assert.deepEqual(reply(`create-${name}`), { ok: true });
      const info = reply(`info-${name}`);
      assert.equal(info.db_name, name);
      assert.equal(info.props.partitioned, true);
      assert.equal(info.doc_count, 0);
    }
  });

  test('every write is acknowledged with a first revision', () => {
    const rows = [reply('put-product'), reply('post-user-auth'), reply('put-user-delivery1'),
      reply('put-user-delivery2'), ...reply('bulk-order')];
    assert.equal(rows.length, 10);
    for (const row of rows) {
      assert.equal(row.ok, true);
      assert.match(row.rev, REV);
      assert.ok(row.rev.startsWith('1-'));
    }
    assert.deepEqual(ids(reply('bulk-order')).sort(), orderIds);
    assert.equal(reply('put-product').id, product);
  });

  test('products are found by their words, in a category and everywhere', () => {
    for (const name of ['search-category', 'search-products']) {
      assert.equal(reply(name).total_rows, 1, name);
      assert.deepEqual(ids(reply(name).rows), [product], name);
      assert.equal(typeof reply(name).bookmark, 'string');
    }
  });

  test('the partition of a category tells its counts and sizes', () => {
    const info = reply('partition-info-category');
    assert.equal(info.db_name, 'products');
    assert.equal(info.partition, 'Home#Kitchen#Small Appliances');
    assert.equal(info.doc_count, 1);
    assert.equal(info.doc_del_count, 0);
    assert.ok(info.sizes.active > 0 && info.sizes.external > 0, JSON.stringify(info));
  });

  test('an empty selector on a category finds its product, whole', () => {
    const { docs } = reply('find-category');
    assert.equal(docs.length, 1);
    assert.equal(docs[0]._id, product);
    assert.deepEqual(docs[0].taxonomy, ['Home', 'Kitchen', 'Small Appliances']);
    assert.deepEqual(docs[0].colours, ['red', 'green', 'black', 'blue']);
    assert.equal(docs[0].price, 14.99);
    assert.equal(docs[0].delivery, 0);
  });

  test('_all_docs of a category lists its product', () => {
    const { rows } = reply('all-docs-category');
    assert.deepEqual(ids(rows), [product]);
    assert.equal(rows[0].key, product);
    assert.equal(rows[0].value.rev, reply('put-product').rev);
  });

  test('_all_docs of an order lists its six documents in order of id', () => {
    assert.equal(reply('partition-info-order').doc_count, 6);
    assert.deepEqual(ids(reply('all-docs-order').rows), orderIds);
    const withDocs = reply('all-docs-order-with-docs').rows;
    assert.deepEqual(withDocs.map((row) => row.doc._id), orderIds);
    assert.equal(withDocs[3].doc.unitPrice, 199.99);
  });

  test('the line items of an order are found in its partition', () => {
    const { docs } = reply('find-line-items');
    assert.deepEqual(docIds(docs).sort(), ['order555:item1', 'order555:item2']);
  });

  test('the head of an order is one point read', () => {
    const { _id, _rev, ...fields } = reply('get-order');
    assert.equal(_id, 'order555:order');
    assert.match(_rev, REV);
    assert.deepEqual(fields, {
      type: 'order', user: 'Bob Smith', orderid: 'order555', userid: 'user19952622',
      basket: ['Salter - Digital Kitchen Scales', 'Kenwood - Stand Mixer'], total: '214.98',
      deliveryAddress: '19 Front Street, Darlington, DL5 1TY', date: '2019-01-28T10:44:22.000Z',
    });
  });

  test('all about a user, and the default address alone', () => {
    assert.deepEqual(ids(reply('all-docs-user').rows), userIds);
    assert.deepEqual(reply('find-default-address').docs, [{ address: '19 Front Street, Darlington, DL5 1TY' }]);
  });

  test('each global index is created under its design document', () => {
    for (const name of ['orders-by-customer-index', 'orders-by-date', 'users-by-email']) {
      const created = reply(name === 'orders-by-customer-index' ? 'index-orders-by-customer' : `index-${name}`);
      assert.equal(created.result, 'created');
      assert.equal(created.id, `_design/${name}`);
      assert.equal(typeof created.name, 'string');
    }
    const listed = reply('list-order-indexes');
    assert.equal(listed.total_rows, 3);
    const ddocs = listed.indexes.map((index) => index.ddoc);
    assert.deepEqual([...ddocs].sort(), ['_design/orders-by-customer-index', '_design/orders-by-date', null].sort());
    const byDate = listed.indexes.find((index) => index.ddoc === '_design/orders-by-date');
    assert.equal(byDate.type, 'json');
    assert.equal(byDate.partitioned, false);
    assert.deepEqual(byDate.def.fields, [{ date: 'asc' }]);
    assert.deepEqual(byDate.def.partial_filter_selector, { type: { $eq: 'order' } });
  });

  const answeredFromIndex = (name, explainName, ddoc, examined) => {
    const explained = reply(explainName);
    assert.equal(explained.index.ddoc, `_design/${ddoc}`);
    assert.equal(explained.index.type, 'json');
    assert.equal(explained.index.partitioned, false);
    const { execution_stats: stats, docs, warning } = reply(name);
    assert.equal(warning, undefined);
    assert.equal(stats.results_returned, docs.length);
    // A scan would examine the six documents of the order, or the three of the user.
    assert.equal(stats.total_docs_examined, examined, JSON.stringify(stats));
    assert.ok(stats.total_keys_examined <= examined + 1, JSON.stringify(stats));
    return docs;
  };

  test('orders by customer come from their index', () => {
    const docs = answeredFromIndex('find-orders-by-customer', 'explain-orders-by-customer', 'orders-by-customer-index', 1);
    assert.deepEqual(docIds(docs), ['order555:order']);
  });

  test('orders by date come from their index', () => {
    const docs = answeredFromIndex('find-orders-by-date', 'explain-orders-by-date', 'orders-by-date', 1);
    assert.deepEqual(docIds(docs), ['order555:order']);
    assert.deepEqual(docIds(reply('find-orders-by-date-sorted').docs), ['order555:order']);
  });

  test('a user is found by e-mail address from the index, with the asked fields only', () => {
    const docs = answeredFromIndex('find-user-by-email', 'explain-users-by-email', 'users-by-email', 1);
    assert.deepEqual(docs, [
      { userid: 'user19952622', password: '1f6b5d0e151388786d3820cded9408e2', salt: '43614d9b1dec23da34a5b6f4eb71fb59' },
    ]);
    assert.deepEqual(reply('find-user-by-unknown-email').docs, []);
    assert.equal(reply('find-user-by-unknown-email').execution_stats.total_docs_examined, 0);
  });

  test('the indexes follow later writes, and a query looks at its own documents only', async () => {
    const docs = [];
    for (let n = 0; n < 200; ++n) {
      docs.push({ _id: `more${n}:order`, type: 'order', userid: `user${n % 10}`, date: `2020-01-${10 + (n % 20)}T00:00:00.000Z` });
      docs.push({ _id: `more${n}:item1`, type: 'orderlineitem', userid: `user${n % 10}` });
    }
    await server.fill('orders', docs);
    const found = await server.post('/orders/_find', {
      selector: { type: 'order', userid: 'user3' }, use_index: 'orders-by-customer-index', execution_stats: true, limit: 100,
    });
    assert.equal(found.body.docs.length, 20);
    assert.equal(found.body.execution_stats.total_docs_examined, 20);
    const dated = await server.post('/orders/_find', {
      selector: { type: 'order', date: { $gte: '2020-01-10', $lt: '2020-01-11' } },
      use_index: 'orders-by-date', execution_stats: true, limit: 100,
    });
    assert.equal(dated.body.docs.length, 10);
    assert.equal(dated.body.execution_stats.total_docs_examined, 10);
  });

  test('the sales report sums up by year, month and day', () => {
    const report = (name) => reply(name).rows.map((row) => [row.key, Math.round(100 * row.value)]);
    assert.deepEqual(report('sales-total'), [[null, 34047]]);
    assert.deepEqual(report('sales-by-year'), [[[2019], 33497], [[2020], 550]]);
    assert.deepEqual(report('sales-by-month'), [[[2019, 1], 23498], [[2019, 2], 9999], [[2020, 2], 550]]);
    assert.deepEqual(report('sales-by-day'),
      [[[2019, 1, 28], 21498], [[2019, 1, 29], 2000], [[2019, 2, 14], 9999], [[2020, 2, 1], 550]]);
    assert.deepEqual(report('sales-of-january'), [[null, 23498]]);
    assert.deepEqual(ids(reply('sales-of-january-in-full').rows), ['order555:order', 'order556:order']);
  });
});
