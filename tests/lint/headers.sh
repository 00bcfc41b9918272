#!/bin/bash
# SPDX-License-Identifier: MIT
# Installed headers: all of include/datasetfs, each compiles alone, what they define begins with dsfs, the page's
# example works.
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

sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' man/ioctl_datasetfs.2 | sed '/^\./d; s/\\-/-/g; s/\\e/\\/g' >"$scratch/example.c"
grep -q DSFS_IOC_SWITCH "$scratch/example.c" || fail "ioctl_datasetfs(2) has no example"
cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Iinclude "$scratch/example.c" || {
    echo "the example of ioctl_datasetfs(2) does not compile"
    failed=1
}
[ $failed = 0 ] || fail "see above"
