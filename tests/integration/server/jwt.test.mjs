import assert from 'node:assert/strict';
import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { expectStatus, Server } from '../harness.mjs';

const secret = 'a secret of more than thirty-two bytes!';
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key) => key.export({ type: 'spki', format: 'pem' });
const inSeconds = (seconds) => Math.floor(Date.now() / 1000) + seconds;
const encode = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function sign(algorithm, claims, { kid = 'one', key, header = {} } = {}) {
  const input = `${encode({ typ: 'JWT', alg: algorithm, kid, ...header })}.${encode(claims)}`;
  let signature;
  if (algorithm === 'HS512') signature = createHmac('sha512', key ?? secret).update(input).digest('base64url');
  else if (algorithm === 'HS256') signature = createHmac('sha256', key ?? secret).update(input).digest('base64url');
  else if (algorithm === 'RS256') signature = createSign('sha256').update(input).sign(key ?? rsa.privateKey).toString('base64url');
  else if (algorithm === 'ES256') signature = createSign('sha256').update(input).sign({ key: key ?? ec.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  else signature = '';
  return `${input}.${signature}`;
}

describe('JSON Web Tokens', () => {
  let server;
  before(async () => {
    server = await Server.start({
      admin: true,
      config: `[auth]
jwt_required_claims = ["exp"]
pbkdf2_iterations = 1000
[jwt_keys]
"hs256:one" = "${Buffer.from(secret).toString('base64')}"
"hs512:one" = "${Buffer.from(secret).toString('base64')}"
"rs256:one" = """${pem(rsa.publicKey)}"""
"es256:one" = """${pem(ec.publicKey)}"""
`,
    });
  });
  after(() => server?.stop());
  const session = (token) => server.get('/_session', { auth: false, headers: { Authorization: `Bearer ${token}` } });
  const claims = (more = {}) => ({ sub: 'jane', exp: inSeconds(600), ...more });

  for (const algorithm of ['HS256', 'HS512', 'RS256', 'ES256']) {
    test(`${algorithm} tells who it is`, async () => {
      const body = expectStatus(await session(sign(algorithm, claims())), 200);
      assert.equal(body.userCtx.name, 'jane');
      assert.equal(body.info.authenticated, 'jwt');
    });
  }

  test('roles come from the token', async () => {
    const body = expectStatus(await session(sign('HS256', claims({ '_couchdb.roles': ['staff', '_admin'] }))), 200);
    assert.deepEqual(body.userCtx.roles, ['staff', '_admin']);
    const token = sign('HS256', claims({ '_couchdb.roles': ['_admin'] }));
    expectStatus(await server.get('/_all_dbs', { auth: false, headers: { Authorization: `Bearer ${token}` } }), 200);
    const plain = sign('HS256', claims());
    assert.ok([401, 403].includes((await server.get('/_all_dbs', { auth: false, headers: { Authorization: `Bearer ${plain}` } })).status));
  });

  const bad = {
    'a wrong signature': () => sign('HS256', claims(), { key: 'another secret' }),
    'a key it does not know': () => sign('HS256', claims(), { kid: 'two' }),
    'another RSA key': () => sign('RS256', claims(), { key: other.privateKey }),
    'no algorithm': () => sign('none', claims()),
    'the RSA public key as an HMAC secret': () => sign('HS256', claims(), { key: pem(rsa.publicKey) }),
    'an expired token': () => sign('HS256', claims({ exp: inSeconds(-10) })),
    'a token not yet valid': () => sign('HS256', claims({ nbf: inSeconds(600) })),
    'a missing required claim': () => sign('HS256', { sub: 'jane' }),
    'no subject': () => sign('HS256', { exp: inSeconds(600) }),
    'an unknown algorithm': () => sign('HS256', claims()).replace(/^[^.]+/, encode({ alg: 'HS999', typ: 'JWT', kid: 'one' })),
    'not a token': () => 'garbage',
    'dots alone': () => '..',
    'claims that are no JSON': () => { const [h, , s] = sign('HS256', claims()).split('.'); return `${h}.${encode('nonsense')}.${s}`; },
  };
  for (const [name, make] of Object.entries(bad)) {
    test(`${name} is refused`, async () => {
      const reply = await session(make());
      assert.ok([400, 401].includes(reply.status), `${reply.status}: ${reply.text}`);
    });
  }
});
