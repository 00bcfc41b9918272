#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan timeout=240
# libdatasetfs through a mount says and reads what it does past it: for root, for other users, without the directory of
# versions, without openat2(2), while others fork, with few descriptors; damage is EIO where it is and nowhere else.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
chmod 755 .
export PATH=$DATASETFS_BUILD/tests/library:$PATH

# by WAY WHERE PROGRAM ARGUMENT…: to the file WAY.out; root and everybody else have ways of their own
by() {
    WAY=$1 "$3" "$2" "${@:4}" >"$1.out" 2>"$1.err" || { cat "$1.err"; fail "$*"; }
}

# same WHAT PROGRAM ARGUMENT…: through the mount as past it
same() {
    by direct volume "${@:2}"
    by mount mnt "${@:2}"
    sort -o direct.out direct.out
    sort -o mount.out mount.out
    cmp direct.out mount.out || { diff direct.out mount.out | head; fail "$1"; }
    [ -s direct.out ] || fail "$1: nothing is said"
}

tree nasty source >/dev/null
rm source/holes/huge # what takes long to add up
pack volume source --label v1
mount_volume volume mnt
for verb in walk ids versions; do
    same "$verb" library-tree $verb
done
folders=$(cd source && find . -type d ! -empty -links -50 -printf '%P\n' | grep -v '[^a-z0-9/-]' | sed -n 1,20p)
assert_fails 1 "this handle goes through the mount" env WAY=mount "$(command -v library-tree)" mnt placed
for folder in "" $folders; do
    same "list '$folder'" library-tree list "$folder"
    same "range of '$folder'" library-tree range "$folder"
done
(cd source && find . -printf '%P\0%P/\0/%P/../x\0') >paths
for way in direct mount; do
    WAY=$way library-tree "$([ $way = mount ] && echo mnt || echo volume)" lookup <paths >$way.out 2>&1
done
cmp direct.out mount.out || { diff direct.out mount.out | head; fail "lookups"; }
[ "$(wc -l <mount.out)" -gt 500 ] || fail "only $(wc -l <mount.out) lookups"
for verb in sums parts; do
    same "$verb" library-way $verb
done
mkdir small && echo content >small/file
for i in {2..70}; do pack volume small --label v$i; done # more than one answer of the mount has room for
datasetfsctl current volume v40 >/dev/null
same "70 versions" library-tree versions
assert_eq "70 versions" "$(wc -l <mount.out)" 70
unmount mnt
rm volume
say "a tree of all kinds of files"

