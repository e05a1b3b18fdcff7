#!/usr/bin/env bash
# Linux nexthop objects (iproute2 6.1): where a link of a multipath route goes down, the kernel deletes
# its nexthop object, and the route's member with it; they do not come back with the link. A classic
# multipath route keeps both members, marks one dead, and heals when the link is up again. What a
# program restores must therefore include the objects themselves.
. "$(dirname "$0")/root.sh"
root bookworm iproute2=6.1.0-3
cat >"$root/commands" <<'EOS'
for i in 0 1; do
	ip link add a$i type veth peer name b$i
	ip addr add 10.0.$i.1/24 dev a$i
	ip link set a$i up; ip link set b$i up
	ip nexthop add id $((i + 1)) via 10.0.$i.2 dev a$i
done
ip nexthop add id 10 group 1/2
ip route add 10.1.0.0/24 nhid 10
ip route add 10.2.0.0/24 nexthop via 10.0.0.2 dev a0 nexthop via 10.0.1.2 dev a1
state() {
	echo "$1: $(ip nexthop | grep -c '^id [12] ') single objects; object group: $(ip nexthop show id 10 | grep -o 'group [0-9/]*')"
	echo "$1, classic route: $(ip route show 10.2.0.0/24 | grep -c 'nexthop via') members"
}
state before
ip link set a0 down
state 'link down'
ip link set a0 up
ip addr add 10.0.0.1/24 dev a0 2>/dev/null || true
state 'link up again'
EOS
seen=$(inside bash /commands)
show "$seen"
expect 'both objects are there before' "$seen" '^before: 2 single objects; object group: group 1/2$'
expect 'the object goes with the link' "$seen" '^link down: 1 single objects; object group: group 2$'
expect 'it does not come back' "$seen" '^link up again: 1 single objects; object group: group 2$'
