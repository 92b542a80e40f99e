// Puts calls together.

export const path = (letter, ...parts) => `/«${letter}»${parts.map((part) => `/${part}`).join('')}`;
/// A document's place in a path; design and local documents as they are mostly written.
export const idPath = (id) =>
  /^_(design|local)\//.test(id)
    ? id.replace(/\/(.*)$/s, (_, rest) => `/${encodeURIComponent(rest)}`)
    : encodeURIComponent(id);

export function withQuery(target, parameters) {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const text = pairs.map(([name, value]) => `${name}=${keepTokens(encodeURIComponent(value))}`).join('&');
  return text === '' ? target : `${target}?${text}`;
}
const keepTokens = (text) => text.replace(/%C2%AB(.*?)%C2%BB/g, (token) => decodeURIComponent(token));

export const call = (method, target, body, headers) => {
  const made = { method, target };
  if (body !== undefined) made.body = typeof body === 'string' ? body : JSON.stringify(body);
  if (headers && Object.keys(headers).length > 0) made.headers = headers;
  return made;
};
