package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evbench/failover"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/testing/expect"
	"evbench/topology"
)

const ms = time.Millisecond

// A network takes its time for everything, and remembers what it was asked for.
type network struct {
	events chan failover.LinkEvent
	refuse map[string]int // how often a call fails

	mu    sync.Mutex
	busy  bool
	calls []string
}

// call does one thing at a time, as a network may expect.
func (n *network) call(name string, took time.Duration) (int, error) {
	n.mu.Lock()
	if n.busy {
		panic("two calls at a time")
	}
	n.busy = true
	n.calls = append(n.calls, name)
	n.mu.Unlock()
	time.Sleep(took)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy = false
	if n.refuse[name] > 0 {
		n.refuse[name]--
		return 0, errors.New("refused")
	}
	return 1, nil
}

func (n *network) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	for {
		select {
		case e := <-n.events:
			events <- e
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *network) Aid(_ context.Context, t *topology.Tree) (int, error) {
	return n.call(fmt.Sprint("aid ", t.DownNames()), 1*ms)
}

func (n *network) Install(_ context.Context, p *plan.Plan) (int, error) {
	return n.call(fmt.Sprint("install ", p.Tree.DownNames()), 2*ms)
}

func (n *network) Clean(_ context.Context, p *plan.Plan) (int, error) {
	return n.call(fmt.Sprint("clean ", p.Tree.DownNames()), 2*ms)
}

// say has both ends of a link say that it is up or not.
func (n *network) say(l topology.Link, up bool) {
	for _, leaf := range []bool{true, false} {
		n.events <- failover.LinkEvent{Link: l, Leaf: leaf, Up: up, Seen: time.Now()}
	}
}

type planner struct{ cancelled int }

// Plan takes 5 ms.
func (p *planner) Plan(ctx context.Context, t *topology.Tree) (loop.Made, error) {
	if err := t.Connected(); err != nil {
		return loop.Made{}, err
	}
	select {
	case <-time.After(5 * ms):
	case <-ctx.Done():
		p.cancelled++
		return loop.Made{}, ctx.Err()
	}
	q, err := plan.Build(t, plan.Options{Schedule: "fors"})
	return loop.Made{Plan: q, Source: failover.Computed, Took: 4 * ms, Judged: 1 * ms}, err
}

// Workers take a plan after 3 ms and need 20 ms for an exchange, one plan at a time.
type workers struct {
	busy   sync.Mutex
	refuse int
	took   []string
	held   []string // the dead links of the plan at hand
	holds  int
}

func (w *workers) Hold(p *plan.Plan) {
	if w.held = nil; p != nil {
		w.held = p.Tree.DownNames()
	}
	w.holds++
}

func (w *workers) Update(ctx context.Context, p *plan.Plan, placed func(uint64)) (failover.Switch, error) {
	if !w.busy.TryLock() {
		panic("two updates at a time")
	}
	defer w.busy.Unlock()
	time.Sleep(3 * ms)
	if w.refuse > 0 {
		w.refuse--
		return failover.Switch{}, errors.New("not now")
	}
	w.took = append(w.took, fmt.Sprint(p.Tree.DownNames()))
	placed(7)
	select {
	case <-time.After(20 * ms):
	case <-ctx.Done():
		return failover.Switch{}, ctx.Err()
	}
	return failover.Switch{From: 7, LastOld: 13 * ms, FirstNew: 23 * ms}, nil
}

func tree(t *testing.T) *topology.Tree {
	t.Helper()
	tr := expect.Value(topology.New(topology.Options{Ports: 4, Leaves: 4}))(t)
	return tr
}

// A rig is a loop with everything around it, in virtual time.
type rig struct {
	*network
	planner *planner
	workers *workers
	stopped string
	told    []failover.Record
}

// play runs the loop while do makes links die, and until nothing more happens.
func play(t *testing.T, policy failover.Policy, hold time.Duration, change func(*loop.Options), do func(r *rig)) (*rig, []failover.Record) {
	t.Helper()
	r := &rig{network: &network{events: make(chan failover.LinkEvent), refuse: map[string]int{}}, planner: &planner{}, workers: &workers{}}
	base, err := plan.Build(tree(t), plan.Options{Schedule: "fors"})
	expect.Must(t, err)
	o := loop.Options{
		Machine: policy.Options(base.Tree, hold), Plan: base, Network: r.network, Planner: r.planner, Workers: r.workers,
		Stop: func(reason string) { r.stopped = reason },
		Tell: func(x failover.Record) { r.told = append(r.told, x) },
	}
	if change != nil {
		change(&o)
	}
	var records []failover.Record
	synctest.Test(t, func(t *testing.T) {
		o.Begin = time.Now()
		r.events = make(chan failover.LinkEvent)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if records, err = loop.Run(ctx, o); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(100 * ms)
		do(r)
		time.Sleep(time.Second)
		cancel()
		<-done
	})
	return r, records
}

var first, second = topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 2, Spine: 3}

