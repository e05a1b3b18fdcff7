package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func newTree(t testing.TB, ports, leaves int, down ...topology.Link) *topology.Tree {
	t.Helper()
	return topologytest.Without(t, topology.Options{Ports: ports, Leaves: leaves}, down...)
}

func start(t testing.TB, tree *topology.Tree) *Lab {
	t.Helper()
	l := expect.Value(Start(t.Context(), Options{Tree: tree, Rate: 1e9}))(t)
	t.Cleanup(func() {
		expect.OK(t, l.Close())
	})
	return l
}

// countdown ends after its Err has been asked a number of times.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int32
}

func (c *countdown) Err() error {
	if c.left.Add(-1) <= 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// held returns the descriptors of this process, and the namespaces of its threads other than its own.
func held(t *testing.T) (descriptors int, strayed []string) {
	t.Helper()
	fds := expect.Value(os.ReadDir("/proc/self/fd"))(t)
	tasks := expect.Value(filepath.Glob("/proc/self/task/*/ns/net"))(t)
	home := namespaceName("/proc/self/ns/net")
	for _, task := range tasks {
		if n := namespaceName(task); n != "" && n != home {
			strayed = append(strayed, task)
		}
	}
	return len(fds), strayed
}

// A start that is cancelled at any point leaves nothing.
func TestCancelledStart(t *testing.T) {
	tree := newTree(t, 2, 2, topology.Link{Leaf: 1, Spine: 1})
	begin := func(steps int32) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		c := &countdown{Context: ctx, cancel: cancel}
		c.left.Store(steps)
		l, err := Start(c, Options{Tree: tree, Rate: 1e8})
		if err == nil {
			err = l.Close()
		}
		return err
	}
	expect.Must(t, begin(1<<30))
	before, _ := held(t)
	for steps := int32(1); ; steps++ {
		err := begin(steps)
		after, strayed := held(t)
		expect.MustTrue(t, after == before && len(strayed) == 0,
			"cancelled at step %d: %d descriptors, before %d; threads elsewhere: %v", steps, after, before, strayed)
		if err == nil {
			expect.MustTrue(t, steps >= 8, "only %d steps can be cancelled", steps)
			return
		}
		expect.MustTrue(t, errors.Is(err, context.Canceled), "cancelled at step %d: %v", steps, err)
	}
}

// A kernel that refuses a step in the middle leaves nothing either: here two cables want the same interface.
func TestFailedStart(t *testing.T) {
	tree := newTree(t, 2, 2)
	fail := func() error {
		home := expect.Value(openNamespace())(t)
		o := Options{Tree: tree}
		expect.Must(t, o.validate())
		y := newLayout(o)
		y.cables[5].ends[0].index = y.cables[2].ends[0].index
		y.cables[5].ends[0].node = y.cables[2].ends[0].node
		_, err := (&Lab{layout: y, home: home, down: map[int]bool{}}).start(t.Context())
		return err
	}
	if err := fail(); !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.EBUSY) {
		t.Fatalf("error %v, want that it exists", err)
	}
	before, _ := held(t)
	expect.MustTrue(t, fail() != nil, "no error")
	after, strayed := held(t)
	expect.True(t, after == before && len(strayed) == 0, "%d descriptors, before %d; threads elsewhere: %v", after, before, strayed)
}

func TestInside(t *testing.T) {
	l := start(t, newTree(t, 2, 2))
	home := namespaceName("/proc/self/ns/net")
	want := map[string][]string{
		"leaf1":   {"lo", "server2", "server3", "spine0", "spine1"},
		"spine0":  {"leaf0", "leaf1", "lo"},
		"server3": {"leaf1", "lo"},
	}
	for n := range Node(l.Nodes()) {
		name := l.Name(n)
		interfaces, ok := want[name]
		if !ok {
			continue
		}
		delete(want, name)
		expect.OK(t, l.In(n, func() error {
			list, err := net.Interfaces()
			var names []string
			for _, i := range list {
				names = append(names, i.Name)
				expect.False(t, i.Name != "lo" && i.MTU != 9000, "%s: MTU of %s is %d", name, i.Name, i.MTU)
			}
			if slices.Sort(names); !slices.Equal(names, interfaces) {
				t.Errorf("%s has %v, want %v", name, names, interfaces)
			}
			return err
		}))
	}
	failure := errors.New("failure of the caller")
	if err := l.Do(0, func() error { return failure }); err != failure {
		t.Errorf("Do returned %v, want the error of the function", err)
	}
	if _, strayed := held(t); len(strayed) > 0 || namespaceName(threadNamespace) != home {
		t.Errorf("threads did not come back: %v", strayed)
	}
	expect.True(t, len(want) == 0, "no node of the names %v", want)
}

