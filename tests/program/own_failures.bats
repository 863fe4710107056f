#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A vat that cannot be saved or restored: whatever the reason is, it alone goes into quarantine, the
# others continue, now and in later runs, and people can release, upgrade or end it.

load common
load store_contents
load own_failures

setup_file() {
    export FAULTY=$BATS_FILE_TMPDIR/faulty
    mkdir "$FAULTY"
    ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -I"$BATS_TEST_DIRNAME/../.." \
        "$BATS_TEST_DIRNAME/faulty_worker.c" "$BATS_TEST_DIRNAME"/../../proto/netstring.c \
        "$BATS_TEST_DIRNAME"/../../base/{buf,error,io,text/format}.c -o "$FAULTY/worker"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cp "$FAULTY/worker" worker
    ln -s "$NATIVE/gaspipe-worker" real
    cat > keeper.js << 'END'
let last;
export const keep = (name, value) => { store.set(name, value); last = value; return value; };
export const get = name => `${store.get(name)} ${last}`;
END
    sed 's/keep/remember/g' keeper.js > other.js
    # shellcheck disable=SC2016 # the dollars are JavaScript's
    { cat keeper.js; echo 'export const again = name => `again ${store.get(name)}`;'; } > better.js
    vats=(--vat bad=keeper.js --vat good=other.js)
    # shellcheck disable=SC2034 # own_failures.bash reads it
    better=better.js
}

line() {
    printf '{"vat":"%s","method":"%s","args":["%s","%s","%s"]}\n' "$1" "$2" "$3" "$4" "${5:-}"
}

# poison KIND: the third line for `bad` is followed by its second snapshot, which fails as KIND says
# as long as there is something in the file `tally`; a fourth is held.
poison() {
    local i mark

    for i in one two three; do
        # Two syscalls, the result, and then the snapshot.
        [ $i = three ] && mark=faulty:$1:4:tally
        line bad keep name $i "${mark:-}"
        line good remember name $i
    done
    line bad get name ''
    line good get name ''
}

@test "a snapshot that cannot be written, for whatever reason, and with any number of workers" {
    local kind options=()

    for kind in kill garbage exit half unknown spoil; do
        case $kind in
        kill) options=() ;;
        garbage) options=(--jobs 3 --queue-lines 6) ;;
        exit) options=(--max-workers 1) ;;
        half) options=(--cranks-per-commit 100) ;;
        unknown) options=(--slog slog) ;;
        esac
        rm -rf store
        poison $kind > lines
        head -c 100 /dev/zero > tally
        runs store --sandbox off --worker ./worker "${vats[@]}" "${options[@]}" lines
        assert_status 5
        said 'vat bad, its snapshot: ' 'failed after 2 tries: the vat is in quarantine' \
            'vat bad is in quarantine: its snapshot cannot be ' '--release' '--upgrade' '--terminate'
        assert_equal "$(deliveries | grep -c bad)" 3 "$kind: deliveries to bad"
        assert_equal "$(deliveries | grep -c good)" 4 "$kind: deliveries to good"
        good_goes_on store --sandbox off --worker ./worker
        if [ $kind = kill ]; then
            cp -r store kept
            released kept
            decisions store 0 "$NATIVE/gaspipe" verify --store decided
        fi
        : > tally
        released store --sandbox off --worker ./worker
    done
}

@test "a worker that hangs while it writes a snapshot: the others continue after a minute" {
    # It may take that long, however little a delivery may.
    poison hang > lines
    head -c 100 /dev/zero > tally
    runs store --sandbox off --worker ./worker --delivery-timeout 1 --retries 0 "${vats[@]}" lines
    assert_status 5
    said 'vat bad, its snapshot: it took longer than 60 s' \
        'vat bad is in quarantine: its snapshot cannot be ' '--release' '--upgrade' '--terminate'
    assert_equal "$(deliveries | grep -c bad)" 3
    assert_equal "$(deliveries | grep -c good)" 4
    good_goes_on store --sandbox off --worker ./worker
    : > tally
    released store --sandbox off --worker ./worker
}

