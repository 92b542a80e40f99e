// One container for each candidate of a partition key, with the same telemetry; what the server tells of how it spreads.
import { forEachAtOnce } from '../progress.mjs';

const REQUESTS_AT_ONCE = 16;
const ITEMS_PER_CALL = 2000; // the client sends them by 100, and takes its time for the last
const BYTES_PER_SECOND = 1024;
const daysOf = { year: 365, month: 30.5 };
const LOGICAL_PARTITION_BYTES_MAX = 20 * 2 ** 30; // Azure Cosmos DB service limits

/// Name, paths of the key, and the key of a document.
export const candidates = [
  { name: 'vehicle model', id: 'by-model', paths: ['/model'], keyOf: ({ model }) => model },
  { name: 'current month', id: 'by-month', paths: ['/month'], monthly: true, keyOf: ({ month }) => month },
  { name: 'device id', id: 'by-device', paths: ['/deviceId'], keyOf: ({ deviceId }) => deviceId },
  { name: 'device id + month', id: 'by-device-and-month', paths: ['/key'], monthly: true, keyOf: ({ key }) => key },
  { name: 'device id, then month', id: 'by-hierarchy', paths: ['/deviceId', '/month'], monthly: true, keyOf: ({ deviceId, month }) => [deviceId, month] },
];

/// Loads the fleet's telemetry into a new container with that key, and measures.
///
/// Returns { name, logicalPartitions, physical: [{ id, documents, bytes, charge }], storageShare, chargeShare,
/// usableThroughput, largestBytes, period, fillsInDays }: `charge` is what the current month's writes cost in each
/// physical partition, the shares are those of the physical partition that has most; `largestBytes` is what one value of
/// the key gathers in a `period` (year or month) when a car sends a document each second that it drives.
export async function measureCandidate(database, candidate, fleet, { throughput, bar } = {}) {
  const partitionKey = { paths: candidate.paths, version: 2, ...(candidate.paths.length > 1 ? { kind: 'MultiHash' } : {}) };
  const { container } = await database.containers.createIfNotExists({ id: candidate.id, partitionKey }, { offerThroughput: throughput });

  await forEachAtOnce(chunks(fleet.telemetry(fleet.months.slice(0, -1)), ITEMS_PER_CALL), 1, async (items) => {
    const results = await container.items.executeBulkOperations(
      items.map((resourceBody) => ({ operationType: 'Upsert', resourceBody, partitionKey: candidate.keyOf(resourceBody) })));
    const failed = results.find(({ response, error }) => error || response.statusCode >= 300);
    if (failed) throw new Error(`a write of telemetry failed: ${failed.error?.message ?? failed.response.statusCode}`);
    bar?.add(items.length);
  });

  // Now: what is written goes where the key says, and is paid there.
  const charges = new Map();
  await forEachAtOnce(fleet.telemetry([fleet.currentMonth]), REQUESTS_AT_ONCE, async (item) => {
    const response = await container.items.upsert(item);
    const range = response.headers['x-ms-session-token'].split(':')[0];
    charges.set(range, (charges.get(range) ?? 0) + response.requestCharge);
    bar?.add();
  });

  const { resource } = await container.read({ initialHeaders: { 'x-ms-documentdb-populatepartitionstatistics': 'true' } });
  const physical = resource.statistics.map(({ id, sizeInKB, documentCount }) =>
    ({ id, documents: documentCount, bytes: sizeInKB * 1024, charge: charges.get(id) ?? 0 }));

  const perKey = new Map();
  for (const item of fleet.telemetry(fleet.months)) {
    const key = JSON.stringify(candidate.keyOf(item));
    perKey.set(key, (perKey.get(key) ?? 0) + 1);
  }
  // A value with the month in it grows for a month, the others for ever.
  const largestBytes = Math.max(...perKey.values()) * fleet.secondsPerDocument * BYTES_PER_SECOND;
  const period = candidate.monthly ? 'month' : 'year';
  const fillsInDays = (LOGICAL_PARTITION_BYTES_MAX / largestBytes) * daysOf[period];
  const chargeShare = shareOfLargest(physical.map(({ charge }) => charge));
  return {
    name: candidate.name,
    logicalPartitions: perKey.size,
    physical,
    storageShare: shareOfLargest(physical.map(({ bytes }) => bytes)),
    chargeShare,
    // Each physical partition has an even part of what was paid for; the fullest one is used up first.
    usableThroughput: Math.min(1, 1 / physical.length / chargeShare) * throughput,
    largestBytes,
    period,
    fillsInDays: candidate.monthly && fillsInDays > daysOf.month ? Infinity : fillsInDays,
  };
}

export function table(measured, throughput) {
  const percent = (share) => `${(share * 100).toFixed(0)} %`;
  const spread = (values) => {
    const sum = values.reduce((a, b) => a + b, 0);
    return values.map((value) => percent(value / sum)).join(' ');
  };
  const lines = [
    `| partition key | values | storage by physical partition | throughput now | usable of ${throughput} RU/s | largest value | has 20 GB |`,
    '|---|---:|---|---|---:|---:|---|',
  ];
  for (const each of measured) {
    lines.push(
      `| ${each.name} | ${each.logicalPartitions} | ${spread(each.physical.map(({ bytes }) => bytes))} | ` +
        `${spread(each.physical.map(({ charge }) => charge))} | ${Math.round(each.usableThroughput)} | ` +
        `${(each.largestBytes / 2 ** 30).toFixed(2)} GB/${each.period} | ${fullAfter(each.fillsInDays)} |`);
  }
  return lines.join('\n');
}

function fullAfter(days) {
  if (days === Infinity) return 'never';
  return days < 2 * daysOf.year ? `after ${Math.round(days)} days` : `after ${(days / daysOf.year).toFixed(1)} years`;
}

function shareOfLargest(values) {
  const sum = values.reduce((a, b) => a + b, 0);
  return sum === 0 ? 0 : Math.max(...values) / sum;
}

function* chunks(items, size) {
  let chunk = [];
  for (const item of items) {
    chunk.push(item);
    if (chunk.length === size) {
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}
