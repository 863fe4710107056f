/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/warm/warm_up.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/json_text.h"

/* Nobody sees what comes of it: it leads to much of an engine's code. */
static const char exercise[] =
    "'use strict';\n"
    "// Forms of the language first, and then what comes with it.\n"
    "class Point {\n"
    "  #hidden = 0;\n"
    "  static origin = [0, 0];\n"
    "  constructor(x, y = 1) { this.x = x; this.y = y; }\n"
    "  get sum() { this.#hidden += 1; return this.x + this.y; }\n"
    "  set sum(value) { this.x = value - this.y; }\n"
    "  toString() { return `(${this.x}, ${this.y})`; }\n"
    "}\n"
    "class Named extends Point {\n"
    "  constructor(name, ...rest) { super(...rest); this.name = name; }\n"
    "  toString() { return `${this.name} ${super.toString()}`; }\n"
    "}\n"
    "function* count(to) { for (let i = 0; i < to; i += 1) yield i; }\n"
    "const wait = async value => { await null; return value; };\n"
    "const flow = (list, { limit = 9, skip } = {}) => {\n"
    "  let found = 0;\n"
    "  outer: for (const [index, item] of list.entries()) {\n"
    "    switch (typeof item) {\n"
    "      case 'number': found += item % 3 ? item : item >> 1; break;\n"
    "      case 'string': found += item.length; continue outer;\n"
    "      default: if (item?.deep ?? false) break outer;\n"
    "    }\n"
    "    if (index > limit || index === skip) break;\n"
    "  }\n"
    "  do { found -= 1; } while (found > 100 && found !== 7);\n"
    "  for (const key in { a: 1, b: 2 }) found += key.length;\n"
    "  return found;\n"
    "};\n"
    "const texts = n => {\n"
    "  const words = 'the quick brown fox jumps over the lazy dog'.split(' ');\n"
    "  words.push(String(n), n.toString(16), (n / 7).toFixed(3), '\\u00e9\\u{1f600}');\n"
    "  const text = words.map(w => w.toUpperCase().padStart(6, '.')).join('-');\n"
    "  const found = [...text.matchAll(/([A-Z]+)-(?<next>[^-]*)/gu)].map(m => m.groups.next);\n"
    "  return [text.replace(/o(.)/gi, (all, one) => one + all), text.indexOf('FOX'),\n"
    "    text.slice(3, -3).trim().startsWith('A'), parseInt('42', 10), Number('1.5e3'),\n"
    "    encodeURIComponent(text), /^\\s*(?:a|b)+$/.test(text), text < 'b', found.length,\n"
    "    text.charCodeAt(4), text.normalize(), text.codePointAt(1), text.lastIndexOf('O')];\n"
    "};\n"
    "const lists = n => {\n"
    "  const numbers = Array.from({ length: n }, (_, i) => (i * 7919) % 10007);\n"
    "  const sorted = [...numbers].sort((p, q) => p - q);\n"
    "  sorted.splice(2, 3, 'x', ...count(4));\n"
    "  const even = sorted.filter(x => x % 2 === 0).reduce((sum, x) => sum + x, 0);\n"
    "  return [even, sorted.includes(3), sorted.indexOf('x'), sorted.slice(1).reverse().shift(),\n"
    "    numbers.some(x => x > 9), numbers.every(Number.isInteger), sorted.concat([[1]]).flat(),\n"
    "    numbers.findIndex(x => x === 4), Math.max(...numbers) ** 0.5, Math.floor(n / 3), "
    "sorted.pop(),\n"
    "    [sorted.unshift(0), [3, 1, 2].sort(), ['b', 'a'].sort()]];\n"
    "};\n"
    "const objects = n => {\n"
    "  const map = new Map(), set = new Set(), weak = new WeakMap(), sign = Symbol('sign');\n"
    "  for (let i = 0; i < n; i += 1) {\n"
    "    const key = { i };\n"
    "    map.set(i % 2 ? key : `k${i}`, i); set.add(key); weak.set(key, [i]);\n"
    "    if (!map.has(key)) set.delete(key);\n"
    "  }\n"
    "  const { a, ...others } = { a: 1, [sign]: 2, ['b' + n]: 3, get c() { return 4; }, m() {} };\n"
    "  const whole = Object.freeze(Object.assign(Object.create({ inherited: 1 }), others, { a "
    "}));\n"
    "  Object.defineProperty({}, 'p', { value: 1, enumerable: false });\n"
    "  const proxy = new Proxy({}, { get: (_, name) => name, has: () => true });\n"
    "  let thrown = '';\n"
    "  try { whole.a = 2; null.x; } catch (error) { thrown = `${error}`; } finally { set.clear(); "
    "}\n"
    "  delete others.c;\n"
    "  return [Object.entries(whole), Reflect.ownKeys(whole).length, 'a' in whole, proxy.z, "
    "thrown,\n"
    "    Object.getOwnPropertyDescriptors(others), whole instanceof Object, "
    "[...map.values()].length,\n"
    "    Object.isFrozen(whole), Object.fromEntries([['q', 1]]), Object.getPrototypeOf(whole)];\n"
    "};\n"
    "const numbers = n => {\n"
    "  const big = 2n ** 70n + BigInt(n), bytes = new Uint8Array(64), view = new "
    "DataView(bytes.buffer);\n"
    "  view.setUint32(4, n); bytes.fill(7, 8, 20); bytes.set([1, 2, 3], 30);\n"
    "  let mix = n | 0;\n"
    "  for (const byte of bytes.subarray(2, 40)) mix = (mix * 31 + byte) ^ (mix >>> 3);\n"
    "  return [`${big * 3n - 1n}`, `${big / 7n % 1000n}`, big > 5n, BigInt.asUintN(64, big) === "
    "0n,\n"
    "    mix & 255, ~mix, -mix, 0.1 + 0.2, 1e21, NaN === NaN, Number.MAX_SAFE_INTEGER, n / 0, mix "
    "% 7];\n"
    "};\n"
    "const json = value => JSON.parse(JSON.stringify({ value, list: [1, -2.5, null, true, "
    "'a\\\"b\\n'] }));\n"
    "const work = async n => {\n"
    "  const made = [new Named('point', n, 2), Point.origin].map(String);\n"
    "  const point = new Point(n); point.sum += 2;\n"
    "  const values = await Promise.all([wait(1), flow(texts(n)), flow(lists(3 * n), { skip: 2 "
    "})]);\n"
    "  await Promise.reject(Error('no')).catch(() => {});\n"
    "  const recursive = m => (m < 2 ? m : recursive(m - 1) + recursive(m - 2));\n"
    "  return json([made, values, objects(n), numbers(n), recursive(8), [...count(3)], "
    "point.sum])\n"
    "    .list.length;\n"
    "};\n";

