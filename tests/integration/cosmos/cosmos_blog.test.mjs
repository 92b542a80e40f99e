// The blog of Azure's article in its three versions, on a small data set: that each answers rightly, and what it costs.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BulkLoader } from '../bench/cosmos/blog/bulk.mjs';
import { BlogData, inShort, newId, SUMMARY_CHARACTERS } from '../bench/cosmos/blog/data.mjs';
import { postFollower, usernameFollower } from '../bench/cosmos/blog/followers.mjs';
import { cellsOf, measure, table } from '../bench/cosmos/blog/measure.mjs';
import { Tally } from '../bench/cosmos/blog/requests.mjs';
import { FEED_LENGTH, newComment, newLike, V1, V2, V3 } from '../bench/cosmos/blog/versions.mjs';
import { cosmosClient } from '../cosmos.mjs';
import { patience, Server } from '../harness.mjs';

const ids = (items) => items.map(({ id }) => id).sort();

describe('the blog', () => {
  let server, client;
  const data = new BlogData({ users: 6 });
  const threads = [...data.threads()];
  const { user, userPosts, thread } = data.subjects();
  const nameOf = new Map(data.users.map(({ id, username }) => [id, username]));
  const newest = threads.map(({ post }) => post).sort((a, b) => (a.creationDate < b.creationDate ? 1 : -1)).slice(0, FEED_LENGTH);
  const [v1, v2, v3] = [new V1(), new V2(), new V3()];

  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    for (const version of [v1, v2]) {
      await version.prepare(client, { throughput: 20_000 });
      await version.loadUsers(data);
      await version.loadPosts(data);
    }
    await v3.prepare(client);
    await v3.loadUsers(data);
    await postFollower(v3).catchUp();
  });
  after(async () => {
    client?.dispose();
    await server?.stop();
  });

  test('the generator keeps the article\'s bounds, and makes the same data again', () => {
    assert.ok(threads.length > FEED_LENGTH, `${threads.length} posts`);
    for (const { comments, likes } of threads) assert.ok(comments.length <= 25 && likes.length <= 100);
    for (let i = 0; i < data.users.length; ++i) assert.ok(data.postCountOf(i) >= 5 && data.postCountOf(i) <= 50);
    assert.deepEqual([...new BlogData({ users: 6 }).threads()], threads);
    assert.notDeepEqual(new BlogData({ users: 6, seed: 2 }).users, data.users);
  });

  test('every item is stored', async () => {
    const items = threads.reduce((sum, { comments, likes }) => sum + 1 + comments.length + likes.length, 0);
    for (const { posts } of [v1, v2]) {
      assert.deepEqual(await new Tally().query(posts, 'SELECT VALUE COUNT(1) FROM c'), [items]);
    }
  });

  test('a bulk load stores what the batches, the followers and the trigger do', async () => {
    const withoutSystem = ({ _rid, _self, _etag, _attachments, _ts, ...item }) => item;
    const allOf = async (container) => (await new Tally().query(container, 'SELECT * FROM c')).map((item) => JSON.stringify(withoutSystem(item))).sort();
    const bulk = new BulkLoader(server.url);
    for (const [version, loaded] of [[new V1(), v1], [new V2(), v2], [new V3(), v3]]) {
      await version.prepare(client, { database: `bulk-${version.name}` });
      const before = (await version.posts.read()).resource.indexingPolicy;
      await version.loadUsers(data);
      await version.loadPosts(data, undefined, bulk);
      const containers = version.name === 'V3' ? ['users', 'feed'] : ['users', 'posts'];
      for (const name of containers) assert.deepEqual(await allOf(version[name]), await allOf(loaded[name]), `${version.name}: ${name}`);
      assert.deepEqual((await version.posts.read()).resource.indexingPolicy, before);
    }
  });

  for (const version of [v1, v2, v3]) {
    test(`${version.name}: a user`, async () => {
      assert.equal((await version.q1(new Tally(), user)).username, user.username);
    });

    test(`${version.name}: a post with its author's name and its counts`, async () => {
      const post = await version.q2(new Tally(), thread.post.id);
      assert.equal(post.content, thread.post.content);
      assert.equal(post.userUsername, nameOf.get(thread.post.userId));
      assert.equal(post.commentCount, thread.comments.length);
      assert.equal(post.likeCount, thread.likes.length);
    });

    test(`${version.name}: a user's posts, in short`, async () => {
      const posts = await version.q3(new Tally(), user);
      const expected = threads.filter(({ post }) => post.userId === user.id);
      assert.equal(posts.length, userPosts);
      assert.deepEqual(ids(posts), ids(expected.map(({ post }) => post)));
      for (const post of posts) {
        const { comments, likes } = expected.find((each) => each.post.id === post.id);
        assert.ok(post.content.length <= SUMMARY_CHARACTERS);
        assert.equal(post.userUsername, user.username);
        assert.deepEqual([post.commentCount, post.likeCount], [comments.length, likes.length]);
      }
    });

    test(`${version.name}: a post's comments and likes with the names of those who made them`, async () => {
      for (const [items, expected] of [
        [await version.q4(new Tally(), thread.post.id), thread.comments],
        [await version.q5(new Tally(), thread.post.id), thread.likes],
      ]) {
        assert.deepEqual(ids(items), ids(expected));
        for (const item of items) assert.equal(item.userUsername, nameOf.get(item.userId));
      }
    });

    test(`${version.name}: the ${FEED_LENGTH} newest posts, newest first`, async () => {
      const posts = await version.q6(new Tally());
      assert.deepEqual(posts.map(({ id }) => id), newest.map(({ id }) => id));
      for (const post of posts) {
        const { comments, likes } = threads.find((each) => each.post.id === post.id);
        assert.equal(post.userUsername, nameOf.get(post.userId));
        assert.deepEqual([post.commentCount, post.likeCount], [comments.length, likes.length]);
        assert.equal(post.content, inShort(post).content);
      }
    });
  }

  test('V3: the feed holds the newest posts and no others', async () => {
    const kept = await new Tally().query(v3.feed, 'SELECT * FROM f');
    assert.deepEqual(ids(kept), ids(newest));
  });

  test('comments and likes count themselves, or nothing happens', async () => {
    const id = newId();
    const post = { ...thread.post, id, postId: id, creationDate: '2000-01-01T00:00:00.000Z' };
    await v2.c2(new Tally(), post, user);
    await Promise.all([
      ...Array.from({ length: 4 }, () => v2.c3(new Tally(), newComment(post, user))),
      ...Array.from({ length: 4 }, () => v2.c4(new Tally(), newLike(post, user))),
    ]);
    const written = await v2.q2(new Tally(), id);
    assert.deepEqual([written.commentCount, written.likeCount], [4, 4]);
    assert.equal((await v2.q4(new Tally(), id)).length, 4);
    // The comment is there already: the counter must not rise either.
    const [comment] = await v2.q4(new Tally(), id);
    await assert.rejects(v2.c3(new Tally(), { ...newComment(post, user), id: comment.id }));
    assert.equal((await v2.q2(new Tally(), id)).commentCount, 4);
  });

  test('V3: a new post comes to its author\'s page and to the feed, which stays as long as it was', async () => {
    const follower = postFollower(v3);
    await follower.catchUp();
    const id = newId();
    const post = { ...thread.post, id, postId: id, userId: user.id, creationDate: '2030-01-01T00:00:00.000Z' };
    await v3.c2(new Tally(), post, user);
    await v3.c3(new Tally(), newComment(post, user));
    assert.ok((await follower.catchUp()) >= 2);
    const feed = await v3.q6(new Tally());
    assert.equal(feed.length, FEED_LENGTH);
    assert.equal(feed[0].id, id);
    assert.equal(feed[0].commentCount, 1);
    assert.ok(!feed.some((each) => each.id === newest.at(-1).id), 'the oldest has gone');
    assert.deepEqual(await new Tally().query(v3.feed, 'SELECT VALUE COUNT(1) FROM f'), [FEED_LENGTH]);
    assert.ok((await v3.q3(new Tally(), user)).some((each) => each.id === id));
  });

  test('a new name comes to all that the user has written', async () => {
    const follower = usernameFollower(v2);
    await follower.catchUp();
    await v2.c1(new Tally(), { ...user, username: 'renamed' });
    assert.equal(await follower.catchUp(), 1);
    for (const post of await v2.q3(new Tally(), user)) assert.equal(post.userUsername, 'renamed');
    const written = await new Tally().query(v2.posts, { query: 'SELECT c.userUsername FROM c WHERE c.userId = @user', parameters: [{ name: '@user', value: user.id }] });
    assert.ok(written.length > userPosts);
    assert.deepEqual([...new Set(written.map(({ userUsername }) => userUsername))], ['renamed']);
  });

  test('what needs no fan-out costs what the article says, within a quarter', async () => {
    const measurements = [];
    for (const version of [v1, v2, v3]) measurements.push(await measure(version, data, { repeats: 2, warmUps: 0 }));
    const cells = cellsOf(measurements);
    assert.equal(cells.length, 30);
    assert.equal(table(cells).split('\n').length, 12);
    if (patience > 1) return;  // charges have functions' time in them, which sanitizers make long
    const fanOut = ({ request, version }) => version !== 'V3' && ['q3', 'q6'].includes(request);
    for (const cell of cells.filter((each) => !fanOut(each))) {
      assert.ok(cell.near, `${cell.request} ${cell.version}: ${cell.charge} RU, ${cell.articleCharge} in the article`);
    }
  });
});
