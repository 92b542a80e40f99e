// Bodies in binary JSON, in which azure_data_cosmos, the client for Rust, sends items unless it is told otherwise, and the
// one for .NET if it is told so.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

const number = (bytes, write) => { const buffer = Buffer.alloc(bytes); write(buffer); return buffer; };
const tagged = (type, ...parts) => Buffer.concat([Buffer.from([type]), ...parts]);

/// As the client writes it: containers have a size and a count.
function encode(value) {
  if (value === null) return Buffer.from([0xd0]);
  if (typeof value === 'boolean') return Buffer.from([value ? 0xd2 : 0xd1]);
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return tagged(0xcc, number(8, (buffer) => buffer.writeDoubleLE(value)));
    if (value >= 0 && value < 32) return Buffer.from([value]);
    if (value >= 0 && value < 256) return Buffer.from([0xc8, value]);
    if (Math.abs(value) < 2 ** 15) return tagged(0xc9, number(2, (buffer) => buffer.writeInt16LE(value)));
    if (Math.abs(value) < 2 ** 31) return tagged(0xca, number(4, (buffer) => buffer.writeInt32LE(value)));
    return tagged(0xcb, number(8, (buffer) => buffer.writeBigInt64LE(BigInt(value))));
  }
  if (typeof value === 'string') {
    if (value === 'id') return Buffer.from([0x2c]);
    const text = Buffer.from(value);
    if (text.length < 64) return tagged(0x80 + text.length, text);
    if (text.length < 256) return tagged(0xc0, Buffer.from([text.length]), text);
    if (text.length < 65536) return tagged(0xc1, number(2, (buffer) => buffer.writeUInt16LE(text.length)), text);
    return tagged(0xc2, number(4, (buffer) => buffer.writeUInt32LE(text.length)), text);
  }
  const items = Array.isArray(value) ? value.map(encode) : Object.entries(value).flat().map(encode);
  const count = Array.isArray(value) ? value.length : Object.keys(value).length;
  const content = Buffer.concat(items);
  const width = content.length < 256 ? 1 : content.length < 65536 ? 2 : 4;
  const sizes = number(2 * width, (buffer) => { buffer.writeUIntLE(content.length, 0, width); buffer.writeUIntLE(count, width, width); });
  return tagged((Array.isArray(value) ? 0xe5 : 0xed) + { 1: 0, 2: 1, 4: 2 }[width], sizes, content);
}
const body = (value) => Buffer.concat([Buffer.from([0x80]), Buffer.isBuffer(value) ? value : encode(value)]);

