// The databases that runs use: which documents there are, and among which of them the server promises one order.

const PARTITIONS = 4;
// With the sentinel no more than one slice of a scan always takes, so that a listing of a partition is one snapshot.
const HOT_PER_PARTITION = 6;

/// Few documents that all clients write ("hot": a0:d0 … a3:d5), documents written once ("fresh": y…), and at the
/// end one last document for each partition, by which followers know that they have all.
export class Shape {
  /// `container`: a container of the Cosmos DB API, hence partitioned, and with a log of all versions. `name` is then that of
  /// its Cosmos database.
  constructor({ name, q, partitioned, container = false }) {
    Object.assign(this, { name: container ? `${name}/items` : name, owner: name, q, partitioned, container });
    this.path = `/${encodeURIComponent(this.name)}`;
    this.containerPath = `/dbs/${name}/colls/items`;
    this.partitions = Array.from({ length: PARTITIONS }, (_, p) => `a${p}`);
    this.hot = this.partitions.flatMap((partition) => Array.from({ length: HOT_PER_PARTITION }, (_, d) => `${partition}:d${d}`));
    this.sentinels = this.partitions.map((partition) => `${partition}:sentinel`);
  }
  /// What a body says of its place: items of containers have their key and their id in it.
  placeIn(id) {
    if (!this.container) return {};
    const [pk, itemId] = id.split(':');
    return { id: itemId, pk };
  }
  hotOf(partition) {
    return this.hot.filter((id) => id.startsWith(`${partition}:`));
  }
  sentinelOf(partition) {
    return `${partition}:sentinel`;
  }
  /// Written last of all.
  get lastSentinel() {
    return this.sentinels.at(-1);
  }
  /// Parameters of a listing of a partition's documents, or of those of all.
  rangeOf(partition) {
    return partition ? `startkey=%22${partition}:%22&endkey=%22${partition};%22` : 'startkey=%22a%22&endkey=%22b%22';
  }
  /// Operations of one unit happen in one order: physical partitions are ordered, and a logical one lies in one of them.
  unitOf(id) {
    if (this.q === 1) return 'database';
    return this.partitioned ? id.split(':')[0] : id;
  }
  get description() {
    return `${this.container ? 'container' : this.partitioned ? 'partitioned' : 'plain'} q=${this.q}`;
  }
}
