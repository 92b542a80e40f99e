// Dependencies point down: server → api → analytics → query → partitioning → storage → base, with config at the side; and inside a
// layer from folder to folder as the table says. A folder includes itself, what stands beside its name in the table, and
// all of the layers below its own. Folders named `internal` belong to the folder above them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const layers = ['base', 'config', 'storage', 'partitioning', 'query', 'analytics', 'api', 'server'];  // from the bottom up
const FILES_MAX = 25;  // in a folder, without its subfolders
const LINES_MAX = 510;  // in a source file
const SOURCES_MIN = 400;

// From the bottom up: each folder includes only what stands above it here.
const allowed = {
  'base': '',
  'base/jobs': 'base',
  'base/machine': '',
  'base/sketch': 'base',
  'config': '',
  'storage/lmdb': '',
  'storage': 'storage/lmdb',
  'storage/body': '',
  'storage/document': 'storage/body storage/lmdb',
  'storage/logs': 'storage/document storage/lmdb',
  'storage/upgrade': 'storage/document storage/lmdb',
  'storage/partition': 'storage/document storage/lmdb storage/logs storage/upgrade',
  'partitioning/keys': '',
  'partitioning/throughput': '',
  'partitioning/moves': 'partitioning/keys',
  'partitioning': 'partitioning/keys partitioning/moves partitioning/throughput',
  'partitioning/backup': 'partitioning',
  'query/json': '',
  'query/collation': 'query/json',
  'query/design': 'query/json',
  'query/javascript': '',
  'query/follow': 'query/design query/javascript query/json',
  'query/selector': 'query/collation query/json',
  'query/index': 'query/collation query/json query/selector',
  'query/index/global': 'query/follow query/index query/json',
  'query/index/local': 'query/follow query/index query/json',
  'query/index/catalog': 'query/design query/follow query/index query/index/global query/index/local',
  'query/view': 'query/collation query/design query/follow query/index query/javascript query/json',
  'query/functions': 'query/design query/javascript query/json query/view',
  'query/search/lucene': '',
  'query/search/analysis': 'query/search/lucene',
  'query/search/documents': 'query/follow query/javascript query/json query/search/analysis query/search/lucene',
  'query/search/syntax': '',
  'query/search/run':
    'query/follow query/json query/search/analysis query/search/documents query/search/lucene ' +
    'query/search/syntax query/selector',
  'query/search':
    'query/design query/follow query/json query/search/analysis query/search/documents query/search/lucene ' +
    'query/search/run query/search/syntax query/selector',
  'query/plan': 'query/collation query/index query/index/catalog query/json query/selector',
  'query/advice/sample': '',
  'query/advice': 'query/advice/sample query/index query/json query/plan query/selector',
  'query/advice/index':
    'query/advice query/index query/index/catalog query/json query/plan query/view',
  'query/walk': 'query/collation query/design query/index query/index/catalog query/index/local query/json query/plan query/selector',
  'query/mango':
    'query/advice query/collation query/follow query/index query/index/catalog query/json query/plan query/search ' +
    'query/search/syntax query/selector query/walk',
  'query/mango/run': 'query/collation query/index query/json query/mango query/selector query/walk',
  'query/sql/syntax': 'query/json',
  'query/sql/evaluate': 'query/index query/json query/selector query/sql/syntax',
  'query/sql/functions': 'query/index query/json query/selector query/sql/evaluate query/sql/syntax',
  'query/sql/compile': 'query/json query/sql/evaluate query/sql/functions query/sql/syntax',
  'query/project/target': '',
  'query/project':
    'query/follow query/index query/javascript query/json query/project/target query/selector query/sql/compile query/sql/evaluate ' +
    'query/sql/syntax',
  'query/copy': 'query/follow query/json query/project query/project/target',
  'query/database':
    'query/advice query/copy query/design query/follow query/functions query/index query/index/catalog query/index/local query/json ' +
    'query/project query/search query/view',
  'query/sql/constraints':
    'query/index query/json query/selector query/sql/compile query/sql/evaluate query/sql/syntax',
  'query/sql/run':
    'query/advice query/index query/index/catalog query/json query/plan query/selector query/sql/compile query/sql/constraints ' +
    'query/sql/evaluate query/sql/syntax query/walk',
  'analytics/duckdb': '',
  'analytics/table': 'analytics/duckdb',
  'analytics/channel': 'analytics/table',
  'analytics/sql': 'analytics/channel analytics/duckdb',
  'analytics/export': 'analytics/channel analytics/duckdb analytics/sql analytics/table',
  'analytics/worker': 'analytics/channel analytics/duckdb analytics/export analytics/sql analytics/table',
  'analytics/process': 'analytics/channel analytics/worker',
  'analytics/follow': 'analytics/channel analytics/process analytics/table',
  'analytics': 'analytics/channel analytics/follow analytics/process',
  'api/http': '',
  'api/models': 'api/http',
  'api/cosmos/call': 'api/http api/models',
  'api/cosmos/resources': 'api/cosmos/call api/http api/models',
  'api/cosmos/feeds': 'api/cosmos/call api/cosmos/resources api/http api/models',
  'api/scripts': 'api/http api/models',
  'api/cosmos/queries': 'api/cosmos/call api/cosmos/feeds api/cosmos/resources api/http api/models api/scripts',
  'api/cosmos/hybrid_row': '',
  'api/cosmos/items':
    'api/cosmos/call api/cosmos/feeds api/cosmos/hybrid_row api/cosmos/queries api/http api/models api/scripts',
  'api/cosmos/functions':
    'api/cosmos/call api/cosmos/feeds api/cosmos/items api/cosmos/resources api/http api/models api/scripts',
  'api/cosmos': 'api/cosmos/call api/cosmos/functions api/cosmos/items api/cosmos/resources api/http api/models',
  'api/couch/call': 'api/http api/models',
  'api/couch/auth': 'api/couch/call api/http',
  'api/couch/server': 'api/couch/auth api/couch/call api/http',
  'api/couch/documents': 'api/couch/auth api/couch/call api/couch/server api/http api/models api/scripts',
  'api/couch/changes': 'api/couch/auth api/couch/call api/couch/documents api/http api/models',
  'api/couch/databases': 'api/couch/call api/couch/documents api/couch/server api/models',
  'api/couch/functions': 'api/couch/auth api/couch/call api/couch/documents api/models api/scripts',
  'api/couch/queries': 'api/couch/auth api/couch/call api/couch/documents api/http api/models api/scripts',
  'api/couch/cloudant': 'api/couch/auth api/couch/call api/couch/documents',
  'api/couch/projections': 'api/couch/auth api/couch/call api/couch/databases',
  'api/couch/copies': 'api/couch/auth api/couch/call api/couch/databases api/models',
  'api/couch/analytics': 'api/couch/auth api/couch/call',
  'api/couch/advice': 'api/couch/call api/http api/models',
  'api/couch':
    'api/couch/advice api/couch/analytics api/couch/auth api/couch/call api/couch/changes api/couch/cloudant api/couch/copies ' +
    'api/couch/databases ' +
    'api/couch/documents ' +
    'api/couch/functions api/couch/projections api/couch/queries api/couch/server api/http',
  'server/http': '',
  'server/process': '',
  'server/connection': 'server/http server/process',
  'server/listen': 'server/connection server/process',
  'server/commands': 'server/connection server/listen server/process',
  'server': 'server/commands server/process',
};

