// Random numbers that a printed seed brings back.

/// One stream of numbers; streams of different names are independent of each other.
export class Random {
  #state;
  constructor(seed, name = '') {
    let hash = 2166136261 ^ seed;
    for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619);
    this.#state = hash >>> 0;
    for (let i = 0; i < 4; ++i) this.next();
  }

  /// Mulberry32: 32 random bits.
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let x = this.#state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return (x ^ (x >>> 14)) >>> 0;
  }

  /// From 0 to below `limit`.
  below = (limit) => this.next() % limit;
  between = (least, most) => least + this.below(most - least + 1);
  chance = (probability) => this.next() / 4294967296 < probability;
  pick = (list) => list[this.below(list.length)];
  hex = (digits) => Array.from({ length: digits }, () => this.below(16).toString(16)).join('');

  /// One key of { key: weight }.
  weighted(weights) {
    let at = this.below(Object.values(weights).reduce((sum, weight) => sum + weight, 0));
    for (const [key, weight] of Object.entries(weights)) {
      if ((at -= weight) < 0) return key;
    }
  }

  bytes(size) {
    const bytes = Buffer.alloc(size);
    for (let i = 0; i < size; ++i) bytes[i] = this.next();
    return bytes;
  }
}

export const seedFrom = (text) => (text === undefined ? Date.now() % 1_000_000_000 : Number(text));
