#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=240
# A program does more than read files: threads with small stacks, signal handlers, limits, allocators that
# open files. With libdatasetfs-preload.so it does the same, and each process has its line in the report.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root

# tried CASE [NAME=VALUE…]: a case of threads.c without and with the library: it works, and reports
tried() {
    local way rc
    for way in "" "$preload"; do
        : >"$DATASETFS_REPORT"
        env ${way:+"LD_PRELOAD=$way"} "${@:2}" timeout --foreground -s KILL 200 "$program" "$1" || {
            rc=$?
            kill -CONT "$SERVER"
            fail "$1, ${way:+with ${way##*/}}: exit status $rc"
        }
    done
    grep -q "\"program\": \"${program##*/}\"" "$DATASETFS_REPORT" || fail "$1: no report"
}

mkdir source
printf a >source/a
printf b >source/b
printf 'longer name' >source/'longer name'
for i in {3..30}; do printf $i >source/$i; done
head -c 3000000 /dev/urandom >source/large
pack volume source
mount_volume volume mnt
MNT=$PWD/mnt
export MNT SERVER DATASETFS_REPORT=$PWD/report
preload=$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so
c_program preload/threads -rdynamic
c_program preload/names -fno-builtin
cc -shared -fPIC -o allocator.so "$DATASETFS_SOURCE/tests/preload/allocator.c"
cat >begin.c <<'END'
void from_constructor(void);

__attribute__((constructor)) static void begin(void)
{
	from_constructor();
}
END
cc -shared -fPIC -o constructor.so begin.c
program=$PWD/threads

for name in numbers_as_names unshare system_close limit long_list vfork handler exit_in_handler strict small_stack \
    constructor stopped_daemon collector cancel many little_memory no_memory long_path kept; do
    tried $name
    [ $name != numbers_as_names ] || grep -q '"opened": 2, .*"made_real": {}' report ||
        fail "a path in the data set makes a number real: $(cat report)"
    [ $name != vfork ] || grep -q '"opened": 1,' report || fail "the parent of the child is not served: $(cat report)"
done
say "an allocator that opens files"
preload=$preload:$PWD/allocator.so
tried many
tried constructor
tried stopped_daemon
preload=${preload%:*}

say "functions of the program"
LD_PRELOAD=$preload ./names "$MNT/a" >names.out || fail "names ends with $?"
assert_eq "its own functions" "$(cat names.out)" $'a host\nthose who vote'

say "a directory that is mounted over"
mkdir covered
printf 'below the mount' >covered/a
top=$PWD
cd covered
mount_volume "$top/volume" "$top/covered"
at_exit cd "$top"
tried covered
