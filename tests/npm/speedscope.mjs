// SPDX-License-Identifier: Apache-2.0
// Reads traces with the importer in npm's package of speedscope.
// usage: speedscope.mjs RELEASE_DIR TRACE...
// Prints for each trace: complaints, profiles, and the first complaint if there is one.
import fs from 'node:fs';
import vm from 'node:vm';

const [directory, ...traces] = process.argv.slice(2);
const name = fs.readdirSync(directory).find(file => /^speedscope-.*\.js$/.test(file));
const program = fs.readFileSync(`${directory}/${name}`, 'utf8');

// The program is one function; its importer of trace events, and what must have run
// before it, are handed out by a line at its beginning. The version is pinned, so are the forms.
const importer = program.match(
    /function (\w+)\(t\)\{return \w+\(t\)\?\w+\(t\):\w+\(t\)\?\w+\(t\.traceEvents\)/);
const beginning = importer && program.slice(importer.index).match(/,(\w+)=\w+\(\(\)=>\{"use strict"/);
if (!beginning || !program.includes('(()=>{')) {
    console.error(`${directory}/${name}: another version of speedscope, whose importer is not found`);
    process.exit(1);
}
const opened = program.replace('(()=>{',
    `(()=>{globalThis.importTrace=t=>(${beginning[1]}(),${importer[1]}(t));`);

let complaints = [];
const context = vm.createContext({
    console: { log() {}, warn: words => complaints.push(words), error: console.error },
});
try {
    vm.runInContext(opened, context);
} catch {
    // The user interface needs a browser.
}
for (const trace of traces) {
    complaints = [];
    const { profiles } = context.importTrace(JSON.parse(fs.readFileSync(trace, 'utf8')));
    console.log([complaints.length, profiles.length, ...complaints.slice(0, 1)].join(' '));
}
