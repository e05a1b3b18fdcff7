package preflight

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"evbench/fabric"
	"evbench/results"
	"evbench/topology"
)

// Options of Check.
type Options struct {
	Off        bool   // machines are compared; reach is not measured
	Unmeasured string // why a worker cannot measure its reach; "": it can
	// Switches maps an address to the switch that owns it: an address for each spine must lead
	// through its spine.
	Switches map[string]string
}

// Check implements fabric.Fabric.Check for plain hosts: it compares their machines and, unless that is
// switched off, how they reach each other. It returns an error if the results of a run on them would
// not be credible.
func Check(ctx context.Context, j fabric.Joined, o Options) (fabric.Checked, error) {
	c := fabric.Checked{Hosts: j.Hosts, Warnings: Compare(j.Hosts)}
	log := j.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for _, w := range c.Warnings {
		log.Warn(w)
	}
	if o.Off {
		c.Lines = []string{"off"}
		return c, nil
	}
	if o.Unmeasured != "" {
		c.Lines = []string{"reach was not measured: " + o.Unmeasured}
		return c, nil
	}
	limit := surveyTime(len(j.Hosts))
	log.Info("preflight: every pair of servers connects", "servers", len(j.Hosts), "within", limit)
	s, err := measured(ctx, j, o.Switches, limit)
	if err != nil {
		return c, fmt.Errorf("preflight: %w", err)
	}
	report := Judge(s)
	c.Lines = report.Lines()
	if err := report.Err(); err != nil {
		return c, err
	}
	for _, w := range report.Warnings {
		log.Warn("preflight: " + w)
	}
	c.Warnings = append(c.Warnings, report.Warnings...)
	return c, nil
}

// surveyTime bounds a survey of n servers: 42 s for 326. A successful round takes some
// milliseconds, a round with an unresponsive server some seconds.
func surveyTime(n int) time.Duration {
	return 10*time.Second + time.Duration(n)*100*time.Millisecond
}

// measured is the survey of workers, for the judge.
func measured(ctx context.Context, j fabric.Joined, switches map[string]string, limit time.Duration) (s Survey, err error) {
	s = Survey{Servers: intended(j.Tree.Shape, j.Hosts), Spines: j.Tree.Paths(), Switches: switches}
	if t := j.Tree; !t.Plain() {
		s.Half = halfWay(t)
	}
	place := map[int]int{} // position -> index
	for i, h := range j.Hosts {
		place[h.Server] = i
	}
	followed := Followed(s.Servers)
	s.Reached, err = j.Survey(ctx, limit, func(from, to int) bool { return followed[place[from]][place[to]] })
	return s, err
}

// halfWay names the switch half way on a path.
func halfWay(t *topology.Tree) func(from, to, path int) string {
	return func(from, to, path int) string {
		links := t.PathLinks(from, to, path)
		_, high := t.Ends(links[len(links)/2])
		return t.SwitchName(high.Switch)
	}
}

// intended returns the server and leaf of each machine.
func intended(t *topology.Shape, hosts []results.Host) []Server {
	rank := map[int]int{}
	for r := range t.Servers() {
		rank[t.Position(r)] = r
	}
	var out []Server
	for _, h := range hosts {
		out = append(out, Server{Name: t.ServerName(rank[h.Server]), Host: h.Host, Leaf: t.Leaf(rank[h.Server])})
	}
	return out
}
