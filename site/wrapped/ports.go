package wrapped

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/site/ports"
)

// byPorts plans for the hosts of a job, over paths by source ports: a port for each two, from which the one that is first connects, and
// phases. The plan is judged by the paths before it is used.
func byPorts(ctx context.Context, o Options, s *Session, r *Report) error {
	if o.Paths.Protocol != ports.TCP {
		return fmt.Errorf("the paths are those of %s, and what is steered are connections of %s", o.Paths.Protocol, ports.TCP)
	}
	paths, err := jobPaths(ctx, o, s.Launcher)
	if err != nil {
		return err
	}
	x, err := ports.NewBoth(paths)
	if err != nil {
		return err
	}
	p := x.Plan(0)
	made, err := p.Judged()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(o.Out, p.Write); err != nil {
		return err
	}
	if r.order = p.Answer(); len(s.Launcher.Command) > 0 {
		s.Say("%s", r.order)
	}
	s.Order.Port = paths.Port
	r.Plan, r.Hosts, r.Ranks, r.Phases, r.Routes = made.Hash, len(paths.Hosts), len(paths.Hosts), made.Phases, "by source ports"
	r.link, r.host, r.Bound = 1, 1, float64(r.Hosts-1)/p.Least
	s.Order.Plan, err = filepath.Abs(o.Out)
	return err
}

// jobPaths are the paths between the hosts of a job, in the order in which they connect: of two ranks of Open MPI the first does, of two
// hosts over UCX, on which MPICH stands, that with the smaller address.
func jobPaths(ctx context.Context, o Options, l *Launcher) (*ports.Paths, error) {
	var names []string
	var listed []hostlist.Entry
	var err error
	switch {
	case o.Hosts != "":
		if listed, err = hostlist.Read(strings.NewReader(o.Hosts)); err != nil {
			err = fmt.Errorf("%s: %w", o.HostFile, err)
		}
	case len(l.Command) > 0 && !l.hydra:
		listed, err = l.listed(ctx)
	default:
		for _, h := range o.Paths.Hosts {
			names = append(names, h.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	for _, x := range listed {
		if x.Slots > 1 {
			return nil, fmt.Errorf("%d ranks on %s: paths lead to one port of a host, so it has one rank", x.Slots, strings.Join(x.Names, ","))
		}
		names = append(names, x.Names...)
	}
	paths, err := o.Paths.Of(names)
	if err != nil || !l.hydra {
		return paths, err
	}
	slices.SortFunc(paths.Hosts, func(a, b ports.Host) int { return a.Addr.Compare(b.Addr) })
	return o.Paths.Of(lists.Map(paths.Hosts, func(h ports.Host) string { return h.Name }))
}
