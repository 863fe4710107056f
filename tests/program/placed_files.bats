#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What others have put in place of a file is refused at once: FIFOs, devices, links, too much.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    keeper="keeper=$ROOT/examples/token/contract.js"
    echo '{"vat":"keeper","method":"mint","args":["a",1]}' > lines
}

# refuses STATUS WORDS COMMAND...: without waiting.
refuses() {
    run timeout -s KILL 60 "${@:3}"
    assert_status "$1"
    assert_output_has "$2"
}

@test "a store whose database is a FIFO, a directory or a link" {
    local command

    "$BUILD/gaspipe" run --counter none --store store --vat "$keeper" lines > /dev/null
    cp -r store other
    mv other/gaspipe.sqlite elsewhere
    for command in 'run --counter none --again --store other lines' 'status --store other' 'verify --store other' \
        'replay --store other keeper'; do
        mkfifo other/gaspipe.sqlite
        # shellcheck disable=SC2086
        refuses 3 'other/gaspipe.sqlite: is a FIFO, not a file' "$BUILD/gaspipe" $command
        rm other/gaspipe.sqlite
        mkdir other/gaspipe.sqlite
        # shellcheck disable=SC2086
        refuses 3 'other/gaspipe.sqlite: is a directory, not a file' "$BUILD/gaspipe" $command
        rmdir other/gaspipe.sqlite
        ln -s ../elsewhere other/gaspipe.sqlite
        # shellcheck disable=SC2086
        refuses 3 'other/gaspipe.sqlite: is a symbolic link, not a file' "$BUILD/gaspipe" $command
        rm other/gaspipe.sqlite
    done
    # So are the files next to it; and a directory that is reached through a link is that directory.
    mv elsewhere other/gaspipe.sqlite
    mkfifo other/gaspipe.sqlite-wal
    refuses 3 'other/gaspipe.sqlite-wal: is a FIFO' "$BUILD/gaspipe" status --store other
    rm other/gaspipe.sqlite-wal other/gaspipe.mark
    mkfifo other/gaspipe.mark
    refuses 3 'other/gaspipe.mark: is a FIFO' "$BUILD/gaspipe" run --counter none --again --store other lines
    ln -s store link
    run "$BUILD/gaspipe" run --counter none --again --store link lines
    assert_status 0
}

@test "a fleet's jobs, objects and results that are no files, or too long" {
    local kind file what words

    "$BUILD/gaspipe" run --counter none --slog slog --vat "$keeper" lines > /dev/null
    "$BUILD/gaspipe" fleet submit --to fleet slog > /dev/null
    cp -r fleet finished
    "$BUILD/gaspipe" fleet work --from finished > /dev/null
    for kind in jobs objects results; do
        for what in fifo long link; do
            rm -rf now
            cp -r "$([ $kind = results ] && echo finished || echo fleet)" now
            file=$(find "now/$kind" -type f | head -n 1)
            mv "$file" kept
            case $what in
                fifo) mkfifo "$file"; words='is a FIFO, not a file' ;;
                long) truncate -s 20G "$file"; words='longer than' ;;
                link) ln -s "$PWD/kept" "$file"; words='is a symbolic link, not a file' ;;
            esac
            run timeout -s KILL 60 "$BUILD/gaspipe" fleet \
                "$([ $kind = results ] && echo collect || echo work)" --from now
            [ "$status" -ne 137 ] || fail "$kind $what: $status: $output"
            assert_output_has "$words"
        done
    done
}

@test "a fleet's job or result that is damaged fails alone: the others are done and collected" {
    local what file

    sed 's/keeper/other/' lines > both
    cat lines >> both
    "$BUILD/gaspipe" run --counter none --slog slog --vat "$keeper" --vat "other=${keeper#*=}" both > /dev/null
    "$BUILD/gaspipe" fleet submit --to fleet slog > /dev/null
    for what in fifo directory missing; do
        rm -rf now
        cp -r fleet now
        file=$(find now/jobs -type f | head -n 1)
        rm "$file"
        case $what in
            fifo) mkfifo "$file" ;;
            directory) mkdir "$file" ;;
        esac
        run timeout -s KILL 60 "$BUILD/gaspipe" fleet work --from now
        assert_status 0
        assert_output_has '1 job done, 3 failed'
        run "$BUILD/gaspipe" fleet collect --from now
        assert_status 4
        assert_output_has "failed: " "$(basename "$file")" '1 vat: '
    done
    "$BUILD/gaspipe" fleet work --from fleet > /dev/null
    for what in empty head cut exchanged edited; do
        rm -rf now
        cp -r fleet now
        file=$(find now/results -type f | sort | head -n 1)
        case $what in
            empty) : > "$file" ;;
            head) sed -i 1q "$file" ;;
            cut) truncate -s -1 "$file" ;;
            exchanged) cp "$(find now/results -type f | sort | tail -n 1)" "$file" ;;
            edited) sed -i 's/"status":"same"/"status":"skipped"/' "$file" ;;
        esac
        run "$BUILD/gaspipe" fleet collect --from now
        assert_equal "$what: $status" "$what: 4"
        assert_output_has "is damaged or another job's; remove it and submit the run again" '1 vat: '
        run "$BUILD/gaspipe" fleet status --from now
        assert_output_has '1 of 2 spans done' '1 failed'
    done
}

@test "a contract that is a FIFO, unless it is an open descriptor" {
    local option

    mkfifo fifo
    for option in --vat --bundle --upgrade --new-vat; do
        "$BUILD/gaspipe" run --counter none --store store --vat "$keeper" lines > /dev/null
        refuses 3 'fifo: is a FIFO, not a file' "$BUILD/gaspipe" run --counter none --store store --again \
            "$option" keeper=fifo lines
        rm -r store
    done
    run "$BUILD/gaspipe" run --counter none --vat keeper=<(cat "$ROOT/examples/token/contract.js") lines
    assert_status 0
    # shellcheck disable=SC2016 # a shell of its own
    run bash -c 'cat "$1" | "$2" run --counter none --vat keeper=/dev/stdin lines' - \
        "$ROOT/examples/token/contract.js" "$BUILD/gaspipe"
    assert_status 0
}
