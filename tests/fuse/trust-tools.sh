#!/bin/bash
# SPDX-License-Identifier: MIT
# Verbs that read a version past its mount trust nobody whom the mount does not, and show what it serves or nothing.
# With --trust, --revoked and --digest they do the same for a volume.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command ssh-keygen

chmod go-w .
for who in alice mallory; do
    ssh-keygen -q -t ed25519 -N '' -C $who -f $who
done
echo "alice $(cut -d' ' -f1,2 alice.pub)" >signers
cut -d' ' -f1,2 mallory.pub >revoked
export SOURCE_DATE_EPOCH=1700000000
mkdir source mnt
for i in {1..4}; do head -c 9000 /dev/urandom >source/file$i; done
pack volume source --label v1 --sums sha256 --sign alice
echo more >source/more
pack volume source --label unsigned --no-current
pack volume source --label v2 --no-current --sign alice
echo weak >source/weak
pack weak source --sign alice --label v1
digest=$(datasetfsctl list --json volume | json versions.0.digest)
other=$(datasetfsctl list --json volume | json versions.1.digest)

# each OPTIONS: calls see VERB… for each verb that reads a version; what it is of is in $of, which version in $label
each() {
    local label=${label-v1}
    see "${of}" cat "$@" --version "$label" "$of" file1
    see "${of}" ls "$@" --version "$label" "$of"
    rm -rf out && mkdir out
    see "${of}" extract "$@" --version "$label" -C out "$of" file1
    see "${of}" describe "$@" "$of" "$label"
    see "${of}" dump "$@" "$of" "$label"
    see "${of}" stat "$@" --version "$label" "$of" file1
    see "${of}" export tar "$@" "$of" "$label" -
    see "${of}" export erofs "$@" --dry-run "$of" "$label" image
}
gives() { # REASON: each verb says so, in one line
    local reason=$1
    shift
    see() {
        shift
        ! datasetfsctl "$@" >see.out 2>see.err || fail "'$*' does not refuse: $reason"
        assert_eq "lines of '$*'" "$(wc -l <see.err)" 1
        assert_contains "$*" "$(<see.err)" "$reason"
        [ "$1" != cat ] || assert_eq "bytes of cat" "$(wc -c <see.out)" 0
    }
    each "$@"
    assert_eq "extracted files" "$(ls -A out)" ""
}
takes() { # each verb succeeds and says nothing else
    see() {
        shift
        datasetfsctl "$@" >see.out 2>see.err || fail "'$*': $(<see.err)"
        assert_eq "messages of '$*'" "$(<see.err)" ""
    }
    each "$@"
}

say "a volume"
of=volume
takes
takes --trust signers
takes --trust signers --revoked revoked --digest "$digest"
label=v2 takes --trust signers
label=unsigned takes
label=unsigned gives "version 'unsigned' is not trusted: it is not signed" --trust signers
gives "version 'v1' has the digest $digest on the volume, expected $other" --trust signers --digest "$other"
gives "version 'v1' has the digest $digest on the volume, expected $other" --digest "$other"
gives "cannot open '$PWD/missing': No such file or directory" --trust missing
gives "--revoked needs --trust, which says who may sign" --revoked revoked
cut -d' ' -f1,2 alice.pub >all-revoked
gives "is revoked" --trust signers --revoked all-revoked
assert_fails 2 "option '--digest': '${digest#sha256:}' does not begin with 'sha256:'" \
    datasetfsctl cat --digest "${digest#sha256:}" volume file1
assert_fails 1 "version 'unsigned' is not trusted: it is not signed" \
    datasetfsctl describe --trust signers volume v1 --diff unsigned
datasetfsctl describe --trust signers --digest "$digest" volume v1 --diff v2 >out.txt || fail "describe --diff"
for proof in "--trust signers" "--digest $(datasetfsctl list --json weak | json versions.0.digest)"; do
    # shellcheck disable=SC2086
    datasetfsctl cat $proof weak weak >out.txt 2>see.err || fail "cat: $(<see.err)"
    assert_eq "content" "$(<out.txt)" weak
    assert_contains "XXH3" "$(<see.err)" "sums of contents (xxh3-64) find accidents, but can be forged"
done
datasetfsctl verify --digest "$digest" volume v1 >out.txt || fail "verify: $(<out.txt)"
! datasetfsctl verify --digest "$other" volume v1 >out.txt || fail "verify --digest of another"
assert_contains "verify" "$(<out.txt)" "damaged digest: it is not the expected one version=v1"
assert_fails 2 "--digest needs one LABEL, which has it" datasetfsctl verify --digest "$digest" volume

say "a mount with trust"
mount_volume volume mnt -o "trust=$PWD/signers,revoked=$PWD/revoked"
of=mnt
takes
label=v2 takes
label=unsigned gives "version 'unsigned' is not trusted: it is not signed"
assert_fails 1 "version 'unsigned' is not trusted" datasetfsctl describe mnt --diff unsigned
assert_fails 1 "version 'unsigned' is not trusted" datasetfsctl plan --workers 1 --gpus 1 --rate 100 mnt unsigned
datasetfsctl stat mnt/file1 >out.txt || fail "stat of a file"
cp volume sound

say "somebody without a key exchanges the contents of two files, and makes all sums right"
"$DATASETFS_BUILD/tests/format/forge" volume chunks v1 0 1 || fail "forge"
forged=$(datasetfsctl list --json volume | json versions.0.digest)
[ "$forged" != "$digest" ] || fail "nothing was forged"
cmp source/file1 mnt/file1 || fail "what the mount serves"
gives "version 'v1' has the digest $forged on the volume, the mount has $digest"
assert_fails 1 "the mount has $digest" datasetfsctl stat mnt/file1
assert_fails 1 "the mount has $digest" datasetfsctl cat mnt file1
assert_fails 1 "the mount has $digest" datasetfsctl describe mnt v2 --diff v1
of=volume
gives "version 'v1' is not trusted: the signature covers digest" --trust signers
takes --digest "$forged"
unmount mnt

say "a mount that is pinned, and one that trusts everybody"
cp sound volume
mount_volume volume mnt -o "digest=$digest"
of=mnt
takes
label=v2 gives "on the volume, the mount has $digest"
unmount mnt
mount_volume volume mnt
takes
label=unsigned takes
label=unsigned gives "version 'unsigned' is not trusted: it is not signed" --trust signers
"$DATASETFS_BUILD/tests/format/forge" volume chunks v1 0 1 || fail "forge"
gives "version 'v1' has the digest $forged on the volume, the mount has $digest"

say "a mount whose daemon is dead"
kill_daemon mnt
gives "does not say what it serves or trusts: name the volume itself"
