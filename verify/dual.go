package verify

import (
	"errors"
	"fmt"
	"math/big"

	"evbench/topology"
)

// dual returns the lower bound on phases that weights on leaf-spine wires prove:
//
//	⌈ Σ_{a≠b} n_a·n_b · min_{k∈A(a,b)} ( y(a,k,up) + y(b,k,down) ) / Σ y ⌉
//
// over ordered pairs of leaves. Whatever spines the messages
// from a to b take, they put at least that much weighted load on the wires, and
// K phases can carry at most K·Σy. It is exact: integers, no rounding but the
// last. O(leaves² · spines).
func dual(t *topology.Tree, weights []Weight) (*big.Int, error) {
	y, sum := make([]uint64, 2*t.Leaves()*t.Spines()), new(big.Int)
	term, factor := new(big.Int), new(big.Int)
	for _, w := range weights {
		y[w.Wire] = uint64(w.Weight)
		sum.Add(sum, term.SetUint64(uint64(w.Weight)))
	}
	if sum.Sign() == 0 {
		return nil, errors.New("its weights sum to 0, which proves nothing")
	}
	load := new(big.Int)
	for a := range t.Leaves() {
		for b := range t.Leaves() {
			if a == b || t.On(a) == 0 || t.On(b) == 0 {
				continue
			}
			least, ok := cheapest(t, y, a, b)
			if !ok {
				return nil, fmt.Errorf("leaf%d and leaf%d share no live spine", a, b)
			}
			term.Mul(term.SetUint64(least), factor.SetUint64(uint64(t.On(a)*t.On(b))))
			load.Add(load, term)
		}
	}
	load.Add(load, sum).Sub(load, big.NewInt(1)) // round up
	return load.Quo(load, sum), nil
}

// cheapest returns the least weight of a live path from leaf a to leaf b. Two
// weights are at most 2⁶³-1 each, so their sum fits.
func cheapest(t *topology.Tree, y []uint64, a, b int) (least uint64, ok bool) {
	for k := range t.Spines() {
		if !t.Alive(a, k) || !t.Alive(b, k) {
			continue
		}
		if w := y[t.Up(a, k)] + y[t.Down(b, k)]; !ok || w < least {
			least, ok = w, true
		}
	}
	return least, ok
}
