#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once timeout=300
# The meaning of paths changes while a program runs: mounts come, go and move, versions are switched, root and user of
# the process become others. Two processes that get the same commands, one with the preloaded library, tell the same;
# so does one that begins then. PRELOAD= compares the mount with itself, CASES='…' runs some of the cases.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command python3
library=${PRELOAD-$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so}
c_program preload/places

# --- the two processes ---

COMPARED=0
DIFFERENT=()
declare -A PID IN OUT ANSWER
ways=("${DATASETFS_RUN:-placeholder}")
[ -n "$library" ] || ways=(compat) # real descriptors as well
[ "$DATASETFS_FULL" = 0 ] || [ -n "${DATASETFS_RUN:-}" ] || ways+=(compat)

# begin [COMMAND…]: the two, in the current directory, by that command
begin() {
    local side in out
    for side in without with; do
        rm -f "$TOP/$side.in" "$TOP/$side.out"
        mkfifo "$TOP/$side.in" "$TOP/$side.out"
    done
    exec "$@" "$TOP/places" <"$TOP/without.in" >"$TOP/without.out" &
    PID[without]=$!
    exec env "${WITH[@]}" "$@" "$TOP/places" <"$TOP/with.in" >"$TOP/with.out" &
    PID[with]=$!
    # Both have begun without these descriptors: the numbers that they get are the same.
    for side in without with; do
        exec {in}>"$TOP/$side.in" {out}<"$TOP/$side.out"
        IN[$side]=$in OUT[$side]=$out
        end_process_at_exit ${PID[$side]}
    done
}

# end: and the report of the one has been written
end() {
    local side in out
    for side in without with; do
        echo quit >&"${IN[$side]}"
        wait "${PID[$side]}" || fail "the process $side the library ended with status $?"
        in=${IN[$side]} out=${OUT[$side]}
        exec {in}>&- {out}<&-
    done
}

# ask SIDE COMMAND: its answer in ANSWER
ask() {
    echo "$2" >&"${IN[$1]}"
    IFS= read -r -t 60 "ANSWER[$1]" <&"${OUT[$1]}" || fail "no answer to '$2' from the process $1 the library"
}

differs() {
    echo "--- line ${BASH_LINENO[1]}, $way: $1"
    printf '    without: %s\n    with:    %s\n' "$2" "$3"
    DIFFERENT+=("$1")
}

# same COMMAND…: the first argument are all words of the first command
same() {
    local command
    for command; do
        ask without "$command"
        ask with "$command"
        COMPARED=$((COMPARED + 1))
        [ "${ANSWER[without]}" = "${ANSWER[with]}" ] || differs "$command" "${ANSWER[without]}" "${ANSWER[with]}"
    done
}

# says TEXT COMMAND: both, and it has this in it
says() {
    same "$2"
    [[ ${ANSWER[without]} == *"$1"* ]] || fail "line ${BASH_LINENO[0]}: '$2' says '${ANSWER[without]}', no '$1'"
}

# open_file NAME PATH served|left: and the library served it, or left it to the mount
open_file() {
    local is=left
    says "" "open $1 $2"
    [[ ${ANSWER[without]} == [0-9]* ]] || fail "line ${BASH_LINENO[0]}: '$2': ${ANSWER[without]}"
    [ "$way" = placeholder ] || return 0
    [[ $(readlink "/proc/${PID[with]}/fd/${ANSWER[with]}") != */proc/self ]] || is=served
    [ "$is" = "$3" ] || fail "line ${BASH_LINENO[0]}: '$2' was $is, expected $3"
}

