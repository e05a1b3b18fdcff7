package list_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/list"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/topology"
)

// windows gives random windows of 1 to 4 exchanges on random trees.
func windows(t *testing.T, cases int, use func(name string, tr *topology.Tree, window []*list.Matrix, o list.Options)) {
	rng := rand.New(rand.NewPCG(17, 5))
	names := slices.Sorted(maps.Keys(distributions))
	for n := range cases {
		m0 := 1 + rng.IntN(6)
		o := topology.Options{Ports: m0, Leaves: 2 + rng.IntN(4)}
		switch n % 5 {
		case 3:
			o = topology.Options{Ports: 1 + rng.IntN(3), Leaves: 2 * (2 + rng.IntN(2)), Pods: 2 + rng.IntN(2), Spines: m0, Tops: 1 + rng.IntN(3)}
			o.Leaves = o.Pods * (1 + rng.IntN(3))
		case 4:
			o.Spines, o.Cables = 1+rng.IntN(3), 1+rng.IntN(3)
		}
		tr := broken(t, o, rng.IntN(m0), rng.Uint64())
		if tr.Connected() != nil {
			continue
		}
		var window []*list.Matrix
		for range 1 + n%4 {
			window = append(window, drawn(t, tr.Wires, names[rng.IntN(len(names))], 1+rng.IntN(2000), rng.Uint64()))
		}
		of := list.Options{Seed: rng.Uint64(), Overhead: rng.Int64N(2) * 100, Split: n%3 == 0}
		use(fmt.Sprintf("%s without %v, %d exchanges", tr.Notation(), tr.DownNames(), len(window)), tr, window, of)
	}
}

// occupied returns what a piece occupies.
func occupied(tr topology.Wires, x list.Piece) []topology.Wire {
	return tr.Path(nil, x.Src, x.Dst, x.Path)
}

// Each byte of each exchange once, no port and no link twice at a time, live links, and
// never below the bound of one exchange, nor of all together.
func TestWindow(t *testing.T) {
	windows(t, expect.Samples(200, 60), func(name string, tr *topology.Tree, window []*list.Matrix, o list.Options) {
		p := expect.Value(list.MakeWindow(tr, window, o))(t)
		type fragment struct{ exchange, src, dst int }
		sent, until, last := map[fragment]int64{}, map[topology.Wire]int64{}, int64(0)
		for x := range p.Pieces() {
			expect.MustFalse(t, x.Bytes < 1 || (x.Path >= 0) == (tr.Leaf(x.Src) == tr.Leaf(x.Dst)) || x.Path >= 0 && !tr.PathAlive(tr.Leaf(x.Src), tr.Leaf(x.Dst), x.Path),
				"%s: %+v", name, x)
			if f := (fragment{x.Exchange, x.Src, x.Dst}); sent[f] != x.Offset {
				t.Fatalf("%s: %+v after %d bytes", name, x, sent[f])
			} else {
				sent[f] += x.Bytes
			}
			for _, w := range occupied(tr.Wires, x) {
				expect.MustTrue(t, until[w] <= x.Start, "%s: %+v before %d", name, x, until[w])
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
			b, _, err := scheduler.BoundBytes(tr, size)
			expect.False(t, err != nil || p.Time < int64(b.Phases) || m == nil && b.Phases != p.Bound.Phases,
				"%s: time %d, bound %+v, exchange %d has %+v, error %v", name, p.Time, p.Bound, e, b, err)
		}
		expect.True(t, p.Time == last, "%s: time %d, the last piece ends at %d", name, p.Time, last)
	})
}

// few draws an exchange in which most pairs have no fragment.
func few(t *testing.T, tr *topology.Shape, rng *rand.Rand) *list.Matrix {
	m := expect.Value(list.NewMatrix(tr.Servers()))(t)
	s := tr.Servers()
	for range 1 + rng.IntN(2*s) {
		src := rng.IntN(s)
		expect.Must(t, m.Set(src, (src+1+rng.IntN(s-1))%s, 1+rng.Int64N(2000)))
	}
	return m
}

// A run is windows that servers do, each sending in the order of its pieces, each piece after
// its tokens.
type run struct {
	tr    *topology.Tree
	chain *list.Chain
	sent  []int64                 // by server, when it has sent all so far
	until map[topology.Wire]int64 // by port and link, when it is free
	ends  [][]int64               // by window and piece
}

// window does one that begins at some time; a piece takes so long. Pieces never meet on a
// port or link; tokens name earlier pieces of others, and take numbers as servers count.
func (r *run) window(t *testing.T, name string, p *list.Plan, begin int64, long func(list.Piece) int64) int64 {
	pieces, last, ends := slices.Collect(p.Pieces()), begin, []int64(nil)
	for k, tokens := range r.chain.Add(p) {
		x := pieces[k]
		start := max(begin, r.sent[x.Src])
		for n, of := range tokens {
			from := ends
			if of.Back > 0 {
				from = r.ends[len(r.ends)-int(of.Back)]
			}
			expect.MustFalse(t, slices.Contains(tokens[:n], of) || (of.Take < 0) != (of.Back > 0) || of.Back == 0 && (int(of.Piece) >= k || pieces[of.Piece].Src == x.Src),
				"%s: piece %d waits for %+v", name, k, tokens)
			start = max(start, from[of.Piece])
		}
		end := start + long(x)
		for _, wire := range occupied(r.tr.Wires, x) {
			expect.MustTrue(t, r.until[wire] <= start,
				"%s: piece %d %+v of window %d starts at %d, before %d", name, k, x, len(r.ends), start, r.until[wire])
			r.until[wire] = end
		}
		r.sent[x.Src], last = end, max(last, end)
		ends = append(ends, end)
	}
	r.ends = append(r.ends, ends)
	return last
}

// Windows that follow one another, of which some leave ports and links out: nothing meets,
// however long each piece takes; where each takes its bytes, windows end when planned.
func TestChain(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 6))
	windows(t, expect.Samples(120, 40), func(name string, tr *topology.Tree, window []*list.Matrix, o list.Options) {
		drawn := rng.IntN(2) == 0
		long := func(x list.Piece) int64 {
			if drawn {
				return 1 + rng.Int64N(1<<(1+rng.IntN(14)))
			}
			return x.Bytes
		}
		r := &run{tr: tr, chain: list.NewChain(tr), sent: make([]int64, tr.Servers()), until: map[topology.Wire]int64{}}
		begin := int64(0)
		for n := range 5 {
			if n > 0 && rng.IntN(3) > 0 {
				window = []*list.Matrix{few(t, tr.Shape, rng)}
			}
			p := expect.Value(list.MakeWindow(tr, window, list.Options{Seed: uint64(n), Split: o.Split, After: r.chain}))(t)
			last := r.window(t, name, p, begin, long)
			expect.False(t, last != begin+p.Time && !drawn, "%s: window %d ends at %d, planned at %d", name, n, last, begin+p.Time)
			if drawn {
				continue
			}
			begin = math.MaxInt64
			for x := range p.Pieces() {
				begin = min(begin, r.sent[x.Src])
			}
		}
	})
}

