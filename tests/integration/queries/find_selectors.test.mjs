// Every selector operator, end to end: each test names the documents a selector must find among the same few.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { docIds, expectError, expectStatus, patience, Server } from '../harness.mjs';

const people = [
  { _id: 'ann', name: 'Ann', age: 31, city: 'Oslo', tags: ['a', 'b'], address: { zip: '0150', geo: { lat: 59.9 } }, active: true },
  { _id: 'bob', name: 'Bob', age: 42, city: 'Rome', tags: ['b', 'c'], address: { zip: '00100' }, active: false },
  { _id: 'cat', name: 'Cat', age: 25, city: null, tags: [], scores: [{ s: 1 }, { s: 9 }], active: true },
  { _id: 'dan', name: 'Dan', age: 67.5, city: 'Oslo', tags: ['a', 'b', 'c'], scores: [{ s: 7 }, { s: 8 }], 'dotted.name': 'yes' },
  { _id: 'eve', name: 'eve', age: '31', city: 'Paris', map: { x: 1, y: 2 } },
  { _id: 'fay' },
];

const cases = [
  ['an empty selector finds all', {}, 'ann bob cat dan eve fay'],
  ['a plain value is equality', { age: 31 }, 'ann'],
  ['several fields must all hold', { city: 'Oslo', age: 31 }, 'ann'],
  ['numbers and strings are not equal', { age: '31' }, 'eve'],
  ['null is a value', { city: null }, 'cat'],
  ['an integer equals its decimal', { age: 31.0 }, 'ann'],
  ['$eq', { age: { $eq: 42 } }, 'bob'],
  ['$eq with an array', { tags: { $eq: ['a', 'b'] } }, 'ann'],
  ['$eq with an object', { map: { $eq: { x: 1, y: 2 } } }, 'eve'],
  ['$ne', { age: { $ne: 31 } }, 'bob cat dan eve'],
  ['$ne matches only where the field is there', { city: { $ne: 'Oslo' } }, 'bob cat eve'],
  ['$lt', { age: { $lt: 31 } }, 'cat'],
  ['$lte', { age: { $lte: 31 } }, 'ann cat'],
  ['$gt crosses types in collation order', { age: { $gt: 42 } }, 'dan eve'],
  ['$gte', { age: { $gte: 42 } }, 'bob dan eve'],
  ['a range on one field', { age: { $gt: 25, $lt: 50 } }, 'ann bob'],
  ['comparisons of strings', { name: { $gte: 'Bob', $lt: 'Dan' } }, 'bob cat'],
  ['$exists true', { city: { $exists: true } }, 'ann bob cat dan eve'],
  ['$exists false', { city: { $exists: false } }, 'fay'],
  ['$type number', { age: { $type: 'number' } }, 'ann bob cat dan'],
  ['$type string', { age: { $type: 'string' } }, 'eve'],
  ['$type null', { city: { $type: 'null' } }, 'cat'],
  ['$type boolean', { active: { $type: 'boolean' } }, 'ann bob cat'],
  ['$type array', { tags: { $type: 'array' } }, 'ann bob cat dan'],
  ['$type object', { address: { $type: 'object' } }, 'ann bob'],
  ['$in', { city: { $in: ['Rome', 'Paris', null] } }, 'bob cat eve'],
  ['$in looks into arrays', { tags: { $in: ['c'] } }, 'bob dan'],
  ['$nin', { city: { $nin: ['Oslo', 'Rome'] } }, 'cat eve'],
  ['$size', { tags: { $size: 2 } }, 'ann bob'],
  ['$size zero', { tags: { $size: 0 } }, 'cat'],
  ['$mod', { age: { $mod: [10, 1] } }, 'ann'],
  ['$regex', { name: { $regex: '^[A-C]' } }, 'ann bob cat'],
  ['$regex unanchored', { name: { $regex: 'a' } }, 'cat dan'],
  ['$regex on other types finds nothing', { age: { $regex: '3' } }, 'eve'],
  ['an unknown $type finds nothing', { age: { $type: 'integer' } }, ''],
  ['$regex without case', { name: { $regex: '(?i)EVE' } }, 'eve'],
  ['$beginsWith', { city: { $beginsWith: 'O' } }, 'ann dan'],
  ['$beginsWith minds case', { name: { $beginsWith: 'E' } }, ''],
  ['$all', { tags: { $all: ['b', 'a'] } }, 'ann dan'],
  ['$all of one', { tags: { $all: ['c'] } }, 'bob dan'],
  ['$elemMatch', { scores: { $elemMatch: { s: { $gt: 8 } } } }, 'cat'],
  ['$elemMatch on plain elements', { tags: { $elemMatch: { $eq: 'c' } } }, 'bob dan'],
  ['$allMatch', { scores: { $allMatch: { s: { $gt: 5 } } } }, 'dan'],
  ['$allMatch of an empty array is false', { tags: { $allMatch: { $exists: true } } }, 'ann bob dan'],
  ['$keyMapMatch', { map: { $keyMapMatch: { $eq: 'x' } } }, 'eve'],
  ['$and', { $and: [{ city: 'Oslo' }, { age: { $gt: 50 } }] }, 'dan'],
  ['$or', { $or: [{ city: 'Rome' }, { age: 25 }] }, 'bob cat'],
  ['$nor', { $nor: [{ city: 'Oslo' }, { city: 'Rome' }] }, 'cat eve'],
  ['$not of a selector still wants the field', { $not: { city: 'Oslo' } }, 'bob cat eve'],
  ['$not of $exists', { $not: { city: { $exists: true } } }, 'fay'],
  ['$not of $regex', { name: { $not: { $regex: '^[A-C]' } } }, 'dan eve'],
  ['$not of $and', { $not: { $and: [{ city: 'Oslo' }, { age: 31 }] } }, 'bob cat dan eve'],
  ['a double $not', { $not: { $not: { city: 'Oslo' } } }, 'ann dan'],
  ['$not of a condition', { age: { $not: { $gt: 31 } } }, 'ann cat'],
  ['$and and $or together', { active: true, $or: [{ age: 31 }, { age: 42 }] }, 'ann'],
  ['a nested field by dots', { 'address.zip': '0150' }, 'ann'],
  ['a nested field by objects', { address: { zip: '00100' } }, 'bob'],
  ['a deeper field', { 'address.geo.lat': { $gt: 50 } }, 'ann'],
  ['an escaped dot is part of the name', { 'dotted\\.name': 'yes' }, 'dan'],
  ['_id is a field', { _id: { $gt: 'cat', $lt: 'eve' } }, 'dan'],
  ['_id with $in', { _id: { $in: ['fay', 'ann', 'missing'] } }, 'ann fay'],
  ['an array element by position', { 'tags.0': 'b' }, 'bob'],
  ['$or over a missing field', { $or: [{ nothing: 1 }, { name: 'Ann' }] }, 'ann'],
  ['an $or without branches finds nothing', { $or: [] }, ''],
  ['$in with nothing finds nothing', { age: { $in: [] } }, ''],
  ['$nin with nothing finds all that have the field', { age: { $nin: [] } }, 'ann bob cat dan eve'],
  ['a comparison with null', { city: { $gt: null } }, 'ann bob dan eve'],
  ['true and false', { active: { $gt: false } }, 'ann cat'],
];

