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

# A copy of the tree with what has been built, whose files the commands may change.
like_a_checkout() {
    mkdir -p clone/build
    (cd "$ROOT" && git ls-files -z | xargs -0 cp -P --parents -t "$BATS_TEST_TMPDIR/clone")
    cd clone
    find "$BUILD" -mindepth 1 -maxdepth 1 ! -name obj ! -name 'test-logs*' -exec ln -s -t build {} +
}

# The sections of README that need `make metered`; with `!`, all others.
metered_sections() {
    awk -v others="${1:-}" '
        /^## / { flush() }
        { section = section $0 "\n" }
        END { flush() }
        function flush() {
            if ((section ~ /needs (clang-19, which )?`make metered`/) == (others == "")) printf "%s", section
            section = ""
        }' "$ROOT/README.md"
}

@test "README" {
    like_a_checkout
    metered_sections ! > README.md
    run "$ROOT/tests/program/check-document" README.md
    assert_equal "$output" ""
    assert_status 0
}

@test "README, what needs make metered" {
    [ -x "$ROOT/build/gaspipe-worker-metered" ] || skip 'make metered was not run'
    [ "$BUILD" = "$ROOT/build" ] || skip 'the metered worker is beside the ordinary gaspipe'
    like_a_checkout
    metered_sections > README.md
    run "$ROOT/tests/program/check-document" README.md
    assert_equal "$output" ""
    assert_status 0
}

@test "docs/tutorial.md" {
    npm view --silent @endo/far@1.1.14 version > /dev/null || skip 'the npm registry does not answer'
    mkdir empty && cd empty
    PATH=$BUILD:$PATH run "$ROOT/tests/program/check-document" "$ROOT/docs/tutorial.md"
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
