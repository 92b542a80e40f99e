// Uses a share of a processor and does nothing with it: what an attack costs the machine, without the attack.
import os from 'node:os';

const { share, nice } = JSON.parse(process.argv[2]);
const PERIOD_MS = 10;
os.setPriority(nice);
process.on('disconnect', () => process.exit(0));
setInterval(() => {
  const end = process.hrtime.bigint() + BigInt(Math.round(share * PERIOD_MS * 1e6));
  while (process.hrtime.bigint() < end);
}, PERIOD_MS);
