package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/cmd/open"
	"evbench/controller/wire"
	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
	"evbench/view/watch"
)

func watchAction(c *cli.Context) error {
	at, err := open.ReadPlace(os.Getenv)
	if err != nil {
		return usage(err)
	}
	if at.By != "" {
		defer obey(c)()
	}
	name := c.Args().First()
	s, err := readNamed(c, name, "")
	if err == nil {
		err = wrongIn(name, burstsOf(c, s))
	}
	if err == nil && s.Launch.Kind == scenario.LaunchLocal {
		return quietly(at, runHere(c, name, s, at, watchServers), 0)
	}
	planned, err := planCases(c, name, s, err)
	if err != nil {
		return quietly(at, err, c.Int("controller-rank"))
	}
	return runThere(c, name, s, planned, at, watchServers)
}

// portsAbove is how far the ports of a watch are above those of a run, which may come at any time.
const portsAbove = 1000

// burstsOf leaves of a scenario one case, in bursts, that takes no port from a run and changes no route.
func burstsOf(c *cli.Context, s *scenario.Scenario) error {
	if p := c.Float64("share"); !(p > 0 && p <= 100) {
		return usagef("--share %g: a share of the time is more than 0 and at most 100 %%", p)
	}
	at := slices.IndexFunc(s.Cases, func(x scenario.Case) bool { return x.Mode == modes.Sync && len(x.Failures) == 0 && len(x.Timed) == 0 })
	if at < 0 {
		return usagef("watch: no case is synchronised and without failures")
	}
	one := s.Cases[at]
	one.Duration, one.Failover, one.Sizes, one.Load = c.Duration("burst"), nil, nil, load.Load{}
	s.Cases, s.Control, s.Trace, s.Answer, s.Duration = []scenario.Case{one}, false, false, nil, one.Duration
	fragment, err := unit.ParseBytes(c.String("fragment"))
	if err != nil {
		return usagef("--fragment: %w", err)
	}
	s.Event = scenario.Event{Fragment: fragment}
	s.Common.Interval, s.Common.Warmup = min(s.Common.Interval, one.Duration), min(s.Common.Warmup, 1)
	thin(s, c.IsSet("fragment"), time.Duration(float64(c.Duration("every"))*c.Float64("share")/100))
	s.Fabric.Routes, s.Inject, s.Counters = scenario.Routes{}, scenario.Inject{}, scenario.Counters{}
	l := &s.Launch
	if l.DataPort > 0 {
		l.DataPort += portsAbove
	}
	if l.DataPort > 65_535 {
		return usagef("launch.data_port: a watch takes ports %d above it", portsAbove)
	}
	kind, hostport, err := wire.SplitAddress(l.Control)
	if l.Control == "" || err != nil {
		return nil // checked elsewhere
	}
	if kind == "unix" {
		l.Control += ".watch"
		return nil
	}
	host, port, err := net.SplitHostPort(hostport)
	n, err2 := strconv.Atoi(port)
	if err = cmp.Or(err, err2); err != nil || n+portsAbove > 65_535 {
		return usagef("launch.control: %q: a watch takes the port %d above", l.Control, portsAbove)
	}
	if n > 0 {
		l.Control = kind + ":" + net.JoinHostPort(host, strconv.Itoa(n+portsAbove))
	}
	return nil
}

// leastFragment is the shortest that shows rates, not delays.
const leastFragment unit.Bytes = 4096

// thin has slow links carry a burst in a time, where its exchange takes longer: without a warm-up, each server sends only some of its
// fragments, and where one alone takes longer and may be, shorter ones.
func thin(s *scenario.Scenario, asked bool, in time.Duration) {
	budget := float64(s.Fabric.BitPerSec()) / 8 * in.Seconds()
	exchange := func() float64 { return float64(s.Tree.MostMessages()) * float64(s.Event.Fragment) }
	if budget == 0 || exchange()*float64(1+s.Warmup) <= budget {
		return
	}
	s.Common.Warmup = 0
	all := builder.RolesOf(s.Tree).MostFanout()
	if one := exchange() / float64(all); !asked && one > budget {
		s.Event.Fragment = max(leastFragment, unit.Bytes(float64(s.Event.Fragment)*budget/one)/1024*1024)
	}
	if n := max(1, int(budget/exchange()*float64(all))); n < all {
		s.Event.Sizes.Fanout = n
	}
}

