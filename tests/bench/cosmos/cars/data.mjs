// Telemetry of connected cars: a document of 1 KB for some seconds of driving, over twelve months.
import { Random } from '../../../support/random.mjs';

const MODELS = 24;
const MONTHS = 12;
const DOCUMENT_BYTES = 1024;
const HOURLY_DRIVERS = 0.1;
const TYPICAL_MINUTES_PER_DAY = 90;
const HOURLY_MINUTES_PER_DAY = 360;
const DAYS_PER_MONTH = 30.5;

export class Fleet {
  /// `documentsPerCar`: what a typical driver's car sends in a month; a driver paid by the hour drives four times as much.
  constructor({ cars = 200, documentsPerCar = 3, seed = 1 } = {}) {
    this.documentsPerCar = documentsPerCar;
    this.months = Array.from({ length: MONTHS }, (_, index) => new Date(Date.UTC(2019, 5 + index, 1)).toISOString().slice(0, 7));
    // Few models sell most of the cars: the k-th sells 1/k of what the first does.
    const models = Object.fromEntries(Array.from({ length: MODELS }, (_, index) => [`model-${String.fromCharCode(97 + index)}`, 1 / (index + 1)]));
    this.cars = Array.from({ length: cars }, (_, index) => {
      const random = new Random(seed, 'car', index);
      return { deviceId: random.hex(12), model: random.weighted(models), hourly: index % Math.round(1 / HOURLY_DRIVERS) === 0 };
    });
  }

  get currentMonth() {
    return this.months.at(-1);
  }

  /// A car sends a document each second it drives; each one here stands for this many.
  get secondsPerDocument() {
    return (TYPICAL_MINUTES_PER_DAY * 60 * DAYS_PER_MONTH) / this.documentsPerCar;
  }

  documentsOf(car) {
    return car.hourly ? (this.documentsPerCar * HOURLY_MINUTES_PER_DAY) / TYPICAL_MINUTES_PER_DAY : this.documentsPerCar;
  }

  *telemetry(months) {
    for (const month of months) {
      for (const car of this.cars) {
        for (let number = 0; number < this.documentsOf(car); ++number) {
          const item = {
            id: `${car.deviceId}-${month}-${number}`, deviceId: car.deviceId, model: car.model, month,
            key: `${car.deviceId}-${month}`, speed: (number * 37) % 130, rpm: 800 + ((number * 977) % 5000), signals: '',
          };
          item.signals = 'x'.repeat(Math.max(0, DOCUMENT_BYTES - JSON.stringify(item).length));
          yield item;
        }
      }
    }
  }
}
