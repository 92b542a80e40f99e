// The third version of the article's model without code: clients write users, posts, comments and likes as in the first
// version, and three projections keep what the third one has by stored procedures, a trigger and followers of the feed.
import { createContainer } from './requests.mjs';
import { FEED_LENGTH, V3 } from './versions.mjs';

/// `db`: name of the Cosmos DB database. Each: the container that is the source, the name, and the definition.
export const blogProjections = (db, length = FEED_LENGTH) => [
  ['posts', 'details', {
    joins: {
      author: { lookup: { db: `${db}/users`, key: '{userId}', id: '{userId}' } },
      comments: { count: { db: `${db}/posts`, where: "c.type = 'comment'", by: '{postId}', equals: '{postId}' }, when: "c.type = 'post'" },
      likes: { count: { db: `${db}/posts`, where: "c.type = 'like'", by: '{postId}', equals: '{postId}' }, when: "c.type = 'post'" },
    },
    target: { db: `${db}/posts_full`, exclusive: true },
    fields: { '*': true, userUsername: 'author.username', commentCount: 'comments', likeCount: 'likes' },
  }],
  ['posts_full', 'by_user', {
    where: "c.type = 'post'", include_derived: true, target: { db: `${db}/users` }, fields: { '*': true, content: 'LEFT(c.content, 100)' },
  }],
  ['posts_full', 'front_page', {
    where: "c.type = 'post'", include_derived: true, newest: { by: 'creationDate', n: length },
    target: { db: `${db}/feed`, exclusive: true }, fields: { '*': true, content: 'LEFT(c.content, 100)' },
  }],
];

/// Beside V3: the same answers from rows that Octavo writes. `server`: its CouchDB API has `_projection`.
export class Projected extends V3 {
  name = 'projected';

  constructor(server, length = FEED_LENGTH) {
    super();
    this.server = server;
    this.length = length;
  }

  async prepare(client, { database = 'blog-projected' } = {}) {
    this.database = (await client.databases.createIfNotExists({ id: database })).database;
    this.users = await createContainer(this.database, 'users', '/userId');
    this.written = await createContainer(this.database, 'posts', '/postId');
    this.posts = await createContainer(this.database, 'posts_full', '/postId');
    this.feed = await createContainer(this.database, 'feed', '/type');
    for (const [source, name, definition] of blogProjections(database, this.length)) {
      const { status, text } = await this.server.put(`${this.pathOf(source)}/_projection/${name}`, definition);
      if (status !== 201) throw new Error(text);
    }
  }

  pathOf(container) {
    return `/${encodeURIComponent(`${this.database.id}/${container}`)}`;
  }

  async c2(tally, post) {
    return tally.add(await this.written.items.upsert(post));
  }

  async c3(tally, { userUsername, ...comment }) {
    return tally.add(await this.written.items.create(comment));
  }

  async c4(tally, { userUsername, ...like }) {
    return tally.add(await this.written.items.create(like));
  }
}
