// Collections within an entity: of values, and of owned entities with collections of their own.
import { customersWhere, valueOf, where } from './texts.mjs';

const above = (least) => (score) => score !== null && score > least;
const sum = (values) => values.reduce((total, value) => total + value, 0);
const ascending = (values) => values.toSorted((a, b) => a - b);
const distinct = (values) => [...new Set(values)];
const withoutEqual = (rows) => distinct(rows.map((row) => JSON.stringify(row))).map((text) => JSON.parse(text));
const noted = (c) => c.Orders.filter((o) => o.Note !== null);
const total = (o) => sum(o.Lines.map((line) => line.Quantity));

/// Rows of the elements of a collection.
const join = (what, joined, condition, make, parameters) => ({
  sql: `SELECT ${what}\nFROM root c\nJOIN ${joined}\n${customersWhere(condition)}`,
  parameters,
  rows: ({ customers }) => make(customers),
});

export const collections = [
  where('(ARRAY_LENGTH(c["Scores"]) = 2)', (c) => c.Scores.length === 2),
  where('ARRAY_CONTAINS(c["Scores"], 10)', (c) => c.Scores.includes(10)),
  where('ARRAY_CONTAINS(c["Scores"], null)', (c) => c.Scores.includes(null)),
  where('ARRAY_CONTAINS(c["Tags"], @tag)', (c) => c.Tags.includes('vip'), { tag: 'vip' }),
  where('(c["Scores"][1] = 10)', (c) => c.Scores[1] === 10),
  where('((c["Scores"][2] ?? 999) = 999)', (c) => c.Scores.length < 3),
  where('IS_DEFINED(c["Scores"][2])', (c) => c.Scores.length > 2),
  where('((ARRAY_LENGTH(c["Tags"]) > 0) AND (c["Tags"][0] = c["Region"]))', (c) => c.Tags.length > 0 && c.Tags[0] === c.Region),
  where('([1, c["Level"], 3][c["Level"]] = 1)', (c) => [1, c.Level, 3][c.Level] === 1),
  where('(@levels[c["Level"]] = 9)', (c) => [4, 9, 9][c.Level] === 9, { levels: [4, 9, 9] }),
  where('(c["Scores"] = [])', (c) => c.Scores.length === 0),
  where('(c["Tags"] = ["vip","new"])', (c) => c.Tags.join() === 'vip,new'),
  where('(c["Tags"] != @tags)', (c) => c.Tags.join() !== 'vip', { tags: ['vip'] }),
  where('((\n    SELECT VALUE COUNT(1)\n    FROM s IN c["Scores"]\n    WHERE (s > 5)) = 2)', (c) => c.Scores.filter(above(5)).length === 2),
  where('((\n    SELECT VALUE COUNT(1)\n    FROM a IN (SELECT VALUE [1, @p, 14])\n    WHERE (a > c["Flags"])) = 2)', (c) => [1, 7, 14].filter((a) => a > c.Flags).length === 2, { p: 7 }),
  where('((\n    SELECT VALUE COUNT(1)\n    FROM p IN (SELECT VALUE @list)\n    WHERE (p > c["Flags"])) = 0)', (c) => c.Flags >= 9, { list: [1, 9] }),
  where('((\n    SELECT VALUE MIN(a)\n    FROM a IN (SELECT VALUE [8, c["Flags"], @p])) = 5)', (c) => Math.min(8, c.Flags, 5) === 5, { p: 5 }),
  where('((\n    SELECT VALUE MAX(a)\n    FROM a IN (SELECT VALUE [2, c["Flags"]])) = 2)', (c) => c.Flags <= 2),
  where('EXISTS (\n    SELECT 1\n    FROM a IN (SELECT VALUE @list)\n    WHERE ((a != null) AND (a = c["City"])))', (c) => ['Berlin', 'Luleå'].includes(c.City), { list: ['Berlin', null, 'Luleå'] }),
  where('EXISTS (\n    SELECT 1\n    FROM s IN c["Scores"]\n    WHERE ((s > 3) AND (s < 7)))', (c) => c.Scores.some((s) => s !== null && s > 3 && s < 7)),
  where('ARRAY_CONTAINS(ARRAY_SLICE(c["Scores"], 1, 2), 11)', (c) => c.Scores.slice(1, 3).includes(11)),
  where('(ARRAY_LENGTH(ARRAY_SLICE(ARRAY(\n    SELECT VALUE s\n    FROM s IN c["Scores"]\n    WHERE (s > 1)), 1)) = 3)', (c) => c.Scores.filter(above(1)).length === 4),
  where('(ARRAY(\n    SELECT VALUE s\n    FROM s IN c["Scores"]\n    ORDER BY s DESC)[0] = 12)', (c) => Math.max(-1, ...c.Scores) === 12),
  where('(ARRAY_LENGTH(SetUnion(c["Scores"], @list)) = 4)', (c) => distinct([...c.Scores, 1, 2]).length === 4, { list: [1, 2] }),
  where('(ARRAY_LENGTH(SetIntersect(c["Tags"], ["vip","late"])) = 2)', (c) => c.Tags.includes('vip') && c.Tags.includes('late')),
  where('(ARRAY_LENGTH(ARRAY_CONCAT(@list, c["Scores"])) = 4)', (c) => c.Scores.length === 2, { list: [7, 7] }),
  where('(ARRAY_LENGTH(c["Orders"]) > 1)', (c) => c.Orders.length > 1),
  where('(c["Orders"][0]["Note"] = null)', (c) => c.Orders.length > 0 && c.Orders[0].Note === null),
  where('((c["Orders"][1] ?? null) != null)', (c) => c.Orders.length > 1),
  where('(c["Orders"][(c["Level"] - 1)]["Id"] > 100)', (c) => c.Orders[c.Level - 1]?.Id > 100),
  where('EXISTS (\n    SELECT 1\n    FROM o IN c["Orders"]\n    WHERE (ARRAY_LENGTH(o["Lines"]) = 3))', (c) => c.Orders.some((o) => o.Lines.length === 3)),
  where('EXISTS (\n    SELECT 1\n    FROM o IN c["Orders"]\n    WHERE EXISTS (\n        SELECT 1\n        FROM l IN o["Lines"]\n        WHERE ((l["Sku"] = "S1") AND (l["Quantity"] > c["Level"]))))', (c) => c.Orders.some((o) => o.Lines.some((l) => l.Sku === 'S1' && l.Quantity > c.Level))),
  where('EXISTS (\n    SELECT 1\n    FROM o IN c["Orders"]\n    WHERE ((o["Id"] > @p) AND (o["Lines"] = [])))', (c) => c.Orders.some((o) => o.Id > 20 && o.Lines.length === 0), { p: 20 }),
  where('NOT(EXISTS (\n    SELECT 1\n    FROM o IN c["Orders"]\n    WHERE false))', () => true),
  where('((\n    SELECT VALUE COUNT(1)\n    FROM o IN c["Orders"]\n    WHERE (DateTimePart("yyyy", o["Date"]) = 2001)) = 1)', (c) => c.Orders.filter((o) => o.Date.startsWith('2001')).length === 1),
  where('(ARRAY(\n    SELECT VALUE o["Id"]\n    FROM o IN c["Orders"]\n    ORDER BY o["Date"])[0] > 50)', (c) => c.Orders.length > 0 && c.Orders.toSorted((a, b) => (a.Date < b.Date ? -1 : 1))[0].Id > 50),
  where('(ARRAY_LENGTH(ARRAY_CONCAT(ARRAY(\n    SELECT VALUE o\n    FROM o IN c["Orders"]\n    WHERE (o["Note"] = null)), ARRAY(\n    SELECT VALUE o0\n    FROM o0 IN c["Orders"]\n    WHERE (ARRAY_LENGTH(o0["Lines"]) > 1)))) = 2)',
    (c) => c.Orders.filter((o) => o.Note === null).length + c.Orders.filter((o) => o.Lines.length > 1).length === 2),
  where('(ARRAY_LENGTH(SetUnion(ARRAY(\n    SELECT VALUE o\n    FROM o IN c["Orders"]\n    WHERE (o["Note"] = null)), ARRAY(\n    SELECT VALUE o0\n    FROM o0 IN c["Orders"]\n    WHERE (ARRAY_LENGTH(o0["Lines"]) > 1)))) = 2)',
    (c) => c.Orders.filter((o) => o.Note === null || o.Lines.length > 1).length === 2),
  valueOf('c["Scores"][0]', (c) => c.Scores[0]),
  valueOf('ARRAY_LENGTH(c["Orders"])', (c) => c.Orders.length),
  valueOf('ARRAY(\n    SELECT VALUE s\n    FROM s IN c["Scores"]\n    WHERE (s = null))', (c) => c.Scores.filter((s) => s === null)),
  valueOf('ARRAY(\n    SELECT VALUE s\n    FROM s IN c["Scores"]\n    WHERE (s > 0)\n    ORDER BY s DESC)', (c) => ascending(c.Scores.filter(above(0))).toReversed()),
  valueOf('ARRAY_SLICE(ARRAY(\n    SELECT VALUE s\n    FROM s IN c["Scores"]\n    WHERE (s > 0)\n    ORDER BY s), 1)', (c) => ascending(c.Scores.filter(above(0))).slice(1)),
  valueOf('ARRAY(\n    SELECT VALUE s\n    FROM s IN (SELECT VALUE ARRAY_SLICE(c["Scores"], 1, 2)))', (c) => c.Scores.slice(1, 3)),
  valueOf('ARRAY_LENGTH(ARRAY(\n    SELECT DISTINCT VALUE s\n    FROM s IN c["Scores"]))', (c) => distinct(c.Scores).length),
  valueOf('ARRAY(\n    SELECT VALUE o\n    FROM o IN c["Orders"]\n    WHERE (o["Note"] != null))', (c) => noted(c)),
  valueOf('ARRAY(\n    SELECT VALUE ARRAY(\n        SELECT VALUE l["Price"]\n        FROM l IN o["Lines"])\n    FROM o IN c["Orders"])', (c) => c.Orders.map((o) => o.Lines.map((l) => l.Price))),
  valueOf('(ARRAY(\n    SELECT VALUE (o["Id"] != 42)\n    FROM o IN c["Orders"]\n    ORDER BY o["Id"])[0] ?? false)', (c) => c.Orders.length > 0 && c.Orders[0].Id !== 42),
  valueOf('(\n    SELECT VALUE SUM((\n        SELECT VALUE SUM(l["Quantity"])\n        FROM l IN o["Lines"]))\n    FROM o IN c["Orders"])', (c) => sum(c.Orders.map(total))),
  valueOf('(\n    SELECT VALUE AVG(s)\n    FROM s IN (SELECT VALUE [c["Level"], c["Flags"]]))', (c) => (c.Level + c.Flags) / 2),
  valueOf('{\n    "Key" : c["id"],\n    "First" : c["Orders"][0],\n    "Nulls" : ARRAY(\n        SELECT VALUE o["Id"]\n        FROM o IN c["Orders"]\n        WHERE (o["Note"] = null))\n}',
    (c) => ({ Key: c.id, First: c.Orders[0], Nulls: c.Orders.filter((o) => o.Note === null).map((o) => o.Id) })),
  join('VALUE s', 's IN c["Scores"]', undefined, (all) => all.flatMap((c) => c.Scores)),
  join('VALUE o', 'o IN c["Orders"]', '(o["Note"] = @note)', (all) => all.flatMap((c) => c.Orders.filter((o) => o.Note === 'vip')), { note: 'vip' }),
  join('VALUE {"Order" : o["Id"], "City" : c["City"], "Sku" : l["Sku"]}', 'o IN c["Orders"]\nJOIN l IN o["Lines"]', '(l["Quantity"] > 4)',
    (all) => all.flatMap((c) => c.Orders.flatMap((o) => o.Lines.filter((l) => l.Quantity > 4).map((l) => ({ Order: o.Id, City: c.City, Sku: l.Sku }))))),
  join('VALUE j', '(\n    SELECT VALUE s\n    FROM s IN c["Scores"]\n    WHERE (s > 6)) j', undefined, (all) => all.flatMap((c) => c.Scores.filter(above(6)))),
  join('VALUE j', '(\n    SELECT VALUE c["id"]\n    FROM a IN (SELECT VALUE [1, 2])) j', undefined, (all) => all.flatMap((c) => [c.id, c.id])),
  join('DISTINCT VALUE o["Note"]', 'o IN c["Orders"]', undefined, (all) => distinct(all.flatMap((c) => c.Orders.map((o) => o.Note)))),
  join('DISTINCT VALUE l', 'o IN c["Orders"]\nJOIN l IN o["Lines"]', undefined, (all) => withoutEqual(all.flatMap((c) => c.Orders.flatMap((o) => o.Lines)))),
  join('VALUE COUNT(1)', 'o IN c["Orders"]', undefined, (all) => [sum(all.map((c) => c.Orders.length))]),
];
