#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe-worker and the xsnap-worker of npm's @agoric/xsnap 0.15.0: the same frames
# go to both, and their answers are equal except for times and added fields.

load common

THEIRS=$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

setup() {
    cd "$BATS_TEST_TMPDIR"
}

frame() {
    local LC_ALL=C bytes

    for bytes; do
        printf '%d:%s,' "${#bytes}" "$bytes"
    done
}

# replies_in FILE: the replies in it, one a line, the meters without times and our fields.
replies_in() {
    perl -0777 -ne '
        while (/\G(\d+):/gc) {
            my $frame = substr($_, pos, $1);
            pos() += $1 + 1;
            $frame =~ s/,"timestamps":\[[^\x01]*\x01/}\x01/;
            $frame =~ s/([^ -~])/sprintf "\\x%02x", ord $1/ge;
            print "$frame\n";
        }' "$1"
}

# each OPTIONS... -- FRAME...: both workers get the frames, each in a directory of its own,
# which then has its replies, stdout and exit status.
each() {
    local options=() directory worker

    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    frame "$@" > frames
    for directory in theirs ours; do
        mkdir -p $directory
        worker=$THEIRS
        [ $directory = theirs ] || worker=$BUILD/gaspipe-worker
        (
            cd $directory
            status=0
            "$worker" vat "${options[@]}" 3< ../frames 4> up > stdout 2> stderr || status=$?
            echo "$status" > status
            replies_in up > replies
        )
    done
}

# same OPTIONS... -- FRAME...: what comes of the frames is the same.
same() {
    each "$@"
    for file in replies stdout status; do
        cmp -s theirs/$file ours/$file ||
            fail "$file differs of: $*" "$(diff theirs/$file ours/$file | cut -c1-400)" \
                "$(cat theirs/stderr)" "$(cat ours/stderr)"
    done
    [ -s ours/replies ] || fail "nothing came back of: $*"
}

# A script that puts its value into the reply.
show() {
    printf 'e(() => { const value = (() => %s)(); return new TextEncoder().encode(
        typeof value === "string" ? value : JSON.stringify(value)).buffer; })()' "$1"
}

@test "computrons, heap and memory of a set of programs" {
    same -l 100000000 -- e1 'e1+1' 'e"a".repeat(100000).length' \
        'efor (let i = 0; i < 10000; i++);' \
        'eArray.from({length: 1000}, (_, i) => [i, {i}]).sort(([a], [b]) => b - a)' \
        'eJSON.parse(JSON.stringify(Array.from({length: 500}, (_, i) => ({i, s: String(i)}))))' \
        'e2n ** 4000n' 'e"aaaaaaaab".match(/(a+)+b/)' 'enew Uint8Array(1e6).fill(7)' \
        'e(function f(n) { return n && f(n - 1); })(500)' \
        'eglobalThis.m = new Map(); for (let i = 0; i < 5000; i++) m.set({i}, i);' \
        'em = undefined; gc()' 'eeval("1 + 1")' 'enew Function("a", "return a")(1)' \
        'efor (let i = 0; i < 2e5; i++) ({i});' e1
}

@test "the globals of the start compartment and of a new one, and their properties" {
    local describe='names => names.sort().map(n => { const d = Object.getOwnPropertyDescriptor(g, n);
        return [n, typeof g[n], d.writable, d.enumerable, d.configurable,
            typeof g[n] === "function" ? g[n].length : 0]; })'
    same -- "$(show "{ const g = globalThis; return ($describe)(Object.getOwnPropertyNames(g)); }")" \
        "$(show "{ const g = new Compartment({}).globalThis; return ($describe)(Object.getOwnPropertyNames(g)); }")" \
        "$(show '["issueCommand", "print", "gc", "resetMeter"].map(n => typeof new Compartment({}).globalThis[n])')" \
        "$(show 'Object.getOwnPropertyNames(performance)')" \
        "$(show 'typeof performance.now()')"
}

@test "print, with and without the meter in front" {
    same -- 'eprint("one", 2, null, undefined, {}, [1, 2])' 'eprint()' 'eprint("ü€😀")'
    same -p -l 1000000 -- 'eprint("spent")' 'efor (let i = 0; i < 99; i++); print("more")'
}

