// The plain contract runtime: one contract, a store, a console.
//
// The supervisor evaluates this file in a fresh worker. It closes what would let
// a contract see more than its deliveries and its store (clock, chance, garbage
// collection, the worker's own functions), hardens the intrinsics, and answers
// the vat messages of SwingSet's manager. docs/contracts.md is for authors.
(() => {
  'use strict';

  const { issueCommand, harden, TextEncoder, TextDecoder, Base64 } = globalThis;
  const { ModuleSource, Compartment } = globalThis;
  const {
    create,
    defineProperty,
    entries,
    freeze,
    fromEntries,
    getOwnPropertyDescriptor,
    getOwnPropertyNames,
    getPrototypeOf,
    hasOwn,
    is,
    keys,
  } = Object;
  const { isArray } = Array;
  const { apply, construct, deleteProperty } = Reflect;

  // ---- what a contract must not reach ----

  const sameOnReplay = 'results must be the same on every replay';
  const takeTime = "take the time from the method's arguments";
  const takeSeed = "take a seed from the method's arguments";

  const refusal = (name, why, instead) =>
    `${name} is not available: ${why}; ${instead}`;

  const refuse = (...words) => {
    throw TypeError(refusal(...words));
  };

  // Packages look at these while they are loaded (bignumber.js at how many
  // random bits there are, lodash at when it was last called). What they get
  // then is no number and no date, and passes for none.
  const warned = new Set();
  const refuseInMethods = (name, instead, nothing) => {
    if (methods) {
      refuse(name, sameOnReplay, instead);
    }
    if (!warned.has(name)) {
      warned.add(name);
      const words = refusal(name, sameOnReplay, instead);
      makeLog('warn')(`${words} (it is ${nothing} until all is loaded)`);
    }
    return nothing;
  };

  const functionPrototypes = [
    () => {},
    async () => {},
    function* generator() {},
    async function* asyncGenerator() {},
  ].map(getPrototypeOf);

  // The constructors that f.constructor reaches make functions of the start
  // compartment, in which issueCommand stands. Packages compare with them, so
  // their names and `instanceof` work.
  const closeFunctionConstructors = () => {
    for (const prototype of functionPrototypes) {
      const { name } = prototype.constructor;
      const closed = function () {
        refuse(
          `the constructor ${name} of a function's prototype`,
          "it would see more than the contract's globals",
          'call Function by its name',
        );
      };
      defineProperty(closed, 'name', { value: name });
      defineProperty(closed, 'prototype', { value: prototype, writable: false });
      defineProperty(prototype, 'constructor', { value: closed });
    }
  };

  const closeClock = () => {
    const StartDate = Date;
    const ContractDate = function Date(...args) {
      if (!new.target) {
        return refuseInMethods('Date()', takeTime, 'Invalid Date');
      }
      if (args.length === 0) {
        const name = 'new Date() without arguments';
        args[0] = refuseInMethods(name, takeTime, NaN);
      }
      return construct(StartDate, args, new.target);
    };
    defineProperty(ContractDate, 'length', { value: StartDate.length });
    defineProperty(ContractDate, 'prototype', {
      value: StartDate.prototype,
      writable: false,
    });
    const dontEnum = { writable: true, enumerable: false, configurable: true };
    for (const [name, value] of entries({
      now() {
        return refuseInMethods('Date.now', takeTime, NaN);
      },
      parse: StartDate.parse,
      UTC: StartDate.UTC,
    })) {
      defineProperty(ContractDate, name, { value, ...dontEnum });
    }
    StartDate.prototype.constructor = ContractDate;
    return ContractDate;
  };

  const closeChance = () => {
    Math.random = {
      random() {
        return refuseInMethods('Math.random', takeSeed, NaN);
      },
    }.random;
  };

  // In other engines `stack` is a property of each error, which may be set.
  const openStack = () =>
    defineProperty(Error.prototype, 'stack', {
      set(value) {
        const own = { value, writable: true, configurable: true };
        defineProperty(this, 'stack', own);
      },
    });

  // Names that packages look for, which stay undefined for `typeof`.
  const absent = [
    [
      'setTimeout setInterval setImmediate requestAnimationFrame',
      'a contract runs only in its deliveries',
      'have a later delivery call a method',
    ],
    ['performance', sameOnReplay, takeTime],
    ['crypto', sameOnReplay, takeSeed],
    [
      'fetch XMLHttpRequest WebSocket',
      'a contract reaches nothing but its store',
      "take data from the method's arguments",
    ],
    ['require', 'a contract is one file', 'bundle it with what it imports'],
    [
      'process window document navigator',
      'a contract sees nothing of the machine',
      "take settings from the method's arguments",
    ],
    ['Buffer', 'it is part of Node', 'use Uint8Array and TextEncoder'],
    [
      'WeakRef FinalizationRegistry gc',
      'garbage collection must not show in results',
      'use Map or WeakMap',
    ],
    ['Atomics SharedArrayBuffer', 'there is one thread', 'use ArrayBuffer'],
    ['Intl', 'the engine has no data of locales', 'bundle a package for it'],
    [
      'queueMicrotask structuredClone URL URLSearchParams atob btoa',
      'the engine does not have it',
      'bundle a package for it',
    ],
    [
      'Blob File AbortController Event EventTarget',
      'the engine does not have it',
      'bundle a package for it',
    ],
  ];

  // Intrinsics that no global names.
  const hiddenIntrinsics = () => [
    ...functionPrototypes,
    getPrototypeOf(Int8Array),
    [][Symbol.iterator](),
    ''[Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    'a'.matchAll(/a/g),
    (function* generator() {})(),
    (async function* asyncGenerator() {})(),
  ];

  // They show garbage collection, wait, start compartments without these
  // closings, or talk to a debugger.
  const withheld = [
    'Atomics',
    'Compartment',
    'FinalizationRegistry',
    'ModuleSource',
    'SharedArrayBuffer',
    'WeakRef',
    'trace',
  ];

  const cannotImport = specifier =>
    `${JSON.stringify(specifier)} cannot be imported: a plain contract is one file; bundle it with its imports (npx @endo/bundle-source FILE > bundle.json)`;

  // Names are resolved only for code that has a module: not for that of eval().
  const resolveHook = specifier => {
    throw TypeError(cannotImport(specifier));
  };
  const loadHook = async specifier => resolveHook(specifier);

  const makeContractCompartment = (source, globals) => {
    const compartment = new Compartment({
      globals,
      modules: { contract: { source } },
      resolveHook,
      loadHook,
    });
    for (const name of withheld) {
      deleteProperty(compartment.globalThis, name);
    }
    return compartment;
  };

  // An object that inherits a property can be given its own by assignment
  // (worker/xs/patches/override-mistake.patch).
  const hardenShadowable = object => harden(object, 'may be shadowed');

  // The start compartment's own global object stays open: no contract gets it.
  const hardenIntrinsics = () => {
    for (const name of getOwnPropertyNames(new Compartment({}).globalThis)) {
      if (name !== 'global' && name !== 'globalThis') {
        hardenShadowable(globalThis[name]);
      }
    }
    hiddenIntrinsics().forEach(hardenShadowable);
  };

  closeFunctionConstructors();
  closeChance();
  openStack();
  const ContractDate = closeClock();
  hardenIntrinsics();
  // These stand in the start compartment only, and are handed on.
  [ContractDate, TextEncoder, TextDecoder, Base64, harden].forEach(
    hardenShadowable,
  );

  // ---- the pipe ----

  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const encode = value => encoder.encode(JSON.stringify(value)).buffer;
  const decode = bytes => JSON.parse(decoder.decode(bytes));

  const request = message => {
    const [tag, value] = decode(issueCommand(encode(message)));
    if (tag !== 'ok') {
      throw Error(value);
    }
    return value;
  };

  // ---- smallcaps: JSON with the rest of what can be sent ----
  // https://github.com/endojs/endo/blob/master/packages/marshal/docs/smallcaps-cheatsheet.md

  const needsEscape = text => text >= '!' && text < '.';
  const escapeText = text => (needsEscape(text) ? `!${text}` : text);

  const specials = new Map([
    ['#undefined', undefined],
    ['#NaN', NaN],
    ['#Infinity', Infinity],
    ['#-Infinity', -Infinity],
  ]);

  const decodeText = text => {
    if (!needsEscape(text)) {
      return text;
    }
    if (text[0] === '!') {
      return text.slice(1);
    }
    if (text[0] === '+' || text[0] === '-') {
      return BigInt(text);
    }
    if (specials.has(text)) {
      return specials.get(text);
    }
    throw TypeError(`a contract cannot be sent ${text}`);
  };

  const decodeValue = value => {
    if (typeof value === 'string') {
      return decodeText(value);
    }
    if (isArray(value)) {
      return value.map(decodeValue);
    }
    if (typeof value === 'object' && value !== null) {
      return fromEntries(
        entries(value).map(([name, part]) => [
          decodeText(name),
          decodeValue(part),
        ]),
      );
    }
    return value;
  };

  const encodeNumber = number => {
    for (const [name, special] of specials) {
      if (is(number, special)) {
        return name;
      }
    }
    return number;
  };

  const encodeObject = (value, path) => {
    if (path.includes(value)) {
      throw TypeError('a result that holds itself cannot be sent');
    }
    const inside = [...path, value];
    if (isArray(value)) {
      return value.map(part => encodeValue(part, inside));
    }
    const prototype = getPrototypeOf(value);
    if (prototype !== null && prototype !== Object.prototype) {
      throw TypeError('only plain objects, arrays and data can be sent');
    }
    return fromEntries(
      keys(value)
        .sort()
        .map(name => [
          escapeText(requireText('a property', name)),
          encodeValue(value[name], inside),
        ]),
    );
  };

  const encodeValue = (value, path = []) => {
    switch (typeof value) {
      case 'string':
        return escapeText(requireText('a result', value));
      case 'number':
        return encodeNumber(value);
      case 'bigint':
        return value < 0n ? `${value}` : `+${value}`;
      case 'undefined':
        return '#undefined';
      case 'boolean':
        return value;
      case 'object':
        return value === null ? null : encodeObject(value, path);
      default:
        throw TypeError(`a ${typeof value} cannot be sent`);
    }
  };

  // ---- what a contract is handed ----

  const loneSurrogate = /[\uD800-\uDFFF]/u;

  const requireText = (name, text) => {
    if (typeof text !== 'string') {
      throw TypeError(`${name} must be a string, not ${typeof text}`);
    }
    if (loneSurrogate.test(text)) {
      throw TypeError(`${name} holds half a surrogate pair`);
    }
    return text;
  };

  const syscall = (...object) => request(['syscall', object]);

  const orUndefined = value => (value === null ? undefined : value);

  const store = hardenShadowable({
    get: key => orUndefined(syscall('vatstoreGet', requireText('key', key))),
    set: (key, value) => {
      requireText('key', key);
      requireText('value', value);
      syscall('vatstoreSet', key, value);
    },
    delete: key => {
      syscall('vatstoreDelete', requireText('key', key));
    },
    nextKey: key =>
      orUndefined(syscall('vatstoreGetNextKey', requireText('key', key))),
  });

  const wellFormed = text =>
    loneSurrogate.test(text) ? decoder.decode(encoder.encode(text)) : text;

  // Asking a contract's object for its words runs the contract's code.
  const wordsOf = value => {
    try {
      if (typeof value !== 'object' || value instanceof Error) {
        return wellFormed(String(value));
      }
      return wellFormed(JSON.stringify(value));
    } catch {
      return 'a value that cannot be printed';
    }
  };

  const makeLog =
    level =>
    (...values) => {
      request(['sourcedConsole', 'vat', level, ...values.map(wordsOf)]);
    };

  const console = hardenShadowable(
    fromEntries(
      ['debug', 'log', 'info', 'warn', 'error'].map(level => [
        level,
        makeLog(level),
      ]),
    ),
  );

  // ---- deliveries ----

  const stackGetter = getOwnPropertyDescriptor(Error.prototype, 'stack').get;

  // The error's words, then XS's lines like " at f (contract.js:3)". The engine's own getter runs
  // no code of the contract, which would not be metered here.
  const stackOf = error => {
    try {
      const stack = apply(stackGetter, error, []);
      return typeof stack === 'string' ? wellFormed(stack) : null;
    } catch {
      return null;
    }
  };

  const placeIn = stack => {
    const place = /\((contract\.js:[0-9]+)\)/.exec(stack);
    return place ? `${place[1]}: ` : '';
  };

  let contractText; // until it has started
  let methods;

  const lineThatNames = specifier => {
    const isIt = line =>
      line.includes(`'${specifier}'`) || line.includes(`"${specifier}"`);
    return contractText.split('\n').findIndex(isIt) + 1;
  };

  // XS only says that an import was not found, not which one.
  const explainImport = () => {
    try {
      const { bindings } = new ModuleSource(contractText);
      const { from } = bindings.find(binding => binding.from !== undefined);
      return `contract.js:${lineThatNames(from)}: TypeError: ${cannotImport(from)}`;
    } catch {
      return undefined;
    }
  };

  const explain = error =>
    methods
      ? wordsOf(error)
      : explainImport() ?? `${placeIn(stackOf(error))}${wordsOf(error)}`;

  // XS says of a name that is not there only that.
  const explainAbsence = words => {
    const found = /: get ([A-Za-z]+): undefined variable$/.exec(
      words.slice(-80),
    );
    const why =
      found && absent.find(([names]) => names.split(' ').includes(found[1]));
    return why ? `${words}; ${refusal(found[1], why[1], why[2])}` : words;
  };

  const errorReply = (words, error) => [
    'error',
    explainAbsence(words),
    stackOf(error),
  ];

  // The worker asks for it when it has read the delivery's meter.
  const setUnmetered = (report, get) =>
    defineProperty(report, 'result', { get });

  const setBundle = bundle => {
    if (bundle.moduleFormat !== 'gaspipePlain') {
      throw TypeError(`cannot load a bundle of ${bundle.moduleFormat}`);
    }
    contractText = bundle.source;
  };

  const functionsOf = namespace => {
    const found = create(null);
    for (const name of keys(namespace)) {
      if (typeof namespace[name] === 'function') {
        found[name] = namespace[name];
      }
    }
    if (keys(found).length === 0) {
      throw TypeError('the contract exports no function');
    }
    return freeze(found);
  };

  // The contract's name is the same for all: a path would show in the meter.
  const startVat = () => {
    const text = `${contractText}\n//# sourceURL=contract.js\n`;
    const compartment = makeContractCompartment(new ModuleSource(text), {
      store,
      console,
      harden,
      Date: ContractDate,
      TextEncoder,
      TextDecoder,
      Base64,
    });
    methods = functionsOf(compartment.importNow('contract'));
    contractText = undefined;
  };

  const sendMessage = async (target, { methargs, result }) => {
    if (target !== 'o+0') {
      throw TypeError(`a plain contract has no object ${target}`);
    }
    if (methargs.body[0] !== '#' || methargs.slots.length > 0) {
      throw TypeError('a plain contract takes data only');
    }
    const [method, args] = decodeValue(JSON.parse(methargs.body.slice(1)));
    if (!hasOwn(methods, method)) {
      const names = keys(methods).join(', ');
      throw TypeError(`no method ${JSON.stringify(method)}; there are: ${names}`);
    }
    const value = await methods[method](...harden(args));
    if (result) {
      const body = `#${JSON.stringify(encodeValue(value))}`;
      syscall('resolve', [[result, false, { body, slots: [] }]]);
    }
  };

  const deliver = async ([kind, ...args]) => {
    switch (kind) {
      case 'startVat':
        return startVat();
      case 'message':
        return sendMessage(...args);
      default:
        throw TypeError(`a plain contract knows no delivery ${kind}`);
    }
  };

  const handle = async ([tag, ...args]) => {
    switch (tag) {
      case 'setBundle':
        setBundle(args[1]);
        return ['dispatchReady'];
      case 'deliver':
        await deliver(args[0]);
        return ['ok', null];
      default:
        throw TypeError(`no such command: ${tag}`);
    }
  };

  // Every delivery pays a computron for each variable that these functions capture.
  globalThis.handleCommand = bytes => {
    const report = {};
    handle(decode(bytes)).then(
      reply => {
        report.result = encode(reply);
      },
      error => {
        const words = explain(error);
        setUnmetered(report, () => encode(errorReply(words, error)));
      },
    );
    return report;
  };
})();
//# sourceURL=gaspipe/plain.js
