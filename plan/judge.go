package plan

import (
	"bytes"
	"fmt"
	"strings"

	"evbench/scheduler/judge"
)

// maxWeights bounds the weights that are judged: a line of a plan has at most 4 MiB.
const maxWeights = 1 << 16

// Judge has verify read the plan from its file form, with the witness of its bound. Contention is
// an offence only if the plan promises none, which a schedule of the user's own does not. Judge skips a plan without a schedule, as it has no
// file.
func (p *Plan) Judge() error {
	switch {
	case p.Schedule == nil:
		return nil
	case p.Over != nil:
		return p.Over.Judge()
	}
	proof := p.Proof()
	if weights := WeightNames(p.Tree, p.Bound.Weights); weights != nil && len(weights) <= maxWeights {
		proof += " " + strings.Join(weights, ",")
	}
	var file bytes.Buffer
	if err := p.writeText(&file, proof); err != nil {
		return err
	}
	f, err := judge.Read(&file, p.Routing)
	if err != nil {
		return fmt.Errorf("the judge cannot read the plan: %w", err)
	}
	if r := judge.Check(f, judge.Options{AllowContention: !p.Pinned() || p.own, Bound: true}); !r.Valid {
		return fmt.Errorf("the judge refuses the plan: %s (%d offences)", r.Offences[0].Text, r.Total)
	}
	return nil
}
