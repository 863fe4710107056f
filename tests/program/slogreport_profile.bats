#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport profile: sums of profiles, and what changed between two.

load common

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    mkdir before after
    cat > before/sums.js << 'END'
const square = x => x * x;
const twice = x => square(x) + square(x);
export const slow = n => { let sum = 0; for (let i = 0; i < n; i++) sum += twice(i); return sum; };
export const quick = n => square(n);
END
    # One call instead of two, and every function on another line.
    { echo '// changed'; sed 's/square(x) + square(x)/2 * square(x)/' before/sums.js; } > after/sums.js
    printf '{"vat":"%s","method":"%s","args":[%d]}\n' one slow 10 one quick 3 two slow 20 > deliveries
    for side in before after; do
        "$BUILD/gaspipe" run --json --counter none --profile $side.profile --profile-folded $side.folded \
            --vat one=$side/sums.js --vat two=$side/sums.js deliveries > $side.out
    done
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
}

# profile ARG...: slogreport's JSON lines.
profile() {
    "$BUILD/slogreport" profile --json "$@"
}

@test "slogreport profile: sums by function, line, vat, method and delivery are the run's" {
    local all by

    all=$(jq 'select(.kind == "summary") | .compute' before.out)
    for by in function line vat method delivery; do
        assert_equal "$(profile --by $by before.profile | jq -s 'map(.self) | add')" "$all" "by $by"
    done
    for by in function vat method; do
        assert_equal "$(profile --by $by before.folded | jq -s 'map(.self) | add')" "$all" "folded by $by"
    done
    assert_equal "$(profile before.profile | jq -c 'select(.function == "square") | [.file, .line, .calls]')" \
        '["contract.js",1,61]'
    assert_equal "$(profile --vat two --kind slow before.profile | jq 'select(.function == "square") | .calls')" 40
    assert_equal "$(profile --by delivery before.profile | jq -c -s 'map(select(.vat == "one") | [.deliveryNum, .self]) | sort')" \
        "$(jq -c -s 'map(select(.kind == "delivery" and .vat == "one") | [.deliveryNum, .compute]) | sort' before.out)"
    # Two files are one profile; folded stacks have the same functions as JSON lines.
    assert_equal "$(profile before.profile before.profile | jq 'select(.function == "square") | .calls')" 122
    assert_equal "$(profile before.folded | jq -c 'select(.function == "twice") | [.self, .total]')" \
        "$(profile before.profile | jq -c 'select(.function == "twice") | [.self, .total]')"
}

@test "slogreport profile: what changed, as a table, as stacks and as a flame graph" {
    local difference

    difference=$(($(jq 'select(.kind == "summary") | .compute' after.out) - $(jq 'select(.kind == "summary") | .compute' before.out)))
    [ "$difference" -lt 0 ]
    profile --against before.profile after.profile > json
    assert_equal "$(jq -s 'map(.difference) | add' json)" "$difference"
    # Lines have moved, functions are the same.
    assert_equal "$(jq -c 'select(.function == "square") | [.callsBefore, .calls]' json)" '[61,31]'
    assert_equal "$(jq -c -s 'map(select(.file == "contract.js" and .function == "quick")) | [length, .[0].difference]' json)" '[1,0]'
    run "$BUILD/slogreport" profile --against before.profile after.profile
    assert_status 0
    [[ ${lines[1]} == *' square (contract.js)' ]]
    assert_output_has "difference $difference"

    "$BUILD/slogreport" profile --folded --against before.folded after.folded > stacks
    assert_equal "$(awk '{ now += $NF; before += $(NF - 1) } END { print now - before }' stacks)" "$difference"
    "$BUILD/slogreport" profile --folded --against before.folded --flame change.svg after.folded | cmp - stacks
    grep -q 'square (contract.js): .*fill="rgb([0-9]*,[0-9]*,255)"' change.svg
    ! command -v xmllint || xmllint --noout change.svg
    "$BUILD/slogreport" profile --flame alike.svg --against before.folded before.folded
    run -1 grep -E 'rgb\([0-9]+,[0-9]+,255\)' alike.svg
}

@test "slogreport profile: bad input, one line each" {
    run --separate-stderr "$BUILD/slogreport" profile "$ROOT/tests/data/small.slog.gz"
    assert_bad_input 3 'small.slog.gz:1'
    run --separate-stderr "$BUILD/slogreport" profile --by line before.folded
    assert_bad_input 3 '--profile'
    run --separate-stderr "$BUILD/slogreport" profile --folded before.profile
    assert_bad_input 3 '--profile-folded'
    run --separate-stderr "$BUILD/slogreport" profile --by phase before.profile
    assert_bad_input 2 'delivery'
    run --separate-stderr "$BUILD/slogreport" profile --flame before.folded before.folded
    assert_bad_input 2 'before.folded'
    run --separate-stderr "$BUILD/slogreport" profile /dev/null
    assert_bad_input 3 'no deliveries'
    run --separate-stderr "$BUILD/slogreport" profile nowhere
    assert_bad_input 3 nowhere
    printf '%s\n' '{"kind":"function","self":"many"}' > bad
    run --separate-stderr "$BUILD/slogreport" profile bad
    assert_bad_input 3 'bad:1'
}
