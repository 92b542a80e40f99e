// Analytical stores in tests: DuckDB's library, waiting until a table is current, and what its rows must be.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { pathOf } from '../edits.mjs';
import { eventually, expectStatus, patience, Server } from '../harness.mjs';
import { childrenOf } from '../processes.mjs';

const folder = path.join(process.cwd(), 'analytics-library');

/// The path of DuckDB's library, which is fetched once for each build folder; undefined: it cannot be fetched.
export const library = (() => {
  try {
    execFileSync(path.join(process.env.OCTAVO_SOURCE_DIR, 'scripts/install-analytics.sh'), [folder], { stdio: 'pipe' });
    return path.join(folder, 'libduckdb.so');
  } catch (error) {
    console.error(`DuckDB's library cannot be fetched: ${error.stderr}`);
    return undefined;
  }
})();

/// For the options of a test: it is skipped by name without the library.
export const needsLibrary = { skip: library === undefined && 'DuckDB\'s library cannot be fetched (scripts/install-analytics.sh)' };

/// Times are long: the process has the lowest priority, and other tests run beside this one.
export const analyticsArgs = (...more) => ['--analytics-enabled', `--analytics-library=${library}`, '--analytics-query-timeout=5m', ...more];

export const startAnalytics = (t, { args = [], ...options } = {}) =>
  Server.startFor(t, { ...options, args: [...analyticsArgs(), ...args] });

/// Kills the server's process for analytics, if it runs.
export function killProcess(server) {
  for (const pid of childrenOf(server.process.pid)) {
    try { process.kill(pid, 'SIGKILL'); } catch { /* it has ended */ }
  }
}

export const storeOf = async (server, db, options) => expectStatus(await server.get(`${pathOf(db)}/_analytics`, options), 200);

export const define = async (server, db, definition = {}) =>
  expectStatus(await server.put(`${pathOf(db)}/_analytics`, definition), 200);

/// Waits until the table has everything that was written to the database, and returns the status of the store. The process
/// may be killed meanwhile.
export async function current(server, db, timeoutMs = 120_000, what = 'now') {
  let reply;
  await eventually(async () => {
    reply = await server.get(`${pathOf(db)}/_analytics?wait_for=${what}&timeout=${timeoutMs}`, { timeoutMs: timeoutMs + 10_000 });
    return reply.status === 200 && reply.body.rows !== null;
  }, timeoutMs * patience).catch((error) => {
    throw new Error(`the table is not current: ${reply.status} ${reply.text}`, { cause: error });
  });
  return reply.body;
}

/// The same, by the definition that was given last.
export const built = (server, db, timeoutMs) => current(server, db, timeoutMs, 'built');

export const askRaw = (server, db, sql, more = {}, options = {}) =>
  server.post('/_analytics/sql', { db, sql, ...more }, { timeoutMs: 300_000, ...options });

export const ask = async (server, db, sql, ...parameters) =>
  expectStatus(await askRaw(server, db, sql, { parameters }), 200).rows;

/// The type that `GET /{db}/_analytics` names, as a tree: `STRUCT("a" BIGINT[])` is {members: {a: {element: {scalar: 'BIGINT'}}}}.
export function typeOf(name) {
  let at = 0;
  const read = () => {
    let type;
    if (name.startsWith('STRUCT(', at)) {
      at += 7;
      const members = {};
      do {
        let member = '';
        for (++at; name[at] !== '"' || name[at + 1] === '"'; ++at) {
          if (name[at] === '"') ++at;
          member += name[at];
        }
        at += 2;
        members[member] = read();
      } while (name.startsWith(', ', at) && (at += 2));
      ++at;
      type = { members };
    } else {
      const [scalar] = name.slice(at).match(/^[A-Z]+/);
      at += scalar.length;
      type = { scalar };
    }
    for (; name.startsWith('[]', at); at += 2) type = { element: type };
    return type;
  };
  return read();
}

/// Of JSON: a member that is null and one that is not there are the same in a STRUCT, from which it may have come.
function withoutNulls(value) {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null).map(([name, member]) => [name, withoutNulls(member)]));
}

/// A value as its column has it.
export function columnValue(value, type) {
  if (value === undefined || value === null) return null;
  if (type.members) {
    if (typeof value !== 'object' || Array.isArray(value)) return null;
    return Object.fromEntries(Object.entries(type.members).map(([name, member]) => [name, columnValue(value[name], member)]));
  }
  if (type.element) return Array.isArray(value) ? value.map((element) => columnValue(element, type.element)) : null;
  if (type.scalar === 'JSON') return withoutNulls(value);
  if (type.scalar === 'VARCHAR') return typeof value === 'string' ? value : null;
  if (type.scalar === 'BOOLEAN') return typeof value === 'boolean' ? value : null;
  if (typeof value !== 'number') return null;
  return type.scalar === 'DOUBLE' || Number.isInteger(value) ? value : null;
}

const variantOf = (value) => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : typeof value;
};

/// A value as its column has it in mode full_fidelity.
export function fidelityValue(value, type) {
  if (value === undefined || value === null) return null;
  if (type.scalar) return columnValue(value, type);
  assert.ok(variantOf(value) in type.members, `${JSON.stringify(value)} in ${JSON.stringify(type)}`);
  const inside = (of) => {
    if (of.element) return value.map((element) => fidelityValue(element, of.element));
    if (!of.members) return columnValue(value, of);
    return Object.fromEntries(Object.entries(of.members).map(([name, member]) => [name, fidelityValue(value[name], member)]));
  };
  return Object.fromEntries(Object.entries(type.members).map(([name, member]) => [name, name === variantOf(value) ? inside(member) : null]));
}

