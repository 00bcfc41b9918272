#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once timeout=1800
# contrib/packaging/datasetfs.spec agrees with the tree: rpmbuild makes packages of what this build installs, each file
# is in one, and what meson asks for is among the BuildRequires. With --all the packages are built as build-rpm builds
# them, with Debian's rpmbuild, and used in a fresh root.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$DATASETFS_SOURCE/tests/lib/fresh_root.sh"
packaging=$DATASETFS_SOURCE/contrib/packaging
build_rpm=$packaging/build-rpm
root=$PWD/root
# inside: in a mount namespace of our own
inside() {
    fresh_root_enter "$root"
    mknod -m 666 "$root/dev/fuse" c 10 229
    mkdir "$root/rpms" "$root/data"
    cp built/*.rpm "$root/rpms"
    # rpmbuild knows libraries by their names, and Debian's packages have these.
    fresh_root_install rpm fuse3 systemd "libblkid1, libfuse3-3, liblmdb0, libnvme1, libssl3, liburing2, libxxhash0,
        libzstd1, libarchive13, libexpat1, libjson-c5, libncursesw6, libmicrohttpd12, libnghttp2-14"
    within sh -c 'rpm --initdb && rpm --force-debian --nodeps -i /rpms/*.rpm' >install.log 2>&1 ||
        fail "rpm -i: $(cat install.log)"
    within getent group datasetfs >/dev/null || fail "no group 'datasetfs', which the exporter's unit needs"
    cp -R "$DATASETFS_SOURCE/src" "$root/data/tree"
    within mkdatasetfs --progress none /data/volume /data/tree >pack.log
    within mount -t datasetfs /data/volume /mnt
    compare "$root/data/tree" "$root/mnt"
    assert_eq "datasetfs-run" "$(within datasetfs-run cat /mnt/main.c | sha256sum)" "$(sha256sum <"$root/mnt/main.c")"
    for program in datasetfsctl datasetfs-csi datasetfs-exporter; do within $program --version; done
    within umount /mnt
    within sh -c 'rpm --force-debian -e $(rpm -qa)' >erase.log 2>&1 || fail "rpm -e: $(cat erase.log)"
    assert_eq "what is left" "$(cd "$root" && find usr etc -name '*datasetfs*')" ""
}
if [ "${1:-}" = inside ]; then
    inside
    exit 0
fi

assert_fails 2 "expected OUT before '--nodeps', see 'contrib/packaging/build-rpm --help'" "$build_rpm" --nodeps

# asked: the libraries of meson.build, with the versions, as the spec names them; not those of tests and of Slurm's site
asked() {
    (cd "$DATASETFS_SOURCE" && grep -h "^[a-z0-9_]* = dependency('" meson.build tools/meson.build tools/*/meson.build \
        2>/dev/null) | sed -nE "s/^[^(]*\('([^']+)'(, version: \[?'(>= [^']+)')?.*/pkgconfig(\1) \3/p" |
        sed 's/ $//' | grep -v '(threads)' | sort
}
[ "$(asked | wc -l)" -ge 12 ] || fail "meson.build asks for $(asked)"
sed -n 's/^BuildRequires: \(pkgconfig.*\)/\1/p' "$packaging/datasetfs.spec" | sort | diff <(asked) - ||
    fail "the spec has other BuildRequires than meson.build has dependencies"

need_command rpmbuild rpm
# In place of meson, so that nothing is compiled: the files of this build.
mkdir bin
cat >bin/meson <<'END_MESON'
#!/bin/bash
set -e
case $1 in
setup|compile) ;;
install) cp -a "$DATASETFS_BUILD/root/." "$DESTDIR" ;;
esac
END_MESON
chmod +x bin/meson
libdir=$(dirname "$(find "$DATASETFS_BUILD/root/usr/lib" -name libdatasetfs.a)")
units=$(dirname "$(find "$DATASETFS_BUILD/root" -name datasetfs-csi.service)")
[ "$units" != . ] || skip "built without libnghttp2"
as_built=(--nodeps --define "_libdir ${libdir#"$DATASETFS_BUILD/root"}"
    --define "_unitdir ${units#"$DATASETFS_BUILD/root"}")
with=()
[ ! -e "$libdir/slurm" ] || with=(--with slurm)
PATH=$PWD/bin:$PATH "$build_rpm" "$PWD/rpms" "${as_built[@]}" "${with[@]}" >build.log 2>&1 ||
    fail "build-rpm: $(cat build.log)"
rpms=(rpms/*.rpm)
[ ${#rpms[@]} = $((4 + ${#with[@]} / 2)) ] || fail "packages: ${rpms[*]}"
say "${rpms[*]##*/}"
rpm -qp --requires rpms/datasetfs-csi-0* 2>/dev/null | grep -q '^datasetfs(.*) = ' ||
    fail "datasetfs-csi requires $(rpm -qp --requires rpms/datasetfs-csi-0*)"
assert_contains "the helper of mount(8)" "$(rpm -qpl rpms/datasetfs-0* 2>/dev/null)" "/usr/sbin/mount.datasetfs"

[ "$DATASETFS_FULL" = 1 ] || exit 0
need_root
need_mount
need_fuse
need_command debootstrap meson
need_space 2000
"$build_rpm" "$PWD/built" --nodeps >built.log 2>&1 || fail "build-rpm: $(cat built.log)"
say "$(cat built.log)"
fresh_root "$root"
"$LIB/mount-namespace" "$0" inside
