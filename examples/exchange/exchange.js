// SPDX-License-Identifier: Apache-2.0
/* global VatData */
// The exchange: an order book for each asset, in which the best price goes first and, at one
// price, who came first. What an order could cost is in the exchange's own purses while the
// order is open. An order with a lifetime is taken out when the clock says so.
import { E, Far } from '@endo/far';

// Keys of a book sort as its orders are served: prices of bids count down.
const HIGHEST_PRICE = 10n ** 12n;
const rank = (side, price) => (side === 'bid' ? HIGHEST_PRICE - price : price);
const digits = n => `${n}`.padStart(13, '0');
const bookKey = (side, price, number) => `${digits(rank(side, price))}/${digits(number)}`;

export function buildRootObject(vatPowers, _vatParameters, baggage) {
  const { makeKindHandle, defineDurableKind, makeScalarBigMapStore } = VatData;
  const { D } = vatPowers;

  const provide = (key, make) => {
    if (!baggage.has(key)) baggage.init(key, make());
    return baggage.get(key);
  };
  const provideMap = name =>
    provide(name, () => makeScalarBigMapStore(name, { durable: true }));

  const books = provideMap('books'); // asset => {bid, ask}, maps from a book's key to an order
  const orders = provideMap('orders'); // number => order, of those that are open
  const purses = provideMap('purses'); // asset, 'cash' among them => the exchange's purse
  const expiries = provideMap('expiries'); // time => numbers of orders
  const tools = provideMap('tools'); // clock, ticker, counters

  const count = name => {
    const next = tools.get(name) + 1n;
    tools.set(name, next);
    return next;
  };

  // Sends what is due, without waiting for it to arrive.
  const pay = (account, asset, amount) => {
    if (amount > 0n) {
      const payment = E(purses.get(asset)).withdraw(amount);
      E(account).receive(asset, payment).catch(e => console.error('not received:', e));
    }
  };

  // An open order goes out of the book; what it had put in goes back.
  const close = order => {
    const { side, asset, price, open, number, account } = order.inBook();
    books.get(asset)[side].delete(bookKey(side, price, number));
    orders.delete(number);
    if (side === 'bid') pay(account, 'cash', open * price);
    else pay(account, asset, open);
  };

  const makeOrder = defineDurableKind(
    provide('orderKind', () => makeKindHandle('order')),
    (number, account, side, asset, price, open) => ({ number, account, side, asset, price, open }),
    {
      inBook({ state }) {
        const { number, account, side, asset, price, open } = state;
        return harden({ number, account, side, asset, price, open });
      },
      fill({ state }, amount) {
        state.open -= amount;
        return state.open;
      },
      getStatus: ({ state }) => harden({ number: state.number, open: state.open }),
    },
  );

  // Who holds it may withdraw the order, and do nothing else with it.
  const makeTicket = defineDurableKind(
    provide('ticketKind', () => makeKindHandle('ticket')),
    number => ({ number }),
    {
      cancel({ state }) {
        if (!orders.has(state.number)) return false;
        close(orders.get(state.number));
        return true;
      },
      getOpen: ({ state }) =>
        orders.has(state.number) ? orders.get(state.number).getStatus().open : 0n,
    },
  );

  const waker = Far('waker', {
    wake(time) {
      for (const [when, numbers] of expiries.entries()) {
        if (when > time) break;
        for (const number of numbers) {
          if (orders.has(number)) close(orders.get(number));
        }
        expiries.delete(when);
      }
    },
  });

  const expireAt = (number, when) => {
    if (expiries.has(when)) {
      expiries.set(when, harden([...expiries.get(when), number]));
    } else {
      expiries.init(when, harden([number]));
      D(tools.get('clock')).setWakeup(when, waker);
    }
  };

  // Serves the other side of the book up to a price: what was bought or sold, for how much.
  const match = (side, asset, price, wanted) => {
    const resting = books.get(asset)[side === 'bid' ? 'ask' : 'bid'];
    let [filled, cost] = [0n, 0n];
    for (const [key, order] of resting.entries()) {
      const { open, account, number, price: theirs } = order.inBook();
      if (filled === wanted || (side === 'bid' ? theirs > price : theirs < price)) break;
      const amount = open < wanted - filled ? open : wanted - filled;
      if (order.fill(amount) === 0n) {
        resting.delete(key);
        orders.delete(number);
      }
      if (side === 'bid') pay(account, 'cash', amount * theirs);
      else pay(account, asset, amount);
      E(tools.get('ticker')).trade(asset, theirs, amount);
      count('trades');
      filled += amount;
      cost += amount * theirs;
    }
    return { filled, cost };
  };

  const trade = (account, side, asset, amount, price, lifetime) => {
    const number = count('orders');
    const { filled, cost } = match(side, asset, price, amount);
    const open = amount - filled;
    if (open > 0n) {
      const order = makeOrder(number, account, side, asset, price, open);
      books.get(asset)[side].init(bookKey(side, price, number), order);
      orders.init(number, order);
      if (lifetime > 0n) expireAt(number, D(tools.get('clock')).getLastPolled() + lifetime);
    }
    if (side === 'bid') {
      pay(account, asset, filled);
      pay(account, 'cash', filled * price - cost);
    } else {
      pay(account, 'cash', cost);
    }
    return { number, filled, open };
  };

  // What each customer is given: orders that pay to its own account.
  const makeSeat = defineDurableKind(
    provide('seatKind', () => makeKindHandle('seat')),
    account => ({ account }),
    {
      async order({ state }, side, asset, amount, price, lifetime, paymentP) {
        const { account } = state;
        if (!books.has(asset)) throw Error(`${asset} is not traded here`);
        const [given, due] = side === 'bid' ? ['cash', amount * price] : [asset, amount];
        const paid = await E(purses.get(given)).deposit(paymentP);
        if (paid !== due) {
          pay(account, given, paid);
          throw RangeError(`the order wants ${due} ${given}, not ${paid}`);
        }
        const { number, filled, open } = trade(account, side, asset, amount, price, lifetime);
        return harden({ number, filled, open, ticket: makeTicket(number) });
      },
    },
  );

  const depth = side => {
    let amount = 0n;
    for (const order of side.values()) amount += order.getStatus().open;
    return harden({ orders: BigInt(side.getSize()), amount });
  };

  return Far('exchange', {
    async start(issuers, ticker, clock) {
      tools.init('ticker', ticker);
      tools.init('clock', clock);
      tools.init('orders', 0n);
      tools.init('trades', 0n);
      for (const [asset, issuer] of Object.entries(issuers)) {
        purses.init(asset, await E(issuer).makeEmptyPurse());
        if (asset !== 'cash') {
          const book = () => makeScalarBigMapStore('book', { durable: true });
          books.init(asset, harden({ bid: book(), ask: book() }));
        }
      }
    },
    makeSeat: account => makeSeat(account),
    getPurse: asset => purses.get(asset),
    getCounts: () => harden({ orders: tools.get('orders'), trades: tools.get('trades') }),
    getDepth: asset =>
      harden({ bid: depth(books.get(asset).bid), ask: depth(books.get(asset).ask) }),
  });
}
