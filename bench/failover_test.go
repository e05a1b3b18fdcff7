package bench_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evbench/bench"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/testing/transporttest"
	"evbench/topology"
	"evbench/transport"
)

// A breakable fabric has links that die, and routes that obey.
type breakable struct {
	inProcess
	links chan failover.LinkEvent
	calls []string
	begun func() // called once, when the measured part begins; nil is allowed
}

// Counters implements fabric.Fabric.
func (f *breakable) Counters(context.Context) ([]results.LinkCount, error) {
	if begun := f.begun; begun != nil {
		f.begun = nil
		begun()
	}
	return nil, nil
}

// listen implements virtual, where the time of what waits for links is virtual, too.
func (f *breakable) listen() *transporttest.Listener {
	f.links = make(chan failover.LinkEvent, 100)
	return f.inProcess.listen()
}

func (f *breakable) Network(*plan.Plan, string) (loop.Network, error) { return routes{f}, nil }

func (f *breakable) SetLinks(_ context.Context, links []topology.Link, up bool) error {
	f.set(links, up)
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
    duration: 500ms
    failures: [{link: leaf0-spine1, at: 100ms, for: 200ms}]
    failover: `

func failOver(t *testing.T, policy string, f virtual) results.Case {
	t.Helper()
	sum := expect.Value(run(t, failing+policy+"\n", f, &memory{}))(t)
	return sum.Cases[0]
}

// Each policy does what it is for, and loses nothing.
func TestPolicies(t *testing.T) {
	need.Heavy(t)
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
			expect.Equal(t, strings.Join(slices.Compact(f.calls), "; "), tt.calls, "calls")
			used := 0
			for _, x := range c.Failovers {
				if x.FirstNewSec != nil {
					used++
				}
				held := x.SetSec == nil
				expect.False(t, x.SeenSec == nil || held != (strings.Contains(tt.policy, "hold") && len(x.Up) > 0) || !held && *x.SeenSec < *x.SetSec,
					"%+v", x)
			}
			expect.True(t, used == tt.plans && c.EventsLost == 0 && c.EventsDuplicate == 0 && c.EventsBuilt != 0 && len(c.LinkEvents) == 2,
				"%d plans came into use, want %d; %d events built, %d lost, %d twice", used, tt.plans, c.EventsBuilt, c.EventsLost, c.EventsDuplicate)
		})
	}
}

// One of two parallel cables dies and comes back: a plan for it and the first one again, and nothing lost.
func TestCableDies(t *testing.T) {
	f := &breakable{}
	text := strings.NewReplacer("FT(2;2,4)", "PGFT(2;2,4;1,1;1,2)", "leaf0-spine1", "leaf0-spine0/1").Replace(failing)
	sum := expect.Value(run(t, text+"fors\n", f, &memory{}))(t)
	c := sum.Cases[0]
	expect.Equal(t, strings.Join(slices.Compact(f.calls), "; "), "aid [leaf0-spine0/1]; clean [leaf0-spine0/1]; clean []", "calls")
	expect.True(t, len(c.Failovers) == 2 && c.EventsLost == 0 && c.EventsDuplicate == 0 && c.EventsBuilt > 0, "%+v", c)
}

// Servers that are cut off end the run with their names.
//
//gate:race
func TestCutOffEnds(t *testing.T) {
	text := strings.Replace(failing, "{link: leaf0-spine1, at: 100ms, for: 200ms}", "{link: leaf0-spine1, at: 100ms}, {link: leaf0-spine0, at: 200ms}", 1)
	f := &breakable{}
	sum, err := run(t, text+"fors\n", f, &memory{})
	expect.True(t, err != nil && strings.Contains(err.Error(), "leaf0") && len(sum.Cases) == 1 && !sum.Cases[0].Complete,
		"error %v, cases %+v", err, sum.Cases)
}

// A lateFabric says that a link is back a second after it is, as kernels may.
type lateFabric struct{ *breakable }

func (f lateFabric) SetLinks(ctx context.Context, links []topology.Link, up bool) error {
	if up {
		f.set(links, up)
		time.AfterFunc(time.Second, func() { _ = f.breakable.SetLinks(ctx, links, up) })
		return nil
	}
	return f.breakable.SetLinks(ctx, links, up)
}

// A link that dies after another is back, which is heard a second later, does not end the run.
//
//gate:race
func TestHeardLate(t *testing.T) {
	text := strings.Replace(failing, "{link: leaf0-spine1, at: 100ms, for: 200ms}", "{link: leaf0-spine1, at: 100ms, for: 200ms}, {link: leaf0-spine0, at: 350ms}", 1)
	f := &breakable{}
	sum, err := run(t, strings.Replace(text, "500ms", "2s", 1)+"fors\n", lateFabric{f}, &memory{})
	expect.True(t, err == nil && len(sum.Cases) == 1 && sum.Cases[0].Complete && sum.Cases[0].EventsLost <= 0, "error %v, cases %+v", err, sum.Cases)
}

// others changes links of a breakable fabric while a case is measured, as somebody else would, who does not tell.
func (f *breakable) others(at time.Duration, links []topology.Link, up bool) {
	time.AfterFunc(at, func() { _ = f.SetLinks(context.Background(), links, up) })
}

// Links that nobody has scripted are followed, too, by every policy, and the record says
// that somebody else has changed them.
func TestLinksChangedFromOutside(t *testing.T) {
	for _, policy := range []string{"minhop", "unsync", "fors"} {
		t.Run(policy, func(t *testing.T) {
			f := &breakable{}
			f.begun = func() {
				f.others(100*time.Millisecond, []topology.Link{{Leaf: 0, Spine: 1}}, false)
				f.others(300*time.Millisecond, []topology.Link{{Leaf: 0, Spine: 1}}, true)
			}
			text := strings.Replace(failing, "    failures: [{link: leaf0-spine1, at: 100ms, for: 200ms}]\n", "", 1)
			sum := expect.Value(run(t, strings.Replace(text, "control: off", "control: off\nrounds: 1", 1)+policy+"\n", f, &memory{}))(t)
			c := sum.Cases[0]
			expect.MustTrue(t, len(c.Failovers) == 2 && c.EventsLost == 0 && c.EventsDuplicate == 0 && c.EventsBuilt != 0 && c.Complete,
				"%d fail-overs; %+v", len(c.Failovers), c)
			for _, x := range c.Failovers {
				expect.False(t, x.SetSec != nil || x.AidedSec == nil && x.FirstNewSec == nil || !strings.Contains(x.Reason, "from outside"), "%+v", x)
			}
		})
	}
}

// A cutOff server sends and receives nothing while its links are dead, and then for as long
// again: it tries after twice as long each time.
type cutOff struct {
	*breakable
	mu    sync.Mutex
	since time.Time     // links are dead
	back  chan struct{} // closed when it sends again; nil: it does
}

func newCutOff() *cutOff {
	f := &cutOff{breakable: &breakable{}}
	f.wrap = func(rank int, ep transport.Endpoint) transport.Endpoint {
		if rank != 0 {
			return ep
		}
		return held{ep, f}
	}
	return f
}

func (f *cutOff) SetLinks(ctx context.Context, links []topology.Link, up bool) error {
	f.mu.Lock()
	switch {
	case !up && f.back == nil:
		f.since, f.back = time.Now(), make(chan struct{})
	case up && !f.since.IsZero():
		time.AfterFunc(time.Since(f.since), func() { close(f.back) })
		f.since = time.Time{}
	}
	f.mu.Unlock()
	return f.breakable.SetLinks(ctx, links, up)
}

func (f *cutOff) wait(ctx context.Context) error {
	f.mu.Lock()
	back := f.back
	f.mu.Unlock()
	if back == nil {
		return nil
	}
	select {
	case <-back:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A held endpoint is that of a server that is cut off.
type held struct {
	transport.Endpoint
	f *cutOff
}

func (h held) Exchange(ctx context.Context, ops []transport.Op) error {
	if err := h.f.wait(ctx); err != nil {
		return err
	}
	return h.Endpoint.Exchange(ctx, ops)
}

// A cut that is over within the time-out costs nothing, one that is not ends the run, and its links are named.
func TestCutOffWaits(t *testing.T) {
	one := "{link: leaf0-spine1, at: 300ms, for: %s}"
	both := one + ", {link: leaf0-spine0, at: 300ms, for: %[1]s}"
	for _, tt := range []struct {
		policy  string
		links   string
		cut     time.Duration
		timeout string
		dead    string // in the error
	}{
		{"{policy: fors, on_disconnect: wait}", both, 4 * time.Second, "10s", ""},
		{"{policy: fors, on_disconnect: wait}", both, 30 * time.Second, "60s", ""},
		{"{policy: fors, on_disconnect: wait}", both, 30 * time.Second, "10s", "leaf0-spine0, leaf0-spine1; no way is back after 10s"},
		{"{policy: minhop, on_disconnect: wait}", both, 30 * time.Second, "10s", "leaf0-spine0, leaf0-spine1; no way is back after 10s"},
		{"none", one, 30 * time.Second, "1s", ""},
	} {
		t.Run(fmt.Sprint(tt.policy, tt.cut, tt.timeout), func(t *testing.T) {
			text := strings.Replace(failing, "{link: leaf0-spine1, at: 100ms, for: 200ms}", fmt.Sprintf(tt.links, tt.cut), 1)
			text = strings.NewReplacer("500ms", (2*tt.cut + 500*time.Millisecond).String(), "interval: 20ms", "interval: 200ms").Replace(text)
			f := newCutOff()
			sum, err := run(t, strings.Replace(text, "warmup: 1", "warmup: 1\ntimeout: "+tt.timeout, 1)+tt.policy+"\n", f, &memory{})
			expect.True(t, len(sum.Cases) == 1 && sum.Cases[0].EventsLost == 0 && sum.Cases[0].EventsBuilt != 0, "cases %+v", sum.Cases)
			if tt.dead == "" {
				expect.True(t, err == nil && sum.Cases[0].Complete, "complete %v: %v", sum.Cases[0].Complete, err)
				return
			}
			expect.True(t, err != nil && strings.Contains(err.Error(), tt.dead) && !strings.Contains(err.Error(), "nothing for"),
				"error %v, want %s", err, tt.dead)
		})
	}
}

// Where nothing is done about a link that stays dead, it is named, and not the servers that
// wait for each other behind it.
//
//gate:race
func TestDeadForGood(t *testing.T) {
	text := strings.Replace(failing, ", for: 200ms", "", 1)
	sum, err := run(t, strings.Replace(text, "warmup: 1", "warmup: 1\ntimeout: 1s", 1)+"none\n", newCutOff(), &memory{})
	if err == nil || !strings.Contains(err.Error(), "nothing leads around links that are dead: leaf0-spine1") || strings.Contains(err.Error(), "nothing for") {
		t.Errorf("error %v", err)
	}
	expect.True(t, len(sum.Cases) == 1 && !sum.Cases[0].Complete && sum.Cases[0].EventsBuilt != 0, "cases %+v", sum.Cases)
}

// Where nobody follows links, one that somebody else has taken down is named, also when it is
// back, and so is the cable of a server in every case; no server is.
//
//gate:race
func TestDeadUnfollowed(t *testing.T) {
	link := []topology.Link{{Leaf: 0, Spine: 1}}
	server := topology.CableEvent{Cable: "server0-leaf0"}
	for _, tt := range []struct {
		name     string
		failover string
		die      func(f *cutOff)
		back     func(f *cutOff)
		named    string
	}{
		{"dead", "", func(f *cutOff) { _ = f.SetLinks(t.Context(), link, false) }, nil,
			`links that are dead and that evbench has not taken down: leaf0-spine1, since \S+`},
		{"back", "", func(f *cutOff) { _ = f.SetLinks(t.Context(), link, false) }, func(f *cutOff) { f.set(link, true) },
			`links were dead that evbench has not taken down: leaf0-spine1, from \S+ to \S+`},
		{"server", "", func(f *cutOff) { _ = f.SetLinks(t.Context(), nil, false); f.tell(server) }, nil,
			`links that are dead and that evbench has not taken down: server0-leaf0, since \S+`},
		{"server, with a fail-over", "    failover: fors\n", func(f *cutOff) { _ = f.SetLinks(t.Context(), nil, false); f.tell(server) }, nil,
			`links that are dead and that evbench has not taken down: server0-leaf0, since \S+`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newCutOff()
			f.begun = func() {
				time.AfterFunc(300*time.Millisecond, func() { tt.die(f) })
				if tt.back != nil {
					time.AfterFunc(600*time.Millisecond, func() { tt.back(f) })
				}
			}
			text := strings.Replace(failing, "    failures: [{link: leaf0-spine1, at: 100ms, for: 200ms}]\n    failover: ", tt.failover, 1)
			text = strings.NewReplacer("warmup: 1", "warmup: 1\nrounds: 1\ntimeout: 1s", "500ms", "5s").Replace(text)
			sum, err := run(t, text, f, &memory{})
			want := `^case "x": measurement: .*` + tt.named
			expect.True(t, err != nil && regexp.MustCompile(want).MatchString(err.Error()) && !strings.Contains(err.Error(), "nothing for"),
				"error %v, want %s", err, want)
			expect.True(t, len(sum.Cases) == 1 && !sum.Cases[0].Complete, "cases %+v", sum.Cases)
		})
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
		expect.True(t, math.Abs(got[3+i]-w) <= 1e-9, "case %d: predicted %v, want %v", 3+i, got[3+i], w)
	}
}

// What happens to links is told when it happens: each change, each plan that comes into
// use, each fail-over that is done.
//
//gate:race
func TestFailoverProgress(t *testing.T) {
	f := &breakable{}
	told := map[string][]string{}
	s, planned := read(t, failing+"fors\n")
	synctest.Test(t, func(t *testing.T) {
		_, err := bench.Run(t.Context(), bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: into(&memory{})}, bench.Options{Listener: f.listen(), Token: "secret", Progress: func(p bench.Progress) {
			tell := func(what ...any) { told[p.Stage()] = append(told[p.Stage()], p.Case+fmt.Sprint(what...)) }
			switch e := p.Event.(type) {
			case bench.LinksChanged:
				tell(topology.LinkNames(e.Down), topology.LinkNames(e.Up))
			case bench.Replanned:
				tell(topology.LinkNames(e.Plan.Tree.Dead()))
			case bench.FailedOver:
				x := e.Failover
				tell(x.ID, x.Down, x.Up, x.SetSec != nil, x.FirstNewSec != nil)
			}
		}})
		expect.OK(t, err)
	})
	want := map[string][]string{
		"links changed": {"x[leaf0-spine1] []", "x[] [leaf0-spine1]"},
		"new plan":      {"x[leaf0-spine1]", "x[]"},
		"failed over":   {"x1 [leaf0-spine1] [] true true", "x2 [] [leaf0-spine1] true true"},
	}
	for stage := range want {
		expect.Equal(t, told[stage], want[stage], "%s", stage)
	}
}
