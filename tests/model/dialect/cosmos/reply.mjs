// Replies of the Cosmos DB API: `{"code":…,"message":…}` with its status and sub-status. What the message says is the
// server's affair; that it says something is not.
import { Accepted } from '../opaque.mjs';
import { Refusal, Reply, UniqueKeyTaken } from '../reply.mjs';

const CODES = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  413: 'RequestEntityTooLarge',
  424: 'FailedDependency',
  501: 'NotImplemented',
};

export const aMessage = new Accepted((value) => (typeof value === 'string' && value !== '') || 'expected a message');

/// Thrown by the handlers of this API.
export class CosmosRefusal extends Refusal {
  constructor(status, substatus = 0) {
    super(status, CODES[status], substatus === 0 ? '' : `sub-status ${substatus}`);
    this.substatus = substatus;
  }
}

export const badRequest = () => new CosmosRefusal(400);
export const keyMismatch = () => new CosmosRefusal(400, 1001);
export const notFound = () => new CosmosRefusal(404);
export const ownerMissing = () => new CosmosRefusal(404, 1003);
export const exists = () => new CosmosRefusal(409);
export const rangeGone = () => new CosmosRefusal(410, 1002);
export const etagDiffers = () => new CosmosRefusal(412);
export const failedDependency = () => new CosmosRefusal(424);
export const methodNotAllowed = () => new CosmosRefusal(405);

/// Runs an edit of the documents, whose refusals are those of the other dialect. `conditional`: it had an If-Match.
export function inCosmosWords(edit, conditional) {
  try {
    return edit();
  } catch (error) {
    if (!(error instanceof Refusal) || error instanceof CosmosRefusal) throw error;
    if (error instanceof UniqueKeyTaken) throw exists();
    if (error.status === 409) throw conditional ? etagDiffers() : exists();
    throw new CosmosRefusal(error.status);
  }
}

export function refusalReply({ status, error, substatus }) {
  const headers = substatus ? { 'x-ms-substatus': String(substatus) } : {};
  return new Reply(status, { code: error, message: aMessage }, headers);
}

export const noContent = (status, headers) => new Reply(status, '', headers);
