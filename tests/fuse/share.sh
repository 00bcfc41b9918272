#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain channels timeout=300
# /usr/share: tens of thousands of real files of every kind.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_space $(($(du -sm --apparent-size /usr/share 2>/dev/null | cut -f 1) + 200))

pack volume /usr/share --compress auto
mount_volume volume mnt
compare /usr/share mnt
unmount mnt
datasetfsctl verify --sample 20% volume >verify.log || { cat verify.log; fail "verify"; }
