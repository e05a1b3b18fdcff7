package ports

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"evbench/internal/hostlist"
	"evbench/scheduler"
	"evbench/scheduler/balance"
	"evbench/scheduler/order"
)

// NewBoth makes the exchange of programs that send over one connection in both directions, as MPI does: a source port is
// then a candidate with two ways, and both messages of two hosts take that of one port. Of two hosts the first connects.
func NewBoth(p *Paths) (*Exchange, error) {
	x, err := newExchange(p, Roles{}, func(r Row) bool { return r.Port == None || (r.Src < r.Dst) == (r.Port > 0) })
	if err != nil {
		return nil, err
	}
	x.both = true
	candidates := x.Paths.(scheduler.Listed).Of
	for m := range x.ports {
		back := m%x.Hosts*x.Hosts + m/x.Hosts
		for _, way := range []int{m, back} { // ports whose other way is not known fall out
			other := x.ports[m+back-way]
			for i := len(x.ports[way]) - 1; i >= 0; i-- {
				if !slices.Contains(other, -x.ports[way][i]) {
					x.ports[way], candidates[way] = slices.Delete(x.ports[way], i, i+1), slices.Delete(candidates[way], i, i+1)
				}
			}
		}
		if slices.ContainsFunc(x.ports[m], func(port int) bool { return port < 0 }) { // rows rise by port, those of ways back fall
			slices.Reverse(x.ports[m])
			slices.Reverse(candidates[m])
		}
	}
	if err := x.complete(); err != nil {
		return nil, fmt.Errorf("%w, with their ways back (--both)", err)
	}
	return x, nil
}

// Of small exchanges ports are chosen so often, from another one of each pair at first, until an order over them takes the least: an
// order cannot take other ports, as it does where messages choose by themselves. 16 hosts with a dead cable: 16 steps in place of 17.
const (
	tries     = 16
	mostTried = 64 // hosts
)

// planBoth chooses ports for pairs, whose candidates load the links of both messages, and then an order over these paths.
func (x *Exchange) planBoth(steps int) (best *scheduler.Plan) {
	least, time := max(x.leastOfAny(), x.Least().Time), math.Inf(1)
	for try := 0; try == 0 || try < tries && x.Hosts <= mostTried && time > whole(least); try++ {
		if p, t := x.planPairs(steps, try); t < time*(1-1e-9) {
			best, time = p, t
		}
	}
	return best
}

func (x *Exchange) planPairs(steps, try int) (best *scheduler.Plan, least float64) {
	n, of := x.Hosts, x.Paths.(scheduler.Listed).Of
	pairs := scheduler.Listed{Hosts: n, Of: make([][][]int32, n*n)}
	for a := range n {
		for b := a + 1; b < n; b++ {
			for i := range of[a*n+b] {
				i = (i + try) % len(of[a*n+b])
				pairs.Of[a*n+b] = append(pairs.Of[a*n+b], slices.Concat(of[a*n+b][i], of[b*n+a][i]))
			}
		}
	}
	least = math.Inf(1)
	for _, path := range balance.Choices(&scheduler.Problem{Hosts: n, Links: x.Links, Paths: pairs, Meets: func(a, b int) bool { return a < b }}) {
		for a := range n {
			for b := a + 1; b < n; b++ {
				at := uint8((int(path[a*n+b]) + try) % len(of[a*n+b]))
				path[a*n+b], path[b*n+a] = at, at
			}
		}
		over := order.New(x.Chosen(path), nil)
		p := order.Best(over, steps)
		if time := over.Time(p); time < least*(1-1e-9) {
			best, least = p, time
			best.Path = path
		}
	}
	return best, least
}

// spares writes the ports of each message that a plan does not take, for who finds the planned one in use.
func (x *Exchange) spares(w io.Writer, path []uint8) {
	for m, ports := range x.ports {
		others := slices.DeleteFunc(slices.Clone(ports), func(port int) bool { return port <= 0 || port == x.port(path, m) })
		if len(others) == 0 {
			continue
		}
		fmt.Fprintf(w, "# x-spare %d %d", m/x.Hosts, m%x.Hosts)
		for _, port := range others {
			fmt.Fprintf(w, " %d", port)
		}
		fmt.Fprintln(w)
	}
}

// Of returns the paths between some hosts, by name or address, in that order.
func (p *Paths) Of(names []string) (*Paths, error) {
	var hosts []Host
	number := map[int]int{}
	for _, name := range names {
		i := slices.IndexFunc(p.Hosts, func(h Host) bool {
			return h.Addr.String() == name || strings.EqualFold(hostlist.Plain(h.Name), hostlist.Plain(name))
		})
		if i < 0 {
			return nil, fmt.Errorf("host %s: is not among the %d of the paths, such as %s", name, len(p.Hosts), p.Hosts[0].Name)
		}
		if _, twice := number[i]; twice {
			return nil, fmt.Errorf("host %s: is there twice; paths lead to one port of a host, so it has one rank", name)
		}
		number[i] = len(hosts)
		hosts = append(hosts, p.Hosts[i])
	}
	if len(hosts) < 2 {
		return nil, errors.New("an exchange needs two hosts or more")
	}
	out := *p
	out.Hosts, out.Rows = hosts, nil
	for _, r := range p.Rows {
		src, ok := number[r.Src]
		dst, both := number[r.Dst]
		if ok && both {
			r.Src, r.Dst = src, dst
			out.Rows = append(out.Rows, r)
		}
	}
	slices.SortFunc(out.Rows, compareRows)
	return &out, nil
}
