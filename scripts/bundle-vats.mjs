// SPDX-License-Identifier: Apache-2.0
// Bundles vats for SwingSet with @endo/bundle-source, as zip files in JSON.
// usage: node scripts/bundle-vats.mjs MODULES DIR SOURCE...
// MODULES is the node_modules directory that contains @endo/bundle-source; SOURCE.js becomes
// DIR/SOURCE.bundle. The same sources give the same bundles, whatever the directory.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, directory, ...sources] = process.argv.slice(2);
if (!sources.length) {
  console.error('usage: node scripts/bundle-vats.mjs MODULES DIR SOURCE...');
  process.exit(2);
}
const load = file => import(pathToFileURL(path.resolve(modules, file)).href);
await load('@endo/init/pre-bundle-source.js');
await load('@endo/init/index.js');
const { default: bundleSource } = await load('@endo/bundle-source/src/index.js');

fs.mkdirSync(directory, { recursive: true });
for (const source of sources) {
  const bundle = await bundleSource(path.resolve(source), { format: 'endoZipBase64' });
  const file = path.join(directory, `${path.basename(source, '.js')}.bundle`);
  // Whole or not at all: make takes an existing file to be complete.
  fs.writeFileSync(`${file}.new`, JSON.stringify(bundle));
  fs.renameSync(`${file}.new`, file);
}
