#!/bin/bash
# SPDX-License-Identifier: MIT
# Somebody who can write a signed volume, or a file that says who is trusted: exchanges versions, labels, files, chunks
# and signatures, with all sums made right again, and writes signatures that are none. Each is refused for its reason.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command ssh-keygen

chmod go-w .
for kind in ed25519 ecdsa rsa; do ssh-keygen -q -t $kind -N '' -C $kind -f $kind; done
allowed() { for kind in "$@"; do echo "$kind@example.org $(cut -d' ' -f1,2 $kind.pub)"; done; }
allowed ed25519 rsa >signers
export SOURCE_DATE_EPOCH=1700000000
mkdir tree
for i in {1..9}; do head -c 10000 /dev/urandom >tree/file$i; done
pack signed tree --label one --sums sha256 --sign ed25519
head -c 10000 /dev/urandom >tree/file1
pack signed tree --label two --sign ed25519

# forged WHAT…: a copy of the volume is, like this
forged() {
    cp signed volume
    "$DATASETFS_BUILD/tests/format/forge" volume "$@" || fail "forge $*"
}
# refused TEXT [VOLUME] [OPTIONS…]: verify --trust refuses it, and says so
refused() {
    local text=$1 rc=0
    datasetfsctl verify --trust "$PWD/signers" "${@:3}" "${2:-volume}" >out 2>&1 || rc=$?
    [ $rc != 0 ] || fail "verify is content with: $text"
    assert_contains "verify" "$(<out)" "$text"
}
datasetfsctl verify --trust "$PWD/signers" signed >out || fail "verify of the volume as it is: $(<out)"