# new COMMAND…: two processes that begin now
new() {
    local without with
    without=$(printf '%s\n' "$@" | "${BEFORE[@]}" "$TOP/places") || fail "line ${BASH_LINENO[0]}: $without"
    with=$(printf '%s\n' "$@" | env "${WITH[@]}" "${BEFORE[@]}" "$TOP/places") || fail "line ${BASH_LINENO[0]}: $with"
    COMPARED=$((COMPARED + $#))
    [ "$without" = "$with" ] || differs "a new process" \
        "$(comm -23 <(echo "$without") <(echo "$with"))" "$(comm -13 <(echo "$without") <(echo "$with"))"
}
BEFORE=()

# everywhere [ROOT]: all paths of the data set, in the processes that are there and in new ones; ROOT: what they begin
# with instead of the directory of this test
everywhere() {
    local path commands=() paths=(
        mnt/b mnt/a/one mnt/a/deep/two mnt/none mnt/secret mnt/only1 mnt/only2 mnt/onlyother mnt/a mnt
        mnt/a/../b mnt/./a//one mnt//b ./mnt/b mnt/../mnt/b mnt/b/ mnt/b/. mnt/b/x mnt/a/ mnt/a/./deep/../one
        mnt/a/deep/../../b mnt/a/../../mnt/b mnt/none/../b
        mnt/relative mnt/into mnt/out mnt/up mnt/dangling mnt/loop mnt/folder/one mnt/folder/../b mnt/relative/
        mnt/.datasetfs/versions/v1/b mnt/.datasetfs/versions/v2/a/one
        into into/ intofolder/b intofolder/a/../b other/b bound/b boundfolder/one "../${TOP##*/}/mnt/b"
    )
    for path in "${paths[@]}"; do
        commands+=("file . ${1-}$path" "file . ${1-$TOP}/$path")
    done
    commands+=("path ${1-$TOP}/mnt/b" "path ${1-$TOP}/mnt")
    same "${commands[@]}"
    new "${commands[@]}"
}

# --- what is there ---

TOP=$PWD
touch report
for i in 1 2 other; do
    mkdir -p source$i/a/deep source$i/mnt
    echo "b of $i" >source$i/b
    { echo "one of $i" && seq 3000; } >source$i/a/one
    echo "two of $i" >source$i/a/deep/two
    echo "inner b of $i" >source$i/mnt/b # in a folder named as the mountpoint is
    echo "secret of $i" >source$i/secret
    chmod 600 source$i/secret
    echo "only of $i" >source$i/only$i
    ln -s a/one source$i/relative
    ln -s "$TOP/mnt/b" source$i/into
    ln -s "$TOP/outside" source$i/out
    ln -s ../outside source$i/up
    ln -s nowhere source$i/dangling
    ln -s loop source$i/loop
    ln -s a source$i/folder
    find source$i -exec touch -h -d "2020-01-0${i/other/3}" {} +
done
echo outside >outside
ln -s mnt/b into
ln -s "$TOP/mnt" intofolder
pack volume source1 --label v1
pack volume source2 --label v2 --no-current
pack volume2 sourceother --label v1

# serve [MOUNTPOINT [VOLUME [OPTION…]]]: a mount of version v1
serve() {
    mount_volume "${2:-volume}" "${1:-mnt}" "${@:3}"
}

# switched LABEL: the mount is
switched() {
    datasetfsctl switch mnt "$1" >switch.log 2>&1 || { cat switch.log; fail "no switch to $1"; }
}

# --- the cases ---

# Any user can do this.
paths() {
    serve
    [ -n "$(json socket mnt/.datasetfs/client)" ] ||
        skip "nothing can be read past the mount here: $(json reason mnt/.datasetfs/client)"
    begin
    open_file a mnt/b served
    says "b of 1" "read a"
    open_file b "$TOP/mnt/a/one" served
    open_file c mnt/a/../b served
    open_file d mnt/./a//one served
    open_file e mnt/folder/one served
    open_file f mnt/relative served
    open_file g mnt/into left
    says ENOTDIR "open h mnt/b/"
    says ELOOP "open h mnt/loop"
    says ENOENT "open h mnt/dangling"
    says outside "file . mnt/out"
    everywhere
    same "chdir mnt"
    open_file h b served
    same "file . a/one" "file . ./a/../b" "file . ../mnt/b" "file . .." "file . ../outside" "file . none" "chdir a"
    open_file i one served
    open_file j ../b served
    same "file . deep/two" "file . ../../mnt/b" "chdir deep" "file . ../one" "chdir $TOP"
    same "folder k mnt" "folder l mnt/a" "folder m ."
    same "file k b" "file k a/one" "file l one" "file l ../b" "file l ../../outside" "file m mnt/b" "file l /" \
        "file k $TOP/mnt/b" "file a b" "file a ." "file l " "file k ./" "fchdir l" "file . one" "file . ../b"
    # From the root, and by names that the kernel makes.
    same "chdir /"
    open_file n "${TOP#/}/mnt/b" served
    files "/proc/self/root$TOP/mnt/b" "/proc/thread-self/root/$TOP/mnt/a/one"
    same "chdir $TOP/mnt" "file . /proc/self/cwd/b" "file . /proc/self/cwd/../mnt/b" \
        "file . /proc/self/cwd/a/../../outside"
    end
    # A mountpoint whose name the table of mounts writes in another way.
    serve 'odd\name'
    begin
    open_file a 'odd\name/b' served
    files 'odd\name/b' "$TOP/odd\name/a/one" 'odd\134name/b'
    end
    ! is_root || unmount 'odd\name'
    ! is_root || umount mnt
}

versions() {
    serve
    begin
    same "folder a mnt" "folder b mnt/a" "folder c ." "chdir mnt/a/deep"
    open_file d "$TOP/mnt/b" served
    open_file e "$TOP/mnt/a/one" served
    open_file f "$TOP/mnt/only1" served
    open_file g two served
    open_file h "$TOP/mnt/a/one" served
    says "one of" "next h 6"
    switched v2
    # An open file keeps its bytes and is the file of the old version in the mount when it is made real.
    says "b of 1" "read d"
    same "stat d" "map d 6" "stat d" "read d" "dup e i" "stat e" "stat i" "read i"
    says "one of 1" "read e"
    says "' 1'" "next h 100"
    same "map h 5000" "stat h" "next h 10000" "map f 9" "stat f" "stat g" "read g"
    everywhere
    # Directories of the old version, and the root, which is the new one's.
    same "file . two" "file . ../one" "file . ../../b" "file . ../../mnt/b" "file b one" "file b ../b" \
        "file b deep/two" "file a b" "file a a/one" "file c mnt/b"
    open_file j "$TOP/mnt/b" served
    says "b of 2" "read j"
    same "folder k $TOP/mnt/a" "file k one" "file k ../only2" "fchdir k" "file . one" "file . ../only1"
    switched v1
    same "file . one" "file . ../b" "file . ../only2" "file k one" "file k ../b" "file b one" "file b ../b" "file a b" \
        "read j" "map j 6" "stat j"
    everywhere
    end
    unmount mnt
}

# The old version is no longer on the volume: its bytes, or an error that nobody can miss.
removed() {
    mkdatasetfs --progress none --no-current --label v3 volume source2 >pack.log 2>&1 || fail "$(cat pack.log)"
    serve
    switched v3
    begin
    open_file a mnt/b served
    open_file b mnt/a/one served
    open_file c mnt/only2 served
    open_file d mnt/a/deep/two served
    says "two of 2" "read d"
    switched v1
    datasetfsctl remove volume v3 >remove.log 2>&1 || { cat remove.log; fail "not removed"; }
    says "b of 2" "read a"
    says "one of 2" "map b 5000"
    says "only of 2" "map c 9"
    same "read b" "read d" "map d 9" "read d"
    everywhere
    end
    unmount mnt
}


# fill DIRECTORY COUNT: files of 50 KB
fill() {
    local i
    mkdir -p "$1"
    for ((i = 0; i < $2; i++)); do seq -f "$1 %.0f" $((i * 9000)) $((i * 9000 + 5000)) >"$1/f$i"; done
}

# The space of the old version is used again: a file that was open has its bytes, or fails.
overwritten() {
    local i right=0 failed=0 names=({a..t}) expected command
    fill old 40
    fill kept 40
    fill later 60
    rm -f volume3
    pack volume3 old --label v1 --segment-size 1M --compress none
    serve mnt volume3
    begin
    for i in "${!names[@]}"; do open_file "${names[i]}" mnt/f$((2 * i)) served; done
    same "read a"
    pack volume3 kept --label v2 --compress none
    datasetfsctl remove --force volume3 v1 >remove.log 2>&1 || { cat remove.log; fail "not removed"; }
    pack volume3 later --label v3 --compress none
    for i in "${!names[@]}"; do
        ask with "open z old/f$((2 * i))"
        ask with "read z"
        expected=${ANSWER[with]}
        ask with "close z"
        # From memory, and, where that fails, by the mount: then as a second descriptor.
        for command in "read ${names[i]}" "dup ${names[i]} y" "read y" "read ${names[i]}"; do
            ask with "$command"
            case ${ANSWER[with]} in
            "$expected") right=$((right + 1)) ;;
            E*) failed=$((failed + 1)) ;;
            *) [ "${command%% *}" = dup ] || fail "$command: ${ANSWER[with]}, expected $expected" ;;
            esac
        done
        ask with "close y"
    done
    end
    say "of $((right + failed)) reads of overwritten files $right are right, $failed fail"
    [ $failed -gt 20 ] || fail "too few files of the old version were overwritten"
    unmount mnt
}

