#!/bin/bash
# SPDX-License-Identifier: MIT
# contrib/HACKING.md names every library that the build needs with the version that it must have at least;
# src/README.md its home.
. "$(dirname "$0")/../lib/common.sh"
cd "$DATASETFS_SOURCE"
failed=0 seen=0

# section FILE TITLE: as one line
section() {
    awk -v title="## $2" '/^## / { inside = $0 == title } inside' "$1" | tr '\n' ' '
}
needs=$(section contrib/HACKING.md Build)
homes=$(section src/README.md Layers)

while read -r name version; do
    seen=$((seen + 1))
    word=${name#lib}
    word=${word/%3/ 3}
    grep -qiE -- "$word${version:+ \($version}" <<<"$needs" || {
        echo "contrib/HACKING.md, Build: no '$word${version:+ ($version}'"
        failed=1
    }
    [ "$name" = meson ] || grep -qiF -- "${word% 3}" <<<"$homes" ||
        { echo "src/README.md, Layers: no '$word'"; failed=1; }
done < <(sed -nE "s/^[a-z_0-9]+ = dependency\('([a-z0-9-]+)'(, version: \[?'>= ([0-9.]+)')?.*/\1 \3/p
    s/^ *meson_version: '>= ([0-9]+\.[0-9]+).*/meson \1/p" meson.build tools/meson.build | grep -v '^threads')
[ $seen -ge 10 ] || fail "only $seen libraries found"
[ $failed = 0 ] || fail "the libraries are not those of the meson.build files"
