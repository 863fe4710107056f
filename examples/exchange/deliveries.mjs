// SPDX-License-Identifier: Apache-2.0
// A day at the exchange, made up: the same lines for the same number.
// usage: node deliveries.mjs COUNT DIR
// Writes DIR/deliveries.jsonl, COUNT lines of traders' business with what opens the
// market before and an audit after, and DIR/expected.jsonl, what each line's result
// must be: worked out here with plain numbers and arrays, and with nothing of the vats.
import fs from 'node:fs';
import path from 'node:path';

const TRADERS = ['alice', 'bob', 'carol', 'dave'];
const ENDOWMENT = { cash: 1_000_000, gold: 5_000, tin: 20_000 };
const PRICES = { gold: 100, tin: 12 };

const [count, directory] = [Number(process.argv[2]), process.argv[3]];
if (!Number.isInteger(count) || count < 0 || !directory) {
  console.error('usage: node deliveries.mjs COUNT DIR');
  process.exit(2);
}

// A linear congruential generator: chance that is the same everywhere.
let seed = 20260101;
const below = n => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
};
const oneOf = list => list[below(list.length)];

// ---- the market in plain numbers ----

const balances = Object.fromEntries(TRADERS.map(name => [name, { ...ENDOWMENT }]));
const quotes = {};
let open = []; // orders in a book, in the order in which they came
let orders = 0;
let trades = 0;
let now = 0;

const quote = (asset, price, amount) => {
  const q = (quotes[asset] ??= { trades: 0, volume: 0, turnover: 0, low: price, high: price });
  q.trades += 1;
  q.volume += amount;
  q.turnover += price * amount;
  q.low = Math.min(q.low, price);
  q.high = Math.max(q.high, price);
  q.last = price;
  trades += 1;
};

const close = order => {
  open = open.filter(other => other !== order);
  if (order.side === 'bid') balances[order.name].cash += order.open * order.price;
  else balances[order.name][order.asset] += order.open;
};

// The one that goes next against an order, or nothing.
const best = ({ side, asset, price }) =>
  open
    .filter(other => other.asset === asset && other.side !== side)
    .filter(other => (side === 'bid' ? other.price <= price : other.price >= price))
    .sort((a, b) => (side === 'bid' ? a.price - b.price : b.price - a.price) || a.number - b.number)[0];

const meet = (order, other) => {
  const amount = Math.min(order.open, other.open);
  const [buyer, seller] = order.side === 'bid' ? [order, other] : [other, order];
  balances[buyer.name][order.asset] += amount;
  balances[seller.name].cash += amount * other.price;
  // A bid had put its own price in.
  balances[buyer.name].cash += amount * (buyer.price - other.price);
  order.open -= amount;
  other.open -= amount;
  quote(order.asset, other.price, amount);
};

const refused = words => ({ status: 'rejected', value: words });
const fulfilled = value => ({ status: 'fulfilled', value });

const take = (name, asset, amount) => {
  const balance = balances[name][asset];
  if (amount > balance) return refused(`there are ${balance} ${asset}, not ${amount}`);
  balances[name][asset] -= amount;
  return undefined;
};

const place = (name, side, asset, amount, price, lifetime) => {
  const no = side === 'bid' ? take(name, 'cash', amount * price) : take(name, asset, amount);
  if (no) return no;
  orders += 1;
  const order = { number: orders, name, side, asset, price, open: amount };
  for (let other = best(order); order.open && other; other = best(order)) {
    meet(order, other);
    open = open.filter(({ open: left }) => left > 0);
  }
  if (order.open) open.push({ ...order, until: lifetime && now + lifetime });
  const [filled, left] = [amount - order.open, order.open];
  return fulfilled({ filled: `${filled}`, number: `${order.number}`, open: `${left}` });
};

// ---- the lines ----

const lines = [];
const expected = [];
const say = (line, result) => {
  lines.push(line);
  if (result) expected.push({ line: lines.length, ...result });
};