# files PATH…: what is there, for the processes and for new ones
files() {
    local commands=("${@/#/file . }")
    same "${commands[@]}"
    new "${commands[@]}"
}

# Where relative paths begin moves, whoever moves it.
directories() {
    local i daemon
    mkdir -p lower/mnt
    serve
    daemon=$DAEMON
    serve lower/mnt volume2
    begin
    same "folder a mnt/a" "folder b lower/mnt/a" "folder c mnt" "folder d lower/mnt" "folder e lower" \
        "folder f mnt/a/deep"
    for i in 1 2; do
        same "file a one" "file b one" "file a deep/two" "file b ../b" "file a ../b" "file c b" "file d b" \
            "file e mnt/b"
        same "file a one" "file f two" "file f ../b" "file f ../one" "file a ../b" "file a two" "file c mnt/b"
        same "chdir mnt/a" "file . one" "unseen $TOP/lower/mnt/a" "file . one" "file . ../b" "fchdir c" "file . b"
        same "unseen $TOP/lower/mnt" "file . b" "file . a/one" "fchdir e" "file . mnt/b" "unseen $TOP" "file . mnt/b"
        same "chdir mnt/a/deep" "file . two" "file . ../one" "file . ../../../lower/mnt/b"
        open_file h two served
        open_file i ../one served
        same "chdir ../../../lower" "file . mnt/a/one"
        open_file j mnt/a/one served
        same "unseen $TOP" "map h 9" "stat h" "map i 5000" "stat i" "map j 5000" "stat j" "close h" "close i" "close j"
        switched v2
    done
    says "one of 1" "file a one"
    says "one of 2" "file . mnt/a/one"
    says "one of other" "file b one"
    end
    unmount lower/mnt
    DAEMON=$daemon
    unmount mnt
}

