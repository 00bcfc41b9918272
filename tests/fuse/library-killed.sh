#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=gcc,asan
# Programs that read past a mount whose server is killed: they read on, find the next server at a refresh without
# opening anything anew, follow its switches, and tell it what they read. When the supervisor is killed as well, the
# mount has ended for them.
. "$(dirname "$0")/../lib/common.sh"
. "$LIB/client.sh"
need_fuse
need_command /usr/bin/python3

for version in v1 v2; do
    mkdir -p $version/folder
    for i in {1..40}; do
        { echo "$version $i"; head -c $((i * 700)) /dev/urandom; } >$version/folder/f$i
    done
    pack volume $version --label $version
done
datasetfsctl current volume v1 >/dev/null
all="40 right, 0 failed"
has_clients() { [ "$(stats mnt clients)" = "$1" ]; }

# mapped CLIENT: where the program has the index, and its address; not the page of the server, which another replaces
mapped() {
    local process=CLIENT_$1
    grep -F /memfd: "/proc/${!process}/maps" | grep -vF datasetfs-state
}

say "a server is killed under clients"
mount_volume volume mnt
client past
client through
told past "open mnt direct" "direct v1"
told through "open mnt mount" "mount v1 DSFS_OPEN_MOUNT asks for the mount"
told past "compare v1" "$all"
index=$(mapped past)
[ -n "$index" ] || fail "no index is mapped"
kill_server mnt
# Daemons that start beside this test look whether the socket is dead, and are connected for a moment.
wait_for 20 has_clients 0 || fail "clients of the next one: $(stats mnt clients)"
told past "compare v1" "$all"
told through "compare v1" "$all"
for name in past through; do told $name refresh 0; done
wait_for 10 has_clients 1 || fail "clients: $(stats mnt clients)"
told past info "direct v1"
assert_eq "what is mapped" "$(mapped past)" "$index"
told past refresh 0
assert_eq "what was handed over" "$(stats mnt client_opened)" 1
told past "compare v1" "$all"

say "by two servers at once, and in a child"
kill_server mnt
kill_server mnt
told past "forked refresh" 0
told past "forked compare v1" "$all"
told past refresh 0
told past "compare v1" "$all"
assert_eq "what is mapped" "$(mapped past)" "$index"

say "what was read is told to the last one"
assert_eq "before" "$(stats mnt client_files)" 0
told past close closed
files_told() { [ "$(stats mnt client_files)" = 160 ]; }
wait_for 10 files_told || fail "files: $(stats mnt client_files), expected 4 times 40"
assert_eq "failures" "$(stats mnt client_read_failures)" 0

say "switches"
told past "open mnt direct" "direct v1"
kill_server mnt
datasetfsctl switch mnt v2 >/dev/null
for name in past through; do
    told $name refresh 1
    told $name "compare v2" "$all"
    told $name refresh 0
done
told past info "direct v2"
datasetfsctl switch mnt v1 >/dev/null
kill_server mnt
for name in past through; do
    told $name refresh 1
    told $name "compare v1" "$all"
    told $name refresh 0
done
told past "open mnt direct v2" "direct v2"
kill_server mnt
told past refresh 0
told past "compare v2" "$all"
told past "open mnt direct" "direct v1"

say "who does not see the next server's socket goes through the mount"
path=$(json socket mnt/.datasetfs/client)
mv "$path" "$path.away"
kill_server mnt
told past "compare v1" "$all"
told_part past refresh "ENOENT '$PWD/mnt': no daemon of the mount at '$path'"
told past "compare v1" "$all"
told past "open mnt" "mount v1 no daemon of the mount at '$path': No such file or directory"
mv "$path.away" "$path"
told past "open mnt" "direct v1"
mv "$path" "$path.away"
kill_server mnt
told past refresh 0
told past info "mount v1 no daemon of the mount at '$path': No such file or directory"
told past "compare v1" "$all"
mv "$path.away" "$path"
told past "open mnt direct" "direct v1"

say "under readers"
told past "readers 4 v1=v1 v2=v2" reading
told through "readers 4 v1=v1 v2=v2" reading
for version in v2 v1 v2 v1; do
    kill_server mnt
    told past refresh 0
    ask past refresh
    kill_server mnt
    answer past 60
    assert_eq "a refresh in the moment of a kill" "$ANSWER" 0
    datasetfsctl switch mnt $version >/dev/null &
    switching=$!
    kill_server mnt
    wait $switching || fail "no switch: $(cat daemon.log)"
    for name in past through; do
        told $name refresh 1
        told_part $name info " $version "
    done
done
for name in past through; do
    tell $name stop
    [[ $ANSWER =~ ^([0-9]+)\ right,\ 0\ failed ]] || fail "readers of $name: $ANSWER"
    [ "${BASH_REMATCH[1]}" -gt 0 ] || fail "the readers of $name read nothing"
done

