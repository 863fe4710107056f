#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A vat whose worker makes an invalid request, malformed or for what is not its own, is
# terminated, with a reason, and nothing else changes. hostile.jsonl has a name and the request,
# which follows a few valid syscalls that must be undone, too.

load common

setup_file() {
    local sources=("$BATS_TEST_DIRNAME/hostile_worker.c")

    sources+=("$BATS_TEST_DIRNAME"/../../base/{buf,error,io}.c)
    sources+=("$BATS_TEST_DIRNAME/../../proto/netstring.c")
    ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -I"$BATS_TEST_DIRNAME/../.." "${sources[@]}" -ljansson \
        -o "$BATS_FILE_TMPDIR/worker"
    echo '{"moduleFormat":"endoZipBase64","endoZipBase64":"","endoZipBase64Sha512":"00"}' \
        > "$BATS_FILE_TMPDIR/none.bundle"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# requests: the table's rows on stdin, each as [NAME, REQUEST...], strings as sent.
requests() {
    jq -c '
        def good: [["vatstoreSet","before","1"], ["send","o-50",{"methargs":{"body":"#[\"echo\",[1]]",
            "slots":["o+7"]},"result":"p+50"}], ["subscribe","p+50"]];
        def words: if . == "DEEP" then "[\"syscall\"," + ("[" * 100000) + ("]" * 100000) + "]"
            elif . == "MILLION" then ["syscall",["send","o-50",{methargs: {body: "#[]",
                slots: [range(1000000) | "o-\(. + 1000)"]}, result: null}]] | tojson
            elif type == "array" then ["syscall", .] | tojson
            else . end;
        [.name] + [(good + .say)[] | words]'
}

# lines ROW: deliveries in which `bad` makes the request, and `good` answers before and after.
lines() {
    local introduction='{"@vat":"good"},{"@device":"echo"}'

    echo '{"vat":"good","method":"echo","args":["before"]}'
    jq -c '{vat: "bad", method: "say", args: [.[1:], {"@vat": "good"}, {"@device": "echo"}]}' <<< "$1"
    echo "{\"vat\":\"good\",\"method\":\"echo\",\"args\":[\"after\",$introduction]}"
}

# said ROW: runs it; $output is gaspipe's, `keys` the store's contents afterwards.
said() {
    rm -rf store
    lines "$1" > lines.jsonl
    run --separate-stderr "$BUILD/gaspipe" run --json --counter none --cranks-per-commit 1000 \
        --worker "$BATS_FILE_TMPDIR/worker" --store store --vat "good=$BATS_FILE_TMPDIR/none.bundle" \
        --vat "bad=$BATS_FILE_TMPDIR/none.bundle" lines.jsonl
    # Hashes include what a terminated vat did, and the reason differs in each case.
    sqlite3 store/gaspipe.sqlite "select name, value from key where name not like '%hash%'
        and name <> 'input.ended.bad' order by name; select vat, key, value from vatstore order by vat, key;" > keys
}

# judge NAME: prints what is wrong after said().
judge() {
    local error

    # shellcheck disable=SC2154 # run --separate-stderr sets it
    [ "$status" -eq 1 ] || echo "$1: exit status $status: $stderr"
    error=$(jq -r 'select(.vat == "bad" and .status == "error") | .error' <<< "$output")
    [ "$(wc -l <<< "$error")" -eq 1 ] && [ "${#error}" -gt 5 ] || echo "$1: no reason: '$error'"
    jq -e -n '[inputs | select(.kind == "result") | .status] == ["fulfilled","rejected","fulfilled"]' \
        <<< "$output" > /dev/null || echo "$1: results: $output"
    diff -q expected keys > /dev/null || echo "$1: the store is another: $(diff expected keys | head -n 4)"
}

@test "each row of the table terminates its vat with a reason, and changes nothing else" {
    local row wrong

    # The store after a vat that exits by itself and keeps nothing.
    said "$(requests <<< '{"name":"","say":[["exit",true,{"body":"#\"no\"","slots":[]}]]}')"
    mv keys expected
    [ -s expected ]
    [ "$(wc -l < "$BATS_TEST_DIRNAME/hostile.jsonl")" -gt 70 ]
    while IFS= read -r row; do
        said "$row"
        judge "$(jq -r '.[0]' <<< "$row")" >> wrong
    done < <(requests < "$BATS_TEST_DIRNAME/hostile.jsonl")
    wrong=$(cat wrong)
    assert_equal "$wrong" ""
}

@test "the valid syscalls alone do not terminate a vat" {
    said "$(requests <<< '{"name":"","say":[]}')"
    assert_equal "$(jq -c 'select(.vat == "bad" and .status == "error")' <<< "$output")" ""
    grep -q before keys
}
