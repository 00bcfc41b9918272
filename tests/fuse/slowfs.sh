#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# The slow device of other tests: the bytes of its file, past the page cache, each read at least as long as asked for,
# and many of them at once.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

head -c 1000000 /dev/urandom >file
slow_device file device 300000 # so long that many readers meet, however busy the machine is
python3 - <<'END'
import mmap
import os
import threading
import time

READERS = 64
content = open("file", "rb").read()
device = os.open("device", os.O_RDONLY | os.O_DIRECT)
assert os.fstat(device).st_size == len(content)


def read(offset, size):
    memory = mmap.mmap(-1, size)
    start = time.monotonic()
    length = os.preadv(device, [memory], offset)
    assert time.monotonic() - start >= 0.3, "a read that was not delayed"
    assert memory[:length] == content[offset:offset + size], f"other bytes at {offset}"


read(999424, 4096)  # to the end
threads = [threading.Thread(target=read, args=(i * 8192, 8192)) for i in range(READERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END
umount device || fusermount3 -u device
wait_for 10 grep -q '^reads=' slowfs.log || fail "the device does not end"
assert_contains "what it did" "$(cat slowfs.log)" "reads=65 "
at_once=$(sed -n 's/.*at_once=//p' slowfs.log)
[ "$at_once" -ge 8 ] || fail "$at_once reads at once of 64 readers"

# A volume on it is read as from any device.
mkdir tree && head -c 300000 /dev/urandom >tree/large && echo small >tree/small
pack volume tree
slow_device volume slow 1000
mount_volume slow mnt
compare tree mnt