# reached WORD: the program says so
reached() {
    local line
    IFS= read -r line <&"${program[0]}" && [ "$line" = "$1" ] ||
        fail "the program does not get to '$1': $(cat program.err)"
}

# program WORD: it goes on, and gets there
program() {
    echo >&"${program[1]}"
    reached "$1"
}

say "Python"
cat >package.py <<'END'
import os
import sys
import datasetfs

readers = [datasetfs.Reader("mnt", way=way) for way in ("direct", "mount")]
data = datasetfs.DataSet("mnt")


def check(folder):
    with open(f"{folder}/folder/f1", "rb") as file:
        expected = file.read()
    found = [reader.read("folder/f1") for reader in readers] + [datasetfs.read("mnt/folder/f1")]
    assert found == [expected] * 3
    assert expected in list(data)


def check_in_child(folder):
    child = os.fork()
    if child == 0:
        check(folder)
        assert [reader.refresh() for reader in readers] == [False, False]
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


for folder, changed in (("v1", False), ("v2", True), ("v1", True)):
    print("next", flush=True)
    sys.stdin.readline()
    assert [reader.refresh() for reader in readers] == [changed, changed]
    data.refresh()
    check(folder)
    assert [reader.refresh() for reader in readers] == [False, False]
    print("killed", flush=True)
    sys.stdin.readline()
    check(folder)
    check_in_child(folder)
END
# A sanitizer wants to be the first in a program itself, which Python and unchanged programs do not have.
if [ "$DATASETFS_BUILD_NAME" = gcc ]; then
    datasetfsctl switch mnt v1 >/dev/null
    coproc program {
        PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python exec /usr/bin/python3 package.py 2>program.err
    }
    process=$!
    for version in v1 v2 v1; do
        reached next
        kill_server mnt
        datasetfsctl switch mnt $version >/dev/null
        kill_server mnt
        program killed
        kill_server mnt
        echo >&"${program[1]}"
    done
    wait $process || fail "the package: $(cat program.err)"
fi

say "files of a program that nobody changed"
cat >program.py <<'END'
import os
import sys


def wait(word):
    print(word, flush=True)
    sys.stdin.readline()


def same(file, name, folder="v1"):
    with open(f"{folder}/{name}", "rb") as other:
        found = os.pread(file, 1 << 20, 0)
        assert found == other.read(), f"{name}: {len(found)} bytes"


def opened(name):
    return os.open(f"mnt/{name}", os.O_RDONLY)


def in_child(names, folder="v1"):
    child = os.fork()
    if child == 0:
        for name in names:
            file = opened(name)
            same(file, name, folder)
            os.close(file)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


names = [f"folder/f{i}" for i in range(1, 41)]
files = {name: opened(name) for name in names[:10]}
device = os.fstat(files[names[0]]).st_dev
wait("open")
for name, file in files.items():
    same(file, name)
for name in names[10:20]:
    files[name] = opened(name)
    same(files[name], name)
wait("again")
# A child gets files of the mount, not copies of what was read.
in_child(names)
for name, file in files.items():
    assert os.fstat(file).st_dev == device
    assert os.readlink(f"/proc/self/fd/{file}") == f"{os.getcwd()}/mnt/{name}"
    same(file, name)
wait("forked")
late = opened(names[30])
same(late, names[30], "v2")
in_child(names, "v2")
wait("switched")
for name, file in files.items():
    same(file, name)
placeholder = opened(names[0]) if sys.argv[1] == "direct" else None
wait("last")
for name, file in files.items():
    try:
        same(file, name)
    except OSError as error:
        assert error.errno == 107
for name in names:
    try:
        os.close(opened(name))
    except OSError as error:
        assert error.errno == 107
if placeholder is not None:
    same(placeholder, names[0], "v2")
END
datasetfsctl switch mnt v1 >/dev/null
for name in past through; do end_client $name; done
ways=(direct)
command -v datasetfs-run >/dev/null && [ "$DATASETFS_BUILD_NAME" = gcc ] || ways=()
for way in "${ways[@]}"; do
    coproc program { exec datasetfs-run --report="$PWD/report" /usr/bin/python3 program.py $way 2>program.err; }
    process=$!
    reached open
    kill_server mnt
    program again
    kill_server mnt
    program forked
    kill_server mnt
    datasetfsctl switch mnt v2 >/dev/null
    kill_server mnt
    program switched
    program last
done

say "both processes are killed"
client last
told last "open mnt direct" "direct $(json label mnt/.datasetfs/version)"
version=$(json label mnt/.datasetfs/version)
kill_daemon mnt
told last "compare $version" "$all"
told_part last refresh "ENOTCONN the daemon of the mount '$PWD/mnt' has ended: unmount it and mount it again"
told last "compare $version" "$all"
for way in "${ways[@]}"; do
    echo >&"${program[1]}"
    wait $process || fail "the program: $(cat program.err)"
    [ "$(served report)" -gt 0 ] || fail "no file was served by the library, says the report"
done
umount --lazy mnt
end_client last
