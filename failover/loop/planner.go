package loop

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"evbench/failover"
	"evbench/plan"
	"evbench/plan/store"
	"evbench/plan/verify"
	"evbench/topology"
)

// Plans is the Planner of one case, or of one network: a plan that it has made before, one
// of a store, or one that it computes now; the last two are judged. A link that comes and
// goes brings back the same dead links. Several goroutines may use it at once: a planning that
// was given up goes on to its end, and the next begins beside it.
type Plans struct {
	// Build computes a plan. Calls for different dead links may overlap.
	Build func(t *topology.Tree) (*plan.Plan, error)
	// Stored are plans made before; nil: none.
	Stored *store.Store

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

// make finds or computes a plan. One that is new is judged and kept.
func (p *Plans) make(t *topology.Tree) (Made, error) {
	began := time.Now()
	if q := p.kept(t); q != nil {
		return Made{Plan: q, Source: failover.Kept, Took: time.Since(began)}, nil
	}
	q, source, err := p.find(t)
	took := time.Since(began)
	if err == nil {
		err = Judge(q)
	}
	if err != nil {
		return Made{}, err
	}
	p.Keep(q)
	return Made{Plan: q, Source: source, Took: took, Judged: time.Since(began) - took}, nil
}

// find looks a plan up, or computes it. A store that does not have it is no error; one
// that is damaged is.
func (p *Plans) find(t *topology.Tree) (*plan.Plan, failover.Source, error) {
	if p.Stored != nil {
		if e, ok := p.Stored.Find(t.DownNames()); ok {
			text, err := p.Stored.Load(e)
			if err != nil {
				return nil, "", fmt.Errorf("store: %w", err)
			}
			q, err := plan.Read(bytes.NewReader(text))
			return q, failover.Stored, err
		}
	}
	q, err := p.Build(t)
	return q, failover.Computed, err
}

// OpenStore opens a folder of plans, which must be for this tree.
func OpenStore(fsys fs.FS, t *topology.Tree) (*store.Store, error) {
	s, err := store.Open(fsys)
	if err != nil {
		return nil, err
	}
	if have := s.Tree(); have.Notation() != t.Notation() || !slices.Equal(have.Fill(), t.Fill()) || have.Spines() != t.Spines() {
		return nil, fmt.Errorf("its plans are for %s with %d servers and %d spines, the network is %s with %d and %d",
			have.Notation(), have.Servers(), have.Spines(), t.Notation(), t.Servers(), t.Spines())
	}
	return s, nil
}

// Judge has verify read the plan from its file form. Contention is an offence only where
// the plan promises none.
func Judge(p *plan.Plan) error {
	if p.Schedule == nil {
		return nil
	}
	var file bytes.Buffer
	if err := p.WriteText(&file); err != nil {
		return err
	}
	f, err := verify.Read(&file)
	if err != nil {
		return fmt.Errorf("the judge cannot read the plan: %w", err)
	}
	if r := verify.Check(f, verify.Options{AllowContention: !p.Pinned(), Bound: true}); !r.Valid {
		return fmt.Errorf("the judge refuses the plan: %s (%d offences)", r.Offences[0].Text, r.Total)
	}
	return nil
}
