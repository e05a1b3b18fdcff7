package judge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"evbench/topology"
)

// maxWeight bounds a weight, so that four of them fit into 64 bits.
const maxWeight = 1<<62 - 1

// dual returns the lower bound that weights y on the wires between switches prove:
//
//	⌈ Σ_{a≠b} n_ab · (least weight of a live path from a to b) / Σ y ⌉
//
// over ordered pairs of leaves with n_ab messages, or bytes, between them: in K phases, or byte times, wires
// carry at most K·Σy. It is exact. O(leaves²·spines), on three levels and O(pods²·planes·tops).
func (j *judge) dual(weights []DualWeight, between func(yield func(a, b int, n uint64))) (*big.Int, error) {
	y, sum, err := spread(&j.tree.Live, weights)
	if err != nil {
		return nil, err
	}
	p := newPricer(j.tree, y)
	load, most := new(big.Int), new(big.Int)
	var hi, lo uint64 // what is not yet in load
	between(func(a, b int, n uint64) {
		least := p.cheapest(a, b)
		if least == unpriced {
			err = cmp.Or(err, fmt.Errorf("leaf%d and leaf%d share no live spine", a, b))
			return
		}
		h, l := bits.Mul64(least, n)
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		if hi += h + carry; hi >= 1<<62 { // a product has at most 62 + 53 bits
			load.Add(load, most.SetUint64(hi).Lsh(most, 64))
			hi = 0
		}
	})
	if err != nil {
		return nil, err
	}
	load.Add(load, most.SetUint64(hi).Lsh(most, 64)).Add(load, new(big.Int).SetUint64(lo))
	load.Add(load, sum).Sub(load, big.NewInt(1)) // round up
	return load.Quo(load, sum), nil
}

func spread(t *topology.Live, weights []DualWeight) (y []uint64, sum *big.Int, err error) {
	y, sum = make([]uint64, t.AllWires()), new(big.Int)
	dead := deadWires(t)
	for _, w := range weights {
		switch {
		case w.Weight < 0:
			return nil, nil, fmt.Errorf("%s has weight %d, which is negative", wireName(t, w.Wire), w.Weight)
		case w.Weight > maxWeight:
			return nil, nil, fmt.Errorf("%s has weight %d; at most %d is judged", wireName(t, w.Wire), w.Weight, int64(maxWeight))
		case w.Weight > 0 && dead[w.Wire]:
			return nil, nil, fmt.Errorf("%s has a weight, but is dead", wireName(t, w.Wire))
		}
		y[w.Wire] = uint64(w.Weight)
		sum.Add(sum, big.NewInt(w.Weight))
	}
	if sum.Sign() == 0 {
		return nil, nil, errors.New("its weights sum to 0, which proves nothing")
	}
	return y, sum, nil
}

const unpriced = math.MaxUint64

// A pricer finds the cheapest paths. On three levels it keeps the weights of the ways from one pod
// to all others.
type pricer struct {
	tree  *topology.Tree
	y     []uint64 // [topology.Wire]
	from  int      // the pod that across is of
	cross []uint64 // [pod·planes + plane]: least weight of a live top switch, or unpriced
}

func newPricer(t *topology.Tree, y []uint64) *pricer {
	p := &pricer{tree: t, y: y, from: -1}
	if t.Levels() == 3 {
		p.cross = make([]uint64, t.Pods()*t.Spines())
	}
	return p
}

// cheapest returns the least weight of a live path from leaf a to leaf b, or unpriced.
func (p *pricer) cheapest(a, b int) uint64 {
	var cross []uint64
	if p.tree.Levels() == 3 && p.tree.Pod(a) != p.tree.Pod(b) {
		if p.from != p.tree.Pod(a) {
			p.depart(p.tree.Pod(a))
		}
		cross = p.cross[p.tree.Pod(b)*p.tree.Spines():]
	}
	least := uint64(unpriced)
	for k := range p.tree.Spines() {
		if !p.tree.Alive(a, k) || !p.tree.Alive(b, k) || cross != nil && cross[k] == unpriced {
			continue
		}
		w := p.lightest(a, k, 0) + p.lightest(b, k, 1)
		if cross != nil {
			w += cross[k]
		}
		least = min(least, w)
	}
	return least
}

// lightest returns the least weight of the live cables between a leaf and a spine, at least one,
// upwards (0) or downwards (1): any cable up goes with any down.
func (p *pricer) lightest(leaf, spine, direction int) uint64 {
	least := uint64(unpriced)
	for l := range p.tree.Joining(leaf, spine) {
		if p.tree.LinkAlive(l) {
			least = min(least, p.y[int(p.tree.UpWire(l))+direction])
		}
	}
	return least
}

// depart prices the ways from one pod to the others. O(pods·planes·tops).
func (p *pricer) depart(from int) {
	p.from = from
	for to := range p.tree.Pods() {
		for k := range p.tree.Spines() {
			least := uint64(unpriced)
			for top := range p.tree.Tops() {
				if p.tree.TopAlive(from, k, top) && p.tree.TopAlive(to, k, top) {
					least = min(least, p.y[p.tree.TopUp(from, k, top)]+p.y[p.tree.TopDown(to, k, top)])
				}
			}
			p.cross[to*p.tree.Spines()+k] = least
		}
	}
}

func deadWires(t *topology.Live) []bool {
	dead := make([]bool, t.AllWires())
	for _, l := range t.Dead() {
		up := t.UpWire(l)
		dead[up], dead[up+1] = true, true // the two wires of a cable are neighbours
	}
	return dead
}
