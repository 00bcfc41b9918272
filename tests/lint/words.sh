#!/bin/bash
# SPDX-License-Identifier: MIT
# Nothing unfinished, no blanks at line ends, no path or host of the machine it was written on; lines end, and comments
# begin with a subject.
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

# Questions may begin so, and headings of Markdown.
mapfile -t commented < <(printf '%s\n' "${files[@]}" | grep -v '\.md$')
forbid "a comment that begins with What, Who, Whoever, Whose or Those: begin with a noun, as in 'Calls that fail'" \
    '(/\*+|//|#)[[:blank:]]+(What|Who|Whoever|Whose|Those)\b[^?]*$' "${commented[@]}"

# Lines of C, shell, Python, meson and systemd units have at most 120 columns, tabs are 8: two files fit side by side.
python3 - "${files[@]}" <<'END' || failed=1
import re, sys
LIMIT = 120
OURS = r".*\.([ch]|sh|py|mount|service\.in)|(.*/)?meson\.build|contrib/bash-completion/.*"
bad = False
for name in sys.argv[1:]:
    data = open(name, "rb").read()
    if b"\0" in data:
        continue
    if data and not data.endswith(b"\n"):
        print(f"{name}: no newline at the end")
        bad = True
    if not data.startswith(b"#!") and not re.fullmatch(OURS, name):
        continue
    width = max((len(line.expandtabs(8)) for line in data.decode(errors="replace").splitlines()), default=0)
    if width > LIMIT:
        print(f"{name}: a line of {width} columns, the limit is {LIMIT}")
        bad = True
sys.exit(bad)
END
[ $failed = 0 ] || fail "see above"
