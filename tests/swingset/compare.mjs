// SPDX-License-Identifier: Apache-2.0
// Compares two kernels by their slogfiles, line by line in order: cranks, deliveries with
// kd and vd, syscalls with ksc and vsc and their answers, results with computrons, changes
// of c-lists, vats made and ended, snapshots, what vats said. What depends on the time, the
// host or the way in which a kernel hashes is left out.
// usage: node compare.mjs THEIRS GASPIPE
// Prints the first differences, or `same: N lines`. Exit status: 0 the same, 1 they differ.
import fs from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

const pick = (object, ...names) => Object.fromEntries(names.map(name => [name, object[name]]));
const crank = line => pick(line, 'crankType', 'crankNum', 'messageType', 'message');
// SwingSet keeps no meter of a delivery that a limit has stopped; gaspipe records its use.
const kept = (problem, meter) =>
  /meter exceeded$/.test(problem) ? {} : pick(meter ?? {}, 'compute', 'allocate');
const compared = {
  'crank-start': crank,
  deliver: line => pick(line, 'crankNum', 'vatID', 'deliveryNum', 'dispatch', 'kd', 'vd'),
  'deliver-result': ({ crankNum, vatID, deliveryNum, dr: [status, problem, meter] }) => ({
    // SwingSet notes liveslots' own statistics after some that are ok.
    ...{ crankNum, vatID, deliveryNum, status, problem: status === 'ok' ? null : problem },
    ...kept(problem, meter),
  }),
  syscall: line => pick(line, 'crankNum', 'vatID', 'deliveryNum', 'syscallNum', 'ksc', 'vsc'),
  'syscall-result': line => pick(line, 'crankNum', 'vatID', 'syscallNum', 'ksr', 'vsr'),
  clist: line => pick(line, 'crankNum', 'mode', 'vatID', 'kobj', 'vobj'),
  console: line => pick(line, 'vatID', 'crankNum', 'deliveryNum', 'level', 'args'),
  terminate: line => pick(line, 'vatID', 'shouldReject', 'info'),
  'heap-snapshot-save': line => pick(line, 'vatID', 'snapshotID', 'uncompressedSize'),
};

// SwingSet also snapshots a worker that it is about to end.
const isLast = (line, next) =>
  line.type === 'heap-snapshot-save' && next?.type === 'terminate' && next.vatID === line.vatID;

const linesOf = file =>
  fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter(text => text)
    .map(text => JSON.parse(text))
    .filter(line => line.type in compared && !line.replay)
    .filter(line => line.type !== 'console' || line.vatID)
    .filter((line, i, lines) => !isLast(line, lines[i + 1]))
    .map(line => ({ type: line.type, ...JSON.parse(JSON.stringify(compared[line.type](line))) }));

// SwingSet queues bootstrap() before the vats have started, and writes no line on what it
// exports for that; gaspipe reads it afterwards. So only what vats were sent, asked and
// answered is compared up to there, and without the cranks' numbers.
const sinceBootstrap = lines => {
  const first = lines.findIndex(({ type, dispatch }) => type === 'deliver' && dispatch === 'message');
  const { crankNum } = lines[first];
  return lines
    .filter((line, i) => i >= first || !['crank-start', 'clist'].includes(line.type) || line.crankNum === crankNum)
    .map(line => (line.crankNum < crankNum ? { ...line, crankNum: 'before' } : line));
};

const [theirs, ours] = process.argv.slice(2).map(linesOf).map(sinceBootstrap);
let shown = 0;
for (let i = 0; i < Math.max(theirs.length, ours.length) && shown < 5; i += 1) {
  if (!isDeepStrictEqual(theirs[i], ours[i])) {
    shown += 1;
    console.log(`line ${i} of those that are compared\n  theirs: ${JSON.stringify(theirs[i])}`);
    console.log(`  ours:   ${JSON.stringify(ours[i])}`);
  }
}
if (shown) process.exit(1);
console.log(`same: ${ours.length} lines`);