# Directories that were opened before something was mounted over them lead below that.
beneath() {
    mkdir -p under/mnt/a under/up
    echo beneath >under/mnt/b
    begin
    same "folder a under/mnt" "folder b under/mnt/a" "folder c under" "chdir under/mnt"
    serve under/mnt
    open_file d "$TOP/under/mnt/b" served
    says "b of 1" "file . $TOP/under/mnt/b"
    says beneath "file . b"
    says beneath "file a b"
    says "b of 1" "file b ../b"
    says "b of 1" "file c mnt/b"
    same "file . a/one" "file b one" "file . ../mnt/b" "fchdir b" "file . one" "file . ../b" "chdir $TOP"
    # The directory above it is covered, with another mount in the cover.
    same "chdir under" "folder e mnt" "folder f mnt/a"
    mount -t tmpfs none under
    mkdir under/mnt
    files "$TOP/under/mnt/b" mnt/b under/mnt/b
    serve under/mnt volume2
    says "b of 1" "file . mnt/b"
    says "b of 1" "file e b"
    says "one of 1" "file f one"
    says "b of 1" "read d"
    open_file g "$TOP/under/mnt/b" served
    says "b of other" "read g"
    says "b of 1" "map d 6"
    same "file . ../under/mnt/b" "file . mnt/../mnt/b" "file c mnt/a/one" "file a b" "chdir $TOP"
    files under/mnt/b "$TOP/under/mnt/a/one"
    umount -l under/mnt
    same "map g 6"
    umount under
    files under/mnt/b "$TOP/under/mnt/b"
    open_file h under/mnt/b served
    end
    umount under/mnt
}

