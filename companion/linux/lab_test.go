package linux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/unit"
	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// TestMain runs the tests as root of a user namespace where the user is not
// root already.
func TestMain(m *testing.M) {
	if lab.Helper() {
		return
	}
	code, done, err := lab.Enter()
	switch {
	case err != nil:
		os.Exit(need.Main(err))
	case done:
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func newTree(t testing.TB, ports, leaves int, down ...topology.Link) *topology.Tree {
	t.Helper()
	return topologytest.Without(t, topology.Options{Ports: ports, Leaves: leaves}, down...)
}

// A fault is a tree and a link of it that dies.
type fault struct {
	name string
	tree topology.Options
	dead topology.Link
}

var faults = []fault{
	{"two levels", topology.Options{Ports: 2, Leaves: 3}, topology.Link{Leaf: 2, Spine: 1}},
	{"three levels, leaf", topology.Options{Ports: 2, Leaves: 4, Pods: 2}, topology.Link{Leaf: 1, Spine: 0}},
	{"three levels, top", topology.Options{Ports: 2, Leaves: 4, Pods: 2}, topology.Link{Leaf: 1, Spine: 0, Above: true, Top: 1}},
	{"parallel cables", topology.Options{Ports: 2, Leaves: 3, Spines: 1, Cables: 2}, topology.Link{Leaf: 1, Cable: 2}},
}

func newPlan(t testing.TB, tree *topology.Tree, engine string) *plan.Plan {
	t.Helper()
	tables := expect.Value(routing.TreeTables(tree, engine))(t)
	return &plan.Plan{Tree: tree, Routing: engine, Tables: tables}
}

// start returns a lab with the routes of a plan installed.
func start(t testing.TB, p *plan.Plan, rate unit.Rate) (*lab.Lab, *Target) {
	t.Helper()
	l := expect.Value(lab.Start(t.Context(), lab.Options{Tree: p.Tree, Rate: rate}))(t)
	t.Cleanup(func() {
		expect.OK(t, l.Close())
	})
	target := NewTarget(l)
	expect.Must(t, expect.Err(companion.Install(t.Context(), target, p, l.Addresses())))
	return l, target
}

// transfer sends data from one server to another over a path and back as an
// acknowledgement of one byte.
func transfer(ctx context.Context, l *lab.Lab, src, dst, path int, data []byte) error {
	var listener net.Listener
	var conn net.Conn
	if err := l.Do(dst, func() (err error) {
		listener, err = net.Listen("tcp4", netip.AddrPortFrom(l.Addr(dst, path), 0).String())
		return err
	}); err != nil {
		return err
	}
	defer listener.Close()
	received := make(chan error, 1)
	go func() { received <- receive(listener, data) }()
	err := l.Do(src, func() (err error) {
		conn, err = dial(listener.Addr().String())
		return err
	})
	if err != nil {
		listener.Close()
		<-received
		return err
	}
	defer conn.Close()
	back := path
	if src != dst {
		back = l.Addresses().Tree.Back(path)
	}
	if from := netip.MustParseAddrPort(conn.LocalAddr().String()).Addr(); from != l.Addr(src, back) {
		err = fmt.Errorf("sent from %s, answers would take another path than %d", from, path)
	}
	if err == nil {
		_, err = conn.Write(data)
	}
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 1))
	}
	if err != nil {
		conn.Close() // nothing more comes
	}
	return errors.Join(err, <-received)
}

func receive(listener net.Listener, want []byte) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return errors.New("received other bytes than were sent")
	}
	_, err = conn.Write([]byte{1})
	return err
}

// dial connects on the calling thread: a literal address needs no resolver, and
// one address no second goroutine.
func dial(to string) (net.Conn, error) {
	d := net.Dialer{Timeout: 2 * time.Minute}
	return d.Dial("tcp4", to)
}

