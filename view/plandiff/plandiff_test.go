package plandiff_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
	"evbench/view/plandiff"
)

func build(t *testing.T, tr *topology.Tree, schedule, engine string) *plan.Plan {
	t.Helper()
	return expect.Value(plan.Build(tr, plan.Options{Schedule: schedule, Routing: engine, Seed: 1}))(t)
}

var (
	ft44 = topology.Options{Ports: 4, Leaves: 4}
	ft88 = topology.Options{Ports: 8, Leaves: 8}
)

func restored(t testing.TB, file []byte) *plan.Plan {
	t.Helper()
	return expect.Value(plan.Read(bytes.NewReader(file), engines.Trees()))(t)
}

func write(t testing.TB, p *plan.Plan) []byte {
	t.Helper()
	var text bytes.Buffer
	expect.Must(t, p.WriteText(&text))
	return text.Bytes()
}

func TestCompareFigures(t *testing.T) {
	healthy := build(t, topologytest.Tree(t, ft44), "fors", "")
	broken := build(t, topologytest.Tree(t, ft44, "leaf0-spine0"), "linear-shift", "minhop")
	d := plandiff.Compare(healthy, broken)
	wantLines := []plandiff.Line{{"down", "none", "leaf0-spine0"}, {"schedule", "fors", "linear-shift"}, {"routing", "pinned", "minhop"}}
	expect.True(t, reflect.DeepEqual(d.Lines, wantLines) && !d.SameHash && d.SameServers, "%+v", d)
	expect.False(t, d.Old.Phases != 15 || d.Old.Duration != 15 || d.Old.Bound != 15 || d.Old.Proof != "server" || d.Old.Gap != 0 || d.Old.Hash != healthy.Hash(),
		"old %+v", d.Old)
	expect.True(t, d.New.Phases == 15 && d.New.Duration == 26 && d.New.Bound == 16 && d.New.Proof == "leaf0" && d.New.Gap == -1, "new %+v", d.New)
	worse, _, err := d.Worse([]string{"phases", "duration"})
	if want := []plandiff.Regression{{"duration", 15, 26}}; err != nil || !reflect.DeepEqual(worse, want) {
		t.Errorf("worse %v, %v; want %v", worse, err, want)
	}
	back, _, err := plandiff.Compare(broken, healthy).Worse(plandiff.Regressible[:2])
	expect.True(t, err == nil && len(back) == 0, "the other way round: worse %v, %v", back, err)
}

func TestCompareSame(t *testing.T) {
	p := build(t, topologytest.Tree(t, ft44, "leaf0-spine0"), "fors", "")
	text := write(t, p)
	d := plandiff.Compare(p, restored(t, text))
	expect.True(t, d.SameHash && len(d.Lines) == 0 && d.Old == d.New && d.Messages.Moved == 0 && d.Messages.Both == 240,
		"%+v with %+v", d, d.Messages)
	doc, err := json.Marshal(d)
	expect.True(t, err == nil && strings.Contains(string(doc), `"lines":[]`) && strings.Contains(string(doc), `"first":[]`), "%s, %v", doc, err)
}

func TestWorseRefuses(t *testing.T) {
	tr := topologytest.Tree(t, ft44)
	known, none := build(t, tr, "fors", ""), build(t, tr, "fors", "none")
	if _, _, err := plandiff.Compare(known, known).Worse([]string{"speed"}); err == nil || err.Error() != `no figure "speed"; there are phases, duration, paths` {
		t.Errorf("error %v", err)
	}
	for _, d := range []plandiff.Diff{plandiff.Compare(known, none), plandiff.Compare(none, known)} {
		worse, lacking, err := d.Worse([]string{"phases", "duration"})
		expect.True(t, err == nil && len(worse) == 0 && slices.Equal(lacking, []string{"duration"}), "worse %v, lacking %v, %v", worse, lacking, err)
		expect.Equal(t, d.Messages.Moved, 0, "messages moved by leaving paths open")
	}
}

func TestCompareOtherServers(t *testing.T) {
	a, b := build(t, topologytest.Tree(t, ft44), "fors", ""), build(t, topologytest.Tree(t, ft88), "fors", "")
	d := plandiff.Compare(a, b)
	expect.True(t, !d.SameServers && d.Messages == nil && d.New.Phases == 63, "%+v", d)
}

// slowMoves compares two plans line by line of their files.
func slowMoves(t *testing.T, older, newer *plan.Plan) plandiff.Moves {
	t.Helper()
	lines := func(p *plan.Plan) map[[2]string][2]string {
		out := map[[2]string][2]string{}
		text := write(t, p)
		for _, l := range strings.Split(string(text), "\n") {
			if f := strings.Fields(l); len(f) == 4 && f[0] != "#" {
				out[[2]string{f[1], f[2]}] = [2]string{f[0], f[3]}
			}
		}
		return out
	}
	a, b := lines(older), lines(newer)
	var m plandiff.Moves
	for pair, x := range a {
		y, ok := b[pair]
		if !ok {
			m.Old++
			m.Moved++
			continue
		}
		m.Both++
		if x[0] != y[0] {
			m.Phase++
		}
		if x[1] != y[1] {
			m.Path++
		}
		if x != y {
			m.Moved++
		}
	}
	for pair := range b {
		if _, ok := a[pair]; !ok {
			m.New++
			m.Moved++
		}
	}
	return m
}

func TestCompareMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	compared := 0
	for m0 := 2; m0 <= 5; m0++ {
		for m1 := 2; m1 <= 5; m1++ {
			tr := topologytest.Tree(t, topology.Options{Ports: m0, Leaves: m1})
			var plans []*plan.Plan
			for _, dead := range []int{0, 1, m0 * m1 / 2} {
				links := make([]topology.Link, dead) // may cut leaves apart
				for i := range links {
					links[i] = topology.Link{Leaf: rng.IntN(m1), Spine: rng.IntN(m0)}
				}
				broken := expect.Value(tr.Without(links...))(t)
				for _, name := range []string{"linear-shift", "bandwidth-optimal"} {
					p, err := plan.Build(broken, plan.Options{Schedule: name, Routing: "minhop", DropUnreachable: true})
					if err != nil {
						continue // nothing is left
					}
					plans = append(plans, p)
				}
			}
			for _, a := range plans {
				for _, b := range plans {
					want := slowMoves(t, a, b)
					got := *plandiff.Compare(a, b).Messages
					first := got.First
					if got.First = nil; !reflect.DeepEqual(got, want) {
						t.Fatalf("%s, %v to %v: %+v, want %+v", tr.Notation(), a.Tree.DownNames(), b.Tree.DownNames(), got, want)
					}
					expect.MustTrue(t, len(first) == min(plandiff.FirstMoves, want.Moved), "%d of %d moves listed", len(first), want.Moved)
					compared++
				}
			}
		}
	}
	expect.True(t, compared >= 300, "only %d pairs of plans compared", compared)
}
