// Clients of the Cosmos DB API on the container behind a database: the same documents, which they call items. Tags are
// revisions, so a register is compared and set by `If-Match`; what has no condition replaces whatever is there.
import { newRevision } from '../model/dialect/revision.mjs';
import { Client, VALUES } from './clients.mjs';
import { ANY } from './history.mjs';

const STEPS = {
  upsert: 12, compareAndSet: 16, create: 4, remove: 7, patch: 9, patchIf: 5, batch: 16, read: 10, readAgain: 3, list: 6,
  query: 6, queryAll: 3, writeThenQuery: 6, feedFromStart: 2,
};
const QUERY = { 'x-ms-documentdb-isquery': 'true', 'x-ms-documentdb-query-enablecrosspartition': 'true', 'Content-Type': 'application/query+json' };
const BATCH = { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'true' };

const partitionOf = (id) => id.slice(0, id.indexOf(':'));
const revOf = (etag) => etag?.replaceAll('"', '');
const tombstoneOn = (rev) => newRevision(rev, true, {});
/// What is true of the document if the condition of a write was not met, or nothing was there to be changed.
const refused = (id, status, named) => {
  if (status === 409) return [{ id, live: true }];
  return status === 404 ? [{ id, gone: true }] : [{ id, notRev: named }];
};

export class ItemClient extends Client {
  constructor(options) {
    super(options);
    this.weights = STEPS;
  }

  // --- asking and recording ---

  async askItem(method, id, body, { headers, ...options } = {}) {
    const target = method === 'POST' ? this.shape.containerPath + '/docs' : `${this.shape.containerPath}/docs/${id.slice(id.indexOf(':') + 1)}`;
    return this.askSigned(method, target, body, { ...options, headers, partition: partitionOf(id) });
  }
  askSigned(method, path, body, options) {
    return this.judged(this.connection.sendSigned(method, path, body, options), `${method} ${path}`, body, options);
  }
  seeItem({ id, pk, _etag, tag }) {
    return this.seeDocument({ _id: `${pk}:${id}`, _rev: revOf(_etag), tag });
  }
  asDocuments(items) {
    return items.map(({ id, pk, _etag, tag }) => ({ _id: `${pk}:${id}`, _rev: revOf(_etag), tag }));
  }

  hot() {
    return this.random.pick(this.shape.hot);
  }
  /// A revision that lives, as far as the clients know: mostly the newest one.
  known(id) {
    const one = this.random.chance(0.85) ? this.knowledge.newest(id) : this.knowledge.older(id, this.random);
    return one && !one.deleted ? one.rev : undefined;
  }
  write(id, named, more = {}) {
    const body = this.newBody(id);
    const { tag, n, hot } = body;
    return { body, write: { id, named, deleted: false, tag, n, hot, revOn: (parent) => newRevision(parent, false, body), ...more } };
  }
  deletion(id, named) {
    return { id, named, deleted: true, tag: null, revOn: tombstoneOn };
  }
  matching(rev) {
    return rev === undefined ? {} : { 'If-Match': `"${rev}"` };
  }
  finish(name, reply, write, statuses) {
    if (reply.lost || reply.unexpected) return this.finishWrite(name, reply, write);
    if (!statuses.includes(reply.status)) {
      return this.record(name, reply, write.id, { status: 'refused', sees: refused(write.id, reply.status, write.named) });
    }
    return this.finishWrite(name, reply, write, write.deleted ? write.revOn(write.named) : revOf(reply.headers.etag));
  }

  // --- writes ---

