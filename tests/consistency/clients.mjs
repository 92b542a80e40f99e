// The clients of a run: what they ask for, and how replies become operations of the history (history.mjs).
import { generationOf } from './history.mjs';
import { Random } from '../support/random.mjs';
import { Connection } from './requests.mjs';

const STEPS = {
  put: 24, remove: 7, get: 12, head: 3, openRevisions: 2, bulkGet: 4, listKeys: 3, bulk: 7, create: 3, listRange: 4, feedFromZero: 1,
  findGlobal: 5, writeThenFind: 6, readAgain: 3, view: 4, writeThenView: 3, search: 4, writeThenSearch: 3,
};
const PARTITION_STEPS = {
  batch: 14, listPartition: 8, findLocal: 7, findUnindexed: 2, partitionFeed: 1, partitionView: 3, partitionSearch: 3,
};
export const VALUES = 4;
const PAD_BYTES_MAX = 3_000;
const HANG_UP_CHANCE = 0.015;

export const indexes = [
  { partitioned: true, index: { fields: ['n'] }, ddoc: 'by-n', name: 'by-n' },
  { partitioned: false, index: { fields: ['hot', 'n'] }, ddoc: 'by-hot', name: 'by-hot' },
  { partitioned: false, index: { fields: ['tag'] }, ddoc: 'by-tag', name: 'by-tag' },
];

const functions = {
  views: {
    hot: { map: 'function(doc) { if (doc.hot === 1) emit(doc._id, { rev: doc._rev, tag: doc.tag }); }' },
    tag: { map: 'function(doc) { if (doc.tag) emit(doc.tag, 1); }', reduce: '_count' },
  },
  indexes: {
    all: {
      analyzer: 'keyword',
      index: `function(doc) {
        index('hot', doc.hot);
        index('n', doc.n);
        index('tag', doc.tag, { store: true });
        index('rev', doc._rev, { store: true });
      }`,
    },
  },
};
/// Design documents with views and a search index, over the database and, where it has partitions, over each.
export const functionDocuments = (shape) => [
  { _id: '_design/whole', ...(shape.partitioned ? { options: { partitioned: false } } : {}), ...functions },
  ...(shape.partitioned ? [{ _id: '_design/each', options: { partitioned: true }, ...functions }] : []),
];

/// What the clients of one database know: they tell each other, which makes most of their writes race for a revision
/// that is, or just was, the current one.
export class Knowledge {
  #documents = new Map();
  learn(id, rev, deleted = false) {
    if (!this.#documents.has(id)) this.#documents.set(id, []);
    const list = this.#documents.get(id);
    if (list.length > 0 && generationOf(list.at(-1).rev) >= generationOf(rev)) return;
    list.push({ rev, deleted });
    if (list.length > 6) list.shift();
  }
  newest(id) {
    return this.#documents.get(id)?.at(-1);
  }
  older(id, random) {
    const list = this.#documents.get(id) ?? [];
    return list.length > 1 ? list[random.below(list.length - 1)] : undefined;
  }
}

export class Client {
  constructor({ number, seed, shape, server, history, knowledge }) {
    Object.assign(this, { number, seed, shape, history, knowledge });
    this.path = shape.path;
    this.connection = new Connection(server, history);
    this.weights = { ...STEPS, ...(shape.partitioned ? PARTITION_STEPS : {}) };
  }

  /// `steps` requests or short dialogues, one after another. `serverUp` waits until requests make sense again.
  async work(steps, serverUp = async () => {}) {
    for (let step = 0; step < steps; ++step) {
      this.random = new Random(this.seed, 'client', this.number, step);
      this.tagBase = `${this.number}.${step}`;
      this.tags = 0;
      await this[this.random.weighted(this.weights)]();
      await serverUp();
    }
    this.connection.close();
  }

  // --- asking and recording ---