/// A value of the table in which JSON that was a STRUCT before, and JSON that was not, are the same.
function normalised(value, type) {
  if (value === null) return null;
  if (type.element) return value.map((element) => normalised(element, type.element));
  if (type.members) return Object.fromEntries(Object.entries(type.members).map(([name, member]) => [name, normalised(value[name], member)]));
  return type.scalar === 'JSON' ? withoutNulls(value) : value;
}

/// The columns of the properties of an object, and the rest.
function propertyColumns(object, columns, mode) {
  const names = new Set(columns.map(({ name }) => name));
  const valueOf = mode === 'full_fidelity' ? fidelityValue : columnValue;
  const row = Object.fromEntries(columns.map(({ name, type }) => [name, valueOf(object[name], typeOf(type))]));
  const rest = Object.entries(object).filter(([name]) => !names.has(name));
  return { ...row, _rest: rest.length > 0 ? Object.fromEntries(rest) : null };
}

/// Of a path in `flatten`, such as `/orders/[]/delivery/parcels`: the path of the array around it ('' for documents), the names
/// from there, and the columns of positions.
function pathParts(text) {
  const end = text.lastIndexOf('/[]/');
  const arrays = text.split('/[]/').length;
  return {
    parent: end < 0 ? '' : text.slice(0, end), names: text.slice(end < 0 ? 1 : end + 4).split('/'),
    positions: Array.from({ length: arrays }, (_, n) => (n + 1 < arrays ? `_position_${n + 1}` : '_position')),
  };
}

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const valueAt = (object, names) => names.reduce((value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), object);

/// An object without the arrays that are the rows of other tables, which are below `path`.
function withoutArrays(object, flatten, path) {
  const copy = structuredClone(object);
  for (const { parent, names } of Object.keys(flatten).map(pathParts)) {
    if (parent === path && Array.isArray(valueAt(copy, names))) delete valueAt(copy, names.slice(0, -1))[names.at(-1)];
  }
  return copy;
}

/// The elements of the arrays at a path, with their positions.
function* elementsAt(object, path) {
  const { parent, names } = pathParts(path);
  for (const { element, at } of parent ? elementsAt(object, parent) : [{ element: object, at: [] }]) {
    const array = valueAt(element, names);
    if (Array.isArray(array)) yield* array.map((inside, n) => ({ element: inside, at: [...at, n] }));
  }
}

/// The rows that documents have, in the order of their ids, by the types of the columns; times of writes are left out.
/// Arrays of the paths in `flatten` are elsewhere. With `include` there are no other properties.
export function expectedRows(documents, columns, mode = 'well_defined', flatten = {}, include = undefined) {
  const isIncluded = (name) => !name.startsWith('_') && (!include || include.includes(`/${name}`));
  return inOrder([...documents].filter(({ _id }) => !_id.startsWith('_design/')).map((doc) => {
    const properties = Object.entries(withoutArrays(doc, flatten, '')).filter(([name]) => isIncluded(name));
    return { _deleted: false, _id: doc._id, _rev: doc._rev, ...propertyColumns(Object.fromEntries(properties), columns, mode) };
  }));
}

/// The rows of the elements of the arrays at a path in `flatten`.
export function expectedElements(documents, path, columns, mode, flatten) {
  const { positions } = pathParts(path);
  return inOrder([...documents].flatMap((doc) => [...elementsAt(doc, path)].map(({ element, at }) => {
    const object = isObject(element) ? withoutArrays(element, flatten, path) : element === null ? {} : { value: element };
    return { _id: doc._id, ...Object.fromEntries(positions.map((name, n) => [name, at[n]])), ...propertyColumns(object, columns, mode) };
  })), positions);
}

const inOrder = (rows, positions = []) => rows.sort((one, other) =>
  Buffer.compare(Buffer.from(one._id), Buffer.from(other._id)) || positions.reduce((order, name) => order || one[name] - other[name], 0));

export async function documentsOf(server, db) {
  const { rows } = expectStatus(await server.get(`${pathOf(db)}/_all_docs?include_docs=true`), 200);
  return rows.map(({ doc }) => doc);
}

function assertRows(rows, expected, columns) {
  for (const { name, type } of columns) for (const row of rows) row[name] = normalised(row[name], typeOf(type));
  assert.deepEqual(rows.map(({ _id, _position }) => [_id, _position]), expected.map(({ _id, _position }) => [_id, _position]));
  for (const [n, row] of rows.entries()) assert.deepEqual(row, expected[n], JSON.stringify({ columns, row, expected: expected[n] }));
}

/// The tables have the documents and the elements, and nothing else but rows that a `ttl` keeps of deleted ones.
export async function assertSameRows(server, db, timeoutMs = 120_000) {
  let problem;
  await eventually(async () => {
    try {
      const { columns, tables, definition: { mode, flatten = {}, include, ttl } } = await current(server, db, timeoutMs);
      const living = ttl ? 'where _id in (select _id from documents where not _deleted)' : '';
      const documents = await documentsOf(server, db);
      const rows = await ask(server, db, `select * exclude (_ts) from documents ${living} order by _id`);
      assertRows(rows, expectedRows(documents, columns, mode, flatten, include), columns);
      for (const [path, table] of Object.entries(flatten)) {
        const elements = await ask(server, db, `select * from "${table}" ${living} order by _id, ${pathParts(path).positions}`);
        if (!ttl) assert.equal(elements.length, tables[table].rows);
        assertRows(elements, expectedElements(documents, path, tables[table].columns, mode, flatten), tables[table].columns);
      }
      return true;
    } catch (error) {
      problem = error;
      return false;
    }
  }, timeoutMs * patience).catch(() => { throw problem; });
}