  async upsert(id = this.hot()) {
    const { body, write } = this.write(id, ANY);
    const reply = await this.askItem('POST', id, body, { headers: { 'x-ms-documentdb-is-upsert': 'true' }, ...this.writing([200, 201]) });
    if (reply.status === 201) write.over = { id, gone: true };
    if (reply.status === 200) write.over = { id, live: true };
    this.finish('upsert', reply, write, [200, 201]);
    return this.useless(reply) ? undefined : write;
  }
  async compareAndSet() {
    const id = this.hot();
    const named = this.known(id);
    if (named === undefined) return this.upsert(id);
    const { body, write } = this.write(id, named);
    const reply = await this.askItem('PUT', id, body, { headers: this.matching(named), ...this.writing([200, 404, 412]) });
    return this.finish('replace', reply, write, [200]);
  }
  async create() {
    const id = this.random.chance(0.5) ? this.hot() : `y${this.random.below(3)}:${this.tagBase}`;
    const { body, write } = this.write(id, null, id.startsWith('y') ? { hot: 0 } : {});
    body.hot = write.hot;
    const reply = await this.askItem('POST', id, body, this.writing([201, 409]));
    this.finish('create', reply, write, [201]);
  }
  async remove() {
    const id = this.hot();
    const named = this.known(id);
    if (named === undefined) return this.read(id);
    const reply = await this.askItem('DELETE', id, undefined, { headers: this.matching(named), ...this.writing([204, 404, 412]) });
    return this.finish('delete', reply, this.deletion(id, named), [204]);
  }
  /// Sets what queries ask for, on top of what is there; `condition`: only if that has this `n`.
  async patch(condition) {
    const id = this.hot();
    const named = condition === undefined && this.random.chance(0.4) ? this.known(id) : undefined;
    const { body, write } = this.write(id, named ?? ANY, { over: condition ? { id, like: condition } : { id, live: true } });
    delete write.revOn; // the rest of the body is what it was
    const operations = ['tag', 'n', 'hot'].map((field) => ({ op: 'set', path: `/${field}`, value: body[field] }));
    const sent = condition ? { condition: `from c where c.n = ${condition.n}`, operations } : { operations };
    const reply = await this.askItem('PATCH', id, sent, { headers: this.matching(named), ...this.writing([200, 404, 412]) });
    if (reply.status === 412 && condition) {
      return this.record('patch', reply, id, { status: 'refused', sees: [{ id, live: true }, { id, unlike: condition }] });
    }
    return this.finish('patch', reply, write, [200]);
  }
  patchIf() {
    return this.patch({ n: this.random.below(VALUES) });
  }

  /// Writes and reads of one partition key at one moment: all of them, or none.
  async batch() {
    const partition = this.random.pick(this.shape.partitions);
    const parts = this.random.sample(this.shape.hotOf(partition), this.random.between(2, 5)).map((id) => this.batchPart(id));
    const reply = await this.askSigned('POST', `${this.shape.containerPath}/docs`, parts.map(({ operation }) => operation),
      { partition, headers: BATCH, ...this.writing([200, 207]) });
    const writes = parts.flatMap(({ write }) => write ?? []);
    const unit = parts[0].id;
    if (reply.lost) return writes.length > 0 ? this.record('batch', reply, unit, { status: 'unknown', writes }) : undefined;
    if (reply.unexpected) return undefined;
    if (reply.status === 207) return this.refusedBatch(reply, parts);
    const sees = [];
    parts.forEach(({ id, write }, i) => {
      const { eTag, statusCode, resourceBody } = reply.body[i];
      if (!write) return sees.push(this.seeItem(resourceBody));
      write.rev = write.deleted ? write.revOn(write.named) : revOf(eTag);
      if (write.named === ANY) write.over = statusCode === 201 ? { id, gone: true } : { id, live: true };
      return this.knowledge.learn(id, write.rev, write.deleted);
    });
    return this.record('batch', reply, unit, { writes, sees });
  }
  batchPart(id) {
    const named = this.known(id);
    const item = id.slice(id.indexOf(':') + 1);
    const kinds = named === undefined ? { Upsert: 4, Create: 4, Read: 1 } : { Upsert: 3, Create: 0.5, Read: 4, Replace: 6, Delete: 2 };
    const operationType = this.random.weighted(kinds);
    if (operationType === 'Read') return { id, operation: { operationType, id: item } };
    if (operationType === 'Delete') {
      return { id, operation: { operationType, id: item, ifMatch: `"${named}"` }, write: this.deletion(id, named) };
    }
    const { body, write } = this.write(id, { Upsert: ANY, Create: null, Replace: named }[operationType]);
    const replaces = operationType === 'Replace' ? { id: item, ifMatch: `"${named}"` } : {};
    return { id, operation: { operationType, ...replaces, resourceBody: body }, write };
  }
  /// The first that failed says why; those before it would have been done.
  refusedBatch(reply, parts) {
    const failed = reply.body.findIndex(({ statusCode }) => statusCode !== 424);
    const { statusCode } = reply.body[failed] ?? {};
    if (![404, 409, 412].includes(statusCode)) {
      this.history.complain(`client ${this.number}: a batch was refused without a reason: ${reply.text}`);
      return undefined;
    }
    const sees = parts.slice(0, failed).flatMap(({ id, write }) => {
      if (!write) return [{ id, live: true }];
      if (write.named === ANY) return [];
      return write.named === null ? [{ id, gone: true }] : [{ id, rev: write.named }];
    });
    const { id, write } = parts[failed];
    sees.push(...refused(id, statusCode, write?.named));
    return this.record('batch', reply, id, { status: 'refused', sees });
  }

