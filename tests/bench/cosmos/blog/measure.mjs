// The article's table, measured again.
import { newId } from './data.mjs';
import { Tally } from './requests.mjs';
import { newComment, newLike } from './versions.mjs';

/// Milliseconds and request units that the article gives, in the order V1, V2, V3.
export const article = {
  c1: [[7, 5.71], [7, 5.71], [7, 5.71]],
  q1: [[2, 1], [2, 1], [2, 1]],
  c2: [[9, 8.76], [9, 8.76], [9, 8.76]],
  q2: [[9, 19.54], [2, 1], [2, 1]],
  q3: [[130, 619.41], [28, 201.54], [4, 6.46]],
  c3: [[7, 8.57], [7, 15.27], [7, 15.27]],
  q4: [[23, 27.72], [4, 7.72], [4, 7.72]],
  c4: [[6, 7.05], [7, 14.67], [7, 14.67]],
  q5: [[59, 58.92], [4, 8.92], [4, 8.92]],
  q6: [[306, 2063.54], [83, 532.33], [9, 16.97]],
};

export const meaning = {
  c1: 'create or edit a user', q1: 'retrieve a user', c2: 'create or edit a post', q2: 'retrieve a post',
  q3: "list a user's posts", c3: 'create a comment', q4: "list a post's comments", c4: 'like a post',
  q5: "list a post's likes", q6: 'list the 100 newest posts',
};

/// The requests of one version. What is written is new each time, and hangs on posts that are written here, so that the
/// posts which are read stay as the data set has them.
async function requestsOf(version, data, { user, thread }) {
  const author = data.users.find(({ id }) => id === thread.post.userId);
  const newPost = () => {
    const id = newId();
    return { ...thread.post, id, postId: id, creationDate: new Date(0).toISOString() };
  };
  const target = newPost();
  await version.c2(new Tally(), target, author);
  return {
    c1: (tally) => version.c1(tally, { id: newId(), username: 'a-new-name' }),
    q1: (tally) => version.q1(tally, user),
    c2: (tally) => version.c2(tally, newPost(), author),
    q2: (tally) => version.q2(tally, thread.post.id),
    q3: (tally) => version.q3(tally, user),
    c3: (tally) => version.c3(tally, newComment(target, user)),
    q4: (tally) => version.q4(tally, thread.post.id),
    c4: (tally) => version.c4(tally, newLike(target, user)),
    q5: (tally) => version.q5(tally, thread.post.id),
    q6: (tally) => version.q6(tally),
  };
}

/// { c1: { ms, charge, requests, results }, … }: of `repeats` runs each, after some that do not count, the median time;
/// the charge is their mean.
export async function measure(version, data, { repeats = 20, warmUps = 5, bar } = {}) {
  const requests = await requestsOf(version, data, data.subjects());
  const measured = {};
  for (const [name, request] of Object.entries(requests)) {
    const times = [];
    let charge = 0;
    let last;
    for (let i = -warmUps; i < repeats; ++i) {
      const tally = new Tally();
      const begun = performance.now();
      const result = await request(tally);
      const ms = performance.now() - begun;
      bar?.add();
      if (i < 0) continue;
      times.push(ms);
      charge += tally.charge / repeats;
      last = { requests: tally.requests, results: Array.isArray(result) ? result.length : 1 };
    }
    times.sort((a, b) => a - b);
    measured[name] = { ms: times[times.length >> 1], charge, ...last };
  }
  return measured;
}

/// The cells as [{ request, version, ms, charge, articleMs, articleCharge, deviation, faster, near }].
export function cellsOf(measurements) {
  return Object.entries(article).flatMap(([request, columns]) =>
    columns.flatMap(([articleMs, articleCharge], index) => {
      if (!measurements[index]) return [];
      const { ms, charge, ...counts } = measurements[index][request];
      const deviation = charge / articleCharge - 1;
      return [{
        request, version: `V${index + 1}`, ms, charge, articleMs, articleCharge, deviation, ...counts,
        faster: ms < articleMs, near: Math.abs(deviation) <= 0.25,
      }];
    }));
}

/// A table for people, in Markdown; `!` marks a cell that misses its goal.
export function table(cells) {
  const versions = [...new Set(cells.map(({ version }) => version))];
  const lines = [
    `| | | ${versions.join(' | ')} |`,
    `|---|---|${'---:|'.repeat(versions.length)}`,
  ];
  const text = ({ ms, charge, articleMs, articleCharge, deviation, faster, near }) =>
    `${ms.toFixed(ms < 10 ? 1 : 0)} ms${faster ? '' : ' !'} (${articleMs}), ${charge.toFixed(2)} RU${near ? '' : ' !'} ` +
    `(${articleCharge}: ${deviation < 0 ? '−' : '+'}${Math.abs(deviation * 100).toFixed(0)} %)`;
  for (const request of Object.keys(article)) {
    const row = cells.filter((cell) => cell.request === request).map(text);
    lines.push(`| ${request.toUpperCase()} | ${meaning[request]} | ${row.join(' | ')} |`);
  }
  return lines.join('\n');
}
