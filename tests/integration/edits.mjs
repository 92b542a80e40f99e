// Edits of single documents, and choices that a seed decides.
import { expectStatus } from './harness.mjs';

export const pathOf = (db) => `/${encodeURIComponent(db)}`;

export async function save(server, db, id, fields) {
  const before = await server.get(`${pathOf(db)}/${encodeURIComponent(id)}`);
  const rev = before.status === 200 ? { _rev: before.body._rev } : {};
  return expectStatus(await server.put(`${pathOf(db)}/${encodeURIComponent(id)}`, { ...fields, ...rev }), 201);
}

export async function erase(server, db, id) {
  const { _rev } = expectStatus(await server.get(`${pathOf(db)}/${encodeURIComponent(id)}`), 200);
  return expectStatus(await server.delete(`${pathOf(db)}/${encodeURIComponent(id)}?rev=${_rev}`), 200);
}

/// Numbers that a seed decides.
export function randomOf(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
