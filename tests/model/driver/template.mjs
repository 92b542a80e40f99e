// Calls are recorded with names for what differs from run to run, so that they can be replayed anywhere:
//   «a»              a database
//   «since a 1 5»    position 5 of the feed of its first incarnation
//   «bookmark 7»     the bookmark that call 7 was answered with

const TOKEN = /«([^»]*)»/g;

/// `speaker`: 'server' or 'model'.
export function render(text, { prefix, binder, speaker }) {
  return text?.replace(TOKEN, (_, token) => {
    const [kind, ...rest] = token.split(' ');
    if (kind === 'since') {
      const [name, incarnation, number] = [prefix + rest[0], Number(rest[1]), Number(rest[2])];
      const bound = binder.sequenceText(name, incarnation, number);
      if (bound === undefined) return '0';
      return speaker === 'server' ? bound : `${number}-${incarnation}`;
    }
    if (kind === 'bookmark') {
      const bound = binder.bookmarkText(Number(rest[0]));
      if (bound === undefined) return 'nil';
      return speaker === 'server' ? bound : `bookmark-${rest[0]}`;
    }
    return prefix + kind;
  });
}

export function renderCall(call, context) {
  const headers = Object.fromEntries(
    Object.entries(call.headers ?? {}).map(([name, value]) => [name, render(value, context)]),
  );
  return { ...call, target: render(call.target, context), headers, body: render(call.body, context) };
}

/// The call as a line of curl.
export function curlLine(call) {
  if (call.restart) return `# the server is stopped with ${call.restart} and started again`;
  const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const plain = (text) => text.replace(/«([a-z])»/g, 'model-$1');
  const words = ['curl', call.method === 'HEAD' ? '-I' : `-X ${call.method}`];
  const headers = { ...(call.body !== undefined && { 'Content-Type': 'application/json' }), ...call.headers };
  for (const [name, value] of Object.entries(headers)) words.push(`-H ${quote(`${name}: ${plain(value)}`)}`);
  if (call.body !== undefined) words.push(`-d ${quote(plain(call.body))}`);
  words.push(`"$U"${quote(plain(call.target))}`);
  return words.join(' ');
}