@test "a damaged snapshot: the one before is used; without any, the vat is alone until all is replayed" {
    local harm whole

    whole_store
    for harm in 'UPDATE snapshot_content SET bytes = zeroblob(length(bytes)) WHERE' \
        'DELETE FROM snapshot_content WHERE' 'UPDATE snapshot_content SET size = size + 1 WHERE'; do
        # A deleted snapshot is reported missing in every later run.
        whole=("$NATIVE/gaspipe" verify --replay --store)
        [[ $harm == UPDATE* ]] || whole=(true)
        rm -rf harmed
        cp -r store harmed
        store_edit harmed "$harm $(contents 1)"
        line bad get name '' > lines
        runs harmed "${vats[@]}" lines
        assert_status 0
        assert_equal "$(deliveries)" '["bad","ok","three three"]'
        said 'vat bad, its start: ' 'tried again from the snapshot before'

        rm -rf harmed
        cp -r store harmed
        store_edit harmed "$harm $(contents 2)"
        cp -r harmed kept
        good_goes_on harmed
        said 'it cannot be restored: '
        decisions harmed 0 "${whole[@]}" decided
        cp -r harmed released
        released released --from-start
        "${whole[@]}" released
        # Nothing of it had to be known before.
        decisions kept 0 "${whole[@]}" decided
        rm -rf kept released
    done
}

# harm_pages STORE: changes two bytes in the middle of each snapshot of `bad`, as a disk does.
harm_pages() {
    local hash bytes place file=$1/gaspipe.sqlite

    touch -r "$file" before
    while read -r hash; do
        bytes=$(sqlite3 store/gaspipe.sqlite "SELECT hex(substr(bytes, 20001, 12)) FROM snapshot_content WHERE hash = '$hash'")
        # shellcheck disable=SC2001 # two characters each
        place=$(LC_ALL=C grep -obUaP "$(sed 's/../\\x&/g' <<< "$bytes")" store/gaspipe.sqlite | cut -d : -f 1)
        # Both vats may have the same snapshot.
        for place in $place; do
            # shellcheck disable=SC2059 # the byte is the format
            printf "\\x$(printf %02x $((0x${bytes:0:2} ^ 1)))\\x$(printf %02x $((0x${bytes:2:2} ^ 1)))" |
                dd of="$file" bs=1 seek="$place" conv=notrunc status=none
        done
    done < <(sqlite3 store/gaspipe.sqlite 'SELECT hash FROM snapshot WHERE vat = 1')
    touch -r before "$file"
}

@test "a damaged page of a snapshot: others continue, and no decision needs to read it" {
    whole_store
    cp -a store harmed
    harm_pages harmed
    cp -a harmed kept
    good_goes_on harmed
    said 'it is damaged'
    decisions harmed 0
    released harmed --from-start
    decisions kept 0
}

# flip STORE FILE BYTE [BITS]: changes bits of a byte, by default one.
flip() {
    local byte

    byte=$(xxd -p -s "$3" -l 1 "$1/$2")
    # shellcheck disable=SC2059 # the byte is the format
    printf "\\x$(printf %02x $((0x$byte ^ ${4:-4})))" |
        dd of="$1/$2" bs=1 seek="$3" conv=notrunc status=none
}

# flip_page STORE PAGE BYTE: changes two bytes of a page, which no checksum can put back.
flip_page() {
    flip "$1" gaspipe.sqlite $((($2 - 1) * 4096 + $3))
    flip "$1" gaspipe.sqlite $((($2 - 1) * 4096 + $3 + 1))
}

