#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Metadata of a version: what --meta takes, that it makes another version, that digest and signatures cover it, that no
# source can give it, and how it is shown, even if it is hostile. For mounts: fuse/meta.sh.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

# meta LABEL [VOLUME]: as describe has it
meta() {
    datasetfsctl describe --json "${2:-v}" "$1" | json version.meta
}

# attributes LABEL [VOLUME]: of the root, as the index has them
attributes() {
    datasetfsctl dump "${2:-v}" "$1" | awk '$2 == "d" && $1 == 1 { root = 1; next } $1 != "x" { root = 0 }
        root { print $2 "=" $3 }' | tr '\n' ' '
}

# publish OPTIONS…: its summary is in out
publish() {
    mkdatasetfs --progress none --json "$@" >out 2>err || fail "$*: $(cat err)"
}

mkdir source
echo content >source/file

say "a version has what was said, in any order, and inherits nothing"
publish --label plain v source
publish --label said --meta licence=CC-BY-4.0 --meta description="Cats = dogs, naïve" v source
assert_eq "identical" "$(json identical_to out)" None
publish --label again --meta description="Cats = dogs, naïve" --meta licence=CC-BY-4.0 v source
assert_eq "identical" "$(json identical_to out)" said
publish --label other --meta licence=MIT v source
assert_eq "identical" "$(json identical_to out)" None
publish --label none v source
assert_eq "identical" "$(json identical_to out)" plain
assert_eq "said" "$(meta said)" '{"description": "Cats = dogs, na\u00efve", "licence": "CC-BY-4.0"}'
assert_eq "none" "$(meta none)" '{}'
assert_eq "attributes" "$(attributes other)" "user.datasetfs.licence=MIT "
assert_eq "digests" "$(datasetfsctl list --json v | grep -o '"digest": "[^"]*"' | sort -u | wc -l)" 3
assert_contains "stat" "$(datasetfsctl stat --version=other v /)" "user.datasetfs.licence"
publish --no-current --label chunked --meta licence=MIT --compress zstd --order random v source
assert_eq "identical, however it is stored" "$(json identical_to out)" other

say "what list and describe show"
publish --label lines --meta lines=$'one\n\ttwo' --meta quote="it's \"so\" \\" v source
datasetfsctl list --verbose v >out
assert_eq "the table" "$(sed -n '/^LABEL  *KEY/,/^$/p' out | tr -s ' ' | sort)" "$(sort <<'END'

LABEL KEY VALUE
again description Cats = dogs, naïve
again licence CC-BY-4.0
chunked licence MIT
lines lines one\x0a\x09two
lines quote it's "so" \
other licence MIT
said description Cats = dogs, naïve
said licence CC-BY-4.0
END
)"
datasetfsctl list --verbose v other >out
assert_eq "of one version" "$(sed -n '/^LABEL  *KEY/,/^$/p' out | wc -l)" 3
datasetfsctl list v >out
! grep -q VALUE out || fail "list shows it unasked: $(cat out)"
! datasetfsctl list --json v | grep -q '"meta"' || fail "list --json shows it unasked"
datasetfsctl list --json --verbose v >out
assert_eq "list --json" "$(json versions.0.meta out) $(json versions.3.meta out)" '{} {"licence": "MIT"}'
datasetfsctl describe v lines >out
assert_eq "describe" "$(grep ^metadata out)" 'metadata     lines=one\x0a\x09two
metadata     quote=it'"'"'s "so" \'
assert_eq "as JSON" "$(meta lines)" '{"lines": "one\n\ttwo", "quote": "it'"'"'s \"so\" \\"}'
datasetfsctl describe --diff said v other >out
assert_eq "--diff" "$(grep -c ^metadata out) $(grep -c '/  (xattrs)' out)" "3 1"
datasetfsctl describe --json --diff said v other >out
assert_eq "--diff --json" "$(json from.meta.licence out) $(json to.meta.licence out)" "CC-BY-4.0 MIT"

say "an index that cannot be read"
cp v damaged
at=$(datasetfsctl list --json damaged other | json versions.0.index.0.offset)
printf damage | dd of=damaged bs=1 seek=$((at + 5000)) conv=notrunc status=none
datasetfsctl list --json --verbose damaged >out 2>err || fail "list of a damaged index"
assert_eq "what is known" "$(json versions.3.meta out) $(json versions.1.meta.licence out)" "None CC-BY-4.0"
assert_contains "the warning" "$(cat err)" "the metadata of version 'other' is not known: "

