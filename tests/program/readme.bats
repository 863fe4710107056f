#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands in README print what it shows.

load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# document LINES...: a document with one block of these lines.
document() {
    printf '%s\n' '```sh' "$@" '```' > document.md
    run "$ROOT/tests/program/check-document" document.md
}

@test "check-document accepts the output that is shown, except for times and counts" {
    document '$ printf "a [b]*\n1.000123 5 ms 7 1,234,567\nlast\n"' 'a [b]*' \
        '2.999999  77.5 µs 7   7,654' last
    assert_equal "$output" ""
    assert_status 0
}

@test "check-document ignores progress messages" {
    document "$ echo 'gaspipe: 16 deliveries, 2 vats, 6 s'; echo 'gaspipe: 3 deliveries, 0 failed, 5 s'; echo x" x
    assert_status 0
}

@test "check-document accepts any lines, or none, for …" {
    document '$ seq 5' 1 … 4 5
    assert_status 0
    document '$ seq 2' 1 2 …
    assert_status 0
}

@test "check-document finds differences, and says where" {
    document '$ echo 1' 1 '$ echo 2' 3
    assert_status 1
    assert_output_has 'document.md:4: $ echo 2'
    document '$ seq 5' 1 … 6
    assert_status 1
    document '$ echo a; echo b' a
    assert_status 1
    document '$ echo a' a b
    assert_status 1
}

@test "check-document runs a command of several lines" {
    document $'$ echo 1 \\' '    2' '1 2'
    assert_status 0
}

@test "check-document does not pass a document without commands" {
    document 'make'
    assert_status 2
}

# A folder like a fresh checkout after make, whose files the commands may change.
like_a_checkout() {
    mkdir build
    ln -s "$BUILD"/{gaspipe,gaspipe-worker,gaspipe-worker-wasm,gaspipe-worker-native,gaspipe-sandbox,slogreport,libgascount.so,suites} "$BUILD"/*.bundle build/
    ln -s "$ROOT"/{examples,docs,tests,worker} .
}

# The section of README about the compiled-in meter, which needs LLVM; with `!`, all others.
meter_section() {
    awk -v others="${1:-}" '/^## / { inside = /^## Leave a meter on/ } inside == (others == "") ' "$ROOT/README.md"
}

@test "README" {
    like_a_checkout
    meter_section ! > README.md
    run "$ROOT/tests/program/check-document" README.md
    assert_equal "$output" ""
    assert_status 0
}

@test "README, the compiled-in meter" {
    [ -x "$ROOT/build/gaspipe-worker-metered" ] || skip 'LLVM is not there; scripts/setup --meter installs it'
    [ "$BUILD" = "$ROOT/build" ] || skip 'the metered worker is beside the ordinary gaspipe'
    like_a_checkout
    ln -s "$ROOT/build/"{gaspipe-c++,gaspipe-worker-metered} build/
    meter_section > README.md
    run "$ROOT/tests/program/check-document" README.md
    assert_equal "$output" ""
    assert_status 0
}

@test "docs/tutorial.md" {
    mkdir bin
    # What npm would fetch is there already, with all that has the same versions.
    cat > bin/npm << END
#!/bin/sh
[ "\$*" = 'install --silent --save-exact @endo/bundle-source@4.3.2 @endo/far@1.1.14' ] || exit 1
cp '$ROOT/examples/package.json' . && ln -s '$ROOT/build/vats/node_modules' .
END
    chmod +x bin/npm
    PATH=$PWD/bin:$BUILD:$PATH run "$ROOT/tests/program/check-document" "$ROOT/docs/tutorial.md"
    assert_equal "$output" ""
    assert_status 0
}

@test "check-document runs a here-document" {
    document $'$ cat << END' '> a' '>' '> b' '> END' a '' b
    assert_status 0
}

@test "docs/contracts.md" {
    like_a_checkout
    # The first contract in the document.
    sed -n '/^\/\/ counter.js/,/^```$/p' "$ROOT/docs/contracts.md" | sed '$d' > counter.js
    run "$ROOT/tests/program/check-document" "$ROOT/docs/contracts.md"
    assert_equal "$output" ""
    assert_status 0
}

@test "docs/setting-prices.md" {
    like_a_checkout
    run "$ROOT/tests/program/check-document" "$ROOT/docs/setting-prices.md"
    assert_equal "$output" ""
    assert_status 0
}

@test "examples/wasm/README.md" {
    like_a_checkout
    run "$ROOT/tests/program/check-document" "$ROOT/examples/wasm/README.md"
    assert_equal "$output" ""
    assert_status 0
}

@test "docs/native.md" {
    like_a_checkout
    run "$ROOT/tests/program/check-document" "$ROOT/docs/native.md"
    assert_equal "$output" ""
    assert_status 0
}

@test "docs/estimate.md" {
    like_a_checkout
    run "$ROOT/tests/program/check-document" "$ROOT/docs/estimate.md"
    assert_equal "$output" ""
    assert_status 0
}