# A directory that no path leads to any more has a path as well, which means something else.
detached() {
    serve
    mkdir -p apart
    mount -t tmpfs none apart
    mkdir -p "apart$TOP/mnt/a"
    echo detached >"apart$TOP/mnt/b"
    begin
    open_file a "$TOP/mnt/b" served
    same "folder b apart$TOP" "folder c apart$TOP/mnt" "folder d apart$TOP/mnt/a" "folder e apart" "folder f mnt/a" \
        "folder g mnt"
    umount -l apart
    says detached "file b mnt/b"
    says detached "file c b"
    says detached "file d ../b"
    says detached "file e ${TOP#/}/mnt/b"
    same "fchdir b" "file . mnt/b" "fchdir d" "file . one"
    umount -l mnt
    same "file f one" "file f ../b" "file g b" "fchdir f" "file . one" "file . ../b" "read a"
    serve mnt volume2
    same "file f one" "file f ../b" "file g b" "fchdir f" "file . one" "file . ../b" "read a" "file g a/one" \
        "file . $TOP/mnt/b" "map a 6"
    end
    unmount mnt
}

# Something is mounted in the data set, over it, or above it.
covered() {
    local place daemon
    serve
    begin
    open_file a mnt/b served
    open_file b mnt/a/one served
    same "folder c mnt/a" "folder d mnt" "folder e mnt/a/deep"
    for place in mnt/a mnt/a/deep mnt; do
        mount -t tmpfs none $place
        [ $place = mnt/a/deep ] || mkdir -p mnt/a/deep
        echo covered >$place/b
        [ $place = mnt/a/deep ] || echo covered >mnt/a/one
        everywhere
        same "file c one" "file c ../b" "file d b" "file d a/one" "file e two" "file e ../../b" "file e ../one"
        same "fchdir c" "file . one" "file . ../b" "fchdir e" "file . two" "file . ../../b" "chdir $TOP"
        umount $place
        everywhere
        same "file c one" "file e two" "file e ../one"
    done
    daemon=$DAEMON
    serve another volume2
    mount --bind another mnt
    everywhere
    open_file f mnt/b served
    says "b of other" "read f"
    same "close f" "file c one" "file d b" "file e ../../b"
    umount mnt
    unmount another
    DAEMON=$daemon
    everywhere
    mount --bind outside mnt/a/one
    everywhere
    says outside "file . mnt/a/one"
    umount mnt/a/one
    everywhere
    open_file f mnt/a/one served
    open_file g mnt/b served
    says "one of 1" "map b 5000"
    mount --bind mnt/a mnt
    everywhere
    umount mnt
    mount --bind mnt mnt
    everywhere
    umount mnt
    mount --bind mnt mnt/a
    everywhere
    umount mnt/a
    everywhere
    same "map a 6" "stat a" "map f 100" "stat f" "map g 6" "stat g"
    end
    begin
    mount -t tmpfs none mnt/a
    everywhere
    umount mnt/a
    open_file b mnt/a/one served
    end
    unmount mnt
}

