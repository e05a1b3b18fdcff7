package linux

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/failover"
	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// route runs a router on a lab until the test ends.
func route(t testing.TB, l *lab.Lab, target *Target, p *plan.Plan) (*companion.Router, <-chan failover.LinkEvent) {
	t.Helper()
	r := expect.Value(companion.NewRouter(target, l.Addresses(), p, routing.MinHop, nil))(t)
	expect.Must(t, expect.Err(r.Install(t.Context(), p)))
	ctx, cancel := context.WithCancel(context.Background())
	events, done := make(chan failover.LinkEvent, 1000), make(chan error, 1)
	go func() {
		defer close(events)
		done <- r.Watch(ctx, events)
	}()
	t.Cleanup(func() {
		cancel()
		expect.OK(t, <-done)
	})
	for range 2 * p.Tree.AllLinks() {
		<-events
	}
	return r, events
}

// everything checks that all pairs reach each other on all paths.
func everything(t *testing.T, l *lab.Lab) {
	t.Helper()
	for src := range l.Addresses().Tree.Servers() {
		for dst := range l.Addresses().Tree.Servers() {
			for path := companion.Single; path < l.Addresses().Tree.Paths(); path++ {
				expect.OK(t, transfer(t.Context(), l, src, dst, path, []byte("hello")), "rank %d to %d on path %d", src, dst, path)
			}
		}
	}
}

func await(events <-chan failover.LinkEvent, link topology.Link, up bool) failover.LinkEvent {
	for e := range events {
		if e.Link == link && e.Up == up {
			return e
		}
	}
	return failover.LinkEvent{}
}

func TestRouter(t *testing.T) {
	for _, x := range faults {
		t.Run(x.name, func(t *testing.T) {
			routed(t, topologytest.Without(t, x.tree), topologytest.Without(t, x.tree, x.dead), x.dead)
		})
	}
}

// routed takes a link of a tree down, and up again.
func routed(t *testing.T, tree, broken *topology.Tree, dead topology.Link) {
	t.Helper()
	p := newPlan(t, tree, routing.MinHop)
	l, target := start(t, p, 0)
	r, events := route(t, l, target, p)
	everything(t, l)

	expect.Must(t, l.SetLinks(t.Context(), []topology.Link{dead}, false))
	await(events, dead, false)
	n, err := r.Aid(t.Context(), broken)
	expect.MustTrue(t, err == nil && n != 0, "aid: %d routes, %v", n, err)
	everything(t, l)
	around := newPlan(t, broken, routing.Spread)
	if n, err := r.Install(t.Context(), around); err != nil {
		t.Fatalf("install: %d routes, %v", n, err)
	}
	everything(t, l)
	if n, err := r.Clean(t.Context(), around); err != nil {
		t.Fatalf("clean: %d routes, %v", n, err)
	}
	expect.Must(t, l.SetLinks(t.Context(), []topology.Link{dead}, true))
	if n, err := r.Install(t.Context(), p); err != nil || n == 0 {
		t.Fatalf("install of the old plan: %d routes, %v", n, err)
	}
	everything(t, l)
	expect.Equal(t, expect.Value(r.Clean(t.Context(), p))(t), 0, "second clean")
}

// A link that goes down and up unseen costs its leaf the routes; asked for the same
// dead links again, the router finds that out.
func TestRouterRepairsWhatTheKernelDeleted(t *testing.T) {
	tree := newTree(t, 2, 3)
	p := newPlan(t, tree, routing.MinHop)
	l, target := start(t, p, 0)
	r, _ := route(t, l, target, p)
	flap := topology.Link{Leaf: 0, Spine: 0}
	for _, up := range []bool{false, true} {
		expect.Must(t, l.SetLinks(t.Context(), []topology.Link{flap}, up))
	}
	n, err := r.Aid(t.Context(), tree)
	expect.True(t, err == nil && n != 0, "aid after a flap: %d routes, %v", n, err)
	everything(t, l)
	expect.Equal(t, expect.Value(r.Aid(t.Context(), tree))(t), 0, "aid again")
}

