#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc,asan timeout=300
# A member of a mirrored volume does not answer while a program reads the volume by libdatasetfs itself: single reads,
# queues, large files and arenas go on with the other copies, no byte is wrong, and what the device writes late goes to
# memory that is nobody's. The handle is closed meanwhile. Without io_uring this cannot be.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir -p source back
python3 - "${SEED:=$RANDOM}" <<'END'
import random
import sys
rng = random.Random(int(sys.argv[1]))
for number in range(600):
    with open(f"source/{number}", "wb") as file:
        file.write(rng.randbytes(200 + min(100_000, int(rng.lognormvariate(8.6, 0.9)))))
for number in range(6):
    with open(f"source/large{number}", "wb") as file:
        file.write(rng.randbytes(3_000_000))
END
say "SEED=$SEED"
pack back/a,back/b source --protect mirror:2
for member in a b; do
    echo 2000 >$member.control
    slow_device back/$member $member 2000 $member.control
done

# stuck WHERE CYCLES [closed]
stuck() {
    local rc=0
    "$DATASETFS_BUILD/tests/library/library-stuck" "$1" source b.control 2000 "${@:2}" >stuck.log 2>&1 || rc=$?
    [ $rc != 77 ] || skip "$(cat stuck.log)"
    [ $rc = 0 ] || fail "$*: $(cat stuck.log)"
    say "$*: $(cat stuck.log)"
}

stuck a,b "$(length 4 40)"
stuck a,b 0 closed
mount_volume a mnt
! is_root || stuck mnt "$(length 1 10)" # others may not read past it
unmount mnt
wait_for 20 grep -q '^hung=' b.control.log || fail "it did not hang"
