// The documents and the queries of the regret tests: ten fields (independent, correlated, rare, in the order of time, at
// one end of it), and one to three conditions on them, often with an order. `mixed` queries also have alternatives, and
// ask for some fields only; they may use the composite indexes, too.

export const fields = ['zipf', 'group', 'rare', 'time', 'skew', 'even', 'few', 'anti', 'recent', 'early'];
export const composites = [['few', 'time'], ['group', 'even'], ['rare', 'time', 'skew']];

/// Random numbers that are the same for the same seed: `random` from 0 to 1, `below` whole ones, `pick` one of a list.
export function randomOf(seed) {
  // mulberry32
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6D2B79F5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (limit) => Math.floor(random() * limit);
  return { random, below, pick: (list) => list[below(list.length)] };
}

// Both are the same for the same seed and number of documents, if first all documents are asked for, then queries.
export class Workload {
  constructor({ documents: n, seed }) {
    const { random, below, pick } = randomOf(seed);
    const columns = Object.fromEntries(fields.map((name) => [name, new Int32Array(n)]));
    const valueOf = (field) => columns[field][below(n)];

    this.document = (i) => {
      const zipf = Math.floor(Math.min(Math.max(random(), 1e-9) ** (-1 / 0.8), 20_000));
      const rare = random();
      const values = {
        zipf,
        group: zipf % 64,
        rare: rare < 0.001 ? 2 : rare < 0.02 ? 1 : 0,
        time: i + below(64),
        skew: Math.floor(random() ** 2.5 * 2000),
        even: below(100_000),
        few: below(5),
        anti: zipf <= 3 ? below(50) : 50 + below(50),
        recent: i > n - n / 20 || i % 997 === 0 ? 1 + below(3) : 0,
        early: i < n / 20 ? 1 + below(3) : 0,
      };
      for (const name of fields) columns[name][i] = values[name];
      return { _id: `${String(zipf).padStart(5, '0')}-${i}`, ...values, text: 'x'.repeat(100) };
    };

    const conditionsOn = (count) => {
      const selector = {};
      while (Object.keys(selector).length < count) {
        const field = pick(fields);
        if (field in selector) continue;
        let value = valueOf(field);
        if (field === 'rare') value = below(3);
        if ((field === 'recent' || field === 'early') && below(4)) value = 1 + below(3);
        if (field === 'zipf' && below(2)) value = Math.floor(20_000 ** random());
        const range = ['time', 'even', 'skew', 'anti'].includes(field) && (field === 'time' || below(2));
        if (!range) selector[field] = below(12) ? value : { $in: [value, valueOf(field)] };
        else if (below(2)) selector[field] = { $gte: value };
        else selector[field] = { $gte: value, $lt: value + 1 + Math.floor((field === 'time' ? n : 100_000) ** random()) };
      }
      return selector;
    };

    this.query = () => {
      const query = { selector: conditionsOn(1 + below(3)), limit: pick([1, 20, 20, 20, 25, 100]) };
      if (below(10) < 6) query.sort = [{ [pick(['time', 'time', 'time', 'even', 'skew'])]: pick(['asc', 'desc']) }];
      if (below(20) === 0) query.skip = below(50);
      return query;
    };

    // Without an order, any index may be walked until the limit. Where matches stand in it is decided by the other fields:
    // `anti` is high only where `zipf` is, `early` and `recent` lie at one end of `time`.
    this.unorderedQuery = () => {
      const query = this.query();
      delete query.sort;
      if (below(2)) return query;
      const shareOfTime = () => Math.floor(n * random());
      const pairs = [
        () => ({ zipf: { $gte: 2 + below(6) }, anti: { $gte: 0, $lt: 50 + below(30) } }),
        () => ({ zipf: { $gte: 0, $lt: 4 + below(4) }, anti: { $gte: 30 + below(30) } }),
        () => ({ early: { $gte: 1 }, time: { $gte: Math.floor(n / (20 + 3 * random())) } }),
        () => ({ early: 1 + below(3), time: { $gte: Math.floor(n / 25), $lt: shareOfTime() } }),
        () => ({ recent: { $gte: 1 }, time: { $gte: shareOfTime() } }),
        () => ({ recent: 1 + below(3), time: { $gte: 0, $lt: Math.floor(0.94 * n + 0.06 * shareOfTime()) } }),
        () => ({ even: { $gte: below(100_000) }, time: { $gte: shareOfTime() } }),
        () => ({ skew: { $gte: below(2_000) }, zipf: { $gte: 2 + below(20) } }),
      ];
      query.selector = pick(pairs)();
      if (below(3) === 0) query.selector = { ...conditionsOn(1), ...query.selector };
      return query;
    };

    this.mixedQuery = () => {
      const query = this.query();
      const kind = below(4);
      if (kind === 0) {
        query.selector = { $or: [conditionsOn(1), conditionsOn(1 + below(2))], ...(below(2) ? conditionsOn(1) : {}) };
      }
      if (kind === 1) query.fields = ['_id', ...Object.keys(query.selector)];
      return query;
    };
  }
}

export function summary(documents, regrets, chargeOverBest) {
  const sorted = regrets.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return {
    documents, queries: sorted.length, median: at(0.5), p90: at(0.9), p99: at(0.99), worst: sorted.at(-1),
    above2: sorted.filter((one) => one > 2).length / sorted.length, chargeOverBest,
  };
}

export const lineOf = (row) => Object.entries(row).map(([name, value]) => `${name} ${Number(value.toFixed(3))}`).join(', ');
