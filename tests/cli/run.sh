#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke plain once
# datasetfs-run: its options and errors, what the program that it becomes finds in its environment, and which programs
# --report warns of. The library here is a stand-in that does nothing but say that it was loaded.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command cc readelf

unset LD_PRELOAD DATASETFS_RUN DATASETFS_REPORT
# A copy looks for its library from where it lies itself; its complaint says where.
mkdir -p moved/bin
cp "$(command -v datasetfs-run)" moved/bin
run=$PWD/moved/bin/datasetfs-run
assert_fails 125 "no library '$PWD/moved/bin/../" "$run" true
library=$(sed -n "s/.*no library '\(.*\)'.*/\1/p" fails.err)
mkdir -p "$(dirname "$library")"
cat >library.c <<'END'
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void)
{
	setenv("LOADED", "yes", 1);
}
END
cc -shared -fPIC -o "$library" library.c
library=$(realpath "$library")
say "the library is found beside the program"

# environment WORDS…: what the variables are in a program that datasetfs-run starts with these options
environment() {
    "$run" "$@" sh -c 'echo "$LOADED|$LD_PRELOAD|$DATASETFS_RUN|$DATASETFS_REPORT"'
}
assert_eq "without options" "$(environment)" "yes|$library||"
assert_eq "after --" "$(environment --)" "yes|$library||"
assert_eq "--compat" "$(environment --compat)" "yes|$library|compat|"
assert_eq "--report" "$(environment --report)" "yes|$library||stderr"
assert_eq "--report=stderr" "$(environment --report=stderr)" "yes|$library||stderr"
assert_eq "--report=FILE" "$(environment --compat --report=file)" "yes|$library|compat|$PWD/file"
[ -f file ] || fail "the report was not begun"
echo kept >file
environment --report=file >/dev/null
assert_eq "an older report" "$(cat file)" kept
assert_eq "the words of the environment" \
    "$(DATASETFS_RUN=off DATASETFS_REPORT=/dev/null environment)" "yes|$library|off|/dev/null"
say "the environment"

cp "$library" other.so
assert_eq "another LD_PRELOAD" "$(LD_PRELOAD=$PWD/other.so environment)" "yes|$library:$PWD/other.so||"
assert_eq "two others" "$(LD_PRELOAD="$PWD/other.so $PWD/other.so" environment)" \
    "yes|$library:$PWD/other.so $PWD/other.so||"
assert_eq "an empty one" "$(LD_PRELOAD='' environment)" "yes|$library||"
assert_eq "twice" "$("$run" "$run" sh -c 'echo "$LD_PRELOAD"')" "$library"
assert_eq "its own among others" "$(LD_PRELOAD="$PWD/other.so:$library" environment)" "yes|$PWD/other.so:$library||"
for alike in "$library.so" "${library%.so}"; do
    assert_eq "one that begins alike" "$(LD_PRELOAD=$alike environment 2>/dev/null)" "yes|$library:$alike||"
done
say "an LD_PRELOAD that was there"

# The program gets its arguments as they are, and its status and process are those of datasetfs-run.
assert_eq "arguments" "$("$run" printf '%s,' --compat -- --help '' 'a b')" "--compat,--,--help,,a b,"
exits 42 "$run" -- sh -c 'exit 42'
"$run" sh -c 'echo $$' >number &
wait $!
assert_eq "process" "$(cat number)" $!
assert_eq "standard input" "$(echo line | "$run" cat)" line
exits 143 "$run" sh -c 'kill -TERM $$'
say "one exec"