// Prices are around that of the asset, so that about half of the orders meet another.
const order = () => {
  const [name, asset] = [oneOf(TRADERS), oneOf(Object.keys(PRICES))];
  const [side, amount] = [oneOf(['bid', 'ask']), 1 + below(below(10) ? 40 : 20_000)];
  const price = PRICES[asset] + below(7) - 3;
  const lifetime = oneOf([0, 5, 20, 100]);
  const method = side === 'bid' ? 'buy' : 'sell';
  const args = [asset, amount, price, ...(lifetime ? [lifetime] : [])];
  say({ vat: name, method, args }, place(name, side, asset, amount, price, lifetime));
};

const cancelled = new Set(); // a trader forgets what it has cancelled
const cancel = () => {
  const number = 1 + below(orders + 3);
  const found = open.find(other => other.number === number);
  const name = found && below(4) ? found.name : oneOf(TRADERS);
  const success = found?.name === name && !cancelled.has(number);
  if (success) close(found);
  cancelled.add(success ? number : undefined);
  say({ vat: name, method: 'cancel', args: [number] }, fulfilled(success));
};

const give = () => {
  const [name, asset] = [oneOf(TRADERS), oneOf(Object.keys(ENDOWMENT))];
  const other = oneOf(TRADERS.filter(trader => trader !== name));
  const amount = 1 + below(below(5) ? 500 : 2_000_000);
  const no = take(name, asset, amount);
  if (!no) balances[other][asset] += amount;
  say(
    { vat: name, method: 'give', args: [{ '@vat': other }, asset, amount] },
    no ?? fulfilled(`${amount}`),
  );
};

const wait = () => {
  now += 1 + below(10);
  for (const gone of open.filter(({ until }) => until && until <= now)) close(gone);
  say({ clock: now });
};

const strings = object =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, `${value}`]));

const depth = (asset, side) => {
  const book = open.filter(other => other.asset === asset && other.side === side);
  return strings({ amount: book.reduce((sum, of) => sum + of.open, 0), orders: book.length });
};

const tally = asset => {
  const held = TRADERS.reduce((sum, name) => sum + balances[name][asset], 0);
  const supply = TRADERS.length * ENDOWMENT[asset];
  return { balanced: true, ...strings({ escrow: supply - held, held, supply }) };
};

const audit = () => ({
  assets: Object.fromEntries(Object.keys(ENDOWMENT).map(asset => [asset, tally(asset)])),
  balances: Object.fromEntries(TRADERS.map(name => [name, strings(balances[name])])),
  books: Object.fromEntries(
    Object.keys(PRICES).map(asset => [
      asset,
      {
        ask: depth(asset, 'ask'),
        bid: depth(asset, 'bid'),
        quote: quotes[asset] ? strings(quotes[asset]) : null,
      },
    ]),
  ),
  counts: strings({ orders, trades }),
});

const vats = ['alice', 'bob', 'carol', 'dave', 'exchange', 'market', 'mint', 'ticker'];
const introductions = Object.fromEntries(vats.map(name => [name, { '@vat': name }]));
say(
  { vat: 'market', method: 'bootstrap', args: [introductions, { clock: { '@device': 'clock' } }] },
  fulfilled(null),
);
say({ vat: 'market', method: 'open', args: [TRADERS, ENDOWMENT] }, fulfilled(TRADERS.length));
const BUSINESS = [...Array(14).fill(order), cancel, cancel, give, give, wait, wait];
for (let i = 0; i < count; i += 1) oneOf(BUSINESS)();
say({ vat: 'market', method: 'audit' }, fulfilled(audit()));

const write = (name, list) =>
  fs.writeFileSync(path.join(directory, name), list.map(line => `${JSON.stringify(line)}\n`).join(''));
fs.mkdirSync(directory, { recursive: true });
write('deliveries.jsonl', lines);
write('expected.jsonl', expected);
