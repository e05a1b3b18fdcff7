package opensm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"evbench/failover"
	"evbench/plan"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/topology"
)

// A followed is a running OpenSM whose subnet is watched.
type followed struct {
	*referee
	s      *Subnet
	net    *network.Network
	tree   *topology.Tree // as the events so far have it
	events chan failover.LinkEvent
	looked chan struct{} // closed when the network has been discovered
	first  sync.Once

	mu    sync.Mutex
	steps []Step
	began time.Time
}

// follows starts OpenSM on a healthy tree and watches it.
func follows(t testing.TB, notation string, lmc int, args ...string) *followed {
	t.Helper()
	tree := treeOf(t, notation)
	n := networkOf(t, tree.Wires, lmc)
	r := compute(t, build(t, tree, plan.Options{Schedule: "fors"}), n, lmc)
	f := &followed{referee: judge(t, r, n, args...), net: n, tree: tree, events: make(chan failover.LinkEvent, 64), looked: make(chan struct{})}
	f.o.Process, f.o.LogFile = Auto, "" // as whoever says nothing
	f.began = time.Now()
	s := expect.Value(NewSubnet(n, tree, SubnetOptions{
		Manager: &f.o, Options: Options{LMC: lmc}, Tell: f.tell,
		Discover: func(ctx context.Context, _ int) ([]byte, error) { return f.live.Program(ctx, "ibnetdiscover").Output() },
	}))(t)
	f.s = s
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Watch(ctx, f.events) }()
	t.Cleanup(func() {
		cancel()
		expect.Is(t, <-done, context.Canceled)
	})
	select {
	case <-f.looked:
	case <-time.After(ibtest.Limit):
		f.mu.Lock()
		defer f.mu.Unlock()
		t.Fatalf("the network is not discovered: %+v", f.steps)
	}
	return f
}

func (f *followed) tell(s Step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps = append(f.steps, s)
	if s.What == "discovered the network" {
		f.first.Do(func() { close(f.looked) })
	}
}

// change pulls or plugs in a cable, and waits until both ends have said so.
func (f *followed) change(t testing.TB, do func(network.End) error, up bool, name string) {
	t.Helper()
	links := expect.Value(f.tree.Links(name))(t)
	l := links[0]
	f.mu.Lock()
	f.steps, f.began = nil, time.Now()
	f.mu.Unlock()
	expect.Must(t, do(network.End{Node: f.s.places.Node(l.Leaf), Port: f.s.places.Up(topology.Link{Leaf: l.Leaf, Spine: l.Spine})}))
	said := map[bool]bool{} // by the leaf, by the spine: in any order
	for len(said) < 2 {
		select {
		case e := <-f.events:
			expect.MustFalse(t, e.Link != l || said[e.Leaf] || e.Up != up || e.Seen.Before(f.began), "%s up %v: %+v", name, up, e)
			said[e.Leaf] = true
		case <-time.After(ibtest.Limit):
			t.Fatalf("%s: no event", name)
		}
	}
	f.mu.Lock()
	f.steps = append(f.steps, Step{At: time.Now(), What: "both ends have said that " + name + " has changed"})
	f.mu.Unlock()
}

// install plans for what is alive, and has OpenSM take the tables.
func (f *followed) install(t testing.TB, down ...string) *Routes {
	t.Helper()
	began := time.Now()
	p := build(t, treeOf(t, f.tree.Notation(), down...), plan.Options{Schedule: "fors"})
	f.tell(Step{At: time.Now(), What: fmt.Sprintf("planned, %d phases", p.Phases()), Took: time.Since(began)})
	expect.Must(t, expect.Err(f.s.Install(t.Context(), p)))
	f.log(t)
	return compute(t, p, f.net, f.s.o.LMC)
}

// joins fails the test unless the tables that the switches hold are those of the routes
// and lead every message over the path of the plan.
func (f *followed) joins(t testing.TB, r *Routes) {
	t.Helper()
	have, err := f.o.read(t.Context(), r.Tables)
	if err == nil {
		err = differ(r.Tables, have, false)
	}
	if err != nil {
		t.Error(err)
		return
	}
	held := *r
	held.Tables = have
	walkAll(t, 0, &held)
}