func TestAllPairsOnAllPaths(t *testing.T) {
	for _, o := range []topology.Options{{Ports: 2, Leaves: 2}, {Ports: 2, Leaves: 3}, {Ports: 2, Leaves: 4, Pods: 2}} {
		tree := topologytest.Without(t, o)
		t.Run(tree.Notation(), func(t *testing.T) {
			l, _ := start(t, newPlan(t, tree, routing.MinHop), 0)
			allPairs(t, l, &tree.Live)
		})
	}
}

// allPairs checks that a path carries exactly when it is alive: by tables
// always, else when no link of it is dead.
func allPairs(t *testing.T, l *lab.Lab, tree *topology.Live) {
	t.Helper()
	for src := range tree.Servers() {
		for dst := range tree.Servers() {
			for path := -1; path < tree.Paths(); path++ {
				a, b := tree.Leaf(src), tree.Leaf(dst)
				alive := path == companion.Single || a == b || tree.PathAlive(a, b, path)
				err := transfer(t.Context(), l, src, dst, path, []byte("hello"))
				expect.False(t, alive && err != nil, "rank %d to %d on path %d: %v", src, dst, path, err)
				expect.False(t, !alive && !errors.Is(err, unix.ENETUNREACH) && !errors.Is(err, unix.EHOSTUNREACH),
					"rank %d to %d on path %d, which is dead: error %v, want unreachable", src, dst, path, err)
			}
		}
	}
}

func TestDeadLink(t *testing.T) {
	engines := []string{routing.Ftree, routing.MinHop, routing.Spread, routing.ECMP, routing.Spray}
	for i, x := range append(slices.Repeat(faults[:1], len(engines)), faults[1:]...) {
		engine := engines[i%len(engines)]
		if !routing.Closed(&topologytest.Without(t, x.tree).Live, engine) && engine == routing.Ftree {
			engine = routing.MinHop
		}
		t.Run(x.name+", "+engine, func(t *testing.T) {
			healthy, broken := topologytest.Without(t, x.tree), topologytest.Without(t, x.tree, x.dead)
			l, target := start(t, newPlan(t, healthy, engine), 0)
			expect.Must(t, l.SetLinks(t.Context(), []topology.Link{x.dead}, false))
			reinstall(t, l, target, newPlan(t, broken, engine))
			allPairs(t, l, &broken.Live)
			expect.Must(t, l.SetDead(t.Context(), nil))
			reinstall(t, l, target, newPlan(t, healthy, engine))
			allPairs(t, l, &healthy.Live)
		})
	}
}

func reinstall(t *testing.T, l *lab.Lab, target *Target, p *plan.Plan) {
	t.Helper()
	changed := expect.Value(companion.Install(t.Context(), target, p, l.Addresses()))(t)
	expect.MustTrue(t, changed != 0, "no route had to change")
	again, err := companion.Install(t.Context(), target, p, l.Addresses())
	expect.MustTrue(t, again == 0 && err == nil, "installing the same again changed %d routes, error %v", again, err)
}

// A link that is dead in the tree is down from the start.
func TestStartsWithDeadLinks(t *testing.T) {
	tree := newTree(t, 2, 2, topology.Link{Leaf: 0, Spine: 1})
	l, _ := start(t, newPlan(t, tree, routing.MinHop), 0)
	allPairs(t, l, &tree.Live)
}

// What is sent appears on the wires of its path, and only acknowledgements on
// those of the way back.
func TestCounters(t *testing.T) {
	const size = 1 << 20
	two, three := newTree(t, 2, 3), topologytest.Without(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2})
	cables := topologytest.Without(t, topology.Options{Ports: 2, Leaves: 3, Spines: 1, Cables: 2})
	for i, tree := range []*topology.Tree{two, two, three, cables} {
		rate := unit.Rate(i%2) * 1e9
		for path := range tree.Paths() {
			t.Run(fmt.Sprintf("%s rate %s path %d", tree.Notation(), rate, path), func(t *testing.T) {
				l, _ := start(t, newPlan(t, tree, routing.MinHop), rate)
				const src, dst = 1, 4
				expect.Must(t, transfer(t.Context(), l, src, dst, path, make([]byte, size)))
				checkCounters(t, l, tree.Path(nil, src, dst, path), tree.Path(nil, dst, src, tree.Back(path)), size)
			})
		}
	}
}

