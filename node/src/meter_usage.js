// SPDX-License-Identifier: Apache-2.0
// What a command cost, with the moments of its frames.
import { METER_TYPE } from '../api.js';

const NO_METER = { compute: null, allocate: null, currentHeapCount: null, timestamps: [] };

// SwingSet's kernel hardens each result, which costs half a microsecond for every element of an
// array. harden() does not call getters, so the moments are made when they are asked for.
const momentsOf = new WeakMap();
const moments = Object.fromEntries(
  Object.entries({
    monotimes: ({ worker }) => worker,
    clientTimestamps: ({ client, clockOffset }) =>
      client.map(time => Math.round(clockOffset + time / 1000) / 1e6),
    clientMonotimes: ({ client }) => client,
  }).map(([name, make]) => {
    const get = function get() {
      const kept = momentsOf.get(this);
      return kept && Object.freeze(make(kept));
    };
    // One function for all results: what harden() has met once, it does not visit again.
    return [name, { get: Object.freeze(get), enumerable: true }];
  }),
);

/**
 * @param {object | undefined} meter what the worker says, if it says anything
 * @param {object} times of the frames that the client sent and received
 * @param {number[]} times.client nanoseconds of CLOCK_MONOTONIC
 * @param {number} times.clockOffset microseconds by which the time since the epoch is ahead of it
 */
export const makeMeterUsage = (meter = NO_METER, { client, clockOffset }) => {
  const usage = { meterType: METER_TYPE, ...meter };
  momentsOf.set(usage, { worker: meter?.monotimes, client, clockOffset });
  // It keeps its place among the members, which the slog shows.
  if (Array.isArray(meter?.monotimes)) Object.defineProperty(usage, 'monotimes', moments.monotimes);
  Object.defineProperty(usage, 'clientTimestamps', moments.clientTimestamps);
  Object.defineProperty(usage, 'clientMonotimes', moments.clientMonotimes);
  return usage;
};
