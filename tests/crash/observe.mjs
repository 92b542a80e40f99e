// Reads all that a server holds, as the registers of history.mjs, and looks whether its parts agree with each other:
// documents, feed, counts, local and global indexes.
import { databaseKey, documentKey, forgettingDatabase, generation, indexKey, localKey, versionsKey, winnerOf } from './history.mjs';
import { checkFunctions } from './functions.mjs';
import { checkOrder } from './orders.mjs';

const LIMIT = 1_000_000;

async function read(server, target, body) {
  const reply = body === undefined ? await server.get(target) : await server.post(target, body);
  if (reply.status !== 200) throw new Error(`${target} ${JSON.stringify(body)}: ${reply.status} ${reply.text.slice(0, 500)}`);
  return reply.body;
}

const strip = ({ _id, _rev, _conflicts, ...body }) => body;
/// A container of the Azure Cosmos DB API has a name with a slash.
const path = encodeURIComponent;
const isDesign = (id) => id.startsWith('_design/');
const partitionOf = (id) => id.slice(0, id.indexOf(':'));

/// { seen: Map, problems: [text], partitionCounts: Map of databases }. `random` chooses what is looked at where all would take too long.
export async function observe(server, random) {
  const seen = new Map();
  const partitionCounts = new Map();
  const problems = [];
  const names = (await read(server, '/_all_dbs')).filter((name) => !name.startsWith('_'));
  await Promise.all(names.map((name) => observeDatabase(server, name, random, seen, problems, partitionCounts)));
  return { seen, problems, partitionCounts };
}

