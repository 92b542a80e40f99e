// One operation on one item, alone or in a batch.
import { checkSameItem, etagOf, showItem } from './item.mjs';
import { conditionOf } from './match.mjs';
import { applyPatch } from './patch.mjs';
import { etagDiffers, inCosmosWords, notFound } from './reply.mjs';
import { meetsCondition } from './sql.mjs';

const isLive = (winner) => winner !== undefined && !winner.deleted;

/// `operation`: { kind, documentId, body, patch, match }. Returns { status, etag, item }; throws a refusal.
/// `formerId`: of a replacement, if the document gets its id by it.
export function runOperation(database, { kind, documentId, body, patch, match, formerId = documentId }) {
  if (formerId !== documentId) return move(database, { formerId, documentId, body, match });
  const write = (edit) => {
    const existed = isLive(database.winner(documentId));
    const rev = inCosmosWords(
      () => database.write({ id: documentId, deleted: false, body, ...edit }),
      edit.base !== undefined,
    );
    if (edit.deleted) return { status: 204 };
    const item = showItem(database, documentId, database.winner(documentId));
    return { status: existed ? 200 : 201, etag: etagOf(rev), item };
  };
  const replacing = (edit) => write({ base: 'live winner', ...conditionOf(match), ...edit });
  switch (kind) {
    case 'create':
      return write({});
    case 'upsert':
      return write({ base: 'upserted', ...conditionOf(match) });
    case 'replace':
      return replacing({});
    case 'remove':
      return replacing({ deleted: true, body: {} });
  }
  const winner = database.winner(documentId);
  if (!isLive(winner)) throw notFound();
  const item = showItem(database, documentId, winner);
  if (kind === 'read') return { status: 200, etag: etagOf(winner.rev), item };
  if (patch.condition && !meetsCondition(patch.condition, item)) throw etagDiffers();
  const patched = applyPatch(patch, winner.body);
  checkSameItem(winner.body, patched, database.container);
  return replacing({ body: patched });
}

/// Both edits, or none. What was tried has its places in the feed all the same, unless there are validations.
function move(database, { formerId, documentId, body, match }) {
  const before = database.save();
  try {
    runOperation(database, { kind: 'remove', documentId: formerId, match });
    return { ...runOperation(database, { kind: 'create', documentId, body }), status: 200 };
  } catch (error) {
    database.restore(before);
    throw error;
  }
}
