#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: timeout=900
# No shell script gives shellcheck a reason to warn, and every Python file parses.
. "$(dirname "$0")/../lib/common.sh"
need_command shellcheck
cd "$DATASETFS_SOURCE"

scripts=()
pythons=()
while read -r file; do
    case $file in *.py) pythons+=("$file"); continue ;; esac
    # awk, not head: reading the rest keeps the pipe whole
    first=$(awk 'NR == 1 { print; exit }' "$file" | tr -d '\0')
    case $first in
    '#!'*python*) pythons+=("$file") ;;
    '#!'*sh|'# shellcheck shell='*) scripts+=("$file") ;;
    esac
done < <(project_files)
[ ${#scripts[@]} -ge 10 ] || fail "only ${#scripts[@]} scripts found"

# SC1090, SC1091: files sourced by a computed path, so SC2164 does not see their set -e.
shellcheck -x -S warning -e SC1090,SC1091,SC2164 "${scripts[@]}" || fail "shellcheck complains"
python3 -c 'import ast, sys
for name in sys.argv[1:]: ast.parse(open(name, "rb").read(), name)' "${pythons[@]}" || fail "a file is not Python"
say "${#scripts[@]} shell and ${#pythons[@]} python files"
