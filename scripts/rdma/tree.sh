# A tree of LEAVES leaves with PER servers each and SPINES spines, to be sourced. Leaves and spines are namespaces. The
# servers' interfaces h<r> with soft-RoCE ports rx<r> are in the first namespace, the only one in which soft-RoCE receives.
# A server has 10.200.<leaf>.<slot+1> for the tables, which lead to it through a spine by its slot, but not spine0, and
# 10.<spine>.<leaf>.<slot+1>. full counts packets with 4096 bytes of payload, of each cable in both ways.
LEAVES=4 SPINES=4 PER=4
LAST_LEAF=$((LEAVES - 1)) LAST_SPINE=$((SPINES - 1)) LAST_SLOT=$((PER - 1))
write() { echo "$1" >"/proc/sys/net/$2"; }
write 0 ipv4/conf/all/rp_filter
write 0 ipv4/conf/default/rp_filter
write 1 ipv4/conf/default/accept_local
write 1 ipv6/conf/default/disable_ipv6
write 2 ipv4/conf/all/arp_ignore
write 100000 core/netdev_max_backlog # soft-RoCE has no flow control: nothing is to be lost

for l in $(seq 0 $LAST_LEAF); do echo "netns add leaf$l"; done >/tmp/names
for s in $(seq 0 $LAST_SPINE); do echo "netns add spine$s"; done >>/tmp/names
ip -batch /tmp/names
for l in $(seq 0 $LAST_LEAF); do
	for s in $(seq 0 $LAST_SPINE); do
		echo "link add up$s mtu 4300 address 02:eb:01:00:0$l:0$s netns leaf$l type veth peer name dn$l mtu 4300 address 02:eb:02:00:0$l:0$s netns spine$s" >>/tmp/b-
		cat >>/tmp/b-leaf$l <<X
link set up$s up
route add 169.254.1.$s dev up$s
neigh add 169.254.1.$s lladdr 02:eb:02:00:0$l:0$s dev up$s nud permanent
route add 10.$s.0.0/16 via 169.254.1.$s dev up$s
X
		cat >>/tmp/b-spine$s <<X
link set dn$l up
route add 169.254.1.$l dev dn$l
neigh add 169.254.1.$l lladdr 02:eb:01:00:0$l:0$s dev dn$l nud permanent
route add 10.200.$l.0/24 via 169.254.1.$l dev dn$l
X
		for p in $(seq 0 $LAST_SPINE); do echo "route add 10.$p.$l.0/24 via 169.254.1.$l dev dn$l"; done >>/tmp/b-spine$s
	done
	for other in $(seq 0 $LAST_LEAF); do
		[ $other = $l ] || for k in $(seq 0 $LAST_SLOT); do
			s=$((1 + k % LAST_SPINE))
			echo "route add 10.200.$other.$((k + 1)) via 169.254.1.$s dev up$s"
		done >>/tmp/b-leaf$l
	done
	for k in $(seq 0 $LAST_SLOT); do
		r=$((l * PER + k)) mac=$(printf %02x $((l * PER + k)))
		cat >>/tmp/b- <<X
link add h$r mtu 4300 address 02:eb:03:00:00:$mac type veth peer name srv$k mtu 4300 address 02:eb:04:00:00:$mac netns leaf$l
link set h$r up
neigh add 169.254.0.$((r + 1)) lladdr 02:eb:04:00:00:$mac dev h$r nud permanent
route add 169.254.0.$((r + 1)) dev h$r
X
		echo "link set srv$k up" >>/tmp/b-leaf$l
		SERVERS="$SERVERS "
		for p in 200 $(seq 0 $LAST_SPINE); do
			echo "addr add 10.$p.$l.$((k + 1))/32 dev h$r" >>/tmp/b-
			echo "route add 10.$p.$l.$((k + 1)) dev srv$k
neigh add 10.$p.$l.$((k + 1)) lladdr 02:eb:03:00:00:$mac dev srv$k nud permanent" >>/tmp/b-leaf$l
			SERVERS="$SERVERS,10.$p.$l.$((k + 1))"
		done
		echo "route add 10.0.0.0/8 via 169.254.0.$((r + 1)) dev h$r metric $((100 + r))" >>/tmp/b-
	done
done
SERVERS=$(echo "$SERVERS" | sed 's/ ,/ /g')
ip -batch /tmp/b-
for n in $(ls /run/netns); do
	ip netns exec $n sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$f; done'
	ip -n $n -batch /tmp/b-$n
	for d in $(ip netns exec $n ls /sys/class/net | grep -E '^(up|dn)'); do
		echo "qdisc add dev $d ingress
filter add dev $d ingress protocol ip u32 match u16 0x1000 0xf000 at 2 action ok"
	done >/tmp/t-$n
	tc -n $n -batch /tmp/t-$n
done
for r in $(seq 0 $((LEAVES * PER - 1))); do rdma link add rx$r type rxe netdev h$r; done

# full prints "LEAF SPINE up|down PACKETS" for each cable.
full() {
	for s in $(seq 0 $LAST_SPINE); do
		for l in $(seq 0 $LAST_LEAF); do
			echo "$l $s up $(packets spine$s dn$l)"
			echo "$l $s down $(packets leaf$l up$s)"
		done
	done
}
packets() { tc -n $1 -s filter show dev $2 ingress | sed -n 's/.*Sent [0-9]* bytes \([0-9]*\) pkt.*/\1/p'; }
# break_cable LEAF SPINE has nothing pass, mend_cable again.
break_cable() { tc -n leaf$1 qdisc add dev up$2 root netem loss 100%; tc -n spine$2 qdisc add dev dn$1 root netem loss 100%; }
mend_cable() { tc -n leaf$1 qdisc del dev up$2 root; tc -n spine$2 qdisc del dev dn$1 root; }
now() { cut -d' ' -f1 /proc/uptime; }
