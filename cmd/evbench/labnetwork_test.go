package main

import (
	"fmt"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// TestLabOfNetwork: in the lab of a dragonfly with a dead cable every server answers every other, over the
// routes of the tables, and a switch has exactly their entries. The port of a TCP connection that nothing
// listens on refuses it: so packets go both ways.
func TestLabOfNetwork(t *testing.T) {
	need.Namespaces(t)
	dir := t.TempDir()
	up := []string{"lab", "up", "-t", "Dragonfly(2;2;1;3)", "--down", "s1_0-s1_1", "-e", "sssp", "--rate", "10Mbit/s"}
	code, out, said := output(t, dir, up...)
	expect.MustTrue(t, code == exitDone && strings.Contains(out, "lab is up: Dragonfly(2;2;1;3), 12 servers, tables of sssp, without s1_0-s1_1\n"), "exit %d: %s%s", code, out, said)
	t.Cleanup(func() { output(t, dir, "lab", "down") })
	const answers = `for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		[ 10.200.0.$i = "$0" ] || (exec 3<>/dev/tcp/10.200.0.$i/9) 2>&1 | grep -q 'Connection refused' || echo "no answer from $i"
	done`
	for r := range 12 {
		code, out, said := output(t, dir, "lab", "exec", fmt.Sprint("server", r), "bash", "-c", answers, fmt.Sprint("10.200.0.", r+1))
		expect.True(t, code == exitDone && out == "", "server%d: exit %d: %s%s", r, code, out, said)
	}
	// s1_0 reaches the hosts of s1_1 through another group, as its own cable is dead.
	code, out, said = output(t, dir, "lab", "exec", "s1_0", "ip", "-4", "route")
	expect.True(t, code == exitDone && strings.Count(out, "10.200.0.") == 12 && !strings.Contains(out, "dev s1_1") && strings.Contains(out, "10.200.0.2 via 169.254.0.2 dev server1 "),
		"exit %d: %s%s", code, out, said)
	code, _, said = output(t, dir, "lab", "up", "-t", "FT(2;2,2)", "-e", "sssp")
	expect.True(t, code == exitUsage && strings.Contains(said, "a lab is up already"), "exit %d: %s", code, said)
	code, out, said = output(t, dir, "lab", "down")
	expect.True(t, code == exitDone, "exit %d: %s%s", code, out, said)
	onlyThese(t, dir)
	for _, tt := range []struct{ args, want string }{
		{"-t Dragonfly(2;2;1;3)", "is a network all the same"},
		{"-t HyperX(2,2;1) -e sssp -r ftree", "--routing: not with --tables or --engine"},
		{"-t HyperX(2,2;1) -e nonsense", "nonsense"},
		{"-t HyperX(2,2;1) --down s1_0 -e sssp", "have no route"},
	} {
		code, out, said := output(t, dir, append([]string{"lab", "up"}, strings.Fields(tt.args)...)...)
		expect.True(t, code == exitUsage && strings.Contains(said, tt.want), "%s: exit %d: %s%s", tt.args, code, out, said)
	}
}
