// The parts that the texts of all subjects share.

const is_customer = 'c["$type"] IN ("Company", "Person")';

/// `condition` may be missing.
export const customersWhere = (condition) => (condition === undefined ? `WHERE ${is_customer}` : `WHERE (${is_customer} AND ${condition})`);

/// One value of each customer; undefined ones are in no row.
export const valueOf = (value, make, parameters) => ({
  sql: `SELECT VALUE ${value}\nFROM root c\n${customersWhere()}`,
  parameters,
  rows: ({ customers }) => customers.map((c) => make(c)).filter((each) => each !== undefined),
});

/// The customers for which a condition holds.
export const where = (condition, test, parameters) => ({
  sql: `SELECT VALUE c\nFROM root c\n${customersWhere(condition)}`,
  parameters,
  rows: ({ customers }) => customers.filter((c) => test(c)),
});
