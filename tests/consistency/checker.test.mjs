// The checker is tried on small histories written by hand: good ones pass, and each kind of planted fault is found.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkHistory } from './checker.mjs';
import { checkDatabaseUpdates } from './feed_order.mjs';
import { ANY, History } from './history.mjs';

const rev = (generation, letter = 'a') => `${generation}-${letter.repeat(32)}`;

/// A history on the documents a and b of one unit. Times are [begin, end].
class Script {
  history = new History();
  finals = new Map();

  did(name, [begin, end], operation) {
    this.history.record({ name, begin, end, unit: 'u', ...operation });
    return this;
  }
  write(time, id, named, to, { deleted = false, tag = `${id}${to}`, ...fields } = {}) {
    return this.did('PUT', time, { writes: [{ id, named, rev: to, deleted, tag: deleted ? null : tag, ...fields }] });
  }
  batch(time, writes) {
    return this.did('batch', time, { writes: writes.map(([id, named, to]) => ({ id, named, rev: to, deleted: false, tag: `${id}${to}` })) });
  }
  unknown(time, ...writes) {
    return this.did('PUT', time, { status: 'unknown', writes: writes.map(([id, named, tag]) => ({ id, named, deleted: false, tag })) });
  }
  refused(time, ...sees) {
    return this.did('PUT', time, { status: 'refused', sees });
  }
  read(time, ...sees) {
    return this.did('GET', time, { sees: sees.map((seen) => (Array.isArray(seen) ? { id: seen[0], rev: seen[1], tag: seen[2] ?? `${seen[0]}${seen[1]}` } : seen)) });
  }
  end(id, revs, { deleted = false, tag = deleted ? undefined : `${id}${revs.at(-1)}` } = {}) {
    this.finals.set(id, { revs, deleted, tag });
    return this;
  }
  /// `rows`: [at, sequence, id, rev, deleted?].
  follower(rows, { scope = {}, from = 0, passes = [] } = {}) {
    this.history.followers.push({
      name: 'follower', scope, from,
      passes: passes.map(([at, seq]) => ({ at, seq: `${seq}-x` })),
      rows: rows.map(([at, seq, id, to, deleted]) => ({ at, seq: `${seq}-x`, id, revs: [to], deleted })),
    });
    return this;
  }
  get problems() {
    return checkHistory(this.history, this.finals).problems;
  }
}

const good = (script) => assert.deepEqual(script.problems, []);
const bad = (script, pattern) => {
  const { problems } = script;
  assert.ok(problems.some((problem) => pattern.test(problem)), `${pattern} is not in: ${problems.join('\n') || 'no problem found'}`);
};

