#!/usr/bin/env bash
# Static routes of FRR without mgmtd: `vtysh -f` hands `ip route …` to staticd in 8.4.4 (Debian 12), and
# the route is there. 10.3 (Debian 13) says "staticd done", exits with 0, and no route is there: static
# routes belong to mgmtd, which has to run, too. Whoever starts daemons one by one must read routes back.
. "$(dirname "$0")/root.sh"
suite() {
	rm -rf "$root"
	root "$1" "frr=$2" iproute2 util-linux libpam-modules
	mkdir -p "$root"/etc/{frr,pam.d}
	printf 'root:x:0:root\nfrrvty:x:0:root\n' >"$root/etc/group"
	printf '%s sufficient pam_permit.so\n' auth account | tee "$root/etc/pam.d/frr" >"$root/etc/pam.d/other"
	touch "$root/etc/frr/vtysh.conf"
	echo 'ip route 10.9.0.0/24 10.0.0.2' >"$root/etc/frr/frr.conf"
	cat >"$root/commands" <<'EOS'
mkdir -p /run/frr
ip link add a0 type veth peer name b0; ip addr add 10.0.0.1/24 dev a0; ip link set a0 up; ip link set b0 up
start() {
	/usr/lib/frr/$1 -u root -g root -P 0 --vty_socket /run/frr -i /run/frr/$1.pid $2 >/dev/null 2>&1 &
	until [ -S /run/frr/$1.vty ]; do kill -0 $!; sleep .05; done
}
load() {
	local rc=0 out i routes=0
	out=$(vtysh --vty_socket /run/frr -f /etc/frr/frr.conf 2>&1) || rc=$?
	for i in {1..50}; do
		routes=$(ip route | grep -c '^10.9.0.0/24' || true)
		[ "$routes" = 0 ] || break
		sleep .1
	done
	echo "$version, $1: exit $rc, $routes routes, $(grep -o 'staticd. done' <<<"$out" || echo 'no word of staticd')"
}
version=$(/usr/lib/frr/zebra --version | grep -oE '[0-9]+[.][0-9.]+' | head -n 1)
start zebra '-z /run/frr/zserv.api'
start staticd '-z /run/frr/zserv.api'
load 'zebra and staticd'
[ ! -x /usr/lib/frr/mgmtd ] || { start mgmtd; load 'and mgmtd'; }
EOS
	inside bash -e /commands
}
seen=$(suite bookworm 8.4.4-1.1~deb12u2; suite trixie 10.3-3+deb13u1)
show "$seen"
expect '8.4.4 has the route' "$seen" '^8.4.4, zebra and staticd: exit 0, 1 routes'
expect '10.3 has none, and says done' "$seen" '^10.3, zebra and staticd: exit 0, 0 routes, staticd. done$'
expect '10.3 with mgmtd has it' "$seen" '^10.3, and mgmtd: exit 0, 1 routes'
