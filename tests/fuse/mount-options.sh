#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon
# Mount options that are the kernel's: nosymfollow, labels for SELinux with and without one, and words without effect.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir source mnt
echo hello >source/file
ln -s file source/link
pack volume source --label v1

idle=atime,strictatime,nostrictatime,relatime,dirsync,mand,nomand,seclabel,symfollow
label=system_u:object_r:container_file_t:s0
mount_volume volume mnt -o "$idle,context=\"$label:c1,c2\",noexec"
grep -q "the kernel has no SELinux, ignoring the mount options for it" daemon.log ||
    grep -q selinuxfs /proc/filesystems || fail "no line about SELinux: $(cat daemon.log)"
assert_eq "a link" "$(cat mnt/link)" hello
assert_eq "the option behind the label" "$(json options.exec mnt/.datasetfs/stats.json)" false
unmount mnt
assert_fails 2 "mount option 'context' needs a value" datasetfs -o context=,noexec volume mnt
assert_fails 2 "mount option 'fscontext': 'a\"b' has a quotation mark in it" datasetfs -o 'fscontext=a"b' volume mnt
assert_fails 2 "-o c2\": unknown" datasetfs -o context=x:c1,c2\" volume mnt
if ! is_root; then
    assert_fails 2 "mount option 'nosymfollow': only root may ask for it" datasetfs -o nosymfollow volume mnt
    exit 0
fi

say "nosymfollow"
for kernel in "" ,kernel; do
    if [ -n "$kernel" ]; then
        (need_loop) >/dev/null && can_mount || continue
        datasetfs -o nosymfollow$kernel volume mnt 2>daemon.log || fail "$(cat daemon.log)"
        at_exit umount -q mnt
    else
        mount_volume volume mnt -o nosymfollow
        kill_server mnt
        assert_eq "stats.json" "$(json options.symfollow mnt/.datasetfs/stats.json)" false
    fi
    assert_eq "a file" "$(cat mnt/file)" hello
    assert_fails 1 "Too many levels of symbolic links" cat mnt/link
    assert_eq "the link itself" "$(readlink mnt/link)" file
    grep -F " $PWD/mnt " /proc/self/mountinfo | grep -q nosymfollow || fail "not in the mount table"
    if [ -n "$kernel" ]; then umount mnt; else unmount mnt; fi
done

say "labels, as a kernel with SELinux gets them"
need_mount
c_program lib/selinux_kernel -shared -fPIC -ldl
{ cat /proc/filesystems && printf 'nodev\tselinuxfs\n'; } >filesystems
cat >inside.sh <<'END'
set -e
mount --bind filesystems /proc/filesystems
export SELINUX_DATA=$PWD/data
LD_PRELOAD=$PWD/selinux_kernel \
    datasetfs -o "fscontext=a:b:c,context=\"$1:c1,c2\",rootcontext=r,defcontext=d,noexec" volume mnt
[ "$(cat mnt/file)" = hello ]
python3 -c 'import json; o = json.load(open("mnt/.datasetfs/stats.json"))["options"]
print(*(o[name] for name in ("context", "fscontext", "defcontext", "rootcontext", "exec")))' >options
umount mnt
for words in context=x kernel,context=x; do
    datasetfs -o $words volume mnt 2>>refused && exit 1
done
exit 0
END
"$LIB/mount-namespace" bash inside.sh $label || fail "in a namespace of its own"
assert_contains "what mount(2) gets" "$(cat data)" \
    ",context=\"$label:c1,c2\",fscontext=\"a:b:c\",defcontext=\"d\",rootcontext=\"r\""
assert_eq "stats.json" "$(cat options)" "$label:c1,c2 a:b:c d r False"
grep -q selinuxfs /proc/filesystems && exit 0
assert_eq "refusals of the kernel without SELinux" "$(cat refused)" "\
datasetfs: cannot mount 'volume' on 'mnt': with labels for SELinux: fuse: mount failed: Invalid argument
datasetfs: cannot mount 'volume' on 'mnt': the kernel does not take an option for SELinux: Invalid argument (erofs: \
Unknown parameter 'context')"