describe('documents: good histories', () => {
  test('writes one after another, read in between', () => {
    good(new Script().read([1, 2], { id: 'a', never: true }).write([3, 4], 'a', null, rev(1)).read([5, 6], ['a', rev(1)])
      .write([7, 8], 'a', rev(1), rev(2)).read([9, 10], ['a', rev(2)]).end('a', [rev(1), rev(2)]));
  });
  test('a read beside a write sees either side', () => {
    const script = () => new Script().write([1, 2], 'a', null, rev(1)).write([3, 8], 'a', rev(1), rev(2)).end('a', [rev(1), rev(2)]);
    good(script().read([4, 5], ['a', rev(1)]).read([6, 7], ['a', rev(2)]));
    good(script().read([4, 5], ['a', rev(2)]).read([6, 7], ['a', rev(2)]));
  });
  test('deleted and written again', () => {
    good(new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'a', rev(1), rev(2), { deleted: true }).read([5, 6], { id: 'a', tombstone: true })
      .write([7, 8], 'a', null, rev(3)).read([9, 10], ['a', rev(3)]).end('a', [rev(1), rev(2), rev(3)]));
  });
  test('two race for one revision: one wins, one is refused', () => {
    good(new Script().write([1, 2], 'a', null, rev(1)).write([3, 6], 'a', rev(1), rev(2)).refused([4, 5], { id: 'a', notRev: rev(1) }).end('a', [rev(1), rev(2)]));
  });
  test('a request without a reply happened, or did not', () => {
    const script = () => new Script().write([1, 2], 'a', null, rev(1)).unknown([3, Infinity], ['a', rev(1), 'lost']);
    good(script().read([5, 6], ['a', rev(1)]).end('a', [rev(1)]));
    good(script().read([5, 6], ['a', rev(1)]).read([7, 8], ['a', rev(2), 'lost']).end('a', [rev(1), rev(2)], { tag: 'lost' }));
    good(script().write([5, 6], 'a', rev(2), rev(3)).end('a', [rev(1), rev(2), rev(3)]));
  });
  test('several requests without a reply may have happened: what was read tells which', () => {
    const script = () => new Script().write([1, 2], 'a', null, rev(1)).unknown([3, Infinity], ['a', rev(1), 'x']).unknown([4, Infinity], ['a', rev(1), 'y'])
      .end('a', [rev(1), rev(2), rev(3)]).write([20, 21], 'a', rev(2), rev(3), { n: 1 });
    good(script().read([10, 11], ['a', rev(2), 'y']));
    good(script().read([10, 11], { id: 'a', rev: rev(2) }).read([12, 13], { id: 'a', unlike: { n: 2 } }));
    bad(script().read([10, 11], ['a', rev(2), 'z']), /written with the body [xy] and read with z|no request wrote/);
    bad(script().read([10, 11], { id: 'a', never: true }), /does not fit/);
  });
  test('a refused batch tells which preconditions held', () => {
    good(new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'b', null, rev(1, 'b'))
      .refused([5, 6], { id: 'a', rev: rev(1) }, { id: 'b', live: true }).end('a', [rev(1)]).end('b', [rev(1, 'b')]));
  });
});

describe('documents: planted faults', () => {
  test('an acknowledged write is lost', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'a', rev(1), rev(2)).end('a', [rev(1)]), /an acknowledged write is lost/);
  });
  test('the whole document is lost', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)), /an acknowledged write is lost/);
  });
  test('a stale read', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'a', rev(1), rev(2)).read([5, 6], ['a', rev(1)]).end('a', [rev(1), rev(2)]), /does not fit/);
  });
  test('a read of what is not written yet', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).read([3, 4], ['a', rev(2)]).write([5, 6], 'a', rev(1), rev(2)).end('a', [rev(1), rev(2)]), /does not fit/);
  });
  test('reads that go back in time while the write is under way', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([3, 10], 'a', rev(1), rev(2)).read([4, 5], ['a', rev(2)]).read([6, 7], ['a', rev(1)])
      .end('a', [rev(1), rev(2)]), /does not fit|no order/);
  });
  test('not found after it was written', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).read([3, 4], { id: 'a', never: true }).end('a', [rev(1)]), /does not fit/);
    bad(new Script().write([1, 2], 'a', null, rev(1)).read([3, 4], { id: 'a', gone: true }).end('a', [rev(1)]), /does not fit/);
  });
  test('found after it was deleted', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'a', rev(1), rev(2), { deleted: true }).read([5, 6], ['a', rev(1)])
      .end('a', [rev(1), rev(2)], { deleted: true }), /does not fit/);
  });
  test('two writes replaced the same revision', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'a', rev(1), rev(2)).write([3, 5], 'a', rev(1), rev(3))
      .end('a', [rev(1), rev(2), rev(3)]), /not 1-a+ as it was told/);
  });
  test('one revision for two writes', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([1, 3], 'a', null, rev(1)).end('a', [rev(1)]), /acknowledged twice/);
  });
  test('a live document was created over', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'a', null, rev(2)).end('a', [rev(1), rev(2)]), /without naming it/);
  });
  test('a 409 although the revision was current all the time', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).refused([3, 4], { id: 'a', notRev: rev(1) }).end('a', [rev(1)]), /does not fit/);
  });
  test('a 409 for a creation although nothing was there', () => {
    bad(new Script().refused([1, 2], { id: 'a', live: true }).write([3, 4], 'a', null, rev(1)).end('a', [rev(1)]), /does not fit/);
  });
  test('a refused write happened all the same', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).refused([3, 4], { id: 'a', notRev: rev(1) }).end('a', [rev(1), rev(2)]), /no request wrote/);
  });
  test('a body that belongs to another revision', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([3, 6], 'a', rev(1), rev(2)).read([4, 5], ['a', rev(1), `a${rev(2)}`]).end('a', [rev(1), rev(2)]), /read with/);
  });
  test('a body that no request wrote', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).read([3, 4], { id: 'a', tag: 'other' }).end('a', [rev(1)]), /never had/);
  });
  test('a query that does not find what was acknowledged before', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1), { n: 1 }).read([3, 4], { id: 'a', unlike: { n: 1 } }).end('a', [rev(1)]), /does not fit/);
  });
  test('a sorted query that leaves out what was there and was not being written', () => {
    const query = { id: 'a', unlike: { n: 1 }, moves: true };
    bad(new Script().write([1, 2], 'a', null, rev(1), { n: 1 }).read([3, 4], query).end('a', [rev(1)]), /does not fit/);
    good(new Script().write([1, 2], 'a', null, rev(1), { n: 1 }).read([3, 6], query).write([4, 5], 'a', rev(1), rev(2), { n: 1 }).end('a', [rev(1), rev(2)]));
  });
  test('a feed read from the beginning that leaves out what was there', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).read([3, 4], { id: 'a', unlisted: true }).end('a', [rev(1)]), /does not fit/);
    good(new Script().write([1, 2], 'a', null, rev(1)).read([3, 6], { id: 'a', unlisted: true }).write([4, 5], 'a', rev(1), rev(2)).end('a', [rev(1), rev(2)]));
  });
});