/* The same as a bundle for liveslots, in a vat that keeps something. */
static const char liveslots_begin[] = "function getExport() {\n";
static const char liveslots_end[] =
    "  const Far = (name, methods) => harden(Object.setPrototypeOf(methods, harden(Object.create(\n"
    "    Object.prototype, { [Symbol.for('passStyle')]: { value: 'remotable' },\n"
    "      [Symbol.toStringTag]: { value: `Alleged: ${name}` } }))));\n"
    "  const buildRootObject = (vatPowers, vatParameters, baggage) => {\n"
    "    const { makeScalarBigMapStore, makeScalarBigSetStore, defineDurableKind,\n"
    "      makeKindHandle } = VatData;\n"
    "    const kept = makeScalarBigMapStore('kept', { durable: true });\n"
    "    baggage.init('kept', kept);\n"
    "    const make = defineDurableKind(makeKindHandle('Kind'), n => ({ n }),\n"
    "      { add: ({ state }, by) => { state.n += by; return state.n; } });\n"
    "    return Far('root', {\n"
    "      work: async (n, peer) => {\n"
    "        const thing = make(n);\n"
    "        kept.init(`k${n}`, harden({ n, deep: [1, 'a', null, { b: 2n }], thing }));\n"
    "        kept.set(`k${n}`, thing.add(2));\n"
    "        makeScalarBigSetStore('set').add(thing);\n"
    "        const found = [...kept.keys()].concat([...kept.values()]);\n"
    "        if (peer) await HandledPromise.applyMethod(peer, 'get', [n, thing]);\n"
    "        else kept.delete(`k${n}`);\n"
    "        return harden([await work(n), found, thing, Far('other', { get: () => n })]);\n"
    "      },\n"
    "    });\n"
    "  };\n"
    "  return { buildRootObject };\n"
    "}\n";

/* And as a plain contract. */
static const char plain_end[] = "export { work };\n";

static bool send(const struct engine_ops *ops, struct engine *engine, const char *command)
{
    static const char ok[] = "[\"ok\"";
    const struct engine_result result =
        ops->deliver(engine, (struct iovec){(char *)command, strlen(command)});

    return result.outcome == ENGINE_OK && result.text.iov_len >= strlen(ok) &&
           memcmp(result.text.iov_base, ok, strlen(ok)) == 0;
}

static void set_bundle(const struct engine_ops *ops, struct engine *engine, const char *format,
                       const char *const parts[3])
{
    struct buf source = {0}, command = {0};

    for (int i = 0; i < 3; i++)
        buf_append_string(&source, parts[i]);
    buf_printf(&command, "[\"setBundle\",\"v1\",{\"moduleFormat\":\"%s\",\"source\":", format);
    json_text_string(&command, source.data, source.length);
    buf_append_string(&command, "},{\"enableDisavow\":false,\"relaxDurabilityRules\":false}]");
    if (!buf_failed(&source) && buf_string(&command) != NULL)
        (void)send(ops, engine, buf_string(&command));
    buf_free(&source);
    buf_free(&command);
}

/* False: the bundle was not for this runtime. */
static bool run_vat(const struct engine_ops *ops, struct engine *engine)
{
    static const char *const deliveries[] = {
        "[\"deliver\",[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"work\\\",[2,"
        "\\\"$0.Alleged: peer\\\"]]\",\"slots\":[\"o-50\"]},\"result\":\"p-60\"}]]",
        "[\"deliver\",[\"notify\",[[\"p+5\",false,{\"body\":\"#{\\\"a\\\":1}\",\"slots\":[]}]]]]",
        "[\"deliver\",[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"work\\\",[3]]\","
        "\"slots\":[]},\"result\":\"p-61\"}]]",
        "[\"deliver\",[\"dropExports\",[\"o+11\"]]]",
        "[\"deliver\",[\"bringOutYourDead\"]]",
    };

    if (!send(ops, engine, "[\"deliver\",[\"startVat\",{\"body\":\"#{}\",\"slots\":[]}]]"))
        return false;
    for (size_t i = 0; i < sizeof deliveries / sizeof *deliveries; i++)
        (void)send(ops, engine, deliveries[i]);
    return true;
}

void warm_up_run(const struct engine_ops *ops, struct engine *engine)
{
    set_bundle(ops, engine, "getExport",
               (const char *const[3]){liveslots_begin, exercise, liveslots_end});
    if (run_vat(ops, engine))
        return;
    set_bundle(ops, engine, "gaspipePlain", (const char *const[3]){exercise, plain_end, ""});
    (void)run_vat(ops, engine);
}
