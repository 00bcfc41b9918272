#!/bin/bash
# SPDX-License-Identifier: MIT
# Signatures of versions: made, attached, kept by compaction, exported; what verify --trust accepts and refuses.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command ssh-keygen

key() { ssh-keygen -q -t "$2" -N '' -C "$1" -f "$1"; }
allow() { printf '%s %s\n' "$1" "$(cut -d' ' -f1,2 "$2.pub")"; }
checked() { datasetfsctl verify --trust "$PWD/signers" "$@"; }
refused() { # STATUS TEXT: verify --trust says this
    local status=$1 text=$2 found=0
    shift 2
    checked "$@" >out 2>&1 || found=$?
    assert_eq "status" $found "$status"
    assert_contains "output" "$(<out)" "$text"
}

chmod go-w .
key alice ed25519
key bob ecdsa
key mallory ed25519
allow alice@example.org alice >signers
mkdir tree && seq 1 5000 >tree/file
export SOURCE_DATE_EPOCH=1700000000

# unsigned, then signed by a stranger, then by the one who may
pack volume tree --label one
refused 1 "it is not signed" volume
datasetfsctl sign volume one --key mallory
refused 1 "which is not allowed" volume
datasetfsctl sign volume one --key alice
checked volume
assert_contains "output" "$(datasetfsctl list volume)" "SHA256:"

# other keys that may sign; a signature that was made elsewhere
allow bob@example.org bob >>signers
datasetfsctl sign volume one --statement >statement
assert_contains "output" "$(<statement)" "label one"
ssh-keygen -q -Y sign -n datasetfs -f bob statement
datasetfsctl sign volume one --attach statement.sig
assert_eq "signatures" "$(datasetfsctl list --json volume | json versions.0.signatures | grep -o '"key"' | wc -l)" 3
allow bob@example.org bob >signers
sed -i 's/$/\r/' signers # as an editor of Windows ends lines
checked volume
ssh-keygen -q -Y sign -n git -f bob - <statement >other.sig
assert_fails 1 "another use" datasetfsctl sign volume one --attach other.sig
sed s/one/two/ statement >forged && ssh-keygen -q -Y sign -n datasetfs -f bob forged
assert_fails 1 "not of this statement" datasetfsctl sign volume one --attach forged.sig

# dates and revoked keys
echo "bob valid-before=\"20200101\" $(cut -d' ' -f1,2 bob.pub)" >signers
refused 1 "was valid before 2020-01-01" volume
echo "bob namespaces=\"git\" $(cut -d' ' -f1,2 bob.pub)" >signers
refused 1 "other namespaces" volume
allow bob bob >signers
sed 's/$/\r/' bob.pub >revoked
refused 1 "is revoked" volume --revoked "$PWD/revoked"
ssh-keygen -q -k -f krl bob.pub
refused 1 "is revoked" volume --revoked "$PWD/krl"
checked volume --revoked "$PWD/mallory.pub"
chmod g+w signers
refused 2 "others may write it" volume
chmod g-w signers
echo "bob ssh-ed25519 !" >>signers
refused 2 "line 2 is malformed" volume
allow bob bob >signers

# what is on another volume, or has no date
pack other tree --label one
datasetfsctl export signatures volume one >text
assert_fails 1 "covers volume" datasetfsctl sign other one --attach text
datasetfsctl sign volume one --key bob --any-volume
env -u SOURCE_DATE_EPOCH mkdatasetfs --progress none --uuid 6ba7b810-9dad-11d1-80b4-00c04fd430c8 dateless tree
assert_fails 1 "has no date" datasetfsctl sign dateless v1 --key bob

# at the publish
pack volume tree --label two --sign bob
seq 1 70000 >tree/more && pack volume tree --label three --sign bob
checked volume

say "a compaction by somebody without the key, which moves content"
# place VOLUME FILE: where its first chunk lies
place() { datasetfsctl stat --json "$1" "$2" | python3 "$LIB/chunks.py" | head -n 1 | cut -d ' ' -f 4; }
many() { for i in $(seq 1 "$1"); do head -c 90000 /dev/urandom >many/"$i"; done; }
mkdir many
many 60
pack moved many --label old --segment-size 1M --sums sha256 --order random --sign bob
many 50
pack moved many --label new --sign bob
datasetfsctl export signatures moved new >before
was=$(place moved 55)
datasetfsctl remove moved old >remove.log 2>&1 || fail "remove: $(<remove.log)"
datasetfsctl compact moved >compact.log 2>&1 || fail "compact: $(<compact.log)"
[ "$(place moved 55)" != "$was" ] || fail "nothing was moved: $(<compact.log)"
datasetfsctl export signatures moved new | cmp - before || fail "the signatures have changed"
checked moved >out || fail "verify --trust after a compaction: $(<out)"

say "members and mirrors: one is lost, one is replaced"
pack a,b,c,d many --label one --segment-size 1M --sums sha256 --protect mirror:2 --sign bob
checked a >out || fail "verify --trust: $(<out)"
mkdir away
mv c away
refused 2 "missing" a
assert_fails 1 "member 2 is missing" datasetfsctl sign a one --key alice
datasetfsctl sign --degraded a one --key alice >out 2>&1 || fail "sign without a member: $(<out)"
datasetfsctl member replace a 2 new >out 2>&1 || fail "member replace: $(<out)"
checked a >out || fail "verify --trust after a replacement: $(<out)"
assert_eq "signatures" "$(datasetfsctl list --json a | json versions.0.signatures | grep -o '"key"' | wc -l)" 2
many 20
pack a many --label two --sign bob
datasetfsctl remove a one >remove.log 2>&1 || fail "remove: $(<remove.log)"
datasetfsctl compact a >compact.log 2>&1 || fail "compact: $(<compact.log)"
checked a >out || fail "verify --trust after a compaction: $(<out)"

say "to another volume, with the content as a tar archive"
pack source many --label v7 --sums sha256
datasetfsctl sign source v7 --key bob --any-volume
datasetfsctl export tar source v7 v7.tar >/dev/null
datasetfsctl export signatures source v7 >v7.signatures
SOURCE_DATE_EPOCH=1800000000 pack target v7.tar --label v7 --sums sha256
datasetfsctl sign target v7 --attach v7.signatures
checked target >out || fail "verify --trust of what was exported: $(<out)"
assert_contains "the date is that of the statement" "$(datasetfsctl export signatures target v7)" "created 2023-11-14T"
pack other-label v7.tar --label v8 --sums sha256
assert_fails 1 "the signature covers version v7, found v8" datasetfsctl sign other-label v8 --attach v7.signatures

need_command openssl
say "a token, whose key is of the kind sk-ssh-ed25519"
"$LIB/token.py" key token
datasetfsctl sign source v7 --statement >statement
"$LIB/token.py" sign token statement
datasetfsctl sign source v7 --attach statement.sig
allow token@example.org token >signers
checked source >out || fail "verify --trust: $(<out)"
