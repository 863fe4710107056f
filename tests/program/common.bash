# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by all whole-program tests. A test file begins with `load common`.
#
#   $BUILD           the directory with the programs, absolute
#   $NATIVE          the same for runs without QEMU: in a sanitized build, its worker is
#                    also sanitized, which QEMU could not run
#   $ROOT            the project's directory
#   $BATS_TEST_TMPDIR a fresh directory of each test, removed after it

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=$(realpath -m "${BUILD:-$ROOT/build}")
NATIVE=$BUILD
[ ! -d "$BUILD/native" ] || NATIVE=$BUILD/native
export ROOT BUILD NATIVE
# With several jobs, run short deliveries speculatively too.
export GASPIPE_SPECULATE_ALWAYS=1

bats_require_minimum_version 1.5.0

# Prints a message for the reader of a failed test, and fails.
fail() {
    printf '%s\n' "$@" >&2
    return 1
}

# After `run`: the exit status was $1.
assert_status() {
    # shellcheck disable=SC2154 # run sets them
    [ "$status" -eq "$1" ] || fail "exit status $status, not $1; it printed:" "$output" "${stderr-}"
}

# After `run`: $output contains the fixed string $1.
assert_output_has() {
    [[ $output == *"$1"* ]] || fail "no '$1' in:" "$output"
}

# After `run`: $output does not contain the fixed string $1.
assert_output_lacks() {
    [[ $output != *"$1"* ]] || fail "there is '$1' in:" "$output"
}

# assert_has TEXT WORDS...: TEXT contains each of the fixed strings WORDS.
assert_has() {
    local words

    for words in "${@:2}"; do
        [[ $1 == *"$words"* ]] || fail "no '$words' in:" "$1"
    done
}

# complaints < STDERR: gaspipe's messages, without the progress messages every five seconds: the
# speed of the machine must not decide a test.
complaints() {
    sed -E '/^gaspipe: [0-9]+ deliveries, [0-9]+ (failed|vats), [0-9]+ s$/d'
}

# assert_bad_input STATUS WORDS... after `run --separate-stderr`: that exit status,
# and on stderr one line that has all of WORDS.
assert_bad_input() {
    local word said

    assert_status "$1"
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    said=$(complaints <<< "$stderr")
    [[ -n $said && $said != *$'\n'* ]] || fail "not one line on stderr:" "$stderr"
    for word in "${@:2}"; do
        [[ $said == *"$word"* ]] || fail "no '$word' in:" "$stderr"
    done
}

# assert_equal FOUND EXPECTED [WORDS]
assert_equal() {
    [ "$1" = "$2" ] || fail "${3:-values} differ; found:" "$1" "expected:" "$2"
}

# wait_for SECONDS COMMAND...: waits until COMMAND succeeds, at most so long. Each try takes CPU time from what it
# waits for, so the pauses grow from 20 ms to a tenth of a second.
wait_for() {
    local end=$((SECONDS + $1)) silence pauses=(0.02 0.02 0.03 0.04 0.06 0.08) tries=0 status=0

    shift
    exec {silence}<> <(:)
    until "$@" > /dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || fail "still not so: $*" || { status=1 && break; }
        read -r -t "${pauses[tries++]:-0.1}" -u "$silence" || true
    done
    exec {silence}>&-
    return $status
}

# For jq: an array as an object, by what f makes of each. jq 1.6's own INDEX(f) takes a time that
# grows with the square of their number.
# shellcheck disable=SC2016 # the dollars are names of jq
JQ_INDEX='def index_by(f): reduce .[] as $one ({}; .[$one | f | tostring] = $one);'
export JQ_INDEX

# has_ended PID: the process has ended. Children of a killed process may
# remain as zombies.
has_ended() {
    ! grep -q '^State:.[^ZX]' "/proc/$1/status"
}

# noise COUNT [KEY]: COUNT random bytes, always the same for a KEY (a number).
noise() {
    openssl enc -aes-128-ctr -K "$(printf %032d "${2:-0}")" -iv "$(printf %032d 0)" < /dev/zero 2> /dev/null |
        head -c "$1"
}

# keep_busy COUNT: starts COUNT processes that compute until idle_again, which belongs in
# teardown().
keep_busy() {
    local i

    for ((i = 0; i < $1; i++)); do
        (while :; do :; done) 3>&- &
        busy+=($!)
    done
}

idle_again() {
    [ -z "${busy:-}" ] || kill "${busy[@]}"
}

# Makes build/npm/node_modules, once for all concurrent tests; the output is in the file
# $npm_peers_log.
make_npm_peers() {
    npm_peers_log=$BATS_TEST_TMPDIR/npm-peers.log
    mkdir -p "$ROOT/build"
    env -u MAKEFLAGS -u MAKELEVEL flock "$ROOT/build/npm.lock" \
        make -s -C "$ROOT" build/npm/fetched > "$npm_peers_log" 2>&1
}

# A copy of the tree with what has been built, whose files the commands may change.
like_a_checkout() {
    mkdir -p clone/build
    (cd "$ROOT" && git ls-files -z | xargs -0 cp -P --parents -t "$BATS_TEST_TMPDIR/clone")
    cd clone || return 1
    find "$BUILD" -mindepth 1 -maxdepth 1 ! -name obj ! -name 'test-logs*' -exec ln -s -t build {} +
}