@test "TextEncoder, TextDecoder, Base64, harden" {
    same -- "$(show '[...new TextEncoder().encode("aü€😀")]')" \
        "$(show 'new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xff]))')" \
        "$(show 'Base64.encode(new Uint8Array([1, 2, 250]).buffer)')" \
        "$(show '[...new Uint8Array(Base64.decode("AQL6"))]')" \
        "$(show '{ const o = harden({ a: { b: 1 } }); return [o, o.a].map(Object.isFrozen); }')" \
        'elockdown()' "$(show 'Object.isFrozen(Array.prototype)')"
}

@test "results: bytes, the property result, set later too, and what is neither" {
    same -- 'enew Uint8Array([65, 66]).buffer' '?none' \
        'eglobalThis.handleCommand = bytes => bytes' '?plain' \
        'eglobalThis.handleCommand = bytes => ({ result: bytes })' '?held' '?' \
        'eglobalThis.handleCommand = bytes => { const r = {}; Promise.resolve().then(() => { r.result = bytes; }); return r; }' \
        '?later' \
        'eglobalThis.handleCommand = bytes => { const r = {}; setImmediate(() => { r.result = bytes; }); return r; }' \
        '?much later' \
        'eglobalThis.handleCommand = bytes => ({ get result() { throw Error("no"); } })' '?getter' \
        'eglobalThis.handleCommand = bytes => "text"' '?text' \
        'eglobalThis.handleCommand = bytes => null' '?null' R
}

# The interpreter's cached state at a catch differs from that at its try (worker/xs/xs_interpreter.h).
@test "exceptions: caught, passed on and finally, in loops, generators, async and host functions" {
    same -- "$(show '{
        const log = [];
        let depth = 0;
        const fail = n => { depth++; if (n > 0) fail(n - 1); else throw Error("deep " + depth); };
        for (let i = 0; i < 200; i++) {
            let before = i, sum = 0;
            try {
                for (let j = 0; j < i; j++) { sum += j; before = sum; }
                if (i % 3 === 0) fail(i % 7);
                if (i % 3 === 1) continue;
                [3, 1, 2].sort(() => { throw RangeError("sort " + before); });
            } catch (error) {
                log.push(error.message, before, sum);
                try { null.x; } catch { sum = -1; } finally { depth = 0; }
            } finally {
                log.push(sum);
            }
        }
        return log;
    }')" "$(show '{
        const log = [];
        function* inner(n) {
            try { try { for (let i = 0; i < n; i++) log.push(yield i); }
                catch (error) { log.push("in " + error); yield -1; throw error; } }
            finally { log.push("end " + n); }
        }
        function* outer() {
            for (let n = 1; n < 6; n++)
                try { yield* inner(n); } catch (error) { log.push("out " + error); }
        }
        const g = outer();
        for (let i = 0; i < 30; i++) {
            const { value, done } = i % 4 === 3 ? g.throw("t" + i) : g.next(i);
            log.push(value === undefined ? "-" : value);
            if (done) break;
        }
        return log;
    }')" 'eglobalThis.log = []; const wait = async (n, bad) => {
            for (let i = 0; i < n; i++) { try { await (i % 2 ? Promise.reject(i) : i); log.push(i); }
                catch (error) { log.push("caught " + error); } finally { log.push("f"); } }
            if (bad) throw Error("async " + n);
            return n;
        };
        (async () => { for (let n = 0; n < 9; n++) try { log.push(await wait(n, n % 3 === 2)); }
            catch (error) { log.push(error.message); } })();' \
        "$(show 'log')" "$(show '{
        const log = [];
        class A { constructor(n) { if (n % 2) throw Error("A" + n); this.n = n; } }
        class B extends A { constructor(n) { try { super(n); } catch (e) { log.push(e.message); throw e; } } get v() { throw this.n; } }
        const trap = new Proxy({}, { get: (_, name) => { throw name; } });
        for (let n = 0; n < 50; n++)
            outer: try { log.push(JSON.stringify([new B(n)].map(b => b.v))); }
            catch (error) { try { trap[String(error)]; } catch (name) { log.push(name); break outer; } }
            finally { if (n % 5) continue; log.push(n); }
        const f = n => { try { if (n < 9) f(n + 1); } catch (m) { log.push(n, m); } throw n; };
        try { f(0); } catch (n) { log.push("f" + n); }
        return log;
    }')" 'elet n = 0; for (;;) try { n++; if (n > 3e4) break; throw n; } catch {} finally { n++; }'
}

