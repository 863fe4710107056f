#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport, on SwingSet's slogfiles and on what breaks naive readers. The
# reports themselves are held by tests/golden/slogreport-*.

load common

DATA=$ROOT/tests/data

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# Ends processes that a failed test left running.
teardown() {
    [ -z "${reader:-}" ] || kill -KILL "$reader" 2> /dev/null || true
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

# The deliveries of a JSON report, with the fields of split.jq, in microseconds.
as_split() {
    jq -c 'select(.kind == "delivery")
        | def us: if . == null then null else . * 1000000 | round end;
        {vatID, crankNum, deliveryNum, status, start: (.start | us), total: (.total | us),
         pipe: (.pipe | us), worker: (.worker | us), kernel: (.kernel | us),
         unattributed: (.unattributed | us), syscalls, consoles, overrun, compute}'
}

@test "every delivery of both samples is divided as the definition says" {
    for sample in small:30 variety:269; do
        zcat "$DATA/${sample%:*}.slog.gz" | jq -n -c -f "$DATA/split.jq" > "$BATS_TEST_TMPDIR/expected"
        slogreport --json "$DATA/${sample%:*}.slog.gz" | as_split > "$BATS_TEST_TMPDIR/found"
        assert_equal "$(wc -l < "$BATS_TEST_TMPDIR/expected")" "${sample#*:}" "deliveries of $sample"
        diff "$BATS_TEST_TMPDIR/expected" "$BATS_TEST_TMPDIR/found"
    done
}

@test "pipe, worker, kernel and unattributed add up to the total" {
    for file in "$DATA"/*.slog.gz "$DATA"/shapes/*.slog; do
        slogreport --json "$file" 2> /dev/null | jq -e -s 'map(select(.kind == "delivery" and .total))
            | all((.pipe + .worker + .kernel + .unattributed - .total) | fabs < 5e-10)' ||
            fail "$file does not add up"
    done
}

@test "the text report's parts add up to its totals, digit for digit" {
    slogreport "$DATA/variety.slog.gz" |
        awk -F '[ ,)]+' '/^   pipe .* total / {
            sum = 0
            for (i = 2; i < NF; i++) {
                if ($i ~ /^(pipe|worker|kernel|unattributed)$/ && $(i + 1) != "?") sum += $(i + 1)
                if ($i == "(k->k") total = $(i + 1)
            }
            if (sum - total > 5e-7 || total - sum > 5e-7) { print; bad = 1 }
            count++
        }
        END { exit bad || count != 269 }'
}

@test "gzip, Zstandard, a pipe and several members read as the plain file does" {
    zcat "$DATA/small.slog.gz" > plain
    zstd -q plain -o file.zst
    (head -500 plain | gzip; tail -n +501 plain | gzip) > members.gz
    (head -500 plain | zstd; tail -n +501 plain | zstd) > frames.zst
    slogreport --json plain > expected
    for file in file.zst members.gz frames.zst "$DATA/small.slog.gz"; do
        slogreport --json "$file" | cmp expected -
        slogreport --json - < "$file" | cmp expected -
    done
    # shellcheck disable=SC2002 # a pipe it shall be
    cat plain | slogreport --json - | cmp expected -
}

@test "several files are read as one sequence" {
    zcat "$DATA/small.slog.gz" > plain
    # Cut within a delivery: its end is in the second file.
    head -610 plain > one
    tail -n +611 plain | gzip > two
    slogreport --json plain | grep '"delivery"' > expected
    slogreport --json one two | grep '"delivery"' | cmp expected -
}

@test "the parts of a slogfile are put in order, however they are given" {
    zcat "$DATA/small.slog.gz" > plain
    slogreport --json plain | grep '"delivery"' > expected
    split -n l/12 -d --additional-suffix=.zst --filter='zstd -q > "$FILE"' plain part
    for number in 00 01 02 03 04 05 06 07 08 09 10 11; do
        mv "part$number.zst" "run$([ "$number" = 00 ] || echo ".$((10#$number))").zst"
    done
    run --separate-stderr slogreport --json run*.zst
    assert_status 0
    grep '"delivery"' <<< "$output" | cmp expected -
    assert_equal "$stderr" "slogreport: the files are read in the order in which they begin, \
run.zst first and run.11.zst last"
    assert_equal "$(jq -r 'select(.kind == "note") | .note' <<< "$output")" ''
    # As they are: nothing to say; a pipe can be read only once, and stands where it stands.
    run --separate-stderr slogreport --json run.zst run.?.zst run.??.zst
    grep '"delivery"' <<< "$output" | cmp expected -
    assert_equal "$stderr" ''
    slogreport --json - run.?.zst run.??.zst < run.zst | grep '"delivery"' | cmp expected -
}

@test "a part without the lines that name vats is reported by vatID" {
    zcat "$DATA/small.slog.gz" | tail -n +500 > later
    run --separate-stderr slogreport summary --by vat later
    assert_status 0
    [[ $output == *"vat v"* ]]
    slogreport --json --vat v1 later | grep -q '"delivery"'
}

@test "a report without deliveries says why" {
    for command in '' summary; do
        # shellcheck disable=SC2086 # a word or none
        run --separate-stderr slogreport $command --vat nosuch "$DATA/small.slog.gz"
        assert_status 0
        assert_equal "$stderr" "slogreport: --vat nosuch: no such vat; slogreport summary --by vat lists them
slogreport: none of the 30 deliveries was chosen"
    done
    # One that is spelt almost so is suggested, wherever vats are selected, also next to one that is there.
    for command in --json summary stalls waits runs extract; do
        run --separate-stderr slogreport $command --vat v1 --vat bnak "$DATA/variety.slog.gz"
        assert_status 0
        assert_equal "$stderr" 'slogreport: --vat bnak: no such vat; did you mean bank?'
    done
    # Kinds and methods likewise, and compare and stalls also say that they had nothing to judge.
    cp "$DATA/small.slog.gz" other.gz
    for command in --json summary stalls waits runs "rows --out tables" "compare other.gz" \
        "compare other.gz other.gz"; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr slogreport $command --kind mesage "$DATA/small.slog.gz"
        assert_status 0
        assert_has "$stderr" 'slogreport: --kind mesage: no such kind or method; did you mean message?' \
            'slogreport: none of the '
        [[ $output != *'no delivery is in both'* ]]
    done
    run --separate-stderr slogreport summary --against kind=mesage "$DATA/small.slog.gz"
    assert_equal "$stderr" 'slogreport: --kind mesage: no such kind or method; did you mean message?
slogreport: --against kind=mesage: none of the 30 deliveries was chosen'
    run --separate-stderr slogreport summary --by phase --vat bank "$DATA/variety.slog.gz"
    assert_bad_input 2 '--by phase takes vats by ID, such as --vat v4'
    zcat "$DATA/small.slog.gz" | head -1 > none
    run --separate-stderr slogreport none
    assert_status 0
    assert_equal "$stderr" 'slogreport: no deliveries to report'
}

@test "compressed data that was cut is reported as far as it goes" {
    head -c 20000 "$DATA/small.slog.gz" > cut.gz
    zcat "$DATA/small.slog.gz" | zstd -q | head -c 25000 > cut.zst
    for file in cut.gz cut.zst; do
        run --separate-stderr slogreport --json "$file"
        assert_status 0
        [ "$(grep -c '"kind":"delivery"' <<< "$output")" -ge 2 ]
        [[ $stderr == *"$file: the compressed data is incomplete"* ]]
    done
}

@test "damaged compressed data is bad input" {
    cp "$DATA/small.slog.gz" damaged.gz
    chmod u+w damaged.gz
    printf 'xxxxxxxxxxxxxxxx' | dd of=damaged.gz bs=1 seek=9000 conv=notrunc status=none
    run --separate-stderr slogreport damaged.gz
    assert_status 3
    [[ $stderr == *"damaged.gz: damaged gzip data"* ]]
}

@test "a file that is not a slogfile gets one line and status 3" {
    echo 'hello' > words
    echo '{"a":1}' > other.jsonl
    : > empty
    seq 1000 > numbers
    noise 100000 > noise
    for file in words other.jsonl empty numbers noise; do
        run --separate-stderr slogreport "$file"
        assert_bad_input 3 "$file" 'not a slogfile'
    done
    run --separate-stderr slogreport "$BATS_TEST_TMPDIR"
    assert_bad_input 3 "$BATS_TEST_TMPDIR" 'directory'
    run --separate-stderr slogreport missing.slog
    assert_bad_input 3 missing.slog 'No such file'
}

@test "a bad line is named and left out, with --strict it is an error" {
    run --separate-stderr slogreport --json "$DATA/shapes/damaged.slog"
    assert_status 0
    assert_output_has '"badLines":2,"tornLines":1,"deliveries":2'
    [[ $stderr == *"damaged.slog:3: left out"* ]]
    [[ $stderr == *"damaged.slog:6: left out"* ]]
    [[ $stderr == *"damaged.slog:8: the last line is torn"* ]]
    run --separate-stderr slogreport --strict "$DATA/shapes/damaged.slog"
    assert_bad_input 3 damaged.slog:3
}

@test "a file that begins with half a line is read from the next one" {
    zcat "$DATA/small.slog.gz" | tail -c +123456 > "$BATS_TEST_TMPDIR/cut"
    run --separate-stderr slogreport --json "$BATS_TEST_TMPDIR/cut"
    assert_status 0
    assert_output_has '"badLines":1,'
    [[ $stderr == *"cut:1: left out"* ]]
}

@test "a slogfile of a later version is refused" {
    echo '{"type":"slog-start","version":2,"session":"x","time":1.5,"monotime":0}' > "$BATS_TEST_TMPDIR/later"
    run --separate-stderr slogreport "$BATS_TEST_TMPDIR/later"
    assert_bad_input 3 later:1 'version 2' 'version 1'
}

@test "a misspelt command, a format that is not read, and a selection without meaning are named" {
    run --separate-stderr slogreport summry "$DATA/small.slog.gz"
    assert_bad_input 2 "no file or command 'summry'; did you mean summary?"
    printf '\3757zXZ\0\0\4' > small.xz
    run --separate-stderr slogreport small.xz
    assert_bad_input 3 'small.xz: is compressed with xz; decompress it with xz -dc'
    (gzip -c < small.xz; echo rest) > rest.gz
    run --separate-stderr slogreport rest.gz
    assert_bad_input 3 'rest.gz: damaged gzip data: no gzip header where one should be'
    local words
    for words in 'summary --by=vat,kindd;kind' '--sort totl;total' 'profile --by functoin;function' \
        'stalls --stamps clint;client' 'summary --against firsthalf;first-half'; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr slogreport ${words%;*} "$DATA/small.slog.gz"
        assert_bad_input 2 "did you mean ${words#*;}?"
    done
    run --separate-stderr slogreport --otlp localhost:4318 "$DATA/small.slog.gz"
    assert_bad_input 2 'a collector is http://localhost:4318'
    run --separate-stderr slogreport --otlp grpc://localhost "$DATA/small.slog.gz"
    assert_bad_input 2 'a collector is http://HOST:PORT or https://HOST:PORT'
    run --separate-stderr slogreport --metrics nodir/metrics "$DATA/small.slog.gz"
    assert_bad_input 4 'slogreport: nodir/metrics: cannot write the metrics'
    : > nothing
    run --separate-stderr slogreport nothing
    assert_bad_input 3 'nothing: not a slogfile: it is empty'
    run --separate-stderr slogreport --by vat "$DATA/small.slog.gz"
    assert_bad_input 2 '--by goes only with summary, merge and profile'
    run --separate-stderr slogreport summary --by phase --crank 5 "$DATA/small.slog.gz"
    assert_bad_input 2 '--by phase goes with neither --kind nor --crank'
}

@test "usage errors have status 2" {
    run --separate-stderr slogreport
    assert_bad_input 2 'no file named'
    run --separate-stderr slogreport --nonsense x
    assert_bad_input 2 --nonsense
}

@test "a report that cannot be written is an error" {
    "$BUILD/slogreport" "$DATA/small.slog.gz" > /dev/full 2> "$BATS_TEST_TMPDIR/err" && fail 'no failure'
    grep -q 'cannot write the report' "$BATS_TEST_TMPDIR/err"
}

@test "a command after options is not a file" {
    run --separate-stderr slogreport --json summary "$DATA/small.slog.gz"
    assert_bad_input 2 'summary comes before all options, slogreport summary [options] FILE'
}

@test "help and version" {
    run slogreport --help
    assert_status 0
    assert_output_has 'usage: slogreport'
    run slogreport --version
    assert_output_has "slogreport $(cat "$ROOT/VERSION")"
}

@test "the report is the same, however many threads read" {
    for file in "$DATA"/*.slog.gz "$DATA"/shapes/damaged.slog; do
        slogreport --jobs 1 "$file" > one 2> one.err
        for jobs in 2 3 7; do
            slogreport --jobs "$jobs" "$file" > many 2> many.err
            cmp one many
            cmp one.err many.err
        done
    done
    cat "$DATA/variety.slog.gz" > damaged.gz
    printf 'xxxxxxxxxxxxxxxx' | dd of=damaged.gz bs=1 seek=20000 conv=notrunc status=none
    run --separate-stderr slogreport --jobs 3 --json damaged.gz
    assert_status 3
    [[ $stderr == *"damaged.gz: damaged gzip data"* ]]
    run --separate-stderr slogreport --jobs 0 damaged.gz
    assert_bad_input 2 --jobs
}

@test "memory does not grow with the file" {
    ldd "$BUILD/slogreport" | grep -q "[at]san" && skip "sanitizers reserve terabytes"
    zcat "$DATA/variety.slog.gz" > once
    for _ in $(seq 20); do cat once; done > often
    # 42 MB within an address space that holds the program and little more.
    (ulimit -v 40000 && slogreport --jobs 1 --json often > report)
    assert_equal "$(grep -c '"kind":"delivery"' report)" $((20 * 269))
}

# A delivery with $1 syscalls and all their stamps, each span 10 microseconds.
long_delivery() {
    awk -v n="$1" 'function at(tick) { return sprintf("%.6f", 1000 + tick * 0.00001) }
    BEGIN {
        common = "\"crankNum\":1,\"vatID\":\"v1\",\"deliveryNum\":1,"
        tail = ",\"replay\":false,"
        print "{\"type\":\"deliver\"," common "\"replay\":false,\"vd\":[\"startVat\"],\"time\":" at(0) "}"
        stamps = at(1)
        for (i = 0; i < n; i++) {
            tick = 2 + 4 * i
            print "{\"type\":\"syscall\"," common "\"syscallNum\":" i tail "\"vsc\":[\"vatstoreGet\",\"k\"],\"time\":" at(tick + 1) "}"
            print "{\"type\":\"syscall-result\"," common "\"syscallNum\":" i tail "\"time\":" at(tick + 2) "}"
            stamps = stamps "," at(tick) "," at(tick + 3)
        }
        tick = 2 + 4 * n
        stamps = stamps "," at(tick)
        print "{\"type\":\"deliver-result\"," common "\"replay\":false,\"dr\":[\"ok\",null,{\"compute\":5,\"timestamps\":[" stamps "]}],\"time\":" at(tick + 1) "}"
    }'
}

@test "5,000 syscalls are reported to the last" {
    long_delivery 5000 > "$BATS_TEST_TMPDIR/long"
    run slogreport --json "$BATS_TEST_TMPDIR/long"
    assert_status 0
    assert_output_has '"total":0.200030,"pipe":0.100020,"worker":0.050010,"kernel":0.050000,"unattributed":0.000000,"syscalls":5000,"consoles":0,"overrun":false'
    slogreport "$BATS_TEST_TMPDIR/long" > "$BATS_TEST_TMPDIR/text"
    assert_equal "$(grep -c ' : vatstoreGet$' "$BATS_TEST_TMPDIR/text")" 5000
    assert_equal "$(grep -c ' worker$' "$BATS_TEST_TMPDIR/text")" 5001
}

# The crank numbers of a CSV report, in its order.
cranks_of() {
    slogreport --csv "$@" | tr -d '\r' | awk -F, 'NR > 1 { printf "%s%s", sep, $4; sep = " " }'
}

@test "deliveries are selected by vat, kind, method, crank, block, time and duration" {
    small=$DATA/small.slog.gz
    assert_equal "$(cranks_of --vat v1 --kind notify "$small")" "13 27 33 49"
    assert_equal "$(cranks_of --vat bootstrap --kind notify --crank 20- "$small")" "27 33 49"
    assert_equal "$(cranks_of --kind list --kind echo "$small")" "17 21"
    assert_equal "$(cranks_of --crank 40-43 "$small")" "40 41 42 43"
    assert_equal "$(cranks_of --crank 49 "$small")" "49"
    assert_equal "$(cranks_of --crank -6 "$small")" "5 6"
    assert_equal "$(cranks_of --block 6 "$DATA/shapes/blocks.slog")" "49"
    assert_equal "$(cranks_of --block 1-5 "$DATA/shapes/blocks.slog")" "40 41"
    assert_equal "$(cranks_of --min-duration 100ms "$small")" "6 7"
    assert_equal "$(cranks_of --min-duration 0.106094 "$small")" "6 7"
    assert_equal "$(cranks_of --min-duration 106095us "$small")" "6"
    assert_equal "$(cranks_of --since 1795219394.374923 "$small")" "49 51 55"
    assert_equal "$(cranks_of --until 2026-11-21T00:03:13.731618Z "$small")" "5 6"
}

@test "--top and --sort print a row per delivery, --detail lists them too, and a listing ends with totals" {
    local small=$DATA/small.slog.gz

    slogreport --top 3 "$small" > rows
    assert_equal "$(wc -l < rows)" 4
    slogreport --json --top 3 "$small" | jq -r 'select(.kind == "delivery") | [.crankNum, .vat,
        .method // .deliveryKind, .syscalls] | @tsv' > expected
    awk -v OFS='\t' 'NR > 1 { print $1, $2, $3, $9 }' rows | diff expected -
    run slogreport --sort queued --top 1 "$DATA/variety.slog.gz"
    assert_output_has 'queued ms' '       359.985'
    slogreport --top 3 --detail "$small" > detail
    head -n 4 detail | diff rows -
    assert_equal "$(grep -c '    total  (k->k' detail)" 3
    run --separate-stderr slogreport --detail "$small"
    assert_bad_input 2 '--detail goes with --sort or --top'
    slogreport "$small" > listing
    slogreport summary "$small" | sed '/^$/,$d' > totals
    sed -n '/^[0-9]* deliveries,/,$ { /^queued/d; p }' listing | diff totals -
    # What is cut off changes nothing: all rows are those of the listing.
    assert_equal "$(slogreport --sort crank "$small" | wc -l)" $(($(grep -c '^c[0-9]' listing) + 1))
}

@test "messages about a line name its file if several are read" {
    local notes='select(.kind == "note") | [.note, .file, .line]'

    # The first one ends within a delivery, which is only known when the second one begins.
    head -n 8 "$DATA/shapes/restart.slog" > first
    tail -n +9 "$DATA/shapes/restart.slog" > second
    slogreport first second | grep ^-- > found
    assert_equal "$(cat found)" '-- first line 8: the delivery to v1 that begins here has no deliver-result
-- second line 5: a new kernel process'
    slogreport --json first second | jq -c "$notes" > found
    assert_equal "$(cat found)" '["no-deliver-result","first",8]
["kernel-start","second",5]'
    slogreport --json "$DATA/shapes/restart.slog" | jq -e 'has("file") | not' > found

    zcat "$DATA/variety.slog.gz" | split -l 3749 - part.
    slogreport stalls --json part.aa part.ab | jq -r '"\(.file) \(.line) \(.vatID) \(.deliveryNum)"' |
        while read -r file line vat number; do
            sed -n "${line}p" "$file" | jq -e --arg vat "$vat" --argjson number "$number" \
                '.type == "deliver-result" and .vatID == $vat and .deliveryNum == $number' > found
        done
    slogreport stalls --json part.aa part.ab | jq -r .file | sort -u | diff <(printf '%s\n' part.aa part.ab) -
}

@test "deliveries are sorted by any column of words too" {
    local column field

    slogreport --csv "$DATA/variety.slog.gz" | tail -n +2 | tr -d '\r' > lines
    while read -r column field; do
        # Versions as words: v9 before v10; equals stay as they came.
        slogreport --csv --sort "$column" "$DATA/variety.slog.gz" | tail -n +2 | tr -d '\r' | cut -d , -f "1,5,$field" > found
        LC_ALL=C sort -s -t , -k "$field,$field$([ "$column" != vat ] || echo V)" lines | cut -d , -f "1,5,$field" > expected
        diff expected found
        slogreport --csv --sort "$column" --top 7 "$DATA/variety.slog.gz" | tail -n +2 | tr -d '\r' | cut -d , -f "1,5,$field" |
            diff <(head -n 7 expected) -
    done <<< $'vat 1\nkind 7\nmethod 8\nname 2'
    assert_equal "$(slogreport --csv --sort status --top 1 "$DATA/variety.slog.gz" | tail -n 1 | cut -d , -f 10)" error
    assert_equal "$(slogreport --csv --sort overrun --top 1 "$DATA/variety.slog.gz" | tail -n 1 | cut -d , -f 4)" 216
}

@test "deliveries are sorted, and the first ones kept" {
    small=$DATA/small.slog.gz
    assert_equal "$(cranks_of --top 3 "$small")" "6 7 5"
    assert_equal "$(cranks_of --top 3 --sort compute "$small")" "6 7 5"
    assert_equal "$(cranks_of --sort crank --crank 40-43 "$small")" "43 42 41 40"
    assert_equal "$(cranks_of --sort total --reverse --crank 40-43 "$small")" "40 41 43 42"
    # A delivery without that column comes last.
    assert_equal "$(cranks_of --sort pipe --crank 49-52 "$small")" "49 51"
    expected=$(slogreport --json "$small" | jq -s -c 'map(select(.kind == "delivery")) | sort_by(-.syscalls)[:9] | map(.crankNum)')
    assert_equal "$(cranks_of --top 9 --sort syscalls "$small" | jq -s -c .)" "$expected"
}

@test "selections that make no sense are usage errors" {
    for options in '--crank 9-5' '--crank x' '--since yesterday' '--min-duration -1' '--top 0' \
        '--sort nonsense' '--reverse' '--json --csv' '--follow --top 3'; do
        # shellcheck disable=SC2086 # words they shall be
        run --separate-stderr slogreport $options "$DATA/small.slog.gz"
        assert_bad_input 2
    done
    run --separate-stderr slogreport --top
    assert_bad_input 2 --top value
}

@test "CSV has one row a delivery, with quotes where needed and no formulas" {
    slogreport --csv "$DATA/variety.slog.gz" > "$BATS_TEST_TMPDIR/csv"
    assert_equal "$(wc -l < "$BATS_TEST_TMPDIR/csv")" 270
    sed 's/bringOutYourDead/=1+\\"1,2\\"/' "$DATA/shapes/no-worker.slog" |
        sed 's/"dropExports"/"=1+\\"1,2\\""/g' > "$BATS_TEST_TMPDIR/formula"
    run slogreport --csv "$BATS_TEST_TMPDIR/formula"
    assert_output_has ",\"'=1+\"\"1,2\"\"\",ok,"
}

@test "JSON has all that CSV has" {
    for file in "$DATA/variety.slog.gz" "$DATA"/shapes/{blocks,terminate,replay,precise}.slog; do
        slogreport --csv "$file" | tr -d '\r' > csv
        jq -R -s -c 'split("\n") | (.[0] | split(",")) as $names | .[1:-1][]
            # No field of these files has a quote within.
            | ["," + . | scan(",(\"[^\"]*\"|[^,]*)")[0] | ltrimstr("\"") | rtrimstr("\"") | ltrimstr("\u0027")]
            | [$names, .] | transpose | map({(.[0]): (.[1] | if test("^-?[0-9.]+$") then tonumber else . end)})
            | add' csv > rows
        slogreport --json "$file" | jq -c --argjson names "$(head -n 1 csv | jq -R 'split(",")')" '
            select(.kind == "delivery") | .kind = .deliveryKind | . as $delivery
            | $names | map(. as $name | if $delivery | has($name) then $delivery[$name] else error("no \($name)") end
                | {($name): (if . == null then "" elif type == "boolean" then tostring else . end)})
            | add' > found
        [ -s found ]
        diff rows found
    done
}

@test "names cannot control terminals or spreadsheets" {
    name='=1+2\\u001b[31m<script>'
    gzip -dc "$DATA/small.slog.gz" | sed "s/Stack meter exceeded/$name/; s/\"name\":\"producer\"/\"name\":\"$name\"/
        s/\\\\\"overflow\\\\\"/\\\\\"=1+2<script>\\\\\"/g" > hostile
    slogreport --csv hostile > csv
    slogreport --json hostile > json
    slogreport summary hostile > summary
    slogreport summary --csv hostile > summary.csv
    slogreport stalls --min-duration 1us hostile > stalls
    slogreport --html page hostile
    slogreport --trace trace hostile
    for file in csv json summary summary.csv stalls page trace; do
        ! grep -q $'\e' "$file" || fail "$file has an escape"
    done
    grep -q ",\"'=1+2�\[31m<script>\"," csv
    grep -q ",\"'=1+2<script>\"," csv
    ! grep -qE '(^|,)"?=1' csv summary.csv || fail "a formula"
    ! grep -q '=1+2[^u]*<script' page || fail "a name is a tag of the page"
    assert_equal "$(jq -s -c '[.[] | select(.status == "error") | [.vat, .method, .error]] | unique' json)" \
        '[["=1+2�[31m<script>","=1+2<script>","=1+2�[31m<script>"]]'
}

@test "--follow reports what is added to the file, to its last line, until it is moved" {
    head -4 "$DATA/shapes/blocks.slog" > growing
    "$BUILD/slogreport" --json --follow growing > report 2> err 3>&- &
    reader=$!
    wait_for 60 grep -q '"crankNum":40' report
    # Half a line, and later the rest of it.
    tail -n +5 "$DATA/shapes/blocks.slog" > rest
    head -c 700 rest >> growing
    tail -c +701 rest >> growing
    wait_for 60 grep -q '"crankNum":49' report
    mv growing elsewhere
    wait_for 60 grep -q '"kind":"summary".*"badLines":0,"tornLines":0,"deliveries":3' report
    wait "$reader"
}

@test "--follow ends when the file is removed" {
    cp "$DATA/shapes/blocks.slog" growing
    "$BUILD/slogreport" --json --follow growing > report 2> err 3>&- &
    reader=$!
    wait_for 60 grep -q '"crankNum":49' report
    rm growing
    wait_for 60 grep -q '"kind":"summary"' report
    wait "$reader"
}

@test "a torn compressed file is read as far as it goes, and that is reported" {
    local form cut

    zcat "$DATA/small.slog.gz" > small.slog
    slogreport --json small.slog | grep '"kind":"delivery"' > whole
    gzip -c small.slog > small.gz
    zstd -qc small.slog > small.zst
    for form in gz zst; do
        for cut in 1 2 9 100 3000 9000; do
            head -c -"$cut" "small.$form" > torn
            # Prints what another decompressor reads from it, without a torn last line.
            case $form in
            gz) zcat torn > lines 2> err || true ;;
            zst) zstdcat torn > lines 2> err || true ;;
            esac
            run --separate-stderr slogreport --json torn
            [[ $stderr == *'the compressed data is incomplete'* ]] || fail "$form less $cut: $stderr"
            if [ -s lines ]; then
                assert_status 0
                grep '"kind":"delivery"' <<< "$output" > found || true
                head -n "$(wc -l < found)" whole | diff - found
                # Not less than the other one finds whole.
                [ "$(wc -l < found)" -ge "$(sed '$d' lines | grep -c '"type":"deliver-result"')" ]
            fi
        done
    done
}

# Returns 0 if the reader has read that many bytes of the file.
has_read() {
    local fd

    for fd in "/proc/$reader/fd"/*; do
        [ "$fd" -ef growing ] || continue
        grep -q "^pos:[[:space:]]*$1\$" "/proc/$reader/fdinfo/${fd##*/}"
        return
    done
    return 1
}