say "exchanged"
forged labels one two
refused "version 'two' is not trusted: the signature covers version one, found two"
forged take one two
refused "version 'two' is not trusted: the signature covers digest"
forged chunks two 3 4
refused "version 'two' is not trusted: the signature covers digest"
forged places two 3 4
refused "damaged 'file"
datasetfsctl cat volume file4 >out 2>err && fail "cat of an exchanged place"
assert_contains "cat" "$(<err)" "chunk sum"
forged inodes two 3 4
refused "version 'two' is not trusted: the signature covers digest"
forged index file9 filea
refused "damaged digest: its SHA-256 is not the one in the catalogue version=two"
forged created two 1900000000
datasetfsctl verify --trust "$PWD/signers" volume >out || fail "the date in the record counts for nothing: $(<out)"
for count in files:8 directories:2 symlinks:1 bytes:1; do
    forged count two ${count%:*} ${count#*:}
    refused "damaged index: version 'two': the index has "
    assert_contains "$count" "$(<out)" " bytes, the catalogue says "
    assert_fails 1 "the catalogue says" datasetfsctl cat volume file4
done
for bit in 16 31; do
    forged modes two $bit
    refused "impossible mode="
    assert_fails 1 "impossible mode=" datasetfsctl ls volume
done

say "signatures of something else"
# text NAMESPACE KEY STATEMENT: a signature as it lies on a volume
text() {
    cp "$3" statement.now
    rm -f statement.now.sig
    ssh-keygen -q -Y sign -n "$1" -f "$2" statement.now
    cat statement.now statement.now.sig
}
datasetfsctl sign signed two --statement >statement
text datasetfs ed25519 statement >good
forged signatures two good
datasetfsctl verify --trust "$PWD/signers" volume two >out || fail "verify of a signature put there by hand: $(<out)"
pack other tree --label two --sums sha256 --sign ed25519
datasetfsctl export signatures other two >of-other
forged signatures two of-other
refused "the signature covers volume"
text git ed25519 statement >bad
forged signatures two bad
refused "the signature is for another use, expected the namespace 'datasetfs'"
text datasetfs ecdsa statement >bad
forged signatures two bad
refused "which is not allowed"
text datasetfs rsa statement >bad
forged signatures two bad
refused "its key is of another kind than ssh-ed25519"
assert_fails 1 "its key is of another kind" datasetfsctl sign --key rsa signed two
sed 's/created 2023/created 2029/' statement >later
{ cat later; sed -n '/BEGIN/,$p' good; } >bad
forged signatures two bad
refused "the signature is not of this statement"

say "signatures that are none"
head -c -60 good >bad
forged signatures two bad
refused "the end of the last one is missing"
sed '/BEGIN/d' good >bad
forged signatures two bad
refused "the beginning of the last one is missing"
sed '/BEGIN/p' good >bad
forged signatures two bad
refused "it is not base64, or too long"
{ cat good; cat statement; } >bad
forged signatures two bad
datasetfsctl verify --trust "$PWD/signers" volume two >out || fail "what follows a good one: $(<out)"
sed 's/^block-sums.*/&\n&/' good >bad
forged signatures two bad
refused "its line 'label' is malformed"
tr '\n' '\0' <good >bad
forged signatures two bad
refused "missing"
{ head -n 7 good; printf -- '-----BEGIN SSH SIGNATURE-----\n'; seq 1 2000; } >bad
forged signatures two bad
refused "the end of the last one is missing"
seq 1 100000 >lines
forged signatures two lines
refused "and have 1 to 16384"
assert_fails 1 "has more than 16384 bytes" datasetfsctl sign signed two --attach lines

say "a file of signers"
cp signed volume
{ seq -f '# %.0f' 1 100000; allowed ed25519; } >signers
datasetfsctl verify --trust "$PWD/signers" volume >out || fail "a file of 100,000 lines: $(<out)"
seq -f 'nobody%.0f ssh-ed25519 AAAA' 1 100000 >signers
refused "bytes, expected at most 1048576"
{ seq -f '# %.0f' 1 1000; echo "nobody ssh-ed25519 AAAA"; allowed ed25519; } >signers
refused "line 1001 is malformed"
allowed ed25519 >signers
chmod o+w signers
refused "'$PWD/signers' has the mode 0646, so others may write it"
chmod o-w signers
mkdir loose
allowed ed25519 >loose/signers
chmod 777 loose
rm signers
ln -s loose/signers signers
refused "'$PWD/loose' has the mode 0777, so others may write it"
chmod 755 loose
datasetfsctl verify --trust "$PWD/signers" volume >out || fail "a link: $(<out)"
rm signers
mkfifo -m 600 signers
refused "is no regular file"
rm signers
refused "cannot open '$PWD/signers': No such file"
ln -s signers signers
refused "'$PWD/signers' is one link too many"
rm signers
mkdir -p deep/er
ln -s ../er/./../../loose deep/er/step
ln -s deep/er/step//signers signers
(cd deep && datasetfsctl verify --trust "../signers" ../volume) >out || fail "links, relative: $(<out)"
# refused_at PATH TEXT [FILE]: verify with this file of signers, and of revoked keys, cannot say
refused_at() {
    local rc=0
    datasetfsctl verify --trust "$1" ${3:+--revoked "$3"} volume >out 2>&1 || rc=$?
    assert_eq "status: $(<out)" $rc 2
    assert_contains "verify" "$(<out)" "$2"
}
refused_at "" "is no path"
refused_at "$(printf '%05000d' 0)" "a path of 5000 bytes is too long"
refused_at "$(printf '%0300d' 0)" "File name too long"
rm signers
allowed ed25519 >signers
chmod 644 signers
ln -s . here
forty=$(printf 'here/%.0s' {1..40})
datasetfsctl verify --trust "$forty/signers" volume >out || fail "40 links: $(<out)"
refused_at "here/$forty/signers" "'$PWD/here' is one link too many"
need_root
chown 65534 signers
refused "'$PWD/signers' belongs to user 65534, expected root"
chown 0 signers

say "links that others can exchange, to files that only root can change"
mkdir of-user sticky
chmod 1777 sticky
ln -s "$PWD/signers" of-user/signers
ln -s "$PWD" of-user/folder
ln -s "$PWD/signers" sticky/of-root
ln -s "$PWD/signers" sticky/of-user
ln -s "$PWD/of-user/folder/signers" by-two
: >empty
ln -s "$PWD/empty" of-user/revoked
ln -s "$PWD/sticky/of-user" by-sticky
chown -h 65534 sticky/of-user of-user
datasetfsctl verify --trust sticky/of-root volume >out || fail "a link of root's in a sticky folder: $(<out)"
for path in of-user/signers of-user/folder/signers by-two of-user/../signers; do
    refused_at $path "'$PWD/of-user' belongs to user 65534, expected root"
done
for path in sticky/of-user by-sticky; do
    refused_at $path "'$PWD/sticky/of-user' belongs to user 65534, expected root"
done
refused_at signers "'$PWD/of-user' belongs to user 65534, expected root" of-user/revoked
