// Ways to ask: by the client's iterator, or by a new client from the continuation token after each page; with the
// server's whole answer, or with a plan by which the client merges what each range answers.

const options = { forceQueryPlan: true, enableQueryControl: true };

const restarts = ['SIGTERM', 'kill -9'];

/// `plan`: the client merges. `resumes`: a new call for each page. `disturbances`: what may come between two pages. A
/// call does not survive a restart, and only its server knows where a query continues in the parts of a split range, or
/// in a part of a merged one: no plan is asked for that.
export const ways = [
  { name: 'plain', disturbances: ['split', 'merge'] },
  { name: 'plain, resumed', resumes: true, disturbances: ['split', 'merge', ...restarts] },
  { name: 'plan', plan: true, disturbances: [], options: { forceQueryPlan: true } },
  { name: 'control', disturbances: ['split', 'merge'], options: { enableQueryControl: true } },
  { name: 'control, resumed', resumes: true, disturbances: ['split', 'merge', ...restarts], options: { enableQueryControl: true } },
  { name: 'plan and control', plan: true, disturbances: [], options },
  { name: 'plan and control, resumed', plan: true, control: true, resumes: true, disturbances: restarts, options },
];

/// Faults of @azure/cosmos 4.9 that no server can correct, and what plans refuse (docs/cosmos.md), by name. undefined:
/// the answer has to be right.
export function clientFault(way, query, traits, { ranges, partitionKey }) {
  if (!way.plan) return undefined;
  if (partitionKey !== undefined) return 'with a plan, the option partitionKey is ignored';
  if (query.from?.distinct) return 'a plan with DISTINCT in a subquery of FROM is refused';
  if (!traits.orderIsClean) return 'ORDER BY over null, mixed types, or what some items lack, throws';
  if (query.distinct && query.select === 'value') return 'DISTINCT VALUE drops 0, false, the empty text and null';
  if (traits.grouped && query.items.some(({ value }) => value.kind === 'aggregate' && value.name !== 'COUNT')) return 'SUM, AVG, MIN and MAX leave out a range where they are undefined';
  if (query.select === 'value' && query.orderBy.length === 0) return 'values that are false, 0 or empty are dropped by some steps of a plan';
  if (!way.resumes) return undefined;
  if (query.distinct && ranges > 1) return 'a page that DISTINCT leaves nothing of has no continuation token';
  if (query.offset > 0) return 'a page that OFFSET leaves nothing of has no continuation token';
  if (traits.orderIsUndefined && ranges > 1) return 'ORDER BY over what no row has, resumed, reads ranges again that had ended';
  if (query.orderBy.length > 1) return 'several ORDER BY expressions resumed lose rows';
  if (query.join && query.orderBy.length > 0) return 'rows of one item are counted by page when ORDER BY is resumed';
  if (traits.grouped || (query.distinct && !isOrderedDistinct(query))) return 'there is no continuation token for it';
  return undefined;
}

// Whether the plan says "Ordered": only then can clients tell equal rows apart when they continue.
const isOrderedDistinct = ({ items, orderBy }) =>
  items.length === 1 && orderBy.length === 1 && JSON.stringify(items[0].value) === JSON.stringify(orderBy[0].value);

const pages_max = 500;

// A token of the client's own says what is left of TOP or LIMIT. After ORDER BY one with nothing left repeats forever.
const isUsedUp = (token) => token.startsWith('{') && JSON.parse(token).limit === 0;

// A client that merges keeps its token for a range if nothing is left after it, as all those rows were deleted meanwhile. It
// then goes round: it reads what follows that range, and, as its token has no place for the end, the range again.
const isRepeated = ({ resources, continuationToken }, asked) => !resources?.length && continuationToken !== undefined && asked.has(continuationToken);

/// All rows of an answer. `between` is called after each page with the rows so far, and may make `connect` return another
/// client's container.
export async function read(connect, way, text, { pageSize, partitionKey }, between) {
  const rows = [];
  const asked = { maxItemCount: pageSize, ...(partitionKey === undefined ? {} : { partitionKey }), ...way.options };
  if (way.resumes) {
    let continuationToken;
    const askedTokens = new Set();
    for (let pages = 0; ; ++pages) {
      if (pages > pages_max) throw new Error('the pages do not end');
      const page = await connect().items.query(text, { ...asked, continuationToken }).fetchNext();
      rows.push(...(page.resources ?? []));
      if (way.plan && isRepeated(page, askedTokens.add(continuationToken))) return rows;
      continuationToken = page.continuationToken;
      if (!continuationToken || isUsedUp(continuationToken)) return rows;
      await between(rows);
    }
  }
  const iterator = connect().items.query(text, asked);
  for (let pages = 0; iterator.hasMoreResults(); ++pages) {
    if (pages > pages_max) throw new Error('the pages do not end');
    rows.push(...((await iterator.fetchNext()).resources ?? []));
    await between(rows);
  }
  return rows;
}
