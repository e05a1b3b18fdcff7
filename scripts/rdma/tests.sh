# The tests, in the guest. Each prints what it has found; failed counts those that are not as they have to be.
. ./tree.sh
failed=0
echo "tree of $((LEAVES * PER)) ports at $(now) s"
check() { # WHAT COMMAND…
	local what=$1
	case "$*" in *"$ONLY"*) ;; *) return ;; esac
	shift
	if "$@"; then echo "ok $what ($(now) s)"; else
		echo "FAILED $what ($(now) s)"
		failed=$((failed + 1))
	fi
}
export EVBENCH_TEST_RDMA_SERVERS="$SERVERS"
contract() { ./rdma.test -test.timeout 3m -test.run "Verbs$1" >/tmp/contract 2>&1 || { cat /tmp/contract; return 1; }; }

# run SCENARIO starts the controller and the servers, whose addresses are cut after the first FIELDS.
FIELDS=9 PRELOAD='' ODD=-1
export FAKE_PER=$PER
run() {
	local id=0
	rm -rf /tmp/results /tmp/dead-*
	./evbench controller --listen unix:/tmp/control --token-file /tmp/token --out /tmp/results $1 >/tmp/controller 2>&1 &
	controller=$!
	servers=
	for data in $SERVERS; do
		data=$(echo $data | cut -d, -f1-$FIELDS | sed 's/,/:0,/g; s/$/:0/')
		LD_PRELOAD=$PRELOAD FAKE_LMC=$((id == ODD ? 1 : 2)) ./evbench worker --controller unix:/tmp/control --token-file /tmp/token --transport rdma --id $id --data $data >/tmp/worker$id 2>&1 &
		servers="$servers $!"
		id=$((id + 1))
	done
}
finish() {
	local code
	wait $controller
	code=$?
	for s in $servers; do wait $s; done
	return $code
}
show() { tail -40 /tmp/controller; tail -n 3 /tmp/worker*; return 1; }

(umask 077 && echo secret >/tmp/token)
scenario() {
	cat <<X
topology: FT(2;4,4)
fabric: ${FABRIC:-hosts}
transport: rdma
inject: {kind: command, down: "touch /tmp/dead-{link}", up: "rm -f /tmp/dead-{link}", probe: "test ! -e /tmp/dead-{link}"}
event: {fragment: ${FRAGMENT:-64KiB}}
control: off
rounds: 1
duration: ${DURATION:-500ms}
check: payload
trace: on
timeout: 60s
$1
X
}
fors='cases: [{name: FORS, schedule: fors, failures: [leaf0-spine0]}]'

