// Telemetry of 1,000 connected cars in a year: each sends a document of 1 KB in each second that it drives, 90 minutes a
// day, or 360 if its driver is paid by the hour. Here is each 10,000th of these documents, so byte limits are divided by
// the same number.
export const EACH = 10_000;
export const BYTES = 1024;  // of a document with its id
export const DAYS = 365;
export const DAY_S = 86_400;

const CARS = 1000;
const HOURLY_CARS = 100;
const MODELS = 24;
const FAVOURITE_SHARE = 0.2;  // of one model, of each kind of car
const MINUTES_A_DAY = 90;
const HOURLY_MINUTES_A_DAY = 360;
const MORNING_S = 8 * 3600;
const START_MS = Date.UTC(2019, 5, 1);

/// Each car: { id, model, minutes: what it drives in a day }.
export const cars = Array.from({ length: CARS }, (_, index) => {
  const hourly = index < HOURLY_CARS;
  const among = hourly ? HOURLY_CARS : CARS - HOURLY_CARS;
  const place = hourly ? index : index - HOURLY_CARS;
  const model = place < among * FAVOURITE_SHARE ? 0 : 1 + (place % (MODELS - 1));
  return {
    id: `c${String(index).padStart(4, '0')}${((index * 2654435761) % 2 ** 32).toString(16).padStart(8, '0')}`,
    model: `model-${String.fromCharCode(97 + model)}`,
    minutes: hourly ? HOURLY_MINUTES_A_DAY : MINUTES_A_DAY,
  };
});

/// All documents, by car and time.
export function* telemetry() {
  let next = 0;  // of the car's seconds: what remains of 10,000 is taken over by the next car
  for (const car of cars) {
    const secondsADay = car.minutes * 60;
    for (; next < DAYS * secondsADay; next += EACH) {
      const day = Math.floor(next / secondsADay);
      const at = new Date(START_MS + (day * DAY_S + MORNING_S + (next % secondsADay)) * 1000).toISOString().replace('.000', '');
      const document = { id: car.id, model: car.model, year: Number(at.slice(0, 4)), month: at.slice(0, 7), at, signals: '' };
      const _id = `${car.id}-${String(next).padStart(8, '0')}`;
      document.signals = 'x'.repeat(BYTES - _id.length - JSON.stringify(document).length);
      yield { _id, ...document };
    }
    next -= DAYS * secondsADay;
  }
}
