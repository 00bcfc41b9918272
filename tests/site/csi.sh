#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: timeout=900
# datasetfs-csi as the kubelet calls it: each method, again and at the same time; refusals, in one line; paths that
# lead out; dead and silent mounts; a first mount that takes long, or whose pod goes away; a plugin that is killed
# under load.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
[ -e "$DATASETFS_BUILD/tests/csi-call" ] || skip "built without libnghttp2"
need_fuse
need_root
own_machine
. "$LIB/attach.sh"

mkdir source
for i in {1..50}; do echo "file $i" >"source/$i"; done
pack volume source --label v1
echo new >source/new
pack volume source --label v2
V=$PWD/volume
K=$PWD/kubelet
SOCKET=$K/plugins/datasetfs.csi/csi.sock
REGISTRATION=$K/plugins_registry/datasetfs.csi-reg.sock
INLINE=csi-$(printf '%064d' 7)
NAMES=/etc/datasetfs/datasets.conf
own_names

stand_in
PATH=$DATASETFS_BUILD/tests:$PATH

plugin=
is_there() { csi-call "$REGISTRATION" /pluginregistration.Registration/GetInfo >/dev/null 2>&1; }
start() {
    datasetfs-csi --config csi.conf --kubelet "$K" --node worker7 2>>csi.log &
    plugin=$!
    wait_for 20 is_there || fail "the plugin does not begin: $(cat csi.log)"
}
stop() {
    kill "-${1:-TERM}" "$plugin"
    wait "$plugin" || [ -n "${1:-}" ] || fail "the plugin ended with status $?: $(cat csi.log)"
}
TIMES= # a file for how long each call takes
node() { csi-call ${TIMES:+-t "$TIMES"} "$SOCKET" "/csi.v1.Node/$1" "${@:2}"; }
target() { echo "$K/pods/$1/volumes/kubernetes.io~csi/data/mount"; }
# attributes NAME=VALUE…: of a volume, as words of csi-call
attributes() { for pair in "$@"; do printf '%s\n' '8{' "1=${pair%%=*}" "2=${pair#*=}" '}'; done; }
# volume ID POD ATTRIBUTE…: the words of a NodePublishVolumeRequest
volume() {
    local id=$1 pod=$2
    shift 2
    printf '%s\n' "1=$id" "4=$(target "$pod")" '5{' '2{' '}' '3{' '1:1' '}' '}' 6:1
    attributes "$@"
}
# publish POD ATTRIBUTE…: of an inline volume
publish() {
    local words pod=$1
    mkdir -p "$(dirname "$(target "$pod")")"
    mapfile -t words < <(volume "$INLINE" "$pod" csi.storage.k8s.io/ephemeral=true "${@:2}")
    node NodePublishVolume "${words[@]}"
}
# persistent POD ATTRIBUTE…: of a PersistentVolume
persistent() {
    local words pod=$1
    mkdir -p "$(dirname "$(target "$pod")")"
    mapfile -t words < <(volume imagenet "$pod" csi.storage.k8s.io/ephemeral=false "${@:2}")
    node NodePublishVolume "${words[@]}"
}
unpublish() { node NodeUnpublishVolume "1=$INLINE" "2=$(target "$1")"; }
# refused CODE MESSAGE COMMAND…: one line says it
refused() {
    local said
    said=$("${@:3}") && fail "'${*:3}' succeeded"
    [[ $said == "$1 "*"$2"* && $(wc -l <<<"$said") = 1 ]] || fail "'${*:3}' said '$said', expected status $1 and '$2'"
}

say "before it begins"
assert_fails 1 "cannot find the kubelet's root '$K'" datasetfs-csi --config csi.conf --kubelet "$K"
mkdir -p "$K/pods"
for wrong in "dataset x /v" "paths all" paths trust; do
    echo "$wrong" >csi.conf
    assert_fails 1 "'csi.conf', line 1: '${wrong%% *}': expected 'paths inline'" \
        datasetfs-csi --config csi.conf --kubelet "$K"
