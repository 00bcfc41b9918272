#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once in=none timeout=3600
# The Debian packages of this tree and of a later release: lintian is content, and a second build gives the same bytes.
# In a fresh root they are installed and used in every way; an upgrade moves mounts; after the purge nothing is left.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$DATASETFS_SOURCE/tests/lib/fresh_root.sh"
root=$PWD/root
packages=(datasetfs datasetfs-csi datasetfs-slurm libdatasetfs0 libdatasetfs-dev python3-datasetfs)
release=$(sed -nE "s/^  version: '([^']+)',$/\1/p" "$DATASETFS_SOURCE/meson.build")
next=${release%.*}.$((${release##*.} + 1))

# debs FOLDER: what is installed of those that were built there
debs() {
    local name
    for name in "${packages[@]}"; do
        ls "$1/$name"_*.deb
    done
}

# needs FOLDER: what its packages depend on and recommend, but for each other
needs() {
    local deb
    for deb in $(debs "$1"); do
        dpkg-deb -f "$deb" Depends Recommends
    done | sed 's/^[A-Z][a-z]*: //' | tr , '\n' | grep -vE '^ *(libdatasetfs0|datasetfs( |$)|$)' | paste -sd,
}

# install FOLDER COMMAND…: its packages, in the root
install() {
    local names
    mapfile -t names < <(debs "$1" | sed 's,.*/,/debs/,')
    within "${@:2}" "${names[@]}" >install.log 2>&1 || fail "${*:2} ${names[*]}: $(tail -n 20 install.log)"
}

# build TREE FOLDER
build() {
    "$1/contrib/packaging/build-deb" "$2" >"$2.log" 2>&1 || fail "build-deb: $(cat "$2.log")"
    assert_eq "packages that were built" "$(debs "$2" | wc -l)" ${#packages[@]}
}

# copy_tree FOLDER: our own, so that it stays as it is while packages are built
copy_tree() {
    mkdir -p "$1"
    {
        project_files
        (cd "$DATASETFS_SOURCE" && find . -path './build*' -prune -o -type l -printf '%P\n')
    } | tar -C "$DATASETFS_SOURCE" -cf - --files-from=- | tar -C "$1" -xf -
}

# later_release: this tree without git, as a release archive has it, with the next number
later_release() {
    copy_tree next
    sed -i "s/^  version: '$release',$/  version: '$next',/" next/meson.build
    sed -i "0,/^## /s/^## /## $next, 2030-01-01\n\n- A release that the test made.\n\n## /" next/CHANGELOG.md
}

# check_packages FOLDER: lintian finds nothing, and no maintainer's script starts or stops a unit
check_packages() {
    local script
    # --fail-on would fail for what is overridden, too; --allow-root: it complains of a root that runs it.
    lintian --allow-root --display-experimental --display-info --pedantic "$1"/*.changes >"$1.lintian" 2>&1 ||
        fail "lintian: $(cat "$1.lintian")"
    assert_eq "lintian" "$(cat "$1.lintian")" ""
    mkdir "$1.control"
    dpkg-deb -e "$(debs "$1" | head -n 1)" "$1.control"
    for script in "$1.control"/{pre,post}{inst,rm}; do
        [ ! -e "$script" ] || ! grep -nE '(systemctl|deb-systemd-invoke|invoke-rc.d).*(start|stop)' "$script" ||
            fail "$script touches units"
    done
}

# use RELEASE: every way to a data set, of the packages that are installed
use() {
    local program
    for program in datasetfs datasetfsctl datasetfs-csi datasetfs-exporter datasetfs-run mkdatasetfs; do
        assert_eq "$program --version" "$(within $program --version)" "$program $1"
    done
    rm -f "$root/data/volume"
    within mkdatasetfs --progress none /data/volume /data/tree >pack.log
    within mount -t datasetfs /data/volume /mnt
    compare "$root/data/tree" "$root/mnt"
    assert_eq "who serves" "$(stats "$root/mnt" release)" "$1"
    assert_eq "datasetfs-run" "$(within datasetfs-run cat /mnt/stdio.h | sha256sum)" "$(sha256sum <"$root/mnt/stdio.h")"
    assert_eq "python3-datasetfs" "$(within python3 -c 'if True:
        import datasetfs, datasetfs.library, importlib.metadata
        assert datasetfs.read("/mnt/stdio.h") == open("/data/tree/stdio.h", "rb").read()
        print(importlib.metadata.version("datasetfs"), datasetfs.library.calls().__name__,
              *importlib.metadata.entry_points(group="fsspec.specs").names)')" "$1 datasetfs._fast datasetfs"
    within sh -c 'cd /data && cc -Wall -Werror $(pkg-config --cflags datasetfs) program.c -o shared \
        $(pkg-config --libs datasetfs) && cc -static program.c -o static $(pkg-config --static --libs datasetfs)' \
        2>compile.log || fail "libdatasetfs-dev: $(cat compile.log)"
    assert_eq "the shared library" "$(within /data/shared /mnt | sha256sum)" \
        "$({ echo "$1"; cat "$root/mnt/stdio.h"; } | sha256sum)"
    assert_eq "the static library" "$(within /data/static /mnt | sha256sum)" \
        "$({ echo "$1"; cat "$root/mnt/stdio.h"; } | sha256sum)"
    within umount /mnt
    cp "$root/etc/fstab" fstab
    echo "/data/volume /mnt datasetfs ro 0 0" >"$root/etc/fstab"
    within mount /mnt
    cmp "$root/data/tree/stdio.h" "$root/mnt/stdio.h" || fail "the mount by fstab"
    within umount /mnt
    cp fstab "$root/etc/fstab"
    assert_contains "datasetfs.8" "$(zcat "$root/usr/share/man/man8/mount.datasetfs.8.gz" | head -n 5)" "datasetfs $1"
    within bash -c '. /usr/share/bash-completion/completions/datasetfsctl; complete -p datasetfsctl' >/dev/null ||
        fail "completion"
}

# serving_process: who serves the mount below the root
serving_process() {
    within sh -c 'for p in /proc/[0-9]*; do
        case $(readlink $p/exe) in /usr/bin/datasetfs*) grep -zqx /mnt $p/cmdline && echo ${p#/proc/}; esac
    done' | sort -n | head -n 1
}

# upgrade: with a mount that is served
upgrade() {
    local process
    within mount -t datasetfs /data/volume /mnt
    process=$(serving_process)
    [ -n "$process" ] || fail "nobody serves the mount"
    mkdir "$root/run/systemd/system"
    printf '#!/bin/sh\necho "$*" >>/data/called\n' >"$root/usr/local/bin/systemctl"
    chmod +x "$root/usr/local/bin/systemctl"
    install next-debs dpkg -i # apt would look for commands in its own PATH
    rm -r "$root/usr/local/bin/systemctl" "$root/run/systemd/system"
    assert_eq "what the upgrade asked of systemd" "$(grep -v 'daemon-reload$' "$root/data/called")" ""
    assert_contains "postinst" "$(<install.log)" "'/mnt' goes on with the installed program"
    assert_eq "who serves after the upgrade" "$(serving_process)" "$process"
    assert_eq "its release" "$(stats "$root/mnt" release)" "$next"
    assert_eq "its program" "$(stats "$root/mnt" program_is_old)" false
    compare "$root/data/tree" "$root/mnt"
    say "a mount of datasetfs $release (process $process) is served by $next"
    within umount /mnt
    wait_end "$process" || fail "the daemon of the old release runs on"
}

# other_traces FILE: those of before or after, but for the files of groups
other_traces() {
    grep -vE '(^|\./)etc/(group-?|gshadow-?|\.pwd\.lock)( |$)' "$1"
}

# inside: in a mount namespace of our own
inside() {
    fresh_root_enter "$root"
    mknod -m 666 "$root/dev/fuse" c 10 229
    mkdir "$root/debs" "$root/data"
    cp "$DATASETFS_SOURCE/tests/packaging/program.c" "$root/data"
    cp debs/*.deb next-debs/*.deb "$root/debs"
    fresh_root_install gcc libc6-dev pkg-config python3 "$(needs debs)"
    cp -R "$root/usr/include" "$root/data/tree"
    mkdir -p "$root/run/systemd" # systemd may be among what they need
    traces "$root" >before
    install debs apt-get install -q -y
    assert_eq "the folder of shared mounts" "$(within stat -c '%U %G %a' /run/datasetfs/attach)" "root datasetfs 710"
    assert_eq "the folder for cache=" "$(within stat -c '%U %G %a' /var/cache/datasetfs)" "root root 700"
    use "$release"
    say "installed and used: $(within datasetfs --version)"
    upgrade
    use "$next"
    say "upgraded and used"
    touch "$root/var/cache/datasetfs/format"
    within apt-get purge -q -y "${packages[@]}" >purge.log 2>&1 || fail "purge: $(tail -n 20 purge.log)"
    traces "$root" >after
    # A group stays, as Debian wants it: files may have its number.
    assert_contains "the group" "$(cat "$root/etc/group")" datasetfs
    diff <(other_traces before) <(other_traces after) ||
        fail "the packages left something behind, or took something away"
    assert_eq "what dpkg knows" "$(grep -rls --exclude=status-old datasetfs "$root/var/lib/dpkg" || true)" ""
    say "$(wc -l <after) paths as before"
}

if [ "${1:-}" = inside ]; then
    inside
    exit 0
fi
need_root
need_mount
need_fuse
need_command debootstrap dpkg-buildpackage dh lintian
need_space 4000
# A checkout where this is one.
git clone -q "$DATASETFS_SOURCE" tree 2>clone.log || cat clone.log
copy_tree tree
build tree "$PWD/debs"
check_packages debs
say "lintian: $(ls debs/*.changes)"
build tree "$PWD/again"
for deb in debs/*.deb; do
    cmp "$deb" "again/${deb##*/}" || fail "a second build gives other bytes"
done
say "the same bytes again"
later_release
build next "$PWD/next-debs"
fresh_root "$root"
"$LIB/mount-namespace" "$0" inside
