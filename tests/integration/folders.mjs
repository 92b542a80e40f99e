// The files of a server that runs. Any of them can disappear between two calls, which
// `fs.readdirSync(folder, { recursive: true })` and `fs.statSync(file)` answer with an exception.

import fs from 'node:fs';
import path from 'node:path';

function entriesOf(folder) {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/// The names of all files and folders below `folder`, relative to it; none if it does not exist.
export function namesBelow(folder) {
  return entriesOf(folder).flatMap((entry) => {
    const below = entry.isDirectory() ? namesBelow(path.join(folder, entry.name)) : [];
    return [entry.name, ...below.map((name) => path.join(entry.name, name))];
  });
}

/// 0 for a folder and for a file that does not exist.
export function bytesOfFile(file) {
  const found = fs.statSync(file, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : 0;
}
