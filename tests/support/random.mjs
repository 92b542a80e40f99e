// Random numbers that a printed seed brings back.

/// One stream of choices. Streams of different names are independent of each other, so that what one client draws does
/// not depend on what another got.
export class Random {
  #state;
  constructor(...seedAndNames) {
    this.#state = fnv1a(seedAndNames.join('/'));
  }

  /// From 0 up to 1: 32 random bits of mulberry32 (Tommy Ettinger, public domain).
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below = (end) => Math.floor(this.next() * end);
  between = (first, last) => first + this.below(last - first + 1);
  chance = (probability) => this.next() < probability;
  pick = (list) => list[this.below(list.length)];
  times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
  hex = (digits) => this.times(digits, () => this.below(16).toString(16)).join('');
  bytes = (size) => Buffer.from(this.times(size, () => this.below(256)));

  /// Up to `count` different elements, in random order.
  sample(list, count) {
    const rest = [...list];
    const taken = [];
    while (taken.length < count && rest.length > 0) taken.push(rest.splice(this.below(rest.length), 1)[0]);
    return taken;
  }

  /// One of { name: weight } or, where choices are not names, of [[weight, choice], …].
  weighted(choices) {
    const list = Array.isArray(choices) ? choices : Object.entries(choices).map(([name, weight]) => [weight, name]);
    let left = this.next() * list.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of list) {
      left -= weight;
      if (left < 0) return choice;
    }
    return list.at(-1)[1];
  }
}

function fnv1a(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

export const seedFrom = (text) => (text === undefined ? Date.now() % 1_000_000_000 : Number(text));