# The mount itself, and a part of it, at other places.
bound() {
    serve
    mkdir -p bound boundfolder elsewhere
    begin
    open_file a mnt/b served
    mount --bind mnt bound
    mount --bind mnt/a boundfolder
    everywhere
    open_file b bound/b served
    open_file c boundfolder/one left
    same "folder d bound/a" "file d one" "file d ../b" "folder e boundfolder" "file e one" "file e ../b" \
        "file e deep/two"
    umount -l mnt
    everywhere
    open_file f bound/a/one served
    says "b of 1" "map a 6"
    same "stat a" "read b" "map b 6" "stat b" "stat c" "file d one" "file e one"
    end
    umount boundfolder bound
    # With something mounted in the second place alone, which has the first one's name at its end.
    serve
    mkdir -p second/mnt
    mount --bind mnt second/mnt
    mount -t tmpfs none second/mnt/a
    mkdir second/mnt/a/deep
    echo second >second/mnt/a/one
    begin
    same "folder c second/mnt" "folder d mnt" "folder e second" "folder f mnt/a" "folder g second/mnt/a"
    open_file a mnt/a/one served
    same "file c a/one" "file d a/one" "file e mnt/a/one" "file e mnt/b" "file c b" "file f one" "file g one"
    same "chdir second" "file . mnt/a/one" "chdir mnt" "file . a/one" "file . b" "chdir a" "file . one" "chdir $TOP"
    end
    umount second/mnt/a second/mnt
    unmount mnt
    # Moved, then another mount at the old place.
    serve
    begin
    open_file a mnt/b served
    open_file b mnt/a/one served
    same "folder c mnt/a" "chdir mnt/a"
    mount --move mnt elsewhere || { say "mounts cannot be moved here"; end; unmount mnt; return; }
    same "file . one" "file c one" "file c ../b" "file . ../../mnt/b" "file . ../../elsewhere/b"
    says "b of 1" "map a 6"
    same "stat a" "chdir $TOP"
    everywhere
    files elsewhere/b "$TOP/elsewhere/a/one" mnt/b
    serve mnt volume2
    everywhere
    files elsewhere/b "$TOP/elsewhere/a/one" mnt/b
    same "file c one" "file c ../b" "map b 100" "stat b" "fchdir c" "file . one"
    end
    unmount mnt
    umount elsewhere
}

# A directory above the mountpoint gets another name, and something else has its old one.
renamed() {
    mkdir -p above/one
    serve above/one
    begin
    open_file a above/one/b served
    open_file b above/one/a/one served
    open_file c above/one/only1 served
    same "folder d above" "folder e above/one" "folder f above/one/a" "file . above/one/b"
    mv above beyond
    settled above/one/b beyond/one/b
    files above/one/b beyond/one/b "$TOP/above/one/a/one" "$TOP/beyond/one/a/one"
    same "file d one/b" "file e b" "file f one" "file f ../../one/b" "map a 6" "stat a" "read b"
    mkdir -p above/one/a
    echo another >above/one/b
    settled above/one/b beyond/one/b
    files above/one/b beyond/one/b "$TOP/above/one/a/one" "$TOP/beyond/one/a/one"
    serve above/one volume2
    files above/one/b beyond/one/b "$TOP/above/one/a/one" "$TOP/beyond/one/a/one"
    same "file d one/b" "file e b" "file f one" "file f ../../one/b" "map b 100" "stat b" "read c" "map c 9" "stat c"
    umount -l above/one
    mv above third
    mv beyond above
    settled above/one/b beyond/one/b
    files above/one/b third/one/b "$TOP/above/one/a/one"
    same "file d one/b" "file e b" "file f one" "fchdir f" "file . one" "chdir $TOP"
    end
    umount above/one
    rm -r third
}

# settled PATH…: the kernel does not tell that a directory above a mountpoint changed: the library finds out after some
# milliseconds
settled() {
    local path
    for path; do
        wait_for 10 agree "file . $TOP/$path" || true # what differs then is told by who asks next
    done
}

agree() {
    ask without "$1"
    ask with "$1"
    [ "${ANSWER[without]}" = "${ANSWER[with]}" ]
}