// TestPaths: fragments take the spines of a schedule with one path from each leaf to each server.
func TestPaths(t *testing.T) {
	windows(t, expect.Samples(60, 24), func(name string, tr *topology.Tree, window []*list.Matrix, o list.Options) {
		s, _, err := scheduler.FORS(tr, scheduler.Options{Seed: 3, Objective: schedules.FewestPaths})
		expect.Must(t, err)
		for _, o.Order = range []string{"", list.OrderList, list.OrderFORS} {
			o.Paths = s
			p := expect.Value(list.MakeWindow(tr, window, o))(t)
			free := make([]int64, tr.AllWires())
			for x := range p.Pieces() {
				if _, k := s.At(x.Src, x.Dst); x.Path != tr.PathOf(k, s.Top(x.Src, x.Dst)) {
					t.Fatalf("%s: %d to %d over spine %d, want %d", name, x.Src, x.Dst, x.Path, k)
				}
				for _, w := range occupied(tr.Wires, x) {
					expect.MustTrue(t, x.Start >= free[w], "%s: %d to %d starts at %d, the wire is free at %d", name, x.Src, x.Dst, x.Start, free[w])
					free[w] = x.Start + x.Bytes
				}
			}
		}
	})
}

func TestWindowRefuses(t *testing.T) {
	tr := broken(t, topology.Options{Ports: 2, Leaves: 2}, 0, 1)
	m := draw(t, tr.Wires, "equal", 1)
	other := draw(t, broken(t, topology.Options{Ports: 2, Leaves: 3}, 0, 1).Wires, "equal", 1)
	for _, tt := range []struct {
		window []*list.Matrix
		o      list.Options
		want   string
	}{
		{nil, list.Options{}, "a window of 0 exchanges"},
		{make([]*list.Matrix, schedules.MaxWindow+1), list.Options{}, "a window of 17 exchanges"},
		{[]*list.Matrix{m, other}, list.Options{}, "sizes of 6 servers, the tree has 4"},
		{[]*list.Matrix{m}, list.Options{Overhead: -1}, "overhead -1"},
		{[]*list.Matrix{m}, list.Options{Order: "x"}, `no order "x"`},
		{[]*list.Matrix{m}, list.Options{After: list.NewChain(broken(t, topology.Options{Ports: 2, Leaves: 2}, 0, 1))}, "another tree"},
	} {
		expect.Error(t, expect.Err(list.MakeWindow(tr, tt.window, tt.o)), tt.want)
	}
}