# Calls that are wrong, and users who lack permission.
mkdir -p small/folder small/closed small/many
echo a file >small/file
echo below >small/folder/file
echo in a closed folder >small/closed/file
echo secret >small/secret
chmod 700 small/closed
chmod 600 small/secret
ln -s file small/link
ln -s loop small/loop
ln -s ../../etc small/out
ln -s /etc/passwd small/absolute
ln -s nowhere small/dangling
ln small/folder/file small/second
for i in {1..300}; do echo "number $i" >small/many/"$i"; done
printf %09000d 7 >>small/many/200 # too long for the index
pack volume small --label v1 --compress none
mount_volume volume mnt
same "errors" library-way errors
mv direct.out errors.root
by direct mnt library-way errors
sort -o direct.out direct.out
cmp errors.root direct.out || { diff errors.root direct.out; fail "errors past the mount"; }
same "a queue" library-way queue
assert_eq "files of the queue" "$(wc -l <mount.out)" 305
WAY=mount library-way mnt threads || fail "threads"
# TSan takes no threads that a child starts, and a child may wait for ever for the lock of ASan's allocator.
if [[ ${DATASETFS_BUILD##*/} != *san ]]; then
    by direct volume library-way sums
    by mount mnt library-way fork
    cmp direct.out mount.out || fail "a child reads something else"
fi
say "errors, threads, forks"

# As somebody else: what he may not see is no part of what he is told.
cp "$DATASETFS_BUILD"/tests/library/library-way .
chmod 644 volume
as_user env WAY=mount ./library-way mnt errors >mount.out || fail "errors as nobody"
as_user env WAY=direct ./library-way volume errors >direct.out || fail "errors past the mount as nobody"
grep -v "pread of\|closed\|secret" direct.out >direct.some
grep -v "pread of\|closed\|secret" mount.out >mount.some
cmp direct.some mount.some || { diff direct.some mount.some; fail "errors as nobody"; }
for line in "'closed/file' lookup: EACCES" "a file of a closed folder: EACCES" "a file that may not be read: EACCES"; do
    grep -qxF "$line" mount.out || fail "no '$line' through the mount: $(cat mount.out)"
    grep -qxF "$line" direct.out || fail "no '$line' past the mount: $(cat direct.out)"
done
! as_user env WAY=mount ./library-way mnt sums >mount.out 2>mount.err || fail "nobody walks into a closed folder"
assert_contains "the reason" "$(cat mount.err)" "EACCES: cannot open 'closed' in the mount"
say "another user"

# Without openat2(2), as in old kernels and in some containers.
cat >filter.c <<'END'
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list list;

	if (number == SYS_openat2) {
		errno = ENOSYS;
		return -1;
	}
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	real = real ? real : (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
END
if cc -D_GNU_SOURCE -shared -fPIC filter.c -o filter.so -ldl; then
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$PWD/filter.so by mount mnt library-way errors
    sort -o mount.out mount.out
    cmp errors.root mount.out || { diff errors.root mount.out; fail "errors without openat2"; }
    by direct volume library-way sums
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$PWD/filter.so by mount mnt library-way sums
    cmp direct.out mount.out || fail "other bytes without openat2"
    say "without openat2"
fi

# With few descriptors.
by direct volume library-way sums
(ulimit -n 12; WAY=mount library-way mnt sums) >mount.out || fail "few descriptors"
cmp direct.out mount.out || { diff direct.out mount.out | head -5; fail "other bytes with few descriptors"; }
say "few descriptors"

assert_eq "a lookup by descriptors that others have" "$(WAY=mount library-way mnt closed)" "lookup: EBADF"

# Options.
digest=$(json digest mnt/.datasetfs/version)
DIGEST=$digest WAY=mount library-way mnt sums >/dev/null || fail "the right digest is refused"
DIGEST=sha256:${digest:7:63}x WAY=mount assert_fails 1 "EINVAL: digest 'sha256:" library-way mnt sums
DIGEST=sha256:$(printf %064d 7) WAY=mount assert_fails 1 "EBADMSG: version 'v1' has the digest sha256:" \
    library-way mnt sums
VERSION=v9 WAY=mount assert_fails 1 "ENOENT: the volume has no version 'v9'" library-way mnt sums
WAY=mount assert_fails 1 "ENOTTY: '$PWD' is not on a datasetfs mount" library-way "$PWD" sums
WAY=mount assert_fails 1 "ENOENT: 'nowhere': No such file or directory" library-way nowhere sums
WAY=mount library-way mnt/many/7 sums | cmp - direct.out || fail "by a path below the mountpoint"
unmount mnt

# Damage is where it is.
by direct volume library-way sums
offset=$(grep -obaF "number 200" volume | head -1 | cut -d : -f 1)
mount_volume volume mnt
spoil volume "$offset"
WAY=mount library-way mnt sums >damaged.out 2>damaged.err || fail "damage ends it: $(cat damaged.err)"
assert_eq "what is damaged" "$(diff direct.out damaged.out | grep '^>')" "> many/200 EIO"
unmount mnt
spoil volume "$offset"
say "damage"

# --- switches ---
echo another >small/file
echo more >small/more
pack volume small --label v2 --no-current

# ask COMMAND: an answer of the session
ask() {
    echo "$*" >&"${session[1]}"
    read -r answer <&"${session[0]}"
}

begin_session() {
    coproc session { WAY=mount library-way mnt session; }
    # shellcheck disable=SC2154
    process=$session_PID
}

end_session() {
    local input=${session[1]}
    exec {input}>&-
    wait "$process" || fail "the session failed"
}

mount_volume volume mnt
begin_session
ask info
assert_contains "info" "$answer" "v1 3 1 DSFS_OPEN_MOUNT"
ask lookup file; file=$answer
ask lookup folder; folder=$answer
ask read "$file"; assert_eq "the file" "$answer" "a file"
datasetfsctl switch mnt v2 >/dev/null
ask read "$file"; assert_eq "the file after a switch" "$answer" "a file"
ask lookup more; assert_contains "a name of the other version" "$answer" ENOENT
ask list; assert_contains "what is listed" "$answer" "file"
assert_eq "the other version's file in it" "$(grep -c more <<<"$answer")" 0
ask refresh; assert_eq "refresh" "$answer" 1
ask refresh; assert_eq "refresh again" "$answer" 0
ask info; assert_contains "info" "$answer" "v2 3 2"
ask read "$file"; assert_contains "an old id" "$answer" "ESTALE id $file is of the version with sequence 1"
ask lookup file; ask read "$answer"; assert_eq "the new file" "$answer" another
end_session
VERSION=v1 WAY=mount library-way mnt sums >mount.out || fail "by its label"
cmp direct.out mount.out || fail "a version by its label is another one"
unmount mnt
say "a switch under a handle that has the version's directory"

mount_volume volume mnt -o noversions
WAY=mount library-way mnt sums >mount.out || fail "noversions"
cmp direct.out mount.out || fail "other bytes with noversions"
WAY=mount library-way mnt errors | sort >mount.out || fail "noversions"
cmp errors.root mount.out || { diff errors.root mount.out; fail "errors with noversions"; }
VERSION=v2 WAY=mount assert_fails 1 "ENOENT: cannot open '.datasetfs/versions/v2' in the mount" library-way mnt sums
begin_session
ask lookup file; file=$answer
ask lookup folder; folder=$answer
ask lookup many/200
datasetfsctl switch mnt v2 >/dev/null
for command in "read $file" "lookup file" "lookup nothing" "lookup /" "list" "list $folder" "stat" "stat $file"; do
    ask "$command"
    assert_contains "'$command' after a switch" "$answer" "ESTALE the mount has left version 'v1' (sequence 1)"
done
ask refresh; assert_eq "refresh" "$answer" 1
ask lookup file; ask read "$answer"; assert_eq "the new file" "$answer" another
end_session
unmount mnt
say "a switch under a handle that has not"
