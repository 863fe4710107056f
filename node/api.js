// SPDX-License-Identifier: Apache-2.0
// Replaces @agoric/xsnap/api.js: the worker's exit statuses and the client's errors.

/** The unit of `compute`, by the name of npm's xsnap; gaspipe-worker counts the same computrons. */
export const METER_TYPE = 'xs-meter-36';

/** Exit statuses of the worker. */
export const ExitCode = {
  E_UNKNOWN_ERROR: -1,
  E_SUCCESS: 0,
  E_BAD_USAGE: 1,
  E_IO_ERROR: 2,
  E_NOT_ENOUGH_MEMORY: 11,
  E_STACK_OVERFLOW: 12,
  E_UNHANDLED_EXCEPTION: 15,
  E_NO_MORE_KEYS: 16,
  E_TOO_MUCH_COMPUTATION: 17,
};

/** The meaning of each status. */
export const ErrorMessage = Object.fromEntries([
  [ExitCode.E_UNKNOWN_ERROR, 'unknown error'],
  [ExitCode.E_BAD_USAGE, 'bad argument usage'],
  [ExitCode.E_IO_ERROR, 'I/O error'],
  [ExitCode.E_NOT_ENOUGH_MEMORY, 'not enough memory'],
  [ExitCode.E_STACK_OVERFLOW, 'stack overflow'],
  [ExitCode.E_UNHANDLED_EXCEPTION, 'unhandled exception'],
  [ExitCode.E_NO_MORE_KEYS, 'property (key) name space exhausted'],
  [ExitCode.E_TOO_MUCH_COMPUTATION, 'too much computation'],
]);

/** A signal ended the worker; `code` is its name. */
export class ErrorSignal extends Error {
  constructor(signal, ...rest) {
    super(...rest);
    this.name = 'ExitSignal';
    this.code = signal;
  }
}

/** The worker exited by itself; `code` is its exit status. */
export class ErrorCode extends Error {
  constructor(code, ...rest) {
    super(...rest);
    this.name = 'ExitCode';
    this.code = code;
  }
}

// Under lockdown, the classes must not change.
globalThis.harden?.(ErrorSignal);
globalThis.harden?.(ErrorCode);