describe('batches and snapshots', () => {
  const base = () => new Script().write([1, 2], 'a', null, rev(1)).write([1, 2], 'b', null, rev(1, 'b'))
    .batch([3, 10], [['a', rev(1), rev(2)], ['b', rev(1, 'b'), rev(2, 'b')]]).end('a', [rev(1), rev(2)]).end('b', [rev(1, 'b'), rev(2, 'b')]);

  test('all of it or nothing of it is seen', () => {
    good(base().read([4, 5], ['a', rev(1)], ['b', rev(1, 'b')]).read([6, 7], ['a', rev(2)], ['b', rev(2, 'b')]));
  });
  test('half of it is seen', () => {
    bad(base().read([4, 5], ['a', rev(2)], ['b', rev(1, 'b')]), /no order exists/);
    bad(base().read([4, 5], ['a', rev(1)], ['b', rev(2, 'b')]), /no order exists/);
  });
  test('half of it is seen by reads of single documents', () => {
    bad(base().read([4, 5], ['a', rev(2)]).read([6, 7], ['b', rev(1, 'b')]), /no order exists/);
  });
  test('half of a batch that deletes is seen', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([1, 2], 'b', null, rev(1, 'b'))
      .did('batch', [3, 10], { writes: [{ id: 'a', named: rev(1), rev: rev(2), deleted: true, tag: null }, { id: 'b', named: rev(1, 'b'), rev: rev(2, 'b'), deleted: false, tag: 't' }] })
      .read([4, 5], { id: 'a', gone: true }, ['b', rev(1, 'b')])
      .end('a', [rev(1), rev(2)], { deleted: true }).end('b', [rev(1, 'b'), rev(2, 'b')], { tag: 't' }), /no order/);
  });
  test('two snapshots see two writes in different orders', () => {
    const script = new Script().write([1, 2], 'a', null, rev(1)).write([1, 2], 'b', null, rev(1, 'b'))
      .write([3, 20], 'a', rev(1), rev(2)).write([3, 20], 'b', rev(1, 'b'), rev(2, 'b'))
      .read([4, 19], ['a', rev(2)], ['b', rev(1, 'b')]).read([4, 19], ['a', rev(1)], ['b', rev(2, 'b')]);
    bad(script.end('a', [rev(1), rev(2)]).end('b', [rev(1, 'b'), rev(2, 'b')]), /no order exists/);
  });
  test('a batch without a reply happened half', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([1, 2], 'b', null, rev(1, 'b'))
      .unknown([3, Infinity], ['a', rev(1), 'x'], ['b', rev(1, 'b'), 'y']).end('a', [rev(1), rev(2)], { tag: 'x' }).end('b', [rev(1, 'b')]), /no request wrote/);
  });
  test('a refused batch tells of preconditions that cannot have held together', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([1, 2], 'b', null, rev(1, 'b'))
      .batch([3, 10], [['a', rev(1), rev(2)], ['b', rev(1, 'b'), rev(2, 'b')]])
      .refused([4, 9], { id: 'a', rev: rev(1) }, { id: 'b', notRev: rev(1, 'b') })
      .end('a', [rev(1), rev(2)]).end('b', [rev(1, 'b'), rev(2, 'b')]), /no order|does not fit/);
  });
});

