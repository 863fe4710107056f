// SPDX-License-Identifier: Apache-2.0
// The vat that sets the others to work, one thing at a time, as deliveries say.
import { E, Far } from '@endo/far';

const pending = () => {
  const kit = {};
  kit.promise = new Promise((resolve, reject) => Object.assign(kit, { resolve, reject }));
  return kit;
};

export function buildRootObject({ D }) {
  let vats;
  let devices;
  let admin;
  let time;
  const made = new Map(); // name of a vat that was made here => {root, adminNode}
  let kept = []; // what others exported
  const wakes = [];
  const heard = [];

  // What came of a promise, in words that can be compared.
  const outcome = promise =>
    E.when(
      promise,
      value => harden(['fulfilled', value]),
      reason => harden(['rejected', reason instanceof Error ? reason.message : reason]),
    );

  const echo = {
    async roundTrip(value) {
      return D(devices.echo).echo(value);
    },
    add: (one, other) => D(devices.echo).add(one, other),
    // The device's exception is thrown here.
    fail(why) {
      try {
        return D(devices.echo).fail(why);
      } catch (e) {
        return `caught ${e.message}`;
      }
    },
    // A device keeps what it was given: the same object comes back.
    same() {
      const thing = Far('thing', {});
      return D(devices.echo).echo(thing) === thing;
    },
    hear: () => harden([...heard]),
  };

  const messages = {
    // Messages to what other messages will return, before these have been delivered.
    async pipeline(from, to, amount) {
      const payment = E(E(vats.ledger).provideAccount(from)).take(amount);
      return E(E(vats.ledger).provideAccount(to)).put(payment);
    },
    async oneAfterTheOther(from, to, amount) {
      const source = await E(vats.ledger).provideAccount(from);
      const sink = await E(vats.ledger).provideAccount(to);
      const payment = await E(source).take(amount);
      console.log('moving', amount);
      return E(sink).put(payment);
    },
    async many(n) {
      const squares = await Promise.all(
        Array.from({ length: n }, (_, i) => E(vats.maker).square(i)),
      );
      return squares.reduce((sum, of) => sum + of, 0);
    },
    // Promises that are settled after they were sent, some of them rejected.
    async promises(n) {
      const kits = Array.from({ length: n }, pending);
      const counted = E(vats.holder).countSettled(harden(kits.map(({ promise }) => promise)));
      await E(vats.maker).square(1);
      kits.forEach(({ resolve, reject }, i) => (i % 3 ? resolve(i) : reject(Error(`no ${i}`))));
      return counted;
    },
    // A promise that is settled with an object that holds another promise, and itself.
    async nested() {
      const outer = pending();
      const inner = pending();
      const depth = E(vats.holder).depth(outer.promise);
      outer.resolve(harden({ next: inner.promise }));
      inner.resolve(harden({ next: false }));
      return depth;
    },
    async cycle() {
      const kit = pending();
      const seen = E(vats.holder).countSettled(harden([kit.promise]));
      kit.resolve(harden({ myself: kit.promise }));
      return seen;
    },
    refusal: words => outcome(E(vats.maker).refuse(words)),
    noSuchMethod: () => outcome(E(vats.maker).nothingOfTheKind()),
    toNumber: () => outcome(E(E(vats.maker).square(3)).getSerial()),
    async toMyself(value) {
      const self = Far('self', { echo: v => v });
      return E(self).echo(value);
    },
    // All that smallcaps can say.
    values: () =>
      E(vats.maker).same(
        harden([
          undefined,
          NaN,
          Infinity,
          -0,
          12345678901234567890n,
          -7n,
          '!odd',
          '#hash',
          '$0',
          '\u0000\ud83d\ude00é"\\',
          { '#tag': 1, '': [], nested: { deep: [[[]]] } },
          Symbol.for('named'),
        ]),
      ),
  };

  const garbage = {
    async keep(n) {
      kept.push(...(await E(vats.maker).makeThings(n)));
      return kept.length;
    },
    forget() {
      kept = [];
    },
    // Exported by one vat, held by another, and by this one while it passes them on.
    async pass(n) {
      return E(vats.holder).hold(await E(vats.maker).makeThings(n));
    },
    release: () => E(vats.holder).release(),
    async recognize(n) {
      const things = await E(vats.maker).makeThings(n);
      kept.push(...things);
      return E(vats.holder).recognize(things);
    },
    async store(n) {
      return E(vats.ledger).keep('things', await E(vats.maker).makeThings(n));
    },
    clear: () => E(vats.ledger).drop('things'),
  };

  const clock = {
    now: () => E(time).getCurrentTimestamp(),
    async sleep(ticks) {
      await E(time).delay(ticks);
      return 'slept';
    },
    wakeAt: when =>
      E(time).setWakeup(
        when,
        Far('waker', {
          wake(at) {
            wakes.push(at);
          },
        }),
      ),
    wakes: () => harden([...wakes]),
  };

  const others = {
    async make(name, bundle, { computrons, ...options }) {
      const bundleCap = await E(admin).getNamedBundleCap(bundle);
      const meter = computrons && { meter: await E(admin).createMeter(BigInt(computrons), 0n) };
      const creation = E(admin).createVat(bundleCap, { name, ...options, ...meter });
      const [status, value] = await outcome(creation);
      if (status === 'rejected') return `not made: ${value}`;
      made.set(name, value);
      outcome(E(value.adminNode).done()).then(([how, why]) =>
        console.log(`vat ${name} is done: ${how}, ${why}`),
      );
      return 'made';
    },
    call: (name, method, ...args) => outcome(E(made.get(name).root)[method](...args)),
    async upgrade(name, bundle, options) {
      const bundleCap = await E(admin).getNamedBundleCap(bundle);
      return outcome(E(made.get(name).adminNode).upgrade(bundleCap, options));
    },
    changeOptions: (name, options) => outcome(E(made.get(name).adminNode).changeOptions(options)),
    terminate: (name, why) =>
      outcome(E(made.get(name).adminNode).terminateWithFailure(Error(why))),
    async keepOf(name, method) {
      kept.push(await E(made.get(name).root)[method]());
      return kept.length;
    },
    callKept: method => outcome(E(kept[kept.length - 1])[method]()),
  };

  return Far('conductor', {
    async bootstrap(allVats, allDevices) {
      vats = allVats;
      devices = allDevices;
      admin = await E(vats.vatAdmin).createVatAdminService(devices.vatAdmin);
      if (vats.timer) time = await E(vats.timer).createTimerService(devices.clock);
      D(devices.echo).subscribe(
        Far('listener', {
          event(number, what) {
            heard.push([number, what]);
          },
        }),
      );
      console.log('the conductor has', Object.keys(vats).length, 'vats');
    },
    ...echo,
    ...messages,
    ...garbage,
    ...clock,
    ...others,
  });
}
