/// Runs requests of one access pattern and adds up what they cost.
export class Tally {
  charge = 0;
  requests = 0;

  add(response) {
    this.charge += response.requestCharge;
    ++this.requests;
    return response;
  }

  /// A point read; undefined when there is no such item.
  async read(container, id, key) {
    return this.add(await container.item(id, key).read()).resource;
  }

  /// All results of a query, page by page.
  async query(container, query, options) {
    const iterator = container.items.query(query, options);
    const results = [];
    while (iterator.hasMoreResults()) {
      const page = this.add(await iterator.fetchNext());
      results.push(...(page.resources ?? []));
    }
    return results;
  }
}

/// `SELECT …` with `@name`s of `values`.
export function sql(query, values = {}) {
  return { query, parameters: Object.entries(values).map(([name, value]) => ({ name: `@${name}`, value })) };
}

/// One page of everything.
export const all = { maxItemCount: 1000 };

/// The container, made with its definition unless it is there.
export async function createContainer(database, id, key, throughput) {
  const definition = { id, partitionKey: { paths: [key], version: 2 } };
  return (await database.containers.createIfNotExists(definition, throughput ? { offerThroughput: throughput } : {})).container;
}
