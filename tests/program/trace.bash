# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For tests of tracing.

# Deliveries of two vats, one of them with errors and garbage.
two_vats() {
    cat > v.js <<- 'END'
	export const work = n => { const a = []; for (let i = 0; i < n; i++) a.push({ i }); return a.length; };
	export const fails = () => { throw Error('as it should'); };
	END
    for n in 1000 20000 300; do
        printf '{"vat":"%s","method":"work","args":[%s]}\n' one $n two $((n + 1))
        printf '{"vat":"one","method":"fails","args":[]}\n'
    done > deliveries
}

# run_vats OPTIONS...: what deliveries come to, without times.
run_vats() {
    "$BUILD/gaspipe" run --json --counter none --vat one=v.js --vat two=v.js "$@" deliveries |
        jq -c 'select(.kind == "delivery") | [.vatID, .crankNum, .status, .result, .compute]'
}

# may_trace: skips the test where Linux forbids tracing, and says so.
may_trace() {
    [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)" = 0 ] || [ "$(id -u)" = 0 ] ||
        skip 'kernel.yama.ptrace_scope forbids to trace'
}