# Each link has carried as many packets as the plan says, the same number of times.
counters() {
	local plan
	plan=$(ls /tmp/results/plans/*.txt)
	full >/tmp/after
	awk -v per=$PER -v packets=16 '
		FILENAME == ARGV[1] { before[$1, $2, $3] = $4; next }
		FILENAME == ARGV[2] { after[$1, $2, $3] = $4; next }
		/^#/ || $4 == "-" { next }
		{ n[int($2 / per), $4, "up"]++; n[int($3 / per), $4, "down"]++ }
		END {
			for (link in after) {
				got = after[link] - before[link]
				sum += got
				if (!n[link]) { if (got) bad++; continue }
				links++
				if (!times) times = got / n[link] / packets
				if (got != times * n[link] * packets) bad++
			}
			printf "%d links in use, each exchange %d times, %d packets of 4096 bytes, %d links differ from the plan\n", links, times, sum, bad
			exit !(times > 0 && times == int(times) && links == 30 && !bad)
		}' /tmp/before /tmp/after $plan
}
planned() {
	scenario "$fors" >/tmp/fors.yaml
	full >/tmp/before
	run /tmp/fors.yaml
	finish || show || return 1
	sed -n '/FORS/p' /tmp/controller | tail -3
	[ "$(wc -l </tmp/results/trace.csv)" -gt 100 ] || return 1
	counters
}
modes() {
	# without phases 240 messages are under way, and longer ones would wait longer than soft-RoCE does for answers
	FRAGMENT=8KiB scenario 'cases:
  - {name: without a schedule, mode: unsynchronised}
  - {name: free, mode: free-running}
  - {name: ordered, mode: ordered}
  - {name: linear shift, schedule: linear-shift}' >/tmp/modes.yaml
	run /tmp/modes.yaml
	finish || show || return 1
	sed -n '/^case/,/^$/p' /tmp/controller
}
# A cable dies while events are built: the run ends, and names server and spine.
dies() {
	local begun
	DURATION=60s scenario 'cases: [{name: pinned, schedule: fors}]' >/tmp/dies.yaml
	full >/tmp/before
	run /tmp/dies.yaml
	until full | awk 'FILENAME == ARGV[1] { before[$1, $2, $3] = $4; next } $4 > before[$1, $2, $3] + 200 { n++ } END { exit !n }' /tmp/before -; do sleep 1; done
	begun=$(now)
	break_cable 0 0
	! finish || return 1
	echo "$begun $(now)" | awk '{ printf "named after %.1f s\n", $2 - $1; exit !($2 - $1 < 10) }' || return 1
	grep -h 'spine0.*without an answer' /tmp/controller /tmp/worker* | head -3
}
named() { grep -qh 'spine0.*without an answer' /tmp/controller; }
other_lmc() {
	ODD=15
	scenario "$fors" >/tmp/fors.yaml
	run /tmp/fors.yaml
	! finish || return 1
	ODD=-1
	grep -h 'has LMC 1, that of this server 2' /tmp/controller | head -1 | grep . || show
}
no_port() {
	! ./evbench worker --controller unix:/tmp/control --token-file /tmp/token --transport rdma --id 0 --data 127.0.0.1:0 2>/tmp/worker || return 1
	grep 'no RDMA port has the address 127.0.0.1' /tmp/worker || { cat /tmp/worker; return 1; }
}
# soft-RoCE takes source ports by itself: a run over a plan of ports ends, and says so.
ports() {
	local code=0
	awk -v per=$PER -v n=$((LEAVES * PER)) -v spines=$SPINES 'BEGIN {
		print "# evbench paths 1\n# time 2026-01-01T00:00:00Z\n# protocol rocev2\n# port 4791"
		for (a = 0; a < n; a++) printf "# host s%d 10.200.%d.%d\n", a, a / per, a % per + 1
		for (a = 0; a < n; a++) for (b = 0; b < n; b++) if (int(a / per) != int(b / per))
			printf "s%d s%d %d 10.98.%d.%d 10.99.%d.%d\n", a, b, 50000 + a * n + b, a / per, (a + b) % spines, b / per, (a + b) % spines
		else if (a != b) printf "s%d s%d -\n", a, b
	}' >/tmp/paths.txt
	FABRIC='{kind: hosts, routes: {kind: ports, paths: /tmp/paths.txt}}' scenario 'cases: [{name: ports, routing: ports}]' | sed /^inject/d >/tmp/ports.yaml
	run /tmp/ports.yaml
	finish || code=$?
	[ $code = 1 ] && grep -oh 'rx[0-9]* is soft-RoCE, which hashes its source port[^;]*' /tmp/controller | head -1 | grep . || show
}
locked() (
	chmod 666 /dev/infiniband/uverbs*
	ulimit -l 64
	EVBENCH_TEST_RDMA_LOCKED=1 setpriv --reuid 65534 --regid 65534 --clear-groups ./rdma.test -test.run VerbsLocked
)

check 'contract of transports and barriers' contract
check 'a server without a port' no_port
check 'locked memory that is too small' locked
check 'FORS with a dead link: each link as planned' planned
check 'all modes' modes
check 'a plan of ports over soft-RoCE' ports
check 'a cable that dies' dies
check '... is named' named
check 'the plan that avoids it' planned
mend_cable 0 0 2>/dev/null # whole where ONLY left out its death
PRELOAD=$PWD/fakeib.so FIELDS=1
check 'by LIDs: FORS with a dead link' planned
check 'by LIDs: a server with another LMC' other_lmc
export LD_PRELOAD=$PRELOAD FAKE_LMC=2
check 'by LIDs: paths' contract 'Contract/^(paths|all)'
exit $failed
