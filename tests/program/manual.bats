#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The manual pages: each option and exit status of --help is in the command's page and the reverse,
# pages have the usual sections, and their examples print what they show.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

PAGES=$ROOT/docs/man
GASPIPE=(run replay status verify compile convert count estimate ping trace)
FLEET=(submit work status collect cancel)
SLOGREPORT=(summary merge compare stalls runs waits extract rows profile)

# The headings and options of --help, in their order, without what a heading has in brackets.
options_of_help() {
    sed -nE -e 's/^([A-Z][A-Za-z ]+[a-z])( \(.*\))?:$/\1/p' \
        -e 's/^  ((-[a-z]), )?(--?[a-zA-Z][a-z-]*).*/\2\n\3/p' | grep .
}

# The same of a page; those without headings have them neither here nor in --help.
options_of_page() {
    sed -nE '/^\.Sh OPTIONS/,/^\.Sh [^O]/{s/^\.Ss //p; s/^\.It Fl //p;}' "$1" |
        sed -E 's/ , (Fl )?/\n/g' | awk '/^-?[a-z]/ { print "-" $1; next } { print }'
}

only_options() {
    grep '^-' | sort -u
}

# same_options PAGE COMMAND...: --help and the page have the same groups and options, in one order.
same_options() {
    local help

    help=$("$BUILD/$2" "${@:3}" --help | options_of_help | grep -v '^Exit status')
    if ! grep -q '^\.Ss' <(sed -n '/^\.Sh OPTIONS/,/^\.Sh [^O]/p' "$PAGES/$1"); then
        help=$(grep '^-' <<< "$help")
    fi
    assert_equal "$(options_of_page "$PAGES/$1")" "$help" "options in $1"
}

# same_statuses PAGE COMMAND...: the last paragraph of --help and the page have the same ones.
same_statuses() {
    assert_equal "$(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh /s/^\.It \([0-9]*\)$/\1/p' "$PAGES/$1" | paste -sd ' ')" \
        "$("$BUILD/$2" "${@:3}" --help | sed -n '/^Exit status:/,$p' |
            tr '\n' ' ' | grep -oE '(^|[ ,;])[0-9]+ ' | grep -oE '[0-9]+' | paste -sd ' ')" "exit statuses in $1"
}

# says_version PROGRAM: it prints its name and the version of the project.
says_version() {
    run "$BUILD/$1" --version
    assert_status 0
    assert_equal "${lines[-1]}" "$1 $(cat "$ROOT/VERSION")"
}

@test "gaspipe-worker: page, --help and --version" {
    assert_equal "$(sed -n 's/^\.It Fl //p' "$PAGES/gaspipe-worker.1" | sed -E 's/ , (Fl )?/\n/g' |
        awk '/^-?[a-z]/ { print "-" $1 }' | sort -u)" \
        "$("$BUILD/gaspipe-worker" --help | grep -oE '^ +-[^ ]+( --?[a-z-]+)?' | grep -oE -e '--?[a-z-]+' | sort -u)" options
    same_statuses gaspipe-worker.1 gaspipe-worker
    says_version gaspipe-worker
}

@test "gaspipe: pages and --help have the same options" {
    for command in "${GASPIPE[@]}"; do
        same_options "gaspipe-$command.1" gaspipe "$command"
    done
    # One page describes all commands of a fleet.
    assert_equal "$(options_of_page "$PAGES/gaspipe-fleet.1" | only_options)" "$(
        for command in "${FLEET[@]}"; do
            "$BUILD/gaspipe" fleet "$command" --help
        done | options_of_help | only_options)"
    assert_equal "$(sed -n 's/^\.It Cm \([a-z]*\)$/\1/p' "$PAGES/gaspipe.1")" \
        "$("$BUILD/gaspipe" help | sed -nE 's/^  ([a-z]+) .*/\1/p' | grep -vx help)" commands
    says_version gaspipe
}

@test "slogreport: pages and --help have the same options" {
    # The page of the program has --completion too.
    assert_equal "$(options_of_page "$PAGES/slogreport.1" | grep -vx -e --completion)" \
        "$("$BUILD/slogreport" --help | options_of_help | grep -v '^Exit status')"
    for command in "${SLOGREPORT[@]}"; do
        same_options "slogreport-$command.1" slogreport "$command"
    done
    assert_equal "$(sed -n 's/^\.It Cm \([a-z]*\)$/\1/p' "$PAGES/slogreport.1")" \
        "$("$BUILD/slogreport" --help | sed -nE 's/^  ([a-z]+)  .*/\1/p' | grep -vx help)" commands
    says_version slogreport
}

