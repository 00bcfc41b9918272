#!/bin/bash
# SPDX-License-Identifier: MIT
# The line of each test for tests/run: tests/README.md explains every word, every place of in= is one where the test
# can run, and every test but those with in=none runs somewhere by default. A smoke test needs no program of tests/.
. "$(dirname "$0")/../lib/common.sh"
tests=$DATASETFS_SOURCE/tests

mapfile -t known < <(sed -nE 's/^\| `([a-z]+)(=[^`]*)?` \|.*/\1/p' "$tests/README.md")
[ ${#known[@]} -ge 10 ] || fail "only ${#known[@]} words found in tests/README.md"
"$tests/run" --list >default
"$tests/run" --list --all >all

seen=0
: >none
while IFS=: read -r path _ line; do
    name=${path#"$tests/"}
    read -ra words <<<"$line"
    [[ " ${words[*]} " != *" smoke "* ]] || ! sed -E '/^enough_for_smoke$|BUILD_NAME" = gcc \] \|\| exit 0$/q' "$path" |
        grep -E 'DATASETFS_BUILD"?/tests/|slow_device|faults\.sh' ||
        fail "$name: the build of tests/run --smoke has no programs of tests/"
    for word in "${words[@]}"; do
        [[ " ${known[*]} " == *" ${word%%=*} "* ]] || fail "$name: tests/README.md does not know the word '$word'"
        [[ $word == in=* ]] || continue
        [ "$word" != in=none ] || { echo "$name" >>none; continue; }
        for place in $(tr , ' ' <<<"${word#in=}"); do
            title="${place%:*} $name"
            [[ $place != *:* ]] || title+=" (${place#*:})"
            grep -qxF "$title" default || fail "$name: it cannot run in '$place'"
            seen=$((seen + 1))
        done
    done
done < <(grep -H '^# tests/run: ' "$tests"/*/*.sh "$tests"/*/*.py)
assert_eq "tests with the word smoke" "$("$tests/run" --list --smoke | wc -l)" \
    "$(grep -lE '^# tests/run: (.* )?smoke( |$)' "$tests"/*/*.sh "$tests"/*/*.py | wc -l)"
[ $seen -ge 20 ] || fail "only $seen places found"
cut -d ' ' -f 2 default | sort -u >run
cut -d ' ' -f 2 all | sort -u | comm -23 - run >left
diff <(sort -u none) left || fail "not what runs with --all only"
say "$(wc -l <default) runs, $(wc -l <all) with --all"
