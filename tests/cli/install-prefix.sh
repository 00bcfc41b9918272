#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# What is installed where: below a prefix of its own nothing lies outside; for the machine, or where asked for, the
# helpers of mount(8) are in /sbin and the unit is where systemd looks.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command meson python3

# installed OPTION…: where a build that is set up like this would install, a path a line.
installed() {
    rm -rf build
    meson setup build "$DATASETFS_SOURCE" -Dtests=false "$@" >setup.log 2>&1 ||
        { cat setup.log >&2; fail "meson setup"; }
    meson introspect --installed build |
        python3 -c 'import json, sys; print(*sorted(json.load(sys.stdin).values()), sep="\n")'
}

own=$PWD/own
installed --prefix="$own" >paths
assert_contains "the program" "$(cat paths)" "$own/bin/datasetfs"
assert_eq "unit" "$(grep '@\.service$' paths)" "$own/lib/systemd/system/datasetfs@.service"
assert_eq "outside the prefix" "$(grep -v "^$own/" paths || true)" ""
say "a prefix of its own"

helpers="/sbin/mount.datasetfs
/sbin/umount.datasetfs
/sbin/umount.fuse.datasetfs"
installed --prefix="$own" -Dmount-helpers=enabled -Dsystemd-units="$PWD/units" >paths
assert_eq "unit, asked for" "$(grep '@\.service$' paths)" "$PWD/units/datasetfs@.service"
assert_eq "helpers, asked for" "$(grep ^/sbin paths)" "$helpers"
say "asked for"

installed --prefix=/usr -Dsystemd-units=no >paths
assert_eq "for the machine" "$(grep ^/sbin paths)" "$helpers"
assert_eq "no unit" "$(grep -c '\.service$' paths || true)" 0
installed --prefix=/usr/local -Dmount-helpers=disabled >paths
assert_eq "no helpers" "$(grep -c ^/sbin paths || true)" 0
say "for the machine"
