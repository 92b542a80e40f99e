// How calls reach the server: one of its ports each, and pages put together where a call is for all of them.
import { cosmosRequest } from '../../integration/cosmos_request.mjs';

const PAGES_MAX = 1000;

/// Returns {status, headers, text, body}; throws when there is no reply, or no sense in the pages.
export function ask(server, { api, pages, method, target, headers, body }) {
  if (api !== 'cosmos') return server.request(method, target, { headers, body });
  return pages
    ? askPages(server, method, target, { headers, body })
    : cosmosRequest(server, method, target, { headers, body });
}

async function askPages(server, method, target, { headers, body }) {
  const asked = Number(headers['x-ms-max-item-count'] ?? -1);
  const most = asked === -1 ? Infinity : asked;
  const documents = [];
  let continuation;
  for (let page = 0; page < PAGES_MAX; ++page) {
    const sent = continuation === undefined ? headers : { ...headers, 'x-ms-continuation': continuation };
    const reply = await cosmosRequest(server, method, target, { headers: sent, body });
    const list = reply.body?.Documents;
    if (reply.status !== 200 || !Array.isArray(list)) return reply;
    if (list.length > most) throw new Error(`a page has ${list.length} of at most ${most}`);
    documents.push(...list);
    continuation = reply.headers['x-ms-continuation'];
    if (continuation !== undefined) continue;
    reply.body.Documents = documents;
    reply.body._count = documents.length;
    reply.headers['x-ms-item-count'] = String(documents.length);
    return reply;
  }
  throw new Error(`more than ${PAGES_MAX} pages`);
}