done
for wrong in "trust signers:'signers' is not an absolute path" "trust /a,b:'/a,b' has a comma" \
    "direct_group 1,suid:'1,suid' has a comma" \
    "revoked /r:'revoked' needs 'trust'"; do
    echo "${wrong%%:*}" >csi.conf
    assert_fails 1 "${wrong#*:}" datasetfs-csi --config csi.conf --kubelet "$K"
done
echo "# nothing" >csi.conf
for wrong in "x" "a/b /v" "x v" "x /v a b"; do
    echo "$wrong" >$NAMES
    assert_fails 1 "'$NAMES', line 1: " datasetfs-csi --config csi.conf --kubelet "$K"
done
printf 'x /v\nx /w\n' >$NAMES
assert_fails 1 "'$NAMES', line 2: data set 'x' is there twice" datasetfs-csi --config csi.conf --kubelet "$K"
for file in csi.conf $NAMES; do
    echo "# nothing" >$file
    chmod 666 $file
    assert_fails 1 "/${file##*/}' has the mode 0666, so others may write it" \
        datasetfs-csi --config csi.conf --kubelet "$K"
    chmod 644 $file
done
cat >$NAMES <<END
# what pods and jobs may have
train $V
old   $V version=v1,readahead=4M
gone  $PWD/nowhere
train-job $V control_group=2000
END
start
assert_fails 1 "another datasetfs-csi answers at" datasetfs-csi --config csi.conf --kubelet "$K"
assert_eq "modes" "$(stat -c %a "$SOCKET" "$REGISTRATION" "$(dirname "$SOCKET")" | xargs)" "700 700 700"

say "who it is"
assert_eq "registration" "$(csi-call "$REGISTRATION" /pluginregistration.Registration/GetInfo)" \
    "0 "$'\n'"1=CSIPlugin"$'\n'"2=datasetfs.csi"$'\n'"3=$SOCKET"$'\n'"4=1.0.0"
csi-call "$REGISTRATION" /pluginregistration.Registration/NotifyRegistrationStatus 1:1 >/dev/null
csi-call "$REGISTRATION" /pluginregistration.Registration/NotifyRegistrationStatus '2=no API server' >/dev/null
grep -q "the kubelet has registered the plugin" csi.log
grep -q "does not register the plugin: no API server" csi.log
assert_contains "name" "$(csi-call "$SOCKET" /csi.v1.Identity/GetPluginInfo)" "1=datasetfs.csi"
assert_eq "capabilities" "$(csi-call "$SOCKET" /csi.v1.Identity/GetPluginCapabilities)" "0 "
assert_contains "probe" "$(csi-call -a "$SOCKET" "$SOCKET" /csi.v1.Identity/Probe)" "1: 1"
assert_contains "node" "$(node NodeGetInfo)" "1=worker7"
assert_eq "stats and condition" "$(node NodeGetCapabilities | grep -o '1: .*' | xargs)" "1: 2 1: 4"

say "one mount for all pods, by whatever they ask for the same version"
publish a dataset=train version=v2
publish b dataset=train
persistent c dataset="$V" version=v2
cmp source/new "$(target a)/new"
cmp source/new "$(target b)/new"
cmp source/new "$(target c)/new"
publish a dataset=train version=v2
assert_eq "daemons started" "$(starts)" 1
assert_eq "mounts on it" "$(grep -c " $(target a) " /proc/self/mountinfo)" 1
assert_eq "consumers" "$(datasetfsctl attached | grep -c "^  '")" 3
publish d dataset=old
[ ! -e "$(target d)/new" ] || fail "version v1 has a file of v2"
condition=$(node NodeGetVolumeStats "1=$INLINE" "2=$(target a)")
assert_contains "condition" "$condition" "2=the data set is served"
assert_contains "inodes" "$condition" "2: $(stat -f -c %c "$(target a)")"
for pod in a b c d; do unpublish $pod; unpublish $pod; done
[ ! -e "$(target a)" ] || fail "the target is still there"
all_is_gone
rm -r "$K/pods/a"
unpublish a
unpublish a

