// Documents and queries as a fleet of devices has them, with strings: a few devices send most of the events, an error is
// rare and belongs to some devices, the region follows from the device, and events come in the order of their time. The
// queries are those of a dashboard: one to four conditions, most with the latest events first. Has the interface of
// workload.mjs, for _find only: an index in Mango's order of strings has no order for SQL.
import { randomOf } from './workload.mjs';

export const fields = ['device', 'status', 'time', 'region', 'temperature'];

const statuses = ['ok', 'ok', 'warning', 'error', 'offline'];
const regions = ['eu-north', 'eu-south', 'us-east', 'us-west', 'asia'];
const firstDay = Date.UTC(2024, 0, 1);

export class Telemetry {
  constructor({ documents: n, seed }) {
    const { random, below, pick } = randomOf(seed);
    const devices = Math.max(50, Math.floor(n / 150));
    // A Zipf distribution: half of the events are those of a few devices.
    const someDevice = () => Math.min(devices - 1, Math.floor(devices ** random()) - 1);
    const nameOf = (device) => `device-${String(device).padStart(6, '0')}`;
    const timeOf = (i) => new Date(firstDay + i * 20_000).toISOString();
    const regionOf = (device) => regions[device % 7 % regions.length];

    this.document = (i) => {
      const device = someDevice();
      const chance = random();
      const isFaulty = device % 50 === 7;
      let status = 'ok';
      if (chance < (isFaulty ? 0.02 : 0.0001)) status = 'error';
      else if (chance < 0.03) status = 'warning';
      else if (chance < 0.031) status = 'offline';
      return {
        _id: `${nameOf(device)}-${i}`, device: nameOf(device), status, time: timeOf(i), region: regionOf(device),
        temperature: Math.round(200 + 100 * (random() + random() + random() - 1.5) + (isFaulty ? 300 : 0)) / 10, text: 'x'.repeat(100),
      };
    };

    const rangeOfTime = () => {
      const begin = Math.floor(n * (1 - n ** (random() - 1)));
      return below(2) ? { $gte: timeOf(begin) } : { $gte: timeOf(begin), $lt: timeOf(begin + Math.floor(n ** random())) };
    };
    const makers = {
      device: () => (below(6) ? nameOf(someDevice()) : { $in: [nameOf(someDevice()), nameOf(below(devices)), nameOf(7)] }),
      status: () => (below(5) ? pick(statuses) : { $in: ['error', 'offline'] }),
      time: rangeOfTime,
      region: () => pick(regions),
      temperature: () => (below(2) ? { $gt: 18 + below(40) } : { $gte: 10 + below(10), $lt: 21 + below(30) }),
    };

    this.query = () => {
      const selector = {};
      const conditions = 1 + below(4);
      while (Object.keys(selector).length < conditions) {
        const field = pick(fields);
        selector[field] ??= makers[field]();
      }
      const query = { selector, limit: pick([1, 20, 20, 50, 100]) };
      if (below(10) < 7) query.sort = [{ [below(8) ? 'time' : 'temperature']: below(5) ? 'desc' : 'asc' }];
      return query;
    };
  }
}