@test "what is thrown: errors, values, syntax, and the status that is left of it" {
    same -- 'ethrow new TypeError("no moon")' 'ethrow "a string"' 'ethrow 7' 'ethrow null' \
        'e(((' 'enothing.here' '?no handler' \
        'ethrow { toString: () => "mine" }' 'eundefined()' e1
    same -- e1 'ethrow Error("last")'
    same -- 'ethrow Error("before")' R
    # Theirs ends on this one.
    each -- 'ethrow Symbol("s")' e1
    assert_equal "$(head -n 1 ours/replies)" '!an exception that cannot be printed'
    assert_equal "$(wc -l < ours/replies)" 2
}

@test "promises run to idle before the reply, and unhandled rejections" {
    same -- 'elet n = 0; const step = () => ++n < 50 && Promise.resolve().then(step); step(); globalThis.count = () => n;' \
        "$(show 'count()')" 'ePromise.reject(Error("unhandled"))' e1 \
        'easync function f() { await null; throw Error("late"); } f()' e1 \
        'esetImmediate(() => print("immediate")); Promise.resolve().then(() => print("job")); print("now")'
}

@test "the limit: passed, reset, and asked for" {
    same -l 100000 -- e1 'efor (;;);'
    same -l 50000 -i 1000 -- e1 'efor (;;);'
    same -l 100000 -- "$(show 'currentMeterLimit()')" \
        "$(show 'resetMeter(200000, 5) > 0')" "$(show 'currentMeterLimit()')" \
        'eresetMeter(1)' 'eresetMeter(0, 0); for (let i = 0; i < 200000; i++);' 'efor (;;);'
    same -- "$(show 'currentMeterLimit()')"
    same -l 0 -- 'efor (let i = 0; i < 100000; i++);'
}

@test "stack and memory without end" {
    same -- e1 'e(function f() { f(); f(); })()'
    same -- e1 'econst all = []; for (;;) all.push(new ArrayBuffer(1 << 26));'
}

# XS grows its table of keys for as long as there is memory, unless a snapshot says that it
# does not: the number after that of the first keys (32000) is by how many it grows.
@test "no more keys" {
    each -- e1 wplain
    for file in theirs ours; do
        perl -0777 -pe 's/(\x00\x7d\x00\x00)\x40\x1f\x00\x00/$1\x00\x00\x00\x00/' $file/plain > full
        run -1 cmp -s full $file/plain
    done
    same -r "$PWD/full" -- e1 'efor (let i = 0; i < 40000; i++) ({})[`k${i}`] = i;' e1
    assert_equal "$(cat ours/status)" 16
}

# parted STATUS READER FRAME...: the worker gets the frames from a parent of whose two ends
# one is the READER's, which goes away; the same is said of both workers.
parted() {
    local expected=$1 reader=$2

    shift 2
    frame "$@" > frames
    for worker in "$THEIRS" "$BUILD/gaspipe-worker"; do
        run timeout 60 bash -c "exec 4> >($reader); [ '$reader' != exit ] || wait \$!
            exec \"\$0\" vat 3< frames" "$worker"
        assert_status "$expected"
        [ -n "$output" ] || fail "$worker said nothing"
    done
    assert_equal "${#lines[@]}" 1 "lines of ours"
}

@test "the parent goes away: in a delivery, in a request, with half of a large frame" {
    parted 2 exit 'efor (let i = 0; i < 100000; i++);' e1
    parted 2 'cat > /dev/null' 'eissueCommand(new ArrayBuffer(1))'
    parted 2 exit 'eissueCommand(new ArrayBuffer(1))'
    parted 2 'head -c 100 > /dev/null' 'enew ArrayBuffer(10000000)'
    parted 2 'head -c 100 > /dev/null' 'eissueCommand(new ArrayBuffer(10000000))'
}

@test "the parent goes away: between frames, after what was well and what was not" {
    same -- e1
    same -- 'ethrow 1'
    same -- e1 q e2
}

@test "signals end both alike" {
    mkfifo down up
    # Open for both, so that none of the ends is the last one. What is started in the
    # background ignores SIGINT.
    exec 7<> down 8<> up
    for signal in TERM HUP KILL USR1; do
        for worker in "$THEIRS" "$BUILD/gaspipe-worker"; do
            "$worker" vat 3<&7 4>&8 7>&- 8>&- 2> stderr &
            frame 'eissueCommand(new ArrayBuffer(0)); for (;;);' >&7
            # It is at work when it has asked.
            assert_equal "$(head -c 4 <&8)" '1:?,'
            kill -s $signal $!
            status=0
            wait $! || status=$?
            assert_equal "$status" $((128 + $(kill -l $signal))) "$worker's status"
        done
    done
}