if python3 -c 'import yaml' 2>/dev/null; then
    say "the volumes of contrib/kubernetes"
    page=$DATASETFS_SOURCE/man/datasetfs-csi.8
    name=$(csi-call "$SOCKET" /csi.v1.Identity/GetPluginInfo | sed -n 's/^1=//p')
    python3 "$LIB/csi_objects.py" "$DATASETFS_SOURCE/contrib/kubernetes" "$page" "$name" >objects
    assert_eq "volumes" "$(cut -d' ' -f1 objects | xargs)" "inline persistent inline"
    for path in "$SOCKET" "$REGISTRATION"; do
        sed 's/\\-/-/g' "$page" | grep -xF ".I DIR${path#"$K"}" >/dev/null ||
            fail "the manual page does not have 'DIR${path#"$K"}'"
    done
    while read -r kind line; do
        read -ra words <<<"${line/\/srv\/train.dsfs/$V}"
        if [ "$kind" = inline ]; then publish a "${words[@]}"; else persistent a "${words[@]}"; fi
        cmp source/new "$(target a)/new"
        unpublish a
    done <objects
    all_is_gone
fi

say "refusals: one line each, and no target stays"
refused 3 "unknown attribute 'verison', did you mean 'version'?" publish a dataset=train verison=v1
refused 3 "unknown attribute 'suid', expected dataset" publish a dataset=train suid=1
refused 3 "attribute 'dataset' is missing" publish a version=v1
refused 5 "no data set 'other' on this node; available: train, old, gone, train-job. Ask your" publish a dataset=other
refused 3 "names a volume: expected a data set of '$NAMES', or a PersistentVolume" publish a dataset="$V"
refused 3 "attribute 'version' is empty" publish a dataset=train version=
refused 3 "an option holds a comma" publish a dataset=train version=v1,suid
refused 3 "option 'version' is given twice" publish a dataset=old version=v2
refused 9 "has no version 'v9': choose one that it has, v1, v2" publish a dataset=train version=v9
refused 3 "unknown attribute 'prefetch'" publish a dataset=train prefetch=off
refused 3 "option 'follow=current:1' is for the administrator" publish a dataset=train follow=current:1
refused 9 "has the digest sha256:" publish a dataset=train digest="sha256:$(printf '%064d' 1)"
refused 9 "there is no such file or device" publish a dataset=gone
# An inline volume stays one, whatever its author says of it.
mapfile -t words < <(volume "$INLINE" a csi.storage.k8s.io/ephemeral=false dataset="$V")
refused 3 "names a volume" node NodePublishVolume "${words[@]}"
mapfile -t words < <(volume pv a dataset="$V")
refused 3 "names a volume" node NodePublishVolume "${words[@]}"
mapfile -t words < <(volume pv a dataset=train)
refused 3 "volume_id is missing" node NodePublishVolume "${words[@]:1}"
refused 3 "the target path is missing" node NodePublishVolume "${words[0]}" "${words[@]:2}"
refused 3 "the volume's capability is missing" node NodePublishVolume "${words[@]:0:2}"
refused 3 "mount option 'suid'" node NodePublishVolume "${words[@]}" '5{' '2{' 2=ro 2=suid '}' '}'
refused 3 "a data set is no block device" node NodePublishVolume "${words[@]}" '5{' '1{' '}' '}'
refused 3 "has an attribute twice" node NodePublishVolume "${words[@]}" '8{' 1=dataset 2=old '}'
[ ! -e "$(target a)" ] || fail "the target of a refused volume is still there"
nothing_is_left || fail "left: $(find /run/datasetfs/attach)"

