// Stored procedures, triggers and functions of queries, by their ids. The server gets their texts, and the model runs
// the same.
/* global getContext */

/// Does operations as they come, one callback each, and throws after `failsAt` of them.
function each(operations, failsAt) {
  var collection = getContext().getCollection();
  var link = collection.getSelfLink();
  var results = [];
  operations.forEach(function (operation, i) {
    var place = collection.getAltLink() + '/docs/' + operation.id;
    var options = operation.etag ? { etag: operation.etag } : {};
    function done(error, value) {
      results[i] = error ? error.number : value === undefined ? 'done' : value;
    }
    if (i === failsAt) throw new Error('enough');
    if (operation.op === 'create') collection.createDocument(link, operation.body, done);
    else if (operation.op === 'upsert') collection.upsertDocument(link, operation.body, options, done);
    else if (operation.op === 'replace') collection.replaceDocument(place, operation.body, options, done);
    else if (operation.op === 'delete') collection.deleteDocument(place, options, done);
    else if (operation.op === 'count') collection.queryDocuments(link, 'SELECT VALUE COUNT(1) FROM c', done);
    else {
      collection.readDocument(place, function (error, item) {
        if (error || operation.op === 'read') return done(error, item);
        item.n = operation.value;
        return collection.replaceDocument(item._self, item, { etag: item._etag }, done);
      });
    }
  });
  getContext().getResponse().setBody(results);
}

/// Each operation in the callback of the one before; the first error but those of reading ends it all.
function inTurn(operations, failsAt) {
  var collection = getContext().getCollection();
  var link = collection.getSelfLink();
  var results = [];
  function next(i) {
    var operation = operations[i];
    var place, options;
    function done(error, value) {
      if (error) throw error;
      results.push(value === undefined ? null : value);
      next(i + 1);
    }
    if (i === failsAt) throw { number: 429 };
    if (operation === undefined) return getContext().getResponse().setBody({ results: results, count: i });
    place = collection.getAltLink() + '/docs/' + operation.id;
    options = operation.etag ? { etag: operation.etag } : {};
    if (operation.op === 'create') return collection.createDocument(link, operation.body, {}, done);
    if (operation.op === 'upsert') return collection.upsertDocument(link, operation.body, done);
    if (operation.op === 'replace') return collection.replaceDocument(place, operation.body, options, done);
    if (operation.op === 'delete') return collection.deleteDocument(place, options, done);
    return collection.readDocument(place, function (error, item) {
      done(undefined, error ? error.number : item);
    });
  }
  next(0);
}

/// Takes from one item and gives to another, which it does first; nothing happens where too little is there.
function transfer(from, to, amount) {
  var collection = getContext().getCollection();
  var docs = collection.getAltLink() + '/docs/';
  collection.readDocument(docs + to, function (error, target) {
    if (error) throw error;
    target.n = Number(target.n || 0) + amount;
    collection.replaceDocument(target._self, target, function (failure) {
      if (failure) throw failure;
      collection.readDocument(docs + from, function (none, source) {
        if (none) throw none;
        if (!(source.n >= amount)) getContext().abort({ number: 412 });
        source.n -= amount;
        collection.replaceDocument(source._self, source, { etag: source._etag }, function (late, stored) {
          if (late) throw late;
          getContext().getResponse().setBody([target.n, stored]);
        });
      });
    });
  });
}

/// Adds to every number from `least` on, and throws when that were more than `most`.
function raise(least, amount, most) {
  var collection = getContext().getCollection();
  var query = {
    query: 'SELECT * FROM c WHERE c.n >= @least ORDER BY c.id',
    parameters: [{ name: '@least', value: least }],
  };
  collection.queryDocuments(collection.getSelfLink(), query, function (error, items) {
    if (error) throw error;
    items.forEach(function (item, i) {
      if (i >= most) throw 'too many';
      item.n += amount;
      collection.upsertDocument(collection.getSelfLink(), item);
    });
    getContext()
      .getResponse()
      .setBody(
        items.map(function (item) {
          return [item.id, item.n];
        }),
      );
  });
}

