#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# Something else comes in the place of a file or directory while it is packed: one line that says so, no volume, and a
# FIFO or a device is not opened: that lets whoever waits for a reader go on, or does something to the device.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command cc

cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/swap.c" -o swap.so || fail "swap.c does not compile"

# victim KIND: behind 'aaa', which is opened before it
victim() {
    rm -rf source
    mkdir source
    echo before >source/aaa
    case $1 in
    file) echo content >source/victim ;;
    empty) : >source/victim ;;
    sparse) truncate -s 1M source/victim ;;
    large) head -c 5000000 /dev/zero | tr '\0' x >source/victim ;;
    symlink) ln -s aaa source/victim ;;
    directory) mkdir source/victim; echo below >source/victim/below ;;
    esac
}

# spare KIND: what is to come
spare() {
    case $1 in
    fifo) mkfifo spare ;;
    device) mknod spare c 1 5 ;;
    socket) python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("spare")' ;;
    symlink) ln -s aaa spare ;;
    secret) ln -s /etc/passwd spare ;;
    file) echo another >spare ;;
    directory) mkdir spare ;;
    esac
}

# swap WHEN VICTIM KIND LINE [OPTION]
swap() {
    say "$3 for a $2 when $1 is opened"
    victim "$2"
    spare "$3"
    # One reader takes the files in their order. What waits for a FIFO, or reads a device without end, is killed.
    assert_fails 1 "$4" timeout --signal KILL 60 env LD_PRELOAD="$PWD/swap.so" SWAP_WHEN="$1" \
        SWAP_NAME=victim SWAP_PATH=source/victim SWAP_OLD=old SWAP_WITH=spare \
        mkdatasetfs --jobs 1 --progress none "${@:5}" volume source
    [ ! -e volume ] || fail "a volume was left"
    [ -e old ] || [ -L old ] || fail "nothing was swapped"
    rm -r old
}

kinds=(fifo socket symlink file directory)
if mknod spare c 1 5 2>/dev/null; then
    kinds+=(device)
    rm spare
fi
for kind in "${kinds[@]}"; do
    for victim in file empty sparse; do
        swap aaa $victim "$kind" "'victim': changed while being packed"
        swap victim $victim "$kind" "'victim': changed while being packed"
    done
    swap victim large "$kind" "changed while being packed"
    [ "$kind" = symlink ] || swap aaa symlink "$kind" "'victim': changed while being packed"
    # The folder above may be noticed first.
    [ "$kind" = directory ] || swap victim directory "$kind" "changed while being packed"
done
for victim in file symlink; do
    swap victim $victim secret "'victim': it leads to '/etc/passwd', which is not below 'source'" --dereference=source
done
