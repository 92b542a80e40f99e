// Replies of the model, and the refusals of the dialect with CouchDB's words.
import { matching } from './opaque.mjs';

export class Reply {
  constructor(status, body, headers = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/// Thrown by handlers: becomes `{"error":…,"reason":…}`.
export class Refusal extends Error {
  constructor(status, error, reason, headers = {}) {
    super(`${status} ${error}: ${reason}`);
    this.status = status;
    this.error = error;
    this.reason = reason;
    this.headers = headers;
  }
  reply() {
    return new Reply(this.status, this.members(), this.headers);
  }
  members() {
    return { error: this.error, reason: this.reason };
  }
}

/// Told from a conflict of revisions by the Cosmos DB API, which has unique keys.
export class UniqueKeyTaken extends Refusal {
  constructor() {
    super(409, 'conflict', 'Unique index constraint violation.');
  }
}

export const badRequest = (reason) => new Refusal(400, 'bad_request', reason);
export const notFound = (reason = 'missing') => new Refusal(404, 'not_found', reason);
export const conflict = () => new Refusal(409, 'conflict', 'Document update conflict.');
export const illegalId = (reason) => new Refusal(400, 'illegal_docid', reason);
export const invalidDocument = (reason) => new Refusal(400, 'doc_validation', reason);
export const queryParseError = (reason) => new Refusal(400, 'query_parse_error', reason);
export const methodNotAllowed = (methods) =>
  new Refusal(405, 'method_not_allowed', `Only ${methods} allowed`, { allow: methods });

/// What follows CouchDB's words may tell where the error is.
export const invalidJson = () => badRequest(matching(/^invalid UTF-8 JSON/));
