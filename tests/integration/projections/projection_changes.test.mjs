// A changed definition: its rows become known beside the old ones, and then take their place.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectStatus, Server } from '../harness.mjs';
import { assertSameRows, createProjection, current, documentsOf, projected, soon } from './projection_support.mjs';

const count = 3000;
const posts = Array.from({ length: count }, (_, n) => ({ _id: `p${n}`, type: 'post', user: `u${n % 7}`, title: `t${n % 50}`, date: n % 101 }));

async function filled(server) {
  const source = await server.database('q=2');
  const target = await server.database('partitioned=true&q=2');
  await server.fill(source, posts);
  return { source, target };
}

const first = (target) => ({ target: { db: target }, key: '{user}', id: '{_id}', fields: { '*': true } });

async function change(server, source, definition) {
  const { rev } = expectStatus(await server.get(`/${source}/_projection/p`), 200);
  return expectStatus(await server.put(`/${source}/_projection/p?rev=${rev}`, definition), 200);
}

async function changed(server, source, rev) {
  await soon(async () => {
    const status = expectStatus(await server.get(`/${source}/_projection/p`), 200);
    assert.equal(status.rev, rev);
    assert.equal(status.state, 'active');
    assert.equal(status.next, null);
  }, 20_000);
  return current(server, source, 'p');
}

describe('a changed definition', () => {
  const changes = {
    'other fields': { definition: { fields: ['user', 'title'] }, rows: { key: ({ user }) => user, fields: ({ user, title }) => ({ user, title }) } },
    'another key': { definition: { key: 'k{title}' }, rows: { key: ({ title }) => `k${title}` } },
    'a filter': { definition: { where: 'c.date < 50' }, rows: { key: ({ user }) => user, select: ({ date }) => date < 50 } },
    'the newest': { definition: { newest: { by: 'date', n: 10 } }, rows: { key: ({ user }) => user, by: 'date', n: 10 } },
    'colliding ids': { definition: { id: '{title}' }, rows: { key: ({ user }) => user, id: ({ title }) => title } },
  };
  for (const [what, { definition, rows }] of Object.entries(changes)) {
    test(`${what}: the rows are those of the new one, and back`, async (t) => {
      const server = await Server.startFor(t);
      const { source, target } = await filled(server);
      await createProjection(server, source, 'p', first(target));
      await current(server, source, 'p');
      const { rev } = await change(server, source, { ...first(target), ...definition });
      assert.match(rev, /^2-/);
      const status = await changed(server, source, rev);
      const expected = projected(await documentsOf(server, source), rows);
      assertSameRows(await documentsOf(server, target), expected);
      assert.equal(status.rows, expected.size);
      const { rev: third } = await change(server, source, first(target));
      await changed(server, source, third);
      assertSameRows(await documentsOf(server, target), projected(await documentsOf(server, source), { key: ({ user }) => user }));
    });
  }

  test('rows that stay the same keep their revision', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await filled(server);
    await createProjection(server, source, 'p', first(target));
    await current(server, source, 'p');
    const before = expectStatus(await server.get(`/${target}`), 200).update_seq;
    const { rev } = await change(server, source, { ...first(target), where: 'c.date >= 0' });
    await changed(server, source, rev);
    assert.equal(expectStatus(await server.get(`/${target}`), 200).update_seq, before);
  });

  test('the old rows are followed until the new ones are known, and documents written meanwhile are not lost', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await filled(server);
    await createProjection(server, source, 'p', first(target));
    await current(server, source, 'p');
    const { rev } = await change(server, source, { ...first(target), key: 'n{user}' });
    for (let n = 0; n < 40; ++n) {
      const docs = Array.from({ length: 20 }, (_, i) => ({ _id: `q${n}-${i}`, type: 'post', user: `u${i}`, title: 't', date: n }));
      await server.fill(source, docs);
    }
    await changed(server, source, rev);
    assertSameRows(await documentsOf(server, target), projected(await documentsOf(server, source), { key: ({ user }) => `n${user}` }));
  });

  test('kill -9 at any time: the change is completed', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await filled(server);
    await createProjection(server, source, 'p', first(target));
    await current(server, source, 'p');
    let key = 'u';
    for (const pause of [0, 5, 20, 60, 120, 200, 300]) {
      key += 'x';
      const { rev } = await change(server, source, { ...first(target), key: `${key}{user}` });
      await new Promise((resolve) => setTimeout(resolve, pause));
      await server.kill();
      await server.relaunch();
      await changed(server, source, rev);
      assertSameRows(await documentsOf(server, target), projected(await documentsOf(server, source), { key: ({ user }) => `${key}${user}` }));
    }
  });

  test('another change meanwhile takes its place, and a removal takes all rows', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await filled(server);
    await createProjection(server, source, 'p', first(target));
    await current(server, source, 'p');
    expectStatus(await server.post(`/${source}/_projection/p/_pause`, {}), 200);
    const { rev } = await change(server, source, { ...first(target), key: 'a{user}' });
    const next = expectStatus(await server.get(`/${source}/_projection/p`), 200).next;
    assert.equal(next.rev, rev);
    assert.equal(next.definition.key, 'a{user}');
    const { rev: third } = expectStatus(await server.put(`/${source}/_projection/p?rev=${rev}`, { ...first(target), key: 'b{user}' }), 200);
    assert.match(third, /^3-/);
    expectStatus(await server.post(`/${source}/_projection/p/_resume`, {}), 200);
    await changed(server, source, third);
    assert.ok([...(await documentsOf(server, target)).keys()].every((id) => id.startsWith('bu')));
    await change(server, source, { ...first(target), key: 'c{user}' });
    expectStatus(await server.delete(`/${source}/_projection/p`), 202);
    await soon(async () => assert.deepEqual((await server.get(`/${source}/_projection`)).body.projections, []), 20_000);
    assert.equal((await documentsOf(server, target)).size, 0);
  });
});
