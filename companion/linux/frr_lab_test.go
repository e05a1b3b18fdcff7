package linux

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/plan"
	"evbench/testing/expect"
	"evbench/testing/frrtest"
	"evbench/testing/need"
)

// TestFRR has real routers load the configuration of each switch: vtysh reads it back equal, its routes are all in the
// kernel, and messages arrive on every path, with one next hop and with several.
func TestFRR(t *testing.T) {
	need.Heavy(t)
	tree := small(t, "leaf0-spine1")
	b := build(t, tree, plan.Options{Schedule: "linear-shift", Routing: "ecmp"})
	l := expect.Value(lab.Start(t.Context(), lab.Options{Tree: tree}))(t)
	t.Cleanup(func() { expect.OK(t, l.Close()) })
	dir := t.TempDir()
	apply(t, l, b, dir) // of which servers keep theirs
	var all bytes.Buffer
	expect.Must(t, b.WriteFRR(&all))
	for i, config := range strings.Split(all.String(), "! ")[1:] {
		n := companion.Node(i)
		expect.True(t, strings.HasPrefix(config, b.Name(n)+", plan "), "switch %d has %q", n, config)
		r := frrtest.Start(t, l, lab.Node(n), "! "+config, "staticd")
		said := r.Say("show running-config")
		for _, kind := range []string{"ip route ", " ip address "} {
			want, have := starting(config, kind), starting(said, kind)
			expect.True(t, len(want) > 0 && slices.Equal(want, have), "%s of %s: want %q, have %q", kind, b.Name(n), want, have)
		}
		hops := strings.Count(r.Say("show ip route static"), " is directly connected, ") + strings.Count(r.Say("show ip route static"), " via ")
		expect.Equal(t, hops, len(starting(config, "ip route ")), "next hops of %s", b.Name(n))
	}
	for src := range tree.Servers() {
		for dst := range tree.Servers() {
			for path := companion.Single; path < tree.Paths(); path++ {
				if x, y := tree.Leaf(src), tree.Leaf(dst); src != dst && (path < 0 || x == y || tree.PathAlive(x, y, path)) {
					expect.OK(t, transfer(t.Context(), l, src, dst, path, []byte{1}), "%d to %d on path %d", src, dst, path)
				}
			}
		}
	}
}

// starting are the lines that begin so, sorted.
func starting(text, with string) (out []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, with) {
			out = append(out, strings.TrimRight(line, " \n"))
		}
	}
	slices.Sort(out)
	return out
}