const indexes = [['without an index', []], ['with indexes', [['age'], ['city', 'age'], ['name'], ['tags'], ['address.zip'], ['active']]]];

for (const [title, definitions] of indexes) {
  describe(`selectors, ${title}`, () => {
    let server, db;
    before(async () => {
      server = await Server.start();
      db = await server.database('q=2');
      for (const fields of definitions) {
        expectStatus(await server.post(`/${db}/_index`, { index: { fields }, ddoc: fields.join('-').replace('.', '-') }), 200);
      }
      await server.fill(db, people);
    });
    after(() => server?.stop());

    for (const [name, selector, expected] of cases) {
      test(name, async () => {
        const body = expectStatus(await server.post(`/${db}/_find`, { selector, limit: 100 }), 200);
        assert.equal(docIds(body.docs).sort().join(' '), expected, JSON.stringify(selector));
      });
    }
  });
}

describe('selectors that are wrong', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
    await server.fill(db, people);
  });
  after(() => server?.stop());
  const find = (selector) => server.post(`/${db}/_find`, { selector });

  test('an unknown operator', async () => {
    expectError(await find({ age: { $nearly: 1 } }), 400, 'invalid_operator', 'Invalid operator: $nearly');
    expectError(await find({ age: { $near: 1 } }), 400, 'not_supported', 'Unsupported operator: $near');
    expectError(await find({ $xor: [] }), 400, 'invalid_operator', 'Invalid operator: $xor');
  });

  test('lists of more values than a selector may have', async () => {
    const many = Array.from({ length: 100_001 }, (_, n) => n);
    for (const operator of ['$in', '$nin', '$all']) {
      expectError(await find({ age: { [operator]: many } }), 400, 'invalid_selector',
        'Selector lists over 100000 values in $in, $nin and $all');
    }
  });

  test('a condition without a field', async () => {
    expectError(await find({ $gt: 5 }), 400, 'invalid_selector', 'One or more conditions is missing a field name.');
  });

  for (const [operator, argument] of [['$in', 1], ['$nin', 'x'], ['$all', {}], ['$exists', 'yes'], ['$type', 5],
    ['$mod', [2]], ['$mod', ['a', 1]], ['$mod', [2.5, 1]], ['$regex', 5], ['$regex', '('], ['$size', -1], ['$size', 'x'],
    ['$beginsWith', 5], ['$elemMatch', 5]]) {
    test(`${operator} of ${JSON.stringify(argument)}`, async () => {
      expectError(await find({ age: { [operator]: argument } }), 400, 'bad_arg', new RegExp(`^Bad argument for operator \\${operator}`));
    });
  }

  test('$and, $or and $nor take arrays', async () => {
    for (const operator of ['$and', '$or', '$nor']) expectError(await find({ [operator]: {} }), 400, 'bad_arg');
  });

  test('a selector must be an object', async () => {
    for (const selector of [1, 'x', [], null, true]) expectError(await find(selector), 400, 'invalid_selector_json', /^Selector must be a JSON object/);
  });

  test('a selector of great depth is refused and does no harm', async () => {
    const selector = '{"$not":'.repeat(5000) + '{"a":1}' + '}'.repeat(5000);
    const reply = await server.post(`/${db}/_find`, `{"selector":${selector}}`);
    assert.ok(reply.status === 400 || reply.status === 200, reply.text);
    expectStatus(await server.get('/'), 200);
  });

  test('a regular expression that would run for ever is stopped', async () => {
    await server.put(`/${db}/evil`, { text: 'a'.repeat(40) + '!' });
    const begin = Date.now();
    const reply = await find({ text: { $regex: '^(a+)+$' } });
    assert.ok(Date.now() - begin < 15_000 * patience);
    assert.ok([200, 400, 500].includes(reply.status));
    expectStatus(await server.get('/'), 200);
  });
});
