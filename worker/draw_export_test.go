package worker

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"evbench/controller/wire"
)

// Drawn plans windows of random order for servers, PerLeaf to a leaf, over Spines; every window is the fragments
// of its exchanges in that order, each as early as the four that come before it allow. It is a controller.Windows.
type Drawn struct {
	Servers, PerLeaf, Spines int
	Seed                     uint64
	Skip                     func(exchange uint64, src, dst int) bool // these have no fragment; nil: all have

	mu   sync.Mutex
	use  map[[3]int]last // since the network was quiet
	took []int           // by rank, receives since then
}

// A Piece is a fragment of a drawn window.
type Piece struct {
	Exchange, Src, Dst, Spine int
}

// Uses lists what a fragment occupies: the send port first, then the receive port, up-link and down-link.
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

// A last is the last fragment on a port or link.
type last struct{ src, dst, take int } // take: number among what dst receives

// Next implements controller.Windows.
func (d *Drawn) Next(from uint64, count int, quiet bool) ([]wire.Window, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if quiet || d.took == nil {
		d.use, d.took = map[[3]int]last{}, make([]int, d.Servers)
	}
	first := slices.Clone(d.took)
	out := make([]wire.Window, d.Servers)
	for i := range out {
		out[i] = wire.Window{Sends: wire.Turns{}, Takes: wire.Takes{}}
	}
	for _, x := range d.Draw(from, count) {
		t := wire.Turn{Exchange: x.Exchange, To: x.Dst, Spine: x.Spine}
		await := map[int]int{} // by receiver, the last that it receives of those that count
		for _, u := range d.Uses(x)[1:] {
			if l, ok := d.use[u]; ok && l.src != x.Src {
				await[l.dst] = max(await[l.dst], l.take)
			}
		}
		for _, r := range slices.Sorted(maps.Keys(await)) {
			t.Await = append(t.Await, r)
			out[r].Tells = append(out[r].Tells, wire.Tell{After: await[r] - first[r], To: x.Src, Send: len(out[x.Src].Sends)})
		}
		for _, u := range d.Uses(x) {
			d.use[u] = last{x.Src, x.Dst, d.took[x.Dst]}
		}
		d.took[x.Dst]++
		out[x.Src].Sends = append(out[x.Src].Sends, t)
		out[x.Dst].Takes = append(out[x.Dst].Takes, wire.Take{Exchange: x.Exchange, From: x.Src, Spine: x.Spine})
	}
	return out, nil
}
