#!/bin/bash
# SPDX-License-Identifier: MIT
# The release number stands in meson.build and nowhere else; programs, pages, packages and datasetfs.pc derive it.
. "$(dirname "$0")/../lib/common.sh"
cd "$DATASETFS_SOURCE"

release=$(sed -nE "s/^  version: '([^']+)',$/\1/p" meson.build)
[[ $release =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "meson.build has '$release' as its version: expected N.N.N"

# CHANGELOG.md and the symbols of the library also say what came with which release: they are history.
history='CHANGELOG\.md|contrib/packaging/debian/libdatasetfs0\.symbols'
pattern="(^|[^0-9.])${release//./\\.}([^0-9.]|\.?$|\.[^0-9])"
places=$(project_files | grep -vxE "$history" | tr '\n' '\0' | xargs -0 grep -nIE "$pattern" -- |
    grep -vE "^meson.build:[0-9]+:  version: '") || true
[ -z "$places" ] || fail "the release stands in a second place, where nobody will change it: $places"
assert_eq "the first release in CHANGELOG.md" "$(sed -nE 's/^## ([^,]*),.*/\1/p' CHANGELOG.md | head -n 1)" "$release"
say "one place"

installed=$DATASETFS_BUILD/root
for program in "$installed"/usr/bin/* "$installed"/usr/sbin/*; do
    name=$(basename "$program")
    assert_eq "$name --version" "$("$program" --version | head -n 1)" "$name $release"
done
pc=$(find "$installed" -name datasetfs.pc)
assert_eq "datasetfs.pc" "$(sed -n 's/^Version: //p' "$pc")" "$release"
pages=0
for page in "$installed"/usr/share/man/man?/*; do
    [ ! -L "$page" ] || continue
    pages=$((pages + 1))
    assert_contains "${page##*/}" "$(grep '^\.TH' "$page")" " \"\" \"datasetfs $release\" "
done
[ $pages -ge 10 ] || fail "only $pages manual pages found"
if python3 -c 'import setuptools' 2>/dev/null; then
    found=$(cd contrib/python && DATASETFS_EXTENSION=no python3 setup.py --version)
    assert_eq "the Python package" "$found" "$release"
fi
found=$(contrib/packaging/deb-changelog . snapshot 0 | head -n 1)
[[ $found =~ ^"datasetfs ($release"(~snapshot)?\)\ unstable ]] || fail "debian/changelog begins with '$found'"
say "what derives it"
