// A server, its honest clients, an attack, and what is to be seen from outside: memory, descriptors, threads, processor
// time, latencies.
import { fork } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { credentials, expectStatus, Server, sleep } from '../integration/harness.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const MiB = 1 << 20;
const CLOCK_TICKS_PER_S = 100;

/// Timeouts shortened, so that the offenders' ends can be waited for; the limits are the server's own.
export const shortTimeouts = { header_timeout: '20s', body_timeout: '2s', idle_timeout: '60s', send_timeout: '2s' };

/// For attacks that are slow with their heads: others may be held up for a while.
export const shortHeads = { http: { header_timeout: '2s' } };

/// For attacks that read and send all they can: they run at the lowest priority, and being slow is another attack.
export const patient = { http: { body_timeout: '60s', send_timeout: '60s' } };

/// The arena's options for such attacks while the maps of files grow: with a limit of its address space a server does not
/// reserve the room for them beforehand.
export const growingMaps = {
  config: { ...patient, storage: { map_bytes_initial: '64KiB' } }, through: ['prlimit', `--as=${64 * 2 ** 30}`],
};

export const toToml = (sections) => Object.entries(sections).map(([section, values]) =>
  `[${section}]\n` + Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`).join('')).join('\n');

/// What the process uses at this moment.
export function usage(pid) {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    memory: Number(status.match(/^RssAnon:\s+(\d+) kB/m)[1]) * 1024,
    threads: Number(status.match(/^Threads:\s+(\d+)/m)[1]),
    descriptors: fs.readdirSync(`/proc/${pid}/fd`).length,
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_S,
  };
}

export class Arena {
  /// `config`: sections of the server's configuration; `documents` of 2 KB in the database `big`.
  static async start({ config = {}, documents = 2000, admin = false, through } = {}) {
    const arena = new Arena();
    const http = { ...shortTimeouts, ...config.http };
    const log = { access: false, ...config.log };
    arena.server = await Server.start({ config: toToml({ ...config, http, log }), admin, through });
    const { server } = arena;
    expectStatus(await server.put('/honest?partitioned=true'), 201);
    await server.fill('honest', Array.from({ length: 1000 }, (_, n) => ({ _id: `p${n % 50}:d${Math.floor(n / 50)}`, kind: `k${n % 4}`, text: 'x'.repeat(300) })));
    expectStatus(await server.post('/honest/_index', { index: { fields: ['kind'] }, ddoc: 'kind', partitioned: true }), 200);
    expectStatus(await server.post('/honest/_partition/p1/_find', { selector: { kind: 'k1' } }), 200);
    expectStatus(await server.put('/big'), 201);
    for (let n = 0; n < documents; n += 1000) {
      await server.fill('big', Array.from({ length: Math.min(1000, documents - n) }, (_, i) => ({ _id: `d${n + i}`, n: n + i, text: crypto.randomBytes(1425).toString('base64') })));
    }
    expectStatus(await server.put('/scratch'), 201);
    return arena;
  }

  get pid() {
    return this.server.process.pid;
  }

  usage = () => usage(this.pid);

  /// Starts the honest clients. They run until the arena is closed.
  async admitHonest() {
    const authorization = this.server.options.admin
      ? 'Basic ' + Buffer.from(`${credentials.name}:${credentials.password}`).toString('base64') : undefined;
    this.honest = fork(path.join(here, 'honest.mjs'), [JSON.stringify({ port: this.server.port, authorization })]);
    await sleep(500);
  }

  measure() {
    this.honest.send('measure');
  }

  report() {
    return new Promise((resolve) => {
      this.honest.once('message', resolve);
      this.honest.send('report');
    });
  }

  /// Runs one attack to its end and returns its result, with the peak of what the server used meanwhile, its share of
  /// the processors, and the latency of honest clients in it (when they were admitted).
  async attack(name, options) {
    const before = this.usage();
    const peak = { memory: 0, descriptors: 0, threads: 0 };
    const look = () => {
      const now = this.usage();
      for (const key of Object.keys(peak)) peak[key] = Math.max(peak[key], now[key]);
      return now;
    };
    const sampler = setInterval(look, 100);
    const process = fork(path.join(here, 'attacker.mjs'), [JSON.stringify({ name, options: { port: this.server.port, ...options } })]);
    const startedAt = Date.now();
    let result;
    let honest;
    let attackerCpu = 0;
    let begun = startedAt;
    const watchAttacker = setInterval(() => { try { attackerCpu = usage(process.pid).cpuSeconds; } catch { /* it has exited */ } }, 100);
    try {
      await new Promise((resolve, reject) => {
        process.on('message', async (message) => {
          if (message.ready) {
            begun = Date.now();
            if (this.honest) this.measure();
          }
          if (message.result) {
            result = message.result;
            if (this.honest) honest = await this.report();
            resolve();
          }
        });
        process.once('exit', (code) => { if (!result) reject(new Error(`the attack ${name} failed with ${code}`)); });
      });
    } finally {
      clearInterval(sampler);
      clearInterval(watchAttacker);
      process.kill('SIGKILL');
    }
    const after = look();
    const seconds = (Date.now() - startedAt) / 1000;
    return {
      ...result, peak, before, honest, seconds, inSwingSeconds: (Date.now() - begun) / 1000,
      cpuShare: (after.cpuSeconds - before.cpuSeconds) / seconds, attackerCpuShare: attackerCpu / seconds,
    };
  }

  /// Waits until descriptors and memory are back near where they were, at most `timeoutMs`. Returns what is in use then.
  async settled(before, { memorySlack = 48 * MiB, descriptorSlack = 12, timeoutMs = 15_000 } = {}) {
    const end = Date.now() + timeoutMs;
    for (;;) {
      const now = this.usage();
      if ((now.descriptors <= before.descriptors + descriptorSlack && now.memory <= before.memory + memorySlack) || Date.now() > end) return now;
      await sleep(100);
    }
  }

  /// The server must be as well as before: answers, and ends with 0 soon after SIGTERM. Returns the milliseconds to its end.
  async close() {
    expectStatus(await this.server.get('/_up'), 200);
    this.honest?.disconnect();
    await sleep(50);
    const begun = Date.now();
    await this.server.stop({ keepFolder: true });  // discard() removes it, which takes minutes of 100,000 databases
    return Date.now() - begun;
  }

  /// For tests that failed: nothing is left behind.
  async discard() {
    this.honest?.kill('SIGKILL');
    if (this.server.process.exitCode === null && this.server.process.signalCode === null) await this.server.kill();
    this.server.removeFolder();
  }
}
