// Mango selectors: read once for errors, then asked of documents.
import { compareRawText, compareText, compareValues, typeOf } from './collation.mjs';
import { BAD_PATH, lookUp, MISSING, parsePath } from './field_path.mjs';
import { Refusal } from './reply.mjs';
import { isObject } from './request.mjs';

/// Ids compare by their bytes, and are greater than whatever is no text (Erlang's order of terms).
const compareIds = (id, value) => (isText(id) && !isText(value) ? 1 : compareValues(id, value, compareRawText));
const same = (a, b) => compareValues(a, b, compareRawText) === 0;
/// A number that JSON writes without a fraction or an exponent: what has one is no integer to Mango.
const isPlainInteger = (value) => Number.isInteger(value) && /^-?\d+$/.test(JSON.stringify(value));
const isText = (value) => typeof value === 'string';
const anything = () => true;

/// op → [is this argument acceptable?, does it hold for a value that is there?]
const OPERATORS = {
  $lt: [anything, (value, argument, order) => order(value, argument) < 0],
  $lte: [anything, (value, argument, order) => order(value, argument) <= 0],
  $eq: [anything, (value, argument, order) => order(value, argument) === 0],
  $ne: [anything, (value, argument, order) => order(value, argument) !== 0],
  $gte: [anything, (value, argument, order) => order(value, argument) >= 0],
  $gt: [anything, (value, argument, order) => order(value, argument) > 0],
  $in: [Array.isArray, (value, list, order) => isListed(value, list, order)],
  $nin: [Array.isArray, (value, list, order) => !isListed(value, list, order)],
  $exists: [(argument) => typeof argument === 'boolean', (value, argument) => argument],
  $type: [isText, (value, argument) => typeOf(value) === argument],
  $size: [
    (argument) => Number.isInteger(argument) && argument >= 0,
    (value, size) => Array.isArray(value) && value.length === size,
  ],
  $mod: [
    (argument) =>
      Array.isArray(argument) && argument.length === 2 && argument.every(Number.isInteger) && argument[0] !== 0,
    (value, [divisor, remainder]) => isPlainInteger(value) && value % divisor === remainder,
  ],
  $regex: [
    (argument) => isText(argument) && isRegex(argument),
    (value, pattern) => isText(value) && new RegExp(pattern, 'u').test(value),
  ],
  $beginsWith: [isText, (value, prefix) => isText(value) && value.startsWith(prefix)],
  $all: [Array.isArray, (value, list) => hasAll(value, list)],
};
// Their argument is a selector for the elements of an array, or the names of an object.
const ELEMENT_OPERATORS = {
  $elemMatch: (value, test) => Array.isArray(value) && value.some(test),
  $allMatch: (value, test) => Array.isArray(value) && value.length > 0 && value.every(test),
  $keyMapMatch: (value, test) => isObject(value) && Object.keys(value).some(test),
};

function isListed(value, list, order) {
  const candidates = Array.isArray(value) ? value : [value];
  return candidates.some((candidate) => list.some((argument) => order(candidate, argument) === 0));
}

function hasAll(value, list) {
  if (list.length === 0 || !Array.isArray(value)) return false;
  if (list.length === 1 && Array.isArray(list[0]) && same(value, list[0])) return true;
  return list.every((argument) => value.some((element) => same(element, argument)));
}

function isRegex(pattern) {
  try {
    return Boolean(new RegExp(pattern, 'u'));
  } catch {
    return false;
  }
}

const badArgument = (name, argument) =>
  new Refusal(400, 'bad_arg', `Bad argument for operator ${name}: ${JSON.stringify(argument)}`);

/// `context`: path above, whether an odd number of $not stands above, whether inside an element operator.
function compile(selector, context) {
  if (!isObject(selector) || Object.keys(selector).length === 0) return comparison('$eq', selector, context);
  const tests = Object.entries(selector).map(([name, argument]) => compileMember(name, argument, context));
  // Below a $not, "all of these" becomes "not one of these".
  return context.negated ? anyOf(tests) : allOf(tests);
}

const allOf = (tests) => (document) => tests.every((test) => test(document));
const anyOf = (tests) => (document) => tests.length === 0 || tests.some((test) => test(document));

function compileMember(name, argument, context) {
  if (!name.startsWith('$'))
    return compile(argument, { ...context, path: context.path === '' ? name : `${context.path}.${name}` });
  if (OPERATORS[name] || ELEMENT_OPERATORS[name]) return comparison(name, argument, context);
  if (['$and', '$or', '$nor'].includes(name)) return combination(name, argument, context);
  if (name === '$not') return negation(argument, context);
  throw new Refusal(400, 'invalid_operator', `Invalid operator: ${name}`);
}

function combination(name, list, context) {
  if (!Array.isArray(list)) throw badArgument(name, list);
  if (name === '$nor' && context.inElement) {
    const tests = list.map((element) => compile(element, context));
    return (document) => !tests.some((test) => test(document));
  }
  const inner = name === '$nor' ? { ...context, negated: !context.negated } : context;
  const tests = list.map((element) => compile(element, inner));
  // None of them, outside: all are false. Inside a $not: one of them is true.
  const all = name === '$or' ? context.negated : !context.negated;
  return all ? allOf(tests) : anyOf(tests);
}

function negation(argument, context) {
  if (!isObject(argument)) throw badArgument('$not', argument);
  if (!context.inElement) return compile(argument, { ...context, negated: !context.negated });
  const test = compile(argument, context);
  return (document) => !test(document);
}

function comparison(name, argument, { path, negated, isId }) {
  const parts = path === '' ? [] : parsePath(path);
  const order = isId || path === '_id' ? compareIds : (a, b) => compareValues(a, b, compareText);
  let holds;
  if (ELEMENT_OPERATORS[name]) {
    if (!isObject(argument)) throw badArgument(name, argument);
    const test = compile(argument, { path: '', negated: false, inElement: true, isId: isId || path === '_id' });
    holds = (value) => ELEMENT_OPERATORS[name](value, test);
  } else {
    const [accepts, applies] = OPERATORS[name];
    if (!accepts(argument)) throw badArgument(name, argument);
    holds = (value) => applies(value, argument, order);
  }
  return (document) => {
    const value = lookUp(document, parts);
    if (value === BAD_PATH) return false;
    // A field that is not there satisfies nothing but that it is not there.
    if (value === MISSING) return name === '$exists' && argument === negated;
    return holds(value) !== negated;
  };
}

export function parseSelector(selector) {
  if (Object.keys(selector).length === 0) return () => true;
  const [[name, argument], ...others] = Object.entries(selector);
  if (hasNoField(selector)) {
    compile(selector, { path: '', negated: false }); // a bad argument comes first
    throw new Refusal(400, 'invalid_selector', 'One or more conditions is missing a field name.');
  }
  const test = compile(selector, { path: '', negated: false });
  // A list operator that stands alone with nothing in its list finds nothing.
  if (others.length === 0 && ['$and', '$or'].includes(name) && argument.length === 0) return () => false;
  return test;
}

/// `{"$gt": 1}` or `{"$not": {}}`: a condition on nothing.
function hasNoField(selector) {
  const [[name, argument] = [], ...others] = Object.entries(selector);
  if (others.length > 0) return false;
  if (name === '$not') return isObject(argument) && hasNoField(argument);
  return name === undefined || name in OPERATORS || name in ELEMENT_OPERATORS;
}

export const matches = (selector, document) => selector(document);
