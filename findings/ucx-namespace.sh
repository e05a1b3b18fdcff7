#!/usr/bin/env bash
# UCX 1.13 (Debian 12) lists network devices from /sys, which shows those of the namespace in which
# /sys was mounted. In a network namespace entered later (ip netns exec mounts its own; setns and
# unshare do not) the interfaces of that namespace are missing, and only lo is left. A sysfs mounted
# in the namespace mends it.
. "$(dirname "$0")/root.sh"
root bookworm ucx-utils=1.13.1-1 iproute2=6.1.0-3 util-linux mount
cat >"$root/commands" <<'EOS'
devices() { echo "$1: $(ucx_info -d 2>/dev/null | grep -o 'Device: .*' | sort -u | tr '\n' ' ')"; }
enter='ip link set lo up; ip link add inner0 type veth peer name peer0; ip link set peer0 up; ip addr add 10.0.0.1/24 dev inner0; ip link set inner0 up'
export -f devices
unshare -n -m --propagation unchanged bash -c "$enter; devices 'old sysfs'; mount -t sysfs sysfs /sys; devices 'own sysfs'"
EOS
seen=$(inside bash /commands)
show "$seen"
expect 'with the former /sys the interface is missing' "$(grep -c 'old sysfs:.*inner0' <<<"$seen" || true)" '^0$'
expect 'with a /sys of its own it is there' "$seen" '^own sysfs:.*Device: inner0'