@test "a changed byte anywhere in a store's files is put back, and no vat notices" {
    local place file bits turn=0

    whole_store
    line bad get name '' > both
    line good get name '' >> both
    # The header, the tables' names, the kernel's keys, values, transcripts, their indexes, snapshots.
    for place in sqlite:4:1 sqlite:16:255 sqlite:20:8 sqlite:3500:4 \
        $(sqlite3 store/gaspipe.sqlite "SELECT 'sqlite:' || ((min(pageno) - 1) * 4096 + 3) || ':255'
            FROM dbstat WHERE pageno > 1 GROUP BY name, pagetype") mark:5:4 mark:90:255; do
        IFS=: read -r file place bits <<< "$place"
        rm -rf harmed
        cp -a store harmed
        flip harmed "gaspipe.$file" "$place" "$bits"
        [ $((turn++ % 2)) = 0 ] || touch -r "store/gaspipe.$file" "harmed/gaspipe.$file"
        runs harmed "${vats[@]}" both
        assert_equal "$file $place: $status" "$file $place: 0"
        assert_equal "$(deliveries)" $'["bad","ok","three three"]\n["good","ok","three three"]'
        # Not all pages are read in a file that seems to be untouched.
        [[ $file = mark || $((turn % 2)) = 0 ]] ||
            said "changed a byte of page $((place / 4096 + 1)); its checksum says what it was: corrected"
    done
    run "$NATIVE/gaspipe" verify --quick --store harmed
    assert_status 0
    # A reader leaves it as it is.
    flip harmed gaspipe.sqlite 9000
    cp -a harmed kept
    run --separate-stderr "$NATIVE/gaspipe" status --store harmed
    assert_status 0
    assert_has "$stderr" 'of page 3; its checksum says what it was: it is read so, and the next run corrects it'
    cmp harmed/gaspipe.sqlite kept/gaspipe.sqlite
}

@test "changed bytes on any page of rows: all vats continue but those whose row it is" {
    local page options

    whole_store
    line bad get name '' > both
    line good get name '' >> both
    for page in $(sqlite3 store/gaspipe.sqlite "SELECT pageno FROM dbstat WHERE pageno IN
        (SELECT max(pageno) FROM dbstat WHERE name != 'key' AND pagetype IN ('leaf', 'overflow')
            AND name IN ('vatstore', 'transcript', 'snapshot_content', 'bundle') GROUP BY name, pagetype)"); do
        for options in 'kept' 'touched'; do
            rm -rf harmed
            cp -a store harmed
            flip_page harmed "$page" 2000
            [ $options = touched ] || touch -r store/gaspipe.sqlite harmed/gaspipe.sqlite
            cp -a harmed ended
            runs harmed "${vats[@]}" both
            [[ $status = 0 || $status = 5 ]] || fail "page $page, $options: status $status: $(cat err)"
            assert_has "$(deliveries)" '["good","ok","three three"]'
            line good get name '' > lines
            runs ended --terminate bad lines
            assert_equal "$page: $status $(deliveries)" "$page: 0 [\"good\",\"ok\",\"three three\"]"
            rm -rf ended
        done
    done
}

@test "a lost page of an index: the file is made again from its rows, and no vat notices" {
    local page source turn=0

    whole_store
    line bad get name '' > both
    line good get name '' >> both
    for page in $(sqlite3 store/gaspipe.sqlite "SELECT max(pageno) FROM dbstat WHERE name LIKE '%autoindex%' GROUP BY name"); do
        [ $((turn++ % 2)) = 0 ] && source=/dev/zero || source=/dev/urandom
        rm -rf harmed
        cp -a store harmed
        dd if="$source" of=harmed/gaspipe.sqlite bs=4096 seek=$((page - 1)) count=1 conv=notrunc status=none
        runs harmed "${vats[@]}" both
        assert_equal "page $page: $status" "page $page: 0"
        assert_equal "$(deliveries)" $'["bad","ok","three three"]\n["good","ok","three three"]'
        said 'only its indexes were damaged: it was made again from its rows, which are whole'
        run --separate-stderr "$NATIVE/gaspipe" verify --quick --store harmed
        assert_equal "$status $stderr" '0 '
        assert_equal "$(sqlite3 harmed/gaspipe.sqlite 'PRAGMA integrity_check')" ok
    done
    # What the tables are, no row says.
    rm -rf harmed
    cp -a store harmed
    dd if=/dev/zero of=harmed/gaspipe.sqlite bs=4096 seek=1 count=1 conv=notrunc status=none
    runs harmed "${vats[@]}" both
    assert_status 4
    assert_equal "$(cat err)" "gaspipe: harmed/gaspipe.sqlite: the store is damaged: SQLite cannot read its tables \
(database disk image is malformed); restore the store from a copy"
}

# lose_page STORE PAGE BYTES: a disk lost the page; its file seems not to be changed since it was closed.
lose_page() {
    dd if="$3" of="$1/gaspipe.sqlite" bs=4096 seek=$(($2 - 1)) count=1 conv=notrunc status=none
    touch -r store/gaspipe.sqlite "$1/gaspipe.sqlite"
}

@test "a lost page of rows: only the vats whose rows it had are hurt, whatever table all share" {
    local table which page pages hurt other turn=0 lost long

    long=$(printf '%1200s' '' | tr ' ' x)
    {
        printf "{\"vat\":\"bad\",\"method\":\"keep\",\"args\":[\"k%s\",\"$long\"]}\n" 1 2 3 4 5 6
        printf "{\"vat\":\"good\",\"method\":\"remember\",\"args\":[\"k%s\",\"$long\"]}\n" 1 2 3 4 5 6
    } > lines
    runs store "${vats[@]}" lines
    assert_status 0
    for table in vatstore transcript snapshot_content snapshot running_sum snapshot_name; do
        # The first has rows of `bad`, the last of `good`. One that has those of both is all that both have.
        mapfile -t pages < <(sqlite3 store/gaspipe.sqlite "SELECT pageno FROM dbstat WHERE name = '$table' AND pagetype = 'leaf' ORDER BY path")
        for which in 0 -1; do
            [ $which = 0 ] || [ ${#pages[@]} -gt 1 ] || break
            page=${pages[which]}
            hurt=bad other=good lost=/dev/zero
            [ $which = 0 ] || hurt=good other=bad
            rm -rf harmed
            cp -a store harmed
            [ $((turn++ % 2)) = 0 ] || lost=/dev/urandom
            lose_page harmed "$page" "$lost"
            for i in 1 2 3 4 5 6 7; do line "$hurt" get k$i ''; line "$other" get k$i ''; done > both
            runs harmed "${vats[@]}" both
            [[ $status = 0 || $status = 5 ]] || fail "$table, page $page: status $status: $(cat err)"
            [[ $table != snapshot_content || ${#pages[@]} -gt 1 ]] || break
            assert_equal "$table, page $page: $(deliveries | grep -c "\"$other\",\"ok\"")" "$table, page $page: 7"
            case $table in
            vatstore) # that a value is missing is no answer
                [ "$status" = 5 ] || fail "$table, page $page: status $status: $(cat err)"
                [[ $(deliveries) != *"\"$hurt\",\"ok\",\"undefined"* ]] || fail "$table, page $page: $(deliveries)"
                ;;
            transcript | snapshot_content) ;; # what the last snapshot needs, or not
            *) [ "$status" = 0 ] || fail "$table, page $page: status $status: $(cat err)" ;;
            esac
            if [ "$status" = 5 ]; then
                run --separate-stderr "$NATIVE/gaspipe" verify --store harmed
                [ "$status" != 0 ] || fail "$table, page $page: $output"
            fi
            [ $which = 0 ] || break
            line "$other" get k1 '' > lines
            runs harmed --terminate "$hurt" lines
            [[ $status = 0 || $status = 1 ]] || fail "$table, page $page: status $status: $(cat err)"
            assert_equal "$(deliveries | tail -n 1 | jq -c '.[:2]')" "[\"$other\",\"ok\"]"
            run --separate-stderr "$NATIVE/gaspipe" verify --quick --store harmed
            assert_equal "$table, page $page: $status $stderr" "$table, page $page: 0 "
        done
    done
}

@test "a page that a disk wrote to another one's place: only the vats whose rows it had are hurt" {
    local pages page other

    whole_store
    mapfile -t pages < <(sqlite3 store/gaspipe.sqlite "SELECT max(pageno) FROM dbstat
        WHERE name IN ('vatstore', 'transcript', 'snapshot_content') AND pagetype = 'leaf' GROUP BY name")
    line good get name '' > lines
    for page in "${pages[@]}"; do
        for other in "${pages[@]}"; do
            [ "$page" != "$other" ] || continue
            rm -rf harmed
            cp -a store harmed
            dd if=store/gaspipe.sqlite of=harmed/gaspipe.sqlite bs=4096 skip=$((other - 1)) seek=$((page - 1)) \
                count=1 conv=notrunc status=none
            touch -r store/gaspipe.sqlite harmed/gaspipe.sqlite
            runs harmed "${vats[@]}" - < /dev/null
            said 'pages are lost' 'The file was made again from the other rows'
            runs harmed --terminate bad - < /dev/null
            assert_equal "$page from $other: $status" "$page from $other: $(($(grep -c 'good is in quarantine' err) * 5))"
        done
    done
}

@test "a damaged value that a delivery reads, in any order of deliveries" {
    local options

    whole_store
    line bad keep other lost > lines
    runs store "${vats[@]}" lines
    assert_status 0
    store_edit store "UPDATE vatstore SET value = CAST('thief' AS BLOB)
        WHERE vat = 1 AND key = CAST('other' AS BLOB)"
    line bad get name '' > lines
    line bad get other '' > both
    line good get name '' >> both
    cp -a store kept
    for options in '' '--jobs 2 --queue-lines 6'; do
        rm -rf store
        cp -a kept store
        # shellcheck disable=SC2086 # several words
        runs store $options both
        assert_status 5
        assert_equal "$(deliveries)" '["good","ok","three three"]'
        said 'vat bad, crank ' 'vat v1, key "other": it does not match its checksum; failed after 1 try' \
            'vat bad is in quarantine: ' '--release' '--upgrade' '--terminate'
    done
    runs store --skip-delivery bad lines
    assert_status 0
    assert_equal "$(deliveries)" '["bad","ok","three lost"]'
}

@test "a store whose kernel's key is damaged is refused with what to do" {
    local place

    whole_store
    place=$(LC_ALL=C grep -obUaP 'kernel\.vats|vat\.names' store/gaspipe.sqlite | head -n 1 | cut -d : -f 1)
    flip_page store $((place / 4096 + 1)) $((place % 4096))
    runs store "${vats[@]:2}" - < /dev/null
    assert_status 4
    said 'the store is damaged: the kernel' 'restore the store from a copy'
    assert_equal "$(wc -l < err)" 1
}

@test "a damaged record of a vat: it alone is in quarantine, and can be terminated" {
    local key decision

    whole_store
    for key in options source deliveries limits o.nextID c.ko20 c.o+0; do
        rm -rf harmed
        cp -a store harmed
        store_edit harmed "UPDATE key SET value = CAST('#' || substr(CAST(value AS TEXT), 2) AS BLOB) WHERE name = 'v1.$key'"
        good_goes_on harmed
        said "the kernel's key \"v1.$key\"" 'does not match its checksum' 'run with --terminate, or restore the store from a copy'
        line good get name '' > lines
        for decision in '--release bad' '--release bad --from-start' '--skip-delivery bad' '--set-limit bad=computrons:5000000' \
            '--upgrade bad=better.js'; do
            # shellcheck disable=SC2086 # several words
            runs harmed $decision lines
            assert_equal "$key $decision: $status" "$key $decision: 2"
            said "${decision%%[ =]*}" "the kernel's key \"v1.$key\"" 'the vat cannot continue; --terminate ends it'
            assert_equal "$(grep -c -- --terminate err)" 1
            assert_equal "$(deliveries)" ''
        done
        runs harmed --terminate bad lines
        assert_status 0
        assert_equal "$(deliveries)" '["good","ok","three three"]'
        run --separate-stderr "$NATIVE/gaspipe" verify --store harmed
        assert_equal "$key: $status $stderr" "$key: 0 "
        assert_equal "$(sqlite3 harmed/gaspipe.sqlite "SELECT count(*) FROM key WHERE name LIKE 'v1.%'")" 0
    done
}

@test "a damaged record that shows in mid-run: its vat alone is in quarantine, now and in later runs" {
    local key line

    whole_store
    # What is needed to queue a message, to deliver it, and to pass it a reference that is new there.
    for key in c.o+0 c.ko20 o.nextID; do
        rm -rf harmed
        cp -a store harmed
        store_edit harmed "UPDATE key SET value = CAST('#' || substr(CAST(value AS TEXT), 2) AS BLOB) WHERE name = 'v1.$key'"
        # As a disk changes a file, which then seems to be untouched.
        touch -r store/gaspipe.sqlite harmed/gaspipe.sqlite
        touch -r store/gaspipe.mark harmed/gaspipe.mark
        line='{"vat":"bad","method":"get","args":["name",{"@ref":"ko21"}]}'
        { line good get name ''; echo "$line"; line good get name ''; } > both
        runs harmed both
        assert_equal "$key: $status" "$key: 5"
        said "vat bad: " "the kernel's key \"v1.$key\"" 'does not match its checksum: the vat is in quarantine, the others continue'
        assert_equal "$(deliveries | jq -c 'select(.[0] == "good")[:2]')" $'["good","ok"]\n["good","ok"]'
        [[ $(deliveries) != *'"bad","ok"'* ]] || fail "$key: $(deliveries)"
        runs harmed --again both
        assert_equal "$key: $status" "$key: 5"
        assert_equal "$(deliveries | jq -c 'select(.[0] == "good")[:2]')" $'["good","ok"]\n["good","ok"]'
        line good get name '' > lines
        runs harmed --terminate bad --again lines
        [[ $status = 0 || $status = 1 ]] || fail "$key: status $status: $(cat err)"
        assert_equal "$(deliveries | tail -n 1)" '["good","ok","three three"]'
        run --separate-stderr "$NATIVE/gaspipe" verify --quick --store harmed
        assert_equal "$key: $status $stderr" "$key: 0 "
    done
}

@test "a transcript that is damaged, or replayed differently, and a bundle that is gone" {
    local harm

    whole_store
    for harm in "DELETE FROM snapshot WHERE vat = 1; DELETE FROM transcript WHERE vat = 1 AND position = 2" \
        'DELETE FROM transcript WHERE vat = 1 AND position = 4' 'DELETE FROM transcript WHERE vat = 1' \
        'DELETE FROM transcript WHERE vat = 1; DELETE FROM snapshot WHERE vat = 1' \
        "UPDATE transcript SET item = zeroblob(length(item)) WHERE vat = 1 AND position = 4" \
        "UPDATE transcript SET item = CAST(replace(CAST(item AS TEXT), 'name\",\"three', 'name\",\"thief') AS BLOB)
            WHERE vat = 1 AND position = 4;" \
        "DELETE FROM bundle WHERE json = (SELECT json FROM bundle ORDER BY length(json) LIMIT 1)"; do
        rm -rf harmed
        cp -r store harmed
        store_edit harmed "$harm"
        case $harm in
        *thief*) store_edit harmed "UPDATE transcript SET checksum = checksum(3, vat, incarnation, position, '', item)" ;;
        esac
        [[ $harm != 'DELETE FROM transcript'* ]] || cp -r harmed kept
        good_goes_on harmed
        said 'vat bad is in quarantine: it cannot be restored: '
        [ ! -e kept ] || decisions kept 0
        rm -rf kept
    done
}

@test "verify restores each vat, and says of what it has seen nothing that it is whole" {
    whole_store
    run --separate-stderr "$NATIVE/gaspipe" verify --store store
    assert_status 0
    assert_output_has '2 vats restored, 0 vats replayed: whole'
    run --separate-stderr "$NATIVE/gaspipe" verify --quick --store store
    assert_status 0
    assert_output_has '0 vats restored, 0 vats replayed: its rows are whole; no worker was started'
    # A snapshot that unpacks and has the right hash, and is none.
    head -c 5000 /dev/zero > nothing
    hash=$(sha256sum nothing | cut -d ' ' -f 1)
    store_edit store "UPDATE snapshot_content SET hash = '$hash', size = 5000,
            bytes = x'$(zstd -q -c nothing | xxd -p | tr -d '\n')' WHERE $(contents 1);
        UPDATE snapshot_content SET checksum = checksum(6, size, length(bytes), 0, hash, '');
        UPDATE snapshot SET hash = '$hash' WHERE vat = 1 AND position = 4;
        UPDATE snapshot SET checksum = checksum(4, vat, incarnation, position, '', hash)"
    run --separate-stderr "$NATIVE/gaspipe" verify --store store
    assert_output_has 'store: vat v1 (bad) cannot be resumed from its last snapshot: '
    run --separate-stderr "$NATIVE/gaspipe" verify --json --store store
    assert_equal "$(jq -c 'select(.kind == "summary") | [.restored, .unrestored]' <<< "$output")" '[1,1]'
    # A run is not stopped by it.
    line bad get name '' > lines
    runs store "${vats[@]}" lines
    assert_status 0
    assert_equal "$(deliveries)" '["bad","ok","three three"]'
    said 'vat bad, its start: ' 'tried again from the snapshot before'
}
