#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain
# datasetfsctl nvme: secrets by which hosts and targets prove who they are, and TLS. What connect and discover refuse,
# what they give to the kernel, what they say when that refuses; that secrets are nowhere else, and what list, inspect
# and status show.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

id=5a0c1de7-83ff-4f6b-a6a5-1c2b3d4e5f60
me=nqn.2014-08.org.nvmexpress:uuid:$id
nqn=nqn.2026-01.org.example:new
portal=tcp://192.0.2.3

# secret BYTE [LENGTH]: as 'nvme gen-dhchap-key' prints one
secret() {
    python3 -c 'import base64, binascii, sys
key = bytes([int(sys.argv[1])] * int(sys.argv[2]))
print("DHHC-1:00:" + base64.b64encode(key + binascii.crc32(key).to_bytes(4, "little")).decode() + ":")' "$1" "${2:-32}"
}
secret 17 >host
secret 34 64 >ctrl
chmod 600 host ctrl
host=$(<host)
ctrl=$(<ctrl)

# tries OPTION…: connect with these
tries() {
    datasetfsctl nvme connect --wait 0 --hostnqn $me "$@" $nqn $portal
}

# --- files that are refused, in one line that has no secret in it ---

# refused MESSAGE OPTION…
refused() {
    local message=$1
    shift
    assert_fails 1 "$message" tries "$@"
    ! grep -qE 'DHHC-1:0[0-9]:[A-Za-z0-9+/]{8}' \
        "$DATASETFS_TEST_DIR"/fails.{out,err} || fail "the secret is shown: $(cat "$DATASETFS_TEST_DIR/fails.err")"
}

for mode in 640 604 644 601; do
    chmod $mode host
    refused "'host' has the mode 0$mode, so others may know the secret: chmod 600" --dhchap-secret-file host
done
chmod 620 host
refused "/host' has the mode 0620, so others may write it: chmod go-w" --dhchap-secret-file host
chmod 400 host
refused "/missing': No such file" --dhchap-secret-file missing
refused "'.' is no regular file" --dhchap-secret-file .
mkfifo fifo
refused "'fifo' is no regular file" --dhchap-secret-file fifo
refused "/missing': No such file" --dhchap-secret-file host --dhchap-ctrl-secret-file missing
if is_root; then
    cp host foreign
    chown 65534 foreign
    refused "/foreign' belongs to user 65534, expected root" --dhchap-secret-file foreign
    mkdir of-user
    ln -s ../host of-user/link
    chown 65534 of-user
    refused "/of-user' belongs to user 65534, expected root" --dhchap-secret-file of-user/link