# The mount goes away, or its daemon does.
gone() {
    serve
    begin
    open_file a mnt/b served
    open_file b mnt/a/one served
    open_file c mnt/a/deep/two served
    same "folder d mnt/a" "next b 5"
    umount -l mnt
    says "b of 1" "read a"
    says "f 1" "next b 100"
    everywhere
    same "read b" "stat c" "file d one" "file d ../b" "map c 9" "read c" "next b 100"
    serve mnt volume2
    says "b of 1" "read a"
    same "stat a" "map a 6" "map b 100" "read c" "file d one" "file d ../b"
    everywhere
    open_file e mnt/b served
    says "b of other" "read e"
    end
    umount mnt
    # A placeholder does not keep the mount busy, and the next volume there gets its numbers: that is another file.
    serve
    begin
    ask without "open a /dev/null"
    ask with "open a mnt/b"
    ask with "stat a"
    placeholder=${ANSWER[with]}
    if [ "$way" = placeholder ]; then unmount mnt; else umount -l mnt; fi
    serve mnt volume2
    same "file . mnt/b"
    ask with "map a 6"
    assert_contains "a file of a volume that was there before" "${ANSWER[with]}" "b of 1"
    ask with "read a"
    assert_contains "the same" "${ANSWER[with]}" "b of 1"
    ask without "path mnt/b"
    [[ ${ANSWER[without]} == "${placeholder%% mode*}"* ]] || [ "$way" != placeholder ] ||
        say "the other volume did not get the same numbers: ${ANSWER[without]}, $placeholder"
    end
    unmount mnt
    # Nothing holds it, so that the next one may get its numbers.
    begin
    for volume in volume volume2 volume volume2; do
        serve mnt $volume
        same "file . mnt/b" "file . $TOP/mnt/a/one" "path mnt/a/one"
        open_file a mnt/b served
        same "close a"
        unmount mnt
    done
    end
    serve
    begin
    open_file a mnt/b served
    open_file b mnt/a/one served
    same "folder c mnt/a" "read a"
    kill_daemon mnt || fail "the mount lives"
    # Files that the kernel knows of can be opened, and read as far as they are in memory.
    says ENOTCONN "file . mnt/only1"
    says ENOTCONN "file . $TOP/mnt/a/deep/two"
    same "file . mnt/b" "file . $TOP/mnt/a/one" "file c one" "file . mnt/none" "file . mnt/b/"
    new "file . mnt/b" "file . $TOP/mnt/a/one" "file . mnt/only1" "file . mnt/none"
    same "close a" "close b" "close c"
    umount mnt
    serve mnt volume2
    everywhere
    open_file a mnt/b served
    says "b of other" "read a"
    end
    unmount mnt
}

# jail: a root with the program, the library and the data set
jail() {
    local file
    mkdir -p jail/mnt jail/proc "jail$TOP/mnt"
    echo jailed >"jail$TOP/mnt/b"
    cp places "jail$TOP/"
    for file in $(ldd places "${library:-places}" | grep -o '/[^ :]*') $library; do
        [ ! -f "$file" ] || cp -L --parents "$file" jail
    done
}

