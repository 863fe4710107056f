#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command line itself: help, hints, completion, the width of tables, byte order marks.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "an unknown command or option is followed by the one that was meant" {
    run --separate-stderr "$BUILD/gaspipe" rnu
    assert_bad_input 2 "unknown command 'rnu'; did you mean run?"
    run --separate-stderr "$BUILD/gaspipe" run --ouput x
    assert_bad_input 2 'unknown option --ouput'
    run --separate-stderr "$BUILD/gaspipe" replay --paralel=4 x
    assert_bad_input 2 'unknown option --paralel=4; did you mean --parallel?'
    run --separate-stderr "$BUILD/slogreport" --jsno x
    assert_bad_input 2 'did you mean --json?'
    run --separate-stderr "$BUILD/gaspipe" bogus
    assert_bad_input 2 "unknown command 'bogus' (see gaspipe help)"
    run --separate-stderr "$BUILD/gaspipe" run --counter none --resume --vat a=b c
    assert_bad_input 2 '--resume needs --store DIR'
    run --separate-stderr "$BUILD/gaspipe" run --counter none --max-heap 2049M --vat a=b c
    assert_bad_input 2 '--max-heap is at most 2G'
    run --separate-stderr "$BUILD/gaspipe" replay "$ROOT/examples/token/deliveries.jsonl"
    assert_bad_input 3 'deliveries.jsonl:1: not a slogfile or transcript: no "type"'
    run --separate-stderr "$BUILD/gaspipe" estimate nera
    assert_bad_input 3 "no suite 'nera'; give a directory with suite.json, or near or javascript"
}

# Each option of numbers with its bounds: below, at and above them.
@test "options of numbers take what lies within their bounds, and name the bounds" {
    local command option least most above value

    while read -r command option least most; do
        for value in "$least" "$most"; do
            # What comes after the option is read only if its value was taken.
            run --separate-stderr "$BUILD/${command%%/*}" "${command#*/}" "--$option" "$value" --bogus
            assert_equal "$command --$option $value: $status" "$command --$option $value: 2"
            assert_has "$stderr" 'unknown option --bogus'
        done
        above=9223372036854775808
        [ "$most" = 9223372036854775807 ] || above=$((most + 1))
        for value in $((least - 1)) "$above" 1x ''; do
            run --separate-stderr "$BUILD/${command%%/*}" "${command#*/}" "--$option" "$value" --bogus
            assert_equal "$command --$option $value: $status" "$command --$option $value: 2"
            assert_has "$stderr" "--$option needs a number from $least to $most, not '$value'"
        done
    done << 'END'
gaspipe/run compute-limit 0 2147483647
gaspipe/run max-instructions 0 9223372036854775807
gaspipe/run max-cost 0 9223372036854775807
gaspipe/run max-syscalls 0 9223372036854775807
gaspipe/run near-protocol 62 158
gaspipe/run queue-lines 1 2147483647
gaspipe/run cranks-per-commit 1 2147483647
gaspipe/run snapshot-interval 0 2147483647
gaspipe/run snapshot-initial 1 2147483647
gaspipe/run reap-interval 0 2147483647
gaspipe/run jobs 1 1024
gaspipe/run max-workers 0 2147483647
gaspipe/run retries 0 16
gaspipe/replay parallel 1 1024
gaspipe/ping count 1 10000000
gaspipe/ping load 0 1024
gaspipe/count repeat 1 100000
gaspipe/count time 0 100000
gaspipe/compile max-seconds 1 86400
gaspipe/trace process 1 2147483647
slogreport/summary jobs 1 64
END
    for value in 1 0 50331647 2147483649 3G 48N 47M '' -1; do
        run --separate-stderr "$BUILD/gaspipe" run --max-heap "$value" --bogus
        assert_equal "$value $status" "$value 2"
        assert_has "$stderr" '--max-heap '
    done
    for value in 48M 50331648 2G 2147483648; do
        run --separate-stderr "$BUILD/gaspipe" run --max-heap $value --bogus
        assert_has "$stderr" 'unknown option --bogus'
    done
    for value in 600 0.5 1000000; do
        run --separate-stderr "$BUILD/gaspipe" run --delivery-timeout $value --bogus
        assert_has "$stderr" 'unknown option --bogus'
    done
    for value in 1000000.001 -1 1s ''; do
        run --separate-stderr "$BUILD/gaspipe" run --delivery-timeout "$value" --bogus
        assert_bad_input 2 '--delivery-timeout needs '
    done
}

