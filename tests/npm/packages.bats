#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Widely used npm packages as plain contracts (tests/npm/packages): each is bundled into one file,
# and does some work, whose result is that of node for the same file.

load ../program/common

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    TZ=UTC node "$ROOT/tests/npm/packages/bundle.mjs" "$ROOT/build/npm-contracts" . > packages || return
    work "$NATIVE" --counter none > none || return
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
}

# named NAME...: those packages of all; without names all.
named() {
    awk -v names=" $* " 'names == "  " || index(names, " " $2 " ")' packages
}

# work DIRECTORY OPTIONS... [-- NAME...]: "NAME COMPUTRONS RESULT" for each package, in one run.
work() {
    local programs=$1 number name version options=() vats=()
    shift

    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift || true
    named "$@" > "named.$$"
    while read -r number name version; do
        vats+=(--vat "$name=$number.js")
    done < "named.$$"
    awk '{ printf "{\"vat\":\"%s\",\"method\":\"work\"}\n", $2 }' "named.$$" > "lines.$$"
    "$programs/gaspipe" run --json "${options[@]}" "${vats[@]}" "lines.$$" 2> "errors.$$" |
        jq -r 'select(.kind == "delivery" and .deliveryNum == 2) |
            "\(.vat) \(.compute) \(.error // (.result | tojson))"'
}

@test "each package loads, and returns what node returns" {
    local number name version

    while read -r number name version; do
        assert_equal "$(grep "^$name " none | cut -d ' ' -f 3-)" "$(< "$number.expected")" "$name $version"
    done < packages
}

@test "with the compiled meter: the same results and computrons" {
    [ -e "$BUILD/gaspipe-worker-metered" ] || skip "there is no metered worker: make metered"
    work "$NATIVE" --counter compiled > compiled
    diff none compiled
}

@test "under QEMU with the default limit: the same results and computrons" {
    local names=(acorn bn.js handlebars js-yaml semver zod)

    work "$BUILD" --counter qemu -- "${names[@]}" > qemu
    grep -E "^($(IFS='|'; echo "${names[*]}")) " none | diff - qemu
}

@test "files of these packages parse that node parses" {
    cat > parser.js << 'END'
export const parse = (name, text) => {
  try {
    Function('exports', 'require', 'module', text);
  } catch (error) {
    throw Error(`${name}: ${error}`);
  }
};
END
    node "$ROOT/tests/npm/packages/parse.mjs" "$ROOT/build/npm-contracts" 5 > texts
    [ "$(wc -l < texts)" -gt 3000 ]
    "$NATIVE/gaspipe" run --json --counter none --vat parser=parser.js texts |
        jq -r 'select(.kind == "delivery") | .error // empty' > refused
    assert_equal "$(< refused)" ''
}
