#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan
# Where io_uring is refused, as in containers, the thread pool serves the same bytes and one loud line says so;
# io=uring refuses instead, io=threads is silent. The same with an io_uring that cannot read yet.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root
need_command cc

tree random source --seed 9 --files 150
pack volume source --compress auto
c_program lib/without_io_uring

real=$(command -v datasetfs)
# filtered FOLDER OPTION: there datasetfs runs below without_io_uring
filtered() {
    mkdir "$1"
    printf '#!/bin/sh\nexec %s %s %s "$@"\n' "$PWD/without_io_uring" "$2" "$real" >"$1/datasetfs"
    chmod +x "$1/datasetfs"
}
filtered filtered.bin ""
filtered old.bin -o
rc=0
./without_io_uring true || rc=$?
[ $rc != 77 ] || skip "no seccomp here"

# takes_threads FOLDER REASON MESSAGE: what the daemon says there of io=auto, and of io=uring
takes_threads() (
    export PATH=$PWD/$1:$PATH
    : >daemon.log
    mount_volume volume mnt
    compare source mnt
    assert_eq "io" "$(stats mnt io)" threads
    assert_contains "reason" "$(stats mnt io_reason)" "$2"
    assert_eq "loud lines" "$(grep -c "io_uring is refused" daemon.log)" 1
    python3 "$DATASETFS_SOURCE/tests/fuse/reads.py" source mnt --rounds 4 || fail "reads"
    unmount mnt
    assert_fails 32 "$3" datasetfs -o io=uring,channel=dev volume mnt
)
takes_threads filtered.bin "not permitted" "io_uring" || fail "without io_uring"
takes_threads old.bin "no IORING_OP_READ" "no IORING_OP_READ" || fail "with an old io_uring"

: >daemon.log
mount_volume volume mnt -o io=threads
compare source mnt
assert_eq "io" "$(stats mnt io)" threads
! grep "is refused" daemon.log || fail "io=threads is no reason to warn"
unmount mnt

if (./without_io_uring true) && datasetfs -o io=uring volume mnt 2>uring.log; then
    assert_eq "io" "$(stats mnt io)" uring
    compare source mnt
    umount mnt
else
    say "this machine has no io_uring: $(cat uring.log)"
fi
assert_fails 2 "'fast'" datasetfs -o io=fast volume mnt
assert_fails 2 "workers" datasetfs -o workers=0 volume mnt
: >daemon.log
mount_volume volume mnt -o workers=3,channel=dev
assert_eq "workers" "$(stats mnt workers)" 3
compare source mnt
unmount mnt
! grep workers= daemon.log || fail "workers=3 is no reason to warn"
mount_volume volume mnt -o io=threads,channel=dev,workers=1000
assert_eq "workers" "$(stats mnt workers)" 256
unmount mnt
assert_contains "the log" "$(cat daemon.log)" "workers=1000: 256 serve, there are no more without io_uring"
