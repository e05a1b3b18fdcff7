package companion

import (
	"context"
	"fmt"

	"evbench/plan"
	"evbench/topology"
)

// Install puts the routes of a plan in place, reads them back and compares. It
// returns how many routes it has changed; the first difference is an error.
func Install(ctx context.Context, target Target, p *plan.Plan, a Addresses) (changed int, err error) {
	want, err := Compute(p, a)
	if err != nil {
		return 0, err
	}
	return install(ctx, target, p.Tree, want)
}

func install(ctx context.Context, target Target, t *topology.Tree, want Routes) (int, error) {
	changed, err := target.Apply(ctx, want)
	if err != nil {
		return changed, fmt.Errorf("install routes: %w", err)
	}
	have, err := target.Read(ctx, want.Nodes())
	if err != nil {
		return changed, fmt.Errorf("read routes back: %w", err)
	}
	if diff := Diff(have, want); len(diff) > 0 {
		return changed, fmt.Errorf("routes read back differ in %d places, first %s", len(diff), diff[0].Describe(t))
	}
	return changed, nil
}
