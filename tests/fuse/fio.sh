#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: channels
# Files that fio wrote with its checksums inside verify when fio reads them from the mount at random.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_command fio

write() {
    fio --name="$1" --directory=source --filesize="$2" --nrfiles="$3" --bs="$4" --rw=write --ioengine=psync \
        --verify=crc32c --do_verify=0 --fallocate=none --output-format=terse >fio-write.log 2>&1 ||
        { cat fio-write.log; fail "fio cannot write"; }
}

verify() {
    fio --name="$1" --directory=mnt --filesize="$2" --nrfiles="$3" --bs="$4" --rw=randread --ioengine="$5" \
        --iodepth=16 --direct="$6" --readonly --verify=crc32c --verify_only --verify_fatal=1 >fio.log 2>&1 ||
        { cat fio.log; fail "fio's verification of $1 with $5 direct=$6"; }
    grep -qE 'err= *0' fio.log || { cat fio.log; fail "fio reports errors"; }
    ! grep -qi 'verify failed' fio.log || fail "fio: $(grep -i 'verify failed' fio.log | head -n 1)"
}

mkdir source
write small 12k 200 4k
write large 16m 2 64k
pack volume source
mount_volume volume mnt
for engine in psync:0 io_uring:0 io_uring:1; do
    fio --name=probe --size=4k --filename=probe.file --rw=write --ioengine=${engine%:*} >/dev/null 2>&1 || continue
    verify small 12k 200 4k ${engine%:*} ${engine#*:}
    verify large 16m 2 64k ${engine%:*} ${engine#*:}
done

# The check can fail: a source that was changed behind fio's back does not verify.
cp -r source spoilt
spoil spoilt/large.0.0 700000
unmount mnt
pack spoilt.dsfs spoilt
mount_volume spoilt.dsfs mnt
if (verify large 16m 2 64k psync 0) >/dev/null 2>&1; then
    fail "fio did not notice a changed byte"
fi
unmount mnt
