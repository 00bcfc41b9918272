#!/bin/bash
# SPDX-License-Identifier: MIT
# Every source begins with its licence and one sentence that says what it owns.
. "$(dirname "$0")/../lib/common.sh"
cd "$DATASETFS_SOURCE"
failed=0 seen=0

while read -r file; do
    case $file in
    *.[ch]) mark='/* SPDX-License-Identifier: MIT */' ;;
    *.sh|*.py|*meson.build|meson_options.txt|tests/run|.ci/run|tests/lib/cleanup|contrib/quickstart|\
    contrib/examples/run|contrib/install-packages|contrib/packaging/build-deb|contrib/packaging/build-rpm|\
    contrib/packaging/copy-tree|contrib/packaging/deb-changelog|contrib/packaging/snapshot|contrib/show-progress|\
    tests/bench/run|tests/bench/chart)
        mark='# SPDX-License-Identifier: MIT' ;;
    *) continue ;;
    esac
    seen=$((seen + 1))
    # An empty meson.build or options file says nothing, and a lone options file needs no licence.
    case $file in *meson.build|meson_options.txt) continue ;; esac
    mapfile -t -n 5 top <"$file"
    [ "${top[0]:-}" = "$mark" ] || [ "${top[1]:-}" = "$mark" ] || { echo "$file: no '$mark' at the top"; failed=1; }
    said=0
    for line in "${top[@]}"; do
        [[ $line == *SPDX* || $line == '#!'* ]] || ! [[ $line =~ ^(/\*|#|\"\"\")\ ?[^\ /] ]] || said=1
    done
    [ $said = 1 ] || { echo "$file: no sentence at the top that says what it owns"; failed=1; }
done < <(project_files)
[ $seen -gt 40 ] || fail "only $seen files looked at"
[ $failed = 0 ] || fail "files without their first lines"
