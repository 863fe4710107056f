// Objects with many properties, each compared with a Map of what it should hold.
let seed = 7;
const random = n => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
};

class Holder {
    constructor(object) {
        return object;
    }
}
class Tagged extends Holder {
    #first = 5;
    #second = 6;
    static sum(object) {
        return object.#first + object.#second;
    }
}

const symbols = Array.from({ length: 40 }, (_, i) => Symbol(`s${i}`));
const objects = [{}, [], function named() {}, new Map(), Object.create({ inherited: 1 }), new Error('e')];
const models = objects.map(() => new Map());
const tagged = new Set();

const same = (found, expected, what) => {
    if (found !== expected) throw Error(`${what}: ${String(found)} instead of ${String(expected)}`);
};
const sameKeys = (object, model) => {
    const found = Reflect.ownKeys(object).filter(key => model.has(key));
    const expected = [...model.keys()];
    const ordered = [
        ...expected.filter(key => typeof key === 'string'),
        ...expected.filter(key => typeof key === 'symbol'),
    ];
    same(found.length, ordered.length, 'number of keys');
    ordered.forEach((key, i) => same(found[i], key, `key ${i}`));
};

const sameLoop = (object, model) => {
    const found = [];
    for (const key in Object.create(object, Object.getOwnPropertyDescriptors(object))) {
        if (model.has(key)) found.push(key);
    }
    same(found.join(), [...model.keys()].filter(key => typeof key === 'string').join(), 'keys of a loop');
};

const steps = [
    (object, model, key, i) => { object[key] = i; model.set(key, i); },
    (object, model, key, i) => { object[key] = i; model.set(key, i); },
    (object, model, key) => same(object[key], model.get(key), 'value'),
    (object, model, key) => same(Object.hasOwn(object, key), model.has(key), 'has'),
    (object, model, key) => { delete object[key]; model.delete(key); },
    (object, model, key, i) => {
        Object.defineProperty(object, key, { value: i, writable: true, enumerable: true, configurable: true });
        model.set(key, i);
    },
];
const rareSteps = [
    sameKeys,
    sameLoop,
    object => {
        if (!tagged.has(object)) tagged.add(new Tagged(object));
        same(Tagged.sum(object), 11, 'private fields');
    },
    object => { object[random(9)] = 1; delete object[random(9)]; },
    (object, model) => { for (const key of model.keys()) delete object[key]; model.clear(); },
];

// Rounds of random steps on keys of so many names.
export const change = (rounds, names) => {
    for (let i = 0; i < rounds; i++) {
        const at = random(objects.length);
        const key = random(10) === 0 ? symbols[random(40)] : `k${random(names)}`;
        const step = random(1000) === 0 ? rareSteps[random(5)] : steps[random(steps.length)];

        step(objects[at], models[at], key, i);
    }
    objects.forEach((object, i) => sameKeys(object, models[i]));
    return models.map(model => model.size);
};