@test "scripts and modules from files" {
    echo 'globalThis.fromScript = 42; print("script");' > script.js
    echo 'import { name } from "./other.js"; print("module", name);' > module.js
    echo 'export const name = "other";' > other.js
    echo 'this is not a script' > broken.js
    same -- "s$PWD/script.js" "$(show fromScript)" "m$PWD/module.js" R
    each -- "s$PWD/broken.js" e1 "s$PWD/missing.js" e1
    # gaspipe-worker names the error where xsnap-worker sends an empty message.
    assert_equal "$(sed 's/^!.*/!/' ours/replies)" "$(cat theirs/replies)"
    assert_equal "$(cat ours/status)" "$(cat theirs/status)"
}

@test "-s: a source that is larger than the parser's buffer" {
    local source
    source=$(printf 'e"%s".length' "$(head -c 300000 /dev/zero | tr '\0' a)")
    same -- "$source"
    each -s 64 -- e1 "$source"
    assert_equal "$(cat ours/replies ours/status)" "$(cat theirs/replies theirs/status)"
}

@test "-h and -v; an unknown option" {
    assert_equal "$("$BUILD/gaspipe-worker" -v | head -n 1)" "$("$THEIRS" -v)"
    # A name with a leading hyphen must neither set a limit nor hide the options after it.
    for arguments in -h '--telepathy' '-l' '-z 1' -name -help -l5 -pv -vat - -- '-- -l 5'; do
        # shellcheck disable=SC2086 # several words
        run "$THEIRS" $arguments 3< /dev/null 4> /dev/null
        theirs=$status
        # shellcheck disable=SC2086
        run "$BUILD/gaspipe-worker" $arguments 3< /dev/null 4> /dev/null
        assert_status "$theirs"
    done
}

@test "requests: their bytes, their answers, and issueCommand without one" {
    same -- 'eglobalThis.handleCommand = bytes => ({ result: issueCommand(bytes) })' \
        '?hello' '/world' '?' '/' 'eissueCommand()' 'eissueCommand("text")' e1
}

program=('eglobalThis.x = [1, 2, 3].map(String); globalThis.handleCommand = b => ({ result: b })'
    '?hello' 'enew Promise(r => setImmediate(r)).then(() => { globalThis.late = new Map([[1, { a: 1n }]]) })'
    'eclass A { #p = 1; get p() { return this.#p; } }; globalThis.a = new A(); globalThis.re = /a+/g;'
    'eglobalThis.buffers = [new ArrayBuffer(1000), new Uint8Array([1, 2, 3]), new WeakMap(), Symbol("s")]'
    'ethrow Error("in between")' 'eglobalThis.c = new Compartment({ globals: { x } }); c.evaluate("x.y = 1")')

@test "snapshots are the same to the last byte, each loads the other's, and continues alike" {
    each -l 100000000 -- "${program[@]}" wone e1 wtwo 'egc()' wthree
    for file in one two three replies; do
        cmp theirs/$file ours/$file
    done
    for snapshot in theirs ours; do
        same -l 1000000 -r "$PWD/$snapshot/two" -- "$(show '[x, late.get(1).a === 1n, a.p, c.evaluate("x.y")]')" \
            '?there' 'eprint(typeof issueCommand, currentMeterLimit())' wfour
        cmp theirs/four ours/four
    done
}

