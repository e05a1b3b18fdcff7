package opensm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/site/lft"
	"evbench/site/network"
)

// A Placement assigns the hosts of a network to uses.
type Placement struct {
	// Jobs are the hosts of each job. Jobs within one switch need no cable between
	// switches and are left out.
	Jobs [][]network.Node
	// IO are storage hosts. Other are hosts for other uses. The rest compute.
	IO, Other []network.Node
	// Without skips steps of the algorithm. Without LookAhead it is the published one, without all
	// steps SSSP.
	Without Steps
}

// Steps are the differences of Jobs from SSSP.
type Steps uint8

// The steps: the first two are the published algorithm's, the third is new.
const (
	// BySize routes to the hosts of large jobs first, job after job; SSSP goes from switch to
	// switch.
	BySize Steps = 1 << iota
	// OwnRoutes makes cables heavier by routes within jobs alone; SSSP counts all routes.
	OwnRoutes
	// LookAhead shows each switch the routes to the same host that switches farther away have
	// taken; in SSSP all follow the weights before that host.
	LookAhead

	AllSteps = BySize | OwnRoutes | LookAhead
)

func (p *Placement) engine() string {
	switch p.Without & AllSteps {
	case 0:
		return "sar"
	case LookAhead:
		return "sar-published"
	case AllSteps:
		return "sssp"
	}
	name := "sar without"
	for i, step := range []string{"order", "own routes", "look-ahead"} {
		if p.Without&(1<<i) != 0 {
			name += " " + step + ","
		}
	}
	return strings.TrimSuffix(name, ",")
}

// Jobs returns the tables of the scheduling-aware engine sar: SSSP in which cables to a host grow
// heavier only by routes in use, from hosts of the same job (Domke and Hoefler, Algorithm 1). Hosts
// of large jobs come first, then compute hosts without a job, storage, all other hosts, and
// switches. Switches, which belong to no job, count routes from everywhere, as SSSP does. Among
// shortest routes, each switch takes the one whose fullest cable is least full, after the choices
// of switches farther away; the paper's algorithm does not. Within a class and a size, hosts of one
// job stay together; the paper leaves that open. With lanes > 0 the routes also get lanes without
// deadlock, as few as DFSSSP finds, or the error is a TooFewLanes. DFSSSP spreads routes over
// leftover lanes; Jobs leaves them free. As SSSP, and O(J²) for J hosts of one job.
func Jobs(n *network.Network, p Placement, lanes int) (*lft.Tables, error) {
	r, err := newRouter(n, p.engine())
	if err != nil {
		return nil, err
	}
	if p.Without&LookAhead == 0 {
		r.spread = newSpread(r.search)
	}
	a, err := newAware(r, p)
	if err != nil {
		return nil, err
	}
	for _, d := range a.destinations(p) {
		routes := r.all
		if len(a.jobsOf[d.host]) > 0 && p.Without&OwnRoutes == 0 {
			routes = func() []uint64 { return a.mates(d.host) }
		}
		r.host(d.at, d.host, routes)
	}
	r.switches()
	if lanes > 0 {
		if err := r.lanes(lanes, false); err != nil {
			return nil, err
		}
	}
	return r.tables, nil
}

type aware struct {
	r      *router
	jobs   [][]network.Node
	jobsOf [][]int32 // of a host, by number in jobs
	vertex []int32   // of a host, or none
	seen   []int32   // by host: the last turn it was counted in
	turn   int32
}

func newAware(r *router, p Placement) (*aware, error) {
	hosts := r.g.net.Hosts()
	for _, list := range append(slices.Clone(p.Jobs), p.IO, p.Other) {
		for _, h := range list {
			if h < 0 || int(h) >= hosts {
				return nil, fmt.Errorf("node %d is not one of %d hosts", h, hosts)
			}
		}
	}
	a := &aware{r: r, jobsOf: make([][]int32, hosts), vertex: make([]int32, hosts), seen: make([]int32, hosts)}
	for h := range a.vertex {
		a.vertex[h] = none
	}
	for v, list := range r.g.hosts {
		for _, h := range list {
			a.vertex[h] = int32(v)
		}
	}
	for _, job := range MultiSwitch(r.g.net, p.Jobs) {
		for _, h := range job {
			a.jobsOf[h] = append(a.jobsOf[h], int32(len(a.jobs)))
		}
		a.jobs = append(a.jobs, job)
	}
	return a, nil
}

// MultiSwitch returns the jobs that have hosts at several switches, each host
// once.
func MultiSwitch(n *network.Network, jobs [][]network.Node) (kept [][]network.Node) {
	for _, job := range jobs {
		job = slices.Clone(job)
		slices.Sort(job)
		job = slices.Compact(job)
		if slices.ContainsFunc(job, func(h network.Node) bool { return n.Leaf(h).Node != n.Leaf(job[0]).Node }) {
			kept = append(kept, job)
		}
	}
	return kept
}

// mates counts the hosts at each vertex that share a job with a host.
func (a *aware) mates(h network.Node) []uint64 {
	count := a.r.search.count
	clear(count)
	a.turn++
	a.seen[h] = a.turn
	for _, j := range a.jobsOf[h] {
		for _, m := range a.jobs[j] {
			if a.seen[m] != a.turn && a.vertex[m] != none {
				a.seen[m] = a.turn
				count[a.vertex[m]]++
			}
		}
	}
	return count
}

type destination struct {
	host network.Node
	at   int32
	turn int // classes one after the other
	size int // of the largest job
	job  int32
}

func (a *aware) destinations(p Placement) []destination {
	turn := make([]int, a.r.g.net.Hosts())
	for _, h := range p.IO {
		turn[h] = 1
	}
	for _, h := range p.Other {
		turn[h] = 2
	}
	var list []destination
	for _, v := range a.r.g.loaded() {
		for _, h := range a.r.g.hosts[v] {
			d := destination{host: h, at: v, turn: turn[h]}
			for _, j := range a.jobsOf[h] {
				if len(a.jobs[j]) > d.size {
					d.size, d.job = len(a.jobs[j]), j
				}
			}
			list = append(list, d)
		}
	}
	if p.Without&BySize != 0 {
		return list
	}
	slices.SortStableFunc(list, func(x, y destination) int {
		return cmp.Or(cmp.Compare(x.turn, y.turn), cmp.Compare(y.size, x.size), cmp.Compare(x.job, y.job))
	})
	return list
}
