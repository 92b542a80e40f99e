// connect-couchdb keeps the sessions of Express applications in a database.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import connectCouchdb from 'connect-couchdb';
import session from 'express-session';
import { credentials, Server } from '../harness.mjs';

const Store = connectCouchdb(session);

/// What a call of the store gives its callback.
const call = (store, method, ...args) => new Promise((resolve, reject) => {
  store[method](...args, (error, value) => (error ? reject(Object.assign(new Error(String(error.error ?? error)), error)) : resolve(value)));
});

describe('connect-couchdb', () => {
  let server, store;
  before(async () => {
    server = await Server.start({ admin: true });
    store = new Store({
      host: '127.0.0.1', port: server.port, name: 'sessions', username: credentials.name, password: credentials.password,
      reapInterval: -1, compactInterval: -1, setThrottle: 0,
    });
    await call(store, 'setup', { revs_limit: '1' });
  });
  after(async () => {
    store?.clearInterval?.();
    await server?.stop();
  });

  const cookie = (maxAge) => ({ cookie: { maxAge, originalMaxAge: maxAge }, name: 'Ann' });

  test('keeps, changes and destroys a session', async () => {
    await call(store, 'set', 'one', cookie(60_000));
    assert.equal((await call(store, 'get', 'one')).name, 'Ann');
    await call(store, 'set', 'one', { ...cookie(60_000), name: 'Bob' });
    assert.equal((await call(store, 'get', 'one')).name, 'Bob');
    await call(store, 'destroy', 'one');
    await assert.rejects(call(store, 'get', 'one'), { code: 'ENOENT' });
  });

  test('counts sessions, and removes the expired ones', async () => {
    await call(store, 'clear');
    await call(store, 'set', 'kept', cookie(60_000));
    await call(store, 'set', 'expired', cookie(-1000));
    assert.equal(await call(store, 'length'), 1);
    await call(store, 'reap');
    await assert.rejects(call(store, 'get', 'expired'), { code: 'ENOENT' });
    assert.equal((await call(store, 'get', 'kept')).name, 'Ann');
  });
});
