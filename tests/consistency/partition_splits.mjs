// Splits of the history's physical partitions while it is written: no client may notice.
import { Random } from '../support/random.mjs';
import { Connection } from './requests.mjs';

const PARTITIONS_MAX = 12;

export class PartitionSplits {
  constructor({ server, seed, shape, history, serverUp }) {
    Object.assign(this, { server, shape, history, serverUp });
    this.random = new Random(seed, 'splits');
    this.done = 0;
  }
  stop() {
    this.stopped = true;
  }
  async work() {
    const connection = new Connection(this.server, this.history);
    while (!this.stopped) {
      await new Promise((resolve) => setTimeout(resolve, this.random.between(50, 400)));
      await this.serverUp();
      const map = await connection.send('GET', `${this.shape.path}/_shards`);
      if (map.status !== 200) continue; // the server has just been killed
      const ranges = Object.keys(map.body.shards);
      this.done = Math.max(this.done, ranges.length - this.shape.q);
      if (ranges.length >= PARTITIONS_MAX) break;
      const db = decodeURIComponent(this.shape.path.slice(1));
      // Refused: that range is being split, or was, meanwhile.
      const reply = await connection.send('POST', '/_reshard/jobs', { type: 'split', db, range: this.random.pick(ranges) });
      if (reply.status !== undefined && ![201, 400, 404].includes(reply.status)) this.history.complain(`a split was answered ${reply.status}: ${reply.text}`);
    }
    connection.close();
  }
}
