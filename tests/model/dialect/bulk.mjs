// Many documents in one request: _bulk_docs, _bulk_get and the atomic _partition/{p}/_batch.
import { checkId, isDesign, isLocal, parseDocument } from './document_parser.mjs';
import { leavesFor, readOptions, render } from './document_reader.mjs';
import { needsRevision } from './document_writer.mjs';
import { badRequest, illegalId, Refusal, Reply } from './reply.mjs';
import { isObject } from './request.mjs';
import { parseRevision } from './revision.mjs';

function parseBulk(request) {
  const { docs, new_edits: newEdits = true, all_or_nothing: allOrNothing } = request.jsonObject();
  if (docs === undefined) throw badRequest('POST body must include `docs` parameter.');
  if (!Array.isArray(docs)) throw badRequest('`docs` parameter must be an array.');
  if (allOrNothing === true) {
    throw new Refusal(
      501,
      'not_implemented',
      '`all_or_nothing` is not supported: POST to /{db}/_partition/{partition}/_batch to write atomically.',
    );
  }
  if (typeof newEdits !== 'boolean') throw badRequest('`new_edits` parameter must be a boolean.');
  return { newEdits, documents: docs.map(parseOrRefuse) };
}

/// A document whose error can be told by its id is refused alone.
function parseOrRefuse(doc) {
  try {
    return parseDocument(doc);
  } catch (error) {
    const named = isObject(doc) && (doc._id === undefined || typeof doc._id === 'string');
    if (!(error instanceof Refusal) || !named) throw error;
    return { id: doc._id, refusal: error };
  }
}

/// The row of one document: what `run` returns as its revision, or why it was refused.
function attempt(id, run, sent) {
  try {
    return { ok: true, id, rev: run() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return sent === undefined ? { id, ...error.members() } : { id, rev: sent, ...error.members() };
  }
}

export function bulkDocs({ request, database, generatedId }) {
  request.requireJsonType();
  const { newEdits, documents } = parseBulk(request);
  const unfit = documents.map((document, i) => {
    document.id ??= generatedId(i);
    return attempt(document.id, () => {
      if (document.refusal) throw document.refusal;
      checkId(document.id, database);
      if (!newEdits && !isLocal(document.id)) needsRevision(document);
    });
  });
  // Validations see the documents as they were before the request, so there an edit cannot build on another one. Design
  // documents are not theirs to judge.
  const validated = newEdits && database.validates();
  const refused = documents.map((document, i) => unfit[i].ok && validated && !isLocal(document.id) && !isDesign(document.id)
    ? attempt(document.id, () => database.check(document)) : unfit[i]);
  // Local documents come after the others, and edits of one request in its order.
  const rows = [];
  const ordered = [...documents.keys()].sort((a, b) => isLocal(documents[a].id) - isLocal(documents[b].id));
  for (const i of ordered) {
    const document = documents[i];
    if (!refused[i].ok) rows[i] = refused[i];
    else if (isLocal(document.id)) rows[i] = attempt(document.id, () => `0-${database.writeLocal(document.id, document)}`);
    else if (newEdits) rows[i] = attempt(document.id, () => database.write(document));
    else rows[i] = attempt(document.id, () => database.graft(document), document.rev);
  }
  return new Reply(201, newEdits ? rows : rows.filter((row) => !row.ok));
}

/// Octavo's own: all edits of one partition, or none.
export function batch({ request, database, partition, generatedId }) {
  request.requireJsonType();
  const { newEdits, documents } = parseBulk(request);
  const unfit = documents.find((document) => document.refusal);
  if (unfit) throw unfit.refusal;
  if (!newEdits) throw badRequest('`new_edits: false` is not possible in an atomic batch.');
  const seen = new Set();
  documents.forEach((document, i) => {
    document.id ??= generatedId(i, `${partition}:`);
    checkId(document.id, database);
    if (document.id.startsWith('_') || database.partitionOf(document.id) !== partition) {
      throw illegalId(`Document \`${document.id}\` is not in partition \`${partition}\`.`);
    }
    if (seen.has(document.id)) throw badRequest(`Document \`${document.id}\` occurs twice in the batch.`);
    seen.add(document.id);
  });
  const refused = documents
    .map((document) => attempt(document.id, () => database.check(document)))
    .filter((row) => !row.ok);
  // A validation's word is the reply to all.
  const invalid = refused.find(({ error }) => error !== 'conflict');
  if (invalid) return new Reply(invalid.error === 'unauthorized' ? 401 : 403, { error: invalid.error, reason: invalid.reason });
  if (refused.length > 0) {
    return new Reply(409, {
      error: 'conflict',
      reason: 'Document update conflict: nothing was written.',
      results: refused,
    });
  }
  return new Reply(
    201,
    documents.map((document) => ({ ok: true, id: document.id, rev: database.write(document) })),
  );
}

const NOT_ACCEPTABLE = ['open_revs', 'new_edits', 'w', 'rev', 'atts_since'];

export function bulkGet({ request, database }) {
  request.requireJsonType();
  const { docs } = request.jsonObject();
  if (docs === undefined) throw badRequest("Missing JSON list of 'docs'.");
  if (!Array.isArray(docs)) throw badRequest('`docs` parameter must be an array.');
  for (const name of NOT_ACCEPTABLE) {
    if (request.query.has(name)) throw badRequest(`"${name}" query parameter is not acceptable`);
  }
  const options = readOptions(request);
  return new Reply(200, { results: docs.map((wanted) => bulkGetRow(database, wanted, options)) });
}

function bulkGetRow(database, wanted, options) {
  const failed = (id, rev, refusal) => ({ id, docs: [{ error: { id, rev, ...refusal.members() } }] });
  if (!isObject(wanted) || Object.keys(wanted).length === 0) {
    return failed(null, null, badRequest('document must be a JSON object'));
  }
  const { id, rev } = wanted;
  if (id === undefined) return failed(null, null, badRequest('document id missed'));
  if (typeof id !== 'string') return failed(null, null, illegalId('Document id must be a string'));
  try {
    checkId(id, database);
  } catch (refusal) {
    return failed(id, null, refusal);
  }
  try {
    if (rev !== undefined) parseRevision(rev);
  } catch (refusal) {
    return failed(id, rev, refusal);
  }
  const tree = database.tree(id);
  const leaves = rev === undefined ? (tree?.leaves() ?? []) : leavesFor(tree, rev, options.latest);
  if (leaves.length === 0) return failed(id, rev ?? 'undefined', new Refusal(404, 'not_found', 'missing'));
  return { id, docs: leaves.map((leaf) => ({ ok: render(database, id, leaf, options) })) };
}