  // --- reads ---

  async read(id = this.hot()) {
    const reply = await this.askItem('GET', id, undefined, { expected: [200, 404] });
    if (this.useless(reply)) return;
    this.record('read', reply, id, { sees: [reply.status === 200 ? this.seeItem(reply.body) : { id, gone: true }] });
  }
  async readAgain() {
    const id = this.hot();
    await this.read(id);
    await this.read(id);
  }
  async list() {
    const partition = this.random.pick(this.shape.partitions);
    const reply = await this.askSigned('GET', `${this.shape.containerPath}/docs`, undefined, { partition });
    if (this.useless(reply)) return;
    const ids = [...this.shape.hotOf(partition), this.shape.sentinelOf(partition)];
    this.recordTogether('list', reply, this.compare(ids, this.asDocuments(reply.body.Documents), { gone: true }));
  }
  /// Items of one key with a value: by the automatic index, which is written with them.
  async query() {
    const partition = this.random.pick(this.shape.partitions);
    await this.queryFor(this.random.below(VALUES), partition, this.shape.hotOf(partition));
  }
  queryAll() {
    return this.queryFor(this.random.below(VALUES), undefined, this.shape.hot);
  }
  async queryFor(n, partition, ids) {
    const order = this.random.chance(0.4) ? ` ORDER BY c.tag${this.random.chance(0.5) ? ' DESC' : ''}` : '';
    const text = `SELECT * FROM c WHERE c.hot = 1 AND c.n = @n${order}`;
    const body = { query: text, parameters: [{ name: '@n', value: n }] };
    const reply = await this.askSigned('POST', `${this.shape.containerPath}/docs`, body, { partition, headers: QUERY });
    if (this.useless(reply)) return;
    const items = reply.body.Documents;
    // A sorted query may be read in several slices, between which clients change the values that it is sorted by.
    const sorted = order !== '';
    if (sorted) this.checkOrder(items.map(({ tag }) => tag), order.endsWith('DESC'));
    const sees = this.compare(ids, this.asDocuments(items), { unlike: { hot: 1, n }, ...(sorted ? { moves: true } : {}) });
    if (partition === undefined || sorted) this.recordEach('query', reply, sees);
    else this.recordTogether('partition query', reply, sees);
  }
  checkOrder(tags, descending) {
    const sorted = [...tags].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    if (descending) sorted.reverse();
    if (sorted.join() !== tags.join()) this.history.complain(`client ${this.number}: rows are not in their order: ${tags}`);
  }
  /// A client finds what it wrote, if no other client has written since.
  async writeThenQuery() {
    const id = this.hot();
    const write = await this.upsert(id);
    if (!write) return;
    const { tag } = write;
    const partition = this.random.chance(0.5) ? partitionOf(id) : undefined;
    const body = { query: 'SELECT * FROM c WHERE c.tag = @tag', parameters: [{ name: '@tag', value: tag }] };
    const reply = await this.askSigned('POST', `${this.shape.containerPath}/docs`, body, { partition, headers: QUERY });
    if (this.useless(reply)) return;
    const found = reply.body.Documents.map((item) => this.seeItem(item));
    this.recordEach('query', reply, found.length > 0 ? found : [{ id, unlike: { tag } }]);
  }
  /// The newest state of each item, as of some moment while it is read; what is not in it is gone or just being written.
  async feedFromStart() {
    const partition = this.random.pick(this.shape.partitions);
    const reply = await this.askSigned('GET', `${this.shape.containerPath}/docs`, undefined,
      { partition, headers: { 'A-IM': 'Incremental Feed' }, expected: [200, 304] });
    if (this.useless(reply)) return;
    const items = reply.status === 200 ? reply.body.Documents : [];
    this.recordEach('change feed', reply, items.filter(({ hot }) => hot === 1).map((item) => this.seeItem(item)));
  }
}