// Both ends of every cable have the token bucket, ports of servers priorities, and every node its settings.
func TestBucketsAndSettings(t *testing.T) {
	const tick = 64 // ns; the kernel tells the bucket's size as the time that it lasts
	l := start(t, newTree(t, 2, 2))
	for n := range l.nodes {
		qdiscs := expect.Value(l.nodes[n].handle.QdiscList(nil))(t)
		shaped, priorities := map[int]bool{}, 0
		for _, q := range qdiscs {
			if a := q.Attrs(); q.Type() == "pfifo_fast" && a.Parent == netlink.MakeHandle(1, 1) {
				priorities++
			}
			b, ok := q.(*netlink.Tbf)
			if !ok || b.Parent != netlink.HANDLE_ROOT {
				continue
			}
			shaped[b.LinkIndex] = b.Rate == 125e6 && b.Limit == 16<<20 && uint64(b.Buffer)*tick*b.Rate/1e9 == 81920
		}
		for p, port := range l.Ports(Node(n)) {
			if !shaped[port.Index] {
				t.Errorf("%s: port %d has no bucket of 1 Gbit/s and 80 KiB", l.Name(Node(n)), p)
			}
		}
		if server := n >= l.switches(); server != (priorities == 1) {
			t.Errorf("%s has priorities at %d ports; only a server's port has", l.Name(Node(n)), priorities)
		}
		settings := slices.Concat(everySysctls, serverSysctls)
		if n < l.switches() {
			settings = slices.Concat(everySysctls, switchSysctls)
		}
		if err := l.In(Node(n), func() error { return checkSettings(settings) }); err != nil {
			t.Errorf("%s: %v", l.Name(Node(n)), err)
		}
	}
}

func checkSettings(settings []sysctl) error {
	for _, s := range settings {
		text, err := os.ReadFile("/proc/sys/net/" + s.key)
		if os.IsNotExist(err) && strings.HasPrefix(s.key, "ipv6/") {
			continue
		}
		if got := strings.TrimSpace(string(text)); got != s.value {
			return fmt.Errorf("%s is %q (%v), want %s", s.key, got, err, s.value)
		}
	}
	return nil
}

func TestCommand(t *testing.T) {
	l := start(t, newTree(t, 2, 2))
	for n := range l.Nodes() {
		cmd := itself("namespace")
		var out strings.Builder
		cmd.Stdout = &out
		expect.Must(t, l.StartCommand(Node(n), cmd))
		expect.Must(t, cmd.Wait())
		var want string
		expect.Must(t, l.In(Node(n), func() error { want = namespaceName(threadNamespace); return nil }))
		if got := strings.TrimSpace(out.String()); got != want+" <nil>" {
			t.Errorf("%s: command in %s, want %s", l.Name(Node(n)), got, want)
		}
	}
	expect.Error(t, l.StartCommand(0, exec.Command("/no/such/program")), "leaf0: start /no/such/program")
}

func TestCloseKillsCommands(t *testing.T) {
	l := expect.Value(Start(t.Context(), Options{Tree: newTree(t, 2, 2)}))(t)
	cmd := itself("hang")
	in := expect.Value(cmd.StdinPipe())(t)
	defer in.Close()
	out := expect.Value(cmd.StdoutPipe())(t)
	expect.Must(t, l.StartCommand(l.Server(1), cmd))
	line, err := bufio.NewReader(out).ReadString('\n')
	expect.MustTrue(t, err == nil, "%v %v", line, err)
	expect.Must(t, l.Close())
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Errorf("command ended with %v, want killed", err)
	}
}

// Cables that somebody takes down by hand are told by name, those of servers included, whichever
// end it is. The ends of a cable are heard one by one, so that a change may be told more than once.
func TestWatchCables(t *testing.T) {
	tree := newTree(t, 2, 2, topology.Link{Leaf: 0, Spine: 0})
	l := start(t, tree)
	ctx, cancel := context.WithCancel(t.Context())
	events, done := make(chan topology.CableEvent, 100), make(chan error, 1)
	go func() {
		defer close(events)
		done <- l.WatchCables(ctx, func(e topology.CableEvent) { events <- e })
	}()
	told := map[string]bool{}
	next := func(cable string, up bool) {
		t.Helper()
		for told[cable] = true; ; {
			e := <-events
			expect.MustTrue(t, told[e.Cable] && !e.Seen.IsZero(), "%+v, want %s, up %v", e, cable, up)
			if e.Cable == cable && e.Up == up {
				return
			}
		}
	}
	next("leaf0-spine0", false)
	for _, tt := range []struct {
		cable string
		id    int
	}{{"leaf1-spine1", l.cable(topology.Link{Leaf: 1, Spine: 1})}, {"server2-leaf1", int(tree.FromServer(2)) / 2}} {
		for _, e := range l.cables[tt.id].ends {
			for _, up := range []bool{false, true} {
				expect.Must(t, l.nodes[e.node].setUp(e.index, up))
				next(tt.cable, up)
			}
		}
	}
	cancel()
	expect.OK(t, <-done)
}

