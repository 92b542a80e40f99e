// Functions and operators that methods of .NET's texts, numbers, dates and enumerations become.
import { valueOf, where } from './texts.mjs';

const two = (number) => String(number).padStart(2, '0');
const lengthOf = (text) => [...text].length;

/// What the language shows for a date: seven decimals, and Z.
function shifted(text, change) {
  const date = new Date(`${text}Z`);
  change(date);
  return `${date.toISOString().slice(0, 19)}.0000000Z`;
}
const addMonths = (text, months) => {
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)) - 1 + months, Number(text.slice(8, 10))];
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const first = new Date(Date.UTC(year, month, 1));
  return `${first.getUTCFullYear()}-${two(first.getUTCMonth() + 1)}-${two(Math.min(day, last))}${text.slice(10)}.0000000Z`;
};
// .NET's and the service's rounding of halves: away from zero.
const rounded = (number) => Math.sign(number) * Math.round(Math.abs(number)) || 0;
const rated = (make) => (c) => (c.Rating === null ? undefined : make(c.Rating));

const texts = [
  where('(LENGTH(c["Name"]) = 10)', (c) => lengthOf(c.Name) === 10),
  where('STARTSWITH(c["City"], "L")', (c) => c.City.startsWith('L')),
  where('STARTSWITH(c["City"], @p)', (c) => c.City.startsWith('Be'), { p: 'Be' }),
  where('STARTSWITH(c["City"], "S", true)', (c) => c.City.toLowerCase().startsWith('s')),
  where('ENDSWITH(c["City"], "n")', (c) => c.City.endsWith('n')),
  where('(ENDSWITH(c["City"], "n") = true)', (c) => c.City.endsWith('n')),
  where('ENDSWITH(c["Name"], "SEE", true)', (c) => c.Name.toLowerCase().endsWith('see')),
  where('CONTAINS(c["Name"], "\\"Conn")', (c) => c.Name.includes('"Conn')),
  where('CONTAINS(c["Name"], @p)', (c) => c.Name.includes("d'"), { p: "d'" }),
  where('CONTAINS(c["Name"], "")', () => true),
  where('CONTAINS(c["Name"], "APP", true)', (c) => c.Name.toLowerCase().includes('app')),
  where('NOT(CONTAINS(c["Name"], "e"))', (c) => !c.Name.includes('e')),
  where('CONTAINS(c["Name"], c["City"])', (c) => c.Name.includes(c.City)),
  where('STRINGEQUALS(c["City"], "LONDON", true)', (c) => c.City.toLowerCase() === 'london'),
  where('(c["Region"] >= "S")', (c) => c.Region !== null && c.Region >= 'S'),
  where('((LENGTH(c["City"]) > 6) AND (INDEX_OF(c["City"], "l", 2) != -1))', (c) => lengthOf(c.City) > 6 && c.City.indexOf('l', 2) !== -1),
  where('(INDEX_OF(c["Name"], @p) = 0)', (c) => c.Name.startsWith('L'), { p: 'L' }),
  where('(REPLACE(c["City"], "e", "a") = "Saattla")', (c) => c.City === 'Seattle'),
  where('((c["Tags"][0] != "") AND (REPLACE(c["City"], c["Tags"][0], "") = "Berlin"))', (c) => c.Tags.length > 0 && c.Tags[0] !== '' && c.City === 'Berlin'),
  where('(LEFT(c["City"], 2) = "Be")', (c) => c.City.startsWith('Be')),
  where('(RIGHT(c["City"], 3) = "don")', (c) => c.City.endsWith('don')),
  where('((LENGTH(c["City"]) >= 2) AND (SUBSTRING(c["City"], 1, 2) = "on"))', (c) => c.City.slice(1, 3) === 'on'),
  where('(SUBSTRING(c["City"], 2, LENGTH(c["City"])) = "rlin")', (c) => c.City.slice(2) === 'rlin'),
  where('(LTRIM(c["Name"]) = "Spaced  ")', (c) => c.Name === '  Spaced  '),
  where('(TRIM(c["Name"]) = "Spaced")', (c) => c.Name === '  Spaced  '),
  where('((c["City"] || @p) = "Berlin!")', (c) => c.City === 'Berlin', { p: '!' }),
  where('((ToString(@p) || c["City"]) = "5London")', (c) => c.City === 'London', { p: 5 }),
  where('RegexMatch(c["City"], "^[LB].*n$")', (c) => /^[LB].*n$/.test(c.City)),
  where('RegexMatch(c["City"], "^s", "i")', (c) => /^s/i.test(c.City)),
  where('((c["Region"] = "") OR (c["Region"] = null))', (c) => !c.Region),
  valueOf('UPPER(c["City"])', (c) => c.City.toUpperCase()),
  valueOf('LOWER(c["Name"])', (c) => c.Name.toLowerCase()),
  valueOf('INDEX_OF(c["Name"], "o")', (c) => c.Name.indexOf('o')),
  valueOf('((c["Name"] || " - ") || c["City"])', (c) => `${c.Name} - ${c.City}`),
  valueOf('(true ? (ToString(c["Number"]) || "x") : null)', (c) => `${c.Number}x`),
];

