#!/usr/bin/env bash
# libfabric 1.17 (Debian 12), provider tcp: of two interfaces that are alike, the one that was made
# last is listed first, so that programs which take the first entry (Open MPI's mtl ofi) use it.
. "$(dirname "$0")/root.sh"
root bookworm libfabric-bin=1.17.0-3 libfabric1=1.17.0-3 iproute2=6.1.0-3
cat >"$root/commands" <<'EOS'
for i in 0 1 2; do
	ip link add net$i type veth peer name peer$i; ip link set peer$i up; ip addr add 10.0.$i.1/24 dev net$i; ip link set net$i up
	echo "with net$i: $(fi_info -p tcp -t FI_EP_MSG 2>/dev/null | grep -o 'domain: .*' | head -n 1)"
done
EOS
seen=$(inside bash /commands)
show "$seen"
for i in 0 1 2; do expect "after net$i was made it is the first" "$seen" "^with net$i: domain: net$i"; done
