#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once timeout=1800
# 'meson dist' makes a release archive with everything that the commit has. With --all it is unpacked where there is no
# git, built, and passes quick tests.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command meson git
git -C "$DATASETFS_SOURCE" rev-parse HEAD >/dev/null 2>&1 && [ -e "$DATASETFS_SOURCE/.git" ] ||
    skip "no git checkout, from which an archive would be made"

release=$(sed -nE "s/^  version: '([^']+)',$/\1/p" "$DATASETFS_SOURCE/meson.build")
meson setup build "$DATASETFS_SOURCE" -Dtests=false >setup.log 2>&1 || fail "meson setup: $(tail -n 3 setup.log)"
meson dist -C build --no-tests --allow-dirty --formats xztar >dist.log 2>&1 || fail "meson dist: $(tail -n 3 dist.log)"
archive=build/meson-dist/datasetfs-$release.tar.xz
assert_eq "its sum" "$(cd build/meson-dist && sha256sum -c "${archive##*/}.sha256sum")" "${archive##*/}: OK"
tar -tJf "$archive" | grep -v '/$' | sed "s,^datasetfs-$release/,," | sort >in.archive
git -C "$DATASETFS_SOURCE" -c core.quotePath=off ls-tree -r --name-only HEAD | sort >in.commit
diff in.commit in.archive || fail "the archive has not what the commit has"
[ "$(wc -l <in.archive)" -gt 500 ] || fail "only $(wc -l <in.archive) files in the archive"
say "$(wc -l <in.archive) files"

[ "$DATASETFS_FULL" = 1 ] || exit 0
need_space 2000
tar -xJf "$archive"
cd "datasetfs-$release"
[ ! -e .git ] || fail "the archive has a .git"
# Git that is asked all the same finds a repository of somebody else.
git -C .. init -q
contrib/packaging/deb-changelog . git19700101000000.unknown 0 | head -n 1 | grep -qE "^datasetfs \(${release}[)~]" ||
    fail "deb-changelog"
tests/run --quick --builds "$PWD/build" unit lint/release.sh lint/layers.sh lint/spdx.sh cli/usage.sh cli/verify.sh \
    cli/library-install.sh packaging/debian.sh packaging/python.sh fuse/reads.sh ||
    fail "a quick test in the release archive"
say "built and tested without git"
