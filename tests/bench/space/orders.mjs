// Documents as programs store them: orders of a shop, with names, numbers, ids and text. The same for the same number.

const words = ('the a of with for and quiet bright kitchen kettle mixer scales steel oak cotton small large set two four ' +
  'delivered returned checked packed please ring leave at door neighbour before after noon weekdays only gift wrap').split(' ');
const first = ['Ada', 'Ben', 'Chloe', 'Dmitri', 'Elif', 'Farid', 'Grace', 'Hugo', 'Ines', 'Jonas', 'Kofi', 'Lena'];
const last = ['Anders', 'Brandt', 'Costa', 'Dubois', 'Eriksen', 'Fischer', 'Gupta', 'Hansen', 'Ito', 'Jensen', 'Kowalski'];
const cities = ['Aarhus', 'Bergen', 'Cork', 'Dresden', 'Essen', 'Faro', 'Ghent', 'Hull', 'Izmir', 'Jena', 'Kiel', 'Lyon'];
const states = ['open', 'paid', 'packed', 'sent', 'delivered', 'returned'];

/// Mulberry32: numbers in [0, 1).
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/// An order whose JSON has about `bytes` bytes.
export function orderOf(n, bytes) {
  const random = randomOf(n);
  const below = (end) => Math.floor(random() * end);
  const one = (list) => list[below(list.length)];
  const id = (length) => Array.from({ length }, () => below(16).toString(16)).join('');
  const time = () => new Date(1.7e12 + below(1e10)).toISOString();
  const text = (count) => Array.from({ length: count }, () => one(words)).join(' ');
  const order = {
    type: 'order', number: 100_000 + n, state: one(states), placed: time(), changed: time(), session: id(32),
    customer: { id: id(24), name: `${one(first)} ${one(last)}`, email: `${id(8)}@example.com`, newsletter: random() < 0.3 },
    address: { street: `${one(last)} street ${below(200)}`, city: one(cities), code: String(10_000 + below(90_000)), country: 'DE' },
    payment: { method: one(['card', 'invoice', 'transfer']), reference: id(20), amount: below(50_000) / 100, currency: 'EUR' },
    note: text(12), items: [],
  };
  while (JSON.stringify(order).length < bytes - 60) {
    order.items.push({ sku: `SKU-${10_000 + below(90_000)}`, title: text(4), quantity: 1 + below(5), price: below(20_000) / 100,
                       weight: below(5_000), warehouse: one(cities), tax: 0.19, discount: null });
  }
  return order;
}
