#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A short campaign of kills; `make campaign` is the long one.

load common

# campaign OPTION...
campaign() {
    run env BUILD="$NATIVE" "$ROOT/tests/campaign/campaign" "$@"
    assert_status 0
    assert_output_has 'every store and every line as without'
}

@test "a run whose supervisor and workers are killed comes to what it would have" {
    campaign -n 12 calls
}

@test "so it does when vats are made, upgraded and ended meanwhile" {
    campaign -n 6 upgrades
}

@test "so it does when eight vats trade" {
    campaign -n 3 exchange --max-workers 6
}

@test "so it does under the counter, with the same instructions" {
    NATIVE=$BUILD campaign -n 4 -c qemu calls
}
