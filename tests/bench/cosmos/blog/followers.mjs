// What follows the change feeds: it carries a change of one container into the others.
import { ChangeFeedStartFrom } from '@azure/cosmos';
import { forEachAtOnce } from '../progress.mjs';
import { inShort } from './data.mjs';
import { sql, Tally } from './requests.mjs';

const ITEMS_PER_PAGE = 1000;
const REQUESTS_AT_ONCE = 16;

/// Hands the changes of a container since the beginning, or since the last call, to `apply(items)`.
export class Follower {
  constructor(container, apply, start = ChangeFeedStartFrom.Beginning()) {
    this.apply = apply;
    this.iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom: start, maxItemCount: ITEMS_PER_PAGE });
    this.changes = 0;
  }

  /// Until nothing is left; the number of changes.
  async catchUp(progress) {
    const changes = [];
    for (let page = await this.iterator.readNext(); page.statusCode === 200; page = await this.iterator.readNext()) {
      changes.push(...page.result);
      progress?.(page.result);
    }
    await this.apply(changes);
    this.changes += changes.length;
    return changes.length;
  }
}

/// V2 and V3: a user's new name goes into all posts, comments and likes of that user, by the stored procedure, which
/// runs in one logical partition at a time.
export function usernameFollower(version, start = ChangeFeedStartFrom.Now()) {
  return new Follower(
    version.users,
    async (items) => {
      const users = items.filter((item) => item.type === undefined || item.type === 'user');
      for (const { id, username } of users) {
        const query = sql('SELECT DISTINCT VALUE p.postId FROM p WHERE p.userId = @user', { user: id });
        const postIds = await new Tally().query(version.posts, query);
        await forEachAtOnce(postIds, REQUESTS_AT_ONCE, (postId) =>
          version.posts.scripts.storedProcedure('updateUsernames').execute(postId, [id, username]));
      }
    },
    start,
  );
}

/// V3: each new or changed post goes, in short, to its author's partition and to the feed, whose trigger drops the
/// oldest, but for the one that is being written: so the older ones come first.
export function postFollower(version, start = ChangeFeedStartFrom.Beginning()) {
  return new Follower(
    version.posts,
    async (items) => {
      const posts = items.filter(({ type }) => type === 'post').map(withoutSystemProperties).map(inShort);
      posts.sort((a, b) => (a.creationDate < b.creationDate ? -1 : 1));
      await forEachAtOnce(posts, REQUESTS_AT_ONCE, async (post) => {
        await version.users.items.upsert(post);
        await version.feed.items.upsert(post, { postTriggerInclude: ['truncateFeed'] });
      });
    },
    start,
  );
}

function withoutSystemProperties({ _rid, _self, _etag, _attachments, _ts, _lsn, ...item }) {
  return item;
}
