package bench_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"evbench/bench"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/topology"
)

// moving are source ports of which one leads another way when they are asked about for the n-th time.
type moving struct{ asked, n int }

func (m *moving) Plan(_ context.Context, _ bench.Asked, _ scenario.Case, p *plan.Plan) (*plan.Plan, error) {
	out := *p
	out.Over = ported{p.Tree}
	return &out, nil
}

func (m *moving) Check(_ context.Context, _ bench.Asked, p *plan.Plan) (*plan.Plan, bench.Checked, error) {
	if m.asked++; m.asked == m.n {
		return p, bench.Checked{Moved: []string{"server0 → server2 port 20002 was over spine0, is over spine1"}}, nil
	}
	return p, bench.Checked{}, nil
}

func (m *moving) Follow(bench.Asked, scenario.Case, *plan.Plan, func(*topology.Tree) (*plan.Plan, error), loop.Network) loop.Network {
	return nil // no case here has a policy
}

func (m *moving) Files() []results.PathsText { return nil }

// ported is a plan whose messages share no link, whatever their ports.
type ported struct{ tree *topology.Tree }

func (p ported) Wires() int                { return 2 * p.tree.Servers() }
func (p ported) Rate(int) float64          { return 1 }
func (p ported) Hash() string              { return "sha256:ports" }
func (p ported) WriteText(io.Writer) error { return nil }
func (p ported) Judge() error              { return nil }
func (p ported) Port(_, dst int) int       { return 20000 + dst }
func (p ported) Way(to []int32, src, dst int) []int32 {
	return append(to, int32(src), int32(p.tree.Servers()+dst))
}
func (p ported) WireName(wire int) (link, direction string) { return fmt.Sprint("link", wire), "up" }

// A port that leads another way before a slice, or at its end, takes the case out of what is measured over its plan, and is
// named.
//
//gate:race
func TestRunPortMoves(t *testing.T) {
	head, _, _ := strings.Cut(small, "rounds:")
	text := strings.Replace(head, "{kind: hosts}", "{kind: hosts, routes: ports}", 1) + "rounds: 1\ncontrol: off\ncases: [{name: shift, schedule: linear-shift, routing: ecmp}]\n"
	for n, when := range []string{"", "before it", "at its end"} {
		s, planned := read(t, text)
		ways, sink := &moving{n: n}, &memory{}
		synctest.Test(t, func(t *testing.T) {
			f := &inProcess{}
			sum, err := bench.Run(t.Context(), bench.Work{Scenario: s, Cases: planned, Fabric: f, Ways: ways, Open: into(sink)}, bench.Options{Listener: f.listen(), Token: "secret"})
			expect.Must(t, err)
			c := sum.Cases[0]
			said := strings.Join(c.Reasons, "\n")
			expect.True(t, ways.asked == 2 && c.EventsLost == 0 && c.EventsBuilt > 0, "asked %d times: %+v", ways.asked, c)
			if n == 0 {
				expect.True(t, c.Valid, "nothing moved: %s", said)
				return
			}
			want := "not measured over its plan: asked again " + when + ", 1 port leads another way: server0 → server2 port 20002 was over spine0, is over spine1"
			expect.True(t, !c.Valid && strings.Contains(said, want), "valid: %v, %q", c.Valid, said)
		})
	}
}
