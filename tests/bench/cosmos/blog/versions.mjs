// The three versions of the article's model. Each has the ten access patterns, c1 to q6; all take a Tally, which knows
// afterwards what the requests cost. FEED_LENGTH is the article's "100 most recent posts".
import { forEachAtOnce } from '../progress.mjs';
import { inShort, newId } from './data.mjs';
import { postFollower } from './followers.mjs';
import { createComment, createLike, truncateFeed, updateUsernames } from './functions.mjs';
import { all, createContainer, sql } from './requests.mjs';

export const FEED_LENGTH = 100;
const REQUESTS_AT_ONCE = 24;
const OPERATIONS_PER_BATCH = 100;

const newestPosts = sql(`SELECT TOP ${FEED_LENGTH} * FROM p WHERE p.type = 'post' ORDER BY p.creationDate DESC`);
// The client merges what the partitions have, in pages of the length asked for, as the article's did.
const mergedByClient = { forceQueryPlan: true, maxItemCount: FEED_LENGTH, maxDegreeOfParallelism: -1 };

/// V1: users by id; posts, comments and likes by post. Everything else is looked up.
export class V1 {
  name = 'V1';

  /// Creates the containers. `throughput`: of the posts, which decides their number of physical partitions.
  async prepare(client, { database = 'blog-v1', throughput } = {}) {
    this.database = (await client.databases.createIfNotExists({ id: database })).database;
    this.users = await createContainer(this.database, this.usersId, this.usersKey);
    this.posts = await createContainer(this.database, 'posts', '/postId', throughput);
  }

  usersId = 'users';
  usersKey = '/id';

  userItem(user) {
    return { id: user.id, username: user.username };
  }

  /// The items of a post with all that hangs on it.
  threadItems({ post, comments, likes }) {
    return [post, ...comments, ...likes];
  }

  async loadUsers(data, bar) {
    await forEachAtOnce(data.users, REQUESTS_AT_ONCE, async (user) => {
      await this.users.items.upsert(this.userItem(user));
      bar?.add();
    });
  }

  /// Everything about posts. `bulk`: a BulkLoader for a quick start; without it by batches, which need no second port.
  async loadPosts(data, bar, bulk) {
    if (bulk) return bulk.load(this.posts, this.groups(data), (count) => bar?.add(count));
    await forEachAtOnce(data.threads(), REQUESTS_AT_ONCE / 2, async (thread) => {
      const items = this.threadItems(thread, data);
      for (let at = 0; at < items.length; at += OPERATIONS_PER_BATCH) {
        const operations = items.slice(at, at + OPERATIONS_PER_BATCH).map((resourceBody) => ({ operationType: 'Upsert', resourceBody }));
        const { code, result } = await this.posts.items.batch(operations, thread.post.id);
        if (code !== 200 || result.some(({ statusCode }) => statusCode >= 300)) {
          throw new Error(`a batch of ${operations.length} items failed: ${code} ${JSON.stringify(result).slice(0, 300)}`);
        }
      }
      bar?.add();
    });
  }

  *groups(data) {
    for (const thread of data.threads()) yield { key: thread.post.id, items: this.threadItems(thread, data) };
  }

  async c1(tally, user) {
    return tally.add(await this.users.items.upsert(this.userItem(user)));
  }

  q1(tally, user) {
    return tally.read(this.users, user.id, user.id);
  }

  /// `author`: whose name the versions that keep it put into the post.
  async c2(tally, post, author) {
    return tally.add(await this.posts.items.upsert(this.newPost(post, author)));
  }

  newPost(post) {
    return post;
  }

  async q2(tally, postId) {
    const post = await tally.read(this.posts, postId, postId);
    return this.completed(tally, post);
  }

  async q3(tally, user) {
    const posts = await tally.query(this.posts, sql("SELECT * FROM p WHERE p.userId = @user AND p.type = 'post'", { user: user.id }), all);
    const { username } = await this.q1(tally, user);
    await forEachAtOnce(posts, REQUESTS_AT_ONCE, (post) => this.count(tally, post));
    return posts.map((post) => inShort({ ...post, userUsername: username }));
  }

  async c3(tally, comment) {
    return tally.add(await this.posts.items.create(comment));
  }

  async q4(tally, postId) {
    return this.named(tally, await this.itemsOf(tally, postId, 'comment'));
  }

  async c4(tally, like) {
    return tally.add(await this.posts.items.create(like));
  }

  async q5(tally, postId) {
    return this.named(tally, await this.itemsOf(tally, postId, 'like'));
  }

  async q6(tally) {
    const posts = await tally.query(this.posts, newestPosts, mergedByClient);
    await forEachAtOnce(posts, REQUESTS_AT_ONCE, (post) => this.completed(tally, post));
    return posts.map(inShort);
  }

  itemsOf(tally, postId, type) {
    const query = sql('SELECT * FROM p WHERE p.postId = @post AND p.type = @type', { post: postId, type });
    return tally.query(this.posts, query, { ...all, partitionKey: postId });
  }

  async countOf(tally, postId, type) {
    const query = sql('SELECT VALUE COUNT(1) FROM p WHERE p.postId = @post AND p.type = @type', { post: postId, type });
    const [count] = await tally.query(this.posts, query, { partitionKey: postId });
    return count;
  }

  async count(tally, post) {
    [post.commentCount, post.likeCount] = await Promise.all([
      this.countOf(tally, post.id, 'comment'), this.countOf(tally, post.id, 'like'),
    ]);
    return post;
  }

