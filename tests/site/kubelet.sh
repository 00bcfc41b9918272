#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once in=none timeout=5400
# A kubelet, an API server and containerd on a machine of its own, of this Debian release; the first two are built from
# its source package. The objects of contrib/kubernetes become pods: inline, of a PersistentVolume, as a job that may
# switch; 50 pods share one mount; a switch is seen inside; the plugin and daemons are killed; mistakes are events of
# the pod. A mount of the host's own, below a folder that a pod has by hostPath, comes back there after its daemon died.
# KUBERNETES=FOLDER: has the two programs, or gets them. LENGTH=N: so many pods instead of 50.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$DATASETFS_SOURCE/tests/lib/fresh_root.sh"
. "$DATASETFS_SOURCE/tests/lib/machine.sh"
need_root
need_fuse
need_filesystem overlay
need_command debootstrap ip nsenter pivot_root busybox openssl python3
need_python python3-yaml yaml
[ -e "$DATASETFS_BUILD/root/usr/bin/datasetfs-csi" ] || skip "built without libnghttp2"
need_space 8000
groups_of_pods() { find /sys/fs/cgroup -maxdepth 2 -name k8s.io; }
[ -z "$(groups_of_pods)" ] || skip "a containerd has its control groups here"
root=$PWD/root
built=${KUBERNETES:-$PWD/kubernetes}
count=$(length 50 50)
objects=$DATASETFS_SOURCE/contrib/kubernetes

# build_kubernetes: in the root, which has Go
build_kubernetes() {
    local tree=/build/src/k8s.io/kubernetes go
    mkdir -p "$root/build/src/k8s.io"
    sed 's/^deb /deb-src /' "$root/etc/apt/sources.list" >"$root/etc/apt/sources.list.d/sources.list"
    fresh_root_install golang-go golang-github-modern-go-reflect2-dev dpkg-dev xz-utils
    within sh -c 'cd /build && apt-get source -q kubernetes' >source.log 2>&1 ||
        skip "apt has no source package 'kubernetes': $(tail -n 1 source.log)"
    mv "$root"/build/kubernetes-*/ "$root$tree"
    # Older ones read maps in a way that Go has given up.
    rm -r "$root$tree/vendor/github.com/modern-go/reflect2"
    cp -rL "$root/usr/share/gocode/src/github.com/modern-go/reflect2" "$root$tree/vendor/github.com/modern-go/"
    go="cd $tree && export GO111MODULE=off CGO_ENABLED=0 GOPATH=/build GOFLAGS=-p=2 PWD=$tree &&"
    # The API server wants what the build would generate.
    within sh -c "$go go build -o /build/openapi-gen ./vendor/k8s.io/kube-openapi/cmd/openapi-gen &&
        /build/openapi-gen -h hack/boilerplate/boilerplate.generatego.txt -O zz_generated.openapi \
            -p k8s.io/kubernetes/pkg/generated/openapi -r /build/violations -i \"\$(
                grep -rl '^ *// *+k8s:openapi-gen=true' --include='*.go' pkg staging/src | grep -v _test.go |
                sed 's,/[^/]*\$,,; s,^pkg,k8s.io/kubernetes/pkg,; s,^staging/src,k8s.io/kubernetes/vendor,' |
                sort -u | paste -sd,)\" &&
        go build -tags providerless,dockerless -o /build ./cmd/kubelet ./cmd/kube-apiserver" >build.log 2>&1 ||
        fail "Kubernetes cannot be built: $(tail -n 20 build.log)"
    mkdir -p "$built"
    mv "$root"/build/kube{let,-apiserver} "$built"
    rm -rf "$root/build" "$root/root/.cache"
}

say "a machine"
fresh_root "$root"
fresh_root_enter "$root"
[ -x "$built/kubelet" ] && [ -x "$built/kube-apiserver" ] || build_kubernetes
fresh_root_install containerd runc containernetworking-plugins etcd-server kubernetes-client procps iproute2 mount \
    "libblkid1, libfuse3-3, liblmdb0, libnvme1, libssl3, liburing2, libxxhash0, libzstd1, libarchive13, libexpat1,
    libjson-c5, libncursesw6, libnghttp2-14"
