// Databases that come and go beside a history, with writes that race with their end, for followers of _db_updates.
import { Random } from '../support/random.mjs';
import { Connection } from './requests.mjs';

const NAMES = 4;
const WRITERS = 3;

export class DatabaseChurn {
  constructor({ server, history, seed, number }) {
    Object.assign(this, { server, history, number });
    this.random = new Random(seed, 'churn');
    this.databases = new Map();
  }
  stop() {
    this.stopped = true;
  }
  async work() {
    const connection = new Connection(this.server, this.history);
    const writers = Array.from({ length: WRITERS }, () => new Connection(this.server, this.history));
    while (!this.stopped) {
      const name = `side-${this.number}-${this.random.below(NAMES)}`;
      const there = this.databases.get(name)?.last === 'updated';
      if (!there) {
        const reply = await this.#expect(connection, 'PUT', `/${name}?q=${this.random.pick([1, 2])}`, [201]);
        this.databases.set(name, { last: 'updated', written: reply.begin });
        continue;
      }
      // Writes that are on their way when the database is deleted succeed or find none.
      const writing = writers.map(async (writer) => {
        for (let i = this.random.between(1, 3); i > 0; --i) {
          const reply = await this.#expect(writer, 'POST', `/${name}`, [201, 404], {});
          if (reply.status === 201) this.databases.get(name).written = Math.max(this.databases.get(name).written, reply.begin);
        }
      });
      if (this.random.chance(0.6)) {
        await new Promise((resolve) => setTimeout(resolve, this.random.below(4)));
        await this.#expect(connection, 'DELETE', `/${name}`, [200]);
        this.databases.get(name).last = 'deleted';
      }
      await Promise.all(writing);
      await new Promise((resolve) => setTimeout(resolve, this.random.below(20)));
    }
    for (const [name, { last }] of this.databases) if (last !== 'deleted') {
      await this.#expect(connection, 'DELETE', `/${name}`, [200]);
      this.databases.get(name).last = 'deleted';
    }
    for (const one of [connection, ...writers]) one.close();
  }
  async #expect(connection, method, path, statuses, body) {
    const reply = await connection.send(method, path, body);
    if (!statuses.includes(reply.status)) this.history.complain(`${method} ${path} was answered ${reply.status}: ${reply.text ?? reply.error}`);
    return reply;
  }
}
