// HybridRow as the .NET client of Azure Cosmos DB writes and reads it, derived from the source of its writer
// (microsoft/HybridRow: RowWriter, RowBuffer, LayoutCompiler, RecordIOFormatter; schemas: HybridRowBatchSchemas.json of
// Azure/azure-cosmos-dotnet-v3):
//
// - A row begins with the version 0x81 and the id of its schema (RowBuffer.WriteHeader), little endian as all numbers.
// - LayoutCompiler gives each nullable fixed and each variable column a bit, in the order of the schema. Columns are
//   nullable unless the schema says otherwise, so an operation has seven bits, in one byte.
// - Fixed columns follow, four bytes for an int32, zero if they are not written. Variable columns follow in the order of the
//   schema with their length as a varint (RowBuffer.WriteVariableString).
// - Sparse columns follow in the order in which they are written: LayoutCode, the token of the path (StringTokenizer: 0 is
//   the empty path, then the columns of the schema count from 1), the value.
// - A body of a batch is a segment header and for each operation a record header, with length and CRC-32, and the row
//   (RecordIOStream.WriteRecordIOAsync).
import zlib from 'node:zlib';

const operationTypes = { Create: 0, Patch: 1, Read: 2, Delete: 4, Replace: 5, Upsert: 20 };
const codes = { false: 2, true: 3, int32: 7, uint32: 11, float64: 16, utf8: 20, binary: 21 };

const operation = {
  id: 2145473648,
  columns: [
    ['operationType', 'int32', 'fixed'], ['resourceType', 'int32', 'fixed'],
    ['partitionKey', 'utf8', 'variable'], ['effectivePartitionKey', 'binary', 'variable'], ['id', 'utf8', 'variable'],
    ['binaryId', 'binary', 'variable'], ['resourceBody', 'binary', 'variable'],
    ['indexingDirective', 'utf8', 'sparse'], ['ifMatch', 'utf8', 'sparse'], ['ifNoneMatch', 'utf8', 'sparse'],
    ['timeToLiveInSeconds', 'int32', 'sparse'], ['minimalReturnPreference', 'bool', 'sparse'],
  ],
};
const result = {
  id: 2145473649,
  columns: [
    ['statusCode', 'int32', 'fixed'], ['subStatusCode', 'int32', 'fixed'],
    ['eTag', 'utf8', 'variable'], ['resourceBody', 'binary', 'variable'],
    ['retryAfterMilliseconds', 'uint32', 'sparse'], ['requestCharge', 'float64', 'sparse'],
  ],
};

function varint(value) {
  const bytes = [];
  for (; value >= 0x80; value = Math.floor(value / 128)) bytes.push((value % 128) | 0x80);
  return Buffer.from([...bytes, value]);
}

function i32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value | 0);
  return bytes;
}

const sized = (value) => Buffer.concat([varint(Buffer.byteLength(value)), Buffer.from(value)]);

function valueOf(type, value) {
  if (type === 'bool') return Buffer.alloc(0);
  return type === 'int32' ? i32(value) : sized(value);
}

function row(schema, values) {
  const placed = (storage) => schema.columns.map(([name, type, where], index) => ({ name, type, where, index }))
    .filter((column) => column.where === storage);
  const has = ({ name }) => values[name] !== undefined;
  const bits = [...placed('fixed'), ...placed('variable')].reduce((mask, column, bit) => mask | (has(column) ? 1 << bit : 0), 0);
  return Buffer.concat([
    Buffer.from([0x81]), i32(schema.id), Buffer.from([bits]),
    ...placed('fixed').map(({ name }) => i32(values[name] ?? 0)),
    ...placed('variable').filter(has).map(({ name, type }) => valueOf(type, values[name])),
    ...placed('sparse').filter(has).map(({ name, type, index }) => Buffer.concat([
      Buffer.from([type === 'bool' ? codes[values[name]] : codes[type]]), varint(index + 1), valueOf(type, values[name])])),
  ]);
}

export const segment = Buffer.concat([Buffer.from([0x81]), i32(2147473648), Buffer.from([1]), i32(10)]);

export function record(body) {
  return Buffer.concat([Buffer.from([0x81]), i32(2147473649), i32(body.length), i32(zlib.crc32(body)), body]);
}

/// The row of an operation, as ItemBatchOperation.WriteOperation makes it.
export function operationRow({ operationType, resourceBody, ...rest }) {
  return row(operation, { operationType: operationTypes[operationType] ?? operationType, resourceType: 2, ...rest,
    resourceBody: typeof resourceBody === 'object' ? JSON.stringify(resourceBody) : resourceBody });
}

/// A body of a batch, as ServerBatchRequest makes it.
export function batchBody(operations) {
  return Buffer.concat([segment, ...operations.map((one) => record(operationRow(one)))]);
}

/// The results in a reply, as TransactionalBatchResponse reads them; throws where it would fail.
export function batchResults(bytes) {
  const results = [];
  let at = 0;
  const header = (schema) => bytes[at] === 0x81 && bytes.readInt32LE(at + 1) === schema;
  if (!header(2147473648) || bytes[at + 5] !== 1) throw new Error('no segment begins');
  at += bytes.readInt32LE(at + 6);
  while (at < bytes.length) {
    if (!header(2147473649)) throw new Error(`no record begins at ${at}`);
    const length = bytes.readInt32LE(at + 5);
    const body = bytes.subarray(at + 13, at + 13 + length);
    if (body.length !== length || zlib.crc32(body) !== bytes.readUInt32LE(at + 9)) throw new Error(`a record is corrupt at ${at}`);
    results.push(readResult(body));
    at += 13 + length;
  }
  return results;
}

function readResult(bytes) {
  if (bytes[0] !== 0x81 || bytes.readInt32LE(1) !== result.id) throw new Error('no result begins');
  const values = {};
  const bits = bytes[5];
  let at = 6;
  const readVarint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      value += (bytes[at] & 0x7f) * scale;
      if (bytes[at++] < 0x80) return value;
    }
  };
  const readSized = () => {
    const size = readVarint();
    at += size;
    return bytes.subarray(at - size, at).toString('utf8');
  };
  result.columns.forEach(([name, , storage], index) => {
    if (storage === 'fixed') {
      if (bits & 1 << index) values[name] = bytes.readInt32LE(at);
      at += 4;
    }
    if (storage === 'variable' && bits & 1 << index) values[name] = readSized();
  });
  while (at < bytes.length) {
    const code = bytes[at++];
    const [name, type] = result.columns[readVarint() - 1];
    if (code !== codes[type]) throw new Error(`${name} has the type ${code}`);
    values[name] = type === 'float64' ? bytes.readDoubleLE(at) : bytes.readUInt32LE(at);
    at += type === 'float64' ? 8 : 4;
  }
  return values;
}
