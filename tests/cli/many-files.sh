#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# Memory hardly grows with the number of files: packed within a memory cgroup of 256 MiB, page cache included.
# 100,000 files, 300,000 with --all; LENGTH=3000000 for more, on a disk with 20 GB of room. With --all also an archive
# in random order.
. "$(dirname "$0")/../lib/common.sh"
. "$LIB/clock.sh"
need_root
need_space 3000

files=$(length 100000 300000) limit=$((256 << 20))
[ "$files" -le 300000 ] || need_space 20000

if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
    group=/sys/fs/cgroup/memory/datasetfs-test-$$
    mkdir $group || skip "no right to make a memory cgroup"
    at_exit rmdir $group
    bound=$group/memory.limit_in_bytes
    peak=$group/memory.max_usage_in_bytes
elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    group=/sys/fs/cgroup/datasetfs-test-$$
    mkdir $group || skip "no right to make a memory cgroup"
    at_exit rmdir $group
    bound=$group/memory.max
    peak=$group/memory.peak
else
    skip "no memory cgroups on this machine"
fi
echo $limit >"$bound"
echo "$group" >cgroup.name

# In memory where there is plenty: made and removed in no time, and charged to this shell, not to the packer.
mkdir source
need=$((files / 100 * 55 / 100 + 512)) # MiB
if can_mount && [ "$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)" -gt $((need + 3072)) ]; then
    mount -t tmpfs -o "size=${need}m,nr_inodes=0" none source
    at_exit umount source
fi
begun=$SECONDS
tree many source --files $files
made=$((SECONDS - begun))
drop_caches
begun=$SECONDS
rc=0
later bash -c 'echo $$ >"$1/cgroup.procs" && exec mkdatasetfs --progress none --json volume source' pack "$group" \
    >summary.json 2>err || rc=$?
[ $rc = 0 ] || fail "status $rc within 256 MiB: $(tail -n 3 err)"
packed=$((SECONDS - begun))
assert_eq "files" "$(json files summary.json)" $files
[ ! -e "$peak" ] || say "peak of the cgroup, page cache included: $(($(cat "$peak") >> 20)) MiB"
say "made in $made s, packed in $packed s"
index=$(datasetfsctl list --json volume | json versions.0.index_bytes)
say "index: $((index / files)) bytes a file"
datasetfsctl verify --sample 5% volume >/dev/null || fail "verify"

# The next versions know what the first has, within the same memory.
echo changed >source/000/00000/f00000000
for options in --no-current --trust-mtime; do
    drop_caches
    begun=$SECONDS
    bash -c 'echo $$ >"$1/cgroup.procs" && exec mkdatasetfs --progress none --json "$2" volume source' pack "$group" \
        $options >next.json 2>err || fail "$options within 256 MiB: $(tail -n 3 err)"
    say "with $options in $((SECONDS - begun)) s:" \
        "read $(json read_bytes next.json), written $(json written_bytes next.json)"
    assert_eq "stored with $options" "$(json stored_bytes next.json)" 0
done
[ "$(json unchanged_files next.json)" -ge $((files - 1)) ] ||
    fail "only $(json unchanged_files next.json) unchanged files"

# The rehearsal foretells the temporary files.
mkdatasetfs --dry-run --json --progress none other source >dry.json || fail "--dry-run"
temporary=$(json temporary_bytes dry.json)
[ "$temporary" -gt 0 ] || fail "no temporary bytes are foretold"
! mountpoint -q source || umount source
rm -rf source

# The records of an archive are read from end to end, whatever its order, and not once for each file.
[ "$DATASETFS_FULL" != 0 ] || exit 0
rm -f volume other
echo $((100 << 20)) >"$bound"
python3 - "$group" <<'PYTHON' || fail "an archive in random order within 100 MiB"
import os, random, resource, subprocess, sys, tarfile

FILES = 400000
packer = subprocess.Popen(["bash", "-c", 'echo $$ >"$1/cgroup.procs" && exec mkdatasetfs --progress none random.vol -',
                           "pack", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
numbers = list(range(FILES))
random.Random(1).shuffle(numbers)
for number in numbers:
    entry = tarfile.TarInfo(f"{number // 1000:03}/{number:06}")
    entry.size = 200
    packer.stdin.write(entry.tobuf(tarfile.USTAR_FORMAT) + f"{number:0200}".encode() + bytes(512 - 200))
packer.stdin.write(bytes(1024))
packer.stdin.close()
if packer.wait() != 0:
    sys.exit("the packer failed")
read = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock * 512
print(f"{FILES} files in random order: {read >> 20} MiB read")
sys.exit(read > FILES * 8192 and "more than two pages a file")
PYTHON
datasetfsctl verify random.vol >/dev/null || fail "verify of the archive"
