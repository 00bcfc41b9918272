#!/bin/bash
# SPDX-License-Identifier: MIT
# Installed headers: all of include/datasetfs, each compiles alone, what they define begins with dsfs, the page's
# examples compile.
. "$(dirname "$0")/../lib/common.sh"
scratch=$PWD
cd "$DATASETFS_SOURCE"
failed=0

listed=$(grep -oE "include/datasetfs/[a-z_]+\.h" meson.build | sort | uniq)
assert_eq "headers that meson.build installs" "$listed" "$(ls include/datasetfs/*.h)"

compile() { cc -std=gnu11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -x c "$1"; }

for header in include/datasetfs/*.h; do
    printf '#include "%s"\nint main(void) { return 0; }\n' "${header#include/}" >"$scratch/alone.c"
    compile "$scratch/alone.c" || { echo "$header does not compile alone"; failed=1; }
done

# #define NAME, struct NAME {, typedef … NAME;, static inline TYPE NAME(
foreign=$(sed -nE 's/^#define ([A-Za-z_0-9]+).*/\1/p; s/^(typedef )?(struct|union|enum) ([a-z_0-9]+) \{.*/\3/p
    s/^\} ([a-z_0-9]+);.*/\1/p; s/^(static inline )?[a-z_0-9]+ \*?([a-z_0-9]+)\(.*/\2/p' include/datasetfs/*.h |
    grep -vE '^(DSFS_|dsfs_)' || true)
[ -z "$foreign" ] || { echo "names without the prefix: $foreign"; failed=1; }

# Every example between .EX and .EE below EXAMPLES is a program.
for number in 1 2; do
    awk -v n=$number '/^\.SH/ { there = /EXAMPLES/ } /^\.EE/ { on = 0 } on && count == n { print }
        there && /^\.EX/ { on = 1; count++ }' man/ioctl_datasetfs.2 |
        sed 's/\\-/-/g; s/\\e/\\/g' >"$scratch/example.c"
    grep -q DSFS_IOC_ "$scratch/example.c" || fail "ioctl_datasetfs(2) has no example $number"
    cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Iinclude "$scratch/example.c" || {
        echo "example $number of ioctl_datasetfs(2) does not compile"
        failed=1
    }
done
[ $failed = 0 ] || fail "see above"
