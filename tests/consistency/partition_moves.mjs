// Splits and merges of the history's physical partitions while it is written: no client may notice.
import { Random } from '../support/random.mjs';
import { Connection } from './requests.mjs';

const PARTITIONS_MAX = 12;

export class PartitionMoves {
  constructor({ server, seed, shape, history, serverUp }) {
    Object.assign(this, { server, shape, history, serverUp });
    this.random = new Random(seed, 'moves');
    this.splits = 0;
    this.merges = 0;
  }
  stop() {
    this.stopped = true;
  }
  async work() {
    const connection = new Connection(this.server, this.history);
    let before;
    while (!this.stopped) {
      await new Promise((resolve) => setTimeout(resolve, this.random.between(50, 400)));
      await this.serverUp();
      const map = await connection.send('GET', `${this.shape.path}/_shards`);
      if (map.status !== 200) continue; // the server has just been killed
      const ranges = Object.keys(map.body.shards);
      this.count(before, ranges);
      before = ranges;
      const db = decodeURIComponent(this.shape.path.slice(1));
      const body = this.isToMerge(ranges) ? this.merge(ranges) : { type: 'split', range: this.random.pick(ranges) };
      // Refused: that range is being split or merged, or was, meanwhile; or the throughput needs it.
      const reply = await connection.send('POST', '/_reshard/jobs', { ...body, db });
      if (reply.status !== undefined && ![201, 400, 404].includes(reply.status)) this.history.complain(`a ${body.type} was answered ${reply.status}: ${reply.text}`);
    }
    connection.close();
  }
  isToMerge(ranges) {
    if (ranges.length >= PARTITIONS_MAX) return true;
    return ranges.length > 1 && this.random.chance(0.45);
  }
  merge(ranges) {
    const first = this.random.below(ranges.length - 1);
    return { type: 'merge', ranges: [ranges[first], ranges[first + 1]] };
  }
  /// New bounds were made by splits, those that are gone by merges.
  count(before, after) {
    if (before === undefined) return;
    const bounds = (ranges) => new Set(ranges.map((range) => range.split('-')[0]));
    const [old, now] = [bounds(before), bounds(after)];
    this.splits += [...now].filter((bound) => !old.has(bound)).length;
    this.merges += [...old].filter((bound) => !now.has(bound)).length;
  }
}
