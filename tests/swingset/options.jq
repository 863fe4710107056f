# SPDX-License-Identifier: Apache-2.0
# What kernel.mjs takes, from a case's .json: $bundles is the directory of all bundles of vats.
def file: if startswith("vat-") then "\($bundles)/swingset/\(.).bundle" else "\($bundles)/tests/\(.).bundle" end;
. + {
  vatOptions: (.vatOptions // {}),
  worker: $worker,
  echo: ("device-echo" | file),
  vats: (.vats | del(.vatAdmin) | map_values(file)),
  bundles: (.bundles | map_values(file))
}