say "nothing that nobody has signed"
echo "alice ssh-ed25519 $(sed -n 's/^#define SIGNED_KEY "\(.*\)".*/\1/p' "$LIB/signed.h")" >/etc/datasetfs/signers
chmod 644 /etc/datasetfs/signers
refused 3 "unknown attribute 'trust'" publish a dataset=train trust=/etc/datasetfs/signers
echo "trust /etc/datasetfs/signers" >csi.conf
refused 9 "version 'v2' is not trusted: it is not signed" publish a dataset=train
refused 9 "version 'v2' is not trusted: it is not signed" persistent a dataset="$V"
refused 9 "version 'v1' is not trusted: it is not signed" publish a dataset=old
echo "# nothing" >csi.conf
nothing_is_left || fail "left: $(find /run/datasetfs/attach)"

say "who may read past the mounts is for the administrator to say"
refused 3 "unknown attribute 'direct_group', expected dataset" publish a dataset=train direct_group=65534
refused 3 "mount option 'direct_group=65534'" node NodePublishVolume 1=pv "4=$(target a)" '5{' '2{' \
    2=direct_group=65534 '}' '}' '8{' 1=dataset 2=train '}'
publish a dataset=train
assert_eq "without" "$(stats "$(target a)" options.direct_group)" ""
echo "direct_group 65534" >csi.conf
publish b dataset=train
persistent c dataset="$V"
for pod in b c; do assert_eq "csi.conf" "$(stats "$(target $pod)" options.direct_group)" 65534; done
assert_eq "mounts" "$(datasetfsctl attached | grep -c 'serves version')" 2
echo "# nothing" >csi.conf
for pod in a b c; do unpublish $pod; done
all_is_gone

