package bench

import (
	"evbench/scenario"
	"evbench/scheduler/sizes"
)

// Matrix returns the sizes of the fragments of one exchange of a scenario, by source and
// builder (ranks): those that a run will have, and that simulations and predictions take.
// In exchange e, from 0 and warm-up included, rank r builds event e·S + r.
func Matrix(s *scenario.Scenario, exchange uint64) (*sizes.Matrix, error) {
	return sizes.Exchange(s.Tree, s.FragmentSizes().Of, exchange)
}
