#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# The manual pages of libdatasetfs: each call has one, with the prototype of the header; their examples compile without
# a warning, run, and print what the page says.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command cc man
header=$DATASETFS_SOURCE/include/datasetfs/datasetfs.h
lib=$DATASETFS_BUILD/src/lib

mkdir -p tree/cat tree/dog
echo a cat >tree/cat/1.txt
echo another cat >tree/cat/2.txt
echo a dog >tree/dog/1.txt
head -c 300000 /dev/zero | tr '\0' x >tree/dog/2.txt
pack train.dsfs tree --label v1 --compress none

# block PAGE NUMBER: the N-th block of literal lines behind EXAMPLES, as a reader sees it
block() {
    sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$1" | awk -v wanted="$2" '
        /^\.EX/ { count++; inside = 1; next }
        /^\.EE/ { inside = 0 }
        inside && count == wanted' | sed 's/\\-/-/g; s/\\e/\\/g'
}

pages=0
for page in "$DATASETFS_SOURCE"/man/libdatasetfs.3 "$DATASETFS_SOURCE"/man/dsfs_*.3; do
    name=$(basename "$page" .3)
    block "$page" 1 >"$name.c"
    block "$page" 2 >"$name.said"
    grep -q 'int main(' "$name.c" || fail "$name(3) has no example"
    cc -std=gnu11 -Wall -Wextra -Wshadow -Werror -I"$DATASETFS_SOURCE/include" "$name.c" -o example -L"$lib" \
        -Wl,-rpath,"$lib" -ldatasetfs || fail "the example of $name(3)"
    command=$(sed -n '1s/^\$ //p' "$name.said")
    sed -i 1d "$name.said"
    [ -n "$command" ] && [ -s "$name.said" ] || fail "$name(3) does not say what its example prints"
    eval "$command" >"$name.found" || fail "$name(3): $command"
    diff -u "$name.said" "$name.found" || fail "$name(3): the example prints something else"
    pages=$((pages + 1))
done
assert_eq "pages" $pages 7
say "examples"

# Every call is in the NAME and the SYNOPSIS of one page, as the header has it, and is installed under its name.
# squeeze: without line ends, comments, font changes and needless blanks
squeeze() {
    tr '\n\t' '  ' | sed -E 's/ +/ /g; s/\( /(/g; s/ \)/)/g'
}
call='(const char \*|int |ssize_t |u?int64_t |void )dsfs_[a-z_]+\(([^()]|\([^()]*\))*\);'
sed -E 's,/\*[^*]*\*/,,g' "$header" | squeeze | grep -oE "$call" | sort -u >declared
for page in "$DATASETFS_SOURCE"/man/dsfs_*.3; do
    MANWIDTH=200 man -l "$page" 2>/dev/null | col -b | sed -n '/^SYNOPSIS/,/^DESCRIPTION/p' | squeeze |
        grep -oE "$call"
done | sort -u >described
[ "$(wc -l <declared)" -ge 26 ] || fail "only $(wc -l <declared) calls found in the header"
diff -u declared described || fail "header and pages disagree"
sed -E 's/.*\b(dsfs_[a-z_]+)\(.*/\1/' described | sort >calls
for page in "$DATASETFS_SOURCE"/man/dsfs_*.3; do
    sed -n '/^\.SH NAME/{n;p}' "$page" | sed 's/ \\-.*//' | tr -d ' ' | tr ',' '\n'
done | sort >named
diff -u calls named || fail "the pages' NAME has other calls than the header"
DESTDIR=$PWD/installed meson install -C "$DATASETFS_BUILD" --no-rebuild --quiet >install.log 2>&1 ||
    { cat install.log; fail "meson install"; }
while read -r name; do
    page=$(find installed -name "$name.3")
    [ -e "$page" ] || fail "no page under the name of $name"
    assert_contains "man $name" "$(man -l "$page" 2>/dev/null | col -b)" "$name"
done <calls
say "header, pages and installed names"
