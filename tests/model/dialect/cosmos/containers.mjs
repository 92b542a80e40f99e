// Databases and containers. A container is the database `{database}/{container}` of the other API.
import { Accepted, Constant, Judged } from '../opaque.mjs';
import { Reply } from '../reply.mjs';
import { isObject } from '../request.mjs';
import { differsFrom, parseDefinition, replaceDefinition } from './definition.mjs';
import { parseJson } from './item.mjs';
import { badRequest, exists, noContent, notFound, ownerMissing } from './reply.mjs';

const anEtag = new Accepted((value) => /^"[^"]+"$/.test(value) || 'expected an entity tag');
const text = (name) => new Accepted((value) => typeof value === 'string' || `expected ${name}`);
const REQUEST_UNITS_PER_PARTITION = 10_000;

function idOf(request) {
  const body = parseJson(request.body ?? '');
  if (!isObject(body) || typeof body.id !== 'string' || body.id === '' || /[/\\?#]/.test(body.id)) throw badRequest();
  return body;
}

export function createAccountDatabase({ request, model }) {
  const { id } = idOf(request);
  if (model.accountDatabases.has(id)) throw exists();
  const incarnation = (model.incarnations.get(`account ${id}`) ?? 0) + 1;
  model.incarnations.set(`account ${id}`, incarnation);
  model.accountDatabases.set(id, incarnation);
  return showDatabase(model, id, 201);
}

function showDatabase(model, id, status) {
  const rid = new Constant(`rid of the account's ${id} ${model.accountDatabases.get(id)}`, /./);
  const ts = new Accepted((value) => Number.isInteger(value) || 'expected a time');
  const shown = { id, _rid: rid, _self: text('_self'), _etag: anEtag, _colls: 'colls/', _users: 'users/', _ts: ts };
  return new Reply(status, shown, { etag: anEtag });
}

export function readAccountDatabase({ model, id }) {
  if (!model.accountDatabases.has(id)) throw notFound();
  return showDatabase(model, id, 200);
}

export function deleteAccountDatabase({ model, id }) {
  if (!model.accountDatabases.delete(id)) throw notFound();
  for (const [name, database] of model.databases) {
    if (database.container && name.startsWith(`${id}/`)) model.databases.delete(name);
  }
  return noContent(204);
}

export function createContainer({ request, model, owner }) {
  const definition = parseDefinition(idOf(request));
  if (!model.accountDatabases.has(owner)) throw ownerMissing();
  const name = `${owner}/${definition.id}`;
  if (model.databases.has(name)) throw exists(); // also one that the other API made
  const throughput = Number(request.header('x-ms-offer-throughput') ?? 0);
  const database = model.createDatabase(name, {
    partitioned: true,
    q: Math.max(1, Math.ceil(throughput / REQUEST_UNITS_PER_PARTITION)),
  });
  database.container = definition;
  database.revsLimit = 20;
  return showContainer(database, 201);
}

const showContainer = ({ container }, status) =>
  new Reply(status, new Judged((body) => differsFrom(container, body)), { etag: anEtag });

export function replaceContainer({ request, model, owner, id }) {
  const sent = idOf(request);
  const database = model.databases.get(`${owner}/${id}`);
  if (!database?.container) throw notFound();
  database.container = replaceDefinition(database.container, sent);
  return showContainer(database, 200);
}

export function readContainer({ model, owner, id }) {
  const database = model.databases.get(`${owner}/${id}`);
  if (!database?.container) throw notFound();
  return showContainer(database, 200);
}

export function deleteContainer({ model, owner, id }) {
  if (!model.databases.get(`${owner}/${id}`)?.container) throw notFound();
  model.databases.delete(`${owner}/${id}`);
  return noContent(204);
}

export function listContainers({ model, owner }) {
  if (!model.accountDatabases.has(owner)) throw ownerMissing();
  const ids = [...model.databases]
    .filter(([name, { container }]) => container && name.startsWith(`${owner}/`))
    .map(([, { container }]) => container.id)
    .sort();
  const check = (body) =>
    body.DocumentCollections?.map(({ id }) => id).join() === ids.join() && body._count === ids.length
      ? undefined
      : `expected the containers ${ids}`;
  return new Reply(200, new Judged(check), { 'x-ms-item-count': String(ids.length) });
}