fi
# malformed TEXT
malformed() {
    printf %s "$1" >bad
    chmod 600 bad
    refused "'bad' has no secret: expected one line 'DHHC-1:HH:BASE64:'" --dhchap-secret-file bad
}
body=${host#DHHC-1:00:}
malformed ""
malformed "${host%:}"
malformed "${host/DHHC-1/DHHC-2}"
malformed "${host/:00:/:04:}"
malformed "${host/:00:/:0:}"
malformed " $host"
malformed "$host"$'\n'"$host"
malformed "DHHC-1:00:${body:4}"
malformed "DHHC-1:00:${body/E/!}"
malformed "$(printf 'DHHC-1:00:%0200d:' 0)"
malformed "NVMeTLSkey-1:01:$body"
printf '%s' "${host/ERE/ERI}" >bad
refused "'bad' has a secret that was changed: its check sum does not fit" --dhchap-secret-file bad

# --- command lines ---

assert_fails 2 "in a file or in a key, not in both" tries --dhchap-secret-file host --dhchap-secret-key name
assert_fails 2 "only to a host that does: --dhchap-secret-file is missing" tries --dhchap-ctrl-secret-file ctrl
assert_fails 2 "options '--tls-key' and '--tls-keyring' need '--tls'" tries --tls-key 5
assert_fails 2 "only tcp has TLS" datasetfsctl nvme connect --tls $nqn $portal rdma://192.0.2.4
assert_fails 2 "in a file or in a key, not in both" \
    datasetfsctl nvme discover --dhchap-ctrl-secret-file ctrl --dhchap-ctrl-secret-key name $portal
assert_fails 2 "'loop': only tcp has TLS" datasetfsctl nvme discover --tls $portal loop

# --- what list and inspect show; they never read more than how a secret begins ---

export DATASETFS_SYSFS=$PWD/sys
volume=nvme:uuid:3f2504e0-4f89-41d3-9a0c-0305e82c3301
train=nqn.2026-01.org.example:train
sysfs_tree sys

# path NUMBER: list's and inspect's words for it, and JSON's
path() {
    local listed inspected
    listed=$(datasetfsctl nvme list | grep "nvme$1  tcp" | tr -s ' ' | cut -d ' ' -f 7-)
    inspected=$(datasetfsctl nvme inspect $volume | sed -n "s/^  nvme$1 .*NUMA node $1\(, data digest\)*,* *//p")
    assert_eq "list and inspect of nvme$1" "$listed" "$inspected"
    datasetfsctl nvme list --json >list.json
    echo "$listed; $(json "namespaces.0.paths.$1.authentication" list.json)" \
        "$(json "namespaces.0.paths.$1.tls" list.json)"
}
# advised KIND: the text of inspect's warning or note
advised() {
    datasetfsctl nvme inspect --json $volume | python3 -c 'import json, sys
print(*[a["text"] for a in json.load(sys.stdin)["advice"] if a["kind"] == sys.argv[1]])' "$1"
}
assert_eq "a path as it is by default" "$(path 0)" "; none false"
assert_contains "clear text" "$(advised clear-text)" "2 paths without TLS: whoever is on the network between can read"
for attribute in dhchap_secret dhchap_ctrl_secret; do
    sysfs_set sys nvme-subsys0/nvme0/$attribute none
    sysfs_set sys nvme-subsys0/nvme1/$attribute none
done
assert_eq "a kernel that could" "$(path 0)" "; none false"
assert_eq "no secret" "$(advised secret)" ""
sysfs_set sys nvme-subsys0/nvme0/dhchap_secret "$host"
assert_eq "this host's secret" "$(path 0)" "authenticated; host false"
assert_contains "a secret for everybody" "$(advised secret)" \
    "every user of this host can read the secret of 'nvme0': 'chmod 600 /sys/class/nvme/nvme0/dhchap_*secret'"
chmod 600 sys/class/nvme-subsystem/nvme-subsys0/nvme[01]/dhchap_*secret
assert_eq "a secret for root" "$(advised secret)" ""
sysfs_set sys nvme-subsys0/nvme0/dhchap_ctrl_secret "$ctrl"
assert_eq "both secrets" "$(path 0)" "authenticated both ways; both false"
sysfs_set sys nvme-subsys0/nvme0/tls_key ""
assert_eq "TLS that is not there yet" "$(path 0)" "authenticated both ways; both false"
sysfs_set sys nvme-subsys0/nvme0/tls_key 1a2b3c4d
assert_eq "TLS" "$(path 0)" "authenticated both ways, TLS; both true"
assert_contains "clear text" "$(advised clear-text)" "1 path without TLS"
assert_eq "the other path" "$(path 1)" "; none false"
sysfs_set sys nvme-subsys0/nvme1/tls_key 1a2b3c4d
assert_eq "the other path" "$(path 1)" "TLS; none true"
assert_eq "clear text" "$(advised clear-text)" ""
if is_root; then
    chmod -R go+rX sys
    chmod 600 sys/class/nvme-subsystem/nvme-subsys0/nvme0/dhchap_*secret
    if as_user test -r sys/class/nvme-subsystem/nvme-subsys0/nvme0/state; then
        assert_contains "what a user sees" "$(as_user datasetfsctl nvme list)" "authentication known to root, TLS"
        assert_eq "its JSON" "$(as_user datasetfsctl nvme list --json | json namespaces.0.paths.0.authentication)" None
    fi
fi

# A connection that is there counts only if it has what is asked for.
assert_fails 1 "'tcp://192.0.2.2:4420': connected already as 'nvme1', but without a secret of this host: disconnect" \
    datasetfsctl nvme connect --wait 0 --dhchap-secret-file host $train tcp://192.0.2.2
sysfs_set sys nvme-subsys0/nvme1/dhchap_secret "$host"
assert_fails 1 "but without a secret of the target: disconnect it first" datasetfsctl nvme connect --wait 0 \
    --dhchap-secret-file host --dhchap-ctrl-secret-file ctrl $train tcp://192.0.2.2
there="'$train' is connected, but after 0 s not all devices of its namespaces are there"
assert_fails 1 "$there" datasetfsctl nvme connect --wait 0 --dhchap-secret-file host --tls $train tcp://192.0.2.2
sysfs_set sys nvme-subsys0/nvme1/tls_key ""
assert_fails 1 "but without TLS: disconnect it first" datasetfsctl nvme connect --wait 0 --tls $train tcp://192.0.2.2

# --- what the kernel is given ---

pkg-config --exists libnvme || skip "no libnvme: what the kernel is given is left out"
unset DATASETFS_SYSFS
# shellcheck disable=SC2046
cc -D_GNU_SOURCE -O1 -g -Wall -shared -fPIC $(pkg-config --cflags libnvme) -o fabrics.so "$LIB/nvme_fabrics.c" ||
    fail "cannot compile nvme_fabrics.c"
can=',tls,keyring=%d,tls_key=%d,dhchap_secret=%s,dhchap_ctrl_secret=%s'
call=(connect --wait 0)
operands=("$nqn" "$portal")
# [STATUS=N] kernel VARIABLE=VALUE… -- OPTION…: the verb on a fabric that is made up; what it was given is in lines, the
# options that all have left out. No secret stays in memory.
kernel() {
    local settings=()
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    rm -f all
    rc=0
    env LD_PRELOAD="$PWD/fabrics.so" FABRICS_LINES="$PWD/all" FABRICS_CAN="$can" \
        FABRICS_GONE="$(cut -d : -f 3 host | rev)" "${settings[@]}" \
        datasetfsctl nvme "${call[@]}" --hostnqn $me "$@" "${operands[@]}" >kernel.out 2>&1 || rc=$?
    assert_eq "status of ${call[0]} $*: $(cat kernel.out)" $rc "${STATUS:-1}"
    touch all
    sed "s/.*fast_io_fail_tmo=300/connects/; s/.*discovery,.*,hostid=$id/asks/" all >lines
    ! grep -qE 'DHHC-1:0[0-9]:[A-Za-z0-9+/]{8}' kernel.out || fail "the secret is shown: $(cat kernel.out)"
}
# given LINES OUTPUT: what the last one gave, and said; no namespace comes from what is made up
given() {
    assert_eq "lines" "$(<lines)" "$1"
    assert_contains "what is said" "$(<kernel.out)" "$2"
    assert_eq "lines that are said: $(<kernel.out)" "$(wc -l <kernel.out)" "${3:-1}"
}
connected="'$nqn' is connected, but after 0 s it shows this host no namespace"
hidden="dhchap_secret has the mode 600
dhchap_ctrl_secret has the mode 600"

kernel -- ; given "connects" "$connected"
# The target asks (ENOKEY), so the host answers; others cannot read it.
kernel FABRICS_ERRNO=126 -- --dhchap-secret-file host
given "connects
connects,dhchap_secret=$host
$hidden" "$connected"
kernel FABRICS_ERRNO=126 -- --dhchap-secret-file host --dhchap-ctrl-secret-file ctrl
given "connects
connects,dhchap_secret=$host,dhchap_ctrl_secret=$ctrl
$hidden" "$connected"
# Kernels in which a target that asks is an error of NVMe.
kernel FABRICS_ERRNO=5 -- --dhchap-secret-file host
given "connects
connects,dhchap_secret=$host
$hidden" "$connected"
# A target that does not ask.
kernel -- --dhchap-secret-file host
given "connects
deleted
connects,dhchap_secret=$host
$hidden" "'$portal:4420': the target connects this host without its secret as well: set it there, too" 2
kernel -- --dhchap-secret-file host --dhchap-ctrl-secret-file ctrl
given "connects
deleted" "the target does not ask for authentication, so it may be another one: set the secrets there"
# Errors: no secret, a wrong one, a wrong one in older kernels, nobody there.
kernel FABRICS_ERRNO=126 --
given connects "'$portal:4420': the target asks this host for its secret: --dhchap-secret-file"
kernel FABRICS_ERRNO=126,129 -- --dhchap-secret-file host
given "connects
connects,dhchap_secret=$host" "authentication failed: the secret of this host is not the one that the target has"
kernel FABRICS_ERRNO=126,129 -- --dhchap-secret-file host --dhchap-ctrl-secret-file ctrl
assert_contains "either" "$(<kernel.out)" \
    "the secret of this host or that of the target is not the one that the target has"
kernel FABRICS_ERRNO=5,111 -- --dhchap-secret-file host
assert_contains "older kernels" "$(<kernel.out)" "connection refused, or the secret is wrong"
kernel FABRICS_ERRNO=111 -- --dhchap-secret-file host; given connects "'$portal:4420': connection refused"
assert_contains "nobody" "$(<kernel.out)" "connection refused"
! grep -q "secret is wrong" kernel.out || fail "no secret was tried: $(<kernel.out)"
kernel FABRICS_ERRNO=110 -- --dhchap-secret-file host; given connects "no answer, or the kernel refused it"
# Kernels that cannot.
for without in '' ',tls' ',dhchap_secrets=%s'; do
    kernel FABRICS_CAN="$without" -- --dhchap-secret-file host
    given "" "this kernel has no authentication of hosts (CONFIG_NVME_HOST_AUTH)"
done
kernel FABRICS_ERRNO=126 FABRICS_IGNORES=1 -- --dhchap-secret-file host
given "connects
connects,dhchap_secret=$host
deleted" "this kernel has no authentication of hosts (CONFIG_NVME_HOST_AUTH)"
for without in '' ',keyring=%d,tls_key=%d,dhchap_secret=%s'; do
    kernel FABRICS_CAN="$without" -- --tls
    given "" "this kernel has no TLS for NVMe/TCP (CONFIG_NVME_TCP_TLS, Linux 6.7)"
done
kernel FABRICS_CAN=,tls -- --tls --tls-key 7; given "" "this kernel has no TLS for NVMe/TCP"
# TLS.
kernel -- --tls; given "connects,tls" "$connected"
kernel -- --tls --tls-key 77 --tls-keyring 88; given "connects,keyring=88,tls_key=77,tls" "$connected"
kernel FABRICS_ERRNO=126 -- --tls
given "connects,tls" "the keyring '.nvme' has no TLS key for this host and this subsystem, see datasetfs-nvme(7), \
or the target asks for a secret"
kernel FABRICS_ERRNO=126,126 -- --tls --dhchap-secret-file host
given "connects,tls
connects,tls,dhchap_secret=$host" "has no TLS key for this host and this subsystem, see datasetfs-nvme(7)"
kernel FABRICS_ERRNO=3 -- --tls
given "connects,tls" "the kernel found no TLS handshake service: is tlshd running (package ktls-utils)?"
kernel FABRICS_ERRNO=126 -- --tls --tls-key 7; given "connects,tls_key=7,tls" "'$portal:4420': the kernel has no key 7"
kernel FABRICS_ERRNO=110 -- --tls
given "connects,tls" "no answer, no TLS there, or another key; the logs of tlshd and of the kernel say which"
kernel FABRICS_ERRNO=104 -- ; given connects "'$portal:4420': the target hung up: it may want TLS"
kernel FABRICS_ERRNO=127 -- --tls --tls-key 7; given "connects,tls_key=7,tls" "Key has expired"

# --- discover takes the same, and is over when it has asked ---

call=(discover)
operands=("$portal")
offer='nqn.\x1bc'
STATUS=0 kernel -- ; given "asks
deleted" "$offer"
kernel FABRICS_ERRNO=126 --
given asks "'$portal:4420': the target asks this host for its secret: --dhchap-secret-file"
STATUS=0 kernel FABRICS_ERRNO=126 -- --dhchap-secret-file host --dhchap-ctrl-secret-file ctrl
given "asks
asks,dhchap_secret=$host,dhchap_ctrl_secret=$ctrl
$hidden
deleted" "$offer"
kernel FABRICS_ERRNO=126,129 -- --dhchap-secret-file host
given "asks
asks,dhchap_secret=$host" "authentication failed: the secret of this host is not the one that the target has"
# A discovery controller that does not ask is nothing to warn of, unless it had to prove who it is.
STATUS=0 kernel -- --dhchap-secret-file host
given "asks
deleted
asks,dhchap_secret=$host
$hidden
deleted" "$offer"
kernel -- --dhchap-secret-file host --dhchap-ctrl-secret-file ctrl
given "asks
deleted" "the target does not ask for authentication, so it may be another one"
STATUS=0 kernel -- --tls --tls-key 77 --tls-keyring 88
given "asks,keyring=88,tls_key=77,tls
deleted" "$offer"
kernel FABRICS_CAN= -- --tls; given "" "this kernel has no TLS for NVMe/TCP (CONFIG_NVME_TCP_TLS, Linux 6.7)"
kernel -- --dhchap-secret-file missing; given "" "cannot discover: cannot open '$PWD/missing': No such file"
call=(connect --wait 0)
operands=("$nqn" "$portal")

# The search through memory finds what is there.
rc=0
(env LD_PRELOAD="$PWD/fabrics.so" FABRICS_GONE="$(rev <<<"$portal")" datasetfsctl nvme connect --wait 0 \
    --hostnqn $me $nqn $portal) >/dev/null 2>&1 || rc=$?
assert_eq "a search for what the command line has" $rc 134

# --- a secret goes from its file to the kernel, whose file is made up here, and nowhere else ---

if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    strace -f -y -s 8192 -o trace env LD_PRELOAD="$PWD/fabrics.so" FABRICS_CAN="$can" FABRICS_ERRNO=126 \
        datasetfsctl nvme connect --wait 0 --hostnqn $me --dhchap-secret-file host --dhchap-ctrl-secret-file ctrl \
        --json $nqn $portal >/dev/null 2>&1 || true
    for each in host ctrl; do
        text=$(<$each)
        assert_eq "calls with it" "$(grep -F "${text#DHHC-1:00:}" trace |
            sed -E 's/.* (read|write)\([0-9]+<([^>]*\/)*/\1 /; s/>.*//' | sort | paste -sd ,)" "read $each"
    done
    export DATASETFS_SYSFS=$PWD/sys
    for verb in list "list --json" "inspect $volume"; do
        # shellcheck disable=SC2086
        strace -f -s 8192 -o trace datasetfsctl nvme $verb >/dev/null
        ! grep -qF "${body:0:8}" trace || fail "$verb reads the secret: $(grep -F "${body:0:8}" trace)"
    done
    unset DATASETFS_SYSFS
fi

# --- from the keyring of the user ---

cc -D_GNU_SOURCE -O1 -g -Wall -o key "$LIB/key.c" || fail "cannot compile key.c"
name=datasetfs-test-$$
if number=$(./key add user $name @u <host 2>key.err); then
    at_exit "$PWD/key" unlink "$number" @u
    kernel FABRICS_ERRNO=126 -- --dhchap-secret-key $name --dhchap-ctrl-secret-file ctrl
    given "connects
connects,dhchap_secret=$host,dhchap_ctrl_secret=$ctrl
$hidden" "$connected"
    refused "there is no key 'missing' of the type 'user': 'keyctl padd user missing @u <FILE' adds one" \
        --dhchap-secret-key missing
    echo "no secret" | ./key add user $name @u >/dev/null || fail "cannot change the key"
    refused "the key '$name' has no secret: expected one line 'DHHC-1:HH:BASE64:'" --dhchap-secret-key $name
else
    say "no keyring here: $(cat key.err)"
fi