  ask(method, path, body, options = {}) {
    return this.judged(this.connection.send(method, path, body, options), `${method} ${path}`, body, options);
  }
  /// A reply that the request cannot have is a fault.
  async judged(sending, request, body, { expected = [200] } = {}) {
    const reply = await sending;
    if (!reply.lost && !expected.includes(reply.status)) {
      this.history.complain(`client ${this.number}: ${request} ${JSON.stringify(body) ?? ''} was answered ${reply.status}: ${reply.text.slice(0, 300)}`);
      return { ...reply, unexpected: true };
    }
    return reply;
  }
  useless(reply) {
    return reply.lost || reply.unexpected;
  }
  record(name, reply, ids, operation) {
    this.history.record({ name, client: this.number, begin: reply.begin, end: reply.end, unit: this.shape.unitOf(ids), ...operation });
  }
  /// Observations of which the server promises nothing in common.
  recordEach(name, reply, sees) {
    for (const seen of sees) this.record(name, reply, seen.id, { sees: [seen] });
  }
  /// Observations from one snapshot: one operation for each unit.
  recordTogether(name, reply, sees) {
    const units = new Map();
    for (const seen of sees) {
      const unit = this.shape.unitOf(seen.id);
      if (!units.has(unit)) units.set(unit, []);
      units.get(unit).push(seen);
    }
    for (const list of units.values()) this.record(name, reply, list[0].id, { sees: list });
  }
  seeDocument(doc) {
    if (!doc._deleted) this.knowledge.learn(doc._id, doc._rev);
    return { id: doc._id, rev: doc._rev, tag: doc.tag ?? null };
  }

  // --- writes ---

  newBody(id) {
    const tag = `${this.tagBase}.${this.tags++}`;
    const body = { ...this.shape.placeIn(id), tag, n: this.random.below(VALUES), hot: 1 };
    // Bodies of 1 KiB and more are stored compressed.
    const padBytes = this.random.below(this.random.chance(0.4) ? PAD_BYTES_MAX : 300);
    if (this.random.chance(0.3)) body.pad = `${tag} `.repeat(padBytes / (tag.length + 1));
    return body;
  }
  /// An edit of a document: mostly of its current revision, as far as the clients know.
  intend(id, { mayDelete = true } = {}) {
    const { random } = this;
    const body = this.newBody(id);
    const kind = random.next();
    const deletes = random.chance(0.15);
    const older = this.knowledge.older(id, random);
    const newest = this.knowledge.newest(id);
    let named = null;
    if (kind < 0.75) named = newest && (!newest.deleted || random.chance(0.2)) ? newest.rev : null;
    else if (kind < 0.88) named = older?.rev ?? null;
    const write = { id, named, deleted: false, tag: body.tag, n: body.n, hot: body.hot };
    const deleted = mayDelete && deletes && named !== null && !(newest?.deleted && named === newest.rev);
    if (deleted) write.deleted = true;
    return { write, doc: { _id: id, ...(named ? { _rev: named } : {}), ...(deleted ? { _deleted: true } : {}), ...body } };
  }
  /// Now and then a client goes away without waiting for the reply.
  writing(expected) {
    const hangs = this.random.chance(HANG_UP_CHANCE);
    const hangUpAfterMs = this.random.below(6);
    return { expected, ...(hangs ? { hangUpAfterMs } : {}) };
  }
  refusal({ id, named }) {
    return named === null ? { id, live: true } : { id, notRev: named };
  }
  finishWrite(name, reply, write, rev) {
    if (reply.lost) return this.record(name, reply, write.id, { status: 'unknown', writes: [write] });
    if (reply.unexpected) return undefined;
    if (rev === undefined) return this.record(name, reply, write.id, { status: 'refused', sees: [this.refusal(write)] });
    this.knowledge.learn(write.id, rev, write.deleted);
    return this.record(name, reply, write.id, { writes: [{ ...write, rev }] });
  }

