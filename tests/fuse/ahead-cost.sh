#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain alone channels in=gcc,gcc:ring
# The cost of files that are read in the order of the tree: one device read for twenty small ones, and few READs,
# however many members they lie on. The same of blocks of files that were announced.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

FILES=6000 # of half as many, a walk on four members takes one read for twenty at the best
# Some are of whole sectors, which the device could read without a copy, one by one; others lie in what earlier ones
# left of a block, far before those that they come behind.
python3 - $FILES <<'END'
import os, random, sys
r = random.Random(7)
for i in range(int(sys.argv[1])):
    os.makedirs(f"source/d{i // 250}", exist_ok=True)
    with open(f"source/d{i // 250}/f{i % 250:03}", "wb") as file:
        sizes = r.randrange(10, 21) * 512, r.randrange(5000, 11000), r.randrange(500, 4000)
        file.write(r.randbytes(sizes[i % 3]))
END
pack volume source
pack a,b,c,d source
pack e,f,g,h source --protect mirror:2

# walk VOLUME OPTIONS COMMAND: sets reads, requests and stored of it
walk() {
    mount_volume "$1" mnt -o "$2"
    eval "$3" >/dev/null || fail "$3"
    reads=$(stats mnt device_reads) requests=$(stats mnt requests.READ) stored=$(stats mnt ahead_stored)
    unmount mnt
    say "$1: $3: $reads device reads, $requests READs, $stored stored, of $FILES files"
}

# cost VOLUME COMMAND: of one walk; false when the daemon was not let ahead, as on a busy machine
cost() {
    walk "$1" ro "$2"
    [ "$reads" -le $((FILES / 20)) ] && [ "$requests" -le $((FILES / 2)) ] && [ "$stored" -ge $((FILES / 2)) ]
}

# costs_little VOLUME COMMAND
costs_little() {
    for _ in {1..10}; do
        ! cost "$@" || return 0
    done
    fail "ten times: '$2' on '$1'"
}

for command in "tar cf - mnt | cat" "cp -r mnt out" "grep -rc x mnt" "rm -rf copy; rsync -r mnt/ copy"; do
    costs_little volume "$command"
done
for volume in a e; do costs_little $volume "tar cf - mnt | cat"; done

# announced VOLUME MOST: one read for so many files, in blocks of 128
announced() {
    mount_volume "$1" mnt -o readahead=off
    python3 "$DATASETFS_SOURCE/tests/fuse/prefetch.py" blocks mnt source 128 "$2" || fail "blocks on '$1'"
    unmount mnt
}
announced volume 20
announced a 8
announced e 8

# Files that came are stored before more are read, also by a thread that waits for each read: there is room for a part.
slow_device volume slow 1000
walk slow io=threads,readahead=2M "tar cf - mnt | cat"
[ "$reads" -le $((FILES / 10)) ] || fail "on a slow device with a thread for each read"
