#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain alone channels in=gcc,gcc:ring
# The exact cost of a cold read that nobody saw coming: one request when the name is known, two when not, three for
# open() of a CPython that asks whether the file is a terminal; one device read; a file of up to 1 MiB read whole is one
# READ and one device read, even for a program that looks at its first bytes before.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_loop

mkdir source source/dir
for i in {100..199}; do head -c $((2000 + i * 37)) /dev/urandom >source/dir/$i; done
head -c 100000 /dev/urandom >source/middle
head -c 1048576 /dev/urandom >source/mebibyte
echo "in the index" >source/tiny
truncate -s 64M image
loop_device image --direct-io=on
pack "$LOOP" source

# 3.14 and newer know from fstat() that it is none.
asks=$(python3 -c 'import sys; print(int(sys.version_info < (3, 14)))')

hold_caches # without the names that the kernel has there are more lookups

# cost FILES HOW NAME…: that many files, each for one READ, the lookups and the question that HOW implies,
# nothing else
cost() {
    local files=$1 how=$2 expected="READ=$1"
    drop_caches
    mount_volume "$LOOP" mnt -o readahead=off
    # The first OPEN, FLUSH and the folder's name are paid for here.
    cat mnt/dir/100 >/dev/null
    [ "$how" = known ] || expected="LOOKUP=$files $expected"
    [[ $how != @(python|head) || $asks = 0 ]] || expected="IOCTL=$files $expected"
    python3 "$DATASETFS_SOURCE/tests/fuse/counters.py" mnt "${LOOP#/dev/}" "$how" "${@:3}" >cost.json ||
        fail "cannot measure"
    say "$files files, $how: $(cat cost.json)"
    assert_eq "requests for $files files ($how)" "$(json requests cost.json)" "$expected"
    unmount mnt
}

# device COUNT [MOST]: reads of the last cost(), by the daemon's count and by the kernel's, which may split them
device() {
    local reads
    assert_eq "device reads, counted by the daemon" "$(json device_reads cost.json)" "$1"
    reads=$(json device cost.json)
    [ "$reads" -ge "$1" ] && [ "$reads" -le "${2:-$1}" ] ||
        fail "device reads, counted by the kernel: found $reads, expected $1 to ${2:-$1}"
}

# A request to the device of more than that is split below us, of fewer pages when they do not lie together in memory.
limit=$(($(cat "/sys/block/${LOOP#/dev/}/queue/max_sectors_kb") * 1024))
pages=$(($(cat "/sys/block/${LOOP#/dev/}/queue/max_segments") * 4096))
[ $pages -ge $limit ] || limit=$pages

for how in known unknown python head; do
    cost 99 $how dir/{101..199}
    device 99
    cost 1 $how middle
    device 1
    cost 1 $how mebibyte
    device 1 $(((1048576 + limit - 1) / limit))
    cost 1 $how tiny
    device 0
done
