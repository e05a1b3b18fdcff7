package bench

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"evbench/controller/wire"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// Ways learn which way each message takes by its source port, where switches choose by a hash, and plan over that.
type Ways interface {
	// Plan returns the plan of a case over the paths of the network, which is as the case has it: p is its plan without them.
	Plan(ctx context.Context, x Asked, c scenario.Case, p *plan.Plan) (*plan.Plan, error)
	// Check asks once more for the ways that a plan takes. Others may have taken some of its ports, so that another
	// leads the same way: again is the plan to be measured then, p itself where all is as planned.
	Check(ctx context.Context, x Asked, p *plan.Plan) (again *plan.Plan, found Checked, err error)
	// Follow is the network of a case whose plan p changes when its ways move, and a loop.Planner: it asks for the ways of
	// all messages anew, by ports that no connection has, and plans over them. build plans without ports around the dead links of a tree. under has
	// links and routes where the run itself sets them; nil: others do, and only ways that move tell of it.
	Follow(x Asked, c scenario.Case, p *plan.Plan, build func(*topology.Tree) (*plan.Plan, error), under loop.Network) loop.Network
	// Files are the paths found, as files of the results.
	Files() []results.PathsText
}

// Asked are the servers that answer for Ways.
type Asked struct {
	Hosts []results.Host // their machines, by rank
	// Trace has each server follow its trails, gap apart; see controller.Trace.
	Trace func(ctx context.Context, trails [][]wire.Trail, gap time.Duration) ([][]wire.Seen, error)
}

// Checked is what Ways.Check has found.
type Checked struct {
	Ports []string // taken in place of others, and why
	Moved []string // ways that are others now, or not known any more
}

// hashed reports whether Ways learn the paths of a case.
func hashed(c scenario.Case) bool {
	return c.Routing == scenario.Ports || c.Hashed() && len(c.Timed) == 0
}

func (r *runner) asked() Asked { return Asked{r.ctl.Hosts(), r.ctl.Trace} }

// learn plans the cases over the paths that the network has while their links are down.
func (r *runner) learn(ctx context.Context) error {
	for i := range r.cases {
		c := &r.cases[i]
		if r.ways == nil || !hashed(c.Case) {
			continue
		}
		err := r.f.Install(ctx, c.Plan)
		if err == nil {
			c.Plan, err = r.ways.Plan(ctx, r.asked(), c.Case, c.Plan)
		}
		if err == nil {
			*c, err = c.parts.over(r.s, c.Case, c.Plan)
		}
		if err != nil {
			return fmt.Errorf("case %q: paths: %w", c.Name, err)
		}
	}
	return nil
}

// network is what a case with a policy follows.
func (r *runner) network(m *measured) (net loop.Network, err error) {
	over := r.ways != nil && m.Plan.Ports() != nil
	if !over || r.s.Fabric.Kind != scenario.Hosts {
		net, err = r.f.Network(m.Plan, repairs(m.Planned))
	}
	if over && err == nil {
		net = r.ways.Follow(r.asked(), m.Case, m.Plan, func(t *topology.Tree) (*plan.Plan, error) { return m.PlanFor(r.s, t) }, net)
	}
	return net, err
}

func (r *runner) keepPaths() error {
	if r.ways == nil || !r.sink.Keeps().Plans {
		return nil
	}
	for _, f := range r.ways.Files() {
		if err := r.sink.Write(f); err != nil {
			return err
		}
	}
	return nil
}

// checkPorts asks for the ways of a slice before it begins.
func (r *runner) checkPorts(ctx context.Context, m *measured) error {
	if r.ways == nil || m.Plan.Ports() == nil {
		return nil
	}
	again, found, err := r.ways.Check(ctx, r.asked(), m.Plan)
	if err != nil {
		return fmt.Errorf("case %q: %w", m.Name, err)
	}
	m.Plan = again
	m.warnings = append(m.warnings, found.Ports...)
	if len(found.Moved) == 0 || policyOf(m.Case) != failover.Reorder {
		m.doubt("before it", found)
		return nil
	}
	net, err := r.network(m)
	if err != nil {
		return err
	}
	made, err := net.(loop.Planner).Plan(ctx, m.Plan.Tree)
	if err != nil {
		return fmt.Errorf("case %q: paths: %w", m.Name, err)
	}
	m.Plan = made.Plan
	m.warnings = append(m.warnings, "planned anew before it, as "+movedText(found))
	return nil
}

// moved asks for the ways of a slice when it is over, those of the plan in use then.
func (r *runner) moved(ctx context.Context, m *measured) error {
	if r.ways == nil || m.Plan.Ports() == nil {
		return nil
	}
	_, found, err := r.ways.Check(ctx, r.asked(), cmp.Or(m.last, m.Plan))
	if err != nil {
		return fmt.Errorf("case %q: at its end: %w", m.Name, err)
	}
	m.doubt("at its end", found)
	return nil
}

// doubt marks a case that was not measured over its plan.
func (m *measured) doubt(when string, found Checked) {
	if len(found.Moved) > 0 {
		m.wrong = append(m.wrong, fmt.Sprintf("not measured over its plan: asked again %s, %s", when, movedText(found)))
	}
}

func movedText(c Checked) string {
	n := len(c.Moved)
	return show.Plural(n, "port leads another way", "ports lead other ways") + ": " + strings.Join(c.Moved[:min(n, mostMoved)], "; ")
}

// mostMoved is how many ways are named.
const mostMoved = 3
