package sizes_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

// windows gives random windows of 1 to 4 exchanges on random trees.
func windows(t *testing.T, cases int, use func(name string, tr *topology.Tree, window []*sizes.Matrix, o sizes.Options)) {
	rng := rand.New(rand.NewPCG(17, 5))
	names := sizes.Distributions()
	for n := range cases {
		m0 := 1 + rng.IntN(6)
		tr := broken(t, topology.Options{Ports: m0, Leaves: 2 + rng.IntN(4)}, rng.IntN(m0), rng.Uint64())
		if tr.Connected() != nil {
			continue
		}
		var window []*sizes.Matrix
		for range 1 + n%4 {
			m, err := sizes.Draw(tr, names[rng.IntN(len(names))], 1+rng.Int64N(2000), rng.Uint64())
			if err != nil {
				t.Fatal(err)
			}
			window = append(window, m)
		}
		o := sizes.Options{Seed: rng.Uint64(), Overhead: rng.Int64N(2) * 100, Split: n%3 == 0}
		use(fmt.Sprintf("%s without %v, %d exchanges", tr.Notation(), tr.DownNames(), len(window)), tr, window, o)
	}
}

// occupied returns what a piece occupies.
func occupied(tr *topology.Tree, x sizes.Piece) []topology.Wire {
	return tr.Path(nil, x.Src, x.Dst, x.Spine)
}

// Each byte of each exchange once, no port and no link twice at a time, live links, and
// never below the bound of one exchange, nor of all together.
func TestWindow(t *testing.T) {
	windows(t, 200, func(name string, tr *topology.Tree, window []*sizes.Matrix, o sizes.Options) {
		p, err := sizes.MakeWindow(tr, window, o)
		if err != nil {
			t.Fatal(err)
		}
		type fragment struct{ exchange, src, dst int }
		sent, until, last := map[fragment]int64{}, map[topology.Wire]int64{}, int64(0)
		for x := range p.Pieces() {
			if x.Bytes < 1 || x.Spine >= 0 && (!tr.Alive(tr.Leaf(x.Src), x.Spine) || !tr.Alive(tr.Leaf(x.Dst), x.Spine)) {
				t.Fatalf("%s: %+v", name, x)
			}
			if f := (fragment{x.Exchange, x.Src, x.Dst}); sent[f] != x.Offset {
				t.Fatalf("%s: %+v after %d bytes", name, x, sent[f])
			} else {
				sent[f] += x.Bytes
			}
			for _, w := range occupied(tr, x) {
				if until[w] > x.Start {
					t.Fatalf("%s: %+v before %d", name, x, until[w])
				}
				until[w] = x.Start + x.Bytes
			}
			last = max(last, x.Start+x.Bytes)
		}
		sum := func(i, j int) (n int64) {
			for _, m := range window {
				n += m.Size(i, j)
			}
			return n
		}
		for e, m := range append(slices.Clone(window), nil) {
			size := sum
			if m != nil {
				size = m.Size
				for i := range tr.Servers() {
					for j := range tr.Servers() {
						if n := sent[fragment{e, i, j}]; n != m.Size(i, j) {
							t.Fatalf("%s: exchange %d, %d to %d: %d bytes, want %d", name, e, i, j, n, m.Size(i, j))
						}
					}
				}
			}
			if b, _, err := scheduler.BoundBytes(tr, size); err != nil || p.Time < b.Time || m == nil && b.Time != p.Bound.Time {
				t.Errorf("%s: time %d, bound %+v, exchange %d has %+v, error %v", name, p.Time, p.Bound, e, b, err)
			}
		}
		if p.Time != last {
			t.Errorf("%s: time %d, the last piece ends at %d", name, p.Time, last)
		}
	})
}

// Pieces sent in the order of each server, each after its tokens, take the time of the
// plan, and never meet on a port or link; tokens name earlier pieces of other servers.
func TestTokens(t *testing.T) {
	windows(t, 120, func(name string, tr *topology.Tree, window []*sizes.Matrix, o sizes.Options) {
		var plans []*sizes.Plan
		var pieces [][]sizes.Piece
		for n := range 2 {
			p, err := sizes.MakeWindow(tr, window, sizes.Options{Seed: uint64(n), Split: o.Split})
			if err != nil {
				t.Fatal(err)
			}
			plans, pieces = append(plans, p), append(pieces, slices.Collect(p.Pieces()))
		}
		free, until := make([]int64, tr.Servers()), map[topology.Wire]int64{}
		var ends [2][]int64
		for w, p := range plans {
			before := (*sizes.Plan)(nil)
			if w > 0 {
				before = plans[w-1]
			}
			for k, tokens := range p.Tokens(before) {
				x := pieces[w][k]
				start := free[x.Src]
				for n, of := range tokens {
					from, end := &pieces[w], &ends[w]
					if of < 0 {
						of, from, end = ^of, &pieces[w-1], &ends[w-1]
					} else if int(of) >= k {
						t.Fatalf("%s: piece %d waits for piece %d", name, k, of)
					}
					if (*from)[of].Src == x.Src || slices.Contains(tokens[:n], tokens[n]) {
						t.Fatalf("%s: piece %d waits for %v", name, k, tokens)
					}
					start = max(start, (*end)[of])
				}
				for _, wire := range occupied(tr, x) {
					if until[wire] > start {
						t.Fatalf("%s: piece %d %+v of window %d starts at %d, before %d", name, k, x, w, start, until[wire])
					}
					until[wire] = start + x.Bytes
				}
				free[x.Src] = start + x.Bytes
				ends[w] = append(ends[w], start+x.Bytes)
			}
		}
		if last := slices.Max(ends[0]); last != plans[0].Time {
			t.Errorf("%s: with tokens %d, the plan has %d", name, last, plans[0].Time)
		}
	})
}

func TestWindowRefuses(t *testing.T) {
	tr := broken(t, topology.Options{Ports: 2, Leaves: 2}, 0, 1)
	m := draw(t, tr, "equal", 1)
	other := draw(t, broken(t, topology.Options{Ports: 2, Leaves: 3}, 0, 1), "equal", 1)
	for _, tt := range []struct {
		window []*sizes.Matrix
		o      sizes.Options
		want   string
	}{
		{nil, sizes.Options{}, "a window of 0 exchanges"},
		{make([]*sizes.Matrix, sizes.MaxWindow+1), sizes.Options{}, "a window of 17 exchanges"},
		{[]*sizes.Matrix{m, other}, sizes.Options{}, "sizes of 6 servers, the tree has 4"},
		{[]*sizes.Matrix{m}, sizes.Options{Overhead: -1}, "overhead -1"},
		{[]*sizes.Matrix{m}, sizes.Options{Order: "x"}, `no order "x"`},
	} {
		if _, err := sizes.MakeWindow(tr, tt.window, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}
