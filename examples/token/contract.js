// A token: balances in the store, transfers between them.

const balanceKey = name => `balance.${name}`;

const balanceOf = name => BigInt(store.get(balanceKey(name)) ?? 0);

const setBalance = (name, amount) => {
  if (amount === 0n) {
    store.delete(balanceKey(name));
  } else {
    store.set(balanceKey(name), `${amount}`);
  }
};

const requireAmount = amount => {
  if (!Number.isSafeInteger(amount) || amount <= 0) {
    throw RangeError(`an amount is a positive whole number, not ${amount}`);
  }
  return BigInt(amount);
};

export const mint = (name, amount) => {
  const balance = balanceOf(name) + requireAmount(amount);
  setBalance(name, balance);
  return balance;
};

export const transfer = async (from, to, amount) => {
  const moved = requireAmount(amount);
  const rest = balanceOf(from) - moved;
  if (rest < 0n) {
    throw RangeError(`${from} has ${rest + moved}, not ${moved}`);
  }
  setBalance(from, rest);
  setBalance(to, balanceOf(to) + moved);
  return rest;
};

export const balance = name => balanceOf(name);

export const holders = () => {
  const prefix = balanceKey('');
  const names = [];
  let key = store.nextKey(prefix);
  while (key !== undefined && key.startsWith(prefix)) {
    names.push(key.slice(prefix.length));
    key = store.nextKey(key);
  }
  return names;
};