// BenchmarkAid measures from the call that takes a link down: to the event of the
// first end read, and from there to the routes in place and read back.
func BenchmarkAid(b *testing.B) {
	for _, size := range [][2]int{{4, 4}, {8, 8}} {
		tree := newTree(b, size[0], size[1])
		b.Run(tree.Notation(), func(b *testing.B) { benchmarkAid(b, tree) })
	}
}

func benchmarkAid(b *testing.B, tree *topology.Tree) {
	p := newPlan(b, tree, routing.Ftree)
	l, target := start(b, p, 100e6)
	r, events := route(b, l, target, p)
	var seen, aided []time.Duration
	changed := 0
	for i := range b.N {
		dead := topology.Link{Leaf: i % tree.Leaves(), Spine: i / tree.Leaves() % tree.Spines()}
		time.Sleep(200 * time.Millisecond) // as in a run, what comes next has been worked out
		begin := time.Now()
		down := make(chan error, 1)
		go func() { down <- l.SetLinks(b.Context(), []topology.Link{dead}, false) }()
		e := await(events, dead, false)
		n, err := r.Aid(b.Context(), newTree(b, tree.Ports(), tree.Leaves(), dead))
		aided = append(aided, time.Since(e.Seen))
		seen = append(seen, e.Seen.Sub(begin))
		expect.Must(b, err)
		changed += n
		expect.Must(b, <-down)
		expect.Must(b, l.SetLinks(b.Context(), []topology.Link{dead}, true))
		await(events, dead, true)
		expect.Must(b, expect.Err(r.Aid(b.Context(), tree)))
	}
	b.ReportMetric(median(seen), "µs/seen")
	b.ReportMetric(median(aided), "µs/read-back")
	b.ReportMetric(float64(changed)/float64(b.N), "changed")
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1e3
}

func ports() []lab.Port {
	return []lab.Port{
		{Name: "a", Index: 2, Gateway: netip.MustParseAddr("169.254.0.1")},
		{Name: "b", Index: 3, Gateway: netip.MustParseAddr("169.254.0.2")},
	}
}

// What is written is read again as it was.
func TestRouteMessages(t *testing.T) {
	for _, want := range []companion.Route{
		{Prefix: netip.MustParsePrefix("10.1.0.0/16"), Via: []companion.Port{1}},
		{Prefix: netip.MustParsePrefix("10.200.1.1/32"), Via: []companion.Port{0, 1}},
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Via: []companion.Port{0}, Source: netip.MustParseAddr("10.200.0.1")},
	} {
		h, table, err := newReader(ports()).route(setMessage(want, ports()))
		expect.True(t, err == nil && table == 254 && h.alien == nil && h.route.Equal(want), "%v: read %+v, table %v, error %v", want, h, table, err)
	}
}

func TestRouteOfOthers(t *testing.T) {
	r := companion.Route{Prefix: netip.MustParsePrefix("10.1.0.0/16"), Via: []companion.Port{1}}
	message := setMessage(r, ports())
	message[5] = 2 // written by the kernel itself
	h, _, err := newReader(ports()).route(message)
	expect.True(t, err == nil && slices.Equal(h.alien, message), "read %+v, %v, want it to be told as one of others", h, err)
	message[4] = 255 // table local
	if _, table, _ := newReader(ports()).route(message); table != 0 {
		t.Error("a route of another table was taken for one of the main table")
	}
}

// FuzzReadRoute: whatever the kernel says, reading it ends.
func FuzzReadRoute(f *testing.F) {
	f.Add(setMessage(companion.Route{Prefix: netip.MustParsePrefix("10.1.0.0/16"), Via: []companion.Port{0, 1}}, ports()))
	f.Add([]byte{2, 8})
	f.Fuzz(func(t *testing.T, entry []byte) {
		h, _, err := newReader(ports()).route(entry)
		for _, p := range h.route.Via {
			if err == nil && int(p) >= len(ports()) {
				t.Errorf("port %d of %d", p, len(ports()))
			}
		}
	})
}
