// Makes a failing list of calls short (delta debugging): whole calls go first, then parts of what is left. A candidate
// is taken when the same call still fails.
import { renameRevisions } from './session.mjs';

/// `fails(calls, written)` replays calls: see replay in session.mjs.
export async function shrink(calls, { call: failing, wrong, written }, fails, { deadline = Date.now() + 300_000 } = {}) {
  let current = calls.slice(0, calls.indexOf(failing) + 1);
  let revisions = written;
  const accept = async (candidate) => {
    if (Date.now() > deadline) return false;
    const failure = await fails(candidate, revisions);
    if (failure?.call.n !== failing.n || kindOf(failure.wrong) !== kindOf(wrong)) return false;
    current = failure.calls;
    revisions = failure.written;
    return true;
  };
  for (let size = current.length - 1; size >= 1; size = Math.floor(size / 2)) {
    // From the back: what is near the failure is kept longest otherwise.
    for (let end = current.length - 1; end > 0;) {
      const start = Math.max(0, end - size);
      if (!(await accept([...current.slice(0, start), ...current.slice(end)]))) end = start;
      else end = Math.min(start, current.length - 1);
    }
  }
  for (let improved = true; improved && Date.now() < deadline;) {
    improved = false;
    for (let i = current.length - 1; i >= 0; --i) {
      const isLast = i === current.length - 1;
      if (!isLast && ((await accept(without(current, i))) || (await accept(withoutEdit(current, i, revisions))))) {
        improved = true;
        continue;
      }
      for (let again = true; again && Date.now() < deadline;) {
        again = false;
        for (const simpler of simplerCalls(current[i])) {
          if (!(await accept(replaced(current, i, simpler)))) continue;
          again = improved = true;
          break;
        }
      }
    }
  }
  return current;
}

/// Where the replies differ, whatever the values: a candidate that fails for another reason is another failure.
const kindOf = (wrong) => wrong.replace(/: .*/s, '').replace(/\d+/g, '');

const without = (list, i) => [...list.slice(0, i), ...list.slice(i + 1)];
const replaced = (list, i, element) => [...list.slice(0, i), element, ...list.slice(i + 1)];

/// Without an edit, and what was made on top of it is made on top of what it was made on.
function withoutEdit(calls, i, written) {
  const base = /\d+-[0-9a-f]{32}/.exec(JSON.stringify(calls[i]))?.[0];
  const made = [...written].filter(([place]) => place.startsWith(`${calls[i].n} `)).map(([, rev]) => rev);
  if (base === undefined || made.length !== 1) return without(calls, i);
  const renamed = new Map([[made[0], base]]);
  return without(calls, i).map((call) => renameRevisions(call, renamed));
}

/// The call with one thing less, in each way.
function* simplerCalls(call) {
  if (call.target === undefined) return;  // a restart, for example
  const [path, query] = call.target.split('?');
  const pairs = query === undefined ? [] : query.split('&');
  for (let i = 0; i < pairs.length; ++i) {
    const rest = without(pairs, i);
    yield { ...call, target: rest.length > 0 ? `${path}?${rest.join('&')}` : path };
  }
  for (const name of Object.keys(call.headers ?? {})) {
    const { [name]: dropped, ...headers } = call.headers;
    yield { ...call, headers };
  }
  if (call.body === undefined) return;
  let value;
  try {
    value = JSON.parse(call.body);
  } catch {
    return;
  }
  for (const simpler of simplerValues(value)) yield { ...call, body: JSON.stringify(simpler) };
}

function* simplerValues(value) {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; ++i) yield without(value, i);
    for (let i = 0; i < value.length; ++i) for (const inner of simplerValues(value[i])) yield replaced(value, i, inner);
  } else if (typeof value === 'object' && value !== null) {
    for (const name of Object.keys(value)) {
      if (name === '_id') continue; // the server would make one, and need not tell
      const { [name]: dropped, ...rest } = value;
      yield rest;
    }
    for (const [name, content] of Object.entries(value)) {
      for (const inner of simplerValues(content)) yield { ...value, [name]: inner };
    }
  } else if (typeof value === 'string' && value.length > 1 && !/^\d+-/.test(value)) {
    yield value.slice(0, 1);
  }
}
