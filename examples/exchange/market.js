// SPDX-License-Identifier: Apache-2.0
// The market's maker: introduces the vats to each other, hands out what traders begin with,
// and says in the end whether all of it is still there.
import { E, Far } from '@endo/far';

const ASSETS = ['cash', 'gold', 'tin'];

export function buildRootObject() {
  const issuers = {};
  const traders = new Map(); // name => trader
  let market;

  const endow = async (trader, endowment) => {
    const account = await E(trader).start(issuers, market.exchange);
    for (const [asset, amount] of Object.entries(endowment)) {
      await E(account).receive(asset, E(issuers[asset]).mint(BigInt(amount)));
    }
  };

  // Sums the balances of an asset: those of traders, and of the exchange for open orders.
  const count = async (asset, balances) => {
    const supply = await E(issuers[asset]).getSupply();
    const escrow = await E(E(market.exchange).getPurse(asset)).getBalance();
    const held = Object.values(balances).reduce((sum, of) => sum + of[asset], 0n);
    return harden({ supply, escrow, held, balanced: supply === escrow + held });
  };

  return Far('market', {
    // As SwingSet's kernel calls it: all vats by their names, and the devices.
    async bootstrap(vats, devices) {
      const { mint, exchange, ticker } = vats;
      for (const asset of ASSETS) issuers[asset] = await E(mint).makeIssuer(asset);
      harden(issuers);
      await E(exchange).start(issuers, ticker, devices.clock);
      market = harden({ vats, exchange, ticker });
    },

    // The traders come in, each with the same endowment.
    async open(names, endowment) {
      for (const name of names) {
        traders.set(name, market.vats[name]);
        await endow(market.vats[name], endowment);
      }
      return traders.size;
    },

    async audit() {
      const balances = {};
      for (const [name, trader] of traders) {
        balances[name] = await E(trader).getBalances();
      }
      const assets = {};
      const books = {};
      for (const asset of ASSETS) {
        assets[asset] = await count(asset, balances);
        if (asset !== 'cash') {
          const [depth, quote] = await Promise.all([
            E(market.exchange).getDepth(asset),
            E(market.ticker).quote(asset),
          ]);
          books[asset] = { ...depth, quote };
        }
      }
      const counts = await E(market.exchange).getCounts();
      return harden({ balances, assets, books, counts });
    },
  });
}
