// SPDX-License-Identifier: Apache-2.0
// A trader: has a purse for each asset and a seat at the exchange, and carries out its instructions.
// Numbers of its instructions are those of JSON; what goes to other vats is a bigint.
import { E, Far } from '@endo/far';

export function buildRootObject() {
  const purses = new Map(); // asset => purse
  const tickets = new Map(); // number of an order => its ticket
  let seat;

  const account = Far('account', {
    receive: (asset, payment) => E(purses.get(asset)).deposit(payment),
  });

  const order = async (side, asset, amount, price, lifetime) => {
    const [given, due] =
      side === 'bid' ? ['cash', BigInt(amount) * BigInt(price)] : [asset, BigInt(amount)];
    const { ticket, ...outcome } = await E(seat).order(
      side,
      asset,
      BigInt(amount),
      BigInt(price),
      BigInt(lifetime),
      E(purses.get(given)).withdraw(due),
    );
    if (outcome.open > 0n) tickets.set(outcome.number, ticket);
    return harden(outcome);
  };

  return Far('trader', {
    async start(issuers, exchange) {
      seat = await E(exchange).makeSeat(account);
      for (const [asset, issuer] of Object.entries(issuers)) {
        purses.set(asset, await E(issuer).makeEmptyPurse());
      }
      return account;
    },
    getAccount: () => account,
    buy: (asset, amount, price, lifetime = 0) => order('bid', asset, amount, price, lifetime),
    sell: (asset, amount, price, lifetime = 0) => order('ask', asset, amount, price, lifetime),
    async cancel(number) {
      const ticket = tickets.get(BigInt(number));
      if (!ticket) return false;
      tickets.delete(BigInt(number));
      return E(ticket).cancel();
    },
    // To another trader.
    async give(other, asset, amount) {
      const payment = E(purses.get(asset)).withdraw(BigInt(amount));
      return E(E(other).getAccount()).receive(asset, payment);
    },
    async getBalances() {
      const balances = {};
      for (const [asset, purse] of purses) balances[asset] = await E(purse).getBalance();
      return harden(balances);
    },
  });
}
