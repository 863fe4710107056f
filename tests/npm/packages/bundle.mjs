// SPDX-License-Identifier: Apache-2.0
// node bundle.mjs PACKAGES DIRECTORY: a bundle DIRECTORY/N.js for each section of work.js, with
// the packages in PACKAGES, and what node makes of it in N.expected. Prints N, the name as a vat has it, and version.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [packages, directory] = process.argv.slice(2).map(part => path.resolve(part));
const { build } = createRequire(path.join(packages, 'package.json'))('esbuild');
const text = await readFile(new URL('work.js', import.meta.url), 'utf8');
const sections = text.split(/^\/\/\/\/ /m).slice(1);

// A result as `gaspipe run --json` prints it: keys in order, no undefined.
const sorted = value =>
  Array.isArray(value)
    ? value.map(sorted)
    : value && typeof value === 'object'
      ? Object.fromEntries(Object.keys(value).sort().map(key => [key, sorted(value[key])]))
      : value ?? null;

await mkdir(directory, { recursive: true });
for (const [number, section] of sections.entries()) {
  const name = section.slice(0, section.indexOf('\n'));
  const outfile = path.join(directory, `${number}.js`);
  await build({
    stdin: { contents: section.slice(name.length), resolveDir: packages },
    outfile,
    bundle: true,
    format: 'esm',
    define: { 'process.env': '{}' },
    logLevel: 'error',
  });
  const { work } = await import(pathToFileURL(outfile));
  await writeFile(path.join(directory, `${number}.expected`), `${JSON.stringify(sorted(await work()))}\n`);
  const { version } = JSON.parse(await readFile(path.join(packages, 'node_modules', name, 'package.json'), 'utf8'));
  console.log(`${number} ${name.replace(/^@/, '').replace('/', '-')} ${version}`);
}
