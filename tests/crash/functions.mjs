// Design documents with views, a search index and a validation, and what they must answer for given documents: computed
// here from the documents, naively.
import { canonical } from './history.mjs';

/// What the functions below do, in this program: rows of one document, [key, value].
const maps = {
  by_a: (doc) => [[doc.a, doc.filling ? doc.filling.length : 0]],
  by_c: (doc) => (doc.c === undefined ? [] : [[doc.c, null]]),
  by_writer: (doc) => [[doc.nonce.replace(/ \d+$/, ''), doc.nonce]],
};
const views = {
  by_a: { map: 'function (doc) { emit(doc.a, doc.filling ? doc.filling.length : 0); }', reduce: '_sum' },
  by_c: { map: 'function (doc) { if (doc.c !== undefined) emit(doc.c, null); }', reduce: '_count' },
  by_writer: { map: "function (doc) { emit(doc.nonce.replace(/ [0-9]+$/, ''), doc.nonce); }" },
};
const indexes = {
  text: { index: "function (doc) { index('a', doc.a); if (doc.b) index('default', doc.b); }" },
};
const validate_doc_update =
  "function (newDoc) { if (newDoc.forbidden) throw({ forbidden: 'not this one' }); }";

/// The design documents of a database, by id.
export function designDocuments({ partitioned }) {
  const whole = { language: 'javascript', views, indexes, validate_doc_update };
  if (!partitioned) return { '_design/whole': whole };
  return {
    '_design/whole': { ...whole, options: { partitioned: false } },
    '_design/parts': { language: 'javascript', views, indexes },
  };
}

/// Rows of a view as one text each, sorted, so that two lists can be compared.
const texts = (rows) => rows.map(({ id, key, value }) => canonical({ id, key, value })).sort();
const rowsOf = (name, documents) =>
  documents.flatMap((doc) => maps[name](doc).map(([key, value]) => ({ id: doc._id, key, value })));

function differences(wanted, found) {
  const open = new Map();
  for (const text of wanted) open.set(text, (open.get(text) ?? 0) + 1);
  const extra = found.filter((text) => {
    const left = open.get(text) ?? 0;
    if (left > 0) open.set(text, left - 1);
    return left === 0;
  });
  const missing = [...open].filter(([, left]) => left > 0).map(([text]) => text);
  return [...missing.map((text) => `missing ${text}`), ...extra.map((text) => `too much ${text}`)].slice(0, 5);
}

/// Compares all views and search indexes of `design`, which is at `target`, with the documents they are of.
export async function checkFunctions(read, target, design, documents, wrong) {
  for (const name of Object.keys(design.views)) {
    const view = `${target}/_view/${name}`;
    const wanted = rowsOf(name, documents);
    const { rows } = await read(`${view}?reduce=false`);
    for (const text of differences(texts(wanted), texts(rows))) wrong(`${view}: ${text}`);
    if (!views[name].reduce) continue;

    const sum = (list) => (views[name].reduce === '_sum' ? list.reduce((total, row) => total + row.value, 0) : list.length);
    const groups = new Map();
    for (const row of wanted) groups.set(canonical(row.key), [...(groups.get(canonical(row.key)) ?? []), row]);
    const reduced = (await read(`${view}?group=true`)).rows;
    const wantedGroups = [...groups].map(([key, list]) => `${key} ${sum(list)}`).sort();
    const foundGroups = reduced.map((row) => `${canonical(row.key)} ${row.value}`).sort();
    for (const text of differences(wantedGroups, foundGroups)) wrong(`${view}, grouped: ${text}`);
    const [all] = (await read(view)).rows;
    if ((all?.value ?? 0) !== sum(wanted)) wrong(`${view} reduces to ${all?.value}, not to ${sum(wanted)}`);
  }
  if (!design.indexes) return;
  const found = (await read(`${target}/_search/text?q=a:[2%20TO%206]`)).total_rows;
  const wanted = documents.filter((doc) => doc.a >= 2 && doc.a <= 6).length;
  if (found !== wanted) wrong(`${target}/_search/text finds ${found} documents, not ${wanted}`);
}

/// What a writer's own documents must look like in `by_writer`, also while others write.
export const ownRows = (writer, documents) => texts(rowsOf('by_writer', documents).filter((row) => row.key === writer));
export const compareOwnRows = (wanted, rows) => differences(wanted, texts(rows));
