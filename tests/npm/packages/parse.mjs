// SPDX-License-Identifier: Apache-2.0
// node parse.mjs PACKAGES EVERY: lines that deliver to a vat "parser" each EVERYth file of those packages
// that node parses, as esbuild minifies it and, where it is a script, as it is.
import { readFile, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';

const [packages, every] = [path.resolve(process.argv[2]), Number(process.argv[3])];
const { transform } = createRequire(path.join(packages, 'package.json'))('esbuild');
const longest = 400_000; // characters

const isScript = text => {
  try {
    new vm.Script(`(function (exports, require, module) {${text}\n})`);
    return true;
  } catch {
    return false;
  }
};

const minified = async text => {
  try {
    return (await transform(text, { minify: true, format: 'cjs', target: 'es2022', logLevel: 'silent' })).code;
  } catch {
    return '';
  }
};

const entries = await readdir(path.join(packages, 'node_modules'), { recursive: true, withFileTypes: true });
const files = entries
  .filter(entry => entry.isFile() && /\.[cm]?js$/.test(entry.name))
  .map(entry => path.join(entry.parentPath ?? entry.path, entry.name))
  .sort()
  .filter((_, i) => i % every === 0);
for (const file of files) {
  const text = (await readFile(file, 'utf8')).replace(/^#!.*/, '');
  if (text.length > longest) continue;
  for (const form of [text, await minified(text)]) {
    if (form === '' || !isScript(form)) continue;
    console.log(JSON.stringify({ vat: 'parser', method: 'parse', args: [path.relative(packages, file), form] }));
  }
}