func checkCounters(t *testing.T, l *lab.Lab, there, back []topology.Wire, size uint64) {
	t.Helper()
	counts := expect.Value(l.Counters())(t)
	if len(counts) != l.Addresses().Tree.AllWires() {
		t.Fatalf("%d counts for %d wires", len(counts), l.Addresses().Tree.AllWires())
	}
	for w, c := range counts {
		low, high := uint64(0), uint64(0)
		switch {
		case c.Wire != topology.Wire(w):
			t.Fatalf("count %d is of wire %d", w, c.Wire)
		case slices.Contains(there, c.Wire):
			low, high = size, size+size/4 // with headers, and what a busy machine sends twice
		case slices.Contains(back, c.Wire):
			low, high = 1, size/20
		}
		link, direction := l.Addresses().Tree.WireName(c.Wire)
		expect.True(t, c.Bytes >= low && c.Bytes <= high, "%s %s: %d bytes, want %d..%d", link, direction, c.Bytes, low, high)
		expect.Equal(t, c.Drops, 0, "wire %d: drops", w)
	}
}

// The packets of one connection take all spines, those without the dead link only where
// one is dead, and none of the other engines does that.
func TestSpray(t *testing.T) {
	const size, src, dst = 8 << 20, 0, 7 // 128 packets or more
	healthy := newTree(t, 4, 2)
	dead := topology.Link{Leaf: 1, Spine: 2}
	l, target := start(t, newPlan(t, healthy, routing.Spray), 1e9)
	for _, step := range []struct {
		down   []topology.Link
		engine string
		spines int // that carry data
	}{
		{nil, routing.Spray, 4},
		{[]topology.Link{dead}, routing.Spray, 3},
		{[]topology.Link{dead}, routing.ECMP, 1},
		{nil, routing.Spray, 4},
		{nil, routing.Ftree, 1},
	} {
		tree := newTree(t, 4, 2, step.down...)
		expect.Must(t, l.SetDead(t.Context(), step.down))
		expect.Must(t, expect.Err(companion.Install(t.Context(), target, newPlan(t, tree, step.engine), l.Addresses())))
		before := upwards(t, l, tree.Wires, 0)
		expect.Must(t, transfer(t.Context(), l, src, dst, companion.Single, make([]byte, size)))
		used := 0
		for k, n := range upwards(t, l, tree.Wires, 0) {
			n -= before[k]
			expect.False(t, !tree.Alive(1, k) && n > 0, "%s without %v: %d bytes go to spine%d", step.engine, step.down, n, k)
			if n > size/64 {
				used++
			}
		}
		expect.Equal(t, used, step.spines, "%s without %v: one connection uses: spines", step.engine, step.down)
	}
}

// Connections between two servers that differ only in ports share their spine where addresses are hashed, and
// use all spines where headers are.
func TestHash(t *testing.T) {
	const size, src, dst, connections = 1 << 16, 0, 7, 64 // ports are random: 24 miss one of four spines once in 250 times
	p := newPlan(t, newTree(t, 4, 2), routing.ECMP)
	for hash, spines := range map[lab.Hash]int{lab.HashHeaders: 4, lab.HashAlike: 4, lab.HashAddresses: 1} {
		l := expect.Value(lab.Start(t.Context(), lab.Options{Tree: p.Tree, Hash: hash}))(t)
		expect.Must(t, expect.Err(companion.Install(t.Context(), NewTarget(l), p, l.Addresses())))
		for range connections {
			expect.Must(t, transfer(t.Context(), l, src, dst, companion.Single, make([]byte, size)))
		}
		used := 0
		for _, n := range upwards(t, l, p.Tree.Wires, 0) {
			if n > size/2 {
				used++
			}
		}
		expect.Equal(t, used, spines, "hash %d: %d connections use: spines", hash, connections)
		expect.OK(t, l.Close())
	}
}

