// From a document as a client sends it to an edit: special members taken out and checked, in the order they come.
import { badRequest, illegalId, invalidDocument, Refusal } from './reply.mjs';
import { isObject, parseJson } from './request.mjs';
import { generationOf, parseRevision } from './revision.mjs';

const IGNORED = new Set(['_revs_info', '_local_seq', '_conflicts', '_deleted_conflicts']);

/// {id, rev, history, deleted, localEdit, body}; `history` is `_revisions` as a path, newest first.
export function parseDocument(value) {
  if (!isObject(value)) throw badRequest('Document must be a JSON object');
  const document = { deleted: false, history: [], body: {} };
  for (const [name, content] of Object.entries(value)) {
    if (!name.startsWith('_')) document.body[name] = content;
    else if (!IGNORED.has(name)) takeSpecial(document, name, content);
  }
  return document;
}

export function parseDocumentText(text) {
  return parseDocument(parseJson(text ?? ''));
}

function takeSpecial(document, name, content) {
  if (name === '_id') {
    if (typeof content !== 'string') throw illegalId('Document id must be a string');
    document.id = content;
  } else if (name === '_rev') {
    if (typeof content === 'string' && /^0-\d+$/.test(content)) {
      document.localEdit = Number(content.slice(2));
    } else {
      const rev = parseRevision(content);
      if (document.history.length === 0) document.rev = rev;
    }
  } else if (name === '_revisions') {
    document.history = parseHistory(content);
    if (document.history.length > 0) document.rev = document.history[0];
  } else if (name === '_deleted' && typeof content === 'boolean') {
    document.deleted = content;
  } else if (name === '_attachments' && isObject(content)) {
    if (Object.keys(content).length > 0) {
      throw new Refusal(
        501,
        'not_implemented',
        'Attachments are not supported yet: write the document without `_attachments`.',
      );
    }
  } else {
    throw invalidDocument(`Bad special document member: ${name}`);
  }
}

function parseHistory(revisions) {
  if (!isObject(revisions)) throw invalidDocument('Bad special document member: _revisions');
  const { start, ids } = revisions;
  if (!Number.isInteger(start)) throw invalidDocument("_revisions.start isn't an integer.");
  if (!Array.isArray(ids)) throw invalidDocument("_revisions.ids isn't a array.");
  if (start < ids.length) throw invalidDocument('_revisions.start is less than the number of ids.');
  return ids.map((id, i) => {
    if (typeof id !== 'string') throw invalidDocument("RevId isn't a string");
    return `${start - i}-${id}`;
  });
}

/// The rules for ids, in CouchDB's order.
export function checkId(id, database) {
  if (id === '') throw illegalId('Document id must not be empty');
  for (const reserved of ['_design/', '_local/']) {
    if (id === reserved) throw illegalId(`Illegal document id \`${id}\``);
    if (id.startsWith(reserved)) return;
  }
  const reservedOnly = 'Only reserved document ids may start with underscore.';
  if (id.startsWith('_')) throw illegalId(reservedOnly);
  if (!database.partitioned) return;
  const colon = id.indexOf(':');
  if (colon < 0) throw illegalId('Doc id must be of form partition:id');
  if (colon === 0) throw new Refusal(400, 'illegal_partition', 'Partition must not be empty');
  if (colon === id.length - 1) throw illegalId('Document id must not be empty');
  if (id[colon + 1] === '_') throw illegalId(reservedOnly);
}

export const isLocal = (id) => id.startsWith('_local/');
export const isDesign = (id) => id.startsWith('_design/');
export { generationOf };
