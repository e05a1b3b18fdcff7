package bench_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/plan/store"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
	"evbench/transport/memnet"
)

// A breakable fabric has links that die, and routes that obey.
type breakable struct {
	fabric
	links chan failover.LinkEvent
	calls []string
}

// listen implements virtual, where the time of what waits for links is virtual, too.
func (f *breakable) listen() *memnet.Listener {
	f.links = make(chan failover.LinkEvent, 100)
	return f.fabric.listen()
}

func (f *breakable) Network(*plan.Plan, string) (loop.Network, error) { return routes{f}, nil }

func (f *breakable) SetLinks(_ context.Context, links []topology.Link, up bool) error {
	for _, l := range links {
		for _, leaf := range []bool{true, false} {
			f.links <- failover.LinkEvent{Link: l, Leaf: leaf, Up: up, Seen: time.Now()}
		}
	}
	return nil
}

// Routes are those of a breakable fabric, which has an Install of its own.
type routes struct{ *breakable }

func (f routes) Install(context.Context, *plan.Plan) (int, error) { return 1, nil }

func (f *breakable) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	for {
		select {
		case e := <-f.links:
			events <- e
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *breakable) Aid(_ context.Context, t *topology.Tree) (int, error) {
	f.calls = append(f.calls, fmt.Sprint("aid ", t.DownNames()))
	return 1, nil
}

func (f *breakable) Clean(_ context.Context, p *plan.Plan) (int, error) {
	f.calls = append(f.calls, fmt.Sprint("clean ", p.Tree.DownNames()))
	return 1, nil
}

const failing = `
topology: FT(2;2,4)
event: {fragment: 20kB}
interval: 20ms
warmup: 1
control: off
cases:
  - name: x
    duration: 1200ms
    failures: [{link: leaf0-spine1, at: 300ms, for: 400ms}]
    failover: `

func failOver(t *testing.T, policy string, f virtual) results.Case {
	t.Helper()
	sum, err := run(t, failing+policy+"\n", f, &memory{})
	if err != nil {
		t.Fatal(err)
	}
	return sum.Cases[0]
}

// Each policy does what it is for, and loses nothing.
func TestPolicies(t *testing.T) {
	for _, tt := range []struct {
		policy string
		calls  string // of the network, the install of new plans aside
		plans  int    // that came into use
	}{
		{"none", "clean []", 0},
		{"minhop", "aid [leaf0-spine1]; aid []", 0},
		{"spread", "aid [leaf0-spine1]; aid []", 0},
		{"unsync", "aid [leaf0-spine1]; clean [leaf0-spine1]; clean []", 2},
		{"fors", "aid [leaf0-spine1]; clean [leaf0-spine1]; clean []", 2},
		{"{policy: fors+hold, hold: 100ms}", "aid [leaf0-spine1]; clean [leaf0-spine1]; clean []", 2},
		{"{policy: fors+hold, hold: 10s}", "aid [leaf0-spine1]; clean [leaf0-spine1]", 1},
	} {
		t.Run(tt.policy, func(t *testing.T) {
			f := &breakable{}
			c := failOver(t, tt.policy, f)
			// Each end of a link may be told by itself: repeated aid is as good as one.
			if got := strings.Join(slices.Compact(f.calls), "; "); got != tt.calls {
				t.Errorf("calls %s, want %s", got, tt.calls)
			}
			used := 0
			for _, x := range c.Failovers {
				if x.FirstNewSec != nil {
					used++
				}
				if held := x.SetSec == nil; x.SeenSec == nil || held != (strings.Contains(tt.policy, "hold") && len(x.Up) > 0) || !held && *x.SeenSec < *x.SetSec {
					t.Errorf("%+v", x)
				}
			}
			if used != tt.plans || c.EventsLost != 0 || c.EventsDuplicate != 0 || c.EventsBuilt == 0 || len(c.LinkEvents) != 2 {
				t.Errorf("%d plans came into use, want %d; %d events built, %d lost, %d twice", used, tt.plans, c.EventsBuilt, c.EventsLost, c.EventsDuplicate)
			}
		})
	}
}

// Servers that are cut off end the run with their names.
func TestCutOffEnds(t *testing.T) {
	text := strings.Replace(failing, "{link: leaf0-spine1, at: 300ms, for: 400ms}", "{link: leaf0-spine1, at: 300ms}, {link: leaf0-spine0, at: 400ms}", 1)
	f := &breakable{}
	sum, err := run(t, text+"fors\n", f, &memory{})
	if err == nil || !strings.Contains(err.Error(), "leaf0") || len(sum.Cases) != 1 || sum.Cases[0].Complete {
		t.Errorf("error %v, cases %+v", err, sum.Cases)
	}
}

// Plans come from the store where it has them.
func TestStoredPlans(t *testing.T) {
	tree, err := topology.New(topology.Options{Ports: 2, Leaves: 4})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "plans")
	w, err := store.Create(dir, tree)
	if err != nil {
		t.Fatal(err)
	}
	broken, err := tree.Without(topology.Link{Leaf: 0, Spine: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Build(broken, plan.Options{Schedule: "fors", Seed: 99})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Add(p), w.Close()); err != nil {
		t.Fatal(err)
	}
	c := failOver(t, fmt.Sprintf("{policy: fors, store: %s}", dir), &breakable{})
	if x := c.Failovers[0]; x.Source != "store" || x.PlanHash != p.Hash() {
		t.Errorf("source %q, hash %s, want %s", x.Source, x.PlanHash, p.Hash())
	}
	if x := c.Failovers[1]; x.Source != "kept" {
		t.Errorf("back: source %q", x.Source)
	}
	text := strings.Replace(failing, "FT(2;2,4)", "FT(2;2,5)", 1) + fmt.Sprintf("{policy: fors, store: %s}\n", dir)
	other, err := scenario.Read("other.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bench.Prepare(other); err == nil || !strings.Contains(err.Error(), "failover.store") {
		t.Errorf("plans of another tree: %v", err)
	}
}

// What is predicted is the mean over time of what each policy does.
func TestPredictedPolicies(t *testing.T) {
	got := predicted(t, `
topology: FT(2;4,4)
control: off
duration: 10s
cases:
  - {name: dead, schedule: fors, failures: [leaf0-spine0]}
  - {name: minhop dead, routing: minhop, failures: [leaf0-spine0]}
  - {name: spread dead, mode: unsynchronised, routing: spread, failures: [leaf0-spine0]}
  - {name: fors, failures: [{link: leaf0-spine0, at: 4s, for: 2s}], failover: fors}
  - {name: hold, failures: [{link: leaf0-spine0, at: 4s, for: 2s}], failover: {policy: fors+hold, hold: 3s}}
  - {name: minhop, failures: [{link: leaf0-spine0, at: 4s, for: 2s}], failover: minhop}
  - {name: none, failures: [{link: leaf0-spine0, at: 4s, for: 2s}], failover: none}
  - {name: unsync, failures: [{link: leaf0-spine0, at: 4s, for: 2s}], failover: unsync}
`)
	fors, minhop, spread := got[0], got[1], got[2]
	want := []float64{0.8 + 0.2*fors, 0.5 + 0.5*fors, 0.8 + 0.2*minhop, 0.8, 0.8 + 0.2*spread}
	for i, w := range want {
		if math.Abs(got[3+i]-w) > 1e-9 {
			t.Errorf("case %d: predicted %v, want %v", 3+i, got[3+i], w)
		}
	}
}
