// Runs first in each world of design functions. Defines those of CouchDB's helpers that are written in JavaScript. Its
// value is a function whose arguments are the native functions that it needs.
(function (modules_of_program, compile_module) {
  'use strict';
  var stringify = JSON.stringify;
  var has = Object.prototype.hasOwnProperty;
  function define(name, value) {
    Object.defineProperty(globalThis, name, {value: value, writable: true, configurable: true, enumerable: false});
  }
  function invalid(reason) { return ['error', 'invalid_require_path', reason]; }
  function shown(value) {
    var text = stringify(value) + '';
    return text.length > 200 ? text.slice(0, 200) + '…' : text;
  }

  define('sum', function sum(values) {
    var total = 0;
    for (var i in values) total += values[i];
    return total;
  });
  define('isArray', function isArray(value) { return Array.isArray(value); });
  define('toJSON', function toJSON(value) { return stringify(value); });
  // CouchDB's helpers of shows and lists. Other functions may call them there, too, without effect.
  ['provides', 'registerType', 'start', 'send'].forEach(function (name) { define(name, function () {}); });
  define('getRow', function getRow() { return null; });

  if (!modules_of_program) return;
  var loaded = Object.create(null);

  // Follows a path from `at`, a node {value, parent, id} of the design document; from `root` if it begins with a name.
  function find(path, at, root) {
    path.forEach(function (name, i) {
      if (name === '..') {
        at = at.parent && (i === 0 ? at.parent.parent : at.parent);
        if (!at) throw invalid('Object has no parent for ".."');
      } else if (name === '.') {
        if (i === 0) at = at.parent;
        if (!at) throw invalid('Object has no parent for "."');
      } else {
        if (i === 0 || at === null) at = root;
        var value = at.value;
        if (value === null || typeof value !== 'object' || !has.call(value, name) || !value[name]) {
          throw invalid('Object has no property "' + name + '". ' + shown(value));
        }
        at = {value: value[name], parent: at, id: at.id ? at.id + '/' + name : name};
      }
    });
    if (typeof at.value !== 'string') {
      throw invalid('Must require a JavaScript string, not: ' + typeof at.value);
    }
    return at;
  }

  function load(path, from) {
    var place = find(String(path).split('/'), from, {value: modules_of_program(), parent: null, id: ''});
    if (place.id in loaded) return loaded[place.id].exports;
    // Register the module before it runs, so that modules that require each other see the exports made so far.
    var module = {id: place.id, current: place.value, exports: {}};
    loaded[place.id] = module;
    try {
      var run = compile_module(place.value, place.id);
      run.call(globalThis, module, module.exports, function require(name) { return load(name, place); });
    } catch (error) {
      delete loaded[place.id];
      throw ['error', 'compilation_error', "Module require('" + path + "') raised error " + error];
    }
    return module.exports;
  }
  define('require', function require(path) { return load(path, {value: modules_of_program(), parent: null, id: ''}); });
})