say "no source can give it, and options for attributes do not concern it"
python3 - <<'END'
import tarfile
with tarfile.open("forged.tar", "w", format=tarfile.PAX_FORMAT) as archive:
    for name, kind in (".", tarfile.DIRTYPE), ("sub", tarfile.DIRTYPE), ("sub/file", tarfile.REGTYPE):
        member = tarfile.TarInfo(name)
        member.type, member.mode = kind, 0o755
        member.pax_headers = {f"SCHILY.xattr.user.{key}": "forged" for key in (
            "a", "datasetfs", "datasetfs.", "datasetfs.licence", "datasetfs.zone", "datasetfz", "zone")}
        archive.addfile(member)
END
kept="user.a=forged user.datasetfs=forged"
rest="user.datasetfz=forged user.zone=forged "
# from WHAT SOURCE
from() {
    rm -f w
    publish --label bare w "$2"
    publish --label all --meta licence=MIT --meta date=today w "$2"
    publish --label none --no-xattrs --meta licence=MIT w "$2"
    publish --label some --xattrs-include user.a --meta licence=MIT w "$2"
    publish --label rest --xattrs-exclude '*' --xattrs-include user.a --meta licence=MIT w "$2"
    assert_eq "$1: bare" "$(attributes bare w)" "$kept $rest"
    assert_eq "$1: all" "$(attributes all w)" "$kept user.datasetfs.date=today user.datasetfs.licence=MIT $rest"
    assert_eq "$1: none" "$(attributes none w)" "user.datasetfs.licence=MIT "
    assert_eq "$1: some" "$(attributes some w)" "user.a=forged user.datasetfs.licence=MIT "
    assert_eq "$1: rest" "$(attributes rest w)" "user.datasetfs.licence=MIT "
    ! datasetfsctl dump w all | grep -E '^ x user.datasetfs\.' | grep -v 'date today\|licence MIT' ||
        fail "$1: attributes of the source"
    datasetfsctl verify w >/dev/null || fail "$1: verify"
    datasetfsctl list --json w | grep -o '"digest": "[^"]*"' >"digests.$1"
}
from archive forged.tar
mkdir folder
if setfattr -n user.a -v forged folder 2>/dev/null; then
    need_command tar
    tar -C folder --xattrs --xattrs-include='user.*' -xf forged.tar
    assert_eq "attributes unpacked" "$(python3 -c 'import os; print(len(os.listxattr("folder/sub/file")))')" 7
    from folder folder
    ! is_root || diff digests.archive digests.folder || fail "a folder gives other versions"
    publish --label trusted --trust-mtime=all --meta date=today --meta licence=MIT w folder
    assert_eq "--trust-mtime" "$(json identical_to out)" all
fi
datasetfsctl export tar w all exported.tar >/dev/null
publish x exported.tar
assert_eq "what was exported" "$(attributes v1 x)" "$kept $rest"

say "a root that no archive names does not share it with other folders"
python3 - <<'END'
import tarfile
with tarfile.open("implied.tar", "w") as archive:
    archive.addfile(tarfile.TarInfo("folder/sub/file"))
END
rm -f x
publish --meta licence=MIT x implied.tar
assert_eq "attributes" "$(attributes v1 x) $(datasetfsctl dump x | grep -c '^ x ')" "user.datasetfs.licence=MIT  1"
publish --meta licence=MIT --allow-empty --exclude '*' --label empty x implied.tar
assert_eq "of an empty version" "$(meta empty x)" '{"licence": "MIT"}'

