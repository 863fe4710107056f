#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The manual pages and --help of each program agree.

load common

# The options that --help lists, sorted, from stdin.
options_of_help() {
    sed -nE 's/^  ((-[a-z]), )?(--?[a-zA-Z][a-z-]*).*/\2\n\3/p' | grep . | sort -u
}

options_of_page() {
    sed -n 's/^\.It Fl //p' | sed -E 's/ , (Fl )?/\n/g' | awk '{ print $1 }' |
        grep -E '^-?[a-zA-Z]' | sed 's/^/-/' | sort -u
}

# same_options PAGE COMMAND...: --help and the page have the same options.
same_options() {
    local page=$ROOT/docs/$1.1
    shift
    run "$BUILD/$1" "${@:2}" --help
    assert_status 0
    assert_equal "$(options_of_page < "$page")" "$(options_of_help <<< "$output")" \
        "options of the page and of --help"
}

# same_statuses PROGRAM: its page and the last paragraph of --help have the same ones.
same_statuses() {
    assert_equal "$(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh /s/^\.It \([0-9]*\)$/\1/p' "$ROOT/docs/$1.1" |
        paste -sd ' ')" "$("$BUILD/$1" --help | sed -n '/^Exit status:/,$p' |
        tr '\n' ' ' | grep -oE '(^|[ ,])[0-9]+ ' | grep -oE '[0-9]+' | paste -sd ' ')" "exit statuses of $1"
}

# says_version PROGRAM: it prints its name and the version of the project.
says_version() {
    run "$BUILD/$1" --version
    assert_status 0
    assert_equal "${lines[-1]}" "$1 $(cat "$ROOT/VERSION")"
}

@test "gaspipe-worker: page, --help and --version" {
    same_options gaspipe-worker gaspipe-worker
    same_statuses gaspipe-worker
    says_version gaspipe-worker
}

@test "slogreport: page, --help and --version" {
    assert_equal "$(options_of_page < "$ROOT/docs/slogreport.1" | grep -vx -e --completion)" "$(
        for command in '' summary merge compare stalls runs extract rows profile waits; do
            "$BUILD/slogreport" $command --help
        done | options_of_help)"
    same_statuses slogreport
    says_version slogreport
}

@test "gaspipe: page, --help and --version" {
    # The options of each of its commands stand in a subsection of the page.
    for command in run count estimate ping replay status trace; do
        run "$BUILD/gaspipe" "$command" --help
        assert_equal "$(sed -n "/^\.Ss gaspipe $command/,/^\.S[sh] /{//!p}" "$ROOT/docs/gaspipe.1" |
            options_of_page)" "$(options_of_help <<< "$output")" "options of gaspipe $command"
    done
    says_version gaspipe
}
