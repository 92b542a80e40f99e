// Random sequences of calls: each call is chosen knowing what the model holds at that moment.
import * as bulk from './bulk.mjs';
import { call } from './call.mjs';
import * as containers from './containers.mjs';
import * as databases from './databases.mjs';
import * as documents from './documents.mjs';
import { expirations } from './expirations.mjs';
import * as functions from './functions.mjs';
import * as items from './items.mjs';
import * as lists from './lists.mjs';
import { malformed } from './malformed.mjs';
import { Pools } from './pools.mjs';
import * as queries from './queries.mjs';
import * as scripts from './scripts.mjs';
import { Random } from '../../support/random.mjs';

const WEIGHTS = [
  [30, documents.put],
  [5, documents.post],
  [15, documents.get],
  [10, documents.remove],
  [4, documents.copy],
  [10, bulk.bulkDocs],
  [3, bulk.batch],
  [4, bulk.bulkGet],
  [3, bulk.revsDiff],
  [2, bulk.purge],
  [12, lists.listDocuments],
  [8, lists.changes],
  [14, queries.find],
  [4, queries.index],
  [12, functions.view],
  [8, functions.search],
  [10, malformed],
  [2, databases.create],
  [0.7, databases.remove],
  [3, databases.info],
  [1, databases.list],
  [0.5, databases.listInfos],
  [2, databases.facts],
  [0.6, databases.restart],
  [9, items.upsert],
  [6, items.create],
  [6, items.replace],
  [5, items.remove],
  [8, items.read],
  [10, items.patch],
  [9, items.batch],
  [0.7, items.removeKey],
  [16, items.sql],
  [5, items.list],
  [7, items.changes],
  [3, items.malformed],
  [3, containers.container],
  [18, scripts.procedure],
  [5, scripts.script],
];

/// Items expire in sequences whose seed is a multiple of this. The others do not wait for expirations, which takes seconds.
export const EXPIRATIONS_EVERY = 20;
const CALLS_BEFORE_EXPIRATIONS = 35;
/// Tombstones are dropped now and then in sequences whose seed has this remainder.
const FORGETS_AT = 10;
const CALLS_BETWEEN_FORGETS = 60;

export class Generator {
  #random;
  #pools;
  #made = 0;
  #forgets;
  #planned = []; // calls that come one after another
  constructor(seed, session) {
    this.#random = new Random(seed);
    this.#pools = new Pools(this.#random, session);
    this.#pools.expires = seed % EXPIRATIONS_EVERY === 0;
    this.#forgets = seed % EXPIRATIONS_EVERY === FORGETS_AT;
  }

  /// Calls that begin every sequence, so that there is something to call.
  *beginning() {
    const { target } = databases.create(this.#pools);
    yield this.#numbered(call('PUT', target.replace(/«.»/, '«a»')));
    yield this.#numbered(call('PUT', '/«b»?partitioned=true'));
    yield this.#numbered(containers.createAccountDatabase());
    for (const letter of ['d', 'e']) {
      yield this.#numbered(containers.createContainer(this.#pools, letter));
      for (const item of items.fill(this.#pools, letter)) yield this.#numbered(item);
    }
    for (const letter of ['d', 'e']) {
      for (const script of scripts.some(this.#pools, letter)) yield this.#numbered(script);
    }
    for (const letter of ['a', 'b', 'd']) yield this.#numbered(bulk.fill(this.#pools, letter));
  }
  next() {
    if (this.#pools.expires && this.#made === CALLS_BEFORE_EXPIRATIONS) this.#planned = expirations(this.#pools);
    if (this.#forgets && this.#made % CALLS_BETWEEN_FORGETS === 0) {
      const before = Array(10).fill(documents.remove);
      const after = [lists.changes, lists.changes, documents.put].flatMap((make) => Array(5).fill(make));
      this.#planned = [...before, databases.forget, ...after];
    }
    const make = this.#planned.shift() ?? this.#random.weighted(WEIGHTS);
    return this.#numbered(make(this.#pools));
  }
  audit(session) {
    return databases.audit(session, this.#pools).map((call) => this.#numbered(call));
  }
  #numbered(call) {
    const n = ++this.#made;
    call.remember?.(n);
    return { n, ...call };
  }
}
