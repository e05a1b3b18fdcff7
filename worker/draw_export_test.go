package worker

import (
	"math/rand/v2"
	"slices"
	"sync"

	"evbench/internal/wire"
)

// Drawn plans windows of random order for servers, PerLeaf to a leaf, over Spines; every
// window is the fragments of its exchanges in that order, each as early as the four that
// come before it allow. It is a controller.Windows.
type Drawn struct {
	Servers, PerLeaf, Spines int
	Seed                     uint64
	Skip                     func(exchange uint64, src, dst int) bool // these have no fragment; nil: all have

	mu     sync.Mutex
	before []Piece
}

// A Piece is a fragment of a drawn window.
type Piece struct {
	Exchange, Src, Dst, Spine int
}

// Uses lists what a fragment occupies: the send port first, then the receive port, up-link
// and down-link.
func (d *Drawn) Uses(x Piece) [][3]int {
	all := [][3]int{{0, x.Src}, {1, x.Dst}}
	if x.Spine >= 0 {
		all = append(all, [3]int{2, x.Src / d.PerLeaf, x.Spine}, [3]int{3, x.Dst / d.PerLeaf, x.Spine})
	}
	return all
}

// Draw returns the fragments of a window in a random order.
func (d *Drawn) Draw(from uint64, count int) []Piece {
	rng := rand.New(rand.NewPCG(d.Seed, from))
	var all []Piece
	for e := range count {
		for src := range d.Servers {
			for dst := range d.Servers {
				if src == dst || d.Skip != nil && d.Skip(from+uint64(e), src, dst) {
					continue
				}
				spine := -1
				if src/d.PerLeaf != dst/d.PerLeaf {
					spine = rng.IntN(d.Spines)
				}
				all = append(all, Piece{e, src, dst, spine})
			}
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Next implements controller.Windows.
func (d *Drawn) Next(from uint64, count int, quiet bool) ([]wire.Window, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	type last struct{ src, dst, take int } // take < 0: of the window before
	use, took := map[[3]int]last{}, make([]int, d.Servers)
	if !quiet {
		for _, x := range d.before {
			took[x.Dst]++
			for _, u := range d.Uses(x) {
				use[u] = last{x.Src, x.Dst, -took[x.Dst]}
			}
		}
	}
	clear(took)
	out := make([]wire.Window, d.Servers)
	for i := range out {
		out[i] = wire.Window{Sends: wire.Turns{}, Takes: wire.Takes{}}
	}
	d.before = d.Draw(from, count)
	for _, x := range d.before {
		t := wire.Turn{Exchange: x.Exchange, To: x.Dst, Spine: x.Spine}
		for _, u := range d.Uses(x)[1:] {
			l, ok := use[u]
			if ok && l.src != x.Src && !slices.Contains(t.Await, l.dst) {
				// The last of those of one receiver is what counts.
				best := l
				for _, v := range d.Uses(x)[1:] {
					if o, ok := use[v]; ok && o.dst == l.dst && o.src != x.Src && later(o.take, best.take) {
						best = o
					}
				}
				t.Await = append(t.Await, l.dst)
				out[l.dst].Tells = append(out[l.dst].Tells, wire.Tell{After: best.take, To: x.Src, Send: len(out[x.Src].Sends)})
			}
		}
		for _, u := range d.Uses(x) {
			use[u] = last{x.Src, x.Dst, took[x.Dst]}
		}
		took[x.Dst]++
		out[x.Src].Sends = append(out[x.Src].Sends, t)
		out[x.Dst].Takes = append(out[x.Dst].Takes, wire.Take{Exchange: x.Exchange, From: x.Src, Spine: x.Spine})
	}
	return out, nil
}

// later compares takes as Drawn counts them: those of the window before are negative, and
// the smaller the later.
func later(a, b int) bool {
	switch {
	case a >= 0 || b >= 0:
		return a > b
	}
	return a < b
}