describe('writes of whatever is there', () => {
  const script = () => new Script().write([1, 2], 'a', null, rev(1));
  const over = (seen) => ({ over: { id: 'a', ...seen } });
  test('an upsert replaces what it replaces', () => {
    good(script().write([3, 4], 'a', ANY, rev(2), over({ live: true })).end('a', [rev(1), rev(2)]));
    good(new Script().write([1, 2], 'a', ANY, rev(1), over({ gone: true })).end('a', [rev(1)]));
  });
  test('a reply that says otherwise', () => {
    bad(script().write([3, 4], 'a', ANY, rev(2), over({ gone: true })).end('a', [rev(1), rev(2)]), /as the reply says/);
    bad(new Script().write([1, 2], 'a', ANY, rev(1), over({ live: true })).end('a', [rev(1)]), /as the reply says/);
  });
  test('a condition on what is there', () => {
    const conditional = (n) => new Script().write([1, 2], 'a', null, rev(1), { n }).write([3, 4], 'a', ANY, rev(2), over({ like: { n: 1 } })).end('a', [rev(1), rev(2)]);
    good(conditional(1));
    bad(conditional(2), /as the reply says/);
  });
  test('lost upserts of one revision are told apart by what they make', () => {
    const lost = (to, tag) => ({ status: 'unknown', writes: [{ id: 'a', named: ANY, deleted: false, tag, revOn: (parent) => (parent === rev(1) ? rev(2, to) : rev(3, to)) }] });
    const both = () => script().did('upsert', [3, Infinity], lost('b', 'x')).did('upsert', [4, Infinity], lost('c', 'y'));
    good(both().end('a', [rev(1), rev(2, 'c')], { tag: 'y' }));
    good(both().end('a', [rev(1), rev(2, 'c'), rev(3, 'b')], { tag: 'x' }));
    bad(both().end('a', [rev(1), rev(2, 'd')], { tag: 'z' }), /no request wrote/);
  });
  test('a batch that reads one document and writes another', () => {
    const two = () => script().write([1, 2], 'b', null, rev(1, 'b')).write([3, 20], 'b', rev(1, 'b'), rev(2, 'b')).end('a', [rev(1), rev(2)]).end('b', [rev(1, 'b'), rev(2, 'b')]);
    const batch = (read) => ({ writes: [{ id: 'a', named: ANY, rev: rev(2), deleted: false, tag: `a${rev(2)}` }], sees: [{ id: 'b', rev: read }] });
    good(two().did('batch', [4, 10], batch(rev(1, 'b'))).read([11, 12], ['a', rev(2)], ['b', rev(1, 'b')]));
    bad(two().did('batch', [4, 10], batch(rev(2, 'b'))).read([11, 12], ['a', rev(2)], ['b', rev(1, 'b')]), /does not fit|no order/);
  });
});

