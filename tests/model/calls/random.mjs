// A seeded source of choices, so that a sequence can be made again from its seed.

export class Random {
  #state;
  constructor(seed) {
    this.#state = seed >>> 0;
  }
  /// From 0 up to 1 (mulberry32).
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  below(count) {
    return Math.floor(this.next() * count);
  }
  between(low, high) {
    return low + this.below(high - low + 1);
  }
  chance(share) {
    return this.next() < share;
  }
  pick(list) {
    return list[this.below(list.length)];
  }
  /// Different elements, in random order.
  some(list, count) {
    const rest = [...list];
    const taken = [];
    while (taken.length < count && rest.length > 0) taken.push(rest.splice(this.below(rest.length), 1)[0]);
    return taken;
  }
  times(count, make) {
    return Array.from({ length: count }, (_, i) => make(i));
  }
  /// One of [[weight, choice], …].
  weighted(choices) {
    let at = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      at -= weight;
      if (at < 0) return choice;
    }
    return choices.at(-1)[1];
  }
}
