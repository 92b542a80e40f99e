// Compactions of the history's physical partitions, views, search indexes and global indexes while it is written: no
// client may notice.
import { Random } from '../support/random.mjs';
import { indexes } from './clients.mjs';
import { Connection } from './requests.mjs';

/// What compacts a database, and the stores of each of its design documents.
const requestsOf = (shape) => [
  '_compact', '_compact', '_compact', '_view_cleanup',
  '_compact/whole', ...(shape.partitioned ? ['_compact/each'] : []),
  ...indexes.filter(({ partitioned }) => !partitioned).map(({ ddoc }) => `_compact/${ddoc}`),
];

export class Compactions {
  constructor({ server, seed, shape, history, serverUp }) {
    Object.assign(this, { server, shape, history, serverUp });
    this.random = new Random(seed, 'compactions');
    this.requests = requestsOf(shape);
    this.done = 0;
  }
  stop() {
    this.stopped = true;
  }
  async work() {
    const connection = new Connection(this.server, this.history);
    while (!this.stopped) {
      await new Promise((resolve) => setTimeout(resolve, this.random.between(20, 200)));
      await this.serverUp();
      const request = this.random.pick(this.requests);
      const reply = await connection.send('POST', `${this.shape.path}/${request}`, {});
      if (reply.status === 202) this.done += 1;
      else if (reply.status !== undefined) this.history.complain(`${request} was answered ${reply.status}: ${reply.text}`);
    }
    connection.close();
  }
}
