#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# scripts/lint finds the faults that it looks for.

load common

# A small project with two directories of which only one may include the other.
setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir scripts low high tests
    cat > scripts/includes.txt <<'END'
# A comment: low/ high/
low/:
high/: low/ other/mark.h
docs/ tests/: *
END
    printf '#include <stdio.h>\n' > low/low.h
    printf '#include "low/low.h"\n' > high/high.h
    printf '#include "high/high.h"\n#include "low/low.h"\n' > tests/test.c
    mkdir other
    touch other/mark.h other/rest.h
}

includes() {
    run "$ROOT/scripts/lint-includes" scripts/includes.txt "$@"
}

# A separate checkout, for checks that ask git for the files.
project_with_git() {
    cp "$ROOT/scripts/lint" "$ROOT/scripts/lint-includes" scripts/
    cp "$ROOT/.clang-format" .
    git init -q .
}

@test "includes: what the table allows is clean" {
    printf '#include "low/low.h"\n#include "other/mark.h"\n#include <uv.h>\n' > high/ok.c
    includes low/low.h high/high.h high/ok.c tests/test.c
    assert_equal "$output" ""
    assert_status 0
}

@test "includes: an include that is not allowed is reported with file and line" {
    printf '\n#include "high/high.h"\n' > low/wrong.c
    includes low/low.h low/wrong.c
    assert_status 1
    assert_output_has 'low/wrong.c:2: low/ may not include "high/high.h"'
}

@test "includes: allowing one header of a directory does not allow the others" {
    printf '#include "other/rest.h"\n' > high/wrong.c
    includes high/wrong.c
    assert_status 1
    assert_output_has 'high/wrong.c:1: high/ may not include "other/rest.h"'
}

@test "includes: names not relative to the project's directory are refused" {
    printf '#include "low.h"\n#include "../high/high.h"\n#include "low/gone.h"\n' > low/wrong.c
    includes low/wrong.c
    assert_status 1
    assert_equal "${#lines[@]}" 3 "number of complaints"
}

@test "includes: a directory without a rule is refused" {
    printf '#include "low/low.h"\n' > other/wrong.c
    includes other/wrong.c
    assert_status 1
    assert_output_has 'other/wrong.c lies in no directory that has a rule'
}

@test "includes: a subfolder has its own line" {
    mkdir high/inner
    touch high/inner/inner.h
    echo 'high/inner/:' >> scripts/includes.txt
    printf '#include "high/inner/inner.h"\n' > high/right.c
    includes high/right.c
    assert_status 0
    printf '#include "low/low.h"\n' > high/inner/wrong.c
    includes high/inner/wrong.c
    assert_status 1
    assert_output_has 'high/inner/ may not include "low/low.h"'
}

@test "circles: files that call each other are found, a chain of calls is clean" {
    printf 'int two(void);\nint one(void) { return two(); }\n' > low/one.c
    printf 'int three(void);\nint two(void) { return three(); }\n' > low/two.c
    printf 'int three(void) { return 3; }\n' > low/three.c
    mkdir -p objects/low
    for name in one two three; do cc -c low/$name.c -o objects/low/$name.o; done
    run "$ROOT/scripts/lint-circles" objects low/one.c low/two.c low/three.c
    assert_status 0
    printf 'int two(void);\nint three(void) { return two(); }\n' > low/three.c
    cc -c low/three.c -o objects/low/three.o
    run "$ROOT/scripts/lint-circles" objects low/one.c low/two.c low/three.c
    assert_status 1
    assert_output_has 'circle: low/three.c calls low/two.c: two'
    assert_output_lacks 'low/one.c'
}

@test "includes: the project's own rules are read" {
    mkdir base worker
    touch worker/worker.h
    printf '#include "worker/worker.h"\n' > base/wrong.c
    run "$ROOT/scripts/lint-includes" "$ROOT/scripts/includes.txt" base/wrong.c
    assert_status 1
    assert_output_has 'base/ may not include "worker/worker.h"'
}

@test "lint names the check that failed, and continues with the others" {
    project_with_git
    printf '#include "high/high.h"\n' > low/wrong.c
    # A stand-in, so that this does not depend on what is installed.
    printf '#!/bin/sh\n' > shellcheck
    chmod +x shellcheck
    PATH=$PWD:$PATH run scripts/lint includes shell
    assert_status 1
    assert_output_has 'FAIL     includes'
    assert_output_has 'clean    shell'
    assert_output_has 'not clean: includes'
}

@test "lint: a shell script with a fault is found" {
    command -v shellcheck > /dev/null || skip 'no shellcheck (scripts/setup --lint)'
    project_with_git
    # shellcheck disable=SC2016 # the fault itself
    printf '#!/bin/sh\nrm -rf $1/x\n' > scripts/wrong
    run scripts/lint shell
    assert_status 1
    assert_output_has 'scripts/wrong line 2'
}

