// Runs first in each world of scripts. Implements Azure Cosmos DB's server-side API. Its value is a function whose
// arguments are the native functions `host(operation, text, second, third, number)`, which performs one operation, and
// `log(text)`; it returns `run(script, call)`.
//
// `host` returns false (not accepted) or [error, body or message, continuation]. An operation is performed when it is
// called; the callbacks run one after the other after the calling function has returned.
(function (host, log) {
  'use strict';
  var READ = 0, QUERY = 1, CREATE = 2, UPSERT = 3, REPLACE = 4, REMOVE = 5;
  var stringify = JSON.stringify;
  var state;

  function errorOf(number, message) {
    var error = new Error(stringify({Errors: [message]}));
    error.number = number;
    error.body = error.message;
    return error;
  }
  function invalid(what) { return errorOf(400, what); }
  function text(value, what) {
    if (typeof value !== 'string') throw invalid(what + ' must be a string.');
    return value;
  }
  function object(value, what) {
    if (value === null || typeof value !== 'object') throw invalid(what + ' must be an object.');
    return value;
  }
  function checkCollection(link) {
    var plain = text(link, 'The collection link').replace(/^\/+|\/+$/g, '');
    if (plain !== state.selfLink.replace(/^\/+|\/+$/g, '') && plain !== state.altLink.replace(/^\/+|\/+$/g, '')) {
      throw invalid('The collection link is not that of the script\'s own collection: ' + link);
    }
  }
  // Queues the handling of an answer. Without a callback, an error ends the script.
  function settle(answer, callback, onValue) {
    if (answer === false) return false;
    state.queue.push(function () {
      if (answer[0] !== 0) {
        var error = errorOf(answer[0], answer[1]);
        if (typeof callback !== 'function') throw error;
        callback(error, undefined, {});
        return;
      }
      onValue(answer[1], answer[2]);
    });
    return true;
  }
  function perform(callback, operation, first, second, third, number) {
    return settle(host(operation, first, second, third, number), callback, function (body) {
      if (typeof callback === 'function') callback(undefined, body, {});
    });
  }
  function pageSizeOf(options) {
    var size = options && options.pageSize;
    if (size === undefined || size === null || size === -1) return undefined;
    if (typeof size !== 'number' || !(size >= 1)) throw invalid('pageSize must be a positive number, or -1.');
    return Math.floor(size);
  }
  function continuationOf(options) {
    var continuation = options && options.continuation;
    if (continuation === undefined || continuation === null || continuation === '') return undefined;
    return text(continuation, 'The continuation');
  }
  function etagOf(options) {
    var etag = options && options.etag;
    return etag === undefined || etag === null ? undefined : text(etag, 'The option etag');
  }

  // --- the query object ---

  function keyed(values, predicate, sign) {
    var rows = values.map(function (value, i) { return {key: predicate(value), value: value, at: i}; });
    function order(a, b) {
      if (a.key === b.key) return a.at - b.at;
      if (a.key === undefined) return 1;
      if (b.key === undefined) return -1;
      return a.key < b.key ? -sign : a.key > b.key ? sign : a.at - b.at;
    }
    return rows.sort(order).map(function (row) { return row.value; });
  }
  function callable(predicate, name) {
    if (typeof predicate !== 'function') throw invalid(name + ' needs a function.');
    return predicate;
  }
  var steps = {
    filter: function (predicate) {
      callable(predicate, 'filter');
      return function (values) { return values.filter(function (value) { return predicate(value); }); };
    },
    map: function (predicate) {
      callable(predicate, 'map');
      return function (values) { return values.map(function (value) { return predicate(value); }); };
    },
    pluck: function (name) {
      text(name, 'The property of pluck');
      return function (values) {
        return values.map(function (value) { return value === null || value === undefined ? undefined : value[name]; });
      };
    },
    flatten: function (isShallow) {
      return function (values) { return values.flat(isShallow === true ? 1 : Infinity); };
    },
    sortBy: function (predicate) {
      callable(predicate, 'sortBy');
      return function (values) { return keyed(values, predicate, 1); };
    },
    sortByDescending: function (predicate) {
      callable(predicate, 'sortByDescending');
      return function (values) { return keyed(values, predicate, -1); };
    },
    unwind: function (inner, result) {
      callable(inner, 'unwind');
      return function (values) {
        var rows = [];
        values.forEach(function (value) {
          var elements = inner(value);
          if (!Array.isArray(elements)) return;
          elements.forEach(function (element) {
            rows.push(typeof result === 'function' ? result(value, element) : [value, element]);
          });
        });
        return rows;
      };
    }
  };
  // The number of arguments that belong to the step itself; options and callback follow.
  function ownArguments(name, args) {
    if (name === 'unwind') return typeof args[1] === 'function' ? 2 : 1;
    if (name === 'flatten') return args.length > 0 && typeof args[0] === 'boolean' ? 1 : 0;
    return 1;
  }
  function evaluate(chain, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    var pageSize = pageSizeOf(options);
    var continuation = continuationOf(options);
    var values = [];
    var answer;
    do {
      answer = host(QUERY, 'SELECT * FROM c', undefined, continuation, pageSize);
      if (answer === false) return {isAccepted: false};
      if (answer[0] !== 0) break;
      values = values.length === 0 ? answer[1] : values.concat(answer[1]);
      continuation = answer[2];
    } while (pageSize === undefined && continuation !== undefined);
    if (answer[0] === 0) {
      chain.forEach(function (step) { values = step(values); });
    }
    settle(answer, callback, function () {
      if (typeof callback === 'function') callback(undefined, values, {continuation: continuation});
      else state.response.body = values;
    });
    return {isAccepted: true, continuation: continuation};
  }
  function Chain(chain) { this._steps = chain; }
  Object.keys(steps).forEach(function (name) {
    Chain.prototype[name] = function () {
      return new Chain(this._steps.concat([steps[name].apply(undefined, arguments)]));
    };
  });
  Chain.prototype.chain = function () { return this; };
  Chain.prototype.value = function (options, callback) { return evaluate(this._steps, options, callback); };

  // --- the collection ---

  function Collection() {}
  Object.keys(steps).forEach(function (name) {
    Collection.prototype[name] = function () {
      var count = ownArguments(name, arguments);
      var step = steps[name].apply(undefined, Array.prototype.slice.call(arguments, 0, count));
      return evaluate([step], arguments[count], arguments[count + 1]);
    };
  });
  Collection.prototype.chain = function () { return new Chain([]); };
  Collection.prototype.value = function (options, callback) { return evaluate([], options, callback); };
  Collection.prototype.getSelfLink = function () { return state.selfLink; };
  Collection.prototype.getAltLink = function () { return state.altLink; };

  Collection.prototype.readDocument = function (link, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    var known = options && options.ifNoneMatch;
    return settle(host(READ, text(link, 'The document link')), callback, function (body) {
      if (typeof callback !== 'function') return;
      if (known !== undefined && known !== null && (known === '*' || known === body._etag)) {
        callback(undefined, undefined, {notModified: true});
      } else {
        callback(undefined, body, {notModified: false});
      }
    });
  };
  function query(callback, queryText, parameters, options) {
    return settle(host(QUERY, queryText, parameters, continuationOf(options), pageSizeOf(options)), callback,
                  function (body, continuation) {
      if (typeof callback === 'function') callback(undefined, body, {continuation: continuation});
    });
  }
  Collection.prototype.queryDocuments = function (link, filter, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    checkCollection(link);
    if (typeof filter === 'string') return query(callback, filter, undefined, options);
    object(filter, 'The query');
    return query(callback, text(filter.query, 'The text of the query'),
                 filter.parameters === undefined || filter.parameters === null ? undefined
                                                                               : stringify(filter.parameters), options);
  };
  Collection.prototype.readDocuments = function (link, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    checkCollection(link);
    return query(callback, 'SELECT * FROM c', undefined, options);
  };
  function creator(operation) {
    return function (link, body, options, callback) {
      if (typeof options === 'function') {
        callback = options;
        options = undefined;
      }
      checkCollection(link);
      var makesId = !(options && options.disableAutomaticIdGeneration);
      return perform(callback, operation, stringify(object(body, 'The document')), undefined, undefined, makesId ? 1 : 0);
    };
  }
  Collection.prototype.createDocument = creator(CREATE);
  Collection.prototype.upsertDocument = creator(UPSERT);
  Collection.prototype.replaceDocument = function (link, body, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    return perform(callback, REPLACE, stringify(object(body, 'The document')), text(link, 'The document link'),
                   etagOf(options));
  };
  Collection.prototype.deleteDocument = function (link, options, callback) {
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    return perform(callback, REMOVE, undefined, text(link, 'The document link'), etagOf(options));
  };
  ['createAttachment', 'deleteAttachment', 'queryAttachments', 'readAttachment', 'readAttachments', 'replaceAttachment',
   'upsertAttachment'].forEach(function (name) {
    Collection.prototype[name] = function () { throw invalid(name + ': there are no attachments here.'); };
  });

  // --- request, response, context ---

  function Message(body) {
    this.body = body;
    this.values = Object.create(null);
  }
  function shown(message, operation) {
    return {
      getBody: function () { return message.body; },
      setBody: function (value) { message.body = value; },
      appendBody: function (value) {
        if (message.body === undefined) message.body = value;
        else if (typeof message.body === 'string') message.body += typeof value === 'string' ? value : stringify(value);
        else if (Array.isArray(message.body)) message.body = message.body.concat(value);
        else throw invalid('A body that is neither a string nor an array cannot be appended to.');
      },
      // The value `Body` is the body itself.
      getValue: function (key) { return key === 'Body' ? message.body : message.values[key]; },
      setValue: function (key, value) {
        if (key === 'Body') message.body = value;
        else message.values[key] = value;
      },
      appendValue: function (key, value) {
        var before = this.getValue(key);
        this.setValue(key, before === undefined ? shownText(value) : shownText(before) + shownText(value));
      },
      getOperationType: function () { return operation; }
    };
  }
  function shownText(value) {
    return typeof value === 'string' ? value : value instanceof Error ? String(value) : stringify(value);
  }
  function define(name, value) {
    Object.defineProperty(globalThis, name, {value: value, writable: true, configurable: true, enumerable: false});
  }
  define('getContext', function getContext() { return state.context; });
  define('__', undefined);
  define('ErrorCodes', undefined);
  define('console', undefined);
  var known = new Set(Object.getOwnPropertyNames(globalThis));

  // As in other consoles, %s and its relatives in the first argument stand for the arguments that follow.
  function line(values) {
    var rest = Array.prototype.slice.call(values);
    if (rest.length > 1 && typeof rest[0] === 'string') {
      var used = 1;
      var first = rest[0].replace(/%[sdifjoO%]/g, function (found) {
        if (found === '%%') return '%';
        return used < rest.length ? shownText(rest[used++]) : found;
      });
      rest.splice(0, used, first);
    }
    return rest.map(shownText).join(' ');
  }

  return function run(script, call) {
    // What another run left in the globals is not there.
    Object.getOwnPropertyNames(globalThis).forEach(function (name) {
      if (!known.has(name)) Reflect.deleteProperty(globalThis, name);
    });
    var collection = new Collection();
    state = {queue: [], selfLink: call.selfLink, altLink: call.altLink, request: new Message(call.request),
             response: new Message(call.response)};
    var request = shown(state.request, call.operation);
    var response = shown(state.response, call.operation);
    var aborted;
    state.context = {
      getCollection: function () { return collection; },
      getRequest: function () { return request; },
      getResponse: function () {
        if (!call.hasResponse) throw invalid('There is no response before the operation.');
        return response;
      },
      abort: function (error) {
        aborted = {error: error};
        throw error;
      }
    };
    Object.defineProperties(collection, {
      request: {value: request},
      response: {get: function () { return state.context.getResponse(); }}
    });
    define('__', collection);
    define('ErrorCodes', {BadRequest: 400, Forbidden: 403, NotFound: 404, Conflict: 409, PreconditionFailed: 412,
                          RequestEntityTooLarge: 413, RetryWith: 449, InternalServerError: 500});
    function write() { log(line(arguments)); }
    define('console', {log: write, info: write, warn: write, error: write, debug: write});

    script.apply(undefined, call.parameters);
    for (var i = 0; i < state.queue.length; ++i) {
      if (aborted) throw aborted.error;
      var next = state.queue[i];
      state.queue[i] = undefined;
      next();
    }
    if (aborted) throw aborted.error;
    return {request: state.request.body, response: state.response.body};
  };
})
