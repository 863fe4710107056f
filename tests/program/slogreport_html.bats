#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport --html: the page, in a browser and compared with the other reports.

load common
load browser

DATA=$ROOT/tests/data

setup_file() {
    export BROWSER_DIRECTORY=$BATS_FILE_TMPDIR/browser DRIVER='' DRIVER_PID=''
    mkdir "$BROWSER_DIRECTORY"
    if [ "$NATIVE" = "$BUILD" ] && have_browser; then
        start_browser || { cat "$BROWSER_DIRECTORY/driver.log" >&2 && return 1; }
    fi
}

teardown_file() {
    stop_browser
}

setup() {
    cd "$BATS_TEST_TMPDIR"
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

needs_browser() {
    have_browser || skip 'chromium, chromedriver or curl is not installed (scripts/setup --page)'
}

# Writes page.html of these slogfiles and opens it; what came before on the console is forgotten.
show() {
    slogreport --html page.html "$@"
    [ "$NATIVE" = "$BUILD" ] || skip 'what a page does in the browser is not sanitized'
    console > /dev/null
    colour_scheme light
    open_page "$PWD/page.html"
    [ -n "$(script 'return document.documentElement.dataset.ready || ""')" ] ||
        fail "the page's script did not come to its end:" "$(console)"
}

# Prints what the timeline shows, once it has been drawn.
timeline() {
    script "return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
        done(document.getElementById('timeline').dataset.$1))))"
}

# Deliveries of --json as the page has them: whole nanoseconds.
as_the_page() {
    jq -c 'select(.kind == "delivery") | def ns: if . then . * 1e9 | round else null end;
        [.vatID, .crankNum, .deliveryNum, .description, (.total | ns), (.pipe | ns), (.worker | ns),
         (.kernel | ns), .syscalls, .compute]'
}

