#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs at which XS, as it is published, gives an answer that depends on the compiler, or harms its own
# memory. gaspipe's engine gives one answer, natively, under QEMU and compiled, for the same computrons.

load common

CONTRACTS=$ROOT/tests/program/contracts

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# The counters of this build.
counters() {
    echo none
    [ "$NATIVE" != "$BUILD" ] || echo qemu
    [ "$BUILD" != "$ROOT/build" ] || [ ! -x "$BUILD/gaspipe-worker-metered" ] || echo compiled
}

# deliver COUNTER CONTRACT METHOD...: status, result and computrons of each delivery.
deliver() {
    printf '{"vat":"c","method":"%s"}\n' "${@:3}" > lines
    "$NATIVE/gaspipe" run --json --counter "$1" --vat c="$CONTRACTS/$2.js" lines 2> said |
        jq -c 'select(.kind == "delivery") | [.status, .result, .compute]' || fail "$(cat said)"
}

# everywhere CONTRACT METHOD...: the same with each counter. What was delivered is in the file first.
everywhere() {
    local counter

    rm -f first
    for counter in $(counters); do
        deliver "$counter" "$@" > "$counter"
        [ -f first ] || cp "$counter" first
        assert_equal "$(cat "$counter")" "$(cat first)" "$counter and $(counters | head -n 1)"
    done
}

@test "a key of a Map or Set is found by its value: NaN, -0 and equal BigInts and strings" {
    everywhere keys keys nans
    assert_equal "$(jq -c '.[1]' first)" 'null
[true,1,true,1,true,1,true,1,true,1,true,1,"minus","minus",true,"plus",2,true,false,1,1,true,3,3,1,2,true,true,-1,0,false,true]
["0 0 0 0 0 0 f8 7f 0 0 0 0 0 0 f8 7f 0 0 0 0 0 0 f8 7f 0 0 0 0 0 0 f8 7f 0 0 0 0 0 0 f8 7f","0 0 c0 7f 0 0 c0 7f 0 0 c0 7f"]'
}

@test "a buffer that a callback makes shorter is not read or written beyond its end" {
    everywhere buffers buffers
    assert_equal "$(jq -r '.[1] | arrays | .[]' first)" 'fromShrinks: 170,0,0,0,0,0,0,0
fromIteratorShrinks: 1,2,0,0
fromDetaches: 0,0
fromWritesIntoTheView: 0,0,0,0,1,2,3,4,0,0,0,0
ofShrinks: 1,2
mapShrinks: 7,7,7
filterShrinks: 7,7,7,7,7,0,0,0,0,0,0,0,0,0,0,0
fillShrinks: 9,9,9
copyWithinShrinks: 0,2,3,3
setShrinks: RangeError
setFromArrayShrinks: 1,2
sliceShrinks: 1,1,0,0,0,0,0,0
sliceDetaches: TypeError
sortShrinks: 4
joinShrinks: 0-0--
resizeResizes: 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0
resizeShrinksFirst: 1,1,0,0,0,0,0,0
transferShrinksFirst: 1,1,0,0,0,0,0,0
bufferSliceShrinks: TypeError
dataViewShrinks: TypeError
elementShrinks: 0,0,0,0
lengthOverflows: RangeError
nansKeepTheirBits: 1,2,3,4,5,6,248,255,1,2,3,4,5,6,248,127,1,2,3,4,5,6,248,255,1,2,3,4,5,6,248,127,0,0,0,0,0,0,0,0,1,2,3,4,5,6,248,255,1,2,3,4,5,6,248,127'
}
