// Microsoft's client encrypts properties before it sends an item. The server keeps the wrapped keys, the container's
// policy and the encrypted values, and sees nothing else.
import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { EncryptionAlgorithm, EncryptionKeyResolverName, EncryptionQueryBuilder, EncryptionType } from '@azure/cosmos';
import { cosmosClient } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

/// Wraps the keys of data by a key of its own, in place of a vault.
const keyEncryptionKeyResolver = {
  encryptionKeyResolverName: EncryptionKeyResolverName.AzureKeyVault,
  secret: Buffer.alloc(32, 7),
  vector: Buffer.alloc(16, 9),
  async wrapKey(id, algorithm, key) {
    const cipher = createCipheriv('aes-256-cbc', this.secret, this.vector);
    return Buffer.concat([cipher.update(key), cipher.final()]);
  },
  async unwrapKey(id, algorithm, wrapped) {
    const decipher = createDecipheriv('aes-256-cbc', this.secret, this.vector);
    return Buffer.concat([decipher.update(wrapped), decipher.final()]);
  },
};

describe('properties that the client encrypts', () => {
  const secrets = { ssn: '123-45-6789', salary: 5000.5, home: { city: 'Aachen', floors: [1, 2] } };
  let server, patients, stored;
  before(async () => {
    server = await Server.start();
    const client = cosmosClient(server, { clientEncryptionOptions: { keyEncryptionKeyResolver } });
    const { database } = await client.databases.create({ id: 'clinic' });
    const vault = { type: EncryptionKeyResolverName.AzureKeyVault, name: 'master', value: 'https://vault.example.com/keys/1/2', algorithm: 'RSA-OAEP' };
    await database.createClientEncryptionKey('key', EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256, vault);
    const path = (name, encryptionType) => ({
      path: name, clientEncryptionKeyId: 'key', encryptionType, encryptionAlgorithm: EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256,
    });
    const includedPaths = [path('/ssn', EncryptionType.DETERMINISTIC), path('/salary', EncryptionType.RANDOMIZED), path('/home', EncryptionType.RANDOMIZED)];
    ({ container: patients } = await database.containers.create({
      id: 'patients', partitionKey: { paths: ['/ward'] }, clientEncryptionPolicy: { includedPaths, policyFormatVersion: 2 },
    }));
    await patients.items.create({ id: 'ann', ward: 'a', ...secrets });
    // What the server has: the same container by a client without keys.
    stored = cosmosClient(server).database('clinic').container('patients');
  });
  after(() => server?.stop());

  test('are stored encrypted, and read as they were', async () => {
    const { resource: kept } = await stored.item('ann', 'a').read();
    for (const text of ['123-45', '5000', 'Aachen']) assert.ok(!JSON.stringify(kept).includes(text), text);
    const { resource: read } = await patients.item('ann', 'a').read();
    assert.deepEqual({ ssn: read.ssn, salary: read.salary, home: read.home }, secrets);
  });

  test('are found by equality if their encryption is deterministic', async () => {
    await patients.items.create({ id: 'bob', ward: 'b', ...secrets, ssn: '987-65-4321' });
    const query = new EncryptionQueryBuilder('SELECT * FROM c WHERE c.ssn = @ssn');
    query.addParameter('@ssn', secrets.ssn, '/ssn');
    const { resources } = await (await patients.items.getEncryptionQueryIterator(query)).fetchAll();
    assert.deepEqual(resources.map(({ id, ssn }) => [id, ssn]), [['ann', secrets.ssn]]);
  });

  test('are replaced, upserted, patched and listed', async () => {
    const item = { id: 'eve', ward: 'e', ...secrets };
    await patients.items.upsert(item);
    assert.equal((await patients.item('eve', 'e').replace({ ...item, salary: 1 })).resource.salary, 1);
    const patched = await patients.item('eve', 'e').patch([{ op: 'set', path: '/ssn', value: '000' }]);
    assert.equal(patched.resource.ssn, '000');
    assert.notEqual((await stored.item('eve', 'e').read()).resource.ssn, '000');
    const { resources } = await patients.items.readAll().fetchAll();
    assert.deepEqual(resources.filter(({ id }) => id === 'eve').map(({ ssn, salary, home }) => [ssn, salary, home]), [['000', 1, secrets.home]]);
  });
});
