package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/topologytest"
)

func TestUnreachableError(t *testing.T) {
	one := topologytest.Tree(t, ft44, "leaf0-spine0", "leaf0-spine1", "leaf3-spine2", "leaf3-spine3")
	_, err := plan.Build(one, plan.Options{Schedule: "fors"})
	want := "leaf0 and leaf3 have no spine in common that is alive: their servers cannot reach each other"
	expect.True(t, err != nil && err.Error() == want, "error %v, want %s", err, want)
	var down []string
	for k := range 8 {
		down = append(down, fmt.Sprintf("leaf0-spine%d", k), fmt.Sprintf("leaf1-spine%d", k))
	}
	_, err = plan.Build(topologytest.Tree(t, ft88, down...), plan.Options{Schedule: "fors"})
	var u *plan.UnreachableError
	expect.MustTrue(t, errors.As(err, &u) && len(u.Pairs) == 13, "error %v", err)
	s := u.Error()
	expect.True(t, strings.Count(s, " and leaf") == 10 && strings.Contains(s, "leaf1 and leaf4, and 3 more pairs, have no"), "%v", s)
	var first *topology.UnreachableError
	expect.True(t, errors.As(err, &first) && first.A == 0 && first.B == 1, "the first pair is %v", first)
}

// What is dropped is what cannot be sent, and nothing else; no phase is left
// empty and every wire carries what the remaining messages put on it.
func TestDropUnreachable(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	dropped := 0
	for range 150 {
		m0, m1 := 1+rng.IntN(5), 2+rng.IntN(5)
		tr := topologytest.Tree(t, topology.Options{Ports: m0, Leaves: m1})
		for l := range m1 {
			for k := range m0 {
				if rng.IntN(3) == 0 {
					tr, _ = tr.Without(topology.Link{Leaf: l, Spine: k})
				}
			}
		}
		for _, name := range []string{"linear-shift", "bandwidth-optimal", "fors"} {
			p, err := plan.Build(tr, plan.Options{Schedule: name, DropUnreachable: true})
			if err != nil {
				expect.MustTrue(t, strings.Contains(err.Error(), "reach"), "%v", err)
				continue
			}
			messages, last := 0, 0
			for m := range p.Schedule.All() {
				a, b := tr.Leaf(m.Src), tr.Leaf(m.Dst)
				if m.Phase > last+1 || a != b && len(tr.CommonSpines(a, b)) == 0 {
					t.Fatalf("%s on %s without %v: %+v after phase %d", name, tr.Notation(), tr.DownNames(), m, last)
				}
				if k := p.Spine(m.Src, m.Dst); a != b && (k == scheduler.None || !tr.Alive(a, k) || !tr.Alive(b, k)) {
					t.Fatalf("%+v takes spine %d", m, k)
				}
				last = m.Phase
				messages++
			}
			if messages != p.Messages() || messages == 0 || last != p.Phases()-1 {
				t.Fatalf("%d messages in %d phases, want %d in %d", messages, last+1, p.Messages(), p.Phases())
			}
			dropped += m0*m1*(m0*m1-1) - messages
		}
	}
	expect.True(t, dropped >= 1000, "only %d messages were dropped", dropped)
}
