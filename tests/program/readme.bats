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

# The sections of README that need `make metered`; with `!`, all others.
metered_sections() {
    awk -v others="${1:-}" '
        /^## / { flush() }
        { section = section $0 "\n" }
        END { flush() }
        function flush() {
            if ((section ~ /This section needs `make metered`/) == (others == "")) printf "%s", section
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

# The other files of tests that run pages: exchange.bats.
@test "each page with commands has a test" {
    for page in $(cd "$ROOT" && git grep -l '^```sh$' -- '*.md'); do
        grep -qF "$page" "$ROOT"/tests/program/{readme,exchange}.bats || fail "no test runs $page"
    done
}

# document_in_checkout PAGE: its commands, in a copy of the tree.
document_in_checkout() {
    like_a_checkout
    run "$ROOT/tests/program/check-document" "$ROOT/$1"
    assert_equal "$output" ""
    assert_status 0
}

@test "docs/contracts.md" {
    document_in_checkout docs/contracts.md
}

@test "docs/compiled-meter.md" {
    [ -x "$ROOT/build/gaspipe-c++" ] || skip 'make metered was not run'
    [ "$BUILD" = "$ROOT/build" ] || skip 'the meter is not next to the ordinary gaspipe'
    document_in_checkout docs/compiled-meter.md
}

@test "docs/counting.md" {
    document_in_checkout docs/counting.md
}

@test "docs/setting-prices.md" {
    document_in_checkout docs/setting-prices.md
}

@test "docs/estimate.md" {
    document_in_checkout docs/estimate.md
}

@test "docs/fleet.md" {
    document_in_checkout docs/fleet.md
}

@test "docs/native.md" {
    document_in_checkout docs/native.md
}

@test "docs/operations.md" {
    document_in_checkout docs/operations.md
}

@test "docs/post-mortem.md" {
    document_in_checkout docs/post-mortem.md
}

@test "docs/trace-format.md" {
    document_in_checkout docs/trace-format.md
}

@test "examples/wasm/README.md" {
    document_in_checkout examples/wasm/README.md
}
