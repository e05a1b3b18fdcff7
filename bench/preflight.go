package bench

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"evbench/fabric/preflight"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
	"evbench/transport"
)

type looked struct {
	hosts    []results.Host
	lines    []string // results of the preflight
	warnings []string
}

func (l looked) describe(m *results.Manifest) {
	m.Hosts, m.Preflight = l.hosts, l.lines
	m.Warnings = append(m.Warnings, l.warnings...)
}

// preflight checks plain hosts: their machines and, unless it is switched off, how they reach each
// other. It returns an error if the results of a run on them would not be credible.
func (r *runner) preflight(ctx context.Context) error {
	if r.s.Fabric.Kind != scenario.Hosts {
		return nil
	}
	l := &r.looked
	l.hosts = r.ctl.Hosts()
	l.warnings = preflight.Compare(l.hosts)
	log := r.o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for _, w := range l.warnings {
		log.Warn(w)
	}
	if !r.s.Launch.Preflight {
		l.lines = []string{"off"}
		return nil
	}
	if why := transport.Of(r.s.Transport).Unmeasured; why != "" {
		l.lines = []string{"reach was not measured: " + why}
		return nil
	}
	limit := surveyTime(len(l.hosts))
	log.Info("preflight: every pair of servers connects", "servers", len(l.hosts), "within", limit)
	s, err := r.survey(ctx, limit)
	if err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	report := preflight.Judge(s)
	l.lines = report.Lines()
	if err := report.Err(); err != nil {
		return err
	}
	for _, w := range report.Warnings {
		log.Warn("preflight: " + w)
	}
	l.warnings = append(l.warnings, report.Warnings...)
	return nil
}

// surveyTime bounds a survey of n servers: 42 s for 326. A successful round takes some
// milliseconds, a round with an unresponsive server some seconds.
func surveyTime(n int) time.Duration {
	return 10*time.Second + time.Duration(n)*100*time.Millisecond
}

// survey measures, and converts the results for the judge.
func (r *runner) survey(ctx context.Context, limit time.Duration) (preflight.Survey, error) {
	out := preflight.Survey{Servers: seats(r.s.Tree, r.looked.hosts), Spines: r.s.Tree.Paths(), Switches: r.o.Switches}
	if t := r.s.Tree; t.Levels() == 3 || t.Cables() > 1 {
		out.Half = halfWay(t)
	}
	place := map[int]int{} // position -> index
	for i, h := range r.looked.hosts {
		place[h.Server] = i
	}
	followed := preflight.Followed(out.Servers)
	s, err := r.ctl.Survey(ctx, limit, func(from, to int) bool { return followed[place[from]][place[to]] })
	if err != nil {
		return out, err
	}
	out.Reached = s.Reached
	return out, nil
}

// halfWay names the switch half way on a path: between pods of three levels the top switch, else
// the switch of the plane or the spine.
func halfWay(t *topology.Tree) func(from, to, path int) string {
	return func(from, to, path int) string {
		if t.Apart(from, to) {
			return t.SwitchName(t.Switches() - t.Paths() + path)
		}
		spine, _ := t.SpineTop(path)
		return t.SwitchName(t.Above(from, spine))
	}
}

// seats returns the intended server and leaf of each machine.
func seats(t *topology.Tree, hosts []results.Host) []preflight.Server {
	rank := map[int]int{}
	for r, p := range positions(t) {
		rank[p] = r
	}
	var out []preflight.Server
	for _, h := range hosts {
		out = append(out, preflight.Server{Name: t.ServerName(rank[h.Server]), Host: h.Host, Leaf: t.Leaf(rank[h.Server])})
	}
	return out
}