@test "--follow reads a compressed file that grows, from its first byte on" {
    local form

    gzip -c "$DATA/shapes/blocks.slog" > whole.gz
    # Several frames, as a writer that flushes leaves them.
    head -4 "$DATA/shapes/blocks.slog" | zstd -qc > whole.zst
    tail -n +5 "$DATA/shapes/blocks.slog" | zstd -qc >> whole.zst
    slogreport --json "$DATA/shapes/blocks.slog" > expected
    for form in gz zst; do
        head -c 1 "whole.$form" > growing
        "$BUILD/slogreport" --json --follow growing > report 2> err 3>&- &
        reader=$!
        for at in {2..20}; do
            wait_for 60 has_read $((at - 1))
            tail -c "+$at" "whole.$form" | head -c 1 >> growing
        done
        wait_for 60 has_read 20
        tail -c +21 "whole.$form" | head -c 500 >> growing
        wait_for 60 has_read 520
        tail -c +521 "whole.$form" >> growing
        wait_for 60 grep -q '"crankNum":49' report
        mv growing elsewhere
        wait "$reader"
        diff expected report
        # There is no message while its writer is not done.
        assert_equal "$(cat err)" ''
    done
}

@test "--follow starts again with a file that is truncated, and says so" {
    cp "$DATA/shapes/blocks.slog" growing
    "$BUILD/slogreport" --json --follow growing > report 2> err 3>&- &
    reader=$!
    wait_for 60 grep -q '"crankNum":49' report
    : > growing
    wait_for 60 grep -q 'growing was truncated' err
    cat "$DATA/shapes/live.slog" >> growing
    wait_for 60 has_read "$(wc -c < growing)"
    rm growing
    wait "$reader"
    for file in blocks live; do slogreport --json "$DATA/shapes/$file.slog"; done |
        grep '"kind":"delivery"' | sed '4,$s/"run":1/"run":2/' > expected
    grep '"kind":"delivery"' report | diff expected -
}

@test "--follow accepts a torn line that is truncated, as after a full disk" {
    head -4 "$DATA/shapes/blocks.slog" > whole-lines
    (cat whole-lines; printf '{"type":"torn') > growing
    "$BUILD/slogreport" --json --follow growing > report 2> err 3>&- &
    reader=$!
    wait_for 60 grep -q '"crankNum":40' report
    truncate -s "$(wc -c < whole-lines)" growing
    wait_for 60 has_read "$(wc -c < whole-lines)"
    tail -n +5 "$DATA/shapes/blocks.slog" >> growing
    wait_for 60 grep -q '"crankNum":49' report
    rm growing
    wait "$reader"
    slogreport --json "$DATA/shapes/blocks.slog" | diff - report
    assert_equal "$(cat err)" ''
}
