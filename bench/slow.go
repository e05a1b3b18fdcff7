package bench

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"evbench/controller"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/results/culprit"
)

// keepServers keeps what each server noted of itself. Where a process is several servers, its stops are nobody's.
func (r *runner) keepServers(m *measured) {
	own := len(m.outcome.Loads) == len(m.outcome.Servers)
	for _, s := range m.outcome.Servers {
		if !s.Reported {
			continue
		}
		load := s.Load
		if !own {
			load = nil
		}
		c := results.CountOf(s.Server, s.Totals.BarrierWait.Seconds(), load)
		c.Case, c.Repeat = m.Name, m.repeat
		m.servers = append(m.servers, c)
		r.keep(r.sink.Write(c))
	}
}

// readPorts asks what ports of switches have counted; nil where nobody can say.
func (r *runner) readPorts(ctx context.Context, m *measured) []results.PortCount {
	if r.o.Ports == nil || ctx.Err() != nil {
		return nil
	}
	p, err := r.o.Ports(ctx)
	if err != nil {
		m.warnings = append(m.warnings, "counters of switches: "+err.Error())
	}
	return p
}

func (r *runner) risen(m *measured, before, after []results.PortCount) {
	if rose := results.Risen(r.ports[m.Name], before, after); rose != nil {
		if r.ports == nil {
			r.ports = map[string][]results.PortCount{}
		}
		r.ports[m.Name] = rose
	}
}

// slowness is what the slices of a case that count show of who is slow: together, and what was found in each.
type slowness struct {
	all    attribution.Evidence
	last   attribution.Evidence // of the last of them
	each   [][]attribution.Cause
	causes []attribution.Cause
}

// lookAt adds a slice to what is known of its case, and lets go of its pairs.
func (r *runner) lookAt(m *measured) {
	pairs, servers := m.pairs, m.servers
	m.pairs, m.servers = nil, nil
	if len(m.failovers) > 0 || len(m.events) > 0 || m.Plan.Tree == nil { // its ways changed
		return
	}
	e := culprit.Evidence(m.Plan, m.Mode, m.outcome.Span.Seconds(), pairs, servers, r.controlled())
	for _, p := range r.ports[m.Name] {
		if p.IsError() {
			e.Counted = append(e.Counted, [3]string{p.Switch, p.Port, p.Cable})
		}
	}
	if r.expect != nil {
		r.expect(m, &e)
	}
	s := r.slow[m.Name]
	if s == nil {
		s = &slowness{}
		r.slow[m.Name] = s
	}
	s.last = e
	s.all.Add(e)
	s.each = append(s.each, attribution.Find(e))
	s.causes = attribution.Over(s.all, s.each)
}

// controlled is the position of the server over whose cable the controller talks with all workers, -1 where it has a
// way of its own.
func (r *runner) controlled() int {
	_, at, _ := strings.Cut(r.manifest.Control, ":")
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return -1
	}
	for _, h := range r.manifest.Hosts {
		if slices.ContainsFunc(h.Addresses, func(a string) bool { return a == host || strings.HasPrefix(a, host+":") }) {
			return h.Server
		}
	}
	return -1
}

// probing is how long servers probe each other after a case in which nothing moved any more.
const probing = 20 * time.Second

// unreached says what nothing passes, by probes between all servers, after a case in which nothing moved any more; "":
// nothing, or that is not known.
func (r *runner) unreached(ctx context.Context, m *measured, err error) string {
	failed, ok := errors.AsType[*controller.CaseError](err)
	if !ok || !failed.Stuck || m.Plan.Tree == nil || ctx.Err() != nil {
		return ""
	}
	ctx, stop := context.WithTimeout(ctx, 2*probing)
	defer stop()
	reached, err := r.ctl.Survey(ctx, probing, func(_, _ int) bool { return false })
	if err != nil { // a server does not answer, which the case says
		return ""
	}
	b, found := culprit.Unreached(m.Plan, func(src, dst int) (answered, known bool) {
		of := reached[m.Plan.Tree.Position(src)][m.Plan.Tree.Position(dst)]
		return !slices.ContainsFunc(of, func(x wire.Reach) bool { return x.Err != "" }), len(of) > 0
	})
	if !found {
		return ""
	}
	return b.String()
}
