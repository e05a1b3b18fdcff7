package plan_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"evbench/builder"
	"evbench/internal/expect"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

// On random trees with missing servers and dead links the judge finds every ordered plan
// valid and its bound proven, against the sizes as well.
func TestOrderedJudged(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 2))
	kinds, parts := map[string]int{}, 0
	for n := range 120 {
		tr, ok := random(t, rng, 1+rng.IntN(6), 2+rng.IntN(5))
		if !ok || tr.Connected() != nil {
			continue
		}
		drawn := []builder.Distribution{
			{}, {Spread: 0.5}, {Kind: builder.Exponential}, {Kind: builder.LogNormal, Sigma: 1}, {Spread: 0.5, Fanout: min(8, tr.Servers()-1)},
		}
		var window []*sizes.Matrix
		for range 1 + rng.IntN(3) {
			of := &builder.Sizes{
				Mean: 1 + rng.IntN(1000), Seed: rng.Uint64(), Servers: tr.Servers(), Distribution: drawn[(n+len(window))%len(drawn)],
			}
			m := expect.Value(sizes.Exchange(tr, of.Of, 0))(t)
			window = append(window, m)
		}
		made, err := sizes.MakeWindow(tr, window, sizes.Options{Seed: rng.Uint64(), Runs: 3, Split: n%4 > 0})
		expect.Must(t, err)
		p := &plan.Ordered{Plan: made}
		var b bytes.Buffer
		expect.Must(t, p.WriteText(&b))
		if _, err := plan.Read(bytes.NewReader(b.Bytes())); err == nil || !strings.Contains(err.Error(), "a plan of version 2") {
			t.Fatalf("plan.Read: error %v", err)
		}
		file, f, err := verify.ReadEither(bytes.NewReader(b.Bytes()), 1<<30)
		if err != nil || file != nil {
			t.Fatalf("error %v of\n%s", err, b.Bytes())
		}
		var want []verify.Size
		sum := int64(0)
		for e, m := range window {
			sum += m.Sum()
			for i := range tr.Servers() {
				for j := range tr.Servers() {
					if n := m.Size(i, j); n > 0 {
						want = append(want, verify.Size{Src: int32(tr.Position(i)), Dst: int32(tr.Position(j)), Bytes: n, Exchange: int32(e)})
					}
				}
			}
		}
		r := verify.CheckOrdered(f, want, verify.Options{Bound: true})
		if !r.Valid || !r.Bound.Proven || r.Time != made.Time || r.Pieces != made.Len() || r.Bytes != sum || r.Exchanges != len(window) {
			t.Fatalf("%+v\n%s", r, b.Bytes())
		}
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

// A window that the header states otherwise, and a plan without it, are found by the hash.
func TestOrderedHashHasWindow(t *testing.T) {
	tr := expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 2}))(t)
	m, err := sizes.NewMatrix(tr)
	if err == nil {
		err = m.Set(0, 1, 3)
	}
	expect.Must(t, err)
	empty, err := sizes.NewMatrix(tr)
	expect.Must(t, err)
	hashes := map[string]bool{}
	for n := 1; n <= 3; n++ { // exchanges in which nobody sends leave no line
		made, err := sizes.MakeWindow(tr, []*sizes.Matrix{m, empty, empty}[:n], sizes.Options{})
		expect.Must(t, err)
		p := &plan.Ordered{Plan: made}
		hashes[p.Hash()] = true
		var text strings.Builder
		expect.Must(t, p.WriteText(&text))
		for window := 1; window <= 4; window++ {
			changed := regexp.MustCompile(`(?m)^# window .*\n`).ReplaceAllString(text.String(), "")
			if window > 1 {
				changed = strings.Replace(changed, "# sizes", fmt.Sprintf("# window %d\n# sizes", window), 1)
			}
			_, f, err := verify.ReadEither(strings.NewReader(changed), 1<<10)
			expect.Must(t, err)
			r := verify.CheckOrdered(f, nil, verify.Options{})
			expect.False(t, r.Valid != (window == n) || window != n && r.Counts[verify.WrongHash] != 1,
				"%d exchanges, stated as %d: %+v of\n%s", n, window, r, changed)
		}
	}
	expect.Equal(t, len(hashes), 3, "hashes of three plans")
}
