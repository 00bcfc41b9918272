#!/bin/bash
# SPDX-License-Identifier: MIT
# Nothing unfinished, no blanks at line ends, no path or host of the machine it was written on; lines end.
. "$(dirname "$0")/../lib/common.sh"
cd "$DATASETFS_SOURCE"
failed=0

mapfile -t files < <(project_files | grep -vE '^tests/(fuzz/corpus|fuzz/seeds)/')
[ ${#files[@]} -gt 50 ] || fail "only ${#files[@]} files found"

# forbid WHAT PATTERN FILE…
forbid() {
    if grep -nIE "$2" "${@:3}" | grep -vF 'tests/lint/words.sh:'; then
        echo "^ $1"
        failed=1
    fi
}

forbid "unfinished work" '\b(TODO|FIXME|XXX|HACK)\b' "${files[@]}"
forbid "blanks at the end of a line" '[[:blank:]]+$' "${files[@]}"
forbid "a path of one machine" '(^|[^a-z.])/work/|(^|[ "=(])/(root|home)/[a-z]' "${files[@]}"
forbid "a mirror" '(deb|snapshot|security)\.debian\.org|artifactory|[a-z0-9.-]+\.internal\b' "${files[@]}"

while read -r file; do
    [ -s "$file" ] && ! grep -qP '\x00' "$file" || continue
    [ -z "$(tail -c 1 "$file")" ] || { echo "$file: no newline at the end"; failed=1; }
done < <(printf '%s\n' "${files[@]}")

# Long lines: 110 columns are the aim, tabs are 8; what is longer by much does not fit a reviewer's window.
for file in "${files[@]}"; do
    case $file in
    tests/*.[ch]|*.sh|*.py|tests/run|contrib/quickstart) limit=140 ;;
    *.[ch]) limit=130 ;;
    *) continue ;;
    esac
    width=$(expand -t 8 "$file" | wc -L)
    [ "$width" -le $limit ] || { echo "$file: a line of $width columns, the limit is $limit"; failed=1; }
done
[ $failed = 0 ] || fail "see above"
