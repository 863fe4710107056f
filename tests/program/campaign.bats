#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A short campaign of kills; `make campaign` is the long one.

load common

@test "a run whose supervisor and workers are killed comes to what it would have" {
    run env BUILD="$NATIVE" "$ROOT/tests/campaign/campaign" -n 20
    assert_status 0
    assert_output_has 'every store and every line as without'
}

@test "so it does under the counter, with the same instructions" {
    run env BUILD="$BUILD" "$ROOT/tests/campaign/campaign" -n 4 -c qemu
    assert_status 0
    assert_output_has 'every store and every line as without'
}
