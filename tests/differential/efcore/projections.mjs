// What is selected: members, objects, conditions, distinct values, aggregates.
import { customersWhere, valueOf } from './texts.mjs';

const select = (what, make, { condition, test = () => true, rest = '', ...others } = {}) => ({
  sql: `SELECT ${what}\nFROM root c\n${customersWhere(condition)}${rest}`,
  rows: ({ customers }) => make(customers.filter((c) => test(c))),
  ...others,
});
const distinct = (values) => [...new Set(values)];
const by = (key) => (a, b) => (key(a) < key(b) ? -1 : 1);

/// Rows in the order of ORDER BY: what is made of the customers, sorted already by their number.
const inOrder = (what, rest, make, parameters) => select(what, make, { rest, ordered: true, parameters });

const sum = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => (values.length > 0 ? [sum(values) / values.length] : []);
const ratings = (customers) => customers.map((c) => c.Rating).filter((rating) => rating !== null);

export const projections = [
  valueOf('c["City"]', (c) => c.City),
  valueOf('c["Region"]', (c) => c.Region),
  valueOf('c["Address"]["Country"]["Code"]', (c) => c.Address?.Country.Code),
  valueOf('c["Orders"]', (c) => c.Orders),
  valueOf('1', () => 1),
  valueOf('true', () => true),
  valueOf('null', () => null),
  valueOf('@p', () => 8, { p: 8 }),
  valueOf('[c["id"], c["Level"]]', (c) => [c.id, c.Level]),
  valueOf('{\n    "Key" : c["id"],\n    "Area" : c["Address"]["Country"]["Area"],\n    "Literal" : null,\n    "Entity" : c\n}', (c) => ({ Key: c.id, Area: c.Address?.Country.Area, Literal: null, Entity: c })),
  valueOf('(c["Level"] + c["Flags"])', (c) => c.Level + c.Flags),
  valueOf('-(c["Balance"])', (c) => -c.Balance),
  valueOf('(c["Balance"] / (c["Level"] + 1))', (c) => c.Balance / (c.Level + 1)),
  valueOf('(c["City"] = "London")', (c) => c.City === 'London'),
  valueOf('NOT(c["IsActive"])', (c) => !c.IsActive),
  valueOf('((c["Region"] = null) ? true : (c["Level"] < 2))', (c) => c.Region === null || c.Level < 2),
  valueOf('((c["Region"] != null) ? c["Region"] : "ZZ")', (c) => c.Region ?? 'ZZ'),
  valueOf('(((c["Flags"] % 2) = 0) ? (((c["Flags"] % 5) = 0) ? -(c["Flags"]) : c["Flags"]) : "odd")', (c) => (c.Flags % 2 === 0 ? (c.Flags % 5 === 0 ? -c.Flags : c.Flags) : 'odd')),
  valueOf('((c["City"] = "London") ? "1" : ((c["City"] = "Berlin") ? "2" : ((c["City"] = "Seattle") ? "3" : null)))', (c) => ({ London: '1', Berlin: '2', Seattle: '3' })[c.City] ?? null),
  valueOf('(c["Address"]["Street"] ?? "none")', (c) => (c.Address === null ? 'none' : c.Address.Street)),
  valueOf('(c["City"] || ToString(c["Level"]))', (c) => c.City + c.Level),
  select('c["id"], c["City"]', (all) => all.map(({ id, City }) => ({ id, City }))),
  select('c, c["City"]', (all) => all.map((c) => ({ c, City: c.City }))),
  select('c["City"], (c["City"] = "London") AS c, LENGTH(c["City"]) AS c0', (all) => all.map(({ City }) => ({ City, c: City === 'London', c0: City.length }))),
  select('c["id"], c["Number"]', (all) => all.map(({ id, Number }) => ({ id, Number })), { condition: '(c["Level"] = 1)', test: (c) => c.Level === 1 }),
  select('VALUE c["id"]', (all) => all.map((c) => c.id), { rest: '\nOFFSET 0 LIMIT 4', taken: 4 }),
  select('VALUE true', (all) => all.map(() => true), { condition: 'STARTSWITH(c["City"], "L")', test: (c) => c.City.startsWith('L'), rest: '\nOFFSET 0 LIMIT 1', taken: 1 }),
  select('DISTINCT VALUE c["City"]', (all) => distinct(all.map((c) => c.City))),
  select('DISTINCT VALUE c["Region"]', (all) => distinct(all.map((c) => c.Region))),
  select('DISTINCT VALUE c["Rating"]', (all) => distinct(all.map((c) => c.Rating))),
  select('DISTINCT VALUE (c["City"] || c["$type"])', (all) => distinct(all.map((c) => c.City + c.$type)), { condition: '((c["City"] || c["$type"]) != "BerlinPerson")', test: (c) => c.City + c.$type !== 'BerlinPerson' }),
  select('DISTINCT VALUE DateTimePart("yyyy", c["Since"])', (all) => distinct(all.map((c) => Number(c.Since.slice(0, 4))))),
  select('DISTINCT c["City"], c["Level"]', (all) => distinct(all.map(({ City, Level }) => JSON.stringify({ City, Level }))).map((text) => JSON.parse(text))),
  select('DISTINCT VALUE {"Code" : c["Address"]["Country"]["Code"]}', (all) => distinct(all.map((c) => JSON.stringify({ Code: c.Address?.Country.Code }))).map((text) => JSON.parse(text))),
  select('VALUE COUNT(1)', (all) => [all.length]),
  select('VALUE COUNT(1)', (all) => [all.length], { condition: '(c["City"] = "nowhere")', test: () => false }),
  select('VALUE COUNT(1)', (all) => [all.length], { condition: '((c["Number"] > 10) AND (c["City"] != "London"))', test: (c) => c.Number > 10 && c.City !== 'London' }),
  select('VALUE SUM(c["Level"])', (all) => [sum(all.map((c) => c.Level))]),
  select('VALUE SUM(1)', (all) => [all.length]),
  select('VALUE SUM((c["Balance"] * 2))', (all) => [sum(all.map((c) => c.Balance * 2))]),
  select('VALUE SUM(((c["Rating"] != null) ? c["Rating"] : 0))', (all) => [sum(all.map((c) => c.Rating ?? 0))]),
  select('VALUE SUM((ARRAY_CONTAINS(@cities, c["City"]) ? 1 : 0))', (all) => [all.filter((c) => c.City === 'London').length], { parameters: { cities: ['London'] } }),
  select('VALUE AVG(c["Balance"])', (all) => mean(all.map((c) => c.Balance))),
  select('VALUE AVG(c["Rating"])', (all) => mean(ratings(all)), { condition: '(c["Rating"] != null)', test: (c) => c.Rating !== null }),
  select('VALUE AVG(c["Level"])', () => [], { condition: '(c["City"] = "nowhere")', test: () => false }),
  select('VALUE MIN(c["Since"])', (all) => [all.map((c) => c.Since).sort()[0]]),
  select('VALUE MAX((c["Level"] - 7))', (all) => [Math.max(...all.map((c) => c.Level - 7))]),
  inOrder('VALUE c["Number"]', '\nORDER BY c["Number"] DESC', (all) => all.map((c) => c.Number).toReversed()),
  inOrder('VALUE c["id"]', '\nORDER BY c["City"], c["Number"]', (all) => all.toSorted((a, b) => Buffer.compare(Buffer.from(a.City), Buffer.from(b.City)) || a.Number - b.Number).map((c) => c.id)),
  inOrder('VALUE c["Balance"]', '\nORDER BY c["Balance"]', (all) => all.map((c) => c.Balance).toSorted((a, b) => a - b)),
  inOrder('VALUE c["Since"]', '\nORDER BY c["Since"] DESC\nOFFSET 0 LIMIT 5', (all) => all.map((c) => c.Since).toSorted().toReversed().slice(0, 5)),
  inOrder('VALUE (c["Level"] - c["Number"])', '\nORDER BY (c["Level"] - c["Number"])', (all) => all.map((c) => c.Level - c.Number).toSorted((a, b) => a - b)),
  inOrder('VALUE c["id"]', '\nORDER BY (c["Level"] > 1), c["Number"]', (all) => all.toSorted((a, b) => (a.Level > 1) - (b.Level > 1) || a.Number - b.Number).map((c) => c.id)),
  inOrder('VALUE ((c["Region"] != null) ? c["Region"] : "ZZ")', '\nORDER BY ((c["Region"] != null) ? c["Region"] : "ZZ"), c["Number"]', (all) => all.map((c) => c.Region ?? 'ZZ').toSorted(by((text) => text))),
  inOrder('VALUE LENGTH(c["Name"])', '\nORDER BY LENGTH(c["Name"]) DESC', (all) => all.map((c) => c.Name.length).toSorted((a, b) => b - a)),
  inOrder('VALUE c["id"]', '\nORDER BY ARRAY_CONTAINS(@cities, c["City"]), c["Number"]', (all) => all.toSorted((a, b) => (a.City === 'Berlin') - (b.City === 'Berlin') || a.Number - b.Number).map((c) => c.id), { cities: ['Berlin'] }),
];
