package scheduler

import "evbench/topology"

// LowerBound returns the best proven bound on the phases of a contention-free
// schedule; the simpler witness wins a tie: server, leaf, pod or hall, lp. Of a tree
// that is not connected, for which there is no schedule, it returns what its
// servers, leaves and pods need; with DropUnreachable it bounds the phases of a
// schedule without the pairs of servers that cannot reach each other.
func LowerBound(t *topology.Tree, o Options) Bound {
	f := newFabric(t)
	if !o.DropUnreachable && t.Exchanges() != nil || f.check() != nil {
		return f.simpleBound()
	}
	f.part()
	if f.tops > 0 && f.tree.Roles() {
		return f.simpleBound() // the fluid of three levels has the same messages both ways
	}
	if f.tops > 0 {
		return newFluid(f).settlePods(f.simpleBound())
	}
	_, b := f.balance()
	return b
}
