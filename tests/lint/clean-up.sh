#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once alone
# A test ends its own processes and no other one that has got the number of one of them meanwhile.
. "$(dirname "$0")/../lib/common.sh"
need_root
[ -w /proc/sys/kernel/ns_last_pid ] || skip "numbers of processes cannot be chosen"

cat >inner.sh <<'END'
. "$LIB/common.sh"
sleep 100 &
mine=$!
end_process_at_exit $mine
end_daemon_at_exit $mine nowhere
kill $mine
wait $mine || true
# Two starts within a tick look the same.
read -r tick _ </proc/uptime
until read -r now _ </proc/uptime && [ "$now" != "$tick" ]; do :; done
# Others start processes as well.
for _ in {1..1000}; do
    echo $((mine - 1)) >/proc/sys/kernel/ns_last_pid
    sleep 100 &
    [ $! != $mine ] || { echo $mine >victim; exit 0; }
    kill -KILL $!
    wait $! 2>/dev/null || true
done
END
bash inner.sh
[ -e victim ] || skip "no process got the number of another one"
victim=$(cat victim)
end_process_at_exit "$victim"
[ -n "$(started "$victim")" ] || fail "a process with a number that came round was ended"

sleep 100 &
mine=$!
end_process $mine "$(started $mine)"
wait_end $mine || fail "a process of the test's own was not ended"
