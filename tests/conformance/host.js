// SPDX-License-Identifier: Apache-2.0
// The functions that tc39/test262 expects of its host, as far as a worker has them (INTERPRETING.md
// there). What tests print is kept in $262.said.
{
  const said = [];
  const collect = globalThis.gc;
  const evaluate = globalThis.eval;
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, {
      value,
      writable: true,
      configurable: true,
    });

  define('print', text => {
    said.push(String(text));
  });
  define('$262', {
    evalScript: source => evaluate(source),
    detachArrayBuffer: buffer => {
      buffer.transfer();
    },
    gc: () => collect(),
    global: globalThis,
    said,
  });
}
