#!/usr/bin/env bash
# The object "start" in the report of iperf3 3.12 (Debian 12) with -J --bidir has three keys twice: sock_bufsize,
# sndbuf_actual, rcvbuf_actual, once for each direction; without --bidir once. The sums at the end have names of their own
# for the reverse direction. A reader that refuses a key given twice refuses the report of --bidir; one that keeps the last
# has the buffers of one direction.
. "$(dirname "$0")/root.sh"
root bookworm iperf3=3.12-1+deb12u2
cat >"$root/commands" <<'EOS'
iperf3 --version | head -n 1
report() { # NAME OPTION…
	local name=$1 key i
	shift
	iperf3 -s -1 -D -p 5299 >/dev/null
	for ((i = 0; i < 50; i++)); do
		sleep 0.1
		! iperf3 -c 127.0.0.1 -p 5299 -t 1 -J "$@" >/tmp/report 2>/dev/null || break
	done
	for key in sock_bufsize sndbuf_actual rcvbuf_actual sum_received sum_received_bidir_reverse; do
		echo "$name $key $(grep -c "\"$key\":" /tmp/report || true)"
	done
}
report plain
report bidir --bidir
EOS
seen=$(inside bash /commands)
show "$seen"
expect 'version' "$seen" '^iperf 3[.]12'
for key in sock_bufsize sndbuf_actual rcvbuf_actual; do
	expect "$key stands once" "$seen" "^plain $key 1$"
	expect "$key stands twice with --bidir" "$seen" "^bidir $key 2$"
done
expect 'the other direction has a sum of its own name' "$seen" '^bidir sum_received_bidir_reverse 1$'
