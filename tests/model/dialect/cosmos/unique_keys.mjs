// Unique keys of a container: within a logical partition no two items have the same values. A missing one counts as
// null.
import { canonical } from '../request.mjs';
import { UniqueKeyTaken } from '../reply.mjs';
import { valueAt } from './key.mjs';

export function checkUniqueKeys(database, id, body) {
  const { uniqueKeys } = database.container;
  if (uniqueKeys.length === 0) return;
  const start = id.slice(0, id.indexOf(':') + 1);
  const others = [...database.documents.values()]
    .filter((document) => document.id !== id && document.id.startsWith(start))
    .map(({ tree }) => tree.winner())
    .filter(({ deleted }) => !deleted);
  for (const paths of uniqueKeys) {
    const valuesOf = (item) => canonical(paths.map((path) => valueAt(item, path) ?? null));
    if (others.some((other) => valuesOf(other.body) === valuesOf(body))) throw new UniqueKeyTaken();
  }
}
