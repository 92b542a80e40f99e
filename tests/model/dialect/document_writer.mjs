// PUT, POST, DELETE and COPY of one document.
import { checkId, isDesign, isLocal, parseDocumentText } from './document_parser.mjs';
import { badRequest, conflict, notFound, Refusal, Reply } from './reply.mjs';
import { encodeId } from './request.mjs';
import { parseRevision } from './revision.mjs';

const saved = (id, rev) => ({ ok: true, id, rev });
const locationOf = (database, id) => `/${encodeId(database.name)}/${encodeId(id)}`;

/// The revision an edit is based on: body, query string and If-Match must agree where they speak.
function baseRevision(request, fromBody) {
  let rev = fromBody;
  if (request.query.has('rev')) {
    const fromQuery = parseRevision(request.query.get('rev'));
    if (rev !== undefined && rev !== fromQuery) {
      throw badRequest('Document rev from request body and query string have different values');
    }
    rev = fromQuery;
  }
  const header = request.header('if-match');
  if (header !== undefined) {
    const fromHeader = parseRevision(header.replace(/^"+|"+$/g, ''));
    if (rev !== undefined && rev !== fromHeader) throw badRequest('Document rev and etag have different values');
    rev = fromHeader;
  }
  return rev;
}

export function needsRevision(document) {
  if (document.rev === undefined) {
    throw badRequest('When `new_edits: false`, the document needs `_rev` or `_revisions` specified');
  }
}

function writeLocal(database, id, document) {
  const rev = `0-${database.writeLocal(id, document)}`;
  const headers = { etag: `"${rev}"`, ...(document.deleted ? {} : { location: locationOf(database, id) }) };
  return new Reply(document.deleted ? 200 : 201, saved(id, rev), headers);
}

/// Writes and answers. With batch=ok the client never learns how it went.
function write(request, database, edit, { replicated = false, status, location }) {
  const run = () => (replicated ? database.graft(edit) : database.write(edit));
  if (request.query.get('batch') === 'ok') {
    // A validation needs the document as it is, and then the client is told what is wrong at once.
    if (database.validates() && !isDesign(edit.id)) database.check(edit, replicated);
    try {
      run();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
    return new Reply(202, { ok: true, id: edit.id });
  }
  const rev = run();
  const headers = { etag: `"${rev}"` };
  if (location) headers.location = locationOf(database, edit.id);
  return new Reply(status, saved(edit.id, rev), headers);
}

export function putDocument({ request, database, id }) {
  checkId(id, database);
  const document = parseDocumentText(request.body);
  if (document.id !== undefined && document.id !== id) checkId(document.id, database);
  if (isLocal(id)) return writeLocal(database, id, document);
  const replicated = request.query.get('new_edits') === 'false';
  if (!replicated || document.rev === undefined) document.rev = baseRevision(request, document.rev);
  if (replicated) needsRevision(document);
  return write(
    request,
    database,
    { ...document, id },
    { replicated, status: document.deleted ? 200 : 201, location: true },
  );
}

export function postDocument({ request, database, generatedId }) {
  request.requireJsonType();
  const document = parseDocumentText(request.body);
  if (document.id === undefined) {
    document.id = generatedId(0);
    document.rev = undefined;
  }
  checkId(document.id, database);
  if (isLocal(document.id)) return writeLocal(database, document.id, document);
  return write(request, database, document, { status: 201, location: true });
}

export function deleteDocument({ request, database, id }) {
  if (isLocal(id)) {
    if (!database.locals.has(id)) throw notFound();
    return writeLocal(database, id, { deleted: true });
  }
  const winner = database.winner(id);
  if (!winner) throw notFound();
  if (winner.deleted) throw notFound('deleted');
  const rev = baseRevision(request, undefined);
  if (rev === undefined) throw conflict();
  const replicated = request.query.get('new_edits') === 'false';
  return write(request, database, { id, rev, history: [], deleted: true, body: {} }, { replicated, status: 200 });
}

export function copyDocument({ request, database, id }) {
  const target = parseDestination(request);
  checkId(target.id, database);
  const body = sourceBody(request, database, id);
  if (isLocal(target.id)) return writeLocal(database, target.id, { deleted: false, body });
  return write(request, database, { ...target, deleted: false, body }, { status: 201, location: true });
}

function parseDestination(request) {
  const header = request.header('destination');
  if (!header) throw badRequest('Destination header is mandatory for COPY.');
  if (/^https?:\/\//.test(header)) throw badRequest('Destination URL must be relative.');
  const [id, rev] = header.split('?rev=');
  return { id: decodeURIComponent(id), rev: rev === undefined ? undefined : parseRevision(rev) };
}

function sourceBody(request, database, id) {
  const rev = baseRevision(request, undefined);
  if (isLocal(id)) {
    if (!database.locals.has(id)) throw notFound();
    return database.locals.get(id).body;
  }
  const tree = database.tree(id);
  if (!tree) throw notFound();
  if (rev !== undefined) {
    const leaf = tree.leaf(rev);
    if (!leaf) throw notFound();
    return leaf.body;
  }
  const winner = tree.winner();
  if (winner.deleted) throw notFound('deleted');
  return winner.body;
}
