#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: timeout=900
# No shell script gives shellcheck a reason to warn, and every Python file parses. shellcheck takes a quarter of
# a minute for all of them, so this build remembers which passed as they are; --all checks every one again.
. "$(dirname "$0")/../lib/common.sh"
need_command shellcheck
cd "$DATASETFS_SOURCE"

scripts=()
sourced=()
pythons=()
while read -r file; do
    case $file in *.py) pythons+=("$file"); continue ;; esac
    # awk, not head: reading the rest keeps the pipe whole
    first=$(awk 'NR == 1 { print; exit }' "$file" | tr -d '\0')
    case $first in
    '#!'*python*) pythons+=("$file") ;;
    '#!'*sh) scripts+=("$file") ;;
    '# shellcheck shell='*) scripts+=("$file") sourced+=("$file") ;;
    esac
done < <(project_files)
[ ${#scripts[@]} -ge 10 ] || fail "only ${#scripts[@]} scripts found"

# SC1090, SC1091: files sourced by a computed path, so SC2164 does not see their set -e. They are not followed:
# common.sh would be parsed again for each of 200 tests, which took five times as long and found nothing more.
check=(shellcheck -S warning -e "SC1090,SC1091,SC2164")
passed=$DATASETFS_BUILD/shellcheck.passed
[ "$DATASETFS_FULL" = 0 ] && [ -e "$passed" ] || : >"$passed"

# state: a line for each script, its sum and its path, behind the sum of all else that the verdict depends on
state() {
    local rest
    rest=$({ echo "${check[*]}"; shellcheck --version; cat "${sourced[@]}"; } | sha256sum)
    sha256sum "${scripts[@]}" | sed "s/^/${rest%% *} /"
}

state >"$DATASETFS_TEST_DIR/state"
mapfile -t changed < <(grep -vxFf "$passed" "$DATASETFS_TEST_DIR/state" | cut -d ' ' -f 4-)
[ ${#changed[@]} = 0 ] ||
    printf '%s\0' "${changed[@]}" | xargs -0 -r -n 8 -P "$(nproc)" "${check[@]}" ||
    fail "shellcheck complains"
cp "$DATASETFS_TEST_DIR/state" "$passed"
python3 -c 'import ast, sys
for name in sys.argv[1:]: ast.parse(open(name, "rb").read(), name)' "${pythons[@]}" || fail "a file is not Python"
say "${#scripts[@]} shell files, ${#changed[@]} of them changed, and ${#pythons[@]} python files"
