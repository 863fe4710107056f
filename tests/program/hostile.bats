#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A vat whose worker makes an invalid request, malformed or for what is not its own, is
# terminated, with a reason, and nothing else changes. hostile.jsonl has a name and the request,
# which follows a few valid syscalls that must be undone, too.

load common

setup_file() {
    local sources=("$BATS_TEST_DIRNAME/hostile_worker.c")

    sources+=("$BATS_TEST_DIRNAME"/../../base/{buf,error,io,text/format}.c)
    sources+=("$BATS_TEST_DIRNAME/../../proto/netstring.c")
    ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -I"$BATS_TEST_DIRNAME/../.." "${sources[@]}" -ljansson \
        -o "$BATS_FILE_TMPDIR/worker"
    echo '{"moduleFormat":"endoZipBase64","endoZipBase64":"","endoZipBase64Sha512":"00"}' \
        > "$BATS_FILE_TMPDIR/none.bundle"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# says < TABLE: for each of its rows a delivery in which `bad` makes the request, strings as sent.
says() {
    jq -c '
        def good: [["vatstoreSet","before","1"], ["send","o-50",{"methargs":{"body":"#[\"echo\",[1]]",
            "slots":["o+7"]},"result":"p+50"}], ["subscribe","p+50"]];
        def words: if . == "DEEP" then "[\"syscall\"," + ("[" * 100000) + ("]" * 100000) + "]"
            elif . == "MILLION" then ["syscall",["send","o-50",{methargs: {body: "#[]",
                slots: [range(1000000) | "o-\(. + 1000)"]}, result: null}]] | tojson
            elif type == "array" then ["syscall", .] | tojson
            else . end;
        {vat: "bad", method: "say", args: [[(good + .say)[] | words], {"@vat": "good"}, {"@device": "echo"}]}'
}

# said FILE: runs the delivery in it, between two in which `good` answers. `status`, the files `out`
# and `err` are gaspipe's, and `keys` has the store's contents afterwards.
said() {
    rm -rf store
    {
        echo '{"vat":"good","method":"echo","args":["before"]}'
        cat "$1"
        echo '{"vat":"good","method":"echo","args":["after",{"@vat":"good"},{"@device":"echo"}]}'
    } > lines.jsonl
    status=0
    "$BUILD/gaspipe" run --json --counter none --cranks-per-commit 1000 \
        --worker "$BATS_FILE_TMPDIR/worker" --store store --vat "good=$BATS_FILE_TMPDIR/none.bundle" \
        --vat "bad=$BATS_FILE_TMPDIR/none.bundle" lines.jsonl > out 2> err || status=$?
    # Hashes include what a terminated vat did, and the reason differs in each case.
    sqlite3 store/gaspipe.sqlite "select name, value from key where name not like '%hash%'
        and name <> 'input.ended.bad' order by name; select vat, key, value from vatstore order by vat, key;" > keys
}

# judge NAME: prints what is wrong after said().
judge() {
    [ "$status" -eq 1 ] || echo "$1: exit status $status: $(cat err)"
    jq -rn --arg name "$1" '[inputs] |
        ([.[] | select(.vat == "bad" and .status == "error") | .error] |
            if length == 1 and (.[0] | length > 5 and (contains("\n") | not)) then empty
            else "\($name): no reason: \(.)" end),
        ([.[] | select(.kind == "result") | .status] |
            if . == ["fulfilled","rejected","fulfilled"] then empty else "\($name): results: \(.)" end)' out
    cmp -s expected keys || echo "$1: the store is another: $(diff expected keys | head -n 4)"
}

@test "each row of the table terminates its vat with a reason, and changes nothing else" {
    local names name i=0

    # The store after a vat that exits by itself and keeps nothing.
    says <<< '{"say":[["exit",true,{"body":"#\"no\"","slots":[]}]]}' > exits
    said exits
    mv keys expected
    [ -s expected ]
    mapfile -t names < <(jq -r .name "$BATS_TEST_DIRNAME/hostile.jsonl")
    [ "${#names[@]}" -gt 70 ]
    says < "$BATS_TEST_DIRNAME/hostile.jsonl" | split -l 1 -d -a 3 - row.
    for name in "${names[@]}"; do
        said "$(printf 'row.%03d' $i)"
        judge "$name" >> wrong
        i=$((i + 1))
    done
    assert_equal "$(cat wrong)" ""
}

@test "the valid syscalls alone do not terminate a vat" {
    says <<< '{"say":[]}' > good
    said good
    assert_equal "$(jq -c 'select(.vat == "bad" and .status == "error")' out)" ""
    grep -q before keys
}