describe('followers', () => {
  const base = () => new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'b', null, rev(1, 'b')).write([5, 6], 'a', rev(1), rev(2))
    .end('a', [rev(1), rev(2)]).end('b', [rev(1, 'b')]);

  test('every change, or the newest of each', () => {
    good(base().follower([[7, 1, 'a', rev(1)], [8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]].slice(1)));
    good(base().follower([[3, 1, 'a', rev(1)], [8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]]));
    good(base().follower([[8, 3, 'a', rev(2)]], { from: 2 }).follower([[8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]]));
  });
  test('the last change never came', () => {
    bad(base().follower([[3, 1, 'a', rev(1)], [8, 2, 'b', rev(1, 'b')]]), /the last revision 2-.* never came/);
  });
  test('a change was passed over although nothing had replaced it', () => {
    // b's row came at 4, a's successor began at 5: sequence 1 was still a's.
    bad(base().follower([[4, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]]).follower([[3, 1, 'a', rev(1)], [4, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]]), /passed over/);
    bad(base().follower([[8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]], { passes: [[4, 1]] }).follower([[3, 1, 'a', rev(1)], [8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]]), /passed over/);
  });
  test('sequences that do not rise', () => {
    bad(base().follower([[3, 1, 'a', rev(1)], [8, 3, 'a', rev(2)], [9, 2, 'b', rev(1, 'b')]]), /sequence 2 came after 3/);
    bad(base().follower([[3, 1, 'a', rev(1)], [4, 1, 'a', rev(1)], [8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]]), /sequence 1 came after 1/);
  });
  test('an older state after a newer one', () => {
    bad(base().follower([[7, 1, 'a', rev(2)], [8, 2, 'a', rev(1)], [9, 3, 'b', rev(1, 'b')]]), /state 1 came after state 2/);
  });
  test('a revision that was never written', () => {
    bad(base().follower([[8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(9)]]), /was never written/);
  });
  test('a row before its write', () => {
    bad(base().follower([[4, 3, 'a', rev(2)], [8, 4, 'b', rev(1, 'b')]]), /before it was written/);
  });
  test('deleted is wrong', () => {
    bad(base().follower([[8, 2, 'b', rev(1, 'b'), true], [9, 3, 'a', rev(2)]]), /deleted is true/);
  });
  test('two followers are told different sequences', () => {
    const one = [[8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]];
    bad(base().follower(one).follower([[8, 2, 'b', rev(1, 'b')], [9, 4, 'a', rev(2)]]), /for another follower/);
    bad(base().follower(one).follower([[8, 2, 'a', rev(2)], [9, 3, 'b', rev(1, 'b')]]), /for another follower/);
  });
  test('sequences against the order of acknowledgements', () => {
    bad(base().follower([[8, 3, 'a', rev(2)], [9, 4, 'b', rev(1, 'b')]]), /was over before/);
  });
  test('told of a write that a later read does not see', () => {
    bad(new Script().write([1, 2], 'a', null, rev(1)).write([3, 10], 'a', rev(1), rev(2)).read([6, 7], ['a', rev(1)]).end('a', [rev(1), rev(2)])
      .follower([[5, 2, 'a', rev(2)]]), /does not fit/);
  });
  test('not what the follower asked for', () => {
    const rows = [[8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]];
    bad(base().follower(rows, { scope: { ids: ['a'] } }), /not what it asked for/);
    good(base().follower(rows.slice(1), { scope: { ids: ['a'] } }));
    bad(base().follower([], { scope: { ids: ['a'] } }), /never came/);
  });
  test('a selector: what matches must come, what does not must not', () => {
    const script = () => new Script().write([1, 2], 'a', null, rev(1), { n: 1 }).write([3, 4], 'a', rev(1), rev(2), { n: 2 }).end('a', [rev(1), rev(2)]);
    good(script().follower([], { scope: { anyOf: [{ n: 1 }] } }));
    good(script().follower([[5, 2, 'a', rev(2)]], { scope: { anyOf: [{ n: 2 }] } }));
    bad(script().follower([[5, 2, 'a', rev(2)]], { scope: { anyOf: [{ n: 1 }] } }), /not what it asked for/);
    bad(script().follower([], { scope: { anyOf: [{ n: 2 }] } }), /never came/);
  });
  test('a feed without deletions and sequences', () => {
    const script = (rows) => {
      const made = new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'a', rev(1), rev(2), { deleted: true }).write([5, 6], 'b', null, rev(1, 'b'))
        .end('a', [rev(1), rev(2)], { deleted: true }).end('b', [rev(1, 'b')]).follower([[7, 2, 'a', rev(2), true], [8, 3, 'b', rev(1, 'b')]]);
      made.follower(rows, { scope: { live: true, items: true } });
      for (const row of made.history.followers[1].rows) delete row.seq;
      return made;
    };
    good(script([[9, 0, 'b', rev(1, 'b')]]));
    bad(script([]), /the last revision 1-b+ .3. never came/);
    bad(script([[9, 0, 'a', rev(2), true], [10, 0, 'b', rev(1, 'b')]]), /not what it asked for/);
    bad(script([[9, 0, 'b', rev(1, 'b')], [10, 0, 'b', rev(1, 'b')]]), /sequence 3 came after 3/);
  });
  test('a log of all versions', () => {
    const log = (rows) => base().follower(rows, { scope: { every: true } });
    const [first, second, third] = [[3, 1, 'a', rev(1)], [8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]];
    good(log([first, second, third]));
    bad(log([second, third]), /the revision 1-a+ .no sequence. never came/);
    bad(log([first, third, second]), /sequence 2 came after 3/);
    const operations = (...names) => {
      const script = log([first, second, third]);
      script.history.followers[0].rows.forEach((row, i) => (row.operation = names[i]));
      return script;
    };
    good(operations('create', 'create', 'replace'));
    bad(operations('create', 'replace', 'replace'), /b 1-b+ was a create, not a replace/);
  });
  test('a log of all versions tells deletions by what was deleted', () => {
    const log = (after) => {
      const script = new Script().write([1, 2], 'a', null, rev(1)).write([3, 4], 'a', rev(1), rev(2), { deleted: true }).end('a', [rev(1), rev(2)], { deleted: true });
      script.follower([[5, 1, 'a', rev(1)], [6, 2, 'a', '', true]], { scope: { every: true } });
      Object.assign(script.history.followers[0].rows[1], { revs: [], after, operation: 'delete' });
      return script;
    };
    good(log(rev(1)));
    bad(log(rev(7)), /was never written/);
  });
  test('a row whose document is another', () => {
    const script = base().follower([[8, 2, 'b', rev(1, 'b')], [9, 3, 'a', rev(2)]]);
    script.history.followers[0].rows[1].doc = { _id: 'a', _rev: rev(1), tag: `a${rev(1)}` };
    bad(script, /the row says 2-a+, its document 1-a+/);
  });
});

describe('followers of databases', () => {
  const databases = new Map([['one', { last: 'updated', written: 10 }], ['two', { last: 'deleted', written: 5 }]]);
  const rows = (...list) => list.map(([at, seq, database, type]) => ({ at, seq, database, type }));
  test('good', () => {
    assert.deepEqual(checkDatabaseUpdates(rows([6, '1-x', 'two', 'deleted'], [12, '2-x', 'one', 'updated'], [20, '1-y', 'one', 'created'], [21, '2-y', 'two', 'deleted']), databases), []);
  });
  test('faults', () => {
    const found = (...list) => checkDatabaseUpdates(rows(...list), databases).join('\n');
    assert.match(found([12, '2-x', 'one', 'updated']), /two never came/);
    assert.match(found([6, '1-x', 'two', 'updated'], [12, '2-x', 'one', 'updated']), /two is deleted/);
    assert.match(found([6, '1-x', 'two', 'deleted'], [8, '2-x', 'one', 'updated']), /last event came at 8/);
    assert.match(found([6, '2-x', 'two', 'deleted'], [12, '2-x', 'one', 'updated']), /sequence 2 came after 2/);
  });
});
