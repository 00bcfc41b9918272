# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Shared mounts under test. A test sources it after own_machine.

# stand_in: from now on a program in bin/ starts the daemon. It notes each start in the file starts, and waits while
# there is a file hold.
stand_in() {
    local real
    real=$(command -v datasetfs)
    mkdir -p bin
    cat >bin/datasetfs <<END
#!/bin/bash
echo "\$\$" >>"$PWD/starts"
while [ -e "$PWD/hold" ]; do sleep 0.02; done
exec "$real" "\$@"
END
    chmod +x bin/datasetfs
    PATH=$PWD/bin:$PATH
    : >starts
}
starts() { wc -l <starts; }
# more_starts_than COUNT: waits for another start
more_starts_than() { wait_for 20 eval "[ \"\$(starts)\" -gt $1 ]" || fail "no daemon begins"; }

# daemons: how many processes, two for each mount
daemons() { pgrep -xc datasetfs || true; }
# kill_all: supervisors and servers
kill_all() {
    pkill -KILL -x datasetfs || true
    wait_for 20 eval '[ "$(daemons)" = 0 ]' || fail "a daemon does not end"
}
# stop_all: they hang
stop_all() {
    local process
    pkill -STOP -x datasetfs
    for process in $(pgrep -x datasetfs); do
        wait_for 20 is_stopped "$process" || fail "process $process runs on"
    done
}

nothing_is_left() { [ -z "$(ls -A /run/datasetfs/attach 2>/dev/null)" ] && [ "$(daemons)" = 0 ]; }
all_is_gone() { wait_for 20 nothing_is_left || fail "left: $(find /run/datasetfs/attach)"; }

# ends PROCESS MESSAGE: waits for a process that must not hang, and returns its status
ends() {
    wait_for 20 eval "! kill -0 $1 2>/dev/null" || fail "$2"
    wait "$1"
}
