// The blog of Azure's article, version 3: by stored procedures, a trigger and followers, and by three projections.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BlogData, newId } from '../bench/cosmos/blog/data.mjs';
import { postFollower, usernameFollower } from '../bench/cosmos/blog/followers.mjs';
import { Projected } from '../bench/cosmos/blog/projected.mjs';
import { Tally } from '../bench/cosmos/blog/requests.mjs';
import { V3 } from '../bench/cosmos/blog/versions.mjs';
import { forEachAtOnce } from '../bench/cosmos/progress.mjs';
import { cosmosClient } from '../cosmos.mjs';
import { expectStatus, Server } from '../harness.mjs';
import { settled as settledOf } from './projection_support.mjs';

const AT_ONCE = 16;
const withoutSystem = ({ _rid, _self, _etag, _attachments, _ts, ...item }) => item;
const sorted = (items) => items.map(withoutSystem).sort((a, b) => (a.id < b.id ? -1 : 1));
/// Members in a fixed order: the two versions add theirs in different orders.
const plain = (items) => sorted(items).map((item) => JSON.stringify(Object.fromEntries(Object.entries(item).sort())));

/// Waits until each projection has all that was written to its inputs.
async function settled({ server, database }) {
  for (const [source, name] of [['posts', 'details'], ['posts_full', 'by_user'], ['posts_full', 'front_page']]) {
    const { last_error } = await settledOf(server, `${database.id}/${source}`, name, 30_000);
    assert.equal(last_error, null);
  }
}

/// Request units that all requests to these databases have spent, the writes of rows included.
async function spent(server, databases) {
  let total = 0;
  for (const name of databases) {
    const { partitions } = expectStatus(await server.get(`/${encodeURIComponent(name)}/_throughput`), 200);
    for (const partition of partitions) total += partition.total;
  }
  return total;
}

describe('the blog by projections', () => {
  let server, client, byHand, projected, rename;
  const data = new BlogData({ users: 4, seed: 3 });
  const threads = [...data.threads()].slice(0, 60).map(({ post, comments, likes }) => ({ post, comments: comments.slice(0, 8), likes: likes.slice(0, 12) }));
  const nameOf = new Map(data.users.map(({ id, username }) => [id, username]));

  const write = async (version) => {
    const tally = new Tally();
    await forEachAtOnce(threads, AT_ONCE, async ({ post, comments, likes }) => {
      await version.c2(tally, post, { username: nameOf.get(post.userId) });
      for (const comment of comments) await version.c3(tally, { ...comment, userUsername: nameOf.get(comment.userId) });
      for (const like of likes) await version.c4(tally, { ...like, userUsername: nameOf.get(like.userId) });
    });
  };
  const handWritten = ['posts', 'users-and-posts', 'feed'].map((name) => `blog-v3/${name}`);
  const byProjections = ['posts', 'users', 'posts_full', 'feed'].map((name) => `blog-projected/${name}`);

  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    byHand = new V3();
    projected = new Projected(server);
    for (const version of [byHand, projected]) {
      await version.prepare(client, { database: version === byHand ? 'blog-v3' : 'blog-projected' });
      await version.loadUsers(data);
      rename ??= usernameFollower(version);
    }
    await rename.catchUp();
  });
  after(async () => {
    client?.dispose();
    await server?.stop();
  });

  const compare = async () => {
    for (const { id } of data.users) {
      assert.deepEqual(plain(await projected.q3(new Tally(), { id })), plain(await byHand.q3(new Tally(), { id })), 'posts of a user');
    }
    for (const { post } of threads.slice(0, 20)) {
      assert.deepEqual(plain([await projected.q2(new Tally(), post.id)]), plain([await byHand.q2(new Tally(), post.id)]), 'a post');
      assert.deepEqual(plain(await projected.q4(new Tally(), post.id)), plain(await byHand.q4(new Tally(), post.id)), 'comments');
      assert.deepEqual(plain(await projected.q5(new Tally(), post.id)), plain(await byHand.q5(new Tally(), post.id)), 'likes');
    }
    assert.deepEqual(plain(await projected.q6(new Tally())), plain(await byHand.q6(new Tally())), 'the front page');
  };

  test('the same answers, for fewer request units', async () => {
    const before = [await spent(server, handWritten), await spent(server, byProjections)];
    await write(byHand);
    await postFollower(byHand).catchUp();
    await write(projected);
    await settled(projected);
    const [hand, rows] = [await spent(server, handWritten) - before[0], await spent(server, byProjections) - before[1]];
    console.log(`request units: by hand ${Math.round(hand)}, by projections ${Math.round(rows)}`);
    assert.ok(rows < hand, `by hand ${hand}, by projections ${rows}`);
    await compare();
  });

  test('a new name of a user is everywhere', async () => {
    const renamed = { ...data.users[0], username: 'renamed' };
    await byHand.c1(new Tally(), renamed);
    const posts = postFollower(byHand);
    await rename.catchUp();
    await posts.catchUp();
    await projected.c1(new Tally(), renamed);
    await settled(projected);
    await compare();
    const [post] = await projected.q3(new Tally(), renamed);
    assert.equal(post.userUsername, 'renamed');
  });
});

