package loop

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"evbench/failover"
	"evbench/plan"
	"evbench/topology"
)

// Plans is the Planner of one case, or of one network: a plan that it has made before, or
// one that it computes now, and judges. A link that comes and goes brings back the same dead
// links. Several goroutines may use it at once: a planning that was given up goes on to its
// end, and the next begins beside it.
type Plans struct {
	// Build computes a plan. Calls for different dead links may overlap.
	Build func(t *topology.Tree) (*plan.Plan, error)

	making singleflight.Group // by key: links that flap ask for the same plan again and again

	mu    sync.Mutex // guards made and order
	made  map[string]*plan.Plan
	order []string // of made, oldest first
}

// most bounds the plans that a planner keeps; those of 64 servers take 100 KB each.
const most = 64

// Keep has a plan that has been judged found again.
func (p *Plans) Keep(q *plan.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = map[string]*plan.Plan{}
	}
	if p.made[key(q.Tree)] != nil {
		return
	}
	if len(p.order) >= most { // the first is what it began with
		delete(p.made, p.order[1])
		p.order = slices.Delete(p.order, 1, 2)
	}
	p.made[key(q.Tree)] = q
	p.order = append(p.order, key(q.Tree))
}

func (p *Plans) kept(t *topology.Tree) *plan.Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made[key(t)]
}

func key(t *topology.Tree) string { return fmt.Sprint(t.Dead()) }

// Plan implements Planner. Its error is a *topology.UnreachableError where no plan
// is possible.
func (p *Plans) Plan(ctx context.Context, t *topology.Tree) (Made, error) {
	if err := ctx.Err(); err != nil {
		return Made{}, err
	}
	if err := t.Connected(); err != nil {
		return Made{}, err
	}
	made, err, _ := p.making.Do(key(t), func() (any, error) { return p.make(t) })
	if err != nil {
		return Made{}, err
	}
	return made.(Made), nil
}

// make finds a plan, or computes, judges and keeps it.
func (p *Plans) make(t *topology.Tree) (Made, error) {
	began := time.Now()
	if q := p.kept(t); q != nil {
		return Made{Plan: q, Source: failover.Kept, Took: time.Since(began)}, nil
	}
	q, err := p.Build(t)
	took := time.Since(began)
	if err == nil {
		err = q.Judge()
	}
	if err != nil {
		return Made{}, err
	}
	p.Keep(q)
	return Made{Plan: q, Source: failover.Computed, Took: took, Judged: time.Since(began) - took}, nil
}
