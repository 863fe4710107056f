// SPDX-License-Identifier: Apache-2.0
// The echo device as SwingSet's kernel runs it: what gaspipe has built in.
import { Far } from '@endo/far';

export function buildRootDeviceNode({ SO, getDeviceState, setDeviceState, endowments }) {
  let { listener, count } = getDeviceState() ?? { listener: undefined, count: 0 };
  const save = () => setDeviceState(harden({ listener, count }));

  endowments.registerTrigger(what => {
    count += 1;
    save();
    if (listener) SO(listener).event(count, what);
  });
  return Far('echo', {
    echo: value => value,
    add: (one, other) => one + other,
    fail(why) {
      throw Error(why);
    },
    subscribe(to) {
      listener = to;
      save();
    },
  });
}