test('the example with two newest posts', async (t) => {
  const server = await Server.startFor(t);
  const client = cosmosClient(server);
  t.after(() => client.dispose());
  const blog = new Projected(server, 2);
  await blog.prepare(client);
  const tally = new Tally();
  const post = (id, userId, day) => ({ id, type: 'post', postId: id, userId, content: 'x', creationDate: `2024-01-0${day}` });
  const on = (type) => (id, postId, userId) => ({ id, type, postId, userId, creationDate: '2024-02-01' });
  for (const [id, username] of [['u1', 'ann'], ['u2', 'bob']]) await blog.c1(tally, { id, username });
  for (const item of [post('p1', 'u1', 1), post('p2', 'u2', 2), post('p3', 'u1', 3)]) await blog.c2(tally, item);
  await blog.c3(tally, on('comment')('c1', 'p1', 'u2'));
  for (const [id, postId, userId] of [['l1', 'p1', 'u1'], ['l2', 'p1', 'u2'], ['l3', 'p3', 'u2']]) await blog.c4(tally, on('like')(id, postId, userId));
  const erase = (id, key) => blog.written.item(id, key).delete();

  const all = async (container) => (await new Tally().query(container, 'SELECT * FROM c')).sort((a, b) => (a.id < b.id ? -1 : 1));
  const shown = async () => {
    await settled(blog);
    return {
      full: (await all(blog.posts)).map(({ id, userUsername, commentCount, likeCount }) =>
        `${id} ${userUsername}${commentCount === undefined ? '' : ` ${commentCount}/${likeCount}`}`),
      users: (await all(blog.users)).map(({ id, userId, userUsername }) => `${userId}: ${id}${userUsername ? ` ${userUsername}` : ''}`),
      feed: (await blog.q6(new Tally())).map(({ id, likeCount }) => `${id} ${likeCount}`),
    };
  };
  assert.deepEqual(await shown(), {
    full: ['c1 bob', 'l1 ann', 'l2 bob', 'l3 bob', 'p1 ann 1/2', 'p2 bob 0/0', 'p3 ann 0/1'],
    users: ['u1: p1 ann', 'u2: p2 bob', 'u1: p3 ann', 'u1: u1', 'u2: u2'],
    feed: ['p3 1', 'p2 0'],
  });
  await blog.c1(tally, { id: 'u2', username: 'rob' });
  let now = await shown();
  assert.deepEqual(now.full, ['c1 rob', 'l1 ann', 'l2 rob', 'l3 rob', 'p1 ann 1/2', 'p2 rob 0/0', 'p3 ann 0/1']);
  assert.ok(now.users.includes('u2: p2 rob'));
  await erase('p3', 'p3');
  now = await shown();
  assert.deepEqual(now.feed, ['p2 0', 'p1 2']);  // the next one comes up
  assert.ok(!now.users.some((line) => line.includes('p3')) && now.full.includes('l3 rob'));
  await blog.c2(tally, post('p1', 'u1', 9));
  assert.deepEqual((await shown()).feed, ['p1 2', 'p2 0']);
  await erase('l2', 'p1');
  now = await shown();
  assert.ok(now.full.includes('p1 ann 1/1'));
  assert.deepEqual(now.feed, ['p1 1', 'p2 0']);
  // Clients cannot write rows: neither in a container of their own nor among documents of their own.
  const own = { ...post('p1', 'u1', 1), id: newId() };
  await assert.rejects(blog.posts.items.create(own), { code: 403 });
  await assert.rejects(blog.users.item('p1', 'u1').delete(), { code: 403 });
  await blog.users.items.create(own);
});