@test "help, versions and completions end quietly when their reader goes away, and name a full disk" {
    local command status

    for command in 'gaspipe help' 'gaspipe --version' 'gaspipe run --help' 'gaspipe --completion bash' 'gaspipe fleet --help' \
        'gaspipe fleet work --help' 'slogreport --help' 'slogreport --version' 'slogreport --completion zsh'; do
        # The reader has gone before anything is written.
        status=0
        # shellcheck disable=SC2086,SC2261 # words; each redirection is of another command
        { exec {reader}> >(exec true); wait $! || true; "$BUILD"/$command >&$reader 2> errors || status=$?; exec {reader}>&-; }
        assert_equal "$status $(cat errors)" '141 ' "$command"
        # shellcheck disable=SC2086 # words
        run --separate-stderr bash -c '"$@" > /dev/full' - "$BUILD"/$command
        assert_bad_input 4 'cannot write to standard output: No space left on device'
    done
}

@test "gaspipe help explains all commands, or one" {
    local command

    run "$BUILD/gaspipe" help
    assert_status 0
    assert_equal "$output" "$("$BUILD/gaspipe" --help)"
    for command in run replay fleet status verify compile convert count estimate ping trace; do
        assert_output_has "  $command "
    done
    run --separate-stderr "$BUILD/gaspipe" help verfy
    assert_bad_input 2 "did you mean verify?"
}

@test "without man, gaspipe help COMMAND prints the options" {
    mkdir empty
    for command in run fleet trace; do
        run --separate-stderr env PATH="$PWD/empty" "$BUILD/gaspipe" help $command
        assert_status 0
        assert_equal "$output" "$("$BUILD/gaspipe" $command --help)"
        assert_equal "$stderr" "gaspipe: cannot run man to show gaspipe-$command(1): No such file or directory"
    done
    run --separate-stderr env PATH="$PWD/empty" "$BUILD/slogreport" help waits
    assert_equal "$output" "$("$BUILD/slogreport" waits --help)"
    run --separate-stderr "$BUILD/slogreport" help wait
    assert_bad_input 2 "unknown command 'wait'; did you mean waits?"
}

# completed WORDS...: what bash completes the last of them to, sorted, on one line. As readline
# does, '=' is a word of its own.
completed() {
    "$BUILD/$1" --completion bash > "$1.bash"
    bash --norc -c 'source ./"$1".bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        '"_$1"'; printf "%s\n" "${COMPREPLY[@]}" | sort | paste -sd " "' bash "$@"
}

@test "bash completes commands, options, their values and files" {
    touch deliveries.jsonl contract.js
    mkdir deep
    run bash -c 'source <("$BUILD/gaspipe" --completion bash); complete -p gaspipe'
    assert_output_has 'complete -F _gaspipe gaspipe'
    assert_equal "$(completed gaspipe st)" status
    assert_equal "$(completed gaspipe help re)" replay
    assert_equal "$(completed gaspipe run --max-s)" '--max-store-bytes --max-syscalls'
    assert_equal "$(completed gaspipe run --counter q)" 'qemu qemu,compiled'
    assert_equal "$(completed gaspipe run --counter = n)" none
    assert_equal "$(completed gaspipe run --sandbox =)" 'basic off strict'
    assert_equal "$(completed gaspipe run --vat token = con)" contract.js
    assert_equal "$(completed gaspipe run --store d)" deep
    assert_equal "$(completed gaspipe run --json d)" 'deep deliveries.jsonl'
    assert_equal "$(completed gaspipe run --jobs d)" ''
    assert_equal "$(completed gaspipe count -- bash d)" 'deep deliveries.jsonl'
    [[ " $(completed gaspipe count ba) " == *' bash '* ]]
    assert_equal "$(completed slogreport d)" 'deep deliveries.jsonl'
    assert_equal "$(completed slogreport su)" summary
    assert_equal "$(completed slogreport summary --hi)" --histograms
    assert_equal "$(completed slogreport --hi)" ''
    assert_equal "$(completed gaspipe fleet w)" work
    assert_equal "$(completed gaspipe fleet work --slo)" --slots
    assert_equal "$(completed gaspipe --completion z)" zsh
    run --separate-stderr "$BUILD/gaspipe" --completion csh
    assert_bad_input 2 'bash, zsh or fish'
}