roots() {
    local with sockets
    serve
    sockets=$(json socket mnt/.datasetfs/client)
    sockets=${sockets%/*}
    jail
    mkdir -p "jail$sockets"
    mount --bind mnt jail/mnt
    begin
    open_file a mnt/b served
    open_file b mnt/a/one served
    same "folder c mnt/a" "chroot jail"
    says jailed "file . $TOP/mnt/b"
    says "b of 1" "read a"
    same "stat b" "map b 100" "file c one" "file . mnt/b" "file . /mnt/b" "file . /mnt/into"
    same "chdir /" "file . mnt/b" "file . ../mnt/a/one" "file . /mnt/only1"
    end
    # From the beginning: without /proc, with it, and with the daemon's socket.
    for with in nothing proc socket; do
        [ $with != proc ] || mount --bind /proc jail/proc
        [ $with != socket ] || mount --bind "$sockets" "jail$sockets"
        begin chroot jail
        if [ $with = socket ]; then open_file a /mnt/b served; else open_file a /mnt/b left; fi
        BEFORE=(chroot jail)
        everywhere ""
        switched v2
        everywhere ""
        same "read a" "map a 6" "stat a"
        switched v1
        end
    done
    BEFORE=()
    umount "jail$sockets" jail/proc jail/mnt
    unmount mnt
}

# in_each COMMAND…: in the mount namespaces of the two
in_each() {
    local side
    for side in without with; do
        nsenter -t "${PID[$side]}" -m "$@" || fail "$*"
    done
}

namespaces() {
    # In a chroot the root of a namespace is elsewhere.
    awk '$5 == "/" { found = 1 } END { exit !found }' /proc/self/mountinfo ||
        { say "/ is no mount point: no other namespace is entered"; return 0; }
    local other
    mkdir -p plain/a
    echo plain >plain/b
    serve
    begin "$LIB/mount-namespace"
    open_file a "$TOP/mnt/b" served
    open_file b "$TOP/mnt/a/one" served
    in_each mount --bind "$TOP/plain" "$TOP/mnt"
    same "file . mnt/b" "file . $TOP/mnt/b" "read a"
    in_each umount "$TOP/mnt"
    open_file c "$TOP/mnt/b" served
    in_each umount -l "$TOP/mnt"
    same "file . mnt/b" "file . $TOP/mnt/b" "read a" "map b 100" "read b"
    end
    begin
    open_file a mnt/b served
    BEFORE=("$LIB/mount-namespace")
    everywhere
    BEFORE=("$LIB/mount-namespace" sh -c 'umount -l mnt && exec "$@"' sh)
    everywhere
    BEFORE=("$LIB/mount-namespace" sh -c 'mount --bind plain mnt && exec "$@"' sh)
    everywhere
    BEFORE=()
    end
    begin "$LIB/mount-namespace"
    open_file a "$TOP/mnt/b" served
    same "unshare"
    in_each mount --bind "$TOP/plain" "$TOP/mnt"
    same "file . mnt/b" "file . $TOP/mnt/b" "read a" "map a 6" "stat a"
    end
    # Into a namespace where another volume is mounted there.
    [ -p inner.ready ] || mkfifo inner.ready
    "$LIB/mount-namespace" sh -c 'umount -l mnt
        mount --bind plain mnt && echo ready >inner.ready && exec sleep 600' &
    other=$!
    end_process_at_exit $other
    read -r _ <inner.ready
    begin
    open_file a mnt/b served
    open_file b mnt/a/one served
    same "folder c mnt/a" "open n /proc/$other/ns/mnt" "setns n"
    says plain "file . $TOP/mnt/b"
    same "file . mnt/b" "read a" "map a 6" "stat a" "file c one" "file c ../b" "read b"
    end
    kill $other
    wait $other || true
    unmount mnt
}

users() {
    mkdir -p private
    serve private volume -o direct_group=65534
    begin
    open_file a private/secret served
    open_file b private/b served
    open_file c private/secret served
    open_file d private/a/one served
    same "effective 65534"
    says EACCES "file . private/secret"
    says "secret of 1" "read a"
    same "stat a" "map a 12" "read b" "effective 0" "file . private/secret" "user 65534" "file . private/secret"
    same "file . private/b" "read c" "map c 12" "stat c" "map d 100" "stat d"
    end
    BEFORE=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    begin "${BEFORE[@]}"
    open_file a private/b served
    says EACCES "file . private/secret"
    files private/b private/secret private/a/one
    same "close a"
    unmount private
    mkdir -p private/mnt
    serve private/mnt volume -o direct_group=65534
    same "file . $TOP/private/mnt/b"
    chmod 700 private
    settled private/mnt/b
    says EACCES "file . $TOP/private/mnt/b"
    files private/mnt/b "$TOP/private/mnt/a/one"
    chmod 755 private
    settled private/mnt/b
    files private/mnt/b "$TOP/private/mnt/a/one"
    end
    BEFORE=()
    unmount private/mnt
}

cases=(versions removed overwritten directories beneath detached covered bound renamed gone roots namespaces users)
[ -z "${CASES:-}" ] || read -ra cases <<<"$CASES"
for way in "${ways[@]}"; do
    WITH=(${library:+LD_PRELOAD="$library"} "DATASETFS_RUN=$way" "DATASETFS_REPORT=$TOP/report")
    paths
    is_root || break
    for case in "${cases[@]}"; do
        before=$COMPARED
        $case
        say "$way, $case: $((COMPARED - before)) answers, ${#DIFFERENT[@]} differ so far"
    done
done
say "$COMPARED answers, $(served report places) files served"
[ -z "$library" ] || [ -n "${CASES:-}" ] || ! is_root || [ "$(served report places)" -gt 500 ] ||
    fail "only $(served report places) files were served by the library"
[ ${#DIFFERENT[@]} = 0 ] || fail "${#DIFFERENT[@]} answers differ"
