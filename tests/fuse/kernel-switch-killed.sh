#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc queue=loops timeout=300
# A switch of a mount that the kernel serves is killed at each of its steps: the mount shows the old version or the new
# one, and the next switch works and leaves one mount, one image and one record. Two switches at once take turns. A
# kernel, or a place, that cannot switch is refused in a line that says what is needed.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
need_kernel_mounts
. "$LIB/steps.sh"

mkdir source1 source2
echo one >source1/file
echo two >source2/file
pack volume source1 --label v1
pack volume source2 --label v2 --no-current
kernel_mount volume

# mounts: how many lie on the mountpoint
mounts() {
    awk -v point="$PWD/theirs" '$5 == point' /proc/self/mountinfo | wc -l
}

# is_clean WHEN
is_clean() {
    assert_eq "mounts $1" "$(mounts)" 1
    assert_eq "records $1" "$(kernel_records | wc -l)" 1
    wait_for 10 kernel_has_images 1 || fail "an image is left $1: $(losetup)"
}

# killed STEP CONTENT [OPTIONS…]: a switch from v1 to v2 ends at the step, and the mount shows CONTENT
killed() {
    local rc=0
    at_step "$1" k
    datasetfsctl switch theirs v2 --if-current v1 "${@:3}" >/dev/null 2>&1 || rc=$?
    passed "$1" || fail "no switch came to $1"
    assert_eq "status of a switch that is killed at $1" $rc 137
    assert_eq "content after $1" "$(cat theirs/file)" "$2"
    datasetfsctl switch theirs v2 >/dev/null || fail "the switch after $1"
    assert_eq "content after the switch after $1" "$(cat theirs/file)" two
    is_clean "after $1"
    datasetfsctl switch theirs v1 --if-current v2 >/dev/null
    assert_eq "content" "$(cat theirs/file)" one
}

for step in kernel-locked kernel-imaged kernel-built kernel-recorded kernel-beneath; do
    killed $step one
done
killed kernel-exchanged two
killed kernel-noted one --prepare
datasetfsctl switch theirs v2 --prepare >/dev/null
killed kernel-taken one
datasetfsctl switch theirs v2 --prepare >/dev/null
killed kernel-exchanged two
is_clean "at the end"
say "each step"

at_step kernel-beneath k
datasetfsctl switch theirs v2 >/dev/null 2>&1 || true
assert_eq "mounts of a switch that was cut off" "$(mounts)" 2
assert_eq "the next one goes on from there" "$(datasetfsctl switch theirs v1 --if-current v2 --json | json label)" v1
assert_eq "content" "$(cat theirs/file)" one
is_clean "after a switch back"
at_step kernel-kept k
mkdir new
at_exit kernel_end new
datasetfs -o kernel volume new 2>/dev/null && fail "a mount went on"
! is_mounted new || fail "a mount that was killed before it is seen"
datasetfs -o kernel volume new 2>/dev/null || fail "no mount after one that was killed"
assert_eq "records" "$(kernel_records | wc -l)" 2
umount new
say "a switch that was cut off between the two mounts, and a mount that was killed"

at_step kernel-imaged s
datasetfsctl switch theirs v2 >/dev/null &
stopped=$!
end_process_at_exit $stopped
wait_for 10 passed kernel-imaged
datasetfsctl switch theirs v1 --if-current v2 >out &
second=$!
end_process_at_exit $second
kill -CONT $stopped
wait $stopped || fail "a switch that was stopped"
wait $second || fail "the switch that waited for it"
assert_eq "content" "$(cat theirs/file)" one
is_clean "after two switches at once"
switch_often() {
    for _ in {1..15}; do datasetfsctl switch theirs "$1" >/dev/null || return 1; done
}
switch_often v1 &
first=$!
switch_often v2 &
second=$!
for _ in {1..15}; do datasetfsctl status theirs >/dev/null || fail "status during a switch"; done
wait $first || fail "a switch beside others"
wait $second || fail "a switch beside others"
datasetfsctl switch theirs v1 >/dev/null
is_clean "after many switches at once"
for verb in list "top --batch 1" status; do
    at_step mount-looked s
    # shellcheck disable=SC2086 # a verb and its options
    datasetfsctl $verb theirs/. >out 2>err &
    stopped=$!
    end_process_at_exit $stopped
    wait_for 10 is_stopped $stopped || fail "'$verb' did not look"
    datasetfsctl switch theirs v2 >/dev/null
    kill -CONT $stopped
    wait $stopped || fail "'$verb' during a switch: $(cat err)"
    datasetfsctl switch theirs v1 >/dev/null
