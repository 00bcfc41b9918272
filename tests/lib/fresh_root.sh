# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A root of the Debian release of this machine with nothing but its base, from the package archive that apt uses here.

# fresh_sources: lines for sources.list, the Debian repositories of this machine
fresh_sources() {
    # shellcheck disable=SC2016
    apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v release="$(fresh_release)" '
            $2 ~ "^" release "(-updates|-security)?$" && $3 == "main" { print "deb", $0 }' | sort -u
}

fresh_release() {
    sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

# fresh_root FOLDER: made there; skipped where the archive does not answer
fresh_root() {
    local uri
    uri=$(fresh_sources | awk -v release="$(fresh_release)" '$3 == release { print $2; exit }')
    [ -n "$uri" ] || skip "apt has no repository of Debian $(fresh_release) here"
    debootstrap --variant=minbase "$(fresh_release)" "$1" "$uri" >debootstrap.log 2>&1 ||
        skip "debootstrap makes no root here: $(tail -n 1 debootstrap.log)"
    fresh_sources >"$1/etc/apt/sources.list"
    # How this machine reaches the archive.
    cp -R /etc/apt/apt.conf.d/. "$1/etc/apt/apt.conf.d"
    cp -L /etc/resolv.conf /etc/hosts "$1/etc"
}

# fresh_root_enter FOLDER: in a mount namespace of the caller
fresh_root_enter() {
    mount -t proc proc "$1/proc"
    mount -t sysfs sysfs "$1/sys"
}

# within COMMAND…: in the root, with nothing of the environment of the test but by what its processes are known
within() {
    # shellcheck disable=SC2154
    chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
        DEBIAN_FRONTEND=noninteractive DATASETFS_TEST_DIR="$DATASETFS_TEST_DIR" "$@"
}

# fresh_root_install PACKAGE… DEPENDS: packages, and what a line 'Depends' names
fresh_root_install() {
    {
        within apt-get update -q && within apt-get install -q -y --no-install-recommends "${@:1:$#-1}" &&
            within apt-get satisfy -q -y --no-install-recommends "${@: -1}"
    } >packages.log 2>&1 || fail "packages of the fresh root: $(tail -n 5 packages.log)"
}

# traces FOLDER: every path with its attributes and contents, but for the records of apt and dpkg, what they cache, and
# the notes of mount(8)
traces() {
    (cd "$1" && find . -xdev \( -path ./proc -o -path ./run/mount -o -path ./var/log -o -path ./var/lib/dpkg \
        -o -path ./var/lib/apt -o -path ./var/cache -o -path ./data -o -path ./tmp \) -prune \
        -o -printf '%P %y %m %U %G %l\n' -type f -exec sha256sum {} + | LC_ALL=C sort)
}