# A heap whose chunks and slots come and go: what is kept changes places with each collection, which
# happens in the middle of functions too, whose own code moves then.
changing_heap='e
globalThis.kept = [];
globalThis.weak = new WeakMap();
globalThis.dead = new FinalizationRegistry(name => { globalThis.lastDead = name; });
let seed = 1;
const random = limit => (seed = (seed * 48271) % 0x7fffffff) % limit;
const makers = [
    i => "s".repeat(random(90)) + i,
    i => ({ i, text: "t" + i, get g() { return i; }, [Symbol("y" + i)]: i }),
    i => Array.from({ length: random(40) }, (_, k) => k % 3 ? "a" + k : k),
    i => { const a = ["x" + i]; a[random(5000)] = "far" + i; return a; },
    i => { const a = new Array(2 + random(300)); for (let k = 0; k < a.length - random(3); k++) a[k] = k % 5 ? k : "o" + k; return a; },
    i => { const a = kept.find(Array.isArray) ?? []; a.length += 2; for (let k = 0; k < 50; k++) a.push(k); return a; },
    i => new Map(Array.from({ length: random(30) }, (_, k) => ["k" + k, { k }])),
    i => new Set([`${i}`, i, {}]),
    i => new RegExp("(a|b)+" + i, "g"),
    i => (1n << BigInt(random(400))) + BigInt(i),
    i => new Uint8Array(random(300)).fill(i),
    i => (0, eval)(`(function f${i}(a) { if (a > 0) { gc(); return f${i}(a - 1) + "c"; } return "${i}"; })`),
    i => new Proxy({ i }, { get: () => "p" + i }),
    i => { const key = {}; weak.set(key, ["w" + i]); dead.register(key, "d" + i, key); return key; },
    i => { const t = { t: "r" + i }; return [t, new WeakRef(t)]; },
    i => { const g = function* () { const own = "g" + i; while (true) yield own; }(); g.next(); return g; },
    i => class { #secret = "h" + i; get secret() { return this.#secret; } },
    i => Promise.resolve("q" + i),
    i => new Date(i * 1000),
];
globalThis.change = rounds => {
    for (let i = 0; i < rounds; i++) {
        const made = makers[random(makers.length)](i);
        kept[random(kept.length < 400 ? 400 : kept.length)] = made;
        if (random(3) === 0) delete kept[random(kept.length)];
        if (typeof made === "function" && made.name.startsWith("f")) made(random(3));
        if (random(20) === 0) gc();
    }
};'

@test "what garbage collection leaves is the same to the last byte" {
    local frames=("$changing_heap")

    for n in 1 2 3 4 5 6 7 8 9 10; do
        frames+=("echange(150)" "wround$n" "echange(40); gc()")
    done
    # A second block of chunks after the first one, which is 32 MiB, and a second piece of slots.
    frames+=('ekept.push("large".repeat(3000000), Array.from({length: 300}, () => "l".repeat(90000)))' wlarge
        'echange(50); kept.pop(); gc(); change(50)' wagain
        'ekept.push(Array.from({length: 200000}, (_, i) => ({i: "m" + i})))' wslots
        'efor (let i = 0; i < 200000; i += 3) kept[kept.length - 1][i] = 0; gc(); change(50)' wlast)
    same -- "${frames[@]}"
    for file in round{1,2,3,4,5,6,7,8,9,10} large again slots last; do
        cmp "theirs/$file" "ours/$file"
    done
}

# Lists whose ends the engine keeps, and entries that it looks for in the middle of one.
@test "promises that wait, jobs, rejections, deleted entries and named groups are the same to the last byte" {
    same -l 100000000 -- "$(cat << 'END'
eglobalThis.log = []; globalThis.say = what => value => { log.push(`${what}${value}`); return value; };
globalThis.resolvers = []; globalThis.pending = Array.from({ length: 5 }, () => new Promise((...both) => resolvers.push(both)));
for (let i = 0; i < 400; i++) {
    pending[i % 7 % 5].then(say(`then${i}:`), say(`no${i}:`));
    Promise.resolve(i).then(say('a')).then(say('b'));
    if (i % 50 === 0) gc();
}
END
)" "$(show 'log.splice(0).join()')" wwaiting \
        'efor (let i = 0; i < 100; i++) pending[i % 5].then(say("later")); gc(); pending[1].then(say("last"));
            resolvers[1][0](1); resolvers[0][1](0); resolvers[1][0](2); pending[1].then(say("settled"));
            pending[0].catch(say("caught")); resolvers[2][0](pending[3]); resolvers[3][0](pending[4])' \
        "$(show 'log.splice(0).join()')" wsettled \
        'eresolvers[4][0](4)' "$(show 'log.splice(0).join()')" \
        'eglobalThis.rejected = Array.from({ length: 300 }, (_, i) => Promise.reject(i));
            for (const i of [0, 299, 150, 151, 149, 298, 1]) { rejected[i].catch(say("c")); rejected.push(Promise.reject(`r${i}`)); }
            gc(); rejected.forEach((promise, i) => { if (i % 2) promise.catch(say("o")); });
            rejected.forEach(promise => promise.then(say("never"), say("e")))' \
        "$(show 'log.splice(0).join()')" wrejected \
        'eglobalThis.map = new Map(); globalThis.set = new Set(); for (let i = 0; i < 300; i++) { map.set(i, `${i}`); set.add(`${i}`); }
            globalThis.held = [map.keys(), map.entries(), set.values()]; for (const one of held) { one.next(); one.next(); }
            for (const i of [299, 0, 1, 2, 150, 149, 151, 298, 7]) { map.delete(i); set.delete(`${i}`); map.set(i + 1000, i); }' \
        "$(show '[...map, ...set, ...held.map(one => one.next().value)].join()')" wentries \
        'efor (const key of map.keys()) { map.delete(key); if (key < 1100 && key % 3 === 0) map.set(key + 2000, key); }
            set.forEach(value => { if (Number(value) % 2) set.delete(value); }); map.set("end", map.size);' \
        "$(show '[...map, map.size, ...set, set.size, ...held.map(one => [...one].length)].join()')" wdeleted \
        'emap.clear(); set.clear(); map.set(1, 2); set.add(3); map.delete(1); set.delete(3); map.set(4, 5)' wcleared \
        "$(show '(() => { const names = Array.from({ length: 300 }, (_, i) => `n${i}`);
            const pattern = names.map(name => `(?<${name}>.)`).join("") + names.map(name => `\\k<${name}>`).join("");
            const found = new RegExp(pattern).exec(names.map((_, i) => String.fromCharCode(97 + i % 26)).join("").repeat(2));
            const wrong = ["(?<a>.)(?<b>.)(?<a>.)", "\\k<a>(?<b>.)", "(?<a>x)\\k<a>\\k<c>"].map(source => {
                try { return new RegExp(source).source; } catch (error) { return error.message; } });
            return [Object.entries(found.groups).join(), ...wrong]; })()')" wgroups
    for file in waiting settled rejected entries deleted cleared groups; do
        cmp "theirs/$file" "ours/$file"
    done
}