async function observeDatabase(server, name, random, seen, problems, partitionCounts) {
  const info = await read(server, `/${path(name)}`);
  const partitioned = info.props?.partitioned === true;
  const versions = await readVersions(server, name);
  seen.set(databaseKey(name), { partitioned, versions: versions !== undefined });
  partitionCounts.set(name, info.cluster.q);
  const wrong = (text) => problems.push(`${name}: ${text}`);

  const live = new Map((await read(server, `/${path(name)}/_all_docs?include_docs=true`)).rows.map((row) => [row.id, row.doc]));
  const changes = (await read(server, `/${path(name)}/_changes?style=all_docs`)).results;
  checkFeed(changes, live, info, wrong, name === forgettingDatabase);
  const leavesOf = (row) => readLeaves(server, name, row, live.get(row.id));
  for (const row of changes) {
    if (isDesign(row.id)) continue;
    const leaves = await leavesOf(row);
    seen.set(documentKey(name, row.id), { leaves });
    if (winnerOf(leaves).rev !== row.changes[0].rev) wrong(`${row.id}: the feed's first revision is not the winner`);
  }

  if (versions) observeVersions(name, versions, changes, seen, wrong);

  for (const { id, doc } of (await read(server, `/${path(name)}/_local_docs?include_docs=true`)).rows) {
    seen.set(localKey(name, id.replace(/^_local\//, '')), { generation: Number(doc._rev.slice(2)), body: strip(doc) });
  }

  const documents = [...live.values()].filter((doc) => !isDesign(doc._id));
  const indexes = (await read(server, `/${path(name)}/_index`)).indexes.filter((index) => index.type === 'json');
  for (const index of indexes) {
    const fields = index.def.fields.map((field) => Object.keys(field)[0]);
    const local = partitioned && index.partitioned === true;
    const ddoc = index.ddoc.replace(/^_design\//, '');
    seen.set(indexKey(name, ddoc, index.name), { fields, partitioned: local });
    await checkIndex(server, name, { ddoc, name: index.name, fields, local }, documents, random, wrong);
  }
  if (name.includes('/')) await checkOrder(server, name, documents, random, wrong);
  if (partitioned) await checkPartition(server, name, changes, documents, random, wrong);
  for (const design of live.values()) {
    if (design.language !== 'javascript') continue;
    let place = `/${path(name)}`;
    let within = documents;
    if (partitioned && design.options?.partitioned !== false) {
      if (documents.length === 0) continue;
      const partition = partitionOf(random.pick(documents)._id);
      place += `/_partition/${partition}`;
      within = documents.filter((doc) => partitionOf(doc._id) === partition);
    }
    await checkFunctions((target) => read(server, target), `${place}/${design._id}`, design, within, wrong);
  }
}

/// `forgets`: tombstones may have been dropped since `info` was read.
function checkFeed(changes, live, info, wrong, forgets) {
  let last = 0;
  let deleted = 0;
  const ids = new Set();
  for (const row of changes) {
    const sequence = generation(row.seq);
    if (sequence <= last) wrong(`feed: ${row.seq} comes after ${last}`);
    last = sequence;
    if (ids.has(row.id)) wrong(`feed: ${row.id} stands twice`);
    ids.add(row.id);
    deleted += row.deleted === true;
    const doc = live.get(row.id);
    if ((doc === undefined) !== (row.deleted === true)) wrong(`feed: ${row.id}: deleted is ${row.deleted}, unlike the document`);
    else if (doc && doc._rev !== row.changes[0].rev) wrong(`feed: ${row.id} at ${row.changes[0].rev}, the document at ${doc._rev}`);
  }
  for (const id of live.keys()) if (!ids.has(id)) wrong(`feed: ${id} is missing`);
  if (info.doc_count !== live.size) wrong(`doc_count is ${info.doc_count}, there are ${live.size}`);
  if (forgets ? info.doc_del_count < deleted : info.doc_del_count !== deleted) wrong(`doc_del_count is ${info.doc_del_count}, there are ${deleted}`);
}

/// All rows of the log of versions; undefined where the database keeps none.
async function readVersions(server, name) {
  const target = `/${path(name)}/_changes?mode=all_versions`;
  const reply = await server.get(target);
  if (reply.status === 400 && reply.body.error === 'bad_request') return undefined;
  if (reply.status !== 200) throw new Error(`${target}: ${reply.status} ${reply.text.slice(0, 500)}`);
  return reply.body.results;
}

/// Each version once, in the order of the feed, each on the one before, and the last of a living document is its winner.
function observeVersions(name, rows, changes, seen, wrong) {
  const newest = new Map();
  let last = 0;
  for (const row of rows) {
    const sequence = generation(row.seq);
    if (sequence <= last) wrong(`versions: ${row.seq} comes after ${last}`);
    last = sequence;
    const before = newest.get(row.id);
    const expected = before && before.operation !== 'delete' ? before.seq : undefined;
    if ((row.operation === 'create') !== (expected === undefined)) wrong(`versions: ${row.id} at ${row.seq}: ${row.operation}`);
    // None, when an edit that lost came between.
    if (row.previous_seq !== undefined && row.previous_seq !== expected) wrong(`versions: ${row.id} at ${row.seq} follows ${row.previous_seq}, not ${expected}`);
    newest.set(row.id, row);
    if (isDesign(row.id)) continue;
    const shown = row.operation === 'delete' ? row.previous : row.doc;
    const key = versionsKey(name, row.id);
    const version = { operation: row.operation, rev: shown._rev, body: strip(shown) };
    seen.set(key, [...(seen.get(key) ?? []), version]);
  }
  for (const row of changes) {
    const version = newest.get(row.id);
    if (row.deleted ? version && version.operation !== 'delete' : version?.doc?._rev !== row.changes[0].rev) {
      wrong(`versions: ${row.id} is at ${row.changes[0].rev}, its last version is ${JSON.stringify(version).slice(0, 200)}`);
    }
  }
}

async function readLeaves(server, name, row, doc) {
  const known = (rev, body) => ({ rev, generation: generation(rev), deleted: body === undefined, body: body ?? {} });
  if (row.changes.length === 1) return [known(row.changes[0].rev, doc && strip(doc))];
  const target = `/${path(name)}/${encodeURIComponent(row.id)}?open_revs=all`;
  const reply = await server.get(target, { headers: { Accept: 'application/json' } });
  if (reply.status !== 200) throw new Error(`${target}: ${reply.status} ${reply.text}`);
  const leaves = reply.body.map(({ ok }) => known(ok._rev, ok._deleted ? undefined : strip(ok)));
  const listed = row.changes.map((change) => change.rev).sort();
  if (listed.join() !== leaves.map((leaf) => leaf.rev).sort().join()) {
    throw new Error(`${target}: ${leaves.map((leaf) => leaf.rev)} and the feed says ${listed}`);
  }
  return leaves;
}

/// All documents that an index has entries for, found through it and without it.
async function checkIndex(server, name, index, documents, random, wrong) {
  let target = `/${path(name)}/_find`;
  let within = documents;
  if (index.local) {
    const partitions = [...new Set(documents.map((doc) => partitionOf(doc._id)))];
    if (partitions.length === 0) return;
    const partition = random.pick(partitions);
    target = `/${path(name)}/_partition/${partition}/_find`;
    within = documents.filter((doc) => partitionOf(doc._id) === partition);
  }
  const all = Object.fromEntries(index.fields.map((field) => [field, { $gte: null }]));
  const wanted = within.filter((doc) => index.fields.every((field) => doc[field] !== undefined));
  const find = async (how, request) => {
    const { docs } = await read(server, target, { fields: ['_id', '_rev'], limit: LIMIT, ...request });
    const found = new Map(docs.map((doc) => [doc._id, doc._rev]));
    const describe = `index ${index.ddoc} on ${index.fields}, ${how}`;
    if (found.size !== docs.length) wrong(`${describe}: a document is found twice`);
    for (const doc of wanted) {
      if (found.get(doc._id) !== doc._rev) wrong(`${describe}: ${doc._id} found at ${found.get(doc._id)}, it is at ${doc._rev}`);
      found.delete(doc._id);
    }
    if (found.size > 0) wrong(`${describe}: ${[...found.keys()].join(', ')} should not be found`);
  };
  await find('through it', { selector: all, use_index: [index.ddoc, index.name], allow_fallback: false });
  // No index serves the second branch, so all documents are looked at.
  if (random.chance(0.3)) await find('without it', { selector: { $or: [all, { 'no such field': 1 }] } });
}

async function checkPartition(server, name, changes, documents, random, wrong) {
  const rows = changes.filter((row) => !isDesign(row.id));
  if (rows.length === 0) return;
  const partition = partitionOf(random.pick(rows).id);
  const target = `/${path(name)}/_partition/${partition}`;
  const own = rows.filter((row) => partitionOf(row.id) === partition);
  const info = await read(server, target);
  const live = documents.filter((doc) => partitionOf(doc._id) === partition);
  if (info.doc_count !== live.length) wrong(`partition ${partition}: doc_count is ${info.doc_count}, there are ${live.length}`);
  if (info.doc_del_count !== own.length - live.length) wrong(`partition ${partition}: doc_del_count is ${info.doc_del_count}`);
  const listed = (await read(server, `${target}/_all_docs`)).rows.map((row) => row.id);
  if (listed.sort().join() !== live.map((doc) => doc._id).sort().join()) wrong(`partition ${partition}: _all_docs differs`);
  const feed = (await read(server, `${target}/_changes`)).results;
  if (feed.map((row) => row.id).join() !== own.map((row) => row.id).join()) wrong(`partition ${partition}: its feed differs`);
}