umount "$root/sys" "$root/proc"
tar -C "$DATASETFS_BUILD/root" -cf - . | tar -C "$root" --keep-directory-symlink -xf -
cp "$built"/kube{let,-apiserver} "$root/usr/bin"
mkdir source
for i in {1..50}; do echo "file $i" >"source/$i"; done
pack train.dsfs source --label v1
echo new >source/new
pack train.dsfs source --label v2
mkdir -p "$root"/{etc/datasetfs,etc/containerd,etc/cni,srv,mnt/train}
cp train.dsfs "$root/srv"
cp train.dsfs "$root/srv/job.dsfs"
cat >"$root/etc/datasetfs/datasets.conf" <<END
train      /srv/train.dsfs
train-job  /srv/job.dsfs  control_group=2000
END
cat >"$root/etc/containerd/config.toml" <<END
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "docker.io/local/tools:1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni"
END
echo '{"cniVersion": "0.4.0", "name": "lo", "plugins": [{"type": "loopback"}]}' >"$root/etc/cni/lo.conflist"
cat >"$root/etc/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
oomScoreAdj: 0
failSwapOn: false
evictionHard: {memory.available: 1Mi}
imageGCHighThresholdPercent: 100
kubeAPIQPS: 100
kubeAPIBurst: 200
END
cat >"$root/etc/kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: d, context: {cluster: c, user: u}}]
current-context: d
END
echo 'secret,admin,admin,"system:masters"' >"$root/etc/tokens.csv"
openssl genrsa -out "$root/etc/accounts.key" 2048 2>/dev/null

# An image with busybox, as docker saves one; it also holds the pods' namespaces.
mkdir -p image/{bin,app,data,usr,lib,lib64,tmp}
cp "$(command -v busybox)" image/bin
for name in sh cat ls sleep stat grep touch; do ln -s busybox image/bin/$name; done
tar -C image --owner 0 --group 0 -cf layer.tar .
python3 - <<'END_PYTHON'
import hashlib, json, tarfile
layer = hashlib.sha256(open("layer.tar", "rb").read()).hexdigest()
config = {"Entrypoint": ["/bin/sleep", "1000000"], "Env": ["PATH=/bin:/usr/bin"]}
json.dump({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ["sha256:" + layer]},
           "config": config}, open("config.json", "w"))
json.dump([{"Config": "config.json", "RepoTags": ["local/tools:1"], "Layers": ["layer.tar"]}],
          open("manifest.json", "w"))
with tarfile.open("tools.tar", "w") as image:
    for name in ("manifest.json", "config.json", "layer.tar"):
        image.add(name)
END_PYTHON
cp tools.tar "$root/srv"

# no_groups: those of containers, which ended with the machine, are removed
no_groups() {
    find /sys/fs/cgroup -depth -type d -path '*/k8s.io*' -exec rmdir {} +
    [ -z "$(groups_of_pods)" ]
}
at_exit wait_for 20 no_groups
machine_begin "$root"
machine mount --make-rshared /