if can_loop && (need_filesystem erofs) >/dev/null; then
    . "$LIB/kernel.sh"
    # kernel_is_gone: no mount, image or loop device of the volume is left
    kernel_is_gone() {
        all_is_gone
        wait_for 10 kernel_has_images 0 || fail "images are left: $(losetup)"
        wait_for 10 has_no_loops "$V" || fail "loop devices are left: $(losetup)"
    }

    say "pods that have the kernel serve share one mount, beside the daemon's"
    publish a dataset=train engine=kernel
    publish b dataset=train engine=fuse
    publish c dataset=train engine=kernel version=v2
    assert_eq "types" "$(for pod in a b c; do findmnt -no FSTYPE "$(target $pod)"; done | xargs)" \
        "erofs fuse.datasetfs erofs"
    for pod in a b c; do cmp source/new "$(target $pod)/new"; done
    assert_eq "mounts" "$(datasetfsctl attached | grep -c 'serves version')" 2
    assert_contains "condition" "$(node NodeGetVolumeStats "1=$INLINE" "2=$(target a)")" "2=the data set is served"
    sed -i '/^members /s/[0-9]*$/1/' /run/datasetfs/shown/* # a device that is gone, and another one has its name
    gone=$(node NodeGetVolumeStats "1=$INLINE" "2=$(target a)")
    assert_contains "condition" "$gone" "2=a device of the data set is gone: pods that begin now get another mount"
    publish d dataset=train engine=kernel
    assert_contains "condition" "$(node NodeGetVolumeStats "1=$INLINE" "2=$(target d)")" "2=the data set is served"
    for pod in a b c d; do unpublish $pod; done
    kernel_is_gone

    say "a pod keeps its version, and the next one gets the current one"
    truncate -s 64M beside
    loop_device beside # publishes past the lock on the file, as another host does
    pack "$LOOP" source --label v1
    persistent a dataset="$PWD/beside" engine=kernel
    cp -r source newer
    echo newer >newer/newer
    pack "$LOOP" newer --label v2
    persistent b dataset="$PWD/beside" engine=kernel
    cmp newer/newer "$(target b)/newer"
    [ ! -e "$(target a)/newer" ] || fail "a pod that runs has the new version"
    assert_fails 1 "those who have it keep their version" datasetfsctl switch "$(target a)" v2
    for pod in a b; do unpublish $pod; done
    kernel_is_gone
    loop_end "$LOOP"
    wait_for 10 has_no_loops beside || fail "loop devices are left: $(losetup)"

    say "what a pod cannot have of the kernel"
    refused 3 "option 'engine=xfs': expected engine=kernel or engine=fuse" publish a dataset=train engine=xfs
    refused 3 "unknown attribute 'kernel'" publish a dataset=train kernel=1
    refused 3 "'follow' cannot be combined with 'kernel'" publish a dataset=train engine=kernel follow=current
    refused 9 "cannot be combined with 'control_group': no daemon" publish a dataset=train-job engine=kernel
    echo "trust /etc/datasetfs/signers" >csi.conf
    refused 3 "as the kernel verifies no content" publish a dataset=train engine=kernel
    echo "direct_group 65534" >csi.conf
    publish a dataset=train engine=kernel
    unpublish a
    echo "# nothing" >csi.conf
    kernel_is_gone
fi

say "places that are none"
placed() { node NodePublishVolume 1=pv "4=$1" '5{' '2{' '}' '}' '8{' 1=dataset 2=train '}'; }
mkdir -p outside
refused 3 "is not below the kubelet's root" placed "$PWD/outside"
refused 3 "is not below the kubelet's root" placed "$K-other/x"
refused 3 "is not below the kubelet's root" placed pods/a
refused 3 "has an empty name, '.' or '..'" placed "$K/pods/../../outside"
refused 3 "has an empty name, '.' or '..'" placed "$K/pods//a"
refused 3 "has an empty name, '.' or '..'" placed "$K/"
refused 3 "is more than 32 directories deep" placed "$K$(printf '/d%.0s' {1..33})"
refused 3 "has more than 4096 bytes" placed "$K/$(printf 'd%.0s' {1..4200})"
refused 3 "holds a control character" placed "$K/pods/a"$'\n'"b"
refused 5 "'mkdir -p $K/pods/nobody' makes it" placed "$K/pods/nobody/mount"
ln -s "$PWD/outside" "$K/pods/link"
echo file >"$K/pods/file"
refused 9 "a symbolic link is on the way" placed "$K/pods/link"
refused 9 "a symbolic link is on the way" placed "$K/pods/link/x"
refused 9 "'$K/pods/file' is not a directory" placed "$K/pods/file"
refused 9 "a symbolic link is on the way" node NodeUnpublishVolume 1=pv "2=$K/pods/link/x"
refused 3 "is not below" node NodeUnpublishVolume 1=pv "2=$PWD/outside"
# Of a path where no data set is published, the specification wants NOT_FOUND, whatever the path.
mkdir -p "$K/pods/empty"
for path in "$K/pods/nobody" "$K/pods/empty" some/path "$PWD/outside" "$K/pods/../x" "$K/pods/link/x"; do
    refused 5 "no data set is published there" node NodeGetVolumeStats 1=pv "2=$path"
done
rmdir "$K/pods/empty"
refused 3 "volume_id is missing" node NodeGetVolumeStats "2=$K/pods/nobody"
refused 3 "the target path is missing" node NodeGetVolumeStats 1=pv
[ -z "$(ls -A outside)" ] || fail "something was made outside of the kubelet's root"

say "bytes that are no request"
refused 3 "the message ends within a number" node NodePublishVolume @ff
refused 3 "goes beyond its end" node NodePublishVolume @0aff01
refused 3 "is no text" node NodePublishVolume @0a01ff
mapfile -t words < <(printf '1=%04000d\n' {1..17})
refused 8 "the message has more than 65536 bytes" node NodePublishVolume "${words[@]}"
refused 12 "does not have this method" node NodeStageVolume
cat >connections.py <<'END'
import socket, sys
def connect():
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    one.settimeout(60)
    return one
def is_closed(one):
    try:
        while one.recv(4096): pass
        return True
    except TimeoutError:
        return False
    except ConnectionError:
        return True
if sys.argv[2] == "garbage":
    one = connect()
    one.sendall(b"GET / HTTP/1.1\r\n\r\n")
    sys.exit(not is_closed(one))
if sys.argv[2] == "one":
    sys.exit(not is_closed(connect()))
many = [connect() for i in range(257)]
sys.exit(not is_closed(many[256]))
END
python3 connections.py "$SOCKET" garbage || fail "HTTP/1.1 does not end the connection"
python3 connections.py "$SOCKET" many || fail "there is no limit on connections"
assert_eq "300 calls on one connection" \
    "$(csi-call -n 300 "$SOCKET" /csi.v1.Node/NodeGetCapabilities | grep -c '^0 ')" 300

say "a process that is not root's"
chmod 711 "$(dirname "$SOCKET")" "$K/plugins"
if as_user python3 - "$SOCKET" garbage <connections.py 2>said; then fail "a user may connect"; fi
assert_contains "a user" "$(tail -n 1 said)" "PermissionError"
chmod 777 "$SOCKET"
as_user python3 - "$SOCKET" one <connections.py || fail "a user is served: $(cat said)"
grep -q "a process that is not root's connects, ignoring" csi.log
chmod 700 "$SOCKET" "$(dirname "$SOCKET")"

say "many at once: calls on one connection, and connections"
mkdir -p "$(dirname "$(target many)")"
mapfile -t words < <(volume "$INLINE" many dataset=train)
before=$(starts)
assert_eq "20 calls for one place" \
    "$(csi-call -n 20 "$SOCKET" /csi.v1.Node/NodePublishVolume "${words[@]}" | sort | uniq -c | xargs)" "20 0"
unpublish many
for i in {1..50}; do publish "p$i" dataset=train >"said.$i" & running[i]=$!; done
for i in {1..50}; do wait "${running[i]}" || fail "pod $i: $(cat "said.$i")"; done
for i in {1..50}; do cmp source/1 "$(target "p$i")/1"; done
assert_eq "daemons started, for one place and for 50 pods" "$(starts)" $((before + 2))
assert_eq "processes of daemons" "$(daemons)" 2
assert_eq "indexes in memory" "$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["generations"]))' \
    <"$(target p1)/.datasetfs/stats.json")" 1

say "a dead mount: it is abnormal, each pod can go, and a new one gets another"
kill_all
dead=$(node NodeGetVolumeStats "1=$INLINE" "2=$(target p1)")
assert_contains "condition" "$dead" "1: 1"
assert_contains "condition" "$dead" "2=the daemon of the data set is gone"
publish new dataset=train
cmp source/1 "$(target new)/1"
for i in {1..50}; do unpublish "p$i" >"said.$i" & running[i]=$!; done
for i in {1..50}; do wait "${running[i]}" || fail "pod $i: $(cat "said.$i")"; done
unpublish new
all_is_gone

say "a mount that hangs is abnormal, asked once, and its pod can go"
stop
export DATASETFS_CSI_PATIENCE=200 # ms, in place of five seconds
start
publish silent dataset=train
stop_all
for round in 1 2; do
    assert_contains "condition, $round" "$(node NodeGetVolumeStats "1=$INLINE" "2=$(target silent)")" "does not answer"
done
unpublish silent
pkill -CONT -x datasetfs || true
all_is_gone

say "a first mount that takes long goes on when nobody waits, and the call that comes again finds it"
: >hold
: >starts
mkdir -p "$(dirname "$(target long)")"
mapfile -t words < <(volume "$INLINE" long dataset=train)
csi-call -q "$SOCKET" /csi.v1.Node/NodePublishVolume "${words[@]}"
more_starts_than 0
publish long dataset=train >again &
again=$!
refused 10 "published with other attributes" publish long dataset=train version=v1
rm hold
wait $again || fail "the call that came again: $(cat again)"
cmp source/1 "$(target long)/1"
assert_eq "daemons started" "$(starts)" 1
unpublish long
all_is_gone

say "a pod that goes away in the middle of its mount"
: >hold
: >starts
publish brief dataset=train >brief || true &
more_starts_than 0
unpublish brief
[ ! -e "$(target brief)" ] || fail "the target is still there"
wait_for 20 grep -q "^10 the volume is being unpublished" brief || fail "the publish said: $(cat brief)"
rm hold
publish after dataset=train
cmp source/1 "$(target after)/1"
assert_eq "daemons started" "$(starts)" 1

say "a plugin that is killed and begins again, while a pod reads and others come and go"
(while [ ! -e enough ]; do cmp source/1 "$(target after)/1" && echo || exit 1; done >reads) &
reader=$!
for round in $(seq "$(length 10 1000)"); do
    echo "round $round" >>csi.log
    (for i in 1 2 3; do publish "r$i" dataset=train; unpublish "r$i"; done >/dev/null 2>&1 || true) &
    load=$!
    stop KILL 2>/dev/null || true
    start
    wait $load
done
for i in 1 2 3; do
    publish "r$i" dataset=train
    cmp source/1 "$(target "r$i")/1"
    unpublish "r$i"
done
touch enough
wait $reader || fail "a read failed while the plugin began again"
[ "$(wc -l <reads)" -gt 0 ]
say "$(wc -l <reads) reads, none of which failed, while the plugin was killed $(length 10 1000) times"

if [ "$DATASETFS_BUILD_NAME" = gcc ]; then
    # times NAME: median and slowest
    times() { sort -n "$1" | awk '{ t[NR] = $1 } END { printf "%.1f ms, at most %.1f ms (%d times)", \
        t[int((NR + 1) / 2)] / 1000, t[NR] / 1000, NR }'; }
    for i in {1..50}; do TIMES=published publish "f$i" dataset=train; done
    for i in {1..25}; do TIMES=unpublished unpublish "f$i"; done
    kill_all
    for i in {26..50}; do TIMES=dead unpublish "f$i"; done
    resident=$(awk '/^VmRSS:/ { print $2 }' "/proc/$plugin/status")
    say "publish of a mounted version: $(times published); unpublish: $(times unpublished); of a dead mount:" \
        "$(times dead); load $(cut -d' ' -f1 /proc/loadavg); resident: $resident KB"
    [ "$resident" -le 5120 ] || fail "the plugin has $resident KB resident, more than 5 MB"
fi
unpublish after
stop

say "a kubelet whose root is a link"
ln -s "$K" root
K=$PWD/root SOCKET=$PWD/root/plugins/datasetfs.csi/csi.sock
start
publish linked dataset=train follow=current
cmp source/new "$PWD/kubelet/pods/linked/volumes/kubernetes.io~csi/data/mount/new"
unpublish linked
stop

# LeakSanitizer does not work under strace.
[ "$DATASETFS_BUILD_NAME" = gcc ] || exit 0
if command -v systemd-analyze >/dev/null && (strace -D -f -qq -o none true) 2>/dev/null; then
    say "the unit refuses no call that strace sees when a pod comes and goes"
    mkdir other
    datasetfsctl attach "$V" other
    strace -D -f -qq -s 200 -e signal=none -o trace \
        datasetfs-csi --config csi.conf --kubelet "$K" --node worker7 2>>csi.log &
    plugin=$!
    wait_for 60 is_there || fail "the plugin does not begin under strace"
    publish traced dataset=train
    node NodeGetVolumeStats "1=$INLINE" "2=$(target traced)"
    unpublish traced
    if declare -F kernel_is_gone >/dev/null; then # which no unit of its own makes
        publish traced dataset=train engine=kernel
        unpublish traced
    fi
    stop
    datasetfsctl detach other
    python3 "$LIB/unit_allows.py" "$DATASETFS_BUILD/contrib/datasetfs-csi.service" trace >refused
    [ ! -s refused ] || fail "the unit refuses what the plugin does: $(cat refused)"
fi
[ ! -e "$REGISTRATION" ] && [ ! -e "$SOCKET" ] || fail "a socket is left"
all_is_gone
! grep -n "ERROR\|runtime error" csi.log || fail "a sanitizer reports"
