# SPDX-License-Identifier: Apache-2.0
# How each delivery of a slogfile splits, straight from the definition in
# docs/slog-format.md and with nothing of slogreport's. For live deliveries of
# one kernel process. Times in whole microseconds.
def us: . * 1000000 | round;
def sum: add // 0;

reduce inputs as $line ({open: {}, out: []};
  $line.vatID as $vat
  | if $line.type == "deliver" then
      .open[$vat] = {sent: ($line.time | us), requests: []}
    elif $vat == null or .open[$vat] == null then .
    elif $line.type == "syscall" then
      .open[$vat].requests += [{came: ($line.time | us)}]
    elif $line.type == "syscall-result" then
      .open[$vat].requests[-1].answered = ($line.time | us)
    elif $line.type == "console" then
      .open[$vat].requests += [{came: ($line.time | us), answered: ($line.time | us), console: true}]
    elif $line.type == "deliver-result" then
      .open[$vat] as $delivery
      | ($line.time | us) as $returned
      | ($line.dr[2].timestamps // [] | map(us)) as $stamps
      | ($stamps | length) as $count
      | (2 + 2 * ($delivery.requests | length)) as $expected
      | [$delivery.requests | to_entries[] | select(2 * .key + 2 < $count)
          | .value + {sent: $stamps[2 * .key + 1], received: $stamps[2 * .key + 2]}] as $covered
      | .out += [{
          vatID: $vat, crankNum: $line.crankNum, deliveryNum: $line.deliveryNum,
          status: $line.dr[0], start: $delivery.sent, total: ($returned - $delivery.sent),
          pipe: (if $count == 0 then null else
            ($stamps[0] - $delivery.sent)
            + ([$covered[] | (.came - .sent) + (.received - .answered)] | sum)
            + (if $count == $expected then $returned - $stamps[-1] else 0 end) end),
          worker: (if $count == 0 then null else
            [range(0; $count - 1; 2) | $stamps[. + 1] - $stamps[.]] | sum end),
          kernel: (if $count == 0 then null else [$covered[] | .answered - .came] | sum end),
          unattributed: (if $count == 0 then $returned - $delivery.sent
            elif $count == $expected then 0 else $returned - $stamps[-1] end),
          syscalls: ([$delivery.requests[] | select(.console | not)] | length),
          consoles: ([$delivery.requests[] | select(.console)] | length),
          overrun: ($count > 0 and $count < $expected),
          compute: ($line.dr[2].compute // null)}]
      | del(.open[$vat])
    else . end)
| .out[]