// A watching is a watch under way.
type watching struct {
	c     *cli.Context
	m     measurement
	base  *results.Run
	state watch.State
	began bool // servers had joined
	lost  bool
}

// again is how long a watch waits before it starts servers again.
const again = 10 * time.Second

// watchServers watches the servers of a scenario until it is told to end, or with --once for a few bursts.
func watchServers(c *cli.Context, m measurement) (err error) {
	if err := agree(c, m.scenario); err != nil {
		return err
	}
	w := &watching{c: c, m: m}
	if c.IsSet("base") {
		if w.base, err = stored.ReadRun(c.String("base")); err != nil {
			return usage(err)
		}
	}
	if w.m.page == nil {
		if w.m.page, err = listenPage(c); err != nil {
			return err
		}
	}
	page := serve(c, w.m.page, newTerminal(c.App.ErrWriter, c.Bool("quiet")))
	w.m.tell = page.Take
	defer func() { err = errors.Join(err, page.End("The watch has ended.")) }()
	for {
		err := w.session()
		switch {
		case c.Context.Err() != nil && !c.Bool("once"):
			return &exitError{code: exitDone} // told to end
		case err == nil && c.Bool("once"):
			return w.answer()
		case err == nil || !w.began || c.Bool("once") || m.scenario.Launch.Kind == scenario.LaunchStarted:
			return err
		}
		if !w.lost {
			w.say(watch.Event{At: time.Now(), Word: watch.Lost, Text: show.Line(err.Error())})
		}
		w.lost = true
		wait := time.NewTimer(again)
		select {
		case <-wait.C:
		case <-c.Context.Done():
			wait.Stop()
		}
	}
}

// session starts the servers and watches them until one is lost.
func (w *watching) session() (err error) {
	where, err := w.m.control()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	f, err := w.m.open(w.c.Context, w.m.scenario)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	o := bench.Options{
		Listen: where.Address, Listener: where.Listener, Token: where.Token, Progress: w.progress,
		Log: logger(w.c, newTerminal(w.c.App.ErrWriter, w.c.Bool("quiet"))), Describe: func(m *results.Manifest) { ours.Build().Describe(m) },
	}
	bursts := 0
	work := bench.Work{Scenario: w.m.scenario, Cases: w.m.planned, Fabric: f}
	return bench.Watch(w.c.Context, work, o, w.base, func(b bench.Burst) (time.Duration, bool) {
		for _, e := range w.state.Take(time.Now(), b) {
			w.say(e)
		}
		bursts++
		return w.state.Pause(w.c.Duration("every"), b.Took, b.Busy, w.c.Float64("share")/100), !w.c.Bool("once") || bursts < bench.BurstsTogether
	})
}

// progress tells the page of a run, and once that all servers have joined.
func (w *watching) progress(p bench.Progress) {
	w.m.tell(p)
	if _, ok := p.Event.(bench.Begun); ok {
		w.began, w.lost = true, false
		w.say(watch.Event{At: p.At, Word: watch.Begin, Text: fmt.Sprintf("%s in case %q, every %s, at most %g %% of the time",
			show.Plural(w.m.scenario.Tree.Servers(), "server", "servers"), w.m.planned[0].Name, w.c.Duration("every"), w.c.Float64("share"))})
	}
}

// say writes an event as a line; with --once its answer says it.
func (w *watching) say(e watch.Event) {
	switch {
	case w.c.Bool("once"):
	case w.c.Bool("json"):
		json.NewEncoder(w.c.App.Writer).Encode(e)
	default:
		fmt.Fprintln(w.c.App.Writer, e)
	}
}

func (w *watching) answer() error {
	a := w.state.Answer(w.m.scenario.Tree.Servers())
	err := printed(w.c, answer.Document{Answer: a, Schema: "evbench/watch/1", Fields: struct{}{}, Text: func(io.Writer) error { return nil }})
	switch {
	case err != nil:
		return err
	case a.Verdict == answer.Bad:
		return gate(answer.Below)
	case a.Verdict != answer.Good:
		return gate(answer.Across)
	}
	return nil
}
