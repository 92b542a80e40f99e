// The data that the queries ask about, as Entity Framework Core's provider for Azure Cosmos DB stores entities: a
// discriminator `$type`, owned entities and collections within their owner, null for what has no value. Companies and
// persons are customers; depots are entities of another kind in the same container.

const cities = ['London', 'Berlin', 'Luleå', 'México D.F.', 'Seattle', 'são paulo'];
const regions = [null, null, 'WA', 'SP', 'BC', ''];
const names = ['Around the Horn', 'Blauer See', 'bon app', 'Eastern "Connection"', "Galería d'Or", 'Königlich Essen', '  Spaced  ', 'LINO-Delicateses'];
const words = ['vip', 'new', 'late', 'été', 'VIP', ''];
const two = (number) => String(number).padStart(2, '0');

const dateOf = (random) =>
  `${random.between(1996, 2003)}-${two(random.between(1, 12))}-${two(random.between(1, 28))}T${two(random.between(0, 23))}:${two(random.between(0, 59))}:${two(random.between(0, 59))}`;
const several = (random, most, make) => Array.from({ length: random.between(0, most) }, (_, i) => make(i));
const quarters = (random) => random.between(-400, 4000) / 4;  // sums are exact in any order

function customerOf(random, number) {
  return {
    id: `C${number}`,
    $type: random.chance(0.6) ? 'Company' : 'Person',
    Number: number,
    Name: random.pick(names),
    City: random.pick(cities),
    Region: random.pick(regions),
    Level: random.between(0, 3),
    Flags: random.between(0, 15),
    Balance: quarters(random),
    Rating: random.chance(0.3) ? null : random.between(-6, 10) / 2,
    IsActive: random.chance(0.5),
    Since: dateOf(random),
    Address: random.chance(0.2) ? null : { Street: `${random.between(1, 9)} High St.`, Country: { Code: random.pick(['DE', 'GB', 'SE']), Area: random.between(1, 5) } },
    Tags: several(random, 3, () => random.pick(words)),
    Scores: several(random, 5, () => (random.chance(0.15) ? null : random.between(0, 12))),
    Orders: several(random, 3, (i) => ({
      Id: number * 10 + i,
      Date: dateOf(random),
      Note: random.chance(0.5) ? null : random.pick(words),
      Lines: several(random, 3, (line) => ({ Sku: `S${line}`, Quantity: random.between(1, 9), Price: quarters(random) })),
    })),
  };
}

/// { customers, depots }
export function shopOf(random) {
  return {
    customers: Array.from({ length: random.between(30, 120) }, (_, number) => customerOf(random, number)),
    depots: Array.from({ length: 9 }, (_, number) => ({ id: `Depot|${number}`, $type: 'Depot', City: random.pick(cities), Capacity: number % 4 })),
  };
}
