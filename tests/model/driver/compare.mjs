// Is the server's reply the model's? Bodies whole, in the order of lists, in any order of members.
import { Accepted, Constant, Judged, Sequence, SequenceWithin } from '../dialect/opaque.mjs';

const HEADERS = ['etag', 'location', 'allow', 'x-ms-substatus', 'x-ms-item-count', 'x-ms-continuation'];

/// What differs, as text; undefined when nothing does. `actual`: {status, headers, body} of the harness.
export function compareReplies(expected, actual, binder) {
  const status = compareValues(expected.status, actual.status, 'status', binder);
  if (status) return `${status}: ${actual.text.slice(0, 300)}`;
  if (actual.status >= 400 && expected.body instanceof Judged && expected.status instanceof Judged) return undefined;
  for (const name of HEADERS) {
    const sent = name === 'location' ? pathOf(actual.headers[name]) : actual.headers[name];
    const wrong = compareValues(expected.headers[name], sent, name, binder);
    if (wrong) return wrong;
  }
  return compareValues(expected.body, actual.body, 'body', binder);
}

function pathOf(location) {
  return location?.replace(/^http:\/\/127\.0\.0\.1:\d+/, '');
}

function compareValues(expected, actual, path, binder) {
  const at = (wrong) => (wrong === undefined ? undefined : `${path}: ${wrong}`);
  if (expected instanceof Sequence) return at(binder.sequence(expected, actual));
  if (expected instanceof SequenceWithin) return at(binder.sequenceWithin(expected, actual));
  if (expected instanceof Constant) return at(binder.constant(expected, actual));
  if (expected instanceof Judged) return at(expected.check(actual, (a, b) => compareValues(a, b, '', binder)));
  if (expected instanceof Accepted) {
    const verdict = expected.accepts(actual);
    return verdict === true ? undefined : at(`${verdict}, got ${JSON.stringify(actual)}`);
  }
  if (Array.isArray(expected) && Array.isArray(actual)) return compareLists(expected, actual, path, binder);
  if (isPlainObject(expected) && isPlainObject(actual)) return compareObjects(expected, actual, path, binder);
  return expected === actual ? undefined : at(`expected ${show(expected)}, got ${show(actual)}`);
}

function compareLists(expected, actual, path, binder) {
  for (let i = 0; i < Math.min(expected.length, actual.length); ++i) {
    const wrong = compareValues(expected[i], actual[i], `${path}[${i}]`, binder);
    if (wrong) return wrong;
  }
  if (expected.length === actual.length) return undefined;
  const lengths = `expected ${expected.length} elements, got ${actual.length}`;
  return `${path}: ${lengths}: expected ${show(expected)}, got ${show(actual)}`;
}

function compareObjects(expected, actual, path, binder) {
  for (const name of Object.keys(expected)) {
    if (!Object.hasOwn(actual, name)) return `${path}: ${show(name)} is missing, expected ${show(expected[name])}`;
    const wrong = compareValues(expected[name], actual[name], `${path}.${name}`, binder);
    if (wrong) return wrong;
  }
  const more = Object.keys(actual).find((name) => !Object.hasOwn(expected, name));
  return more === undefined ? undefined : `${path}: unexpected ${show(more)}: ${show(actual[more])}`;
}

const isPlainObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function show(value) {
  const text = JSON.stringify(value, (_, inner) => {
    if (inner instanceof Sequence) return `sequence ${inner.number}`;
    return inner instanceof Accepted || inner instanceof SequenceWithin || inner instanceof Constant ? '…' : inner;
  });
  return text === undefined ? 'nothing' : text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
