// Runs first in each world of a transform. Rows are made again whenever the server needs them, so they may depend on the
// arguments alone: what changes by itself throws. Its value is the function that runs a transform.
(function () {
  'use strict';
  var isArray = Array.isArray;
  var construct = Reflect.construct;
  var preventExtensions = Object.preventExtensions;
  var NativeDate = Date;
  var NativePromise = Promise;
  var ROWS_MAX = 100;

  function refusal(name) {
    return function () {
      throw new Error(name + ' cannot be used in a transform: rows are made again, and must be the same then');
    };
  }
  var refuseNow = refusal('new Date() without arguments');
  Math.random = refusal('Math.random()');
  NativeDate.now = refusal('Date.now()');
  globalThis.Date = new Proxy(NativeDate, {
    apply: refusal('Date()'),
    construct: function (target, args, newTarget) {
      if (args.length === 0) refuseNow();
      return construct(target, args, newTarget);
    }
  });
  NativeDate.prototype.constructor = globalThis.Date;
  // It formats the present time unless it gets another one.
  if (typeof Intl === 'object') delete Intl.DateTimeFormat;

  function kindOf(value) {
    if (value === null) return 'null';
    if (isArray(value)) return 'an array';
    if (value instanceof NativePromise) return 'a promise';
    return typeof value;
  }

  return function run(transform, doc, joined) {
    // A function that has been compiled adds no variables for the next document to see.
    preventExtensions(globalThis);
    var returned = transform(doc, joined);
    if (returned === null || returned === undefined) return [];
    var rows = isArray(returned) ? returned : [returned];
    if (rows.length > ROWS_MAX) {
      throw new RangeError('the transform returned ' + rows.length + ' rows, and a document has at most ' + ROWS_MAX);
    }
    for (var i = 0; i < rows.length; ++i) {
      var kind = kindOf(rows[i]);
      if (kind !== 'object') throw new TypeError('the transform returned ' + kind + ' for a row, which must be an object');
    }
    return rows;
  };
})
