// The requests whose cost is counted, each with what must be in the database before. Documents are about 400 bytes.
const DOCUMENTS = 2000;
const PARTITIONS = 80;
const GROUPS = 40;
const FILLER = 'x'.repeat(300);

const document = (n) => ({
  _id: `p${n % PARTITIONS}:d${String(n).padStart(5, '0')}`, number: n, group: n % GROUPS, text: `${n} ${FILLER}`,
});

/// Fills a database like that of the benchmarks; every count begins with the same state.
export async function prepare(send) {
  await send('PUT', '/bench?partitioned=true');
  await send('POST', '/bench/_index', {
    index: { fields: ['group', 'number'] }, ddoc: 'by-group', name: 'by-group', partitioned: true,
  });
  for (let first = 0; first < DOCUMENTS; first += 500) {
    await send('POST', '/bench/_bulk_docs', { docs: Array.from({ length: 500 }, (_, n) => document(first + n)) });
  }
  // The first query of a kind prepares its plan; the first one after an index was made may wait for it.
  await send('POST', '/bench/_partition/p1/_find', find(1));
}

/// All 25 documents of partition `p`.
const find = (p) => ({ selector: { group: p % GROUPS }, limit: 25 });

/// `count` requests are sent on one connection; the cost of one is the difference to a run without them.
export const requests = [
  { name: 'GET a document', count: 4000, make: (n) => ['GET', `/bench/${document((n * 7) % DOCUMENTS)._id}`] },
  { name: 'GET with If-None-Match: 304', count: 4000, etag: true, status: 304, make: () => ['GET', `/bench/${document(7)._id}`] },
  { name: 'PUT a new document', count: 2000, make: (n) => {
    const { _id, ...body } = document(DOCUMENTS + n);
    return ['PUT', `/bench/${_id}`, body];
  } },
  { name: '_bulk_docs, each of 100 documents', count: 30, per: 100, make: (n) => ['POST', '/bench/_bulk_docs', {
    docs: Array.from({ length: 100 }, (_, i) => document(DOCUMENTS + n * 100 + i)),
  }] },
  { name: 'partition _find of 25 by a local index', count: 1000,
    make: (n) => ['POST', `/bench/_partition/p${n % PARTITIONS}/_find`, find(n % PARTITIONS)] },
  { name: 'partition _all_docs of 25 with documents', count: 1000,
    make: (n) => ['GET', `/bench/_partition/p${n % PARTITIONS}/_all_docs?include_docs=true&limit=25`] },
  { name: '_changes, each row of 2,000', count: 10, per: 2000, make: () => ['GET', '/bench/_changes'] },
];