// One link dies: every step happens, in its order and at its time.
func TestOneFailure(t *testing.T) {
	r, records := play(t, failover.FORS, 0, nil, func(r *rig) { r.say(first, false) })
	expect.MustTrue(t, len(records) == 1, "%d records: %+v", len(records), records)
	x := records[0]
	expect.False(t, x.Seen != 100*ms || x.Aided != x.Seen+1*ms && x.Aided != x.Seen+2*ms, "seen at %v, aid at %v", x.Seen, x.Aided)
	for i, at := range []time.Duration{x.Seen, x.Aided, x.Verified, x.Installed, x.Updated, x.Switch.LastOld, x.Switch.FirstNew, x.Cleaned} {
		expect.True(t, at != 0, "step %d did not happen: %+v", i, x)
	}
	expect.False(t, x.Updated != x.Installed+3*ms || x.Switch.FirstNew != x.Updated+20*ms || x.Switch.LastOld != x.Switch.FirstNew-10*ms || x.Cleaned != x.Switch.FirstNew+2*ms,
		"%+v", x)
	expect.True(t, x.Source == failover.Computed && x.Switch.From == 7 && x.Phases != 0 && x.Hash != "" && len(r.told) == 1,
		"%+v, told %d", x, len(r.told))
	expect.True(t, r.calls[len(r.calls)-1] == "clean [leaf0-spine1]" && slices.Equal(r.workers.took, []string{"[leaf0-spine1]"}),
		"calls %q, workers took %q", r.calls, r.workers.took)
}

// A second link dies while the first is planned for: that plan is not waited for.
func TestSecondFailure(t *testing.T) {
	r, records := play(t, failover.FORS, 0, nil, func(r *rig) {
		r.say(first, false)
		time.Sleep(4 * ms)
		r.say(second, false)
	})
	expect.MustTrue(t, len(records) == 2 && records[0].Superseded && records[1].Switch.FirstNew != 0, "%+v", records)
	expect.True(t, r.planner.cancelled == 1 && slices.Equal(r.workers.took, []string{"[leaf0-spine1 leaf2-spine3]"}),
		"%d plans cancelled, workers took %q", r.planner.cancelled, r.workers.took)
}

// Plannings that were given up compute on beside the one that counts, and all end together.
func TestPlanningsOverlap(t *testing.T) {
	var compute chan struct{}
	plans := &loop.Plans{Build: func(t *topology.Tree) (*plan.Plan, error) {
		<-compute
		return plan.Build(t, plan.Options{Schedule: "fors"})
	}}
	r, records := play(t, failover.FORS, 0, func(o *loop.Options) { o.Planner = plans }, func(r *rig) {
		compute = make(chan struct{})
		for k := range 3 {
			r.say(topology.Link{Leaf: k, Spine: k}, false)
			time.Sleep(2 * ms) // longer than planning waits for more
		}
		close(compute)
	})
	last := records[len(records)-1]
	expect.True(t, last.Source == failover.Computed && slices.Equal(r.workers.took, []string{"[leaf0-spine0 leaf1-spine1 leaf2-spine2]"}),
		"%+v, workers took %q", last, r.workers.took)
}