  async completed(tally, post) {
    const [user] = await Promise.all([tally.read(this.users, post.userId, post.userId), this.count(tally, post)]);
    post.userUsername = user.username;
    return post;
  }

  async named(tally, items) {
    await forEachAtOnce(items, REQUESTS_AT_ONCE, async (item) => {
      item.userUsername = (await tally.read(this.users, item.userId, item.userId)).username;
    });
    return items;
  }
}

/// V2: posts carry their author's name and their counts, comments and likes their author's name. Stored procedures keep
/// the counts, the change feed of the users the names.
export class V2 extends V1 {
  name = 'V2';

  async prepare(client, { database = 'blog-v2', throughput } = {}) {
    await super.prepare(client, { database, throughput });
    for (const body of [createComment, createLike, updateUsernames]) {
      await replaceOrCreate(this.posts.scripts.storedProcedures, this.posts.scripts.storedProcedure(body.name), { id: body.name, body });
    }
  }

  threadItems({ post, comments, likes }, data) {
    const names = this.namesOf(data);
    const named = (item) => ({ ...item, userUsername: names.get(item.userId) });
    return [{ ...named(post), commentCount: comments.length, likeCount: likes.length }, ...comments.map(named), ...likes.map(named)];
  }

  namesOf(data) {
    if (this.namesData !== data) {
      this.namesData = data;
      this.names = new Map(data.users.map(({ id, username }) => [id, username]));
    }
    return this.names;
  }

  newPost(post, author) {
    return { ...post, userUsername: author.username, commentCount: 0, likeCount: 0 };
  }

  q2(tally, postId) {
    return tally.read(this.posts, postId, postId);
  }

  async q3(tally, user) {
    const posts = await tally.query(this.posts, sql("SELECT * FROM p WHERE p.userId = @user AND p.type = 'post'", { user: user.id }), all);
    return posts.map(inShort);
  }

  async c3(tally, comment) {
    return tally.add(await this.posts.scripts.storedProcedure('createComment').execute(comment.postId, [comment.postId, comment]));
  }

  q4(tally, postId) {
    return this.itemsOf(tally, postId, 'comment');
  }

  async c4(tally, like) {
    return tally.add(await this.posts.scripts.storedProcedure('createLike').execute(like.postId, [like.postId, like]));
  }

  q5(tally, postId) {
    return this.itemsOf(tally, postId, 'like');
  }

  async q6(tally) {
    return (await tally.query(this.posts, newestPosts, mergedByClient)).map(inShort);
  }
}

/// V3: beside the posts of V2, a container that holds, by user, the users and short copies of their posts, and one that
/// holds the newest posts in one partition. Both follow the change feed of the posts.
export class V3 extends V2 {
  name = 'V3';
  usersId = 'users-and-posts';
  usersKey = '/userId';

  async prepare(client, options) {
    await super.prepare(client, options);
    this.feed = await createContainer(this.database, 'feed', '/type');
    await replaceOrCreate(this.feed.scripts.triggers, this.feed.scripts.trigger('truncateFeed'), {
      id: 'truncateFeed', triggerOperation: 'All', triggerType: 'Post', body: truncateFeed,
    });
  }

  userItem(user) {
    return { id: user.id, type: 'user', userId: user.id, username: user.username };
  }

  /// What the followers of the posts' change feed bring about: the short copies by user, and the feed's newest ones.
  async loadPosts(data, bar, bulk) {
    if (!bulk) return postFollower(this).catchUp((items) => bar?.add(items.filter(({ type }) => type === 'post').length));
    const newest = new Newest(FEED_LENGTH);
    await bulk.load(this.users, this.shortPosts(data, newest), (count) => bar?.add(count));
    await bulk.load(this.feed, [{ key: 'post', items: newest.posts }]);
  }

  *shortPosts(data, newest) {
    for (const thread of data.threads()) {
      const post = inShort(this.threadItems(thread, data)[0]);
      newest.add(post);
      yield { key: post.userId, items: [post] };
    }
  }

  async q3(tally, user) {
    const query = sql("SELECT * FROM p WHERE p.userId = @user AND p.type = 'post'", { user: user.id });
    return tally.query(this.users, query, { ...all, partitionKey: user.id });
  }

  async q6(tally) {
    return tally.query(this.feed, sql(`SELECT TOP ${FEED_LENGTH} * FROM p ORDER BY p.creationDate DESC`), { ...all, partitionKey: 'post' });
  }
}

class Newest {
  posts = [];

  constructor(length) {
    this.length = length;
  }

  add(post) {
    if (this.posts.length === this.length && post.creationDate <= this.posts.at(-1).creationDate) return;
    const at = this.posts.findIndex(({ creationDate }) => creationDate < post.creationDate);
    this.posts.splice(at < 0 ? this.posts.length : at, 0, post);
    this.posts.length = Math.min(this.posts.length, this.length);
  }
}

export const newComment = (post, user) => ({
  id: newId(), type: 'comment', postId: post.id, userId: user.id, userUsername: user.username,
  content: post.content.slice(0, 300), creationDate: new Date().toISOString(),
});

export const newLike = (post, user) => ({
  id: newId(), type: 'like', postId: post.id, userId: user.id, userUsername: user.username, creationDate: new Date().toISOString(),
});

async function replaceOrCreate(collection, existing, definition) {
  try {
    await collection.create(definition);
  } catch (error) {
    if (error.code !== 409) throw error;
    await existing.replace(definition);
  }
}