# each_command SHELL FUNCTION: calls FUNCTION SHELL PROGRAM COMMAND... for each command, also for that of
# slogreport which has no name.
each_command() {
    local command

    for command in run replay status verify compile convert count estimate ping trace fleet\ {submit,work,status,collect,cancel}; do
        # shellcheck disable=SC2086 # two words
        "$2" "$1" gaspipe $command
    done
    "$2" "$1" slogreport
    for command in summary merge compare stalls runs extract rows profile waits; do
        "$2" "$1" slogreport "$command"
    done
}

# help_options PROGRAM COMMAND...: the long options that --help lists, sorted.
help_options() {
    "$BUILD/$1" "${@:2}" --help | sed -nE 's/^  (-[a-z], )?(--[a-z-]+).*/\2/p' | sort -u
}

# offers_options SHELL PROGRAM COMMAND...: the shell completes -- to the options of --help.
offers_options() {
    local offered

    offered=$("offered_by_$1" "${@:2}" -- | tr ' ' '\n' | grep '^--' | sed 's/[=[].*//' | grep -vx -e --completion | sort -u)
    assert_equal "$offered" "$(help_options "${@:2}")" "options of ${*:2} in $1"
}

offered_by_bash() {
    completed "$@"
}

# The words that the script adds, and the specifications that it hands to _arguments.
offered_by_zsh() {
    "$BUILD/$1" --completion zsh > "$1.zsh"
    zsh -f -c 'compdef() { }; _files() { }; compadd() { shift; print -l -- "$@"; }
        _arguments() { for s in "$@"; do print -r -- "${${s#\*}%%[=+\[]*}"; done; }
        script=$1; shift; words=("$@"); CURRENT=$#; source ./"$script".zsh; _$script' zsh "$1" "$@"
}

offered_by_fish() {
    "$BUILD/$1" --completion fish > "$1.fish"
    HOME=$PWD LINE=$* fish --no-config -c "source $1.fish; complete -C \"\$LINE\"" | cut -f 1
}

@test "bash completes the options of each command" {
    each_command bash offers_options
}

@test "zsh completes the options of each command, and commands" {
    command -v zsh > /dev/null || skip 'zsh is not installed (apt-get install zsh)'
    each_command zsh offers_options
    assert_equal "$(offered_by_zsh gaspipe fleet '' | paste -sd ' ')" 'submit work status collect cancel'
    assert_equal "$(offered_by_zsh gaspipe st | grep -v '^-' | sort | paste -sd ' ')" \
        "$("$BUILD/gaspipe" help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort | paste -sd ' ')"
}

@test "fish completes the options of each command, commands and values" {
    command -v fish > /dev/null || skip 'fish is not installed (apt-get install fish)'
    each_command fish offers_options
    assert_equal "$(offered_by_fish gaspipe fleet w)" work
    assert_equal "$(offered_by_fish gaspipe help st)" status
    assert_equal "$(offered_by_fish gaspipe run --sandbox '' | paste -sd ' ')" 'basic off strict'
}

# at_width COLUMNS COMMAND...: what it prints to a terminal of that width.
at_width() {
    local columns=$1

    shift
    script -qec "stty cols $columns; $(printf '%q ' "$@")" /dev/null < /dev/null | tr -d '\r'
}

