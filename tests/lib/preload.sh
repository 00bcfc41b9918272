# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The same program on a mount without and with datasetfs-run; after common.sh.

DATA=$DATASETFS_SOURCE/tests/preload/data.py
# The commands to put in front of a program, each in turn. RUN= in the environment compares the mount with itself.
export DATASETFS_REPORT=$PWD/report
WAYS=("datasetfs-run")
[ "$DATASETFS_FULL" = 0 ] || WAYS+=("datasetfs-run --compat")
[ -z "${RUN+set}" ] || WAYS=("$RUN")
# How many comparisons were made, and the names of those that found a difference.
BOTH=0
DIFFERENT=()

# has PROGRAM: or says that it is left out
has() {
    command -v "$1" >/dev/null || { say "no program '$1', what it does was not compared"; return 1; }
}

# data KIND…: a data set with these parts in ./tree, packed and mounted at ./mnt
data() {
    [ -n "${RUN+set}" ] || need_command datasetfs-run
    /usr/bin/python3 "$DATA" tree outside "$@" || fail "data.py $*"
    touch report
    chmod 666 report # nobody runs programs as well
    pack volume tree --compress zstd
    mount_volume volume mnt ${MOUNT_OPTIONS:+-o "$MOUNT_OPTIONS"}
    MNT=$PWD/mnt
    export MNT
}

# one DIRECTORY COMMAND…: runs it in the empty directory 'here'; what it wrote and said is in DIRECTORY afterwards
one() {
    local result=$1 rc=0
    shift
    mkdir here "$result"
    chmod 777 here
    (cd here && exec "$@") >"$result/out" 2>"$result/err" </dev/null || rc=$?
    echo $rc >"$result/status"
    written here >"$result/files"
    chmod -R u+rwX here
    rm -r here
}

# written DIRECTORY: everything in it with its attributes and bytes. Times after 2020 are those of the writing: data.py
# gives none.
written() {
    (
        cd "$1"
        find . -mindepth 1 -printf '%P %y %m %n %U %G %s %l %TY-%Tm-%Td %T@\n' |
            sed -E 's/ 20(2[1-9]|[3-9][0-9])-[0-9]+-[0-9]+ [0-9.]+$/ now/' | LC_ALL=C sort
        find . -type f -readable -exec sha256sum {} + | LC_ALL=C sort
    )
}

# both NAME COMMAND…: the same output, messages, exit status and written files without and with the library
both() {
    local name=$1 way words
    shift
    BOTH=$((BOTH + 1))
    rm -rf plain
    one plain "$@"
    for way in "${WAYS[@]}"; do
        read -ra words <<<"$way"
        rm -rf with
        one with ${words[@]+"${words[@]}"} "$@"
        same_results || { echo "^ $name, by '$way': $*"; DIFFERENT+=("$name"); }
    done
}

# same_results: of the two runs; false, and shows where they begin to differ
same_results() {
    local part
    for part in status out err files; do
        cmp -s plain/$part with/$part && continue
        echo "--- '$part' without the library, and with it:"
        diff -a plain/$part with/$part | head -n 20 | cut -c 1-300 || true
        return 1
    done
}

# works NAME COMMAND…: both, and the program succeeds and says something, so that something was compared
works() {
    both "$@"
    [ "$(cat plain/status)" = 0 ] || { cat plain/err; fail "'$1' does not work on the mount: ${*:2}"; }
    [ -s plain/out ] || [ -s plain/files ] || fail "$1 says nothing: ${*:2}"
}

# same_programs COUNT: the end of a test: so many comparisons were made, and none found a difference
same_programs() {
    [ $BOTH -ge "$1" ] || fail "only $BOTH comparisons were made"
    [ -n "${RUN+set}" ] || [ "$(served report)" -gt 0 ] || fail "no file was served by the library, says the report"
    [ ${#DIFFERENT[@]} = 0 ] || fail "${#DIFFERENT[@]} of $BOTH differ: ${DIFFERENT[*]}"
    say "$BOTH programs, the same without and with the library${RUN-, which opened $(served report) files}"
}
