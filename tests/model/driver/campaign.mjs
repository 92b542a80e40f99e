// Runs the random sequence of a seed, and makes what fails short.
import { Generator } from '../calls/generator.mjs';
import { replay, Session } from './session.mjs';
import { shrink } from './shrink.mjs';

export class Campaign {
  figures = { sequences: 0, calls: 0, restarts: 0, failures: 0 };

  /// `createModel`: what to compare the server with; default: the model of the dialect.
  /// `ask`: how to ask the server; default: by its ports.
  constructor(server, { calls = 60, createModel, ask } = {}) {
    this.server = server;
    this.calls = calls;
    this.options = { createModel, ask };
  }

  /// Returns {calls, call, wrong, written} when a reply differs, else undefined. At the end all that clients can see is
  /// compared.
  async run(seed) {
    const session = new Session(this.server, this.options);
    const generator = new Generator(seed, session);
    const calls = [];
    const step = async (call) => {
      calls.push(call);
      ++this.figures[call.restart ? 'restarts' : 'calls'];
      const wrong = await session.step(call);
      if (wrong) throw new Difference({ calls, call, wrong, written: session.written });
    };
    try {
      for (const call of generator.beginning()) await step(call);
      for (let i = 0; i < this.calls; ++i) await step(generator.next());
      for (const call of generator.audit(session)) await step(call);
      return undefined;
    } catch (error) {
      if (!(error instanceof Difference)) throw error;
      ++this.figures.failures;
      return error.failure;
    } finally {
      ++this.figures.sequences;
      await session.close();
    }
  }

  /// The shortest list of calls found that fails alike, and what is wrong then.
  async shorten(failure) {
    const fails = (candidate, written) => replay(this.server, candidate, { ...this.options, written });
    const calls = await shrink(failure.calls, failure, fails);
    return { calls, wrong: (await fails(calls))?.wrong };
  }
}

class Difference extends Error {
  constructor(failure) {
    super(failure.wrong);
    this.failure = failure;
  }
}