const numbers = [
  where('(ABS(c["Rating"]) = 2.5)', (c) => Math.abs(c.Rating) === 2.5),
  where('(SIGN(c["Balance"]) > 0)', (c) => c.Balance > 0),
  where('(POWER(c["Level"], 2) = 9)', (c) => c.Level === 3),
  where('((c["Balance"] > 0) AND (SQRT(c["Balance"]) > 10))', (c) => c.Balance > 100),
  where('((c["Flags"] & 8) = 8)', (c) => (c.Flags & 8) === 8),
  where('((c["Flags"] | 4) > 7)', (c) => (c.Flags | 4) > 7),
  where('((c["Flags"] & @p) > 0)', (c) => (c.Flags & 3) > 0, { p: 3 }),
  where('((c["Flags"] & null) > 0)', () => false),
  where('((c["Flags"] << 1) = 6)', (c) => c.Flags === 3),
  where('((c["Flags"] >> 1) = 3)', (c) => c.Flags === 6 || c.Flags === 7),
  where('(~(c["Level"]) = -3)', (c) => c.Level === 2),
  where('((c["Number"] % 3) = 1)', (c) => c.Number % 3 === 1),
  where('((c["Level"] * 2) = c["Flags"])', (c) => c.Level * 2 === c.Flags),
  where('(((c["Level"] = 1) ? null : c["Flags"]) > 9)', (c) => c.Level !== 1 && c.Flags > 9),
  valueOf('(c["Flags"] ^ c["Level"])', (c) => c.Flags ^ c.Level),
  valueOf('FLOOR(c["Rating"])', rated((rating) => Math.floor(rating))),
  valueOf('CEILING(c["Rating"])', rated((rating) => Math.ceil(rating) || 0)),
  valueOf('TRUNC(c["Rating"])', rated((rating) => Math.trunc(rating) || 0)),
  valueOf('ROUND(c["Rating"])', rated(rounded)),
];

const part = (name, make) => valueOf(`DateTimePart("${name}", c["Since"])`, make);
const add = (name, number, make) => valueOf(`DateTimeAdd("${name}", ${number}, c["Since"])`, (c) => make(c.Since));
const dates = [
  where('(DateTimePart("yyyy", c["Since"]) = 1998)', (c) => c.Since.startsWith('1998')),
  where('((c["Since"] != null) AND (DateTimePart("mm", c["Since"]) = @p))', (c) => c.Since.slice(5, 7) === '07', { p: 7 }),
  where('((DateTimePart("hh", c["Since"]) % 2) = 0)', (c) => Number(c.Since.slice(11, 13)) % 2 === 0),
  where('(c["Since"] != GetCurrentDateTime())', () => true),
  where('(c["Since"] = @p)', () => false, { p: '1990-01-01T00:00:00' }),
  where('(DateTimePart("yyyy", DateTimeAdd("yyyy", 1, c["Since"])) = 1999)', (c) => c.Since.startsWith('1998')),
  part('mm', (c) => Number(c.Since.slice(5, 7))),
  part('dd', (c) => Number(c.Since.slice(8, 10))),
  part('mi', (c) => Number(c.Since.slice(14, 16))),
  part('ss', (c) => Number(c.Since.slice(17, 19))),
  part('ms', () => 0),
  add('yyyy', 1, (text) => addMonths(text, 12)),
  add('mm', 5, (text) => addMonths(text, 5)),
  add('dd', -40, (text) => shifted(text, (date) => date.setUTCDate(date.getUTCDate() - 40))),
  add('hh', 30, (text) => shifted(text, (date) => date.setUTCHours(date.getUTCHours() + 30))),
  add('ms', 1000000000000, (text) => shifted(text, (date) => date.setTime(date.getTime() + 1e12))),
];

export const functions = [...texts, ...numbers, ...dates];
