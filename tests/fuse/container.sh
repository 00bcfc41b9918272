#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# A program in bubblewrap that has the folder above the mountpoint, as contrib/CLUSTER.md says, sees a switch, and the
# mount that is made again after its daemon died.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
need_command bwrap
own_namespace

mkdir -p source above
echo one >source/file
pack volume source --label v1
echo two >source/file
pack volume source --label v2
mount --bind above above
mount --make-shared above
at_exit umount -l above
mount_volume volume above/mnt -o version=v1
mkfifo ask answer
bwrap --ro-bind / / --dev /dev --proc /proc --ro-bind "$PWD/above" "$PWD/above" \
    bash -c 'while read -r path; do cat "$path" 2>&1 || true; echo end; done' <ask >answer &
at_exit kill $!
exec {to}>ask {from}<answer
# sees: what the program in the container reads
sees() {
    local line
    echo "$PWD/above/mnt/file" >&"$to"
    while read -r line <&"$from" && [ "$line" != end ]; do echo "$line"; done
}
assert_eq "v1" "$(sees)" one
datasetfsctl switch above/mnt v2
assert_eq "after the switch" "$(sees)" two
kill_daemon above/mnt
umount -l above/mnt
mount_volume volume above/mnt -o version=v1
assert_eq "after the daemon died" "$(sees)" one
exec {to}>&-
unmount above/mnt
