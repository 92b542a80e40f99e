/// A bar on standard error, drawn again at most ten times a second; only lines at the end where that is no terminal.
export class ProgressBar {
  #label;
  #total;
  #done = 0;
  #begun = performance.now();
  #drawn = 0;
  #stream;

  constructor(label, total, stream = process.stderr) {
    this.#label = label;
    this.#total = Math.max(total, 1);
    this.#stream = stream;
  }

  add(count = 1) {
    this.#done += count;
    const now = performance.now();
    if (this.#stream?.isTTY && now - this.#drawn >= 100) {
      this.#drawn = now;
      this.#stream.write(`\r${this.#text()}`);
    }
  }

  end() {
    this.#stream?.write(`${this.#stream.isTTY ? '\r' : ''}${this.#text()}\n`);
  }

  #text() {
    const share = Math.min(this.#done / this.#total, 1);
    const seconds = (performance.now() - this.#begun) / 1000;
    const bar = '#'.repeat(Math.round(share * 30)).padEnd(30, '.');
    const rate = Math.round(this.#done / Math.max(seconds, 0.001));
    return `${this.#label.padEnd(28)} [${bar}] ${this.#done} of ${this.#total}, ${rate}/s, ${seconds.toFixed(0)} s `;
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/// Runs `work(item)` over all items, at most `limit` at a time. Ends with the first error.
export async function forEachAtOnce(items, limit, work) {
  const iterator = items[Symbol.iterator]();
  const results = [];
  let next = 0;
  const runner = async () => {
    for (let step = iterator.next(); !step.done; step = iterator.next()) {
      const index = next++;
      results[index] = await work(step.value, index);
    }
  };
  await Promise.all(Array.from({ length: limit }, runner));
  return results;
}
