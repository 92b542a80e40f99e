// Compactions of the history's physical partitions while it is written: no client may notice.
import { Random } from '../support/random.mjs';
import { Connection } from './requests.mjs';

export class Compactions {
  constructor({ server, seed, shape, history, serverUp }) {
    Object.assign(this, { server, shape, history, serverUp });
    this.random = new Random(seed, 'compactions');
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
      const reply = await connection.send('POST', `${this.shape.path}/_compact`, {});
      if (reply.status === 202) this.done += 1;
      else if (reply.status !== undefined) this.history.complain(`a compaction was answered ${reply.status}: ${reply.text}`);
    }
    connection.close();
  }
}
