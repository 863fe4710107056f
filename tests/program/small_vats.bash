# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Three small vats: two of a bundle, which call each other, and a plain contract.

# small_vats: makes the bundle in the current directory and fills the array `vats` with the
# options of `gaspipe run`.
small_vats() {
    jq -Rs '{moduleFormat: "getExport", source: .}' "$ROOT/tests/program/vats/counter.js" \
        > counter.bundle
    vats=(--vat here=counter.bundle --vat there=counter.bundle
        --vat token="$ROOT/examples/token/contract.js")
}

# lines COUNT: deliveries, of which half go from one vat to another.
lines() {
    local i

    for ((i = 0; i < $1; i++)); do
        printf '{"vat":"here","method":"addAtPeer","args":[{"@vat":"there"},"n%d",%d]}\n' $((i % 3)) "$i"
        printf '{"vat":"token","method":"mint","args":["a",%d]}\n' $((i + 1))
    done
}

# vats_run OPTION...
vats_run() {
    run --separate-stderr "$NATIVE/gaspipe" run --json "${vats[@]}" "$@"
}

# All that a store holds; the numbers of its rows do not matter.
dump() {
    sqlite3 "$1/gaspipe.sqlite" .dump | LC_ALL=C sort
}

# assert_same_dump FOUND EXPECTED: the stores hold the same, to the byte.
assert_same_dump() {
    cmp -s <(dump "$1") <(dump "$2") || fail "the stores $1 and $2 differ:" \
        "$(diff <(dump "$1") <(dump "$2") | cut -c 1-300 | head -n 5)"
}
