// What clients should not send: the server answers with an error that says why, and stays well.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { expectError, expectStatus, patience, Server } from '../harness.mjs';

describe('bad input', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
    await server.put(`/${db}/doc`, { a: 1 });
  });
  after(() => server?.stop());
  afterEach(async () => expectStatus(await server.get(`/${db}/doc`), 200));
  const put = (body) => server.put(`/${db}/bad`, body);

  for (const body of ['{', '{"a":', '{"a" 1}', '{"a":1,}', "{'a':1}", '{a:1}', '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":1.}', '{"a":NaN}',
    '{"a":Infinity}', '{"a":tru}', '{"a":"\t"}', '{"a":"\\x"}', '{"a":"\\u12"}', '{"a":"unended}', '{"a":1}{"b":2}', '{"a":1} trailing', ',']) {
    test(`the JSON ${JSON.stringify(body)} is refused`, async () => {
      expectError(await put(body), 400, 'bad_request', /JSON/i);
    });
  }

  test('an empty body is said to be empty', async () => {
    const reason = 'invalid UTF-8 JSON at byte 0: the text is empty';
    for (const body of ['', undefined]) expectError(await put(body), 400, 'bad_request', reason);
    for (const call of ['', '/_bulk_docs', '/_find']) {
      expectError(await server.post(`/${db}${call}`, '', { headers: { 'Content-Type': 'application/json' } }), 400, 'bad_request', reason);
    }
  });

  test('bytes that are not UTF-8 are refused', async () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xe2, 0x28, 0xa1], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]) {
      const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expectError(await put(body), 400, 'bad_request', /JSON/i);
    }
  });

  test('lone surrogates are refused, or come back as valid JSON', async () => {
    for (const escape of ['\\ud800', '\\udc00', '\\udc00\\ud800', '\\ud800x']) {
      const reply = await server.put(`/${db}/surrogate`, `{"a":"${escape}"}`);
      if (reply.status === 201) {
        const read = await server.get(`/${db}/surrogate`);
        assert.doesNotThrow(() => new TextDecoder('utf-8', { fatal: true }).decode(read.raw));
        JSON.parse(read.text);
        await server.delete(`/${db}/surrogate?rev=${reply.body.rev}`);
      } else {
        expectError(reply, 400, 'bad_request');
      }
      const asName = await server.put(`/${db}/surrogate-name`, `{"${escape}":1}`);
      assert.ok([201, 400, 409].includes(asName.status));
      const asId = await server.post(`/${db}`, `{"_id":"x${escape}"}`);
      assert.ok([400, 201, 409].includes(asId.status), asId.text);
      if (asId.status === 201) {
        const listed = await server.get(`/${db}/_all_docs`);
        assert.doesNotThrow(() => new TextDecoder('utf-8', { fatal: true }).decode(listed.raw));
      }
    }
  });

  test('escapes and the null character come back', async () => {
    const { rev } = expectStatus(await server.put(`/${db}/escapes`, '{"a":"\\u0000\\u001f\\"\\\\\\/\\b\\f\\n\\r\\t\\ud83d\\ude00","\\u0061b":1}'), 201);
    assert.ok(rev);
    const doc = (await server.get(`/${db}/escapes`)).body;
    assert.equal(doc.a, '\u0000\u001f"\\/\b\f\n\r\t😀');
    assert.equal(doc.ab, 1);
  });

  test('deep nesting is taken to a limit', async () => {
    const nest = (depth) => '{"a":' + '['.repeat(depth) + ']'.repeat(depth) + '}';
    expectStatus(await server.put(`/${db}/deep100`, nest(100)), 201);
    for (const depth of [2000, 100_000, 1_000_000]) {
      const reply = await server.put(`/${db}/deep${depth}`, nest(depth));
      assert.ok([201, 400].includes(reply.status), `${depth}: ${reply.status}`);
      if (reply.status === 201) expectStatus(await server.get(`/${db}/deep${depth}`), 200);
    }
  });

  test('a field that stands twice does not break the document', async () => {
    const reply = await server.put(`/${db}/twice`, '{"a":1,"a":2}');
    assert.ok([201, 400].includes(reply.status));
    if (reply.status === 201) assert.ok([1, 2].includes((await server.get(`/${db}/twice`)).body.a));
  });

  test('_id, _rev and _deleted of the wrong kind are refused', async () => {
    for (const body of [{ _id: 5 }, { _id: null }, { _id: ['x'] }]) expectError(await server.post(`/${db}`, body), 400, 'illegal_docid');
    for (const _rev of [5, null, 'abc', '1', '1-', '-a', '0x1-a', '1-zz!', '-1-a', '99999999999999999999-a', {}, []]) {
      const reply = await server.put(`/${db}/wrong-rev`, { _rev });
      assert.ok([400, 409].includes(reply.status), `${JSON.stringify(_rev)}: ${reply.status} ${reply.text}`);
    }
    for (const _deleted of ['yes', 1, {}]) {
      const reply = await server.put(`/${db}/wrong-deleted`, { _deleted });
      assert.ok([400, 201, 200].includes(reply.status), reply.text);
    }
    expectStatus(await server.put(`/${db}/wrong-revisions`, { _revisions: 'x' }), 400);
    expectStatus(await server.put(`/${db}/wrong-revisions`, { _revisions: { start: 'x', ids: [] } }), 400);
    expectStatus(await server.put(`/${db}/wrong-revisions`, { _revisions: { start: 1, ids: 'x' } }), 400);
    expectStatus(await server.put(`/${db}/wrong-revisions`, { _revisions: { start: 1, ids: [1] } }), 400);
    for (const id of ['a\r\nSet-Cookie: b=c', 'a\u007f', 'a"b', 'a\\b', 'a b', 'é']) {
      const path = `/${db}/wrong-revisions?new_edits=false`;
      expectError(await server.put(path, { _revisions: { start: 1, ids: [id] } }), 400, 'doc_validation', "RevId isn't a valid hexadecimal");
    }
  });

  for (const path of ['/%', '/%4', '/%zz', '/db/%', '/db/doc%2', '/db/%c3%28', '/db/%ff%fe', '/db/%00', '/db/doc?rev=%', '/db/_all_docs?startkey=%zz']) {
    test(`the path ${path} is refused`, async () => {
      const reply = await server.get(path.replace('/db', `/${db}`));
      assert.ok([400, 404].includes(reply.status), `${reply.status} ${reply.text}`);
      assert.equal(typeof reply.body.error, 'string');
    });
  }

  test('paths that walk up, double slashes and odd segments lead nowhere', async () => {
    for (const path of ['//', '///', `/${db}//doc`, '/../../etc/passwd', `/${db}/../${db}/doc`, '/..%2f..%2fetc', `/${db}/_design`, `/${db}/_local`,
      `/${db}/_local/`, `/${db}/_partition`, '/_node', '/_node/', '/_node/_local/_config/nothing/here', `/${db}/_index/x`]) {
      const reply = await server.get(path);
      assert.ok((reply.status >= 200 && reply.status < 500) || reply.status === 501, `${path}: ${reply.status}`);
      assert.ok(!reply.text.includes('root:'), path);
    }
  });

  test('query parameters that are wrong are told', async () => {
    for (const query of ['limit=abc', 'limit=1.5', 'limit=-1', 'skip=x', 'descending=1', 'include_docs=2', 'inclusive_end=x', 'limit=99999999999999999999']) {
      expectStatus(await server.get(`/${db}/_all_docs?${query}`), 400);
    }
    for (const query of ['limit=x', 'since=1-2-3-!', 'timeout=x', 'heartbeat=x', 'heartbeat=0', 'feed=x', 'style=x', 'descending=x', 'seq_interval=x']) {
      const reply = await server.get(`/${db}/_changes?${query}`, { timeoutMs: 5000 });
      assert.ok([400, 200].includes(reply.status), `${query}: ${reply.status}`);
    }
  });

  test('an enormous skip or limit costs nothing', async () => {
    const begin = Date.now();
    assert.deepEqual((await server.get(`/${db}/_all_docs?skip=2000000000`)).body.rows, []);
    expectStatus(await server.get(`/${db}/_all_docs?limit=2000000000`), 200);
    expectStatus(await server.post(`/${db}/_find`, { selector: {}, limit: 2000000000, skip: 2000000000 }), 200);
    assert.ok(Date.now() - begin < 3000 * patience);
  });

  test('bodies of the wrong type are refused by every call', async () => {
    const calls = ['_bulk_docs', '_bulk_get', '_all_docs', '_all_docs/queries', '_find', '_explain', '_index', '_index/_bulk_delete',
      '_revs_diff', '_missing_revs', '_purge', '_changes', '_design_docs', '_local_docs'];
    for (const call of calls) {
      for (const body of ['[]', '"x"', '5', 'null', '{', 'true', '{"docs":5,"keys":5,"queries":5,"selector":5,"index":5,"docids":5}']) {
        const reply = await server.post(`/${db}/${call}`, body, { timeoutMs: 5000 });
        assert.ok(reply.status < 500, `${call} ${body}: ${reply.status} ${reply.text}`);
        if (body !== 'null' && !(body.startsWith('{"docs"') && ['_revs_diff', '_missing_revs', '_purge', '_changes'].includes(call))) {
          assert.ok(reply.status >= 400, `${call} ${body}: ${reply.status} ${reply.text.slice(0, 200)}`);
        }
      }
    }
  });

  test('_revs_diff and _purge with odd revisions', async () => {
    for (const body of [{ doc: 'x' }, { doc: [5] }, { doc: ['nonsense'] }, { doc: { a: 1 } }, { '': ['1-a'] }, { doc: null }]) {
      for (const call of ['_revs_diff', '_missing_revs', '_purge']) {
        const reply = await server.post(`/${db}/${call}`, body);
        assert.ok(reply.status < 500, `${call} ${JSON.stringify(body)}: ${reply.status} ${reply.text}`);
      }
    }
  });

  test('a million small values in one selector, key list or document', async () => {
    const many = Array.from({ length: 100_000 }, (_, n) => `k${n}`);
    const listed = await server.post(`/${db}/_all_docs`, { keys: many });
    assert.ok([200, 400, 413].includes(listed.status));
    const found = await server.post(`/${db}/_find`, { selector: { a: { $in: many } } });
    assert.ok([200, 400, 413].includes(found.status), found.text.slice(0, 200));
    const wide = await server.put(`/${db}/wide`, Object.fromEntries(many.map((key) => [key, 1])));
    expectStatus(wide, 201);
  });

  test('a content type that is not JSON is refused where JSON is needed', async () => {
    for (const call of ['', '/_bulk_docs', '/_find', '/_index', '/_all_docs', '/_revs_diff']) {
      expectError(await server.post(`/${db}${call}`, '{}', { headers: { 'Content-Type': 'text/plain' } }), 415, 'bad_content_type',
        "Content-Type must be application/json; with curl: -H 'Content-Type: application/json'");
    }
  });

  test('random bytes and random requests do no harm', async () => {
    let state = 12345;
    const random = (bound) => (state = (state * 1103515245 + 12345) % 2147483648) % bound;
    const pieces = ['_all_docs', '_find', '_changes', '%2F', '..', '_design', '_local', '_partition', 'x', '?', '&', '=', 'keys=[', '"', '{', '}', '[', ']', '\\', 'since=', 'rev=', '1-a', '%F0%9F', '_index', '_bulk_get', '/', '/', '/'];
    for (let n = 0; n < 400; ++n) {
      let path = `/${db}/`;
      for (let i = random(8); i >= 0; --i) path += pieces[random(pieces.length)];
      path = path.replace(/[^!-~]/g, '').replace(/[{}[\]"\\]/g, (c) => encodeURIComponent(c));
      const method = ['GET', 'PUT', 'POST', 'DELETE', 'HEAD', 'COPY', 'OPTIONS', 'PATCH'][random(8)];
      if (/since=now|feed=/.test(path)) continue;
      const body = ['PUT', 'POST'].includes(method) ? Buffer.from(Array.from({ length: random(60) }, () => random(256))) : undefined;
      if (method === 'DELETE' && path === `/${db}/`) continue;
      const reply = await server.request(method, path, { body, timeoutMs: 10_000 });
      assert.ok(reply.status < 500 || reply.status === 501, `${method} ${path}: ${reply.status} ${reply.text}`);
    }
  });
});
