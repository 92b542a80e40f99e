// The server-side API of stored procedures and triggers: `getContext()` with the collection, as Azure Cosmos DB
// documents it. The function is run as it is stored, over the model's documents.
import vm from 'node:vm';
import { compareBytes } from '../database.mjs';
import { Accepted, Constant } from '../opaque.mjs';
import { isObject } from '../request.mjs';
import { documentIdOf, itemsOf, parseItem, showItem } from './item.mjs';
import { parseMatch } from './match.mjs';
import { runOperation } from './operation.mjs';
import { CosmosRefusal } from './reply.mjs';
import { parseQuery, resultsOf } from './sql.mjs';

const SELF_LINK = 'self of the collection';
const ALT_LINK = 'name of the collection';

/// Thrown: the function failed. `number`: the status that the thrown value names.
export class ScriptFailure extends Error {
  constructor(number) {
    super(`the function throws ${number}`);
    this.number = number;
  }
}

/// A copy as JSON would make it; what only the server knows stays what it is.
function asJson(value) {
  if (value instanceof Accepted || value instanceof Constant) return value;
  if (typeof value === 'number' && !Number.isFinite(value)) return null;
  if (Array.isArray(value)) return value.map((element) => asJson(element) ?? null);
  if (!isObject(value)) return ['function', 'undefined'].includes(typeof value) ? undefined : value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, content]) => [name, asJson(content)])
      .filter(([, content]) => content !== undefined),
  );
}

function errorOf({ status }) {
  return Object.assign(new Error(`status ${status}`), { number: status, body: '{"Errors":[…]}' });
}

class Collection {
  #queue = [];
  constructor(database, key, hidden = []) {
    this.database = database;
    this.key = key;
    this.hidden = hidden;
  }

  getSelfLink = () => SELF_LINK;
  getAltLink = () => ALT_LINK;

  readDocument = (link, ...rest) =>
    this.#perform(rest, () => this.#run('read', { documentId: this.#documentId(link) }));
  createDocument = (_, body, ...rest) => this.#perform(rest, () => this.#run('create', this.#parse(body)));
  upsertDocument = (_, body, ...rest) => this.#perform(rest, () => this.#run('upsert', this.#parse(body)));
  replaceDocument = (link, body, ...rest) =>
    this.#perform(rest, ({ etag }) => {
      const documentId = this.#documentId(link);
      const parsed = this.#parse(body);
      const { sequence } = this.database;
      try {
        return this.#run('replace', { ...parsed, formerId: documentId, match: parseMatch(etag) });
      } catch (error) {
        this.database.sequence = sequence;
        throw error;
      }
    });
  deleteDocument = (link, ...rest) =>
    this.#perform(rest, ({ etag }) => {
      this.#run('remove', { documentId: this.#documentId(link), match: parseMatch(etag) });
      return undefined;
    });
  queryDocuments = (_, filter, ...rest) =>
    this.#perform(rest, () => {
      const { query, parameters } = typeof filter === 'string' ? { query: filter } : filter;
      return resultsOf(parseQuery(query, parameters ?? [], this.database), this.#items()).rows.map(
        ({ value }) => value,
      );
    });
  readDocuments = (_, ...rest) => this.#perform(rest, () => this.#items());

  /// Callbacks run one after the other once the function that called has returned.
  drain() {
    while (this.#queue.length > 0) this.#queue.shift()();
  }

  /// Done at once; what came of it is for the callback. Without one an error ends the function.
  #perform(rest, operation) {
    const callback = rest.find((argument) => typeof argument === 'function');
    const options = typeof rest[0] === 'object' && rest[0] !== null ? rest[0] : {};
    let result, error;
    try {
      result = asJson(operation(options));
    } catch (refusal) {
      if (!(refusal instanceof CosmosRefusal)) throw refusal;
      error = errorOf(refusal);
    }
    this.#queue.push(() => {
      if (callback) callback(error, result, {});
      else if (error) throw error;
    });
    return true;
  }

  #run(kind, operation) {
    return runOperation(this.database, { match: parseMatch(undefined), kind, ...operation }).item;
  }
  #parse(body) {
    const item = parseItem(asJson(body), this.key, this.database.container);
    return { documentId: documentIdOf(item.key, item.id, this.database.container), body: item.body };
  }
  /// The id of the document that a link names: a link by names, or an item's own.
  #documentId(link) {
    if (link instanceof Accepted) return link.documentId;
    if (!link.startsWith(`${ALT_LINK}/docs/`)) throw new CosmosRefusal(400);
    return documentIdOf(this.key, link.slice(ALT_LINK.length + 6), this.database.container);
  }
  #items() {
    const { database, hidden } = this;
    const items = itemsOf(database, this.key);
    // Unless it was written again, a hidden item is what it was.
    for (const { documentId, replaced, written } of hidden) {
      if (database.winner(documentId) !== written) continue;
      const at = items.findIndex((item) => compareBytes(item.documentId, documentId) >= 0);
      const place = at < 0 ? items.length : at;
      const before = replaced?.deleted === false ? [{ documentId, leaf: replaced }] : [];
      items.splice(place, items[place]?.documentId === documentId ? 1 : 0, ...before);
    }
    return items.map(({ documentId, leaf }) => showItem(database, documentId, leaf));
  }
}

/// Does several edits, all or none.
export function atomically(database, run) {
  const before = database.save();
  try {
    return run();
  } catch (error) {
    database.restore(before);
    database.sequence = before.sequence;
    throw error;
  }
}

const messageOf = (message) => ({
  getBody: () => message.body,
  setBody: (body) => {
    message.body = body;
  },
});

/// Runs the function to its end. `request`, `response`: bodies; a member that is not there is no message. `hidden`:
/// writes that queries do not see. Returns the bodies as they are then; throws a ScriptFailure.
export function runScript(database, key, text, { parameters = [], operation = 'Execute', hidden, ...bodies }) {
  const collection = new Collection(database, key, hidden);
  const request = { body: asJson(bodies.request) };
  const response = { body: asJson(bodies.response) };
  const context = {
    getCollection: () => collection,
    getRequest: () => ({ ...messageOf(request), getOperationType: () => operation }),
    getResponse() {
      if (!('response' in bodies)) throw Object.assign(new Error('no response yet'), { number: 400 });
      return messageOf(response);
    },
    abort(error) {
      throw error;
    },
  };
  try {
    vm.runInNewContext(`(${text})`, { getContext: () => context })(...parameters);
    collection.drain();
  } catch (error) {
    if (error instanceof CosmosRefusal) throw error;
    const { number } = Object(error);
    throw new ScriptFailure(Number.isInteger(number) && number >= 100 && number < 600 ? number : 0);
  }
  return { request: asJson(request.body), response: asJson(response.body) };
}

/// The text as a function of JSON values; undefined if the text is not a function.
export function compile(text) {
  let compiled;
  try {
    compiled = vm.runInNewContext(`(${text})`);
  } catch {
    return undefined;
  }
  return typeof compiled === 'function' ? (...values) => asJson(compiled(...values.map(asJson))) : undefined;
}
