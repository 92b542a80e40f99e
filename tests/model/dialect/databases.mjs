// Databases themselves: creation, information, deletion, their facts, and the maintenance calls.
import { aBoolean, aCharge, aCount, aUse, Constant, Sequence } from './opaque.mjs';
import { badRequest, notFound, Refusal, Reply } from './reply.mjs';
import { encodeId, isObject } from './request.mjs';

const NAME = /^[a-z][a-z0-9_$()+/-]*$/;
const done = (status) => new Reply(status, { ok: true });

function positive(request, name) {
  const text = request.query.get(name);
  if (text === undefined) return undefined;
  if (!/^\+?\d+$/.test(text) || Number(text) <= 0)
    throw badRequest(`The \`${name}\` value should be a positive integer.`);
  return Number(text);
}

export function createDatabase({ request, model, name }) {
  if (!NAME.test(name)) {
    throw new Refusal(
      400,
      'illegal_database_name',
      `Name: '${name}'. Only lowercase characters (a-z), digits (0-9), ` +
        'and any of the characters _, $, (, ), +, -, and / are allowed. Must begin with a letter.',
    );
  }
  const q = positive(request, 'q') ?? 1;
  positive(request, 'n');
  const partitioned = request.query.get('partitioned') ?? 'false';
  if (!['true', 'false'].includes(partitioned)) throw badRequest('Invalid `partitioned` parameter');
  if (model.databases.has(name)) {
    throw new Refusal(412, 'file_exists', 'The database could not be created, the file already exists.');
  }
  model.createDatabase(name, { partitioned: partitioned === 'true', q });
  return new Reply(201, { ok: true }, { location: `/${encodeId(name)}` });
}

export function deleteDatabase({ request, model, name }) {
  if (request.query.has('rev')) {
    throw badRequest(
      'You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?',
    );
  }
  model.databases.delete(name);
  return done(200);
}

const startTime = (database) => new Constant(`start of ${database.name} ${database.incarnation}`, /^\d+$/);

export function databaseInfo(database) {
  return {
    instance_start_time: startTime(database),
    db_name: database.name,
    purge_seq: new Sequence(database, database.purges, 'purge'),
    update_seq: new Sequence(database, database.sequence),
    sizes: { file: aCount, external: aCount, active: aCount },
    props: database.partitioned ? { partitioned: true } : {},
    ...database.counts(),
    disk_format_version: 8,
    compact_running: aBoolean,
    cluster: { q: database.q, n: 1, w: 1, r: 1 },
  };
}

export function partitionInfo({ database, partition }) {
  return new Reply(200, {
    db_name: database.name,
    sizes: { active: aCount, external: aCount },
    request_units: aCharge,
    limits: { bytes: aUse('used'), request_units: aUse('per_second') },
    partition,
    ...database.counts(({ id }) => database.partitionOf(id) === partition),
  });
}

export function allDatabases({ request, model }) {
  const [low, high] = ['startkey', 'endkey'].map((name) => JSON.parse(request.query.get(name)));
  return new Reply(200, [...model.databases.keys()].filter((name) => name >= low && name <= high).sort());
}

export function databasesInfo({ request, model }) {
  const { keys } = request.jsonObject();
  return new Reply(
    200,
    keys.map((key) => {
      const database = model.databases.get(key);
      return database ? { key, info: databaseInfo(database) } : { key, error: 'not_found' };
    }),
  );
}

export function putRevsLimit({ request, database }) {
  const limit = request.json();
  if (!Number.isInteger(limit) || limit <= 0 || limit > 1_000_000) {
    throw badRequest('The revs limit must be a positive integer, at most 1000000.');
  }
  database.revsLimit = limit;
  return done(200);
}

export function putPurgedInfosLimit({ request, database }) {
  const limit = request.json();
  if (!Number.isInteger(limit) || limit <= 0) throw badRequest('`purge_infos_limit` must be positive integer');
  database.purgedInfosLimit = limit;
  return done(200);
}

const strings = (value) => Array.isArray(value) && value.every((element) => typeof element === 'string');

export function putSecurity({ request, database }) {
  const security = request.jsonObject();
  for (const group of ['admins', 'members']) {
    const list = security[group];
    if (list === undefined) continue;
    if (!isObject(list)) throw badRequest('admins or members must be a JSON list of strings');
    for (const kind of ['names', 'roles']) {
      if (list[kind] !== undefined && !strings(list[kind])) throw badRequest(`${kind} must be a JSON list of strings`);
    }
  }
  database.security = security;
  return done(200);
}

export function compact({ request }) {
  request.requireJsonType();
  return done(202);
}

export function compactDesign({ request, database, design }) {
  request.requireJsonType();
  const winner = database.winner(`_design/${design}`);
  if (!winner) throw notFound();
  if (winner.deleted) throw notFound('deleted');
  return done(202);
}

export function ensureFullCommit({ request, database }) {
  request.requireJsonType();
  return new Reply(201, { ok: true, instance_start_time: startTime(database) });
}
