// Random numbers that a seed determines: the same seed gives the same workload.

/// A stream of its own for each name, so that what one client draws does not depend on what another one got.
export class Random {
  constructor(...name) {
    this.state = hash(name.join('/'));
  }
  /// In [0, 1). Mulberry32 (Tommy Ettinger, public domain).
  next() {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  below(end) {
    return Math.floor(this.next() * end);
  }
  between(first, last) {
    return first + this.below(last - first + 1);
  }
  chance(probability) {
    return this.next() < probability;
  }
  pick(items) {
    return items[this.below(items.length)];
  }
  /// `count` different items, in random order.
  sample(items, count) {
    const pool = [...items];
    const taken = [];
    while (taken.length < count && pool.length > 0) taken.push(pool.splice(this.below(pool.length), 1)[0]);
    return taken;
  }
  /// One of the names of `weights`, an object of name → weight.
  weighted(weights) {
    let left = this.next() * Object.values(weights).reduce((sum, weight) => sum + weight, 0);
    for (const [name, weight] of Object.entries(weights)) {
      left -= weight;
      if (left < 0) return name;
    }
    return Object.keys(weights).at(-1);
  }
}

// FNV-1a.
function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value | 0;
}