assert_fails 125 "expected a PROGRAM, see 'datasetfs-run --help'" "$run"
assert_fails 125 "expected a PROGRAM" "$run" --compat --
assert_fails 125 "unknown option '--frobnicate'" "$run" --frobnicate true
assert_fails 125 "'--compat' takes no value" "$run" --compat=yes true
assert_fails 125 "'--report': the name of the file is empty" "$run" --report= true
assert_fails 125 "cannot write the report 'missing/file': No such file or directory" "$run" --report=missing/file true
assert_fails 127 "no program 'no-such-program' in PATH" "$run" no-such-program
assert_fails 127 "no program './no-such-program'" "$run" ./no-such-program
assert_fails 126 "cannot run '$PWD': Permission denied" "$run" "$PWD"
echo text >text
assert_fails 126 "cannot run './text': Permission denied" "$run" ./text
printf '#!/no/such/interpreter\n' >script
chmod +x script
assert_fails 127 "cannot run './script': there is no interpreter or loader as it names" "$run" ./script
mkdir "blank here"
cp -r moved/. "blank here"
assert_fails 125 "LD_PRELOAD cannot name it, as blanks and colons end a name there" \
    "blank here/bin/datasetfs-run" true
if [ -e /dev/full ]; then
    rc=0
    "$run" --help >/dev/full 2>full.err || rc=$?
    assert_eq "--help into a full disk" "$rc $(wc -l <full.err)" "125 1"
fi
say "errors"

# warned PROGRAM…: what --report=FILE says of a program on stderr
warned() {
    "$run" --report=file "$@" 2>&1 >/dev/null | sed -n 's/.*datasetfs-run: //p'
}
printf 'int main(void)\n{\n\treturn 0;\n}\n' >program.c
cc -o dynamic program.c
reads="it ignores LD_PRELOAD and reads the mount; no report will come of it"
assert_eq "a dynamic program" "$(warned ./dynamic)" ""
printf '#! %s with words\n' "$PWD/dynamic" >script
assert_eq "a script of it" "$(warned ./script)" ""
if cc -static -o static program.c 2>/dev/null; then
    assert_eq "a static program" "$(warned ./static)" "'./static' is static: $reads"
    cc -static-pie -o pie program.c
    assert_eq "a static program that can lie anywhere" "$(warned ./pie)" "'./pie' is static: $reads"
    printf '#!%s\n' "$PWD/static" >script
    assert_eq "a script of it" "$(warned ./script)" "'$PWD/static' is static: $reads"
    printf '#!%s\n' "$PWD/script" >outer
    chmod +x outer
    assert_eq "a script of a script" "$(warned ./outer)" "'$PWD/static' is static: $reads"
    assert_eq "found by PATH" "$(PATH=/nowhere:$PWD:$PATH warned static)" "'$PWD/static' is static: $reads"
    assert_eq "without --report" "$("$run" ./static 2>&1)" ""
fi
loader=$(readelf -l dynamic | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
cp "$loader" .
cp "$loader" ld-musl.so.1
cc -Wl,--dynamic-linker="$PWD/${loader##*/}" -o same program.c
assert_eq "our loader elsewhere" "$(warned ./same)" ""
cc -Wl,--dynamic-linker="$PWD/ld-musl.so.1" -o foreign program.c
assert_eq "another loader" "$(warned ./foreign)" \
    "'./foreign' is not for glibc: with the library it may not start; no report will come of it"
cp dynamic small
printf '\001' | dd of=small bs=1 seek=4 conv=notrunc status=none
assert_eq "32 bits" "$(warned ./small)" \
    "'./small' has 32 bits: it cannot load the library and reads the mount; no report will come of it"
echo "exit 0" >commands
chmod +x commands
assert_eq "commands for the shell" "$(warned ./commands)" ""
if is_root && ! grep -q nosuid <(findmnt -no OPTIONS --target .); then
    cp dynamic privileged
    chmod u+s privileged
    chmod 755 . moved moved/bin
    chmod 666 file
    assert_eq "set-uid, by its owner" "$(warned ./privileged)" ""
    assert_eq "set-uid" "$(as_user "$run" --report=file ./privileged 2>&1 | sed 's/.*datasetfs-run: //')" \
        "'./privileged' has rights by its file: $reads"
fi
say "programs that cannot load the library"