@test "the page renders in both colour schemes, legibly, without a word on the console" {
    local scheme

    needs_browser
    show "$DATA/variety.slog.gz"
    for scheme in light dark; do
        colour_scheme $scheme
        timeline drawn > /dev/null
        # Contrast as WCAG 2 counts it, of words and of each colour with the ground.
        script 'const style = getComputedStyle(document.documentElement);
            const light = name => { const [r, g, b] = style.getPropertyValue("--" + name).trim().match(/[0-9a-f]{2}/g)
                .map(hex => parseInt(hex, 16) / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
            const contrast = (a, b) => { const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
                return (high + 0.05) / (low + 0.05); };
            return [["text", "panel", 7], ["dim", "panel", 4.5], ["accent", "panel", 4.5], ["text", "ground", 7],
                ["text", "hover", 7], ["on-colour", "worker", 4.5], ["on-colour", "pipe", 4.5], ["on-colour", "kernel", 4.5],
                ["on-colour", "unknown", 4.5], ["on-colour", "pipe-down", 4.5], ["on-colour", "wait", 4.5]]
                .filter(([a, b, least]) => contrast(a, b) < least).map(([a, b]) => [a, b, contrast(a, b)])' > contrast
        assert_equal "$(cat contrast)" '[]' "too little contrast, $scheme"
        # The drawing has this scheme's colours of worker, pipe and kernel.
        script 'const { width, height } = document.getElementById("timeline");
            const copy = Object.assign(document.createElement("canvas"), { width, height })
                .getContext("2d", { willReadFrequently: true });
            copy.drawImage(document.getElementById("timeline"), 0, 0);
            const { data } = copy.getImageData(0, 0, width, height);
            const seen = new Set();
            for (let at = 0; at < data.length; at += 4) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
            const style = getComputedStyle(document.documentElement);
            return ["worker", "pipe", "kernel", "unknown"].filter(name =>
                !seen.has(parseInt(style.getPropertyValue("--" + name).trim().slice(1), 16)))' > missing
        assert_equal "$(cat missing)" '[]' "colours that were not drawn, $scheme"
        script 'return getComputedStyle(document.body).backgroundColor' > "$scheme"
    done
    ! cmp -s light dark || fail 'both schemes have the same ground'
    assert_equal "$(console)" ''
}

@test "each shape of slogfile gives a page without a fault" {
    local file

    needs_browser
    for file in "$DATA"/*.slog.gz "$DATA"/shapes/*.slog; do
        if [ "$NATIVE" != "$BUILD" ]; then
            slogreport --html page.html "$file" 2> /dev/null
            continue
        fi
        show "$file" 2> /dev/null
        timeline drawn > /dev/null
        assert_equal "$(console)" '' "$file"
        # Every delivery with a place in time, as it is in the JSON.
        slogreport --json "$file" 2> /dev/null | as_the_page | jq -c 'select(.[4] != null and .[4] >= 0)' | sort > expected
        script 'return Array.from(deliveries.order, i => [overall.vats[deliveries.vat[i]][0],
            ...["crank", "number"].map(name => Number.isNaN(deliveries[name][i]) ? null : deliveries[name][i]),
            deliveries.text[i],
            ...["total", "pipe", "worker", "kernel", "syscalls", "compute"].map(name =>
                Number.isNaN(deliveries[name][i]) ? null : deliveries[name][i])])' | jq -c '.[]' | sort > found
        diff expected found > differs || fail "$file:" "$(head differs)"
        # The legend has only what is drawn.
        script 'const times = [SPAN.send, SPAN.worker, SPAN.up, SPAN.kernel, SPAN.down, SPAN.back, SPAN.wait, SPAN.unknown].map(() => 0);
            for (const i of deliveries.order) for (const { kind } of spansOf(i).spans) times[kind]++;
            const outside = groupsBy("phase").some(({ name, columns }) => name !== "delivery" && columns.total[1] > 0);
            const there = [...timesOf(all).map(time => time > 0), outside, times[SPAN.send] + times[SPAN.down] > 0, times[SPAN.wait] > 0];
            const legend = [...document.querySelectorAll("#legend li")].map(({ textContent }) => textContent);
            return [/^worker \d/, /^pipe \d/, /^kernel \d/, /^unattributed \d/, /^no CPU \d/, /^outside deliveries \d/, /^pipe, kernel/, /^pipe and kernel/].every((entry, i) =>
                legend.some(text => entry.test(text)) === there[i])' > legend
        assert_equal "$(cat legend)" true "legend of $file"
    done
}

@test "waits for a CPU are a part of their own: headline, rows, details and stalls" {
    needs_browser
    zcat "$DATA/variety.slog.gz" | sed '/"deliver-result","crankNum":9,/ s/"dr":/"cpuWait":30000000,"workerCpuWait":4000000,&/
        /"deliver-result","crankNum":295,/ s/"dr":/"cpuWait":6000000,"workerCpuWait":0,&/' > busy.slog
    show busy.slog
    script 'const i = deliveries.order.find(i => deliveries.crank[i] === 9);
        timeline.select(i);
        const parts = partsOf(i);
        return [[...document.querySelectorAll("#legend li")].find(({ textContent }) => /^no CPU/.test(textContent)).textContent,
            parts.reduce((a, b) => a + b) === deliveries.total[i], parts[4],
            timesOf(all).reduce((a, b) => a + b) === all.columns.total[1],
            ...[...document.querySelectorAll("#selected dt")].filter(({ textContent }) => /CPU/.test(textContent))
                .map(({ textContent, nextSibling }) => `${textContent} ${nextSibling.textContent}`),
            [...document.querySelectorAll("#stalls td")].find(({ textContent }) => /no CPU/.test(textContent)).textContent]' > shown
    assert_equal "$(jq -c . shown)" '["no CPU 40.0 ms, 0.3 %",true,34000000,true,"gaspipe waited for a CPU 30.0 ms","the worker waited for a CPU 4.00 ms","no CPU: request late at the kernel; gaspipe waited 6.00 ms for a CPU in this delivery"]'
    assert_equal "$(console)" ''
}

@test "the spans of each delivery add up to its pipe, worker and kernel" {
    needs_browser
    show "$DATA/variety.slog.gz"
    slogreport --json "$DATA/variety.slog.gz" | jq -c 'select(.kind == "delivery" and .pipe != null)
        | [.crankNum, .deliveryNum] + ([.pipe, .worker, .kernel] | map(. * 1e9 | round))' | sort > expected
    script 'const add = (i, kinds) => spansOf(i).spans.filter(({ kind }) => kinds.includes(kind))
            .reduce((sum, { from, to }) => sum + to - from, 0);
        return Array.from(deliveries.order).filter(i => !Number.isNaN(deliveries.pipe[i])).map(i =>
            [deliveries.crank[i], deliveries.number[i], add(i, [SPAN.send, SPAN.up, SPAN.down, SPAN.back]),
             add(i, [SPAN.worker]), add(i, [SPAN.kernel])])' | jq -c '.[]' | sort > found
    diff expected found
}

@test "of requests after the stamps overran, only the kernel's side is shown" {
    needs_browser
    show "$DATA/variety.slog.gz"
    # Straight from the lines of the one delivery that overran: 502 stamps are of 250 requests.
    zcat "$DATA/variety.slog.gz" | jq -sc '
        def us: . * 1e6 | round;
        map(select(.vatID == "v4" and .deliveryNum == 30 and .replay != true))
        | (map(select(.type == "deliver"))[0].time | us) as $sent
        | (map(select(.type == "syscall-result")) | INDEX(.syscallNum)) as $results
        | map(select(.type == "syscall" or .type == "console"))[250:][]
        | [(.time | us) - $sent, (if .type == "console" then 0 else ($results["\(.syscallNum)"].time | us) - (.time | us) end)]' > expected
    [ "$(wc -l < expected)" -gt 300 ]
    script '
        const overrun = [...deliveries.order].filter(i => deliveries.flags[i] & FLAG.overrun);
        timeline.show(overrun[0]);
        return overrun.flatMap(i => spansOf(i).requests.filter(({ unseen }) => unseen)
            .map(({ from, to }) => [from / 1e3, (to - from) / 1e3]))' | jq -c '.[]' > found
    diff expected found
    script 'return document.getElementById("unseen").textContent' > hint
    grep -q "stamps overran: of the last $(wc -l < expected) requests only the kernel's side is known" hint
    # One of them, as the table's button chooses it.
    script 'timeline.show(timeline.selected, spansOf(timeline.selected).requests.length - 1);
        return document.getElementById("request").textContent' | grep -q 'kernel .*, and the worker noted nothing'
    assert_equal "$(console)" ''
}

@test "the panel shows everything about the chosen delivery, and the address leads back to it" {
    local chosen

    needs_browser
    show "$DATA/variety.slog.gz"
    # A message with a cause, effects and keys of its vatstore.
    chosen=$(script 'return Array.from(deliveries.order).find(i => causeOf(i) >= 0 && effectsOf(i).length &&
        kindName(deliveries.kind[i]).startsWith("message") && spansOf(i).requests.some(({ type }) => type === "vatstoreGet"))')
    script "timeline.show($chosen)" > /dev/null
    slogreport --json --causes "$DATA/variety.slog.gz" > all.json
    script "return deliveries.ordinal[$chosen]" > ordinal
    jq -r --argjson number "$(cat ordinal)" 'select(.number == $number).cause' all.json > expected
    script "return deliveries.ordinal[causeOf($chosen)]" | diff expected -
    jq -c --argjson number "$(cat ordinal)" 'select(.cause == $number).number' all.json | sort > expected
    script "return effectsOf($chosen).map(i => deliveries.ordinal[i])" | jq '.[]' | sort | diff expected -
    script 'return document.querySelectorAll("#effects button").length' | diff <(wc -l < expected) -
    # Its members, straight from the lines.
    script "return [deliveries.crank[$chosen], vatName(deliveries.vat[$chosen]).split(' ')[0]]" > where
    zcat "$DATA/variety.slog.gz" | jq -r --argjson where "$(cat where)" 'select(.crankNum == $where[0] and .vatID == $where[1])
        | if .type == "deliver" then (.vd[2].methargs.body // empty)
          elif .type == "console" then (.args | tojson | .[:240])
          elif .type == "syscall" and .syscall == "vatstoreGet" then .vsc[1] else empty end' > expected
    [ "$(wc -l < expected)" -ge 2 ]
    script 'return document.getElementById("selected").textContent' > panel
    while IFS= read -r line; do
        grep -qF -- "$line" panel || fail 'not in the panel:' "$line"
    done < <(sed 's/\\//g' expected)
    # The panel is in view wherever the page is.
    script 'document.getElementById("growth-part").scrollIntoView({behavior: "instant"});
        const { top, bottom } = document.getElementById("panel").getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight' > inside
    assert_equal "$(cat inside)" true
    # Rows of vats with nothing in view are low, that of the chosen delivery is not.
    script "return [timeline.idle.filter(is => is).length > 3, timeline.idle[timeline.rowOfVat[deliveries.vat[$chosen]]]]" > idle
    assert_equal "$(cat idle)" '[true,false]'
    before=$(timeline from)
    script 'return new Promise(done => setTimeout(() => done(location.hash), 600))' > hash
    go_to '#view=0,1000'
    assert_equal "$(timeline selected)" -1
    go_to "$(cat hash)"
    assert_equal "$(timeline selected)" "$chosen"
    [ "$(jq -n "($(timeline from) - $before | fabs) < 1000")" = true ] || fail 'the address leads elsewhere'
    script "for (const hash of ['#view=x,y', '#view=9,1', '#view=0,9e99&at=-5,1e9', '#at=1', '#view=0,5000&at=1e99,7']) {
        location.hash = hash; readAddress(); }" > /dev/null
    press "$KEY_ESCAPE"
    assert_equal "$(console)" ''
}

@test "instructions, prices and growth are those of the other reports, and nothing is cut at 420 pixels" {
    needs_browser
    echo '{"computron": 2, "syscall": 100}' > model
    jq -nc '[range(1; 41) | . as $i | (1795219400 + $i / 10) as $t
        | {type: "deliver", crankNum: $i, vatID: "v1", deliveryNum: $i, replay: false, kd: ["bringOutYourDead"], vd: ["bringOutYourDead"], time: $t, monotime: ($i / 10)},
          {type: "deliver-result", crankNum: $i, vatID: "v1", deliveryNum: $i, replay: false, time: ($t + 0.01), monotime: ($i / 10 + 0.01),
           dr: ["ok", null, {currentHeapCount: (1000 + $i), compute: ($i * 1000), instructions: ($i * 80000 * (if $i == 7 then 5 else 1 end)), allocate: 1,
                timestamps: [$t + 0.001, $t + 0.008]}]}][]' > priced.slog
    show --gas model priced.slog
    # The one that lies off the line, and only that.
    assert_equal "$(script 'return [...document.querySelectorAll("#prices-off tbody tr")].map(row => [...row.cells].slice(2).map(cell => cell.textContent))')" \
        '[["7,000","2,800,000","5.00"]]'
    assert_equal "$(script 'return deliveries.gas[0]')" 2000
    assert_equal "$(script 'return document.querySelector("#work div").entry.time')" "$(jq -s 'map(.dr[2].instructions // 0) | add' priced.slog)"
    slogreport summary --json --by growth priced.slog | jq -c '[.heapSlots | .first, .last, .most]' > expected
    script 'const [row] = growthRows(1); return [row.first, row.last, row.most]' | diff expected -
    # The axis is in UTC.
    assert_equal "$(script 'return Timeline.utcText(0, 1e9)')" 00:03:20
    webdriver POST goog/cdp/execute '{"cmd":"Emulation.setDeviceMetricsOverride","params":{"width":420,"height":900,"deviceScaleFactor":1,"mobile":false}}' > /dev/null
    script 'timeline.chooseInterval({ from: timeline.from, to: timeline.to }); timeline.show(3)' > /dev/null
    timeline drawn > /dev/null
    assert_equal "$(script 'return [...document.querySelectorAll("body *")].filter(element =>
        element.getBoundingClientRect().right > innerWidth && !element.closest(".scroll")).map(({ id, tagName }) => tagName + id)')" '[]'
    webdriver POST goog/cdp/execute '{"cmd":"Emulation.clearDeviceMetricsOverride","params":{}}' > /dev/null
    # On paper it has the light colours, and after that the dark ones again.
    colour_scheme dark
    timeline drawn > /dev/null
    script 'window.grounds = [];
        for (const type of ["beforeprint", "afterprint"]) addEventListener(type, () =>
            grounds.push(getComputedStyle(document.documentElement).getPropertyValue("--panel").trim(), timeline.colours.panel))' > /dev/null
    assert_equal "$(webdriver POST print '{"background":true}' . | base64 -d | head -c 5)" %PDF-
    assert_equal "$(script 'return grounds')" '["#ffffff","#ffffff","#1a2027","#1a2027"]'
    assert_equal "$(console)" ''
}

@test "sums and stalls are those of summary and stalls" {
    needs_browser
    show "$DATA/variety.slog.gz"
    slogreport summary --json "$DATA/variety.slog.gz" | jq -c 'select(.column == "total")
        | [.by, .name, .count] + ([.total, .median, .p90, .p99, .max] | map(. * 1e9 | round))' | sort > expected
    script 'return overall.groups.filter(group => group.columns.total).map(({ by, name, columns }) =>
        [by, name, ...columns.total.slice(0, 6)])' | jq -c '.[]' | sort > found
    diff expected found
    slogreport stalls --top 200 --json "$DATA/variety.slog.gz" | jq -c '[.span, .vatID, .description, .line]' > expected
    script 'const names = ["send", "worker", "up", "kernel", "down", "return"];
        return overall.stalls.map(({ kind, vat, text, line }) => [names[kind], vat, text, line])' | jq -c '.[]' > found
    diff expected found
}

# The first three cells of column $1 in the table of deliveries.
cells() {
    script "return [...document.querySelectorAll('#deliveries tbody tr')].slice(0, 3)
        .map(row => row.cells[$1].textContent).join(';')"
}

@test "a table sorts by mouse and by key" {
    needs_browser
    show "$DATA/variety.slog.gz"
    assert_equal "$(cells 3)" '340 ms;292 ms;225 ms'
    click '#deliveries th:nth-child(8) button'
    assert_equal "$(cells 7)" '21.8 ms;15.9 ms;15.6 ms'
    assert_equal "$(script 'return document.querySelector("#deliveries [aria-sort]").textContent')" kernel
    script 'document.querySelector("#deliveries th:nth-child(4) button").focus()' > /dev/null
    press "$KEY_ENTER"
    assert_equal "$(cells 3)" '340 ms;292 ms;225 ms'
    press "$KEY_ENTER"
    assert_equal "$(script 'return document.querySelector("#deliveries [aria-sort]").getAttribute("aria-sort")')" ascending
    assert_equal "$(cells 3)" "$(slogreport --json --top 3 --reverse "$DATA/variety.slog.gz" |
        jq -r 'select(.total) | .total * 1e6 | round | "\(.) µs"' | paste -sd ';')"
    script 'document.getElementById("filter").focus()' > /dev/null
    press b u l k
    slogreport --json --kind bulkPut "$DATA/variety.slog.gz" | jq 'select(.kind == "delivery").crankNum' > bulk
    assert_equal "$(script 'return document.getElementById("filtered").value')" "$(wc -l < bulk) of 269"
    # The box at the top has the same words, and leads from one that it finds to the next, a vat or an error too.
    script 'document.activeElement.blur()' > /dev/null
    press / b u l k "$KEY_ENTER" "$KEY_ENTER"
    timeline drawn > /dev/null
    assert_equal "$(script 'return [deliveries.crank[timeline.selected], document.getElementById("filter").value]')" "[$(sed -n 2p bulk),\"bulk\"]"
    assert_equal "$(script 'return document.getElementById("found").value')" "2 of $(wc -l < bulk) found"
    assert_equal "$(script 'return [findDeliveries("V7 spinn").every(i => vatName(deliveries.vat[i]) === "v7 spinner"),
        findDeliveries("meter exceeded").map(i => deliveries.crank[i])]')" \
        "$(slogreport --json "$DATA/variety.slog.gz" | jq -cs '[true, map(select(.error // "" | test("meter exceeded"; "i")).crankNum)]')"
    assert_equal "$(console)" ''
}

@test "the timeline zooms by key down to a syscall" {
    needs_browser
    show "$DATA/small.slog.gz"
    script 'document.getElementById("timeline").focus()' > /dev/null
    # The tenth delivery in time, its second request.
    press n n n n n n n n n n . .
    timeline selected > /dev/null
    press "$KEY_ENTER"
    assert_equal "$(timeline request)" 1
    # The request fills most of what is in view, and is named and timed as in the text report.
    script 'const { from, to, selected } = document.getElementById("timeline").dataset;
        const request = spansOf(selected).requests[1];
        return (request.to - request.from) / (to - from) > 0.7' > fills
    assert_equal "$(cat fills)" true
    slogreport "$DATA/small.slog.gz" | awk '/ : / && /kern, /' > requests
    script 'const { selected } = document.getElementById("timeline").dataset;
        const { words, times } = spansOf(selected).requests[1];
        const [up, kernel, down] = times.map(time => (time / 1e9).toFixed(6));
        return `w -> ${up} -> k, ${kernel} kern, k -> ${down} -> w : ${words}`' > found
    tr -s ' ' < requests | grep -F "$(cat found)" || fail 'no such syscall in the report:' "$(cat found)"
    assert_equal "$(script 'return document.getElementById("request").textContent.startsWith("Syscall 2 of")')" true
    before=$(timeline from)
    press "$KEY_LEFT"
    [ "$(jq -n "$(timeline from) < $before")" = true ] || fail 'the left arrow did not move'
    # As in Perfetto: a second W undoes an S, a D an A.
    before=$(timeline from)
    press a
    [ "$(jq -n "$(timeline from) < $before")" = true ] || fail 'A did not move'
    press d s w
    [ "$(jq -n "($(timeline from) - $before | fabs) < 1000")" = true ] || fail 'D, S and W did not lead back'
    press - - 0
    assert_equal "$(timeline count)" "$(slogreport --json "$DATA/small.slog.gz" | jq -s 'map(select(.kind == "delivery")) | length')"
    assert_equal "$(console)" ''
}

# drag SHIFT? FROM TO: over the timeline, from and to which share of its width.
drag() {
    local place

    place=$(script 'const canvas = document.getElementById("timeline"); canvas.scrollIntoView({behavior: "instant"});
        const box = canvas.getBoundingClientRect(); return [box.left, box.width, box.top]')
    webdriver POST actions "$(jq -n --argjson place "$place" --argjson shift "$1" --argjson from "$2" --argjson to "$3" '
        def x(share): $place[0] + 130 + ($place[1] - 130) * share | round;
        def move(share): {type: "pointerMove", x: x(share), y: ($place[2] + 90 | round), duration: 20};
        [range(6) | {type: "pause"}] as $pauses
        | {actions: [
            {type: "key", id: "keyboard", actions: (if $shift then [{type: "keyDown", value: "\ue008"}] + $pauses[:4]
                + [{type: "keyUp", value: "\ue008"}] else $pauses end)},
            {type: "pointer", id: "mouse", parameters: {pointerType: "mouse"}, actions: [
                {type: "pause"}, move($from), {type: "pointerDown", button: 0}, move($to), {type: "pointerUp", button: 0}]}]}')" > /dev/null
}

@test "the timeline moves and zooms by mouse" {
    local from to

    needs_browser
    show "$DATA/variety.slog.gz"
    # An interval has the sums of what began in it, as the command that it names prints them.
    drag true 0.25 0.5
    timeline drawn > /dev/null
    assert_equal "$(script 'return document.querySelector("#selected h3").textContent.startsWith("Interval: ")')" true
    mapfile -t words < <(script 'return document.querySelector("#selected code").textContent' | tr ' ' '\n')
    assert_equal "${words[0]} ${words[1]} ${words[2]} ${words[4]} ${words[6]}" "slogreport summary --since --until $DATA/variety.slog.gz"
    slogreport "${words[@]:1:5}" --json "$DATA/variety.slog.gz" > sums
    script 'const { live, total, times, vats } = sumInterval(timeline.interval);
        return [live.length, total, ...times.slice(0, 3), vats.length]' > found
    jq -cs 'map(select(.by == "all")) as $all
        | def total(names): [$all[] | select(.column | IN(names[])).total] | add * 1e9 | round;
        [($all[] | select(.column == "total").count), total(["total"]), total(["worker"]), total(["up", "down"]), total(["kernel"]),
         (map(select(.by == "vat" and .column == "total")) | length)]' sums | diff - found
    assert_equal "$(script 'return document.getElementById("filtered").value')" "$(jq '.[0]' found) of 269, in the chosen interval"
    press "$KEY_ENTER"
    timeline drawn > /dev/null
    from=$(timeline from) to=$(timeline to)
    press "$KEY_ESCAPE"
    assert_equal "$(script 'return [timeline.interval, document.getElementById("panel").hidden]')" '[null,true]'
    # A quarter of the 8.9 s that were in view.
    assert_equal "$(jq -n "($to - $from) / 1e8 | round")" 22
    drag false 0.5 0.75
    assert_equal "$(jq -n "($from - $(timeline from)) / ($to - $from) * 100 | round")" 25
    click '[data-move=all]'
    assert_equal "$(timeline count)" 269
    assert_equal "$(console)" ''
}

@test "a stall leads to its place on the timeline" {
    needs_browser
    show "$DATA/variety.slog.gz"
    click '#stalls tbody tr:first-child button'
    timeline drawn > /dev/null
    assert_equal "$(script 'const { selected, request } = document.getElementById("timeline").dataset;
        return `${deliveries.text[selected]} : ${spansOf(selected).requests[request].words}`')" \
        "$(slogreport stalls --top 1 --json "$DATA/variety.slog.gz" | jq -r '"\(.description) : \(.syscall)"')"
    assert_equal "$(console)" ''
}

@test "blocks have their sums, and each leads to its place on the timeline" {
    needs_browser
    show "$DATA/shapes/blocks.slog"
    script 'const by = document.getElementById("sums-by");
        by.value = "block";
        by.dispatchEvent(new Event("change"));
        return [...document.querySelectorAll("#sums tbody tr")].map(row => [row.cells[0].textContent, +row.cells[1].textContent])' |
        jq -c '.[]' | sort > found
    slogreport summary --by block --json "$DATA/shapes/blocks.slog" |
        jq -c 'select(.column == "total") | [.name, .count]' | sort > expected
    [ -s expected ]
    diff expected found
    click '#sums tbody tr:first-child button'
    assert_equal "$(timeline count)" "$(script 'return document.querySelector("#sums tbody tr").cells[1].textContent')"
    assert_equal "$(console)" ''
}

@test "deliveries can stand end to end" {
    needs_browser
    show "$DATA/variety.slog.gz"
    script 'const axis = document.getElementById("axis");
        axis.value = "packed";
        axis.dispatchEvent(new Event("change"))' > /dev/null
    timeline drawn > /dev/null
    assert_equal "$(script 'return timeline.last - timeline.first')" "$(script 'return all.columns.total[1]')"
    assert_equal "$(timeline count)" 269
}

@test "the icicle includes all time, and is navigated by keyboard" {
    needs_browser
    show "$DATA/variety.slog.gz"
    assert_equal "$(script 'return growTree().time')" "$(script 'return all.columns.total[1]')"
    script 'document.querySelector("#icicle [tabindex=\"0\"]").focus()' > /dev/null
    press "$KEY_DOWN" "$KEY_RIGHT" "$KEY_ENTER"
    assert_equal "$(script 'return document.activeElement.entry.name')" 'v4 bank'
    assert_equal "$(script 'return document.querySelectorAll("#icicle [aria-level=\"1\"]").length')" 1
    press "$KEY_ESCAPE"
    assert_equal "$(script 'return document.activeElement.entry.name')" 'all live deliveries'
    assert_equal "$(console)" ''
}

@test "a profile shows what functions took, in a delivery and in all of them" {
    needs_browser
    "$BUILD/gaspipe" run --json --slog run.slog --profile js.profile --native-profile native.profile \
        --vat "token=$ROOT/examples/token/contract.js" "$ROOT/examples/token/deliveries.jsonl" > out || [ $? -eq 1 ]
    show --profile js.profile --profile native.profile run.slog
    assert_equal "$(script 'return costsThere.map(([name]) => name).join()')" computrons,instructions,native
    # By each of the three, the calls of every delivery come to what it cost.
    assert_equal "$(script 'return [...deliveries.order].every(i => costsThere.every(([name, cost]) =>
        growCalls(treeOf(i, cost), cost, "").time ===
            deliveries[name === "computrons" ? "compute" : "instructions"][i]))')" true
    # The panel's icicle is that of the delivery, and can be entered.
    script 'timeline.select(1)' > /dev/null
    assert_equal "$(script 'return document.querySelector("#calls [aria-level=\"1\"]").entry.time === deliveries.compute[1]')" true
    assert_equal "$(script 'return [...document.querySelectorAll("#calls [role=treeitem]")].some(bar =>
        bar.entry.name.startsWith("sendMessage (gaspipe/plain.js:"))')" true
    script 'const of = document.getElementById("calls-of");
        of.value = "native";
        of.dispatchEvent(new Event("change"))' > /dev/null
    timeline drawn > /dev/null
    assert_equal "$(script 'return document.querySelector("#calls [aria-level=\"1\"]").entry.time === deliveries.instructions[1]')" true
    # The table has the sums of slogreport profile; it can be searched and follows the list.
    assert_equal "$(script 'return functions.rows.map(({ text, calls, self, total }) => [text, calls, self, total].join()).sort().join("\n")')" \
        "$("$BUILD/slogreport" profile --json js.profile | jq -r '[.function + (if .file then " (" + .file + ":" + (.line | tostring) + ")" else "" end),
            .calls, .self, .total] | map(tostring) | join(",")' | LC_ALL=C sort)"
    assert_equal "$(script 'return functions.rows.every(({ selves }) => selves.length <= 7)')" true
    script 'const search = document.getElementById("functions-search");
        search.value = "SENDMESSAGE";
        search.dispatchEvent(new Event("input"))' > /dev/null
    assert_equal "$(script 'return document.getElementById("functions").querySelectorAll("tbody tr").length')" 1
    script 'const filter = document.getElementById("filter");
        filter.value = "holders";
        filter.dispatchEvent(new Event("input"))' > /dev/null
    assert_equal "$(script 'return functions.rows.reduce((sum, { self }) => sum + self, 0)')" \
        "$(jq -r 'select(.kind == "delivery" and (.description | contains("holders"))).compute' out)"
    assert_equal "$(console)" ''
    # Without one, nothing of it is there; what is none is refused in one line.
    show run.slog
    assert_equal "$(script 'return document.getElementById("functions-part") === null')" true
    echo '{"kind":"tree","vatID":"v1","deliveryNum":1,"functions":[["f",null,null]],"nodes":[[0,0,1,1,null]]}' > bad
    run --separate-stderr slogreport --html page.html --profile bad run.slog
    assert_bad_input 3 "bad:1: not a line of a profile"
    run --separate-stderr slogreport --profile bad run.slog
    assert_bad_input 2 "--profile needs --html FILE or --trace FILE"
}

@test "waits between deliveries: the panel has what slogreport waits has, and the functions that caused it" {
    needs_browser
    slogreport waits --json --top 100000 "$DATA/variety.slog.gz" > waits
    # In the delivery that others waited for longest, f takes three quarters, and g a quarter.
    jq -c 'select(.kind == "handed") | {kind: "tree", vatID, deliveryNum, crankNum: null,
        functions: [["f", "a.js", 7], ["g", "a.js", 9]], nodes: [[null, 0, 1, 300, null], [0, 1, 1, 100, null]]}' \
        waits | head -n 1 > profile
    show --profile profile "$DATA/variety.slog.gz"
    assert_equal "$(script 'return [...deliveries.order].map(i => [overall.vats[deliveries.vat[i]][0], deliveries.number[i],
            overlaps(waiter => overlapOf(waiter, i)).reduce((sum, [, time]) => sum + time, 0)])
        .filter(([, , handed]) => handed > 0).map(row => row.join(" ")).sort().join("\n")')" \
        "$(jq -r 'select(.kind == "handed") | "\(.vatID) \(.deliveryNum) \(.handed * 1e9 | round)"' waits | LC_ALL=C sort)"
    script 'timeline.select([...deliveries.order].find(i => treeOf(i, COSTS.computrons)))' > /dev/null
    assert_equal "$(script 'return [...document.querySelectorAll("#handed-by li")].map(item => item.textContent).join()')" \
        "$(script 'const i = timeline.selected, handed = overlaps(waiter => overlapOf(waiter, i)).reduce((sum, [, time]) => sum + time, 0);
            return `f (a.js:7): ${timeText(handed * 0.75)},g (a.js:9): ${timeText(handed * 0.25)}`')"
    # A delivery that waited for it says so, names its functions, and links back to it.
    script 'document.querySelector("#waiting button").click()' > /dev/null
    assert_equal "$(script 'return [...document.querySelectorAll("#behind > li")].some(item => item.querySelector("ul li")?.textContent.startsWith("f (a.js:7): "))')" true
    assert_equal "$(console)" ''
}

@test "functions of a trace lie under their delivery's worker, on its clock" {
    needs_browser
    "$BUILD/gaspipe" run --json --counter none --slog run.slog --trace-functions run.trace \
        --vat "token=$ROOT/examples/token/contract.js" "$ROOT/examples/token/deliveries.jsonl" > out || [ $? -eq 1 ]
    "$BUILD/gaspipe" trace --json --report report --read run.trace --profile time.profile
    show --profile time.profile run.slog
    assert_equal "$(script 'return costsThere.map(([name]) => name).join()')" time
    # The worker's spans and the trace are of one clock: all calls are from the arrival to the result.
    assert_equal "$(script 'return [...deliveries.order].every(i => {
        const worker = spansOf(i).spans.filter(({ kind }) => kind === SPAN.worker);
        const { spans } = callSpans(i);
        return spans.length > 10 && spans.every(({ from, to }) =>
            from >= worker[0].from - 1000 && to <= worker[worker.length - 1].to + 1000);
    })')" true
    # They are drawn where a delivery is wide, and its row grows for them.
    script 'timeline.show(1)' > /dev/null
    [ "$(timeline calls)" -gt 10 ]
    assert_equal "$(script 'return timeline.rowHeights[0] > 100 && timeline.canvas.clientHeight > timeline.rowTops[0] + 100')" true
    assert_equal "$(script 'const call = timeline.callsIn(1).find(({ level }) => level === 2);
        return timeline.callAt(1, 0, timeline.at[1] + (call.from + call.to) / 2,
            timeline.rowTops[0] + 38 + 11 * 2 + 4).name === call.name')" true
    assert_equal "$(script 'return document.getElementById("calls-hint").textContent')" \
        "$(jq -r 'select(.kind == "tree" and .deliveryNum == 2) | "The timeline has \(.spans | length) calls of it" +
            (if .spansLeftOut > 0 then "; \(.spansLeftOut) shorter ones were left out there" else "" end) + "."' time.profile |
            sed -E ':a; s/([0-9])([0-9]{3})\b/\1,\2/; ta')"
    script 'timeline.whole()' > /dev/null
    timeline drawn > /dev/null
    assert_equal "$(script 'return [...deliveries.order].every(i => timeline.callsIn(i).length > 0 === deliveries.total[i] * timeline.scale >= 60)')" true
    assert_equal "$(console)" ''
}

@test "the contents of a slogfile cannot become part of the page" {
    local hostile='</script><script>hacked=1</script><img src=x onerror=hacked=1><!--'

    needs_browser
    zcat "$DATA/small.slog.gz" | jq -c --arg hostile "$hostile" \
        'if .type == "create-vat" then .name = $hostile else . end
         | if .dr[0]? == "ok" then .dr = ["error", $hostile, .dr[2]] else . end' > hostile.slog
    sed -i 's|transfer|</script><script>hacked=1</script>|g; s|vatstoreGet|</ScRiPt><script>hacked=1</script>|g' hostile.slog
    mv hostile.slog '<img src=x onerror=hacked=1>.slog'
    show '<img src=x onerror=hacked=1>.slog'
    click '#deliveries tbody tr:first-child button'
    assert_equal "$(script 'return [typeof hacked, document.images.length]')" '["undefined",0]'
    assert_equal "$(script 'return vatName(deliveries.vat[0])' | cut -d ' ' -f 2-)" "$hostile"
    assert_equal "$(console)" ''
}

@test "a vat's long name is cut on the timeline, not squeezed" {
    needs_browser
    zcat "$DATA/small.slog.gz" | jq -c 'if .type == "create-vat" then .name = "long name " * 30 else . end' > long.slog
    show long.slog
    assert_equal "$(script 'const squeezed = [], { prototype } = CanvasRenderingContext2D, { fillText } = prototype;
        prototype.fillText = function (text, x, y, width) {
            if (this.measureText(text).width > 1.2 * width) squeezed.push(text);
            return fillText.call(this, text, x, y, width);
        };
        timeline.drawFrame();
        prototype.fillText = fillText;
        return squeezed')" '[]'
}

@test "the page requests nothing from elsewhere" {
    slogreport --html page.html "$DATA/small.slog.gz"
    grep -q "default-src 'none'" page.html
    ! grep -E '(src|href)="[^#"]' page.html || fail 'the page refers to something'
    ! grep -E 'https?://' page.html | grep -v 'http://www.w3.org/2000/svg' || fail 'the page names an address'
}

@test "only the selected deliveries are on the page" {
    needs_browser
    show --vat v1 --kind notify "$DATA/variety.slog.gz"
    assert_equal "$(script 'return deliveries.count')" \
        "$(slogreport --json --vat v1 --kind notify "$DATA/variety.slog.gz" | jq -s 'map(select(.kind == "delivery")) | length')"
}

@test "a page that cannot be written is an error, and leaves the old file" {
    run --separate-stderr slogreport --html none/page.html "$DATA/small.slog.gz"
    assert_bad_input 4 none/page.html
    run --separate-stderr slogreport --html /dev/full "$DATA/small.slog.gz"
    assert_bad_input 4 /dev/full
    [ -c /dev/full ]
    echo before > page.html
    run --separate-stderr bash -c 'trap "" XFSZ; ulimit -f 16; "$@"' - \
        "$BUILD/slogreport" --html page.html "$DATA/small.slog.gz"
    assert_bad_input 4 page.html
    echo nonsense > bad.slog
    run --separate-stderr slogreport --html page.html bad.slog
    assert_bad_input 3 bad.slog
    assert_equal "$(cat page.html)" before
    assert_equal "$(echo page.html*)" page.html 'unfinished files'
}

@test "the page has the rights of any new file, and a link to it stays one" {
    umask 027
    echo before > real.html
    ln -s real.html link.html
    run slogreport --html link.html "$DATA/small.slog.gz"
    assert_status 0
    assert_equal "$output" ""
    [ -L link.html ]
    assert_equal "$(stat -c %a real.html)" 640
    run slogreport --html page.html --follow "$DATA/small.slog.gz"
    assert_status 2
}
