# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A clock that a test moves, so that it need not wait for time to pass: see tests/lib/clock.c. The times that the kernel
# gives to files are those of the machine.

need_command cc
cc -shared -fPIC -O1 -Wall -Wextra -D_GNU_SOURCE "$LIB/clock.c" -o clock.so -ldl || fail "clock.c does not compile"
: >clock.ahead

# by_clock COMMAND…: what it runs goes by the clock that 'pass' moves on, also while it runs
by_clock() {
    CLOCK_AHEAD=$PWD/clock.ahead ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 \
        LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD }$PWD/clock.so" "$@"
}

# pass MILLISECONDS
pass() {
    truncate -s "+$1" clock.ahead
}

# later COMMAND…: runs it three seconds from now by its clock, for a publish that is to remember the
# times of the tree: those of the last two seconds it does not trust. What changes after the call has
# another time than what changed before.
later() {
    touch clock.before
    until touch clock.now && [ clock.now -nt clock.before ]; do :; done
    truncate -s 3000 clock.ahead
    by_clock "$@"
}