@test "pages and --help have the same exit statuses" {
    for command in run replay status verify compile convert count estimate ping; do
        same_statuses "gaspipe-$command.1" gaspipe "$command"
    done
    same_statuses slogreport.1 slogreport
}

@test "pages of commands have the usual sections" {
    for page in "${GASPIPE[@]/#/gaspipe-}" gaspipe-fleet gaspipe-worker gaspipe-cc gaspipe-meter \
        slogreport "${SLOGREPORT[@]/#/slogreport-}"; do
        assert_equal "$(sed -n 's/^\.Sh //p' "$PAGES/$page.1" |
            grep -xE 'NAME|SYNOPSIS|DESCRIPTION|OPTIONS|EXIT STATUS|EXAMPLES|SEE ALSO' | paste -sd ,)" \
            'NAME,SYNOPSIS,DESCRIPTION,OPTIONS,EXIT STATUS,EXAMPLES,SEE ALSO' "sections of $page"
    done
}

@test "gaspipe help COMMAND opens the page" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\necho "$@"\n' > "$BATS_TEST_TMPDIR/bin/man"
    chmod +x "$BATS_TEST_TMPDIR/bin/man"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
    for command in "${GASPIPE[@]}" fleet; do
        assert_equal "$(realpath "$("$BUILD/gaspipe" help "$command")")" "$(realpath "$PAGES/gaspipe-$command.1")"
    done
    assert_equal "$(realpath "$("$BUILD/slogreport" help)")" "$(realpath "$PAGES/slogreport.1")"
    assert_equal "$(realpath "$("$BUILD/slogreport" help waits)")" "$(realpath "$PAGES/slogreport-waits.1")"
}

# examples_of PAGE...: the commands of each page print what it shows, from a copy of the tree.
examples_of() {
    local page

    like_a_checkout
    for page; do
        mkdir "page-$page"
        ln -s "$PWD"/{examples,tests,docs,build} "page-$page"
        PATH=$BUILD:$PATH run env -C "page-$page" "$ROOT/tests/program/check-document" "$PAGES/$page"
        assert_equal "$output" ""
        assert_status 0
    done
}

@test "examples of gaspipe, gaspipe-run, -status and -verify" {
    examples_of gaspipe.1 gaspipe-run.1 gaspipe-status.1 gaspipe-verify.1
}

@test "examples of gaspipe-deliveries, -json and -replay" {
    examples_of gaspipe-deliveries.5 gaspipe-json.5 gaspipe-replay.1
}

@test "examples of gaspipe-count and -estimate" {
    examples_of gaspipe-count.1 gaspipe-estimate.1
}

@test "examples of gaspipe-fleet and -ping" {
    examples_of gaspipe-fleet.1 gaspipe-ping.1
}

@test "examples of gaspipe-trace" {
    [ "$NATIVE" = "$BUILD" ] || skip 'a sanitized program cannot be traced'
    examples_of gaspipe-trace.1
}

@test "examples of gaspipe-worker" {
    examples_of gaspipe-worker.1
}

@test "examples of gaspipe-cc, -meter and -compile" {
    [ "$BUILD" = "$ROOT/build" ] || skip 'the wrappers are next to the ordinary gaspipe'
    [ -x "$ROOT/build/gaspipe-meter" ] || skip 'LLVM is not there; scripts/setup --meter installs it'
    export XDG_CACHE_HOME="$BATS_TEST_TMPDIR/cache"
    examples_of gaspipe-cc.1 gaspipe-meter.1 gaspipe-compile.1
}

@test "examples of slogreport" {
    examples_of slogreport.1 slogreport-json.5 slogreport-html.7 slogreport-export.7
}

@test "examples of the commands of slogreport" {
    local pages=("${SLOGREPORT[@]/#/slogreport-}")

    examples_of "${pages[@]/%/.1}"
}

@test "each page with commands has its examples run" {
    local page

    for page in $(cd "$PAGES" && grep -l '^\$ ' -- *); do
        grep -qE "^    examples_of .*\b$page\b" "$BATS_TEST_FILENAME" || [[ $page =~ ^slogreport-($(IFS='|'; echo "${SLOGREPORT[*]}")).1$ ]] ||
            fail "no test runs $page"
    done
}
