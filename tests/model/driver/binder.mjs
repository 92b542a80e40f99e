// What the server chose itself, bound to what the model calls it: sequences and times. A binding is made at first sight
// and must hold for the rest of the run, over restarts too.

export class Binder {
  #feeds = new Map(); // kind and database → Map of model number → server number
  #tags = new Map(); // database → tag
  #constants = new Map();
  #bookmarks = new Map();

  /// What is wrong with `value` as the sequence `expected`, or undefined.
  sequence({ database, number, kind }, value) {
    const read = this.#read(database, kind, value);
    if (read.wrong) return read.wrong;
    const feed = this.#feed(database, kind);
    for (const [known, server] of feed) {
      if (Math.sign(known - number) !== Math.sign(server - read.number)) {
        return `sequence ${number} of the model is ${value}, but ${known} was ${server}`;
      }
    }
    feed.set(number, read.number);
    return undefined;
  }

  /// The same for any position from `low` to `high`.
  sequenceWithin({ database, low, high, kind }, value) {
    const read = this.#read(database, kind, value);
    if (read.wrong) return read.wrong;
    for (const [known, server] of this.#feed(database, 'update')) {
      if ((known <= low && server > read.number) || (known >= high && server < read.number)) {
        return `${value} is not between ${low} and ${high} of the model: ${known} was ${server}`;
      }
    }
    return undefined;
  }

  constant({ name, pattern }, value) {
    if (typeof value !== 'string' || !pattern.test(value)) return `expected ${pattern}, got ${JSON.stringify(value)}`;
    const known = this.#constants.get(name) ?? value;
    this.#constants.set(name, known);
    return known === value ? undefined : `${name} was ${known} and is ${value}`;
  }

  /// The server's text for a sequence of the model; undefined when none was seen.
  sequenceText(name, incarnation, number) {
    const database = { name, incarnation };
    const server = this.#feed(database, 'update').get(number);
    const tag = this.#tags.get(key(database)); // `_local_seq` shows the number alone
    return server === undefined || tag === undefined ? undefined : `${server}-${tag}`;
  }

  /// The same for the Cosmos DB API, which shows the number alone.
  positionText(name, incarnation, number) {
    const server = this.#feed({ name, incarnation }, 'update').get(number);
    return server === undefined ? undefined : `"${server}"`;
  }

  setBookmark(call, text) {
    this.#bookmarks.set(call, text);
  }
  bookmarkText(call) {
    return this.#bookmarks.get(call);
  }

  #feed(database, kind) {
    // `_local_seq` and the Cosmos DB API's positions are of the same feed, without its tag.
    const name = `${kind === 'purge' ? 'purge' : 'update'} ${key(database)}`;
    if (!this.#feeds.has(name)) this.#feeds.set(name, new Map());
    return this.#feeds.get(name);
  }

  #read(database, kind, value) {
    if (kind === 'local') {
      return Number.isInteger(value)
        ? { number: value }
        : { wrong: `expected a sequence number, got ${JSON.stringify(value)}` };
    }
    if (kind === 'position') {
      const number = /^"(\d+)"$/.exec(value)?.[1];
      return number !== undefined ? { number: Number(number) } : { wrong: `expected a position, got ${value}` };
    }
    // Where tombstones were dropped, what follows the dot says when the reader began. It is no part of the position.
    const [, number, tag] = /^(\d+)-([0-9a-f]+)(?:\.\d+)?$/.exec(value) ?? [];
    if (tag === undefined) return { wrong: `expected a sequence, got ${JSON.stringify(value)}` };
    const known = this.#tags.get(key(database)) ?? tag;
    this.#tags.set(key(database), known);
    return known === tag ? { number: Number(number) } : { wrong: `the tag was ${known} and is ${tag}` };
  }
}

const key = ({ name, incarnation }) => `${name} ${incarnation}`;