// The link comes back before anything was planned: the routes of the plan in use are put
// back, and no worker hears of it.
func TestBlip(t *testing.T) {
	r, _ := play(t, failover.FORS, 0, nil, func(r *rig) {
		r.say(first, false)
		time.Sleep(2 * ms)
		r.say(first, true)
	})
	last := r.calls[len(r.calls)-1]
	expect.False(t, last != "clean []" && last != "aid []" || len(r.workers.took) != 0, "calls %q, workers took %q", r.calls, r.workers.took)
}

// Workers hold while routes are written, with the plan at hand; if the link comes back meanwhile they go on.
func TestHold(t *testing.T) {
	r, records := play(t, failover.FORS, 0, nil, func(r *rig) {
		r.say(first, false)
		time.Sleep(7 * ms) // the plan is there, its routes are not
		synctest.Wait()
		expect.True(t, slices.Equal(r.workers.held, []string{"leaf0-spine1"}) && len(r.workers.took) == 0, "%+v", r.workers)
		r.say(first, true)
		time.Sleep(100 * ms)
		synctest.Wait()
		expect.True(t, r.workers.held == nil && r.workers.holds == 2 && len(r.workers.took) == 0, "%+v", r.workers)
		r.say(second, false)
	})
	x := records[len(records)-1]
	expect.True(t, r.workers.holds == 3 && slices.Equal(r.workers.took, []string{"[leaf2-spine3]"}) && x.Switch.FirstNew != 0, "%+v, %+v", r.workers, x)
}

// Whatever fails is tried again.
func TestRefusals(t *testing.T) {
	r, records := play(t, failover.FORS, 0, nil, func(r *rig) {
		r.refuse["aid [leaf0-spine1]"], r.refuse["install [leaf0-spine1]"], r.refuse["clean [leaf0-spine1]"], r.workers.refuse = 1, 1, 1, 1
		r.say(first, false)
	})
	x := records[len(records)-1]
	expect.True(t, len(records) == 1 && x.Switch.FirstNew != 0 && x.Cleaned != 0 && x.Err != "", "%+v, calls %q", records, r.calls)
}

// Servers that are cut off end the run, or it waits.
func TestDisjoint(t *testing.T) {
	cut := func(r *rig) {
		for k := range 4 {
			r.say(topology.Link{Leaf: 1, Spine: k}, false)
		}
	}
	r, _ := play(t, failover.FORS, 0, nil, cut)
	expect.True(t, r.stopped != "", "the run goes on")
	// The last link that died is back, and says so a second later.
	late := linksOf(1)[:3]
	r, records := play(t, failover.FORS, 0, func(o *loop.Options) {
		o.Look = func() ([]topology.Link, error) { return late, nil }
	}, func(r *rig) {
		cut(r)
		time.Sleep(time.Second)
		r.say(topology.Link{Leaf: 1, Spine: 3}, true)
	})
	x := records[len(records)-1]
	expect.True(t, r.stopped == "" && x.Switch.FirstNew != 0 && slices.Equal(x.Dead, late), "stopped %q, last %+v", r.stopped, x)
	r, records = play(t, failover.FORS, 0, func(o *loop.Options) { o.Machine.Wait = true }, func(r *rig) {
		cut(r)
		time.Sleep(50 * ms)
		r.say(topology.Link{Leaf: 1, Spine: 2}, true)
	})
	if x := records[len(records)-1]; r.stopped != "" || x.Switch.FirstNew == 0 || len(x.Dead) != 3 {
		t.Errorf("stopped %q, last %+v", r.stopped, x)
	}
}

