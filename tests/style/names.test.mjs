// Names follow the rules of CONTRIBUTING.md: types CamelCase, everything else snake_case, private members with `_` at the
// end. Universal Ctags finds the names in a second; clang-tidy, which knows the same rules (scripts/static-analysis.sh),
// needs minutes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const folders = ['base', 'config', 'storage', 'partitioning', 'query', 'analytics', 'api', 'server'];
const types = new Set(['class', 'struct', 'union', 'enum', 'typedef']);
const functions = new Set(['function', 'prototype']);
const variables = new Set(['namespace', 'local', 'parameter', 'variable', 'enumerator', 'member']);
const units = new Set(['KiB', 'MiB', 'GiB', 'TiB']);
const foreign = new Set(['is_transparent', 'tcp', 'ElfW', 'enqueuePromiseJob']);  // names that other libraries ask for, or give

function tagsOf(...sources) {
  const output = execFileSync('ctags', ['--languages=C++', '--langmap=C++:.h.cpp', '--kinds-C++=*', '--fields=+aKnzS',
    '--output-format=json', '-f', '-', ...sources], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });
  return output.split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter((tag) => tag._type === 'tag');
}

/// What is wrong with a name; undefined: nothing. `overridden`: functions of foreign base classes.
function faultOf(tag, overridden) {
  const { name, kind, scope = '', pattern = '' } = tag;
  if (name.startsWith('__anon') || name === '&') return undefined;  // made up by ctags
  if (types.has(kind)) {
    const isForeign = tag.scopeKind === 'function' || foreign.has(name);  // `struct stat status;` declares a variable
    return isForeign || /^[A-Z][A-Za-z0-9]*$/.test(name) ? undefined : 'a type is not CamelCase';
  }
  const isSnake = /^[a-z][a-z0-9_]*$/.test(name);
  if (functions.has(kind)) {
    const isSpecial = name.startsWith('~') || name.startsWith('operator') || scope.split('::').at(-1) === name;
    return isSnake || isSpecial || overridden.has(name) || foreign.has(name) ? undefined : 'a function is not snake_case';
  }
  if (!variables.has(kind)) return undefined;
  const isTypeOfExpression = /co_(return|await)|OCTAVO_|\bJS::/.test(pattern) && /^[A-Z]/.test(name);  // misread by ctags
  if (!isSnake && !isTypeOfExpression && !units.has(name)) return `a ${kind} is not snake_case`;
  const isConstant = /\b(static|constexpr)\b/.test(pattern);
  if (kind === 'member' && tag.access === 'private' && !isConstant && !name.endsWith('_')) return 'a private member lacks its _';
  return undefined;
}

function faultsIn(tags) {
  const overridden = new Set(tags.filter((tag) => /\boverride\b/.test(tag.pattern ?? '')).map((tag) => tag.name));
  return tags.map((tag) => ({ tag, fault: faultOf(tag, overridden) })).filter(({ fault }) => fault)
    .map(({ tag, fault }) => `${tag.path}:${tag.line} ${tag.name}: ${fault}`);
}

test('all names follow the rules', () => {
  const tags = tagsOf('-R', ...folders);
  assert.ok(tags.length > 30_000, `${tags.length} names found`);
  assert.deepEqual(faultsIn(tags), []);
});

test('names that break a rule are found', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-names-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'example.h');
  fs.writeFileSync(file, `
    namespace example {
    constexpr int k${'BadConstant'} = 1;
    class badType {};
    class Good {
     public:
      void BadFunction(int BadParameter);
      void good_function();
     private:
      static constexpr int rows_max = 8;
      int bad_member = 0;
      int good_member_ = 0;
    };
    }`);
  assert.deepEqual(faultsIn(tagsOf(file)).map((line) => line.slice(line.indexOf(' ') + 1)).toSorted(), [
    'BadFunction: a function is not snake_case',
    'BadParameter: a parameter is not snake_case',
    'bad_member: a private member lacks its _',
    'badType: a type is not CamelCase',
    `k${'BadConstant'}: a variable is not snake_case`,
  ].toSorted());
});
