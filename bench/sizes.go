package bench

import (
	"evbench/scenario"
	"evbench/scheduler/sizes"
)

// Matrix returns the sizes of the fragments of one exchange of a case, by source and
// builder (ranks): those that a run will have, and that simulations and predictions take.
// In exchange e, from 0 and warm-up included, rank r builds event e·S + r.
func Matrix(s *scenario.Scenario, c scenario.Case, exchange uint64) (*sizes.Matrix, error) {
	return sizes.Exchange(s.Tree, s.FragmentSizes(c).Of, exchange)
}
