// One attack in a process of its own, so that it shares no event loop with who measures. Sends {ready} when it is in full
// swing, and {result} at its end.
import os from 'node:os';
import { attacks } from './attacks.mjs';

const { name, options } = JSON.parse(process.argv[2]);
// A remote attacker's work costs the server's machine nothing; here it stands behind everything else, unless `inTime` says
// that its requests must be there together. Those that drip do little, but must do it in time: the server resets who does
// not read his reply for two seconds.
if (!options.inTime && !['slowHeaders', 'slowBodies', 'silent'].includes(name)) os.setPriority(19);
try {
  const result = await attacks[name]({ ...options, ready: () => process.send({ ready: true }) });
  await new Promise((resolve) => process.send({ result }, resolve));
  process.exit(0);
} catch (error) {
  console.error(`${name}: ${error.stack}`);
  process.exit(1);
}
