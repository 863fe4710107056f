// SPDX-License-Identifier: Apache-2.0
export { xsnap, DEFAULT_CRANK_METERING_LIMIT } from './xsnap.js';
export { ExitCode, ErrorMessage, ErrorCode, ErrorSignal, METER_TYPE } from '../api.js';
export { recordXSnap, replayXSnap } from './replay.js';