/// Every item once more under a longer id; errors are ignored.
function copy(suffix, clears) {
  var collection = getContext().getCollection();
  var link = collection.getSelfLink();
  collection.readDocuments(link, function (error, items) {
    items.forEach(function (item) {
      if (item.id.length > 5) return;
      if (clears) collection.deleteDocument(item._self);
      item.id += suffix;
      collection.createDocument(link, item);
    });
    collection.queryDocuments(link, 'SELECT VALUE COUNT(1) FROM c', function (failure, count) {
      getContext().getResponse().setBody({ before: items.length, after: count[0] });
    });
  });
}

/// Deletes everything, and throws after `most`.
function clear(most) {
  var collection = getContext().getCollection();
  var deleted = [];
  collection.queryDocuments(collection.getSelfLink(), 'SELECT * FROM c ORDER BY c.id', function (error, items) {
    (function next() {
      var item = items.shift();
      if (!item) return getContext().getResponse().setBody(deleted);
      if (deleted.length === most) throw new TypeError('enough');
      return collection.deleteDocument(item._self, { etag: item._etag }, function (failure) {
        if (failure) throw failure;
        deleted.push(item.id);
        next();
      });
    })();
  });
}

/// Writes nothing.
function echo(first, second) {
  getContext()
    .getResponse()
    .setBody(second === undefined ? first : { first: first, second: second });
}

/// A pre-trigger: says which operation it was, and takes no items without a size.
function stamp() {
  var request = getContext().getRequest();
  var item = request.getBody();
  if (!item) return;
  if (item.n === 0) throw { number: 403 };
  item.stamp = request.getOperationType();
  request.setBody(item);
}

/// A pre-trigger: another item counts.
function note() {
  var collection = getContext().getCollection();
  var item = getContext().getRequest().getBody();
  if (!item || item.id === 'noted') return;
  item = JSON.parse(JSON.stringify(item));
  item.id = 'noted';
  item.ttl = -1;
  collection.queryDocuments(collection.getSelfLink(), 'SELECT VALUE COUNT(1) FROM c', function (error, count) {
    item.n = count[0];
    collection.upsertDocument(collection.getSelfLink(), item);
  });
}

/// A pre-trigger: an item has another name, or another key.
function rename() {
  var request = getContext().getRequest();
  var item = request.getBody();
  if (item && item.s === 'a') item.pk = 'elsewhere';
  if (item && item.s === 'b') item.id = 'renamed';
  if (item) request.setBody(item);
}

/// A post-trigger: the client sees how many there were, not counting what was written.
function tally() {
  var collection = getContext().getCollection();
  var response = getContext().getResponse();
  collection.queryDocuments(
    collection.getSelfLink(),
    'SELECT VALUE c.n FROM c ORDER BY c.id',
    function (error, numbers) {
      response.setBody({ item: response.getBody(), numbers: numbers });
    },
  );
}

/// A post-trigger: of what has been written nothing stays when there is too much.
function guard() {
  var collection = getContext().getCollection();
  collection.readDocuments(collection.getSelfLink(), function (error, items) {
    if (items.length > 2) throw { number: 409 };
    if (items.length === 2) collection.deleteDocument(items[0]._self, { etag: items[0]._etag });
  });
}

/// User-defined functions, which queries call.
function twice(value) {
  return typeof value === 'number' ? value * 2 : undefined;
}
function kind(value, other) {
  if (Array.isArray(value)) return { array: value.length };
  return value === undefined ? other : typeof value;
}

export const procedures = { each, inTurn, transfer, raise, copy, clear, echo };
export const triggers = { Pre: { stamp, note, rename }, Post: { tally, guard } };
export const functions = { twice, kind };
