#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# contrib/packaging/debian agrees with the tree, so that deb.sh, which takes minutes, builds what it says: each file is
# in one package, each name of the library has its line, and each library to build with is a build dependency. What
# postinst does is in fuse/upgrade.sh.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
debian=$DATASETFS_SOURCE/contrib/packaging/debian

python3 - "$DATASETFS_BUILD/root" "$debian" <<'END_PYTHON' || fail "see above"
import pathlib, re, sys
root, debian = map(pathlib.Path, sys.argv[1:])
patterns = []
for listing in [*debian.glob("*.install"), debian / "not-installed"]:
    for line in listing.read_text().splitlines():
        if line and not line.startswith("#"):
            patterns.append((listing.name, re.compile(re.escape(line).replace(r"\*", "[^/]*") + "(/.*)?")))
seen = bad = 0
for path in sorted(root.rglob("*")):
    if path.is_dir() and not path.is_symlink():
        continue
    seen += 1
    name = str(path.relative_to(root))
    found = {listing for listing, pattern in patterns if pattern.fullmatch(name)}
    if len(found) != 1:
        bad += 1
        print(f"{name}: in {' and '.join(sorted(found)) or 'no package'}: expected in one file of {debian.name}/")
print(f"- {seen} files")
sys.exit(seen < 40 or bad > 0)
END_PYTHON

sed -nE 's/^ (dsfs_[a-z_]+)@(\S+) .*/function \1 \2/p' "$debian/libdatasetfs0.symbols" | sort >symbols
grep '^function ' "$DATASETFS_SOURCE/tests/library/abi.list" | sort | diff symbols - ||
    fail "libdatasetfs0.symbols has not the calls of tests/library/abi.list"

# needed: what contrib/packages wants for a build, of which the C library is there in any case
needed() {
    awk '$1 == "build" && $2 ~ /-dev$/ && $2 !~ /^(libc6|dpkg)-dev$/ { print $2 }' "$DATASETFS_SOURCE/contrib/packages"
}
[ "$(needed | wc -l)" -ge 10 ] || fail "contrib/packages names few libraries"
for name in $(needed); do
    sed -n '/^Build-Depends:/,/^$/p' "$debian/control" | grep -qE "^ $name( \(|,)" ||
        fail "debian/control: no '$name' in Build-Depends, which contrib/packages has"
done

assert_fails 2 "unknown option '--out', see 'contrib/packaging/build-deb --help'" \
    "$DATASETFS_SOURCE/contrib/packaging/build-deb" --out
assert_fails 2 "more than OUT" "$DATASETFS_SOURCE/contrib/packaging/build-deb" one two
mkdir tree
printf "project('datasetfs', 'c',\n  version: '1.2.3',\n" >tree/meson.build
changelog=$DATASETFS_SOURCE/contrib/packaging/deb-changelog
printf '# Changelog\n\n## 1.2.3, soon\n\n- Text.\n' >tree/CHANGELOG.md
assert_fails 1 "'## 1.2.3, soon': expected '## RELEASE, YYYY-MM-DD' or '## RELEASE, not released yet'" \
    "$changelog" tree snapshot 0
printf '# Changelog\n\n## 1.2.2, 2026-01-02\n\n- Text.\n' >tree/CHANGELOG.md
assert_fails 1 "CHANGELOG.md begins with release 1.2.2: expected 1.2.3, which meson.build has" \
    "$changelog" tree snapshot 0
printf '# Changelog\n\n## 1.2.3, not released yet\n\n- **New.** `Text`\n  goes on.\n\n## 1.2.2, 2026-01-02\n\nOld.\n' \
    >tree/CHANGELOG.md
assert_eq "debian/changelog" "$("$changelog" tree snapshot 86400)" "datasetfs (1.2.3~snapshot) unstable; urgency=medium

  * New. Text goes on.

 -- The datasetfs authors <datasetfs@datasetfs.invalid>  Fri, 02 Jan 1970 00:00:00 +0000

datasetfs (1.2.2) unstable; urgency=medium

  * Old.

 -- The datasetfs authors <datasetfs@datasetfs.invalid>  Fri, 02 Jan 2026 12:00:00 +0000"
say "debian/changelog"

# A later snapshot sorts above an earlier one, with git and without, and whatever the time zone of the commit.
snapshot=$DATASETFS_SOURCE/contrib/packaging/snapshot
touch -d '2026-03-01 10:00:00 UTC' tree/*
archive=$("$snapshot" tree tree)
assert_eq "without git" "$archive" "git20260301100000.unknown 1772359200"
need_command git
(cd tree && git init -q && git add . && GIT_COMMITTER_DATE='2026-03-01T18:00:01+0800' \
    git -c user.name=n -c user.email=e commit -qm subject)
commit=$("$snapshot" tree tree)
assert_eq "with git" "$commit" "git20260301100001.$(git -C tree log -1 --format=%h) 1772359201"
dpkg --compare-versions "1~${archive% *}" lt "1~${commit% *}" || fail "$archive is not below $commit"
dpkg --compare-versions "1~${commit% *}" lt 1 || fail "$commit is not below the release"
echo more >>tree/CHANGELOG.md
assert_contains "uncommitted" "$("$snapshot" tree tree)" "${commit% *}.changed "
say "$archive < $commit"