// upwards returns how many bytes a leaf has sent to each spine.
func upwards(t *testing.T, l *lab.Lab, tree topology.Wires, leaf int) []uint64 {
	t.Helper()
	counts := expect.Value(l.Counters())(t)
	out := make([]uint64, tree.Spines())
	for k := range out {
		out[k] = counts[tree.Up(leaf, k)].Bytes
	}
	return out
}

// Routes of others are taken away, and lost ones come back.
func TestApplyMakesExact(t *testing.T) {
	p := newPlan(t, newTree(t, 2, 2), routing.ECMP)
	l, target := start(t, p, 0)
	var h *netlink.Handle
	if err := l.In(0, func() (err error) { // leaf0
		h, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	routes := expect.Value(h.RouteList(nil, unix.AF_INET))(t)
	lost, foreign := routes[0], routes[1]
	expect.Must(t, h.RouteDel(&lost))
	foreign.Priority = 7
	expect.Must(t, h.RouteAdd(&foreign))
	other := foreign
	other.Priority, other.Dst = 0, &net.IPNet{IP: net.IPv4(192, 0, 2, 0), Mask: net.CIDRMask(24, 32)}
	expect.Must(t, h.RouteAdd(&other))
	changed, err := companion.Install(t.Context(), target, p, l.Addresses())
	expect.True(t, err == nil && changed == 3, "changed %d routes, error %v, want 3 changed", changed, err)
}

// follow re-routes on link events until the test ends.
func follow(t testing.TB, l *lab.Lab, target *Target, p *plan.Plan) <-chan failover.Record {
	r := expect.Value(companion.NewRouter(target, l.Addresses(), p, p.Routing, nil))(t)
	ctx, cancel := context.WithCancel(context.Background())
	changes, done := make(chan failover.Record, 10), make(chan error, 1)
	go func() {
		_, err := loop.Run(ctx, loop.Options{
			Machine: failover.MinHop.Options(p.Tree, 0), Plan: p, Network: r, Tell: func(x failover.Record) { changes <- x },
		})
		done <- err
		close(changes)
	}()
	t.Cleanup(func() {
		cancel()
		expect.OK(t, <-done)
	})
	return changes
}

func TestFollow(t *testing.T) {
	engines := []string{routing.MinHop, routing.ECMP, routing.Spray}
	for i, x := range append(slices.Repeat(faults[:1], len(engines)), faults[1:]...) {
		engine := engines[i%len(engines)]
		if !routing.Closed(&topologytest.Without(t, x.tree).Live, engine) && engine == routing.Ftree {
			engine = routing.MinHop
		}
		t.Run(x.name+", "+engine, func(t *testing.T) {
			p := newPlan(t, topologytest.Without(t, x.tree), engine)
			l, target := start(t, p, 0)
			changes := follow(t, l, target, p)
			dead := x.dead
			expect.Must(t, l.SetLinks(t.Context(), []topology.Link{dead}, false))
			c := <-changes
			expect.MustTrue(t, c.Err == "" && slices.Equal(c.Down, []topology.Link{dead}) && len(c.Up) == 0 && c.AidRoutes != 0 && c.Aided >= c.Seen,
				"link down: %+v", c)
			everything(t, l)
			expect.Must(t, l.SetLinks(t.Context(), []topology.Link{dead}, true))
			c = <-changes
			expect.MustTrue(t, c.Err == "" && slices.Equal(c.Up, []topology.Link{dead}) && len(c.Down) == 0 && c.AidRoutes != 0, "link up: %+v", c)
			everything(t, l)
		})
	}
}
