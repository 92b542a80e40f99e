// What Linux tells about a process that runs. Any of its threads can end between two calls.

import fs from 'node:fs';

/// What `/proc/PID/task/THREAD/FILE` holds, for each thread that has not ended.
export function readOfThreads(pid, file) {
  const tasks = `/proc/${pid}/task`;
  return fs.readdirSync(tasks).flatMap((thread) => {
    try {
      return [fs.readFileSync(`${tasks}/${thread}/${file}`, 'utf8')];
    } catch (error) {
      if (error.code === 'ENOENT' || error.code === 'ESRCH') return [];
      throw error;
    }
  });
}

/// The processes that a process has started.
export const childrenOf = (pid) =>
  readOfThreads(pid, 'children').flatMap((text) => text.trim().split(' ')).filter(Boolean).map(Number);
