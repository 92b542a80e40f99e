// Plain signed HTTP to the Cosmos DB API; needs no packages.
import { createHmac } from 'node:crypto';
import http from 'node:http';

/// The emulator's well-known key.
export const wellKnownKey = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';

/// Type and link that the signature of a request covers.
function signedParts(target) {
  const segments = target.split('?')[0].split('/').filter(Boolean).map(decodeURIComponent);
  if (segments[0] === 'offers') return ['offers', (segments[1] ?? '').toLowerCase()];
  if (segments[4] === 'operations') return ['colls', segments.slice(0, 4).join('/')];
  const feed = segments.length % 2 === 1;
  const link = segments.slice(0, feed ? -1 : undefined);
  // A link of resource ids is signed by the last one alone, a mixed one that ends in a name as it is.
  const byRid = /^[\w+-]{6}==$/.test(segments[1] ?? '') && /^([\w+-]{4})+$|=$/.test(link.at(-1) ?? '');
  return [segments.at(feed ? -1 : -2) ?? '', byRid ? link.at(-1).toLowerCase() : link.join('/')];
}

export function authorization(method, target, date, key = wellKnownKey) {
  const [type, link] = signedParts(target);
  const text = `${method.toLowerCase()}\n${type.toLowerCase()}\n${link}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
  return encodeURIComponent(`type=master&ver=1.0&sig=${signature}`);
}

/// One signed request. `key`: which account key; `headers` come last and may replace anything; `partition`: the key's
/// values. `body`: JSON, text, or bytes. Returns {status, headers, bytes, text, body}.
export function cosmosRequest(server, method, target, { body, headers = {}, key, partition } = {}) {
  const date = new Date().toUTCString();
  const sent = {
    'x-ms-date': date,
    'x-ms-version': '2020-07-15',
    authorization: authorization(method, target, date, key),
    ...(partition === undefined ? {} : { 'x-ms-documentdb-partitionkey': JSON.stringify(partition) }),
    ...headers,
  };
  for (const name of Object.keys(sent)) if (sent[name] === undefined) delete sent[name];
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  const payload = body === undefined ? undefined : Buffer.from(isRaw ? body : JSON.stringify(body));
  sent['Content-Length'] = payload?.length ?? 0;
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port: server.cosmosPort, method, path: target, headers: sent }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString('utf8');
        let parsed = text;
        try {
          parsed = JSON.parse(text);
        } catch {
          // shown as it is
        }
        resolve({ status: response.statusCode, headers: response.headers, bytes, text, body: parsed });
      });
    });
    request.on('error', reject);
    request.end(payload);
  });
}
