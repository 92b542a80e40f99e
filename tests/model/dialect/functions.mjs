// Functions of design documents: the same source text that the server runs, run here.
import { isDesign } from './document_parser.mjs';
import { notFound, Refusal } from './reply.mjs';

const compiled = new Map();

/// `source` as a function; its helpers are the parameters named `helpers`.
function compile(source, ...helpers) {
  const key = `${helpers.join()} ${source}`;
  if (!compiled.has(key)) compiled.set(key, new Function(...helpers, `return (${source});`));
  return compiled.get(key);
}

/// The body of a living design document.
export function designOf(database, id) {
  const winner = database.winner(id);
  if (!winner || winner.deleted) throw notFound(winner ? 'deleted' : 'missing');
  return winner.body;
}

/// [[key, value]…] of one document, as JSON has them.
export function mapDocument(source, document) {
  const rows = [];
  const emit = (key, value) => rows.push(JSON.parse(JSON.stringify([key ?? null, value ?? null])));
  try {
    compile(source, 'emit')(emit)(structuredClone(document));
  } catch {
    return []; // a document that a function cannot digest is left out
  }
  return rows;
}

/// [[name, value]…] that an index function gives of one document.
export function indexDocument(source, document) {
  const fields = [];
  try {
    compile(source, 'index')((name, value) => fields.push([name, value]))(structuredClone(document));
  } catch {
    return [];
  }
  return fields;
}

const validationsOf = (database) =>
  database
    .sorted()
    .filter(({ id, tree }) => isDesign(id) && !tree.winner().deleted)
    .map(({ tree }) => tree.winner().body.validate_doc_update)
    .filter((source) => typeof source === 'string');

export const isValidated = (database) => validationsOf(database).length > 0;

/// Throws what the validations of the database have against `document`.
export function validate(database, document) {
  if (isDesign(document._id)) return;
  for (const source of validationsOf(database)) {
    try {
      compile(source)()(structuredClone(document));
    } catch (thrown) {
      if (thrown.forbidden) throw new Refusal(403, 'forbidden', thrown.forbidden);
      if (thrown.unauthorized) throw new Refusal(401, 'unauthorized', thrown.unauthorized);
      throw thrown;
    }
  }
}