@test "lint: a wrong layout is found" {
    command -v clang-format > /dev/null || skip 'no clang-format (scripts/setup --lint)'
    project_with_git
    printf 'int f( void ){return 0;}\n' > low/wrong.c
    run scripts/lint layout
    assert_status 1
    assert_output_has 'low/wrong.c:1'
}

@test "documents: files and functions that they name exist" {
    project_with_git
    printf 'int\tone(int n);\nstatic int two(void)\n' > low/low.c
    printf 'See `low/low.c` and `low/low.c: two()`, `build/low.c`, `nowhere/low.c`.\n' > README.md
    run scripts/lint documents
    assert_status 0
    printf '\n`low/gone.c`, `low/low.c: three()`\n' >> README.md
    run scripts/lint documents
    assert_status 1
    assert_output_has 'README.md:3:there is no low/gone.c'
    assert_output_has 'README.md:3:low/low.c has no three()'
}

@test "sizes: a long file, a short header with one user and a short source are reported" {
    yes '/* */' | head -n 801 > low/long.c
    printf '#include "low/short.h"\n' | tee low/short.c low/user.c > /dev/null
    touch low/short.h low/alone.c exceptions
    run "$ROOT/scripts/lint-sizes" exceptions low/long.c low/short.c low/short.h low/user.c low/alone.c
    assert_status 1
    assert_output_has 'low/long.c: 801 lines; at most 800 are allowed'
    assert_output_has 'low/short.h: 0 lines with the only user low/user.c; move them there'
    assert_output_has 'low/alone.c: 0 lines without a header of their own; move them to a file that uses them'
}

@test "sizes: a second user, a test as a user and a user that is too long are clean" {
    printf '#include "low/short.h"\n' | tee low/short.c low/user.c tests/test_short.c > /dev/null
    printf 'int main(void)\n' >> low/user.c
    touch low/short.h exceptions
    run "$ROOT/scripts/lint-sizes" exceptions low/short.c low/short.h low/user.c tests/test_short.c
    assert_equal "$output" ""
    assert_status 0
    { printf '#include "low/short.h"\n' && yes '/* */' | head -n 799; } > low/user.c
    run "$ROOT/scripts/lint-sizes" exceptions low/short.c low/short.h low/user.c
    assert_equal "$output" ""
    assert_status 0
}

@test "sizes: an exception is printed, and reported once it is not needed" {
    touch low/alone.c low/gone.c low/gone.h
    printf '# a reason\nlow/alone.c\n' > exceptions
    run "$ROOT/scripts/lint-sizes" exceptions low/alone.c
    assert_status 0
    assert_output_has 'exception low/alone.c: 0 lines without a header of their own'
    echo low/gone.c >> exceptions
    run "$ROOT/scripts/lint-sizes" exceptions low/alone.c
    assert_status 1
    assert_output_has 'exceptions: low/gone.c needs no exception; remove it'
}

@test "directories: one that holds too many source files is named" {
    project_with_git
    eval "$(grep '^folder_limit=' scripts/lint)"
    for ((i = 1; i < folder_limit; i++)); do touch "high/$i.c"; done # and high.h
    mkdir tests/unit high/inner
    touch tests/unit/{1..99}.c high/inner/one.c high/{note,page}.md
    run scripts/lint directories
    assert_status 0
    touch high/another.h
    run scripts/lint directories
    assert_status 1
    assert_output_has "high/ holds $((folder_limit + 1)) source files"
}

@test "cppcheck: what it finds across files, with exit status 0, is a fault" {
    project_with_git
    mkdir bin
    printf '#!/bin/sh\necho "low/take.c:5: error: points at uninitialized variable" >&2\n' > bin/cppcheck
    chmod +x bin/cppcheck
    PATH=$PWD/bin:$PATH run scripts/lint cppcheck
    assert_status 1
    assert_output_has 'low/take.c:5: error'
    assert_output_has 'FAIL     cppcheck: see above'
}

@test "clang-tidy looks into headers, also those of a directory below another" {
    command -v clang-tidy > /dev/null || skip 'no clang-tidy (scripts/setup --lint)'
    cp "$ROOT/.clang-tidy" .
    mkdir low/inner
    printf 'static inline int twice(int n) { return n == 1 ? n : n; }\n' | tee low/fault.h > low/inner/fault.h
    for header in low/fault.h low/inner/fault.h; do
        printf '#include "%s"\nint once(int n);\nint once(int n) { return twice(n); }\n' $header > low/user.c
        printf '[{"directory":"%s","file":"low/user.c","command":"clang -I. -c low/user.c"}]\n' "$PWD" \
            > compile_commands.json
        run -1 clang-tidy --quiet -p . low/user.c
        assert_output_has "$header:1:"
    done
}

@test "lint: a check that does not exist is a usage error" {
    run "$ROOT/scripts/lint" beauty
    assert_status 2
}
