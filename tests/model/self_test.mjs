// The test of the model test: faults planted in the model or in what the server answers must be found, and shrunk to
// three calls or less.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Server } from '../integration/harness.mjs';
import { SETTINGS } from './settings.mjs';
import { Model } from './dialect/model.mjs';
import { EXPIRATIONS_EVERY } from './calls/generator.mjs';
import { Campaign } from './driver/campaign.mjs';
import { ask } from './driver/ask.mjs';
import { replay } from './driver/session.mjs';

const SEEDS = 50;

/// A server whose answers can be changed on their way.
class TamperedServer extends Server {
  tamper = (request, reply) => reply;
  async request(method, target, options) {
    return this.tamper({ method, target }, await super.request(method, target, options));
  }
}

/// A model that answers by `handle(call, answer)`, which may change what the right one says.
const modelWith = (handle) => () => {
  const model = new Model();
  const right = model.handle.bind(model);
  model.handle = (call, hints) => handle(call, right(call, hints), model);
  return model;
};

/// A model whose databases are changed by `change(database)` when they are made.
const modelOf = (change) => () => {
  const model = new Model();
  const create = model.createDatabase.bind(model);
  model.createDatabase = (...facts) => {
    const database = create(...facts);
    change(database);
    return database;
  };
  return model;
};

/// A model that undoes nothing of what `isOne(call)` did before it failed.
const modelThatKeeps = (isOne) => () => {
  let keeps = false;
  const model = modelOf((database) => {
    const restore = database.restore.bind(database);
    database.restore = (before) => keeps || restore(before);
  })();
  const right = model.handle.bind(model);
  model.handle = (call, hints) => {
    keeps = isOne(call);
    return right(call, hints);
  };
  return model;
};

