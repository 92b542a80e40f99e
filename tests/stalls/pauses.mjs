// Makes the machine stall for the tests that run beside: now and then all of their processes, or some of them, are held
// up for a moment, as by a disk that does not answer, a virtual machine that is moved, or a neighbour.
//
//   node pauses.mjs BUILD_DIR [LONGEST_MS]      until SIGTERM
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const build = path.resolve(process.argv[2]);
const longestMs = Number(process.argv[3] ?? 1000);
const between = (least, most) => least + Math.random() * (most - least);

/// Servers and test programs of the build, and the suites that drive them.
function processesUnderTest() {
  return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      const [program, ...args] = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return program.startsWith(`${build}/`) || (path.basename(program) === 'node' && args.some((arg) => arg.endsWith('.test.mjs')));
    } catch {
      return false;  // it has ended
    }
  });
}

function signal(pids, name) {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended.
    }
  }
}

let held = [];
let count = 0;
process.on('SIGTERM', () => {
  signal(held, 'SIGCONT');
  console.log(`${count} stalls of up to ${longestMs} ms`);
  process.exit(0);
});

for (;;) {
  await sleep(between(200, 2500));
  const all = processesUnderTest();
  held = Math.random() < 0.5 ? all : all.filter(() => Math.random() < 0.5);
  if (held.length === 0) continue;
  signal(held, 'SIGSTOP');
  ++count;
  await sleep(between(50, longestMs));
  signal(held, 'SIGCONT');
  held = [];
}
