#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Setuid and setgid bits are stored, but a mount shows them only to who asked:
# an overlay above it has no nosuid of its own.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root

mkdir -p source/{plain,group,sticky,both}
for mode in 0755 4755 2755 6755 1755 7777; do
    cp "$(command -v id)" source/file$mode
    chown 65534:65534 source/file$mode
    chmod $mode source/file$mode
done
ln -s file4755 source/link
chmod 2775 source/group
chmod 1777 source/sticky
chmod 3777 source/both
chmod 2775 source
pack volume source --label v1
hidden="plain 755, group 775, sticky 1777, both 1777, "
hidden+="file0755 755, file4755 755, file2755 755, file6755 755, file1755 1755, file7777 1777, . 775"
stored="plain 755, group 2775, sticky 1777, both 3777, "
stored+="file0755 755, file4755 4755, file2755 2755, file6755 6755, file1755 1755, file7777 7777, . 2775"

# modes DIRECTORY: by LOOKUP, one name after the other, and GETATTR
modes() {
    (cd "$1" && stat -c '%n %a' plain group sticky both file* .) | sort >modes
    # in the order of the text above
    local name
    for name in plain group sticky both file0755 file4755 file2755 file6755 file1755 file7777 .; do
        grep -F "$name " modes | grep "^$name "
    done | paste -sd , | sed 's/,/, /g'
}

# listed DIRECTORY: by READDIRPLUS, of a mount where nobody looked anything up
listed() {
    (cd "$1" && find . -maxdepth 1 ! -type l -printf '%P %m\n') | sed 's/^ /. /' | sort >found
    join -j 1 <(tr ',' '\n' <<<"$2" | sed 's/^ //' | sort) found | awk '$2 != $3 { print }'
    [ "$(wc -l <found)" = 11 ] || echo "$(wc -l <found) found"
}

# shows MODES OPTIONS…: everywhere
shows() {
    mount_volume volume mnt "${@:2}"
    assert_eq "listed with ${*:2}" "$(listed mnt "$1")" ""
    assert_eq "listed below versions with ${*:2}" "$(listed mnt/.datasetfs/versions/v1 "$1")" ""
    unmount mnt
    mount_volume volume mnt "${@:2}"
    assert_eq "looked up below versions with ${*:2}" "$(modes mnt/.datasetfs/versions/v1)" "$1"
    assert_eq "looked up with ${*:2}" "$(modes mnt)" "$1"
    assert_contains "what the volume says with ${*:2}" "$(datasetfsctl stat mnt/file6755)" "mode 6755"
    compare source mnt
}

# flag: what the kernel enforces itself
flag() {
    awk -v at="$PWD/mnt" '$2 == at {
        print $4 ~ /(^|,)nosuid(,|$)/ ? "nosuid" : "suid", $4 ~ /(^|,)nodev(,|$)/ ? "nodev" : "dev" }' /proc/mounts
}

# runs_as DIRECTORY: who the program with the setuid bit is, run by root
runs_as() {
    "$1/file4755" -u
}

# over_overlay: the same above the mount
over_overlay() {
    mkdir -p upper work merged
    mount -t overlay overlay -o "lowerdir=mnt,upperdir=upper,workdir=work" merged 2>/dev/null || { echo none; return; }
    at_exit umount merged
    runs_as merged
    umount merged
}

say "unless asked"
for options in "" nosuid suid,nosuid; do
    shows "$hidden" ${options:+-o $options}
    assert_eq "the kernel's flags with '$options'" "$(flag)" "nosuid nodev"
    assert_eq "the program with '$options'" "$(runs_as mnt)" 0
    [[ $(over_overlay) =~ ^(0|none)$ ]] || fail "through an overlay with '$options' the program is somebody else"
    cp -a mnt/file6755 mnt/both . && assert_eq "a copy" "$(stat -c %a file6755 both | paste -sd ' ')" "755 1777"
    rm -r file6755 both
    unmount mnt
done

say "asked"
for options in suid allow_suid nosuid,suid; do
    shows "$stored" -o $options
    assert_eq "the kernel's flags with $options" "$(flag)" "suid nodev"
    assert_eq "the program with $options" "$(runs_as mnt)" 65534
    [[ $(over_overlay) =~ ^(65534|none)$ ]] || fail "through an overlay with '$options' the program is root"
    unmount mnt
done

say "by a user"
chmod 777 .
for word in suid allow_suid; do
    assert_fails 2 "mount option '$word': only root may ask for it" \
        as_user "$(command -v datasetfs)" -o $word volume mnt
done

say "without a mount"
datasetfsctl verify volume >/dev/null || fail "verify"
datasetfsctl dump volume | grep -q ' f 6755 65534 65534 .* file6755$' || fail "dump"