  async put(id = this.random.pick(this.shape.hot)) {
    const { write, doc } = this.intend(id, { mayDelete: false });
    const { _id, _rev, ...body } = doc;
    const inQuery = this.random.chance(0.5);
    const target = `${this.path}/${id}${_rev && inQuery ? `?rev=${_rev}` : ''}`;
    const reply = await this.ask('PUT', target, _rev && !inQuery ? { _rev, ...body } : body, this.writing([201, 409]));
    this.finishWrite('PUT', reply, write, reply.status === 201 ? reply.body.rev : undefined);
    return reply.status === 201 ? write : undefined;
  }
  async remove() {
    const id = this.random.pick(this.shape.hot);
    const named = (this.random.chance(0.85) ? this.knowledge.newest(id) : this.knowledge.older(id, this.random))?.rev;
    if (!named) return;
    const write = { id, named, deleted: true, tag: null };
    const reply = await this.ask('DELETE', `${this.path}/${id}?rev=${named}`, undefined, this.writing([200, 404, 409]));
    if (reply.status === 404) {
      this.record('DELETE', reply, id, { status: 'refused', sees: [reply.body.reason === 'deleted' ? { id, tombstone: true } : { id, never: true }] });
    } else {
      this.finishWrite('DELETE', reply, write, reply.status === 200 ? reply.body.rev : undefined);
    }
  }
  /// A document of its own, by PUT or by POST, which only this client knows.
  async create() {
    const id = `y${this.random.below(3)}:${this.tagBase}`;
    const body = { ...this.newBody(id), hot: 0 };
    const write = { id, named: null, deleted: false, tag: body.tag, n: body.n, hot: 0 };
    const reply = this.random.chance(0.5)
      ? await this.ask('PUT', `${this.path}/${id}`, body, this.writing([201]))
      : await this.ask('POST', this.path, { _id: id, ...body }, this.writing([201]));
    this.finishWrite('create', reply, write, reply.status === 201 ? reply.body.rev : undefined);
    this.own = id;
    if (!this.useless(reply)) await this.get(id);
  }
  async bulk() {
    const intents = this.random.sample(this.shape.hot, this.random.between(2, 6)).map((id) => this.intend(id));
    const reply = await this.ask('POST', `${this.path}/_bulk_docs`, { docs: intents.map(({ doc }) => doc) }, this.writing([201]));
    intents.forEach(({ write }, i) => {
      const row = reply.body?.[i];
      if (!this.useless(reply) && !row.ok && row.error !== 'conflict') this.history.complain(`client ${this.number}: _bulk_docs: ${JSON.stringify(row)}`);
      this.finishWrite('_bulk_docs', reply, write, row?.rev);
    });
  }
  async batch() {
    const partition = this.random.pick(this.shape.partitions);
    const intents = this.random.sample(this.shape.hotOf(partition), this.random.between(2, 4)).map((id) => this.intend(id));
    const reply = await this.ask('POST', `${this.path}/_partition/${partition}/_batch`, { docs: intents.map(({ doc }) => doc) },
      this.writing([201, 409]));
    const writes = intents.map(({ write }) => write);
    if (reply.lost) return this.record('batch', reply, writes[0].id, { status: 'unknown', writes });
    if (reply.unexpected) return undefined;
    if (reply.status === 409) {
      // All preconditions are tested at one moment: those not named in the reply held.
      const failed = new Set(reply.body.results.map((row) => row.id));
      const sees = writes.map((write) => {
        if (failed.has(write.id)) return this.refusal(write);
        return write.named === null ? { id: write.id, gone: true } : { id: write.id, rev: write.named };
      });
      if (failed.size === 0) this.history.complain(`client ${this.number}: a batch was refused without a reason: ${reply.text}`);
      return this.record('batch', reply, writes[0].id, { status: 'refused', sees });
    }
    writes.forEach((write, i) => {
      write.rev = reply.body[i].rev;
      this.knowledge.learn(write.id, write.rev, write.deleted);
    });
    return this.record('batch', reply, writes[0].id, { writes });
  }

  // --- reads of one document ---