@test "objects with many properties: results, meter and snapshots" {
    local source

    source="e$(sed 's/^export //' "$ROOT/tests/program/contracts/wide_objects.js")"
    each -- "$source; globalThis.wide = change" "$(show '[wide(3000, 70), wide(30000, 2000), wide(3000, 70)]')" wone \
        'eobjects.splice(3); globalThis.gc && gc()' "$(show '[wide(2000, 400)]')" wtwo
    for file in replies one two; do
        cmp theirs/$file ours/$file
    done
}

@test "snapshots of a heap after lockdown, and of a fresh one" {
    each -- wfresh elockdown 'elockdown()' wlocked
    cmp theirs/fresh ours/fresh
    cmp theirs/locked ours/locked
}

@test "snapshots through descriptors, with words after the number" {
    each -- "${program[@]}" wpath
    frame "${program[@]}" w@7 w@7 |
        "$BUILD/gaspipe-worker" 3<&0 4> up 7> stream
    assert_equal "$(replies_in up | tail -n 1)" "$(replies_in up | tail -n 2 | head -n 1)" "two sizes"
    cat ours/path ours/path | cmp - stream
    frame "$(show x)" | "$BUILD/gaspipe-worker" vat -r @8:a-vat_of.mine 3<&0 4> up 8< ours/path
    assert_equal "$(replies_in up)" "$(each -r "$PWD/ours/path" -- "$(show x)" && cat ours/replies)"
}

@test "a snapshot that cannot be written ends the worker with status 2, and one line" {
    each -- e1 w/nowhere/at/all e1
    assert_equal "$(cat ours/status ours/replies)" "$(cat theirs/status theirs/replies)"
    assert_equal "$(cat ours/stderr)" \
        'gaspipe-worker: cannot write snapshot /nowhere/at/all: No such file or directory'
    each -- e1 w/dev/full
    assert_equal "$(cat ours/status)" 2
    grep -q 'cannot write snapshot /dev/full: No space left' ours/stderr
    each -- e1 w@99
    assert_equal "$(cat ours/status)" 2
}

@test "a snapshot that is missing, cut, or something else ends the start with status 2" {
    each -- wwhole
    head -c 100 ours/whole > cut-early
    head -c 100000 ours/whole > cut-late
    echo 'no snapshot' > other
    : > empty
    frame e1 > frames
    for file in missing cut-early cut-late other empty; do
        run --separate-stderr bash -c '"$0" -r "$1" 3< frames 4>&1' \
            "$BUILD/gaspipe-worker" "$PWD/$file"
        assert_status 2
        assert_equal "$output" ''
        [[ ${stderr_lines[-1]} == "gaspipe-worker: cannot read snapshot $PWD/$file: "* ]] ||
            fail "$stderr"
    done
}
