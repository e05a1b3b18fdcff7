package scheduler

import "fmt"

// MaxServers is the most servers of a schedule: its table of pairs takes 4 bytes
// each.
const MaxServers = 1 << 15

// maxSplit bounds the memory of FORS: the table of pairs of leaves and spines, and
// the states of a repair.
const maxSplit = 1 << 28

// check refuses trees that are too large to plan.
func (f *fabric) check() error {
	if f.servers > MaxServers || f.leaves*f.leaves*f.spines > maxSplit || 2*f.leaves*f.spines*(f.spines+1) > maxSplit {
		return fmt.Errorf("%d servers on %d leaves with %d spines are more than can be planned (at most %d servers, %d leaves²·spines)",
			f.servers, f.leaves, f.spines, MaxServers, maxSplit)
	}
	return nil
}

// balance splits the messages of every pair of leaves over its spines such that
// the largest link load is least, and not below S-1, which costs nothing. It
// returns the split, whose ceiling is the number of phases, and the best lower
// bound proven on the way. The two are equal in all of some 50,000 trees tried;
// whether whole numbers always reach the bound is not known (the general
// problem, 3-D transportation, is NP-hard).
//
// The ceiling starts at what servers and leaves need, and, where that does not
// prove enough at once, sets of leaves (hall). A fractional split is pushed below
// it, or proves it too low, which raises it; then the split is rounded and
// repaired. If that fails, the fraction is looked at more closely,
// and in the end the ceiling is raised without proof.
//
// No seed but its own is used: the number of phases depends on the tree alone.
func (f *fabric) balance() (*split, Bound) {
	f.share()
	b := f.simpleBound()
	w := newFluid(f, nil)
	w.ceiling = float64(b.Phases)
	for b = w.settle(b, sweeps); ; w.ceiling++ {
		for try := range tries {
			if s := w.round(try); s.repair() {
				return s, b
			}
			if try == 0 {
				w.slope = gentle
				b = w.settle(b, 10*sweeps)
			}
		}
	}
}

const (
	sweeps    = 100
	tries     = 6
	tolerance = 0.05 // fractional load above the ceiling that rounding and repair take care of
)

// settle sweeps until no load is above the ceiling, raising the ceiling whenever
// the loads prove that none can be, and returns the bound so proven.
func (w *fluid) settle(b Bound, sweeps int) Bound {
	for i := 1; i <= sweeps && w.excess() > tolerance; i++ {
		w.sweep()
		if i%8 != 0 {
			continue
		}
		if w.above == nil && !w.hallKnown {
			b, w.hallKnown = w.hall(b), true
			w.ceiling = max(w.ceiling, float64(b.Phases))
		}
		for _, y := range w.weights() {
			b = w.better(b, y)
		}
		w.ceiling = max(w.ceiling, float64(b.Phases))
	}
	return b
}

// better returns the bound that weights prove, if it is above b, else b.
func (w *fluid) better(b Bound, y []int64) Bound {
	switch {
	case w.above != nil && w.above.dual(y) > b.Phases:
		return w.above.witness(y)
	case w.above == nil && w.dual(y) > b.Phases:
		return w.witness(y)
	}
	return b
}