  async get(id = this.random.pick(this.shape.hot)) {
    const reply = await this.ask('GET', `${this.path}/${id}`, undefined, { expected: [200, 404] });
    if (this.useless(reply)) return;
    const seen = reply.status === 200 ? this.seeDocument(reply.body)
      : reply.body.reason === 'deleted' ? { id, tombstone: true } : { id, never: true };
    this.record('GET', reply, id, { sees: [seen] });
  }
  async readAgain() {
    const id = this.random.pick(this.shape.hot);
    await this.get(id);
    await this.get(id);
  }
  async head() {
    const id = this.random.pick(this.shape.hot);
    const reply = await this.ask('HEAD', `${this.path}/${id}`, undefined, { expected: [200, 404] });
    if (this.useless(reply)) return;
    this.record('HEAD', reply, id, { sees: [reply.status === 200 ? { id, rev: JSON.parse(reply.headers.etag) } : { id, gone: true }] });
  }
  async openRevisions() {
    const id = this.random.pick(this.shape.hot);
    const reply = await this.ask('GET', `${this.path}/${id}?open_revs=all`, undefined, { expected: [200, 404] });
    if (this.useless(reply)) return;
    if (reply.status === 404) return this.record('open_revs', reply, id, { sees: [{ id, never: true }] });
    this.record('open_revs', reply, id, { sees: reply.body.map((row) => this.seeDocument(row.ok)) });
  }
  async bulkGet() {
    const ids = this.random.sample(this.shape.hot, this.random.between(1, 5));
    const reply = await this.ask('POST', `${this.path}/_bulk_get`, { docs: ids.map((id) => ({ id })) });
    if (this.useless(reply)) return;
    this.recordEach('_bulk_get', reply, reply.body.results.flatMap(({ id, docs }) =>
      docs.map((row) => (row.ok ? this.seeDocument(row.ok) : { id, never: true }))));
  }
  async listKeys() {
    const keys = this.random.sample(this.shape.hot, this.random.between(1, 5));
    const reply = await this.ask('POST', `${this.path}/_all_docs?include_docs=true`, { keys });
    if (this.useless(reply)) return;
    this.recordEach('_all_docs keys', reply, reply.body.rows.map((row) => {
      if (row.error) return { id: row.key, never: true };
      return row.value.deleted ? { id: row.id, rev: row.value.rev } : this.seeRow(row);
    }));
  }
  seeRow(row) {
    if (row.value.rev !== row.doc?._rev) this.history.complain(`client ${this.number}: a row says ${row.value.rev}, its document ${JSON.stringify(row.doc)}`);
    return this.seeDocument(row.doc);
  }

  // --- reads of many documents ---

