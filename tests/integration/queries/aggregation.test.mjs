import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, Server } from '../harness.mjs';

describe('_find with group, aggregate, distinct and count', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('partitioned=true&q=2');
    await server.fill(db, Array.from({ length: 365 }, (_, day) => {
      const date = new Date(Date.UTC(2019, 0, 1 + day));
      return { _id: `order${day}:order`, type: 'order', userid: `user${day % 5}`, total: day + 0.25,
               year: date.getUTCFullYear(), month: date.getUTCMonth() + 1 };
    }));
    await server.fill(db, Array.from({ length: 10 }, (_, n) => ({ _id: `order1:item${n}`, type: 'item', price: n })));
  });
  after(() => server?.stop());

  const find = async (query) => expectStatus(await server.post(`/${db}/_find`, query), 200);

  test('turnover and orders of each month', async () => {
    const { docs } = await find({ selector: { type: 'order' }, group: ['year', 'month'], limit: 2,
      aggregate: { turnover: { $sum: 'total' }, orders: { $count: true }, mean: { $avg: 'total' } } });
    assert.deepEqual(docs, [
      { year: 2019, month: 1, turnover: 472.75, orders: 31, mean: 15.25 },
      { year: 2019, month: 2, turnover: 1253, orders: 28, mean: 44.75 }]);
  });

  test('the best three months', async () => {
    const { docs } = await find({ selector: { type: 'order' }, group: ['month'], sort: [{ turnover: 'desc' }], limit: 3,
      aggregate: { turnover: { $sum: 'total' } } });
    assert.deepEqual(docs.map((row) => row.month), [12, 11, 10]);
  });

  test('the users there are', async () => {
    const { docs } = await find({ selector: { type: 'order' }, distinct: ['userid'] });
    assert.deepEqual(docs, [0, 1, 2, 3, 4].map((n) => ({ userid: `user${n}` })));
  });

  test('how many orders one of them has, from an index alone', async () => {
    expectStatus(await server.post(`/${db}/_index`,
      { index: { fields: ['userid', 'total'] }, ddoc: 'by-user', partitioned: false }), 200);
    const reply = await find({ selector: { userid: 'user3' }, count: true, execution_stats: true });
    assert.equal(reply.count, 73);
    assert.deepEqual(reply.docs, []);
    assert.equal(reply.execution_stats.total_docs_examined, 0);
    assert.equal(reply.execution_stats.total_keys_examined, 73);
  });

  test('one partition', async () => {
    const reply = expectStatus(await server.post(`/${db}/_partition/order1/_find`,
      { selector: { type: 'item' }, aggregate: { sum: { $sum: 'price' }, dearest: { $max: 'price' } } }), 200);
    assert.deepEqual(reply.docs, [{ sum: 45, dearest: 9 }]);
    assert.equal(expectStatus(await server.post(`/${db}/_partition/order1/_find`, { selector: {}, count: true }), 200)
      .count, 11);
  });

  test('_explain shows what is aggregated, and by which index', async () => {
    const plan = expectStatus(await server.post(`/${db}/_explain`,
      { selector: { userid: 'user3' }, group: ['userid'], aggregate: { most: { $max: 'total' } } }), 200);
    assert.deepEqual(plan.opts.group, ['userid']);
    assert.deepEqual(plan.opts.aggregate, { most: { $max: 'total' } });
    assert.equal(plan.index.ddoc, '_design/by-user');
    assert.equal(plan.covering, true);
  });

  test('mistakes are told', async () => {
    const query = (members) => server.post(`/${db}/_find`, { selector: {}, ...members });
    expectError(await query({ group: [] }), 400, 'invalid_group');
    expectError(await query({ aggregate: { n: { $median: 'total' } } }), 400, 'invalid_aggregate');
    expectError(await query({ group: ['userid'], sort: ['total'] }), 400, 'invalid_sort_field');
    expectError(await query({ group: ['userid'], bookmark: 'g1AAAA' }), 400, 'invalid_bookmark');
  });
});
