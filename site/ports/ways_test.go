package ports

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evbench/bench"
	"evbench/controller/wire"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/topology"
)

// planned is a case over the paths of a fake network of 8 hosts on 4 leaves.
func planned(t *testing.T, w *Ways, f *fake, c scenario.Case) (*plan.Plan, error) {
	t.Helper()
	f.hosts, f.onLeaf, f.spines = 8, 2, 2
	tree := expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 4, Spines: 2}))(t)
	name := schedules.LinearShift
	if c.Schedule == "" {
		name = ""
	}
	p := expect.Value(plan.Build(tree, plan.Options{Engines: engines.Trees(), Schedule: name, Routing: routing.ECMP}))(t)
	w.Ends = func([]results.Host) ([]Host, int, error) { return f.list(), 7000, nil }
	w.Options = Options{Ports: 2, Seed: 1}
	return w.Plan(t.Context(), bench.Asked{Trace: f.ask}, c, p)
}

func ported(schedule string) scenario.Case {
	return scenario.Case{Schedule: schedule, Routing: scenario.Ports}
}

// TestWays: what a run counts of plans over ports is what the figures of the exchange say, and each worker gets the ports of
// its messages, those of a case that chooses none likewise.
func TestWays(t *testing.T) {
	w, f := &Ways{}, &fake{}
	chosen := expect.Value(planned(t, w, f, ported(schedules.PathColoring)))(t)
	shift := expect.Value(planned(t, w, f, scenario.Case{Schedule: schedules.LinearShift, Routing: routing.ECMP}))(t)
	unsync := expect.Value(planned(t, w, f, scenario.Case{Routing: routing.ECMP}))(t)
	asked := f.rounds
	x := w.found[0].x
	figures := x.Plan(0).Figures
	expect.Equal(t, chosen.Cost(plan.Equal, 1).Duration, figures.Steps, "steps of chosen ports")
	expect.Equal(t, shift.Cost(plan.Equal, 1).Duration, figures.Linear, "steps of linear shift")
	expect.Equal(t, unsync.Cost(plan.Equal, 1).Busiest, float64(max(figures.Fullest, 7)), "the busiest link")
	for _, p := range []*plan.Plan{chosen, shift, unsync} {
		expect.OK(t, p.Judge())
		for rank := range 8 {
			for _, s := range p.Row(rank) {
				if s.To < 0 {
					continue
				}
				port := p.Ports().Port(rank, s.To)
				expect.True(t, s.ToSpine == port && (port < 0) == (rank/2 == s.To/2), "%d to %d leaves from port %d, %d in the row", rank, s.To, port, s.ToSpine)
			}
		}
	}
	expect.Equal(t, f.rounds, asked, "rounds: the paths are asked for once")
	files := w.Files()
	expect.True(t, len(files) == 1 && files[0].File == "paths.txt", "%d files", len(files))
	read := expect.Value(Read(bytes.NewReader(files[0].Text)))(t)
	var text bytes.Buffer
	expect.Must(t, chosen.WriteText(&text))
	r := expect.Value(check(t, text.String(), read))(t)
	expect.True(t, r.Valid && len(r.Notes) == 0, "%+v", r)
	expect.True(t, chosen.Hash() != shift.Hash(), "two plans have one hash")
}

// TestAgain: before and after a case its ports are asked about once more: what moved is named, a port in use is replaced by
// one that leads the same way, and without one there is an error.
func TestAgain(t *testing.T) {
	w, f := &Ways{pause: 1}, &fake{}
	p := expect.Value(planned(t, w, f, ported(schedules.PathColoring)))(t)
	a := bench.Asked{Trace: f.ask}
	again, found, err := w.Check(t.Context(), a, p)
	expect.Must(t, err)
	expect.True(t, again == p && len(found.Moved)+len(found.Ports) == 0, "%+v", found)

	f.seed = 3
	_, found, err = w.Check(t.Context(), a, p)
	expect.Must(t, err)
	moved := 0
	for src := range 8 {
		for dst := range 8 {
			if src == dst {
				continue
			}
			if port := p.Ports().Port(src, dst); port > 0 && f.hop(src, dst, port) != (&fake{hosts: 8, spines: 2}).hop(src, dst, port) {
				moved++
			}
		}
	}
	expect.True(t, moved > 5 && len(found.Moved) == moved, "%d moved, %d are named", moved, len(found.Moved))
	expect.Contains(t, found.Moved[0], "node0 to node")
	expect.Contains(t, found.Moved[0], " was over 172.16.0.")

	f.seed, f.silent = 0, 1
	_, found, err = w.Check(t.Context(), a, p)
	expect.Must(t, err)
	expect.True(t, len(found.Moved) == 48 && strings.HasSuffix(found.Moved[0], "no switch answers any more where one did"), "%v", found.Moved)

	f.silent, f.taken = 0, map[int]bool{}
	replaced, lost := 0, false
	for src := range 8 {
		for dst := range 8 {
			if src/2 == dst/2 {
				continue
			}
			port := p.Ports().Port(src, dst)
			f.taken = map[int]bool{port: true}
			again, found, err = w.Check(t.Context(), a, p)
			switch {
			case err != nil:
				expect.Contains(t, err.Error(), fmt.Sprintf("node%d to node%d: port %d cannot be taken (another program has it), and no other with its path is known", src, dst, port))
				lost = true
			default:
				replaced++
				other := again.Ports().Port(src, dst)
				expect.True(t, other != port && f.hop(src, dst, other) == f.hop(src, dst, port) && len(found.Ports) == 1, "port %d for %d: %v", other, port, found.Ports)
			}
			if replaced > 1 && lost {
				return
			}
		}
	}
	t.Errorf("%d replaced, and one without another: %v", replaced, lost)
}

