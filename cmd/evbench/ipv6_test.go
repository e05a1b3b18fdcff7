package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"evbench/results"
	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// overSix is a scenario of hosts that have addresses of IPv6 alone.
const overSix = `
topology: FT(2;2,2)
fabric: {kind: hosts, rate: 20Mbit/s, routes: ports}
launch: {kind: started, control: "unix:%s/control", network: "fd00::/16", data_port: 7000}
event: {fragment: 5kB}
interval: 100ms
timeout: 30s
control: off
cases:
  - {name: linear shift, schedule: linear-shift, routing: ecmp, duration: 500ms}
  - {name: planned ports, routing: ports, duration: 500ms}
  - {name: anew, routing: ports, failover: reorder, duration: 1h}
`

// six gives the lab addresses of IPv6, as fabrics have them whose cables have none but link-local ones: a switch has one,
// from which it answers whatever came by whichever cable, and chooses among equal routes by what IPv4's hash reads.
func (l heldLab) six() {
	l.t.Helper()
	const on = "for s in conf/all/disable_ipv6=0 conf/default/disable_ipv6=0 conf/all/forwarding=1 icmp/ratelimit=0 fib_multipath_hash_policy=3 fib_multipath_hash_fields=55; do echo ${s#*=} >/proc/sys/net/ipv6/${s%=*}; done"
	link := func(own, dev string) string {
		return fmt.Sprintf("\nip -6 address add fe80::%s/64 dev %s nodad", own, dev)
	}
	do := map[string]string{}
	for leaf := range 2 {
		name := fmt.Sprint("leaf", leaf)
		do[name] = fmt.Sprintf("%s\nip -6 address add fd00:f::%d/128 dev lo", on, leaf+1)
		var ways string
		for spine := range 2 {
			upper := fmt.Sprint("spine", spine)
			do[name] += link("2", upper)
			ways += " nexthop via fe80::1 dev " + upper
			if leaf == 0 {
				do[upper] = fmt.Sprintf("%s\nip -6 address add fd00:f::%d/128 dev lo", on, spine+3)
			}
			do[upper] += link("1", name) + fmt.Sprintf("\nip -6 route add fd00:%d::/32 via fe80::2 dev %s", leaf, name)
		}
		do[name] += fmt.Sprintf("\nip -6 route add fd00:%d::/32%s", 1-leaf, ways)
		for slot := range 2 {
			server := fmt.Sprint("server", 2*leaf+slot)
			do[name] += link("1", server) + fmt.Sprintf("\nip -6 route add fd00:%d::%d via fe80::2 dev %s", leaf, slot+1, server)
			do[server] = on + link("2", name) + fmt.Sprintf("\nip -6 address add fd00:%d::%d/128 dev %s nodad\nip -6 route add default via fe80::1 dev %s", leaf, slot+1, name, name)
		}
	}
	for node, script := range do {
		l.sh(node, "set -e\n"+script)
	}
}

// sh runs a script on a node of the lab.
func (l heldLab) sh(node, script string) {
	l.t.Helper()
	code, out, said := output(l.t, l.dir, "lab", "exec", node, "sh", "-c", script)
	expect.MustTrue(l.t, code == exitDone, "%s: %s ended with %d:\n%s%s", node, script, code, out, said)
}

// started begins a command as a launcher does, rank 0, the controller, beside the first server.
func (l heldLab) started(args ...string) (ranks []*program) {
	l.t.Setenv("PMI_SIZE", "5")
	l.t.Setenv("EVBENCH_TOKEN", "secret")
	for rank := range 5 {
		l.t.Setenv("PMI_RANK", fmt.Sprint(rank))
		ranks = append(ranks, begin(l.t, l.dir, append([]string{"lab", "exec", fmt.Sprint("server", max(0, rank-1)), l.evbench}, args...)...))
	}
	return ranks
}