describe('the model test', () => {
  let server;
  before(async () => {
    server = new TamperedServer({ config: SETTINGS });
    await server.launch();
  });
  after(async () => {
    await server.kill();
    server.removeFolder();
  });

  /// Runs sequences until one fails, and returns what failed. `every`: only these have what is looked for.
  async function findLong(campaign, every = 1) {
    for (let seed = every; seed <= SEEDS * every; seed += every) {
      const failure = await campaign.run(seed);
      if (failure) return failure;
    }
    return assert.fail(`the planted fault was not found in ${SEEDS} sequences`);
  }
  /// The same, short.
  async function find(options) {
    const campaign = new Campaign(server, options);
    return campaign.shorten(await findLong(campaign));
  }
  const expectShort = ({ calls, wrong }, count = 3) => {
    assert.ok(wrong, 'the short list of calls still fails');
    assert.ok(calls.length <= count, `in ${calls.length} calls: ${JSON.stringify(calls)}`);
  };

  test('finds a list without its last row', async () => {
    server.tamper = ({ target }, reply) => {
      if (target.includes('/_all_docs') && reply.body?.rows?.length > 1) reply.body.rows.pop();
      return reply;
    };
    expectShort(await find(), 4); // in a container, which needs two calls itself
  });

  test('finds an ETag of another revision', async () => {
    server.tamper = ({ method }, reply) => {
      if (method === 'GET' && reply.headers.etag?.startsWith('"1-')) reply.headers.etag = '"1-x"';
      return reply;
    };
    expectShort(await find(), 4);
  });

  test('finds a tombstone that is counted as a document', async () => {
    server.tamper = (request, reply) => reply;
    const createModel = modelWith((call, reply) => {
      if (reply.body?.doc_del_count > 0 && reply.body.doc_count !== undefined)
        reply.body.doc_count += reply.body.doc_del_count;
      return reply;
    });
    expectShort(await find({ createModel }), 4); // its creation, an edit, the deletion, a look
  });

  test('finds a model that takes an edit of an old revision', async () => {
    const createModel = modelWith((call, reply) => {
      if (call.method === 'PUT' && call.api === undefined && reply.status === 409) reply.status = 201;
      return reply;
    });
    expectShort(await find({ createModel }));
  });

  test('finds what a restart changes, and keeps the restart in the short list', async () => {
    const relaunch = server.relaunch.bind(server);
    let restarts = 0;
    server.relaunch = async () => {
      ++restarts;
      await relaunch();
      const { body: names } = await server.get('/_all_dbs');
      for (const name of names) await server.put(`/${encodeURIComponent(name)}/p:ghost`, {});
    };
    const found = await find();
    server.relaunch = relaunch;
    expectShort(found, 5);
    assert.ok(restarts > 0 && found.calls.some((call) => call.restart));
  });

  describe('at the Cosmos DB API', () => {
    const untouched = (request, reply) => reply;
    /// The server's replies of this API, changed on their way.
    const tampered = (tamper) => async (asked, call) => {
      const reply = await ask(asked, call);
      if (call.api === 'cosmos') tamper(call, reply);
      return reply;
    };
    before(() => (server.tamper = untouched));

    test('finds a change that a feed leaves out', async () => {
      const leaveOut = ({ headers }, { body }) => {
        if (headers['A-IM'] && body.Documents?.length > 1) body._count = body.Documents.splice(0, 1).length && body._count - 1;
      };
      expectShort(await find({ ask: tampered(leaveOut) }), 5);
    });

    test('finds rows out of order', async () => {
      const reverse = (call, { body }) => {
        if (call.body?.includes('ORDER BY')) body.Documents?.reverse();
      };
      expectShort(await find({ ask: tampered(reverse) }), 5);
    });

    test('finds a condition that does not hold and is taken', async () => {
      const createModel = modelWith((call, reply) => {
        if (call.api === 'cosmos' && reply.status === 412) reply.status = 200;
        return reply;
      });
      expectShort(await find({ createModel }), 4);
    });

    test('finds a batch that is half there', async () => {
      const isBatch = ({ headers }) => headers?.['x-ms-cosmos-is-batch-request'] !== undefined;
      expectShort(await find({ createModel: modelThatKeeps(isBatch) }), 5);
    });
  });

  describe('in containers of the Cosmos DB API', () => {
    before(() => (server.tamper = (request, reply) => reply));

    // Not made short: each try would wait until items expire.
    test('finds an expired item that is still seen', async () => {
      const createModel = modelOf((database) => (database.expire = () => {}));
      const { wrong } = await findLong(new Campaign(server, { createModel }), EXPIRATIONS_EVERY);
      assert.ok(wrong);
    });

    test('finds an expiration that a feed calls a deletion', async () => {
      const mark = async (asked, call) => {
        const reply = await ask(asked, call);
        for (const { metadata } of reply.body?.Documents ?? []) {
          if (metadata?.timeToLiveExpired) metadata.timeToLiveExpired = false;
        }
        return reply;
      };
      const { wrong } = await findLong(new Campaign(server, { ask: mark }), EXPIRATIONS_EVERY);
      assert.match(wrong, /body/);
    });

    test('finds a unique key that is not enforced', async () => {
      const createModel = modelWith((call, reply, model) => {
        for (const { container } of model.databases.values()) if (container) container.uniqueKeys = [];
        return reply;
      });
      expectShort(await find({ createModel }), 5);
    });

    test('finds a list that leaves out an item below the beginning of a key', async () => {
      const leaveOut = async (asked, call) => {
        const reply = await ask(asked, call);
        const key = call.headers?.['x-ms-documentdb-partitionkey'];
        const isList = call.method === 'GET' && call.target.endsWith('/colls/extra/docs') && !call.headers['A-IM'];
        if (isList && key && reply.body.Documents?.length > 0) reply.body.Documents.pop();
        return reply;
      };
      expectShort(await find({ ask: leaveOut }), 4);
    });

    test('finds a procedure that is half rolled back', async () => {
      const isExecution = ({ method, target }) => method === 'POST' && target.includes('/sprocs/');
      expectShort(await find({ createModel: modelThatKeeps(isExecution) }), 6);
    });

    test('finds a write that stays though a trigger failed', async () => {
      const isTriggered = ({ headers }) => headers?.['x-ms-documentdb-post-trigger-include'] !== undefined;
      expectShort(await find({ createModel: modelThatKeeps(isTriggered) }), 8);
    });
  });

  test('says nothing when nothing is planted, and replays alike', async () => {
    const campaign = new Campaign(server);
    assert.equal(await campaign.run(1), undefined);
    assert.equal(
      await replay(server, [
        { n: 1, method: 'PUT', target: '/«a»' },
        { n: 2, method: 'GET', target: '/«a»' },
      ]),
      undefined,
    );
  });
});
