// SPDX-License-Identifier: Apache-2.0
// Prints a package.json of what agoric-sdk's packages need from npm, in the versions of its yarn.lock.
// usage: node sdk-dependencies.mjs YARN-LOCK PACKAGE-JSON...
import { readFileSync } from 'node:fs';

const [lock, ...packages] = process.argv.slice(2);
const locked = new Map();
for (const [, names, version] of readFileSync(lock, 'utf8').matchAll(/^"?([^\s#].*?)"?:\n {2}version: (\S+)$/gm)) {
    for (const name of names.split(', ')) locked.set(name, version);
}

const dependencies = {};
for (const file of packages) {
    const contents = JSON.parse(readFileSync(file, 'utf8'));
    for (const [name, range] of Object.entries({ ...contents.devDependencies, ...contents.dependencies })) {
        // agoric-sdk patches its ava, for yarn's way of storing packages; npm's own does here.
        if (!range.startsWith('workspace:')) dependencies[name] = locked.get(`${name}@npm:${range}`) ?? range;
    }
}

// One instance of SES hardens all: nested copies of @endo's packages would bring others.
const overrides = {};
for (const [name, version] of locked) {
    const [, base] = name.match(/^(@endo\/[^@]+|ses)@npm:/) ?? [];
    if (base !== undefined) overrides[base] = dependencies[base] ?? version;
}
console.log(JSON.stringify({ name: 'sdk', private: true, dependencies, overrides }));
