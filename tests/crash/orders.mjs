// Asks containers for their items in the order of a property, and compares the answer with the documents, sorted here. An
// order that some items lack the property of is read from an absence index, which the first such query has made.
import { cosmosRequest } from '../integration/cosmos_request.mjs';

/// Properties that all items have, that some have (strings, long strings, values of all types), and that none has.
const properties = ['a', 'b', 'c', 'filling', 'nonce', 'none'];
const ITEMS_PER_PAGE = 7;

const typeOf = (value) => {
  if (value === null || Array.isArray(value)) return value === null ? 'null' : 'array';
  return typeof value;
};
const types = ['undefined', 'null', 'boolean', 'number', 'string', 'array', 'object'];

/// The order of Azure Cosmos DB; that of two arrays or of two objects is not defined.
function compareValues(a, b) {
  const [type, other] = [typeOf(a), typeOf(b)];
  if (type !== other) return types.indexOf(type) - types.indexOf(other);
  if (type === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return type === 'number' || type === 'boolean' ? Number(a) - Number(b) : 0;
}

const headersOf = (continuation) => ({
  'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True', 'x-ms-documentdb-query-enablecrosspartition': 'True',
  'x-ms-max-item-count': String(ITEMS_PER_PAGE), ...(continuation && { 'x-ms-continuation': continuation }),
});

/// One page of all items of a container, `database/id`, in an order, which chance picks for the first: { order, reply }.
export async function askInOrder(server, container, random, chosen, continuation) {
  const order = chosen ?? { property: random.pick(properties), descending: random.chance(0.5) };
  const [database, id] = container.split('/');
  const query = `SELECT c.id, c.pk, c.${order.property} AS shown FROM c ORDER BY c.${order.property}${order.descending ? ' DESC' : ''}`;
  const reply = await cosmosRequest(server, 'POST', `/dbs/${database}/colls/${id}/docs`, { body: { query }, headers: headersOf(continuation) });
  return { order, reply };
}

/// Compares all pages in one order with the documents of the container.
export async function checkOrder(server, container, documents, random, wrong) {
  const rows = [];
  let order;
  let continuation;
  do {
    const page = await askInOrder(server, container, random, order, continuation);
    ({ order } = page);
    if (page.reply.status !== 200) return wrong(`ORDER BY ${order.property}: ${page.reply.status} ${page.reply.text.slice(0, 300)}`);
    rows.push(...page.reply.body.Documents);
    continuation = page.reply.headers['x-ms-continuation'];
  } while (continuation && rows.length <= documents.length);
  const say = (text) => wrong(`ORDER BY ${order.property}${order.descending ? ' DESC' : ''}: ${text}`);
  const left = new Map(documents.map((doc) => [doc._id, doc]));
  for (const { id, pk, shown } of rows) {
    const doc = left.get(`${pk}:${id}`);
    if (!left.delete(`${pk}:${id}`)) say(`${pk}:${id} is repeated, or is not there`);
    else if (JSON.stringify(doc[order.property]) !== JSON.stringify(shown)) say(`${pk}:${id} has another value`);
  }
  if (left.size > 0) say(`${[...left.keys()].join(', ')} missing`);
  const sign = order.descending ? -1 : 1;
  const at = rows.findIndex((row, n) => n > 0 && sign * compareValues(rows[n - 1].shown, row.shown) > 0);
  if (at >= 0) say(`${rows[at].pk}:${rows[at].id} comes too late`);
  return undefined;
}
