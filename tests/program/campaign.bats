#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A short campaign of kills; `make campaign` runs a long one.

load common

# campaign OPTION...
campaign() {
    run env BUILD="$NATIVE" "$ROOT/tests/campaign/campaign" "$@"
    assert_status 0
    assert_output_has 'every store and every line as without'
}

@test "killing supervisor and workers does not change the outcome" {
    campaign -n 12 calls
}

@test "nor while vats are created, upgraded and terminated" {
    campaign -n 6 upgrades
}

@test "nor while eight vats trade" {
    campaign -n 3 exchange --max-workers 6
}

@test "nor under the counter, with the same instructions" {
    NATIVE=$BUILD campaign -n 4 -c qemu calls
}
