package ordered_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"evbench/builder"
	"evbench/model/ordered"
	"evbench/plan"
	"evbench/scheduler/judge"
	"evbench/scheduler/list"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// On random trees with missing servers and dead links the judge finds every ordered plan
// valid and its bound proven, against the sizes as well.
func TestOrderedJudged(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 2))
	kinds, parts := map[string]int{}, 0
	for n := range 120 {
		tr, ok := topologytest.Random(t, rng, 1+rng.IntN(6), 2+rng.IntN(5))
		switch n % 4 {
		case 1:
			tr, ok = topologytest.Cables(t, rng, 5, 5, 2), true
		case 2:
			tr, ok = topologytest.Pods(t, rng), true
		}
		if !ok || tr.Connected() != nil {
			continue
		}
		if n%5 == 4 {
			tr = topologytest.Roles(t, tr, rng)
		}
		drawn := []builder.Distribution{
			{}, {Spread: 0.5}, {Kind: builder.Exponential}, {Kind: builder.LogNormal, Sigma: 1}, {Spread: 0.5, Fanout: min(8, tr.Servers()-1)},
		}
		var window []*list.Matrix
		for range 1 + rng.IntN(3) {
			of := &builder.Sizes{
				Mean: 1 + rng.IntN(1000), Seed: rng.Uint64(), Roles: builder.Roles{Servers: tr.Servers()}, Distribution: drawn[(n+len(window))%len(drawn)],
			}
			servers := uint64(tr.Servers())
			m := expect.Value(list.Exchange(tr.Shape, func(event uint64, source int) int {
				if !tr.Meets(source, int(event%servers)) {
					return 0
				}
				return max(1, of.Of(event, source))
			}, 0))(t)
			window = append(window, m)
		}
		made := expect.Value(list.MakeWindow(tr, window, list.Options{Seed: rng.Uint64(), Runs: 3, Split: n%4 > 0}))(t)
		p := &ordered.Plan{Plan: made}
		var b bytes.Buffer
		expect.Must(t, p.WriteText(&b))
		expect.Error(t, expect.Err(plan.Read(bytes.NewReader(b.Bytes()), nil)), "not a plan of a tree in phases")
		f, err := judge.Read(bytes.NewReader(b.Bytes()))
		expect.MustTrue(t, err == nil, "error %v of\n%s", err, b.Bytes())
		var want []judge.Size
		sum := int64(0)
		for e, m := range window {
			sum += m.Sum()
			for i := range tr.Servers() {
				for j := range tr.Servers() {
					if n := m.Size(i, j); n > 0 {
						want = append(want, judge.Size{Src: int32(tr.Position(i)), Dst: int32(tr.Position(j)), Bytes: n, Exchange: int32(e)})
					}
				}
			}
		}
		r := judge.Check(f, judge.Options{Bound: true, Sizes: want})
		expect.MustFalse(t, !r.Valid || !r.Bound.Proven || r.Duration != float64(made.Time) || r.Pieces != made.Len() || r.Bytes != sum || r.Exchanges != len(window),
			"%+v\n%s", r, b.Bytes())
		for x := range made.Pieces() {
			if x.Offset > 0 {
				parts++
			}
		}
		kind, _, _ := strings.Cut(p.Witness(), " ")
		kinds[kind]++
	}
	expect.True(t, parts != 0, "no plan sends a fragment in parts")
	expect.True(t, kinds["send"] != 0 && kinds["receive"] != 0 && kinds["up"] != 0 && kinds["down"] != 0 && kinds["lp"] != 0,
		"kinds of bounds: %v", kinds)
}

// A path that a tree does not have is an offence of its own.
func TestOrderedPaths(t *testing.T) {
	for _, tt := range []struct {
		topology, line string
		want           judge.Kind
	}{
		{"FT(3;2,2,2)", "0 4 1.1", ""}, {"FT(3;2,2,2)", "0 2 1", ""}, {"FT(3;2,2,2)", "0 2 1.0", judge.NeedlessTop},
		{"FT(3;2,2,2)", "0 4 1", judge.MissingTop}, {"FT(3;2,2,2)", "0 4 1.2", judge.NoSuchTop},
		{"FT(3;2,2,2)", "0 4 0.0", judge.DeadLink}, {"FT(3;2,2,2)", "0 4 0.1", ""}, {"FT(3;2,2,2)", "4 6 1.1", judge.NeedlessTop},
		{"PGFT(2;2,2;1,2;1,2)", "0 2 1.0.1", ""}, {"PGFT(2;2,2;1,2;1,2)", "0 2 1", judge.MissingCable},
		{"PGFT(2;2,2;1,2;1,2)", "0 2 1.0.2", judge.NoSuchCable}, {"PGFT(2;2,2;1,2;1,2)", "0 2 0.0.0", judge.DeadLink},
	} {
		down := map[bool]string{true: "pod1-spine0-top0", false: "leaf1-spine0/0"}[tt.topology[0] == 'F']
		f, err := judge.Read(strings.NewReader("# evbench plan 2\n# topology " + tt.topology + "\n# down " + down + "\n" + tt.line + " 0 5\n"))
		expect.Must(t, err)
		r := judge.Check(f, judge.Options{})
		expect.True(t, r.Valid == (tt.want == "") && (r.Valid || r.Counts[tt.want] == 1), "%s %s: %+v", tt.topology, tt.line, r)
	}
	for _, link := range []struct{ a, b string }{{"0 4 1.1 0 5", "2 6 1.1 4 5"}, {"0 4 1.0 0 5", "2 4 1.0 5 5"}} { // one top switch at a time
		f, err := judge.Read(strings.NewReader("# evbench plan 2\n# topology FT(3;2,2,2)\n" + link.a + "\n" + link.b + "\n"))
		expect.Must(t, err)
		r := judge.Check(f, judge.Options{})
		contention := r.Counts[judge.Contention]
		expect.True(t, contention == 2 && link.a[4] == '1' && strings.Contains(r.Offences[0].Text, "top1") || r.Valid, "%+v", r)
	}
}

// A window that the header states otherwise, and a plan without it, are found by the hash.
//
//gate:race
func TestOrderedHashHasWindow(t *testing.T) {
	tr := expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 2}))(t)
	m, err := list.NewMatrix(tr.Servers())
	if err == nil {
		err = m.Set(0, 1, 3)
	}
	expect.Must(t, err)
	empty := expect.Value(list.NewMatrix(tr.Servers()))(t)
	hashes := map[string]bool{}
	for n := 1; n <= 3; n++ { // exchanges in which nobody sends leave no line
		made := expect.Value(list.MakeWindow(tr, []*list.Matrix{m, empty, empty}[:n], list.Options{}))(t)
		p := &ordered.Plan{Plan: made}
		hashes[p.Hash()] = true
		var text strings.Builder
		expect.Must(t, p.WriteText(&text))
		for window := 1; window <= 4; window++ {
			changed := regexp.MustCompile(`(?m)^# window .*\n`).ReplaceAllString(text.String(), "")
			if window > 1 {
				changed = strings.Replace(changed, "# sizes", fmt.Sprintf("# window %d\n# sizes", window), 1)
			}
			f, err := judge.Read(strings.NewReader(changed))
			expect.Must(t, err)
			r := judge.Check(f, judge.Options{})
			expect.False(t, r.Valid != (window == n) || window != n && r.Counts[judge.WrongHash] != 1,
				"%d exchanges, stated as %d: %+v of\n%s", n, window, r, changed)
		}
	}
	expect.Equal(t, len(hashes), 3, "hashes of three plans")
}
