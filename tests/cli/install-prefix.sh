#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# The places of installed files: with a prefix of its own nothing lies outside it; for the machine, or where asked for,
# the helpers of mount(8) are in /sbin and the unit is where systemd looks. datasetfs-run finds its library from
# anywhere.
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

# library: where datasetfs-run of the last build looks for its library, relative to its own folder where it can
library() {
    sed -nE 's/.*-DRUN_LIBRARY="([^"]*)\/datasetfs\/libdatasetfs-preload.so".*/\1/p' build/build.ninja | sort -u
}

own=$PWD/own
installed --prefix="$own" --libdir=lib64 >paths
assert_eq "the library" "$(library)" ../lib64
assert_contains "the program" "$(cat paths)" "$own/bin/datasetfs"
assert_eq "unit of the exporter" "$(grep 'exporter\.service$' paths)" \
    "$own/lib/systemd/system/datasetfs-exporter.service"
assert_eq "unit" "$(grep '@\.service$' paths | sort)" "$own/lib/systemd/system/datasetfs-attach@.service
$own/lib/systemd/system/datasetfs-follow@.service
$own/lib/systemd/system/datasetfs@.service"
assert_eq "outside the prefix" "$(grep -v "^$own/" paths || true)" ""
for path in bin/datasetfs-run share/man/man1/datasetfs-run.1 share/bash-completion/completions/datasetfs-run \
    bin/datasetfs-exporter share/man/man8/datasetfs-exporter.8 share/bash-completion/completions/datasetfs-exporter \
    share/datasetfs/prometheus/datasetfs.rules.yml; do
    assert_contains "installed" "$(cat paths)" "$own/$path"
done
say "a prefix of its own"

helpers="/sbin/mount.datasetfs
/sbin/umount.datasetfs
/sbin/umount.fuse.datasetfs"
installed --prefix="$own" -Dmount-helpers=enabled -Dsystemd-units="$PWD/units" >paths
assert_eq "unit, asked for" "$(grep '/datasetfs@\.service$' paths)" "$PWD/units/datasetfs@.service"
assert_eq "helpers, asked for" "$(grep ^/sbin paths)" "$helpers"
say "asked for"

installed --prefix=/usr -Dsystemd-units=no --bindir=a/b --libdir=lib >paths
assert_eq "the library, from deep below" "$(library)" ../../lib
assert_eq "for the machine" "$(grep ^/sbin paths)" "$helpers"
assert_eq "no unit" "$(grep -c '\.service$' paths || true)" 0
installed --prefix=/usr/local -Dmount-helpers=disabled --bindir=/opt/bin --libdir=lib >paths
assert_eq "the library, from outside the prefix" "$(library)" /usr/local/lib
assert_eq "no helpers" "$(grep -c ^/sbin paths || true)" 0
say "for the machine"