// A cut is allowed for a while, and as long again as it took once a link is back; if none is
// back by then, the run ends for want of the links. So it is with dead links that nothing is done about.
func TestAllow(t *testing.T) {
	type allowed struct {
		d   time.Duration
		why string
	}
	for _, tt := range []struct {
		name    string
		policy  failover.Policy
		cut     []topology.Link
		back    time.Duration
		allowed []allowed
		stopped string
	}{
		{"back", failover.FORS, linksOf(1), 50 * ms, []allowed{{80 * ms, "leaf1-spine0, leaf1-spine1"}, {50 * ms, ""}}, ""},
		{"not back", failover.FORS, linksOf(1), 90 * ms, []allowed{{80 * ms, "leaf1-spine0, leaf1-spine1"}}, "no way is back after 80ms"},
		{"tables", failover.MinHop, linksOf(1), 50 * ms, []allowed{{80 * ms, "leaf1-spine0, leaf1-spine1"}, {50 * ms, ""}}, ""},
		{"around", failover.FORS, []topology.Link{first}, 50 * ms, nil, ""},
		{"nothing", failover.None, []topology.Link{first}, 50 * ms, []allowed{{80 * ms, "leaf0-spine1"}, {50 * ms, ""}}, ""},
		{"nothing, twice", failover.None, []topology.Link{first, second}, 50 * ms,
			[]allowed{{80 * ms, "leaf0-spine1"}, {75 * ms, "leaf0-spine1, leaf2-spine3"}, {25 * ms, "leaf2-spine3"}}, ""},
		{"nothing for long", failover.None, []topology.Link{first}, 90 * ms, []allowed{{80 * ms, "leaf0-spine1"}, {90 * ms, ""}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []allowed
			r, _ := play(t, tt.policy, 0, func(o *loop.Options) {
				o.Machine.Wait, o.Machine.Limit = true, 80*ms
				o.Allow = func(d time.Duration, why string) { got = append(got, allowed{d, why}) }
			}, func(r *rig) {
				for i, l := range tt.cut {
					if i > 0 {
						time.Sleep(5 * ms)
					}
					r.say(l, false)
				}
				time.Sleep(tt.back)
				r.say(tt.cut[0], true)
			})
			expect.True(t, strings.Contains(r.stopped, tt.stopped) && (tt.stopped == "") == (r.stopped == ""),
				"stopped %q, want %q", r.stopped, tt.stopped)
			expect.MustTrue(t, len(got) == len(tt.allowed), "allowed %v, want %v", got, tt.allowed)
			for i, w := range tt.allowed {
				expect.True(t, got[i].d == w.d && strings.Contains(got[i].why, w.why) && (w.why == "") == (got[i].why == ""),
					"allowed %v, want %v", got[i], w)
			}
		})
	}
}

// linksOf lists the links of a leaf.
func linksOf(leaf int) (all []topology.Link) {
	for k := range 4 {
		all = append(all, topology.Link{Leaf: leaf, Spine: k})
	}
	return all
}

// A network without workers has nobody to tell.
func TestNobodyToTell(t *testing.T) {
	_, records := play(t, failover.FORS, 0, func(o *loop.Options) { o.Workers = nil }, func(r *rig) { r.say(first, false) })
	expect.True(t, len(records) == 1 && records[0].Updated == records[0].Installed && records[0].Cleaned != 0, "%+v", records)
}

// A case that ends while its plan is changed leaves nothing behind: play would not come to its end.
func TestEndInTheMiddle(t *testing.T) {
	for after := range 40 {
		synctest.Test(t, func(t *testing.T) {
			base := expect.Value(plan.Build(tree(t), plan.Options{Schedule: "fors"}))(t)
			n := &network{events: make(chan failover.LinkEvent), refuse: map[string]int{}}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				n.say(first, false)
				time.Sleep(time.Duration(after) * ms)
				cancel()
			}()
			_, err := loop.Run(ctx, loop.Options{
				Machine: failover.FORS.Options(base.Tree, 0), Plan: base, Network: n, Planner: &planner{}, Workers: &workers{},
			})
			expect.OK(t, err)
		})
	}
}
