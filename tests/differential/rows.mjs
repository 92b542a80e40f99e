// Rows as queries and tests compare them.

const system_properties = ['_rid', '_self', '_etag', '_attachments', '_ts'];

/// `value` without what the server adds to items.
export function withoutSystemProperties(value) {
  if (Array.isArray(value)) return value.map((element) => withoutSystemProperties(element));
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).filter(([name]) => !system_properties.includes(name));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutSystemProperties(member)]));
}
