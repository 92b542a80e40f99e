// Calls are recorded with names for what differs from run to run, so that they can be replayed anywhere:
//   «a»              a database
//   «since a 1 5»    position 5 of the feed of its first incarnation
//   «bookmark 7»     the bookmark that call 7 was answered with
//   «position d 1 5» the same position of the feed as the Cosmos DB API writes it
//   «continuation 7» the continuation of the page that call 7 was answered with

const TOKEN = /«([^»]*)»/g;

/// `speaker`: 'server' or 'model'.
export function render(text, { prefix, binder, speaker }) {
  return text?.replace(TOKEN, (_, token) => {
    const [kind, ...rest] = token.split(' ');
    if (kind === 'continuation') {
      const bound = binder.bookmarkText(Number(rest[0]));
      if (bound === undefined) return '';
      return speaker === 'server' ? bound : token.replace(' ', '-');
    }
    const [name, incarnation, number] = [nameOf(prefix, rest[0] ?? ''), Number(rest[1]), Number(rest[2])];
    if (kind === 'position') {
      const bound = binder.positionText(name, incarnation, number);
      if (bound === undefined) return '"0"';
      return speaker === 'server' ? bound : `"${number}"`;
    }
    if (kind === 'since') {
      const bound = binder.sequenceText(name, incarnation, number);
      if (bound === undefined) return '0';
      return speaker === 'server' ? bound : `${number}-${incarnation}`;
    }
    if (kind === 'bookmark') {
      const bound = binder.bookmarkText(Number(rest[0]));
      if (bound === undefined) return 'nil';
      return speaker === 'server' ? bound : `bookmark-${rest[0]}`;
    }
    return nameOf(prefix, kind);
  });
}

/// What a letter stands for: `d` and `e` are containers, and their names `{database}/{container}`.
const CONTAINERS = { d: 'd/items', e: 'd/extra' };
export const nameOf = (prefix, letter) => prefix + (CONTAINERS[letter] ?? letter);
const inPath = (target, prefix) =>
  target.replace(/«([de])»/g, (_, letter) => prefix + CONTAINERS[letter].replace('/', '%2F'));

export function renderCall(call, context) {
  const headers = Object.fromEntries(
    Object.entries(call.headers ?? {}).map(([name, value]) => [name, render(value, context)]),
  );
  const target = render(inPath(call.target, '«»'), context);
  return { ...call, target, headers, body: render(call.body, context) };
}

/// The call as a line of curl.
export function curlLine(call) {
  if (call.restart) return `# the server is stopped with ${call.restart} and started again`;
  if (call.forget) return '# the tombstones of databases with one physical partition are dropped (tombstone_retention)';
  const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const plain = (text) => text.replace(/«([a-z]?)»/g, (_, letter) => nameOf('model-', letter));
  const words = ['curl', call.method === 'HEAD' ? '-I' : `-X ${call.method}`];
  const headers = { ...(call.body !== undefined && { 'Content-Type': 'application/json' }), ...call.headers };
  for (const [name, value] of Object.entries(headers)) words.push(`-H ${quote(`${name}: ${plain(value)}`)}`);
  if (call.body !== undefined) words.push(`-d ${quote(plain(call.body))}`);
  // Calls of the Cosmos DB API need their signature, and a server of its own key: see cosmosRequest of the tests.
  const url = call.api === 'cosmos' ? '"$COSMOS"' : '"$U"';
  words.push(url + quote(plain(inPath(call.target, 'model-'))));
  if (call.blind) words.push('  # this item expires in a second or two: wait before other calls');
  return words.join(' ');
}
