// Items for random queries: few values, so that many are equal, and what makes pages hard, which is long texts that begin
// alike, mixed types, and properties that are missing.

const words = ['', 'a', 'ab', 'abc', 'b', 'B', 'zz', 'x y', "it's"];
const mixed = [null, false, true, 0, 1, -1, 2.5, '', 'a', '1'];

/// Values of each property, of the types that its name stands for in queries.mjs.
export function valueOf(random, name) {
  switch (name) {
    case 'num': return random.between(-2, 4);
    case 'wide': return random.between(0, 1000);
    case 'str': return random.pick(words);
    case 'long': return 'x'.repeat(random.weighted([[4, 260], [2, 1000], [1, 5000]])) + random.between(1, 9);
    case 'opt': return random.chance(0.6) ? random.between(0, 3) : undefined;
    case 'mix': return random.chance(0.8) ? random.pick(mixed) : undefined;
    case 'tags': return random.chance(0.85) ? random.times(random.below(4), () => random.weighted([[3, random.between(0, 3)], [1, random.pick(words)]])) : undefined;
    case 'in': return random.chance(0.8) ? clean({ x: random.between(0, 2), y: random.chance(0.5) ? random.pick(words) : undefined }) : undefined;
    default: throw new Error(`no property ${name}`);
  }
}

export const clean = (object) => JSON.parse(JSON.stringify(object));

export function itemsOf(random, count) {
  const keys = random.between(1, 12);
  const item = (_, i) => clean({
    id: `i${i}`, pk: `k${random.below(keys)}`,
    ...Object.fromEntries(['num', 'wide', 'str', 'long', 'opt', 'mix', 'tags', 'in'].map((name) => [name, valueOf(random, name)])),
  });
  return Array.from({ length: count }, item);
}
