// Few ids, fields and values, so that calls meet: in one document, in one revision tree, in one index.
import { createHash } from 'node:crypto';

// Keys of more than 511 bytes are stored in another way, and must sort with the others all the same.
const LONG = 'k'.repeat(600);
const PLAIN_IDS = [
  'a',
  'b',
  'B',
  'c',
  'aa',
  'ä',
  'a b',
  'x/y',
  'z+1',
  '0',
  '\uffee',
  '😀',
  '"\\',
  `${LONG}a`,
  `${LONG}b`,
];
const PARTITIONS = ['p', 'q', 'P'];
const DESIGN_IDS = ['_design/one', '_design/two'];
const LOCAL_IDS = ['_local/l', '_local/m', '_local/ö'];
const FIELDS = ['n', 's', 'list', 'o'];
const NUMBERS = [-1, 0, 1, 2, 2.5, 10, 100, -2.5, 0.1, 1e-7, 1e21, -1e300, 2 ** 53, 123456789012];
const TEXTS = ['', 'a', 'A', 'b', 'ä', 'aa', 'a b', '€', 'z', `${LONG}1`, `${LONG}2`, 'a"b'];

// Revisions that come by replication: a tree of hand-made hashes, so that branches overlap in every way.
// Two are so long that their ancestors are stored in several blocks.
const TRUNK = [...'af0123456789abcdef0123456'];
const GRAFTS = [
  ['a', 'b', 'c', 'd'],
  ['a', 'b', 'e'],
  ['a', 'f'],
  ['a', 'f', 'a', 'b'],
  ['9', '8'],
  ['9', '7', '7'],
  [...TRUNK, ...'0123456789abcdef0123'],
  [...TRUNK, ...'fedcba9876543210fed'],
];
// A hash names its whole ancestry, as real ones do.
function graftedHash(ancestry) {
  const text = ancestry.join('');
  return text.length <= 8 ? text.padEnd(32, '0') : createHash('md5').update(text).digest('hex');
}

export class Pools {
  constructor(random, session) {
    this.random = random;
    this.session = session;
  }

  /// [letter, database or undefined]
  database() {
    const letter = this.random.weighted([
      [6, 'a'],
      [4, 'b'],
      [1, 'c'],
      [3, 'd'],
    ]);
    return { letter, database: this.session.model.databases.get(this.session.nameOf(letter)) };
  }

  partition() {
    return this.random.pick(PARTITIONS);
  }
  plainId(database) {
    const id = this.random.pick(this.random.chance(0.7) ? PLAIN_IDS.slice(0, 10) : PLAIN_IDS);
    return database?.partitioned ? `${this.partition()}:${id}` : id;
  }
  designId() {
    return this.random.pick(DESIGN_IDS);
  }
  localId() {
    return this.random.pick(LOCAL_IDS);
  }
  id(database) {
    return this.random.weighted([
      [20, () => this.plainId(database)],
      [1, () => this.designId()],
      [1, () => this.localId()],
    ])();
  }
  /// Mostly one that the database has.
  knownId(database) {
    const ids = [...(database?.documents.keys() ?? [])];
    return ids.length > 0 && this.random.chance(0.8) ? this.random.pick(ids) : this.id(database);
  }
  anyKnownId(database) {
    const locals = [...(database?.locals.keys() ?? [])];
    return locals.length > 0 && this.random.chance(0.1) ? this.random.pick(locals) : this.knownId(database);
  }

  field() {
    return this.random.pick(FIELDS);
  }
  value(depth = 0) {
    const { random } = this;
    return random.weighted([
      [6, () => random.pick(random.chance(0.7) ? NUMBERS.slice(0, 7) : NUMBERS)],
      [5, () => random.pick(random.chance(0.7) ? TEXTS.slice(0, 7) : TEXTS)],
      [1, () => random.chance(0.5)],
      [1, () => null],
      [depth < 2 ? 2 : 0, () => random.times(random.below(4), () => this.value(depth + 1))],
      [depth < 2 ? 2 : 0, () => ({ [this.field()]: this.value(depth + 1) })],
    ])();
  }
  body() {
    const body = {};
    for (const field of this.random.sample(FIELDS, this.random.below(4))) body[field] = this.value();
    return body;
  }
  /// A design document that makes an index, or does nothing.
  designBody() {
    const { random } = this;
    if (random.chance(0.3)) return { language: 'javascript', filters: { f: 'function(doc) { return true; }' } };
    const field = this.field();
    return {
      language: 'query',
      views: {
        [`by-${field}`]: {
          map: { fields: { [field]: 'asc' }, partial_filter_selector: {} },
          reduce: '_count',
          options: { def: { fields: [field] } },
        },
      },
    };
  }

  /// A leaf of the document mostly; else an inner revision, or one that is not there.
  revision(database, id) {
    const tree = database?.tree(id);
    const { random } = this;
    const unknown = `${random.between(1, 3)}-${'0'.repeat(32)}`;
    if (!tree) return unknown;
    const leaves = tree.leaves().map(({ rev }) => rev);
    return random.weighted([
      [12, leaves[0]],
      [5, random.pick(leaves)],
      [2, random.pick(tree.history(random.pick(leaves)))],
      [1, unknown],
    ]);
  }
  /// A path of hand-made revisions, newest first, perhaps without its beginning.
  graft() {
    const whole = this.random.pick(GRAFTS);
    const end = this.random.between(1, whole.length);
    const revs = whole.slice(0, end).map((_, i) => `${i + 1}-${graftedHash(whole.slice(0, i + 1))}`);
    const start = this.random.chance(0.2) ? this.random.below(end) : 0;
    return revs.slice(start).reverse();
  }

  /// A position of the feed, as a token.
  since(letter, database) {
    const { random } = this;
    return random.weighted([
      [3, '0'],
      [1, 'now'],
      [6, `«since ${letter} ${database?.incarnation ?? 1} ${random.below((database?.sequence ?? 0) + 1)}»`],
    ]);
  }
}

export { PARTITIONS, PLAIN_IDS };
