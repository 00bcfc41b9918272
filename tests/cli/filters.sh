#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# --include, --exclude, --filter-from: rules in rsync's manner, first match wins; --from-list.
. "$(dirname "$0")/../lib/common.sh"

mkdir -p source/{keep,drop,a/b/c}
for file in top.txt top.jpg keep/1.txt keep/1.jpg keep/1.tmp drop/2.txt a/b/c/3.txt a/b/c/3.tmp a/4.jpg \
    'a/odd [1].txt'; do
    echo "$file" >"source/$file"
done

# paths: what the volume holds, sorted, on one line
paths() {
    datasetfsctl dump --json volume | python3 -c '
import json, sys
paths = sorted(json.loads(line)["path"].strip("/") for line in sys.stdin)
print(" ".join(path.replace(" ", "_") for path in paths if path))'
}

# packed EXPECTED OPTIONS…
packed() {
    pack volume source --format "${@:2}"
    assert_eq "with ${*:2}" "$(paths)" "$1"
}

below_a="a a/4.jpg a/b a/b/c a/b/c/3.tmp a/b/c/3.txt"
from_keep="keep keep/1.jpg keep/1.tmp keep/1.txt top.jpg top.txt"
all="$below_a a/odd_[1].txt drop drop/2.txt $from_keep"
packed "$all"
packed "a a/4.jpg a/b a/b/c a/b/c/3.txt a/odd_[1].txt drop drop/2.txt keep keep/1.jpg keep/1.txt top.jpg top.txt" \
    --exclude '*.tmp'
packed "$below_a a/odd_[1].txt $from_keep" --exclude /drop
packed "$below_a a/odd_[1].txt $from_keep" --exclude drop/
# First match wins, so the order of the options counts.
packed "a a/4.jpg a/b a/b/c drop keep keep/1.jpg keep/1.tmp top.jpg" \
    --include 'keep/1.tmp' --exclude '*.tmp' --exclude '*.txt'
packed "a a/4.jpg a/b a/b/c drop keep keep/1.jpg top.jpg" \
    --exclude '*.tmp' --include 'keep/1.tmp' --exclude '*.txt'
packed "top.jpg top.txt" --exclude '/*/'
packed "a a/4.jpg a/b a/b/c a/odd_[1].txt drop drop/2.txt keep keep/1.jpg keep/1.tmp keep/1.txt top.jpg top.txt" \
    --exclude '/a/**/3.*'
packed "$below_a drop drop/2.txt $from_keep" --exclude 'odd \[1\].txt'
packed "a a/4.jpg a/b a/b/c drop keep keep/1.jpg keep/1.tmp top.jpg" --include '*.jpg' --exclude '[!1].t?*' \
    --exclude '1.txt' --exclude '*.txt'

cat >rules <<'END'
# A comment, then a blank line

+ /keep/1.tmp
- *.tmp
- /drop/
END
packed "a a/4.jpg a/b a/b/c a/b/c/3.txt a/odd_[1].txt keep keep/1.jpg keep/1.tmp keep/1.txt top.jpg top.txt" \
    --filter-from rules
# A file's rules stand where the option stands.
packed "a a/4.jpg a/b a/b/c a/b/c/3.txt a/odd_[1].txt keep keep/1.jpg keep/1.txt top.jpg top.txt" \
    --exclude 1.tmp --filter-from rules
# Lines as editors on Windows end them.
sed 's/$/\r/' rules >rules.crlf
packed "a a/4.jpg a/b a/b/c a/b/c/3.txt a/odd_[1].txt keep keep/1.jpg keep/1.tmp keep/1.txt top.jpg top.txt" \
    --filter-from rules.crlf
echo 'what is this' >bad
before=$(hash_of volume)
rc=0
mkdatasetfs --progress none volume source --filter-from bad 2>bad.err || rc=$?
[ $rc != 0 ] || fail "a bad rule is accepted"
assert_contains "the reason" "$(cat bad.err)" "'what is this'"
assert_eq "the volume" "$(hash_of volume)" "$before"

printf '%s\n' top.txt a/b/c/3.txt keep/1.jpg >list
packed "a a/b a/b/c a/b/c/3.txt keep keep/1.jpg top.txt" --from-list list
printf '%s\r\n' top.txt a/b/c/3.txt keep/1.jpg >list
packed "a a/b a/b/c a/b/c/3.txt keep keep/1.jpg top.txt" --from-list list
# Names with newlines: NULs between the paths, from standard input.
echo odd >$'source/new\nline'
printf 'top.jpg\0new\nline\0' >nul.list
mkdatasetfs --progress none --format volume source --from-list - <nul.list || fail "--from-list -"
assert_eq "files" "$(datasetfsctl list --json volume | json versions.0.files)" 2
echo a/b/missing >list
assert_fails 1 "'a/b/missing'" mkdatasetfs --progress none volume source --from-list list
echo ../outside >list
assert_fails 1 "'..'" mkdatasetfs --progress none volume source --from-list list