// TestFollow: ways that move while a case runs are noticed by ports that the plan has left, and the plan made anew takes
// ports that no connection has, over the ways that there are now; answers that are only lost move nothing.
//
//gate:race
func TestFollow(t *testing.T) {
	w, f := &Ways{}, &fake{}
	c := ported(schedules.PathColoring)
	old := expect.Value(planned(t, w, f, c))(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		asks := make(chan func(), 1) // what happens at the next look
		trace := func(ctx context.Context, trails [][]wire.Trail, gap time.Duration) ([][]wire.Seen, error) {
			select {
			case do := <-asks:
				do()
			default:
			}
			return f.ask(ctx, trails, gap)
		}
		net := w.Follow(bench.Asked{Trace: trace}, c, old, func(*topology.Tree) (*plan.Plan, error) { return old, nil }, nil)
		events, ended := make(chan failover.LinkEvent), make(chan error, 1)
		go func() { ended <- net.Watch(ctx, events) }()
		asks <- func() { f.silent = 40 }
		time.Sleep(4 * lookAgain)
		select {
		case e := <-events:
			t.Errorf("%+v, and nothing has moved", e)
		default:
		}
		asks <- func() { f.dead = [][2]int{{0, 1}} }
		expect.True(t, (<-events).Moved, "a link has died")
		f.silent = 0
		made := expect.Value(net.(loop.Planner).Plan(ctx, old.Tree))(t)
		for src := range 8 {
			for dst := range 8 {
				if src == dst || src/2 == dst/2 {
					continue
				}
				port := made.Plan.Ports().Port(src, dst)
				expect.True(t, port != old.Ports().Port(src, dst), "port %d of a connection", port)
				expect.True(t, (src > 1 && dst > 1) || f.hop(src, dst, port) == 0, "%d to %d from %d crosses the dead cable", src, dst, port)
			}
		}
		cancel()
		expect.Equal(t, <-ended, context.Canceled, "Watch")
		_, found, err := w.Check(t.Context(), bench.Asked{Trace: trace}, made.Plan) // of a slice that is over
		expect.True(t, err == nil && len(found.Moved) == 0, "%v, %v", found, err)
		files := w.Files()
		expect.True(t, len(files) == 2 && files[1].File == "paths-2.txt", "%d files", len(files))
	})
}

// TestGiven: a paths file and a plan that were made before are taken, whatever order their hosts have.
func TestGiven(t *testing.T) {
	w, f := &Ways{}, &fake{}
	p := expect.Value(planned(t, w, f, ported(schedules.PathColoring)))(t)
	var text bytes.Buffer
	expect.Must(t, p.WriteText(&text))
	name := filepath.Join(t.TempDir(), "plan.txt")
	write := func(text string) { expect.Must(t, os.WriteFile(name, []byte(text), 0o600)) }
	write(text.String())

	own := *w.found[0].x.of
	turned := own
	turned.Hosts, turned.Rows = nil, nil
	for i := range own.Hosts {
		turned.Hosts = append(turned.Hosts, own.Hosts[7-i])
	}
	for _, r := range own.Rows {
		r.Src, r.Dst = 7-r.Src, 7-r.Dst
		turned.Rows = append(turned.Rows, r)
	}
	given := &Ways{Own: &turned}
	same := expect.Value(planned(t, given, &fake{}, ported(schedules.FilePrefix+name)))(t)
	for src := range 8 {
		for dst := range 8 {
			if src != dst {
				expect.Equal(t, same.Ports().Port(src, dst), p.Ports().Port(src, dst), "port %d to %d", src, dst)
			}
		}
	}
	expect.Equal(t, same.Cost(plan.Equal, 1), p.Cost(plan.Equal, 1), "cost")

	first, _, _ := strings.Cut(text.String(), "# schedule")
	for _, x := range []struct{ plan, want string }{
		{"# evbench plan 4\n# topology FT(2;2,2)\n", "no plan of evbench plan --paths"},
		{first, "56 messages are missing"},
		{first + "0 0 2 1\n", "node0 to node2 leaves from port 1, whose path is not known: write fabric.routes: {kind: ports, paths: FILE}"},
		{first + "0 0 1 -\n0 0 1 -\n", "node0 to node1 is there twice"},
		{first + "0 0 9 -\n", "phase 0: host 9 is not among 8"},
		{strings.Replace(first, " 10.0.0.1", " 10.9.9.9", 1), "host node0 at 10.9.9.9 has no paths"},
	} {
		write(x.plan)
		_, err := planned(t, given, &fake{}, ported(schedules.FilePrefix+name))
		expect.True(t, err != nil && strings.Contains(err.Error(), x.want), "%v, want %s", err, x.want)
	}
	other := own
	other.Port = 7001
	_, err := planned(t, &Ways{Own: &other}, &fake{}, ported(schedules.PathColoring))
	expect.True(t, err != nil && strings.Contains(err.Error(), "write launch.data_port: 7001"), "%v", err)
	other.Port, other.Protocol = RoCEPort, RoCE
	_, err = planned(t, &Ways{Own: &other}, &fake{}, ported(schedules.PathColoring))
	expect.True(t, err != nil && strings.Contains(err.Error(), "the paths are those of rocev2 to port 4791, and the transport sends to port 7000: ask again"), "%v", err)
	other.Port, other.Protocol, other.Hosts = 7000, TCP, own.Hosts[1:]
	_, err = planned(t, &Ways{Own: &other}, &fake{}, ported(schedules.PathColoring))
	expect.True(t, err != nil && strings.Contains(err.Error(), "those of other hosts: host 10.0.0.1: is not among the 7 of the paths, such as node1"), "%v", err)
}
