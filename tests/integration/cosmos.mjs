// The Cosmos DB API for the tests: Microsoft's client, unmodified, and plain signed HTTP.
import { CosmosClient } from '@azure/cosmos';
import { wellKnownKey } from './cosmos_request.mjs';

export { authorization, cosmosRequest, wellKnownKey } from './cosmos_request.mjs';

export function cosmosClient(server, options = {}) {
  return new CosmosClient({ endpoint: `http://127.0.0.1:${server.cosmosPort}`, key: wellKnownKey, ...options });
}

/// The error that a call of the client ends with.
export async function errorOf(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('the call succeeded');
}

/// A container in a database of its own.
export async function newContainer(client, definition = {}, options) {
  const { database } = await client.databases.create({ id: `db-${Math.random().toString(36).slice(2)}` });
  const { container } = await database.containers.create({ id: 'items', partitionKey: { paths: ['/pk'] }, ...definition }, options);
  return container;
}