// log logs what has happened since the cable was pulled, with what OpenSM has stamped.
func (f *followed) log(t testing.TB) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, s := range f.steps {
		fmt.Fprintf(&b, "\n%8.1f ms  %s", ms(s.At.Sub(f.began)), s.What)
		if s.Took > 0 {
			fmt.Fprintf(&b, ", took %.1f ms", ms(s.Took))
		}
	}
	text := expect.Value(os.ReadFile(f.live.LogFile()))(t)
	fmt.Fprint(&b, "\nby the stamps of OpenSM")
	for line := range strings.Lines(string(text)) {
		at := ibtest.Stamp(line)
		if _, what, ok := strings.Cut(line, "-> "); ok && !at.Before(ibtest.Stamped(f.began)) {
			for _, mark := range []string{"log_notice", "Unlinking", "tables configured", "SUBNET UP"} {
				if strings.Contains(what, mark) {
					fmt.Fprintf(&b, "\n%8.1f ms  %s", ms(at.Sub(ibtest.Stamped(f.began))), strings.TrimSpace(what))
				}
			}
		}
	}
	t.Log(b.String())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// TestSubnetFailsOver pulls a cable and another, and plugs them in again: each time the
// log, or a discovery, says which, and OpenSM gets the tables of a plan for what is alive.
//
//gate:debian13
func TestSubnetFailsOver(t *testing.T) {
	ibtest.Need(t)
	for _, c := range []struct {
		name string
		args []string
		says string // of the leaf
	}{
		{"ports are not named", []string{"-D", "0x43"}, "log: s1_0 has changed"},
		{"ports that go down are named", []string{"-D", "0x47"}, "log: s1_0 port 5 is down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := follows(t, "FT(2;4,8)", 2, c.args...)
			f.change(t, f.live.Pull, false, "leaf0-spine0")
			f.joins(t, f.install(t, "leaf0-spine0"))
			f.await(t, c.says) // a discovery may have been first: OpenSM buffers its log
			f.change(t, f.live.Pull, false, "leaf5-spine2")
			f.joins(t, f.install(t, "leaf0-spine0", "leaf5-spine2"))

			f.change(t, f.live.Plug, true, "leaf0-spine0")
			f.change(t, f.live.Plug, true, "leaf5-spine2")
			f.joins(t, f.install(t))
			expect.OK(t, expect.Err(f.s.Aid(t.Context(), f.tree)))
		})
	}
}

// BenchmarkSubnetFailsOver takes the tree of the thesis through a dead link and back, and
// reports what each step took.
func BenchmarkSubnetFailsOver(b *testing.B) {
	ibtest.Need(b)
	f := follows(b, "FT(2;20,18)", 5)
	took := map[string]time.Duration{}
	for b.Loop() {
		f.change(b, f.live.Pull, false, "leaf0-spine0")
		f.install(b, "leaf0-spine0")
		f.add(took)
		f.change(b, f.live.Plug, true, "leaf0-spine0")
		f.install(b)
		f.add(took)
	}
	for what, d := range took {
		b.ReportMetric(ms(d)/float64(2*b.N), "ms-"+what)
	}
	f.log(b)
}

// add adds up the steps of one fail-over.
func (f *followed) add(took map[string]time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[string]bool{}
	for _, s := range f.steps {
		if what, _, _ := strings.Cut(strings.ReplaceAll(s.What, " ", "-"), ","); s.Took > 0 && !seen[what] {
			took[what] += s.Took
			seen[what] = true
		}
	}
	took["total"] += f.steps[len(f.steps)-1].At.Sub(f.began)
}

// TestSubnetSeesASwitchDie cuts all cables of a spine.
//
//gate:weekly13
func TestSubnetSeesASwitchDie(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	f := follows(t, "FT(2;2,3)", 1)
	for leaf := range 3 {
		f.change(t, f.live.Pull, false, fmt.Sprintf("leaf%d-spine1", leaf))
	}
	now, err := f.s.Now(t.Context())
	expect.MustFalse(t, err != nil || len(now.Dead()) != 3, "%v, %v", now.DownNames(), err)
	f.joins(t, f.install(t, "spine1"))
}

// TestSweepFindsOthers: somebody has OpenSM, the same process, load other tables; after that sweep those
// of the plan come back.
func TestSweepFindsOthers(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	f := follows(t, "FT(2;2,3)", 1)
	want := f.install(t, "leaf0-spine0")
	other := compute(t, build(t, f.tree, plan.Options{Schedule: "linear-shift", Routing: "ftree"}), f.net, 1)
	expect.Must(t, put(f.o.Dir, expect.Value(other.texts(f.o.Dir))(t)))
	sm := expect.Value(f.o.process(0))(t)
	expect.Must(t, errors.Join(sm.Reload(), sm.Close()))
	if s := f.await(t, "the switches held other tables than the plan's, which was installed again"); s.Err != nil {
		t.Error(s.Err)
	}
	f.joins(t, want)
}
