// SPDX-License-Identifier: Apache-2.0
import type { ChildProcess } from 'node:child_process';

/** What a command cost. */
export interface MeterUsage {
  meterType: string;
  /** Computrons; null: the worker did not say. */
  compute: number | null;
  /** Bytes of the engine's heap. */
  allocate: number | null;
  currentHeapCount: number | null;
  /** Seconds since the epoch: the worker's, of each frame. */
  timestamps: number[] | null;
  /** Nanoseconds of CLOCK_MONOTONIC: the worker's, of each frame. */
  monotimes?: number[];
  /** Those of this client, of each frame sent or received. */
  clientTimestamps: number[];
  clientMonotimes: number[];
  [member: string]: unknown;
}

export interface RunResult<T> {
  reply: T;
  meterUsage: MeterUsage;
}

type Output = 'ignore' | 'inherit' | 'pipe';

export interface XSnapOptions {
  /** os.type(); only 'Linux' is supported. */
  os: string;
  /** As child_process.spawn(). */
  spawn: (command: string, args: string[], options: object) => ChildProcess;
  /** The functions of node:fs and node:fs/promises, and tmp's tmpName(). */
  fs: object;
  name?: string;
  /** Answers what the worker asks; without it, each question is its own answer. */
  handleCommand?: (request: Uint8Array) => Promise<Uint8Array>;
  /** Bytes of a frame from the worker at most. */
  netstringMaxChunkSize?: number;
  /** KiB for the parser. */
  parserBufferSize?: number;
  /** The worker starts from this snapshot. */
  snapshotStream?: AsyncIterable<Uint8Array>;
  snapshotDescription?: string;
  /** Snapshots go through temporary files instead of pipes. */
  snapshotUseFs?: boolean;
  stdout?: Output;
  stderr?: Output;
  /** Most computrons of a command; 0: no limit. */
  meteringLimit?: number;
  env?: Record<string, string | undefined>;
  debug?: boolean;
  /** Microseconds to wait for a frame outside of the event loop; default 500. */
  syncWait?: number;
  /** 'same': the worker runs on this thread's CPU while a frame is awaited. */
  placement?: 'same' | 'none';
}

export interface XSnap {
  readonly name: string;
  evaluate(code: string): Promise<RunResult<Uint8Array>>;
  execute(fileName: string): Promise<void>;
  import(fileName: string): Promise<void>;
  issueCommand(message: Uint8Array): Promise<RunResult<Uint8Array>>;
  issueStringCommand(message: string): Promise<RunResult<string>>;
  isReady(): Promise<void>;
  makeSnapshotStream(description?: string): AsyncGenerator<Uint8Array, void, undefined>;
  /** Ends the worker after the commands that were issued; rejects if it fails. */
  close(): Promise<void>;
  /** Ends the worker at once. */
  terminate(): Promise<void>;
}

export const DEFAULT_CRANK_METERING_LIMIT: number;
export function xsnap(options: XSnapOptions): Promise<XSnap>;
export function recordXSnap(
  options: XSnapOptions,
  folder: string,
  io: { writeFileSync: typeof import('node:fs').writeFileSync },
): Promise<XSnap>;
export function replayXSnap(
  options: XSnapOptions,
  folders: string[],
  io: {
    readdirSync: typeof import('node:fs').readdirSync;
    readFileSync: typeof import('node:fs').readFileSync;
  },
): Promise<[folder: string, step: number, kind: string][]>;

export const METER_TYPE: string;
export const ExitCode: Record<string, number>;
export const ErrorMessage: Record<number, string>;
export class ErrorCode extends Error {
  code: number;
}
export class ErrorSignal extends Error {
  code: string;
}
