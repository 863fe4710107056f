#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A short campaign; `make campaign` runs a long one, with upgrades, vats that trade, and the counter
# as well.

load common

# campaign OPTION...
campaign() {
    run env BUILD="$NATIVE" "$ROOT/tests/campaign/campaign" "$@"
    assert_status 0
    assert_output_has 'every store and every line as without'
}

@test "killing supervisor and workers does not change the outcome" {
    campaign -n 2 calls
}

# ---- other kinds ----

# faults KIND OPTION...: no run of that kind finds a fault.
faults() {
    run env BUILD="$BUILD" "$ROOT/tests/campaign/faults" -n 2 "${@:2}" "$1"
    [ "$status" -ne 3 ] || skip "$1 cannot be tried on this machine"
    assert_status 0
    assert_equal "${lines[-1]}" "$1 2 0"
}

@test "signals within batches of lines do not change the outcome" {
    faults batches
}

@test "nor does a full disk" {
    faults disk
}

@test "nor do workers that lie" {
    faults workers
}

@test "a lying worker that does not compile is no machine where it cannot be tried" {
    run env BUILD="$BUILD" CC=false "$ROOT/tests/campaign/faults" -n 1 workers
    assert_status 2
    assert_output_has 'does not compile'
}

@test "nor do limits of the stack and other low limits" {
    faults stack
    faults rlimits
}

@test "nor do descriptors that are closed or left open" {
    faults descriptors
}

@test "hostile contracts hurt themselves alone" {
    faults contracts -s 3
}

@test "a campaign notices what is lost, and its table says so" {
    mkdir "$BATS_TEST_TMPDIR/build"
    cd "$BATS_TEST_TMPDIR/build"
    # It loses the last line, except in the run that the others are compared with.
    cat > gaspipe << END
#!/bin/bash
[[ \$* != *--store\ store* ]] || { head -n -1 lines > some && set -- "\${@:1:\$#-1}" some; }
exec "$NATIVE/gaspipe" "\$@"
END
    chmod +x gaspipe
    ln -s "$NATIVE/gaspipe-worker" .
    for jobs in 1 2; do
        run env BUILD="$PWD" "$ROOT/tests/campaign/all" -n 1 -s 1 -j $jobs descriptors rlimits
        assert_status 1
        assert_output_has 'the stores differ'
        [[ $output =~ descriptors\ +1\ +[1-9].*rlimits\ +1\ +[0-9] ]] || fail "$output"
    done
}

@test "nor is a process harmed by gaspipe trace" {
    run --separate-stderr env BUILD="$BUILD" "$ROOT/tests/campaign/attach" -n 4 everything alone
    [ "$status" -ne 3 ] || skip 'tracing is forbidden on this machine'
    assert_status 0
    assert_equal "$output" 'attach 4 0'
}