func TestWatch(t *testing.T) {
	watched(t, newTree(t, 2, 3, topology.Link{Leaf: 0, Spine: 0}), topology.Link{Leaf: 2, Spine: 1})
	top := topology.Link{Leaf: 1, Spine: 1, Above: true}
	watched(t, topologytest.Without(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2}, topology.Link{Leaf: 1, Spine: 1}, top),
		topology.Link{Leaf: 0, Spine: 1, Above: true, Top: 1})
	cables := topology.Options{Ports: 2, Leaves: 2, Spines: 1, Cables: 2}
	watched(t, topologytest.Tree(t, cables, "leaf0-spine0/1"), topology.Link{Leaf: 1, Cable: 2})
}

// watched takes a link of a tree down and up while both ends of all are watched.
func watched(t *testing.T, tree *topology.Tree, link topology.Link) {
	t.Helper()
	l := start(t, tree)
	ctx, cancel := context.WithCancel(t.Context())
	events, done := make(chan topology.LinkEvent), make(chan error, 1)
	go func() {
		defer close(events)
		done <- l.Watch(ctx, events)
	}()

	type end struct {
		link topology.Link
		leaf bool
	}
	state := map[end]bool{}
	next := func() topology.LinkEvent {
		e, ok := <-events
		expect.MustTrue(t, ok, "Watch has ended")
		state[end{e.Link, e.Leaf}] = e.Up
		return e
	}
	for range 2 * tree.AllLinks() {
		if e := next(); e.Up != tree.LinkAlive(e.Link) || e.Seen.IsZero() || e.Reread {
			t.Errorf("first event %+v", e)
		}
	}
	expect.Equal(t, len(state), 2*tree.AllLinks(), "ends told their state")
	for _, up := range []bool{false, true} {
		expect.Must(t, l.SetLinks(t.Context(), []topology.Link{link}, up))
		leaf, spine := end{link, true}, end{link, false}
		for state[leaf] != up || state[spine] != up {
			expect.Equal(t, next().Link, link, "event: of another link")
		}
	}
	cancel()
	expect.OK(t, <-done)
}

// Cables that the network never had are down, and not among the dead.
func TestAbsentCables(t *testing.T) {
	absent, dead := topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 2}
	tree := expect.Value(expect.Value(newTree(t, 2, 3).WithoutAbsent(absent))(t).Without(dead))(t)
	l := start(t, tree)
	for range 2 {
		expect.Equal(t, expect.Value(l.Dead())(t), []topology.Link{dead}, "dead links")
		expect.True(t, l.down[l.cable(absent)] && !l.down[l.cable(topology.Link{})], "an absent cable is up, or a live one down")
		expect.Must(t, l.SetDead(t.Context(), tree.Dead()))
	}
}

// Links that somebody else has taken down, at either end, or brought up, are as they should be afterwards.
func TestSetDeadUndoesOthers(t *testing.T) {
	dead := topology.Link{Leaf: 2, Spine: 1}
	tree := newTree(t, 2, 3, dead)
	l := start(t, tree)
	for _, x := range []struct {
		link topology.Link
		end  int
		up   bool
	}{{topology.Link{}, 0, false}, {topology.Link{Leaf: 1}, 1, false}, {dead, 0, true}} {
		e := l.cables[tree.LinkID(x.link)].ends[x.end]
		expect.Must(t, l.nodes[e.node].setUp(e.index, x.up))
	}
	got, err := l.Dead()
	expect.True(t, err == nil && slices.Equal(got, []topology.Link{{}, {Leaf: 1}}), "dead are %v, %v", got, err)
	expect.Must(t, l.SetDead(t.Context(), tree.Dead()))
	expect.Equal(t, expect.Value(l.Dead())(t), tree.Dead(), "dead links")
	ctx, cancel := context.WithCancel(t.Context())
	events, done := make(chan topology.LinkEvent), make(chan error, 1)
	go func() {
		defer close(events)
		done <- l.Watch(ctx, events)
	}()
	for range 2 * tree.Leaves() * tree.Spines() {
		if e := <-events; e.Up != tree.Alive(e.Link.Leaf, e.Link.Spine) {
			t.Errorf("%+v", e)
		}
	}
	cancel()
	expect.OK(t, <-done)
}
