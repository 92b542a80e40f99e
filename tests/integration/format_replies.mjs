// What a server answers about the databases of the packed data folder.
import { expectStatus } from './harness.mjs';

export const databases = ['plain', 'parts'];

/// A list of [name, value], which must not depend on the format of the data folder.
export async function replies(server) {
  const answers = [];
  const ask = async (name, path, options) => {
    const reply = await server.get(path, options);
    answers.push([name, [reply.status, reply.body]]);
    return reply.body;
  };
  for (const db of databases) {
    await ask(`${db}: documents`, `/${db}/_all_docs?include_docs=true&conflicts=true`);
    await ask(`${db}: view`, `/${db}/_design/v/_view/by?group=true`);
    const query = { selector: { g: 3 }, limit: 1000, sort: ['g', 'n'], use_index: 'i' };
    const found = expectStatus(await server.post(`/${db}/_find`, query), 200);
    answers.push([`${db}: _find`, found.docs]);
    const { results } = await ask(`${db}: changes`, `/${db}/_changes?style=all_docs`);
    const info = expectStatus(await server.get(`/${db}`), 200);
    answers.push([`${db}: counts`, [info.doc_count, info.doc_del_count, info.sizes.external]]);
    for (const { id } of results.filter((_, i) => i % 3 === 0)) {
      const path = `/${db}/${encodeURIComponent(id)}`;
      await ask(`${db}: ${id}`, `${path}?revs=true&conflicts=true&deleted_conflicts=true`);
      await ask(`${db}: leaves of ${id}`, `${path}?open_revs=all&revs=true`, { headers: { Accept: 'application/json' } });
    }
  }
  await ask('a partition', '/parts/_partition/p3/_all_docs');
  return answers;
}
