// The blog of "How to model and partition data on Azure Cosmos DB using a real-world example", in its three versions, on
// a server that is running; prints the article's table with what was measured beside it. scripts/blog.sh starts one.
import fs from 'node:fs';
import { parseArgs } from 'node:util';
import { CosmosClient } from '@azure/cosmos';
import { ProgressBar } from '../progress.mjs';
import { wellKnownKey } from '../well_known_key.mjs';
import { BulkLoader } from './bulk.mjs';
import { BlogData } from './data.mjs';
import { cellsOf, measure, table } from './measure.mjs';
import { V1, V2, V3 } from './versions.mjs';

const { values } = parseArgs({
  options: {
    endpoint: { type: 'string', default: 'http://127.0.0.1:8081' },
    key: { type: 'string', default: wellKnownKey },
    couch: { type: 'string' },
    users: { type: 'string', default: '200' },
    versions: { type: 'string', default: 'V1,V2,V3' },
    seed: { type: 'string', default: '1' },
    throughput: { type: 'string', default: '360000' },
    repeats: { type: 'string', default: '20' },
    'skip-load': { type: 'boolean', default: false },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`node main.mjs [--endpoint URL] [--key KEY] [--couch URL] [--users N] [--versions V2,V3] [--throughput RU/s] [--repeats N] [--seed N]
  [--skip-load] [--json FILE]

  --couch        the CouchDB API of the same server: the data is loaded there in bulk, many times as fast
  --users        scale: users with 5 to 50 posts each, up to 25 comments and 100 likes per post (${values.users})
  --versions     those of V1,V2,V3 that are loaded and measured; V3 needs V2 (${values.versions})
  --throughput   of the posts' containers: a physical partition for each 10,000 RU/s (${values.throughput})
  --skip-load    the data of an earlier run with the same scale and seed is there
  --json         writes the cells there, too`);
  process.exit(0);
}

const client = new CosmosClient({ endpoint: values.endpoint, key: values.key });
const data = new BlogData({ users: Number(values.users), seed: Number(values.seed) });
const throughput = Number(values.throughput);
const repeats = Number(values.repeats);

async function withBar(label, total, work) {
  const bar = new ProgressBar(label, total);
  try {
    return await work(bar);
  } finally {
    bar.end();
  }
}

const bulk = values.couch ? new BulkLoader(values.couch) : undefined;
const names = values.versions.split(',');
const versions = [new V1(), new V2(), new V3()].filter(({ name }) => names.includes(name));
if (versions.length !== names.length || (names.includes('V3') && !names.includes('V2'))) throw new Error(`--versions ${values.versions}: see --help`);
for (const version of versions) await version.prepare(client, { throughput });
if (!values['skip-load']) {
  for (const version of versions) {
    await withBar(`${version.name}: users`, data.users.length, (bar) => version.loadUsers(data, bar));
    const what = version instanceof V3 ? 'short posts' : 'posts with reactions';
    await withBar(`${version.name}: ${what}`, data.postCount, (bar) => version.loadPosts(data, bar, bulk));
  }
}

const measurements = [];
for (const version of versions) {
  measurements[Number(version.name.slice(1)) - 1] = await withBar(`${version.name}: requests`, 10 * (repeats + 5), (bar) => measure(version, data, { repeats, bar }));
}
const cells = cellsOf(measurements);
const { userPosts, thread } = data.subjects();
console.log(`${data.users.length} users, ${data.postCount} posts; measured on a user with ${userPosts} posts and a post with ` +
  `${thread.comments.length} comments and ${thread.likes.length} likes. Measured (article); median of ${repeats}.\n`);
console.log(table(cells));
const slow = cells.filter(({ faster }) => !faster).length;
const far = cells.filter(({ near }) => !near).length;
console.log(`\n${cells.length - slow} of ${cells.length} latencies below the article's, ${cells.length - far} of ${cells.length} charges within 25 %.`);
if (values.json) fs.writeFileSync(values.json, JSON.stringify(cells, null, 1));
client.dispose();
process.exitCode = slow + far > 0 ? 1 : 0;