// TestPortsOverIPv6: a run whose hosts have addresses of IPv6 asks for its paths, binds the ports of its plans, asks again at the end of
// a case, and when a switch begins to send another way plans anew and loses no event. What evbench paths finds is planned by hand likewise.
func TestPortsOverIPv6(t *testing.T) {
	need.Heavy(t)
	l := holdLab(t)
	l.six()
	write(t, l.dir, "six.yaml", fmt.Sprintf(overSix, l.dir))
	for rank, p := range l.started("paths", "six.yaml", "-o", "paths.txt", "--quiet") {
		code, said := p.end()
		expect.MustTrue(t, code == exitDone && (rank > 0 || strings.HasPrefix(p.printed.String(), "GOOD: All ")), "rank %d ended with %d:\n%s%s", rank, code, p.printed.String(), said)
	}
	paths := string(expect.Value(os.ReadFile(filepath.Join(l.dir, "paths.txt")))(t))
	expect.Contains(t, paths, "\n# host server0 fd00::1\n", "\nserver0 server1 -\n", " fd00:f::2\n")
	for _, args := range []string{"plan --paths paths.txt -o plan.txt", "verify plan.txt --paths paths.txt"} {
		code, out, said := output(t, l.dir, strings.Fields(args)...)
		expect.True(t, code == exitDone && strings.HasPrefix(out, "GOOD: "), "%s ended with %d:\n%s%s", args, code, out, said)
	}

	ranks := l.started("run", "-v", "--yes", "--rounds", "1", "six.yaml", "-o", "out")
	ranks[0].await("anew: measure")
	l.sh("leaf1", "ip -6 route replace fd00:0::/32 via fe80::1 dev spine0")
	ranks[0].await("in_use=true")
	ranks[0].signal(syscall.SIGINT)
	for rank, p := range ranks {
		code, said := p.end()
		expect.True(t, code == exitDone || rank == 0 && code == exitInterrupted, "rank %d ended with %d:\n%s", rank, code, said)
	}
	r := expect.Value(stored.ReadRun(filepath.Join(l.dir, "out")))(t)
	expect.MustTrue(t, len(r.Summary.Cases) == 3, "%+v", r.Summary.Cases)
	for _, c := range r.Summary.Cases {
		expect.True(t, c.EventsBuilt > 0 && c.EventsLost+c.EventsDuplicate == 0 && !strings.Contains(fmt.Sprint(c), "not measured over its plan"), "%+v", c)
	}
	expect.True(t, len(r.Summary.Failovers()) > 0, "no plan was made anew")
	again := string(expect.Value(os.ReadFile(filepath.Join(l.dir, "out", "paths-2.txt")))(t))
	expect.True(t, strings.Contains(again, "\nserver2 ") && !regexp.MustCompile(`\nserver[23] server[01] \d+ fd00:f::4`).MatchString(again), "%s", again)
}

// TestEndsOf: hosts are asked at the address without its notation, and addresses between which no switch chooses are refused by name.
func TestEndsOf(t *testing.T) {
	s := expect.Value(scenario.Read("s.yaml", strings.NewReader("topology: FT(2;1,2)\nfabric: hosts\nevent: {fragment: 1kB}\ncases: [{routing: ecmp, mode: unsynchronised}]\n")))(t)
	for _, x := range []struct{ a, b, want string }{
		{"[::ffff:10.0.0.1]:7000", "10.0.0.2:7000", "10.0.0.1 10.0.0.2"},
		{"[fd00::1]:7000", "[fd00::2]:7000", "fd00::1 fd00::2"},
		{"[fd00::1]:7000", "[fe80::2%eth0]:7000", "server1 has the address fe80::2%eth0, which no switch passes on: give it one of a network"},
		{"10.0.0.1:7000", "[fd00::2]:7000", "server0 has the address 10.0.0.1, server1 fd00::2: give all one of IPv4, or all one of IPv6"},
	} {
		hosts, _, err := endsOf(s, []results.Host{{Addresses: []string{x.a}}, {Addresses: []string{x.b}}})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(hosts[0].Addr, " ", hosts[1].Addr)
		}
		expect.Equal(t, got, x.want, "%s and %s", x.a, x.b)
	}
}
