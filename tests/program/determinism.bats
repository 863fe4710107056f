#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The same deliveries cost the same, wherever and however they run.

load common

teardown() {
    idle_again
}

# costs COMMAND...: computrons and instructions of each delivery in its output.
costs() {
    "$@" 2> /dev/null | jq -c 'select(.kind == "delivery") | [.compute, .instructions]'
}

# The programs and examples in the directory $1.
install_into() {
    mkdir -p "$1"
    cp "$BUILD"/{gaspipe,gaspipe-worker,gaspipe-sandbox,libgascount.so} "$1/"
    [ ! -e "$BUILD/gaspipe-qemu" ] || cp "$BUILD/gaspipe-qemu" "$1/"
    cp -r "$ROOT/examples" "$1/"
    chmod -R a+rX "$BATS_TEST_TMPDIR"
}

# run_example NAME: a command to be run in the current directory.
run_example() {
    printf '%s\n' ./gaspipe run --json --vat "$1=examples/$1/contract.js" \
        "examples/$1/deliveries.jsonl"
}

@test "same computrons and instructions from other directories, environments, limits" {
    local name expected long
    long=$BATS_TEST_TMPDIR/$(printf 'x%.0s' {1..150})

    install_into "$BATS_TEST_TMPDIR/a"
    install_into "$long"
    for name in token digest index; do
        mapfile -t command < <(run_example $name)
        expected=$(cd "$BATS_TEST_TMPDIR/a" && costs "${command[@]}")
        [ "$(wc -l <<< "$expected")" -ge 5 ]
        assert_equal "$(cd "$long" && costs "${command[@]}")" "$expected" "a long directory"
        assert_equal "$(cd "$long" && costs env -i PATH="$PATH" "${command[@]}")" "$expected" \
            "no environment"
        assert_equal "$(cd "$long" && costs env LANG=de_DE.UTF-8 TZ=Asia/Tokyo USER=somebody \
            LOGNAME=somebody MALLOC_ARENA_MAX=1 X="$(seq -s ' ' 9999)" "${command[@]}")" \
            "$expected" "a long environment"
        assert_equal "$(cd "$long" && ulimit -s 1024 && ulimit -n 64 &&
            costs nice -n 5 "${command[@]}" --store "store-$name" --slog slog)" "$expected" \
            "other limits, a store, a slogfile"
    done
}

@test "same computrons and instructions for another user" {
    local command expected

    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    install_into "$BATS_TEST_TMPDIR/a"
    mapfile -t command < <(run_example index)
    cd "$BATS_TEST_TMPDIR/a"
    expected=$(costs "${command[@]}")
    chmod a+x "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"/.. "$BATS_TEST_TMPDIR"/../..
    assert_equal "$(costs setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nowhere \
        USER=nobody LOGNAME=nobody "${command[@]}")" "$expected"
}

@test "same computrons and instructions on a busy machine, many times" {
    local command expected

    install_into "$BATS_TEST_TMPDIR/a"
    mapfile -t command < <(run_example token)
    cd "$BATS_TEST_TMPDIR/a"
    expected=$(costs "${command[@]}")
    keep_busy 3
    for _ in 1 2 3; do
        assert_equal "$(costs "${command[@]}")" "$expected"
    done
}

@test "repeating a delivery costs the same" {
    # The engine's first calls fill its caches; from the third on, costs are constant.
    install_into "$BATS_TEST_TMPDIR/a"
    cd "$BATS_TEST_TMPDIR/a"
    yes '{"vat":"digest","method":"sha256","args":["abc"]}' | head -n 6 > same.jsonl
    run --separate-stderr bash -c './gaspipe run --json --vat digest=examples/digest/contract.js same.jsonl |
        jq -r "select(.deliveryNum > 3) | .compute" | sort -u | wc -l'
    assert_equal "$output" 1
}
