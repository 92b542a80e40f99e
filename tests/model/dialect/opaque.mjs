// Values of a reply that the dialect leaves to the server: sequence tags, times, sizes, bookmarks. The model says what
// it knows of them, and the comparison (driver/compare.mjs) binds them at first sight and insists on the same later.

/// Position `number` in the change feed of one incarnation of a database. The server may count as it likes, as long as
/// the order is the same and one position has one text.
export class Sequence {
  constructor(database, number, kind = 'update') {
    this.database = database;
    this.number = number;
    this.kind = kind;
  }
}

/// Any position from `low` to `high`: between two rows of the feed all are the same to a follower.
export class SequenceWithin {
  constructor(database, low, high, kind = 'update') {
    this.database = database;
    this.low = low;
    this.high = high;
    this.kind = kind;
  }
}

/// A value chosen once by the server and the same ever after: the creation time of a database.
export class Constant {
  constructor(name, pattern) {
    this.name = name;
    this.pattern = pattern;
  }
}

/// A value about which only `accepts(value)` is known. It returns true, or what is wrong.
export class Accepted {
  constructor(accepts) {
    this.accepts = accepts;
  }
}

export const aCount = new Accepted((value) => (Number.isInteger(value) && value >= 0) || 'expected a count');
export const aBoolean = new Accepted((value) => typeof value === 'boolean' || 'expected true or false');
export const aCharge = new Accepted((value) => (typeof value === 'number' && value >= 0) || 'expected request units');
/// How much of a limit is used, by the member `used`.
export const aUse = (used) =>
  new Accepted((use) => (use[used] >= 0 && use.max > 0 && Math.abs(use.share - use[used] / use.max) < 0.001) || 'expected the use of a limit');
export const matching = (pattern) =>
  new Accepted((value) => (typeof value === 'string' && pattern.test(value)) || `expected ${pattern}`);

/// A reply whose body is not fully determined: `check(body, compare)` returns what is wrong, or nothing. `compare` does
/// the same for an expected and an actual part.
export class Judged {
  constructor(check) {
    this.check = check;
  }
}
