// Projections with joins: rows with values of other documents, which follow these, too.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectError, expectStatus, Server } from '../harness.mjs';
import { createProjection, documentsOf, erase, save, settled, soon } from './projection_support.mjs';

/// Posts that have their author's name and their numbers of comments.
async function blog(server, more = {}) {
  const [posts, users, target] = [await server.database(), await server.database('partitioned=true&q=2'), await server.database()];
  const definition = {
    where: "c.type = 'post'", target: { db: target }, id: '{_id}',
    joins: {
      author: { lookup: { db: users, key: '{userId}', id: '{userId}' }, ...more.author },
      comments: { count: { db: posts, where: "c.type = 'comment'", by: '{postId}', equals: '{_id}' }, ...more.comments },
    },
    fields: { userId: true, username: 'author.username', comments: 'comments', text: 'CONCAT(author.username, ": ", c.text)' },
    ...more.definition,
  };
  await createProjection(server, posts, 'details', definition);
  return { posts, users, target, definition };
}

describe('joins', () => {
  test('a lookup follows the document that it finds: changed, deleted, and there again', async (t) => {
    const server = await Server.startFor(t);
    const { posts, users, target } = await blog(server);
    await save(server, users, 'u1:u1', { username: 'ann' });
    for (const id of ['p1', 'p2']) await save(server, posts, id, { type: 'post', userId: 'u1', text: id });
    await save(server, posts, 'p3', { type: 'post', userId: 'u2', text: 'p3' });
    const names = async () => {
      await settled(server, posts, 'details');
      return [...await documentsOf(server, target)].map(([id, { username }]) => `${id} ${username}`);
    };
    assert.deepEqual(await names(), ['p1 ann', 'p2 ann', 'p3 undefined']);
    await save(server, users, 'u1:u1', { username: 'anna' });
    await save(server, users, 'u2:u2', { username: 'bob' });
    assert.deepEqual(await names(), ['p1 anna', 'p2 anna', 'p3 bob']);
    assert.equal((await documentsOf(server, target)).get('p3').text, 'bob: p3');
    await erase(server, users, 'u1:u1');
    assert.deepEqual(await names(), ['p1 undefined', 'p2 undefined', 'p3 bob']);
    await save(server, users, 'u1:u1', { username: 'ann again' });
    await save(server, posts, 'p2', { type: 'post', userId: 'u2', text: 'moved' });
    assert.deepEqual(await names(), ['p1 ann again', 'p2 bob', 'p3 bob']);
    await save(server, users, 'u1:u1', { username: 'x' });  // p2 does not refer to it any more
    assert.deepEqual(await names(), ['p1 x', 'p2 bob', 'p3 bob']);
  });

  test('without a document that is required there is no row', async (t) => {
    const server = await Server.startFor(t);
    const { posts, users, target } = await blog(server, { author: { required: true } });
    await save(server, posts, 'p1', { type: 'post', userId: 'u1' });
    await settled(server, posts, 'details');
    assert.equal((await documentsOf(server, target)).size, 0);
    await save(server, users, 'u1:u1', { username: 'ann' });
    await settled(server, posts, 'details');
    assert.equal((await documentsOf(server, target)).size, 1);
    await erase(server, users, 'u1:u1');
    await settled(server, posts, 'details');
    assert.equal((await documentsOf(server, target)).size, 0);
  });

  test('a count counts each document once: changed, moved, deleted and purged ones', async (t) => {
    const server = await Server.startFor(t);
    const { posts, target } = await blog(server);
    for (const id of ['p1', 'p2']) await save(server, posts, id, { type: 'post' });
    const counts = async () => {
      await settled(server, posts, 'details');
      return [...await documentsOf(server, target)].map(([, { comments }]) => comments);
    };
    assert.deepEqual(await counts(), [0, 0]);
    for (const id of ['c1', 'c2', 'c3']) await save(server, posts, id, { type: 'comment', postId: 'p1' });
    assert.deepEqual(await counts(), [3, 0]);
    await save(server, posts, 'c1', { type: 'comment', postId: 'p1', text: 'changed' });
    assert.deepEqual(await counts(), [3, 0]);
    await save(server, posts, 'c1', { type: 'comment', postId: 'p2' });
    assert.deepEqual(await counts(), [2, 1]);
    await erase(server, posts, 'c2');
    assert.deepEqual(await counts(), [1, 1]);
    await save(server, posts, 'c3', { type: 'spam', postId: 'p1' });
    assert.deepEqual(await counts(), [0, 1]);
    const { _rev } = (await server.get(`/${posts}/c1`)).body;
    expectStatus(await server.post(`/${posts}/_purge`, { c1: [_rev] }), 201);
    await soon(async () => assert.deepEqual(await counts(), [0, 0]));
    // Values of different types are different.
    await save(server, posts, 'c9', { type: 'comment', postId: 1 });
    await save(server, posts, '!1', { type: 'post' });
    assert.equal((await counts())[0], 0);
  });

  test('a join applies only where `when` holds', async (t) => {
    const server = await Server.startFor(t);
    const { posts, users, target } = await blog(server, { author: { when: 'c.signed = true' }, comments: { when: 'c.open = true' } });
    await save(server, users, 'u1:u1', { username: 'ann' });
    await save(server, posts, 'p1', { type: 'post', userId: 'u1', signed: true, open: false });
    await save(server, posts, 'p2', { type: 'post', userId: 'u1', signed: false, open: true });
    await settled(server, posts, 'details');
    const rows = await documentsOf(server, target);
    assert.deepEqual(rows.get('p1'), { userId: 'u1', username: 'ann' });
    assert.deepEqual(rows.get('p2'), { userId: 'u1', comments: 0 });
  });

  test('many rows follow one change, also over a restart', async (t) => {
    const server = await Server.startFor(t);
    const { posts, users, target } = await blog(server);
    await save(server, users, 'u1:u1', { username: 'ann' });
    for (let n = 0; n < 10; ++n) {
      const docs = Array.from({ length: 1000 }, (_, i) => ({ _id: `p${n * 1000 + i}`, type: 'post', userId: 'u1', text: '' }));
      await server.fill(posts, docs);
    }
    await settled(server, posts, 'details');
    await save(server, users, 'u1:u1', { username: 'anna' });
    await server.kill();
    await server.relaunch();
    await settled(server, posts, 'details');
    const rows = await documentsOf(server, target);
    assert.equal(rows.size, 10_000);
    for (const { username } of rows.values()) assert.equal(username, 'anna');
  });

  test('a change that alters more rows than `fan_out_max` stops the projection', async (t) => {
    const server = await Server.startFor(t);
    const { posts, users } = await blog(server, { definition: { fan_out_max: 1 } });
    await server.fill(posts, Array.from({ length: 3000 }, (_, n) => ({ _id: `p${n}`, type: 'post', userId: 'u1' })));
    await settled(server, posts, 'details');
    await save(server, users, 'u1:u1', { username: 'ann' });
    await soon(async () => {
      const { state, reason } = expectStatus(await server.get(`/${posts}/_projection/details`), 200);
      assert.equal(state, 'failed');
      assert.match(reason, /fan_out_max/);
    });
  });

  test('a joined database that is deleted lets it fail, and the rows stay', async (t) => {
    const server = await Server.startFor(t);
    const { posts, users, target } = await blog(server);
    await save(server, posts, 'p1', { type: 'post', userId: 'u1' });
    await settled(server, posts, 'details');
    expectStatus(await server.delete(`/${users}`), 200);
    await save(server, posts, 'p2', { type: 'post', userId: 'u1' });
    await soon(async () => {
      const { state, reason } = expectStatus(await server.get(`/${posts}/_projection/details`), 200);
      assert.equal(state, 'failed');
      assert.match(reason, /joined database .* does not exist any more/);
    });
    assert.deepEqual([...(await documentsOf(server, target)).keys()], ['p1']);
    await server.stop({ keepFolder: true });
    await server.relaunch();
    await soon(async () => assert.equal((await server.get(`/${posts}/_projection/details`)).body.state, 'failed'));
    expectStatus(await server.delete(`/${posts}/_projection/details`), 202);
    await soon(async () => assert.deepEqual((await server.get(`/${posts}/_projection`)).body.projections, []));
    assert.equal((await documentsOf(server, target)).size, 0);
  });

  test('bad joins are refused by name', async (t) => {
    const server = await Server.startFor(t);
    const { posts, users, definition } = await blog(server);
    const refused = async (joins, status, error, reason) =>
      expectError(await server.put(`/${posts}/_projection/x`, { ...definition, joins, fields: { a: 'c.a' } }), status, error, reason);
    const lookup = { db: users, key: '{a}', id: '{a}' };
    await refused({ c: { lookup } }, 400, 'projection_syntax', /named 'c'/);
    await refused({ 'a b': { lookup } }, 400, 'projection_syntax', /named 'a b'/);
    await refused({ x: { lookup: { ...lookup, key: undefined } } }, 400, 'key_template', /partition keys/);
    await refused({ x: { lookup: { ...lookup, db: posts } } }, 400, 'key_template');
    await refused({ x: { lookup: { ...lookup, db: 'missing' } } }, 404, 'join_missing', /create it first/);
    await refused({ x: { lookup, count: {} } }, 400, 'projection_syntax', /`lookup` or `count`/);
    await refused({ x: { count: { db: posts, by: '{a}' } } }, 400, 'projection_syntax', /`equals`/);
    await refused({ x: { count: { db: posts, by: '{a}', equals: '{a}', where: 'c.' } } }, 400, 'projection_syntax', /count.where/);
    await refused({ x: { lookup, when: 'x.a' } }, 400, 'projection_syntax', /when/);
    await refused({ x: { lookup, sum: 1 } }, 400, 'unknown_member', /`sum`/);
    await refused(Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`j${n}`, { lookup }])), 400, 'limit');
    expectError(await server.put(`/${posts}/_projection/x`, { ...definition, joins: {}, fields: { a: 'author.name' } }), 400, 'projection_syntax');
  });
});
