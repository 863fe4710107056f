// SPDX-License-Identifier: Apache-2.0
// Reads a Perfetto trace by the field numbers of Perfetto's own protos.
// usage: node perfetto_decode.mjs FILE
// Prints `NAME SLICES`, sorted. Fails when a packet is no TracePacket that it knows, when a name
// is used before it is interned, when a slice ends that did not begin, or when a time is not on
// the clock that its sequence has begun with.
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';

// {field: [value, ...]} of a message; values are numbers or bytes.
const read = bytes => {
    const fields = new Map();
    let at = 0;
    const number = () => {
        let value = 0n;
        for (let shift = 0n; ; shift += 7n) {
            assert(at < bytes.length, 'a number ends');
            const byte = bytes[at++];
            value |= BigInt(byte & 127) << shift;
            if (byte < 128) return value;
        }
    };
    while (at < bytes.length) {
        const tag = Number(number()), wire = tag & 7;
        let value;
        if (wire === 0) {
            value = Number(number());
        } else {
            assert.equal(wire, 2, 'numbers and bytes only');
            const length = Number(number());
            assert(at + length <= bytes.length, 'a message ends within its own');
            value = bytes.subarray(at, (at += length));
        }
        if (!fields.has(tag >> 3)) fields.set(tag >> 3, []);
        fields.get(tag >> 3).push(value);
    }
    return fields;
};
const one = (fields, field) => fields.get(field)?.[0];

const sequences = new Map();
const counts = new Map();

const beginSequence = (id, packet) => {
    const snapshot = read(one(packet, 6)); // clock_snapshot
    const clocks = snapshot.get(1).map(read).map(clock => [one(clock, 1), one(clock, 2), one(clock, 3)]);
    const [[monotonic, start], [own, ownStart, incremental]] = clocks;
    assert.deepEqual([monotonic, own, incremental, one(snapshot, 2)], [3, 64, 1, 3]);
    assert.equal(start, ownStart);
    const defaults = read(one(packet, 59)); // trace_packet_defaults
    assert.equal(one(defaults, 58), own);
    sequences.set(id, { track: one(read(one(defaults, 11)), 11), names: new Map(), open: 0 });
};

const take = packet => {
    const id = one(packet, 10), flags = one(packet, 13);
    if (flags === 1) return beginSequence(id, packet);
    const sequence = sequences.get(id);
    assert(sequence, 'a sequence begins before it goes on');
    if (packet.has(60)) // track_descriptor
        return assert.equal(one(read(one(packet, 60)), 1), sequence.track);
    assert.equal(flags, 2);
    assert(one(packet, 8) >= 0, 'a time');
    for (const name of packet.has(12) ? read(one(packet, 12)).get(2).map(read) : [])
        sequence.names.set(one(name, 1), one(name, 2).toString());
    const event = read(one(packet, 11)), begins = one(event, 9) === 1;
    sequence.open += begins ? 1 : -1;
    assert(sequence.open >= 0, 'a slice that began ends');
    if (!begins) return assert.equal(one(event, 9), 2);
    const name = sequence.names.get(one(event, 10));
    assert(name, 'the name was interned');
    counts.set(name, (counts.get(name) ?? 0) + 1);
};

for (const packet of read(readFileSync(process.argv[2])).get(1)) take(read(packet));
for (const line of [...counts].map(([name, count]) => `${name} ${count}`).sort()) console.log(line);
