#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What contracts and files say does not steer a terminal: no control characters, C1 bytes, or
# characters that turn the direction of text around, wherever it is printed.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat > contract.js << 'END'
const text = 'a\u202ebc\u2066 \u009b31m \u001b[2J \u0085 \u007f \u200f';
export const say = () => { console.log(text); return text; };
export const fail = () => { throw Error(text); };
export const keep = () => { store.set(text, text); return { [text]: [text] }; };
END
    printf '{"vat":"v","method":"%s","args":["%s"]}\n' say '' fail '' keep '' \
        'a\u202eb\u009b\u001b' '\u202e\u009b\u001b' > deliveries
}

# assert_harmless WHAT FILE: but for newlines, in CSV with CR before them, nothing is invisible.
assert_harmless() {
    sed -i 's/\r$//' "$2"
    ! LC_ALL=C.UTF-8 grep -qP '[\x{00}-\x{08}\x{0b}-\x{1f}\x{7f}-\x{9f}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]' \
        "$2" || fail "$1:" "$(cat -v "$2")"
    iconv -f UTF-8 -t UTF-8 "$2" > /dev/null || fail "$1 is not UTF-8"
}

# printed NAME COMMAND...: what it prints, on both, is harmless.
printed() {
    "${@:2}" > "$1.out" 2> "$1.err" || [ $? -eq 1 ] || fail "$(tail -n 3 "$1.err")"
    assert_harmless "$1, stdout" "$1.out"
    assert_harmless "$1, stderr" "$1.err"
}

@test "the output of a run, as text and as JSON, and of reports, replays and status" {
    printed run "$NATIVE/gaspipe" run --counter none --store store --slog slog --vat v=contract.js \
        deliveries
    grep -q 'a.*bc' run.out
    printed json "$NATIVE/gaspipe" run --counter none --json --vat v=contract.js deliveries
    # As escapes: a JSON reader gets the same text.
    grep -q 'a\\u202ebc\\u2066 \\u009b31m' json.out
    assert_equal "$(jq -r 'select(.kind == "result" and (.place | endswith(":1"))) | .value' json.out)" \
        "$(printf 'a\u202ebc\u2066 \u009b31m \u001b[2J \u0085 \u007f \u200f')"
    printed status "$NATIVE/gaspipe" status --store store
    printed status-json "$NATIVE/gaspipe" status --json --store store
    printed replay "$NATIVE/gaspipe" replay --counter none slog
    printed replay-json "$NATIVE/gaspipe" replay --counter none --json --deliveries slog
    printed report "$BUILD/slogreport" slog
    printed report-json "$BUILD/slogreport" --json slog
    printed report-csv "$BUILD/slogreport" --csv slog
    printed summary "$BUILD/slogreport" summary --by method slog
    printed stalls "$BUILD/slogreport" stalls slog
    printed compare "$BUILD/slogreport" compare slog slog
}

@test "a slogfile with bytes that are not UTF-8, and a difference that replay shows" {
    "$NATIVE/gaspipe" run --counter none --slog slog --vat v=contract.js deliveries > /dev/null || true
    LC_ALL=C sed $'s/"method":"[a-z]*"/"method":"\x9b31m\xff"/; s/bc/\x9b/g' slog > bad
    printed report "$BUILD/slogreport" bad
    printed report-json "$BUILD/slogreport" --json bad
    LC_ALL=C sed $'s/a\xe2\x80\xaebc/x\xe2\x80\xae/' slog > other
    "$NATIVE/gaspipe" replay --counter none other > replay.out 2> replay.err || true
    assert_harmless replay replay.out
    assert_harmless replay replay.err
}