const layerOf = (folder) => folder.split('/')[0];
const folderOf = (file) => path.dirname(file).split('/').filter((name) => name !== 'internal').join('/');

const sources = layers.flatMap((layer) => fs.readdirSync(path.join(root, layer), { recursive: true })
  .filter((name) => /\.(cpp|h)$/.test(name)).map((name) => path.join(layer, name)));
const textOf = new Map(sources.map((file) => [file, fs.readFileSync(path.join(root, file), 'utf8')]));

const includes = sources.flatMap((file) =>
  [...textOf.get(file).matchAll(/^#include (?:"([^"]+)"|<([^>]+)>)/gm)].map(([, quoted, system]) =>
    ({ file, folder: folderOf(file), included: quoted ?? system })));
// Headers that the build generates are included by the folder they belong to only.
const own = includes.filter(({ included }) => layers.includes(layerOf(included)) && included.includes('/'))
  .map((include) => ({ ...include, target: folderOf(include.included) }))
  .filter(({ folder, target }) => folder !== target);

const say = ({ file, included }) => `${file} includes ${included}`;

test('the sources are found', () => assert.ok(sources.length > SOURCES_MIN));

test('no layer includes one above it', () => {
  assert.deepEqual(own.filter(({ folder, target }) => layers.indexOf(layerOf(target)) > layers.indexOf(layerOf(folder))).map(say), []);
});

test('inside a layer, folders include what the table allows', () => {
  const folders = Object.keys(allowed);
  const wrong = own.filter(({ folder, target }) => layerOf(folder) === layerOf(target) &&
    !(allowed[folder] ?? '').split(' ').includes(target));
  assert.deepEqual(wrong.map(say), []);
  assert.deepEqual([...new Set(sources.map(folderOf))].filter((folder) => !folders.includes(folder)), [], 'missing in the table');
});

test('the table has no circles, and nothing that is not used', () => {
  const folders = Object.keys(allowed);
  for (const [position, folder] of folders.entries()) {
    for (const target of allowed[folder].split(' ').filter(Boolean)) {
      assert.ok(folders.indexOf(target) >= 0 && folders.indexOf(target) < position, `${folder}: ${target} is not above it`);
      assert.ok(own.some((include) => include.folder === folder && include.target === target), `${folder} does not use ${target}`);
    }
  }
});

// The table sees includes, not calls. A folder that declares what another one defines depends on it without an include:
// such functions could close a circle that the table does not show. Names decide, without classes and namespaces.
const aFunction = String.raw`[\w:<>,&* ]*?[ &*](\w+)\([^;{]*\)(?: const)?(?: noexcept)?`;
const declaredFunction = new RegExp(String.raw`^(?!(?:inline|template|constexpr|using|return)\b|[ /#}])${aFunction};`, 'gm');
const definedFunction = new RegExp(String.raw`^${aFunction} \{`, 'gm');
const declaredClass = /^ *(?:class|struct) (?:\w+::)*(\w+)[^;{]*\{/gm;
const definedMember = /^(?! )[\w:<>,&* ~]*?\b(\w+)::~?\w+\(/gm;

/// The names that the pattern finds in sources whose path ends with `ending`, and the folders of each.
function foldersOf(pattern, ending) {
  const found = new Map();
  for (const file of sources.filter((name) => name.endsWith(ending))) {
    for (const [, name] of textOf.get(file).matchAll(pattern)) {
      found.set(name, (found.get(name) ?? new Set()).add(folderOf(file)));
    }
  }
  return found;
}

test('what a header declares is defined in its folder', () => {
  const functions = foldersOf(declaredFunction, '.h');
  const definitions = foldersOf(definedFunction, '.cpp');
  assert.ok(functions.size > 300, `${functions.size} functions are declared`);
  const elsewhere = [...functions].flatMap(([name, folders]) => [...folders]
    .filter((folder) => definitions.has(name) && !definitions.get(name).has(folder))
    .map((folder) => `${name} is declared in ${folder}, defined in ${[...definitions.get(name)].join(', ')}`));
  assert.deepEqual(elsewhere, []);
});

test('the members of a class are defined in its folder', () => {
  const classes = foldersOf(declaredClass, '');
  const members = foldersOf(definedMember, '.cpp');
  assert.ok(members.size > 200, `${members.size} classes have members in sources`);
  const elsewhere = [...members].flatMap(([name, folders]) => [...folders]
    .filter((folder) => classes.has(name) && !classes.get(name).has(folder))
    .map((folder) => `${name} has members in ${folder}, but is declared in ${[...classes.get(name)].join(', ')}`));
  assert.deepEqual(elsewhere, []);
});

// What the machine has is not what the process may use: a container may have a part of it.
test('only base/machine asks for the processors of the machine', () => {
  const asking = sources.filter((file) => folderOf(file) !== 'base/machine' &&
    /hardware_concurrency|_SC_NPROCESSORS|_SC_PHYS_PAGES|get_nprocs/.test(textOf.get(file)));
  assert.deepEqual(asking, []);
});

test('the product includes no test', () => {
  const tests = includes.filter(({ included }) => included.startsWith('tests/') || included.includes('catch2'));
  assert.deepEqual(tests.map(say), []);
});

// A store is a folder with trees of rows: which library keeps them is known in one folder, so that it can be replaced, or
// get a log before it. Comments may explain a decision by what LMDB does.
test('only storage/lmdb knows LMDB, and its headers do not show it', () => {
  const shown = includes.filter(({ file, folder, included }) =>
    included === 'lmdb.h' && (folder !== 'storage/lmdb' || !/(\.cpp|lmdb_error\.h)$/.test(file)));
  assert.deepEqual(shown.map(say), []);
  const internals = includes.filter(({ folder, included }) =>
    included.startsWith('storage/lmdb/internal/') && folder !== 'storage/lmdb');
  assert.deepEqual(internals.map(say), []);
  const named = sources.filter((file) => folderOf(file) !== 'storage/lmdb').flatMap((file) =>
    textOf.get(file).split('\n').map((line, index) => ({ line: line.replace(/\/\/.*/, ''), at: `${file}:${index + 1}` }))
      .filter(({ line }) => !line.startsWith('#include "storage/lmdb/') && /\bmdb_|lmdb|"(data|lock)\.mdb"/i.test(line))
      .map(({ at, line }) => `${at}: ${line.trim()}`));
  assert.deepEqual(named, []);
});

test(`no folder has more than ${FILES_MAX} files, no source more than ${LINES_MAX} lines`, () => {
  const counts = new Map();
  for (const file of sources) counts.set(path.dirname(file), (counts.get(path.dirname(file)) ?? 0) + 1);
  assert.deepEqual([...counts].filter(([, count]) => count > FILES_MAX), []);
  const lines = sources.map((file) => [file, textOf.get(file).split('\n').length - 1]);
  assert.deepEqual(lines.filter(([, count]) => count > LINES_MAX), []);
});