say "what is no metadata"
for bad in \
    "licence|'licence' has no '=', expected KEY=VALUE" \
    "|'' has no '=', expected KEY=VALUE" \
    "=MIT|a key of 0 bytes, expected 1 to 64" \
    "$(printf 'k%.0s' {1..65})=MIT|a key of 65 bytes, expected 1 to 64" \
    "the licence=MIT|key 'the licence': expected letters, digits and ._- and no . or - at the start" \
    ".licence=MIT|key '.licence': expected letters" \
    "-licence=MIT|key '-licence': expected letters" \
    "a/b=MIT|key 'a/b': expected letters" \
    "é=MIT|key 'é': expected letters" \
    "licence=|the value of 'licence': it is empty, expected text" \
    "licence="$'\xff'"|the value of 'licence': it has a byte 0xff that is not UTF-8" \
    "licence=a"$'\r'"|the value of 'licence': it has the control character U+000D, expected text, tabs and newlines" \
    "licence="$'\e[31m'"|the value of 'licence': it has the control character U+001B" \
    "licence="$'\xc2\x9b'"31m|the value of 'licence': it has the control character U+009B"; do
    assert_fails 2 "option '--meta': ${bad##*|}" mkdatasetfs --meta "${bad%|*}" v source
done
assert_fails 2 "option '--meta': the key 'a' is given twice" mkdatasetfs --meta a=1 --meta b=2 --meta a=1 v source
long=$(head -c 40000 /dev/zero | tr '\0' x)
assert_fails 2 "option '--meta': all metadata takes more than 65536 bytes" \
    mkdatasetfs --meta a="$long" --meta b="$long" v source
python3 - <<'END'
import tarfile
with tarfile.open("large.tar", "w", format=tarfile.PAX_FORMAT) as archive:
    member = tarfile.TarInfo(".")
    member.type, member.mode = tarfile.DIRTYPE, 0o755
    member.pax_headers = {"SCHILY.xattr.user.large": "x" * 40000}
    archive.addfile(member)
    archive.addfile(tarfile.TarInfo("file"))
END
before=$(datasetfsctl list --json v | json versions)
assert_fails 1 "the attributes of the top folder and --meta take more than 65536 bytes: --no-xattrs" \
    mkdatasetfs --progress none --meta a="$long" v large.tar
assert_eq "versions" "$(datasetfsctl list --json v | json versions)" "$before"
publish --no-xattrs --label long --meta a="$long" --meta "$(printf 'k%.0s' {1..64})=1" v large.tar
assert_eq "a long value" "$(meta long | wc -c)" 40083

say "compact keeps it"
datasetfsctl remove v plain >/dev/null
datasetfsctl compact v >/dev/null
assert_eq "attributes" "$(attributes other)" "user.datasetfs.licence=MIT "

say "hostile metadata is shown escaped"
rm -f x
publish --meta key-one=value=$'\t'X1XX2XX3X --meta key-two=value x source
forge() { "$DATASETFS_BUILD/tests/format/forge" x index "$@" || fail "forge"; }
forge X1XX2XX3X $'\e[31m\xff\xc2\x9b\x07'
forge key-one $'a\e"=\n\xff'b
datasetfsctl describe x | grep ^metadata >out
assert_eq "describe" "$(cat out)" 'metadata     a\x1b"\x3d\x0a\xffb=value=\x09\x1b[31m\xff\xc2\x9b\x07
metadata     key-two=value'
datasetfsctl list --verbose x >out
assert_contains "list" "$(cat out)" 'a\x1b"=\x0a\xffb  value=\x09\x1b[31m\xff\xc2\x9b\x07'
assert_eq "JSON" "$(meta v1 x)" '{"a\u001b\"=\n\udcffb": "value=\t\u001b[31m\udcff\u009b\u0007", "key-two": "value"}'
! datasetfsctl list --json --verbose x | LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f-\xff]' ||
    fail "JSON has control characters"

need_command ssh-keygen
say "signatures and digests cover it"
chmod go-w .
ssh-keygen -q -t ed25519 -N '' -C alice -f alice
echo "alice $(cut -d' ' -f1,2 alice.pub)" >signers
rm -f x
publish --sign alice --meta licence=CC-BY-4.0 x source
digest=$(json digest out)
datasetfsctl describe --trust "$PWD/signers" --digest "$digest" x >out 2>&1 || fail "a signed version: $(cat out)"
assert_contains "what is signed" "$(cat out)" "metadata     licence=CC-BY-4.0"
forge CC-BY-4.0 CC0-1.0xx
assert_eq "forged" "$(meta v1 x)" '{"licence": "CC0-1.0xx"}'
assert_fails 1 "the digest" datasetfsctl describe --trust "$PWD/signers" x
assert_fails 1 "the digest" datasetfsctl describe --digest "$digest" x
