# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A real browser for tests: Debian's Chromium without a window, driven over the
# WebDriver protocol (https://www.w3.org/TR/webdriver2/) with curl and jq.

# WebDriver's codes of keys.
KEY_ENTER=$'\ue007' KEY_ESCAPE=$'\ue00c'
KEY_LEFT=$'\ue012' KEY_RIGHT=$'\ue014' KEY_DOWN=$'\ue015'
export KEY_ENTER KEY_ESCAPE KEY_LEFT KEY_RIGHT KEY_DOWN

# Returns 0 if everything that the tests with a browser need is installed.
have_browser() {
    command -v chromium > /dev/null && command -v chromedriver > /dev/null && command -v curl > /dev/null
}

# jq program: the value of the driver's answer; an error ends jq with its message.
DRIVER_VALUE='.value | if type == "object" and has("error") then .error + ": " + .message | halt_error(1) else . end'

# webdriver METHOD PATH [BODY [FILTER]]: the answer's value as JSON, or what jq's FILTER makes of it;
# fails when it is an error.
webdriver() {
    curl -sS --noproxy '*' --max-time 100 -X "$1" -H 'Content-Type: application/json' \
        ${3:+--data-binary "$3"} "$DRIVER${2:+/$2}" > "$BROWSER_DIRECTORY/answer" &&
        jq -rc "$DRIVER_VALUE | ${4:-tojson}" "$BROWSER_DIRECTORY/answer"
}

driver_port() {
    sed -n 's/.*started successfully on port \([0-9]*\).*/\1/p' "$BROWSER_DIRECTORY/driver.log" | grep .
}

# Starts a driver and a browser of our own, in $BROWSER_DIRECTORY, which is to be empty.
start_browser() {
    local options

    HOME=$BROWSER_DIRECTORY chromedriver --port=0 > "$BROWSER_DIRECTORY/driver.log" 2>&1 3>&- &
    DRIVER_PID=$!
    wait_for 60 driver_port || return
    DRIVER=http://127.0.0.1:$(driver_port)
    options=$(jq -n --arg directory "$BROWSER_DIRECTORY/profile" '{capabilities: {alwaysMatch: {
        browserName: "chrome", "goog:loggingPrefs": {browser: "ALL"},
        "goog:chromeOptions": {binary: "/usr/bin/chromium", args: ["--headless", "--no-sandbox",
            "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--force-prefers-reduced-motion", "--window-size=1400,1100", "--user-data-dir=" + $directory]}}}}')
    DRIVER=$DRIVER/session/$(webdriver POST session "$options" .sessionId)
    [[ $DRIVER != */ ]]
}

stop_browser() {
    [ -z "${DRIVER:-}" ] || webdriver DELETE '' > /dev/null || true
    [ -n "${DRIVER_PID:-}" ] || return 0
    kill "$DRIVER_PID"
    wait "$DRIVER_PID" || true
}

# open_page FILE
open_page() {
    webdriver POST url "$(jq -n --arg url "file://$1" '{url: $url}')" > /dev/null
}

# script JAVASCRIPT: what it returns, as text; a promise is waited for.
script() {
    webdriver POST execute/sync "$(jq -n --arg script "$1" '{script: $script, args: []}')" \
        'if type == "string" then . else tojson end'
}

# go_to HASH: opens that part of the page; waits until the page has handled it.
go_to() {
    script "return new Promise(done => {
        addEventListener('hashchange', () => done(true), { once: true });
        location.hash = '$1';
    })" > /dev/null
}

# element SELECTOR: the driver's name for it.
element() {
    webdriver POST element "$(jq -n --arg css "$1" '{using: "css selector", value: $css}')" '.[]'
}

# As a user does: the mouse, and keys into what has the focus.
click() {
    webdriver POST "element/$(element "$1")/click" '{}' > /dev/null
}

# press KEY...: each is one character, or the code that WebDriver has for a key.
press() {
    local keys

    keys=$(printf '%s\n' "$@" | jq -R . | jq -sc 'map({type: "keyDown", value: .}, {type: "keyUp", value: .})')
    webdriver POST actions "{\"actions\":[{\"type\":\"key\",\"id\":\"keyboard\",\"actions\":$keys}]}" > /dev/null
}

# Prints what the page wrote to the console, and its scripts' errors.
console() {
    webdriver POST se/log '{"type":"browser"}' '.[].message'
}

# colour_scheme light|dark
colour_scheme() {
    webdriver POST goog/cdp/execute "$(jq -n --arg scheme "$1" '{cmd: "Emulation.setEmulatedMedia",
        params: {features: [{name: "prefers-color-scheme", value: $scheme}]}}')" > /dev/null
}

# screenshot FILE
screenshot() {
    webdriver GET screenshot '' . | base64 -d > "$1"
}