# begin NAME COMMAND…: a service of the machine, with its log
begin() {
    machine "${@:2}" >>"$1.log" 2>&1 </dev/null &
}
kubectl() { machine kubectl --kubeconfig /etc/kubeconfig "$@"; }
logs() { tail -n 15 ./*.log; }
plugin() { begin csi datasetfs-csi --node worker7; }

say "a cluster"
begin etcd etcd --data-dir /run/etcd
begin api kube-apiserver --etcd-servers http://127.0.0.1:2379 --service-cluster-ip-range 10.0.0.0/24 \
    --bind-address 192.0.2.1 --secure-port 6443 --cert-dir /run/certificates --token-auth-file /etc/tokens.csv \
    --authorization-mode AlwaysAllow --disable-admission-plugins ServiceAccount --allow-privileged \
    --kubelet-preferred-address-types InternalIP \
    --service-account-issuer https://test --service-account-key-file /etc/accounts.key \
    --service-account-signing-key-file /etc/accounts.key
begin containerd containerd
wait_for 60 kubectl get --raw /readyz || fail "no API server: $(logs)"
wait_for 60 machine ctr version || fail "no containerd: $(logs)"
machine ctr -n k8s.io images import /srv/tools.tar >import.log 2>&1 || fail "the image: $(cat import.log)"
machine mkdir -p /var/lib/kubelet
plugin
begin kubelet kubelet --config /etc/kubelet.yaml --kubeconfig /etc/kubeconfig --hostname-override worker7 \
    --node-ip 192.0.2.1 --container-runtime remote --container-runtime-endpoint unix:///run/containerd/containerd.sock \
    --runtime-cgroups / --kubelet-cgroups /
node_is_ready() {
    [ "$(kubectl get node worker7 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = True ]
}
wait_for 180 node_is_ready || fail "no node: $(logs)"
is_registered() { [ "$(kubectl get csinode worker7 -o 'jsonpath={.spec.drivers[*].name}')" = datasetfs.csi ]; }
wait_for 60 is_registered || fail "the driver is not registered: $(logs)"
cp -R "$objects" "$root/srv/objects"
kubectl apply -k /srv/objects >apply.log 2>&1 || fail "apply -k: $(cat apply.log)"
for file in inline-pod persistent-volume training-job; do
    validate=true
    [ $file != training-job ] || validate=false # this API server does not know completionMode yet
    kubectl apply --dry-run=server --validate=$validate -f "/srv/objects/$file.yaml" >apply.log 2>&1 ||
        fail "$file.yaml: $(cat apply.log)"
done

# pods FILE [CHANGE…]: its objects, for this machine: pods that run the image of the test. Of a job: the pod of its
# template. CHANGE: a statement of Python about 'pod'
pods() {
    python3 - "$@" <<'END_PYTHON'
import sys, yaml
def pod_of(found):
    return found["spec"]["template"] if found["kind"] == "Job" else found
for found in yaml.safe_load_all(open(sys.argv[1])):
    if found["kind"] in ("Pod", "Job"):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": found["metadata"], "spec": pod_of(found)["spec"]}
        pod["spec"] |= {"nodeName": "worker7", "hostNetwork": True, "terminationGracePeriodSeconds": 0}
        container = pod["spec"]["containers"][0]
        container |= {"image": "local/tools:1", "imagePullPolicy": "Never"}
        container.pop("command", None)
        for change in sys.argv[2:]:
            exec(change)
        found = pod
    if found["kind"] != "Service":
        print("---")
        print(yaml.safe_dump(found))
END_PYTHON
}
apply() { pods "$@" >apply.yaml && kubectl apply -f - <apply.yaml >apply.log 2>&1 || fail "apply: $(cat apply.log)"; }
# named NAME: a change of pods
named() { echo "pod['metadata']['name'] = '$1'"; }
# asks NAME=VALUE…: a change of an inline volume
asks() {
    local pair
    echo -n "pod['spec']['volumes'][-1]['csi']['volumeAttributes'] = {"
    for pair; do echo -n "'${pair%%=*}': '${pair#*=}',"; done
    echo "}"
}
phase() { kubectl get pod "$1" -o 'jsonpath={.status.phase}'; }
is_running() { [ "$(phase "$1")" = Running ]; }
runs() {
    wait_for 120 is_running "$1" || fail "pod $1 is '$(phase "$1")': $(kubectl describe pod "$1" | tail -n 15; logs)"
}
inside() { kubectl exec "$1" -- "${@:2}"; }
mounts() { machine datasetfsctl attached | grep -c "^'"; }
is_gone() { ! kubectl get pod "$1" >/dev/null 2>&1; }
delete() {
    local name
    kubectl delete pod --wait=false "$@" >/dev/null
    for name; do wait_for 240 is_gone "$name" || fail "pod $name stays: $(kubectl describe pod "$name"; logs)"; done
}
nothing_is_left() {
    [ -z "$(machine ls -A /run/datasetfs/attach 2>/dev/null)" ] && ! machine pgrep -x datasetfs >/dev/null
}

say "a pod with an inline volume"
apply "$objects/inline-pod.yaml"
runs training
assert_eq "content" "$(inside training cat /data/new)" new
assert_eq "version" "$(inside training cat /data/.datasetfs/version | json label /dev/stdin)" v2

say "a PersistentVolume, its claim and their pod"
apply "$objects/persistent-volume.yaml"
# Nothing binds the two here but us.
claim=$(kubectl get pvc train-v2 -o 'jsonpath={.metadata.uid}')
kubectl patch pv train-v2 -p \
    "{\"spec\": {\"claimRef\": {\"name\": \"train-v2\", \"namespace\": \"default\", \"uid\": \"$claim\"}}}" >/dev/null
for one in persistentvolumes/train-v2 namespaces/default/persistentvolumeclaims/train-v2; do
    kubectl get --raw /api/v1/$one | python3 -c 'import json, sys
found = json.load(sys.stdin)
found["status"]["phase"] = "Bound"
print(json.dumps(found))' | kubectl replace --raw /api/v1/$one/status -f - >/dev/null || fail "the status of $one"
done
runs evaluation
assert_eq "content" "$(inside evaluation cat /data/new)" new
assert_eq "mounts" "$(mounts)" 1

say "$count pods share one mount and one daemon"
mapfile -t many < <(seq -f many-%g "$count")
for pod in "${many[@]}"; do
    pods "$objects/inline-pod.yaml" "$(named "$pod")" "$(asks dataset=train)"
done >many.yaml
kubectl apply -f - <many.yaml >apply.log 2>&1 || fail "apply: $(cat apply.log)"
for pod in "${many[@]}"; do runs "$pod"; done
for pod in "${many[@]}"; do assert_eq "$pod" "$(inside "$pod" cat /data/new)" new; done
assert_eq "mounts" "$(mounts)" 1
assert_eq "consumers" "$(machine datasetfsctl attached | grep -c "^  '")" $((count + 2))

say "a switch on the host is seen in all pods"
place=$(machine datasetfsctl attached | awk -F "'" "/^  '/ && !n++ { print \$2 }")
machine datasetfsctl switch "$place" v1 >/dev/null
for pod in training evaluation "${many[@]}"; do
    ! inside "$pod" cat /data/new 2>/dev/null || fail "pod $pod has the version from before"
done
machine datasetfsctl switch "$place" v2 >/dev/null
assert_eq "back again" "$(inside many-1 cat /data/new)" new

say "a pod of the job may switch its data set, and no other pod may"
# The programs of the machine, for a container that has none.
tools='pod["spec"]["volumes"][:0] = [{"name": n, "hostPath": {"path": "/" + n}} for n in ("usr", "lib", "lib64")]
pod["spec"]["containers"][0]["volumeMounts"] += [
    {"name": n, "mountPath": "/" + n, "readOnly": True} for n in ("usr", "lib", "lib64")]'
apply "$objects/training-job.yaml" "$tools"'
pod["metadata"]["name"] = "job"'
apply "$objects/inline-pod.yaml" "$(named stranger)" "$(asks dataset=train-job version=v1)" "$tools" \
    'pod["spec"]["securityContext"] = {"runAsUser": 1000, "runAsGroup": 1000}'
runs job
runs stranger
assert_eq "the program" "$(inside job cat /app/train.py | grep -c epoch_barrier)" 1
inside job /usr/bin/datasetfsctl switch /data v1 >switch.log 2>&1 || fail "switch: $(cat switch.log)"
assert_eq "version" "$(inside job cat /data/.datasetfs/version | json label /dev/stdin)" v1
! inside stranger /usr/bin/datasetfsctl switch /data v2 >switch.log 2>&1 || fail "a stranger may switch"
assert_contains "the stranger" "$(cat switch.log)" "members of its control_group may switch this mount"
delete job stranger

say "the plugin is killed and begins again, while a pod reads"
apply "$objects/inline-pod.yaml" "$(named reader)" 'pod["spec"]["containers"][0]["command"] = ["/bin/sh", "-c",
    "while cat /data/1 >/dev/null; do touch /tmp/reads; sleep 0.02; done; touch /tmp/failed; sleep 1000000"]'
runs reader
machine pkill -KILL -x datasetfs-csi
kubectl delete csinode worker7 >/dev/null 2>&1 || true
plugin
wait_for 60 is_registered || fail "the driver is not registered again: $(logs)"
apply "$objects/inline-pod.yaml" "$(named after)"
runs after
inside reader stat /tmp/reads >/dev/null || fail "the pod reads nothing"
! inside reader stat /tmp/failed >/dev/null 2>&1 || fail "a read failed"
delete reader after

say "a daemon is killed: pods that begin get another mount, and those with the dead one can go"
machine pkill -KILL -x datasetfs
apply "$objects/inline-pod.yaml" "$(named next)"
runs next
assert_eq "content" "$(inside next cat /data/new)" new
is_dead() { [[ $(inside training stat /data/unknown 2>&1) == *"not connected"* ]]; }
wait_for 60 is_dead || fail "in a pod from before: $(inside training stat /data/unknown 2>&1)"
delete training evaluation "${many[@]}"
has_mounts() { [ "$(mounts)" = "$1" ]; }
wait_for 120 has_mounts 1 || fail "the dead mount stays: $(machine datasetfsctl attached; logs)"
delete next
wait_for 60 nothing_is_left || fail "left: $(machine datasetfsctl attached; machine ps axf)"

say "mistakes are events of the pod, in one line"
# mistake NAME MESSAGE CHANGE…
mistake() {
    apply "$objects/inline-pod.yaml" "$(named "$1")" "${@:3}"
    says() { kubectl get events --field-selector "involvedObject.name=$1" -o 'jsonpath={.items[*].message}'; }
    has() { [[ $(says "$1") == *"$2"* ]]; }
    wait_for 120 has "$1" "$2" || fail "no event with '$2': $(says "$1")"
    delete "$1"
}
mistake unknown "no data set 'other' on this node" "$(asks dataset=other)"
mistake label "has no version 'v9': choose one that it has, v1, v2" "$(asks dataset=train version=v9)"
mistake digest "has the digest sha256:" "$(asks dataset=train "digest=sha256:$(printf '%064d' 1)")"
mistake misspelt "unknown attribute 'verison', did you mean 'version'?" "$(asks dataset=train verison=v1)"
mistake path "names a volume" "$(asks dataset=/srv/train.dsfs)"

say "without the plugin: a mount of the host below a folder that the pod has by hostPath, HostToContainer"
begin host datasetfs --foreground /srv/train.dsfs /mnt/train
serves() { machine cat /mnt/train/.datasetfs/version; }
wait_for 60 serves || fail "no mount: $(cat host.log)"
below='pod["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": "/mnt"}}]
pod["spec"]["containers"][0]["volumeMounts"][0]["mountPropagation"] = "HostToContainer"'
apply "$objects/inline-pod.yaml" "$(named below)" "$below"
runs below
assert_eq "content" "$(inside below cat /data/train/new)" new
machine pkill -KILL -x datasetfs
wait_for 20 eval '! machine pgrep -x datasetfs >/dev/null'
! inside below cat /data/train/new >/dev/null 2>&1 || say "cached content is still read"
machine umount --lazy /mnt/train
begin host datasetfs --foreground /srv/train.dsfs /mnt/train
wait_for 60 serves || fail "no second mount: $(cat host.log)"
assert_eq "content after the daemon died" "$(inside below cat /data/train/new)" new
delete below
machine umount /mnt/train
wait_for 60 nothing_is_left || fail "left: $(machine ps axf)"
