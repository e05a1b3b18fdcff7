package scheduler

import (
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/split"
	"evbench/topology"
)

// A Bound is a number of phases that every contention-free schedule needs, with the witness that
// proves it.
type Bound = split.Bound

// Kinds of Bound. On three levels Bound.Leaf of kind pod is the number of the pod, and weights of kind
// lp are by all wires of the tree.
const (
	KindServer = split.KindServer
	KindLeaf   = split.KindLeaf
	KindPod    = split.KindPod
	KindHall   = split.KindHall
	KindLP     = split.KindLP
)

// LowerBound returns the best proven bound on the phases of a contention-free
// schedule; the simpler witness wins a tie: server, leaf, pod or hall, lp. Of a tree
// that is not connected, for which there is no schedule, it returns what its
// servers, leaves and pods need; with DropUnreachable it bounds the phases of a
// schedule without the pairs of servers that cannot reach each other.
func LowerBound(t *topology.Tree, o Options) Bound {
	f := fattree.New(t)
	if !o.DropUnreachable && t.Exchanges() != nil || f.Check() != nil {
		return split.Simple(f)
	}
	f.Part()
	if f.Tops > 0 && f.Topology.Roles() {
		return split.Simple(f) // the fluid of three levels has the same messages both ways
	}
	if f.Tops > 0 {
		return split.NewFluid(f).SettlePods(split.Simple(f))
	}
	_, b := split.Balance(f)
	return b
}
