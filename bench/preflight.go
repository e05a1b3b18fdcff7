package bench

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"evbench/controller"
	"evbench/preflight"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// looked is what is known of plain hosts before anything is measured on them.
type looked struct {
	hosts    []results.Host
	lines    []string // what the preflight found
	warnings []string
}

// describe puts it into the manifest.
func (l looked) describe(m *results.Manifest) {
	m.Hosts, m.Preflight = l.hosts, l.lines
	m.Warnings = append(m.Warnings, l.warnings...)
}

// preflight looks at plain hosts: what machines they are and, unless it is
// switched off, how they reach each other. It returns an error when a run on
// them could not be believed.
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
	if r.s.Transport == scenario.MPI {
		l.lines = []string{"reach was not measured: MPI finds its own addresses"}
		return nil
	}
	limit := surveyTime(len(l.hosts))
	log.Info("preflight: every pair of servers connects", "servers", len(l.hosts), "within", limit)
	s, err := r.ctl.Survey(ctx, limit)
	if err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	report := preflight.Judge(surveyed(r.s.Tree, s, l.hosts))
	l.lines = report.Lines()
	return report.Err()
}

// surveyTime bounds a survey of n servers: 42 s for 326. A round in which all
// goes well takes some milliseconds, one with a server that does not answer some
// seconds.
func surveyTime(n int) time.Duration {
	return 10*time.Second + time.Duration(n)*100*time.Millisecond
}

// surveyed puts a survey into the words of the judge.
func surveyed(t *topology.Tree, s controller.Survey, hosts []results.Host) preflight.Survey {
	out := preflight.Survey{Spines: t.Spines()}
	rank := map[int]int{}
	for r, p := range positions(t) {
		rank[p] = r
	}
	machine := map[int]string{}
	for _, h := range hosts {
		machine[h.Server] = h.Host
	}
	for i, p := range s.Servers {
		out.Servers = append(out.Servers, preflight.Server{Name: t.ServerName(rank[p]), Host: machine[p], Leaf: t.Leaf(rank[p])})
		row := make([][]preflight.Reach, len(s.Servers))
		for j, reached := range s.Reached[i] {
			for _, x := range reached {
				row[j] = append(row[j], preflight.Reach(x))
			}
		}
		out.Reached = append(out.Reached, row)
	}
	return out
}