# assert_fits COLUMNS < LINES
assert_fits() {
    awk -v width="$1" '{ gsub(/\033\[[0-9]*m/, "") }
        length($0) > width { print "longer than " width ": " $0; long = 1 } END { exit long }'
}

@test "on a terminal, a run ends with the next command" {
    "$NATIVE/gaspipe" run --counter none --slog run.slog --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > out || [ $? -eq 1 ]
    run -1 grep '^next: ' out
    at_width 100 "$NATIVE/gaspipe" run --counter none --slog again.slog --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > out
    assert_equal "$(tail -n 1 out)" 'next: slogreport summary again.slog'
    at_width 100 "$NATIVE/gaspipe" run --counter none --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > out
    assert_equal "$(tail -n 1 out)" 'next: add --slog FILE, then slogreport summary FILE'
}

@test "tables fit into the terminal" {
    printf '{"vat":"list","method":"%s","args":[%s]}\n' echo '"'"$(printf '%090d' 7)"'"' \
        anAstonishinglyLongNameOfAMethod 1 > lines.jsonl
    echo 'export const echo = x => x; export const anAstonishinglyLongNameOfAMethod = x => x;' \
        > contract.js
    at_width 80 "$BUILD/gaspipe" run --counter none --store store --vat list=contract.js \
        lines.jsonl > narrow
    grep -v ' in deliveries, ' narrow | assert_fits 80
    grep -q 'anAstonishingl ok' narrow
    grep -q '^          "0000000' narrow
    at_width 160 "$BUILD/gaspipe" run --counter none --store store --again --vat list=contract.js \
        lines.jsonl > wide
    assert_fits 160 < wide
    grep -q 'kernel ms' wide
    at_width 80 "$BUILD/gaspipe" status --store store > status
    grep -v 'activity hash' status | assert_fits 80
    at_width 80 "$BUILD/slogreport" summary "$ROOT/tests/data/variety.slog.gz" > summary
    assert_fits 80 < summary
    at_width 80 "$BUILD/slogreport" summary --by vat "$ROOT/tests/data/variety.slog.gz" > summary
    assert_fits 80 < summary
    grep -q 'median        max' summary
    "$BUILD/slogreport" summary --by vat "$ROOT/tests/data/variety.slog.gz" | grep -q 'median        90%'
}

@test "a byte order mark is named" {
    local mark=$'\xef\xbb\xbf' file

    printf '%s{"vat":"list","method":"echo"}\n' "$mark" > lines.jsonl
    echo 'export const echo = x => x;' > contract.js
    run --separate-stderr "$BUILD/gaspipe" run --counter none --vat list=contract.js lines.jsonl
    assert_bad_input 3 'lines.jsonl:1: begins with a byte order mark (BOM)'
    printf '%s{"moduleFormat":"endoZipBase64","endoZipBase64":""}' "$mark" > bundle.json
    run --separate-stderr "$BUILD/gaspipe" run --counter none --vat list=bundle.json lines.jsonl
    assert_bad_input 3 'bundle.json: begins with a byte order mark (BOM)'
    printf '%s{"instruction":1}' "$mark" > gas.json
    run --separate-stderr "$BUILD/gaspipe" count --gas gas.json true
    assert_bad_input 3 'gas.json:1: begins with a byte order mark (BOM)'
    for file in slog histograms; do
        printf '%s{"kind":"slog-histograms"}\n' "$mark" > $file
    done
    run --separate-stderr "$BUILD/slogreport" slog
    assert_bad_input 3 'slog: begins with a byte order mark (BOM)'
    run --separate-stderr "$BUILD/slogreport" merge histograms
    assert_bad_input 3 'begins with a byte order mark (BOM)'
    # In JavaScript it is a blank.
    printf '%sexport const echo = x => x;' "$mark" > contract.js
    echo '{"vat":"list","method":"echo","args":[5]}' |
        "$BUILD/gaspipe" run --counter none --vat list=contract.js - | grep -q ' 5$'
}
