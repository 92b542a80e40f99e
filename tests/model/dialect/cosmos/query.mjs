// SQL over items. Every item is looked at; rows without an order may come in any.
import { compareValues } from './order.mjs';
import { Judged } from '../opaque.mjs';
import { Reply } from '../reply.mjs';
import { isObject } from '../request.mjs';
import { checkRange, pageSize } from './feeds.mjs';
import { itemsOf, parseJson, showItem } from './item.mjs';
import { scopeOf } from './key.mjs';
import { badRequest } from './reply.mjs';
import { parseQuery, resultsOf } from './sql.mjs';

const canonical = (value) =>
  JSON.stringify(value, (name, inner) => {
    if (['_rid', '_self', '_ts'].includes(name)) return undefined; // the server's; lists of items compare them
    return isObject(inner) ? Object.fromEntries(Object.entries(inner).sort()) : inner;
  });

export function queryItems({ request, database, call }) {
  const body = parseJson(request.body ?? '');
  if (!isObject(body) || typeof body.query !== 'string') throw badRequest();
  const query = parseQuery(body.query, body.parameters ?? [], database);
  const keys = scopeOf(request, database.container);
  checkRange(request, database);
  const size = pageSize(request);
  const items = itemsOf(database, keys).map(({ documentId, leaf }) => showItem(database, documentId, leaf));
  const { rows, total } = resultsOf(query, items);
  if (!call.pages && total > size) throw badRequest(); // never asked
  return new Reply(200, new Judged((reply) => judge(query, rows, total, reply)), { 'x-ms-item-count': String(total) });
}

/// `rows`: all that match, as [{ key, value }] in the order asked for; `total`: how many of them the query lets through.
/// Which of those that are alike to the order come first is open.
function judge(query, rows, total, { Documents: found, _count: count }) {
  if (!Array.isArray(found) || found.length !== total || count !== total) {
    return `expected ${total} rows, got ${found?.length}: ${JSON.stringify(found).slice(0, 300)}`;
  }
  const free = rows.map(({ key, value }) => ({ key, json: canonical(value) }));
  const ordered = [...rows];
  for (const [i, value] of found.entries()) {
    const json = canonical(value);
    const wanted = ordered[query.offset + i].key;
    const fits = (row) => row.json === json && (!query.order || compareValues(row.key, wanted) === 0);
    const at = free.findIndex(fits);
    if (at < 0)
      return `row ${i} should not be here: ${json}; expected one of ${free
        .map((row) => row.json)
        .join(' ')
        .slice(0, 600)}`;
    free.splice(at, 1);
  }
  return undefined;
}