  /// What a complete list of documents says of each of `ids`: those not in it are `otherwise`. If that says that they
  /// move, the list may have a document that is written meanwhile at both its places, in two revisions.
  compare(ids, docs, otherwise) {
    const keyOf = (doc) => (otherwise.moves ? `${doc._id} ${doc._rev}` : doc._id);
    if (new Set(docs.map(keyOf)).size !== docs.length) {
      this.history.complain(`client ${this.number}: a document is twice in one result: ${docs.map((doc) => `${doc._id} ${doc._rev} ${doc.tag}`)}`);
    }
    const found = new Set(docs.map((doc) => doc._id));
    for (const id of found) if (!ids.includes(id)) this.history.complain(`client ${this.number}: ${id} does not belong into the result`);
    return [...docs.map((doc) => this.seeDocument(doc)), ...ids.filter((id) => !found.has(id)).map((id) => ({ id, ...otherwise }))];
  }
  async listPartition() {
    const partition = this.random.pick(this.shape.partitions);
    const down = this.random.chance(0.3) ? '&descending=true' : '';
    const reply = await this.ask('GET', `${this.path}/_partition/${partition}/_all_docs?include_docs=true${down}`);
    if (this.useless(reply)) return;
    for (const row of reply.body.rows) this.seeRow(row);
    const ids = [...this.shape.hotOf(partition), this.shape.sentinelOf(partition)];
    this.recordTogether('partition _all_docs', reply, this.compare(ids, reply.body.rows.map((row) => row.doc), { gone: true }));
  }
  /// The few documents of one partition are one slice, and so one snapshot; all the hot ones may be several.
  async listRange() {
    const partition = this.random.chance(0.6) ? this.random.pick(this.shape.partitions) : undefined;
    const reply = await this.ask('GET', `${this.path}/_all_docs?include_docs=true&${this.shape.rangeOf(partition)}`);
    if (this.useless(reply)) return;
    for (const row of reply.body.rows) this.seeRow(row);
    const ids = partition ? [...this.shape.hotOf(partition), this.shape.sentinelOf(partition)] : [...this.shape.hot, ...this.shape.sentinels];
    const sees = this.compare(ids, reply.body.rows.map((row) => row.doc), { gone: true });
    if (partition) this.recordTogether('_all_docs range', reply, sees);
    else this.recordEach('_all_docs', reply, sees);
  }
  async findLocal() {
    const partition = this.random.pick(this.shape.partitions);
    const n = this.random.below(VALUES);
    const all = this.random.chance(0.5);
    await this.findInPartition(partition, all ? { n: { $gte: 0 } } : { n }, all ? { gone: true } : { unlike: { n } }, ['by-n', 'by-n']);
  }
  async findUnindexed() {
    const n = this.random.below(VALUES);
    const partition = this.random.pick(this.shape.partitions);
    await this.findInPartition(partition, { hot: 1, n }, { unlike: { hot: 1, n } }, undefined);
  }
  async findInPartition(partition, selector, otherwise, index) {
    const reply = await this.ask('POST', `${this.path}/_partition/${partition}/_find`, { selector, limit: 200, ...(index ? { use_index: index } : {}) });
    if (this.useless(reply)) return;
    this.recordTogether('partition _find', reply, this.compare(this.shape.hotOf(partition), reply.body.docs, otherwise));
  }
  /// Reads by a global index: the documents are read after their entries, each by itself.
  async findGlobal() {
    const n = this.random.below(VALUES);
    const reply = await this.ask('POST', `${this.path}/_find`, { selector: { hot: 1, n }, limit: 1000, use_index: ['by-hot', 'by-hot'] });
    if (this.useless(reply)) return;
    this.recordEach('_find', reply, this.compare(this.shape.hot, reply.body.docs, { unlike: { hot: 1, n } }));
  }
  /// A client finds what it wrote, if no other client has written since.
  async writeThenFind() {
    const id = this.random.pick(this.shape.hot);
    const covering = this.random.chance(0.4);
    const local = this.shape.partitioned && this.random.chance(0.4);
    const write = await this.put(id);
    if (!write) return;
    if (local) {
      await this.findInPartition(id.slice(0, id.indexOf(':')), { n: write.n }, { unlike: { n: write.n } }, ['by-n', 'by-n']);
      return;
    }
    const { tag } = write;
    const reply = await this.ask('POST', `${this.path}/_find`,
      { selector: { tag }, use_index: ['by-tag', 'by-tag'], ...(covering ? { fields: ['_id', 'tag'] } : {}) });
    if (this.useless(reply)) return;
    const found = covering ? reply.body.docs.map((doc) => ({ id: doc._id, tag: doc.tag })) : reply.body.docs.map((doc) => this.seeDocument(doc));
    this.recordEach(covering ? 'covered _find' : '_find', reply, found.length > 0 ? found : [{ id, unlike: { tag } }]);
  }
  /// Rows of views and hits of searches are of the states that their index has seen, each by itself.
  async viewOf(where, ids) {
    const documents = this.random.chance(0.3);
    const down = this.random.chance(0.3);
    const range = { startkey: '"a"', endkey: '"b"' };
    if (down) [range.startkey, range.endkey] = [range.endkey, range.startkey];
    const reply = await this.ask('GET', `${where}/_view/hot?${new URLSearchParams({ ...range, ...(down ? { descending: true } : {}), ...(documents ? { include_docs: true } : {}) })}`);
    if (this.useless(reply)) return;
    const { rows } = reply.body;
    this.recordEach('view', reply, this.compare(ids, rows.map(({ id, value }) => ({ _id: id, _rev: value.rev, tag: value.tag })), { gone: true }));
    if (documents) this.recordEach('documents of a view', reply, rows.map(({ id, doc }) => (doc ? this.seeDocument(doc) : { id, gone: true })));
  }
  view() {
    return this.viewOf(`${this.path}/_design/whole`, this.shape.hot);
  }
  partitionView() {
    const partition = this.random.pick(this.shape.partitions);
    return this.viewOf(`${this.path}/_partition/${partition}/_design/each`, this.shape.hotOf(partition));
  }
  /// Where a document is asked for: in all, or now and then in its partition alone.
  functionsOf(id) {
    const alone = this.shape.partitioned && this.random.chance(0.4);
    return alone ? `${this.path}/_partition/${id.split(':')[0]}/_design/each` : `${this.path}/_design/whole`;
  }
  async writeThenView() {
    const id = this.random.pick(this.shape.hot);
    const where = this.functionsOf(id);
    const reduced = this.random.chance(0.5);
    const write = await this.put(id);
    if (!write) return;
    const { tag } = write;
    const reply = await this.ask('GET', `${where}/_view/tag?reduce=${reduced}&key=${encodeURIComponent(JSON.stringify(tag))}`);
    if (this.useless(reply)) return;
    const { rows } = reply.body;
    const found = reduced ? rows[0]?.value === 1 : rows.length === 1 && rows[0].id === id;
    if (!found && rows.length > 0) this.history.complain(`client ${this.number}: one document has the tag ${tag}, the view says ${reply.text}`);
    this.record(reduced ? 'reduced view' : 'view', reply, id, { sees: [found ? { id, tag } : { id, unlike: { tag } }] });
  }
  async searchIn(where, ids) {
    const n = this.random.below(VALUES);
    const reply = await this.ask('GET', `${where}/_search/all?limit=200&q=${encodeURIComponent(`hot:1 AND n:${n}`)}`);
    if (this.useless(reply)) return;
    const docs = reply.body.rows.map(({ id, fields }) => ({ _id: id, _rev: fields.rev, tag: fields.tag }));
    if (reply.body.total_rows !== docs.length) this.history.complain(`client ${this.number}: a search counts ${reply.body.total_rows} rows and shows ${docs.length}`);
    this.recordEach('search', reply, this.compare(ids, docs, { unlike: { hot: 1, n } }));
  }
  search() {
    return this.searchIn(`${this.path}/_design/whole`, this.shape.hot);
  }
  partitionSearch() {
    const partition = this.random.pick(this.shape.partitions);
    return this.searchIn(`${this.path}/_partition/${partition}/_design/each`, this.shape.hotOf(partition));
  }
  async writeThenSearch() {
    const id = this.random.pick(this.shape.hot);
    const where = this.functionsOf(id);
    const write = await this.put(id);
    if (!write) return;
    const { tag } = write;
    const reply = await this.ask('GET', `${where}/_search/all?q=${encodeURIComponent(`tag:"${tag}"`)}`);
    if (this.useless(reply)) return;
    const hits = reply.body.rows;
    if (hits.length > 1 || (hits.length === 1 && hits[0].id !== id)) this.history.complain(`client ${this.number}: one document has the tag ${tag}, the search says ${reply.text}`);
    this.record('search', reply, id, { sees: [hits.length > 0 ? { id, tag } : { id, unlike: { tag } }] });
  }
  feedFromZero() {
    return this.readFeed(`${this.path}/_changes?since=0&limit=5000`, 'feed from 0', this.shape.hot);
  }
  partitionFeed() {
    const partition = this.random.pick(this.shape.partitions);
    return this.readFeed(`${this.path}/_partition/${partition}/_changes`, 'partition feed from 0', this.shape.hotOf(partition));
  }
  /// A feed from the beginning shows each document once, in its state of then. One that it does not show was written
  /// while the feed was read: its row had moved beyond the feed's end.
  async readFeed(path, name, ids) {
    const reply = await this.ask('GET', path);
    if (this.useless(reply)) return;
    const rows = new Map(reply.body.results.map((row) => [row.id, row]));
    const sees = ids.map((id) => (rows.has(id) ? { id, rev: rows.get(id).changes[0].rev } : { id, unlisted: true }));
    this.recordEach(name, reply, sees);
  }
}
