// All attacks by name. Each is `async ({port, ready, …sizes}) => result`: it calls `ready` when all of it runs,
// continues for `seconds` where it has them, and returns its `outcomes` (replies by status, connections by how they
// ended) and what else it saw. Everything is aimed at the server on this machine that the test itself has started.
import * as bodies from './attacks_bodies.mjs';
import * as connections from './attacks_connections.mjs';
import { mixed } from './attacks_mixed.mjs';
import * as requests from './attacks_requests.mjs';
import * as streams from './attacks_streams.mjs';

export const attacks = { ...connections, ...bodies, ...streams, ...requests, mixed };