done
at_step kernel-recorded s
datasetfsctl switch theirs v2 2>err >/dev/null &
stopped=$!
end_process_at_exit $stopped
wait_for 10 passed kernel-recorded
umount --lazy theirs # what switches it has it open
kernel_mount volume
kill -CONT $stopped
wait $stopped && fail "it switched another mount than the one that it had found"
assert_contains "the reason" "$(cat err)" "'$PWD/theirs' was unmounted meanwhile"
assert_eq "content of the mount that came meanwhile" "$(cat theirs/file)" one
datasetfsctl switch theirs v2 >/dev/null
is_clean "after a mount between the steps"
# A mount in it would go with it, at each step.
for step in kernel-recorded kernel-beneath; do
    at_step $step s
    datasetfsctl switch theirs v1 2>err >/dev/null &
    stopped=$!
    end_process_at_exit $stopped
    wait_for 10 passed $step
    mount --bind source2/file theirs/file
    kill -CONT $stopped
    wait $stopped && fail "it switched, at $step, although something was mounted in it"
    assert_contains "the reason" "$(cat err)" "'$PWD/theirs/file' is mounted in it, and would go with it"
    umount theirs/file || fail "what was mounted in it, at $step, has gone"
    datasetfsctl switch theirs v1 >/dev/null || fail "the switch after that"
    datasetfsctl switch theirs v2 >/dev/null
    is_clean "after a mount in it, at $step"
done
at_step kernel-beneath s
datasetfsctl switch theirs v1 2>err >/dev/null &
stopped=$!
end_process_at_exit $stopped
wait_for 10 passed kernel-beneath
umount --lazy theirs
kill -CONT $stopped
wait $stopped && fail "it mounted again what was unmounted"
assert_contains "the reason" "$(cat err)" "'$PWD/theirs' was unmounted meanwhile"
! is_mounted theirs || fail "what was unmounted between the steps is mounted again"
assert_eq "records" "$(kernel_records | wc -l)" 1
kernel_mount volume -o version=v2
is_clean "after the end of the mount between the steps"
say "two at once"

if [ -n "${DATASETFS_SANITIZER:-}" ]; then
    say "kernels and places that cannot switch were not tested: a sanitizer lets nothing be preloaded"
    exit 0
fi
cat >kernel.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
/* Knows no ids of mounts that stay unique: Linux before 6.8. */
int statx(int fd, const char *path, int flags, unsigned mask, struct statx *ret)
{
	int (*next)(int, const char *, int, unsigned, struct statx *) =
		(int (*)(int, const char *, int, unsigned, struct statx *))dlsym(RTLD_NEXT, "statx");

	return next(fd, path, flags, getenv("OLD") ? mask & ~0x4000u : mask, ret);
}
/* The table of a machine whose root is an initramfs. */
FILE *fopen64(const char *path, const char *mode)
{
	FILE *(*next)(const char *, const char *) = (FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen64");

	return next(getenv("TABLE") && !strcmp(path, "/proc/self/mountinfo") ? getenv("TABLE") : path, mode);
}
END
cc -shared -fPIC -D_GNU_SOURCE kernel.c -o kernel.so || fail "kernel.c does not compile"
assert_fails 1 "that, and to switch a mount that the kernel serves, needs Linux 6.8" \
    env OLD=1 LD_PRELOAD="$PWD/kernel.so" datasetfsctl switch theirs v1
parent=$(awk -v point="$PWD/theirs" '$5 == point { print $2 }' /proc/self/mountinfo)
awk -v root="$parent" '$1 == root { $2 = $1 } { print }' /proc/self/mountinfo >table
assert_fails 1 "no mount that lies right on the root of its mount namespace, as on an initramfs: it needs" \
    env TABLE="$PWD/table" LD_PRELOAD="$PWD/kernel.so" datasetfsctl switch theirs v1
assert_eq "content" "$(cat theirs/file)" two
is_clean "after refusals"
umount theirs
mkdir -p old
at_exit kernel_end old
env OLD=1 LD_PRELOAD="$PWD/kernel.so" datasetfs -o kernel volume old 2>err || fail "a mount there: $(cat err)"
assert_eq "lines of a mount by an older kernel" "$(wc -l <err)" 1
assert_eq "content" "$(cat old/file)" one
umount old
say "kernels and places that cannot switch"