describe('bodies in binary JSON', () => {
  let server, container;
  before(async () => {
    server = await Server.start();
    container = await newContainer(cosmosClient(server));
  });
  after(() => server?.stop());

  const send = (method, target, sent, headers = {}) => cosmosRequest(server, method, `/${container.url}/docs${target}`, {
    partition: ['x'], headers: { ...headers, 'x-ms-cosmos-supported-serialization-formats': 'CosmosBinary' }, body: sent });

  const item = { id: '1', pk: 'x', small: 7, byte: 200, short: -300, int: 100_000, long: 2 ** 40, real: -1.5, none: null, yes: true, no: false,
    text: 'é "quoted" 😀\n', long_text: 'x'.repeat(100), longer: 'y'.repeat(300), longest: 'z'.repeat(70_000), empty: '', list: [1, [2], {}], box: { id: [] } };

  test('an item of every kind of value is created, replaced and read', async () => {
    const created = await send('POST', '', body(item));
    assert.equal(created.status, 201, created.text);
    const { resource } = await container.item('1', 'x').read();
    for (const [name, value] of Object.entries(item)) assert.deepEqual(resource[name], value, name);
    const replaced = await send('PUT', '/1', body({ id: '1', pk: 'x', n: 1 }));
    assert.equal(replaced.status, 200, replaced.text);
    assert.equal((await container.item('1', 'x').read()).resource.n, 1);
  });

  test('a batch', async () => {
    const operations = [{ operationType: 'Create', resourceBody: { id: 'b', pk: 'x' } }];
    const reply = await send('POST', '', body(operations), { 'x-ms-cosmos-is-batch-request': 'True', 'x-ms-cosmos-batch-atomic': 'True' });
    assert.deepEqual([reply.status, reply.body[0]?.statusCode], [200, 201], reply.text);
  });

  test('other forms: sizes without a count, one value, and strings that refer to others', async () => {
    const id = Buffer.from([0x2c]);  // "id" of the dictionary
    const text = (value) => tagged(0x80 + value.length, Buffer.from(value));
    const members = Buffer.concat([id, text('forms'), text('pk'), text('x'),
      text('one'), Buffer.from([0xe1, 0x05]),                       // [5]
      text('box'), Buffer.concat([Buffer.from([0xe9]), id, Buffer.from([0xe0])]),  // {"id": []}
      text('again'), Buffer.from([0xc3, 4])]);                       // the string that begins at byte 4: "forms"
    const reply = await send('POST', '', body(tagged(0xea, Buffer.from([members.length]), members)));
    assert.equal(reply.status, 201, reply.text);
    const { resource } = await container.item('forms', 'x').read();
    assert.deepEqual([resource.one, resource.box, resource.again], [[5], { id: [] }, 'forms']);
  });

  test('strings that the client for .NET compresses, and arrays of numbers', async () => {
    const id = Buffer.from([0x2c]);
    const uuid = Buffer.from([0x75, 0xde, 0xe7, 0x83, 0xaa, 0x70, 0xe4, 0xa4, 0x47, 0xab, 0x0b, 0xa2, 0xf4, 0x14, 0x70, 0xb9, 0xaa]);
    const time = Buffer.from([0x7a, 0x13, 0x13, 0x62, 0x1c, 0xc7, 0x14, 0x30, 0xb4, 0x65, 0x2b, 0x04]);
    const vector = Buffer.from([0xf0, 0xcd, 0x02, 0x00, 0x00, 0xc0, 0x3f, 0x00, 0x00, 0x00, 0xbf]);
    const members = Buffer.concat([id, uuid, encode('pk'), encode('x'), encode('time'), time, encode('vector'), vector]);
    const reply = await send('POST', '', body(tagged(0xea, Buffer.from([members.length]), members)));
    assert.equal(reply.status, 201, reply.text);
    const { resource } = await container.item('ed7e38aa-074e-4a74-bab0-2a4f41079baa', 'x').read();
    assert.deepEqual([resource.time, resource.vector], ['2015-06-30 23:45:13', [1.5, -0.5]]);
  });

  test('damaged bodies are refused', async () => {
    const whole = body({ id: 'damaged', pk: 'x', list: [1, 'two', 3.5] });
    for (let size = 1; size < whole.length; ++size) {
      const reply = await send('POST', '', whole.subarray(0, size));
      assert.equal(reply.status, 400, `${size} bytes: ${reply.text}`);
    }
    const refused = async (sent, message) => {
      const reply = await send('POST', '', sent);
      assert.equal(reply.status, 400, reply.text);
      assert.match(reply.body.message, message);
    };
    await refused(Buffer.concat([whole, Buffer.from([0])]), /bytes follow/);
    await refused(body(Buffer.from([0xed, 0x03, 0x05, 0x2c, 0x81, 0x61])), /another number of values|ends within/);
    await refused(body(Buffer.from([0xc3, 0x09])), /outside/);
    await refused(body(Buffer.from([0xc3, 0x01])), /not supported/);  // a string that refers to itself
    await refused(body(tagged(0xcc, number(8, (buffer) => buffer.writeDoubleLE(Infinity)))), /infinite/);
    await refused(body(Buffer.alloc(5000, 0xe1)), /nested/);
    await refused(body(Buffer.from([0x75])), /compressed string/);
    await refused(body(Buffer.from([0x40])), /0x40, which is not supported. Send the body as text/);
    await refused(body(Buffer.from([0x81, 0xff])), /UTF-8/);
    const named = Buffer.concat([Buffer.from([0xc1, 0xe8, 0x03]), Buffer.alloc(1000, 0x61)]);
    const references = Buffer.alloc(2000, Buffer.from([0xc3, 0x09]));
    const content = Buffer.concat([named, references]);
    const sizes = number(4, (buffer) => buffer.writeUInt32LE(content.length));
    const large = await send('POST', '', body(tagged(0xe4, sizes, content)));  // 1,000 times the same kilobyte
    assert.ok([400, 413].includes(large.status), large.text);
    assert.equal((await container.items.readAll().fetchAll()).resources.filter(({ id }) => id === 'damaged').length, 0);
  });
});
