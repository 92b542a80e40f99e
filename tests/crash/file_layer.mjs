// Puts the file layer (file_layer.cpp) under a server: to record what it writes, and to make its files fail.
//
//   const server = await Server.start({ dataDir, env: preload({ root: dataDir, faults }) });
//   setFaults(faults, ['enospc write after=0']);  …  clearFaults(faults);
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
export const library = process.env.FILE_LAYER_LIBRARY ?? path.resolve(here, '../../build/tests/crash/libfile_layer.so');

/// Environment of a program whose files below `root` (absolute, without symbolic links) are watched. `log`: file to
/// record to; `faults`: control file, need not exist yet.
export function preload({ root, log, faults }) {
  if (!fs.existsSync(library)) throw new Error(`there is no file layer at ${library}: build octavo_file_layer`);
  const env = { LD_PRELOAD: library, FILE_LAYER_ROOT: root };
  if (log) env.FILE_LAYER_LOG = log;
  if (faults) env.FILE_LAYER_FAULTS = faults;
  return env;
}

/// Replaces the rules, for all calls that begin after this has returned. See layer/fault_rules.h for their grammar.
export function setFaults(controlFile, rules) {
  fs.writeFileSync(`${controlFile}.new`, rules.map((rule) => rule + '\n').join(''));
  fs.renameSync(`${controlFile}.new`, controlFile);
}

export const clearFaults = (controlFile) => setFaults(controlFile, []);

/// The faults that happened so far: [{ operation, path, error }].
export function firedFaults(controlFile) {
  const file = `${controlFile}.fired`;
  if (!fs.existsSync(file)) return [];
  const line = /^(\S+) (.*) (\S+)$/;
  return fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((text) => {
    const [, operation, where, error] = text.match(line);
    return { operation, path: where, error };
  });
}
