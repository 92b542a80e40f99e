// The article's data set, at any scale: users with 5 to 50 posts each, up to 25 comments and 100 likes per post.
import { Random } from '../../../support/random.mjs';

const POSTS_MIN = 5;
const POSTS_MAX = 50;
const COMMENTS_MAX = 25;
const LIKES_MAX = 100;
const POST_CHARACTERS = [400, 900];
const COMMENT_CHARACTERS = [150, 500];
const FIRST_POST = Date.UTC(2022, 0, 1);
const LAST_POST = Date.UTC(2024, 0, 1);
const HOUR_MS = 3_600_000;

const words =
  'partition key container query index request unit change feed like post comment user latency throughput item model read write scale document store range page front list author title'.split(
    ' ',
  );

/// The length of the summary that lists show in place of a post's content.
export const SUMMARY_CHARACTERS = 100;

/// Deterministic: the same seed and scale give the same items. Nothing but the users is kept; posts are made when asked
/// for, so the scale does not show in memory.
export class BlogData {
  constructor({ users = 200, seed = 1 } = {}) {
    this.seed = seed;
    this.users = Array.from({ length: users }, (_, index) => {
      const random = new Random(seed, 'user', index);
      return { id: identifier(random), username: `${random.pick(words)}-${random.pick(words)}-${index}` };
    });
  }

  postCountOf(userIndex) {
    return new Random(this.seed, 'posts', userIndex).between(POSTS_MIN, POSTS_MAX);
  }

  get postCount() {
    return this.users.reduce((sum, _, index) => sum + this.postCountOf(index), 0);
  }

  /// { post, comments, likes } of one post, as version 1 of the article's model has them, with their authors' indexes.
  thread(userIndex, postIndex) {
    const random = new Random(this.seed, 'post', userIndex, postIndex);
    const commentCount = random.between(0, COMMENTS_MAX);
    const likeCount = random.between(0, LIKES_MAX);
    const id = identifier(random);
    const created = random.between(FIRST_POST, LAST_POST);
    const post = {
      id, type: 'post', postId: id, userId: this.users[userIndex].id,
      title: text(random, 30, 60), content: text(random, ...POST_CHARACTERS), creationDate: date(created),
    };
    const reaction = (type, content) => ({
      id: identifier(random), type, postId: id, userId: random.pick(this.users).id, ...content,
      creationDate: date(created + random.below(100 * HOUR_MS)),
    });
    const comments = random.times(commentCount, () => reaction('comment', { content: text(random, ...COMMENT_CHARACTERS) }));
    const likes = random.times(likeCount, () => reaction('like', {}));
    return { post, comments, likes };
  }

  *threads() {
    for (let user = 0; user < this.users.length; ++user) {
      for (let post = 0; post < this.postCountOf(user); ++post) yield this.thread(user, post);
    }
  }

  /// What the article measured: its charges tell that the post had 20 comments (27.72 - 7.72 RU of lookups at 1 RU) and
  /// 50 likes (58.92 - 8.92), and that the user had some 24 posts. The nearest that this data set has.
  subjects() {
    this.found ??= this.#findSubjects();
    return this.found;
  }

  #findSubjects() {
    let user = 0;
    for (let i = 0; i < this.users.length; ++i) {
      if (Math.abs(this.postCountOf(i) - 24) < Math.abs(this.postCountOf(user) - 24)) user = i;
    }
    let best;
    for (const thread of this.threads()) {
      const distance = Math.abs(thread.comments.length - 20) + Math.abs(thread.likes.length - 50);
      if (!best || distance < best.distance) best = { distance, thread };
    }
    return { user: this.users[user], userPosts: this.postCountOf(user), thread: best.thread };
  }
}

export const newId = () => crypto.randomUUID();

/// A post as lists show it.
export function inShort(post) {
  return { ...post, content: post.content.slice(0, SUMMARY_CHARACTERS) };
}

function identifier(random) {
  return [8, 4, 4, 4, 12].map((digits) => random.hex(digits)).join('-');
}

function date(ms) {
  return new Date(ms).toISOString();
}

export function text(random, shortest, longest) {
  const length = random.between(shortest, longest);
  let result = random.pick(words);
  while (result.length < length) result += ` ${random.pick(words)}`;
  return result.slice(0, length);
}
