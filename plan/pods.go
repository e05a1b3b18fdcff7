package plan

import (
	"errors"
	"fmt"
	"math/bits"

	"evbench/routing/twolevel"
	"evbench/scheduler"
	"evbench/topology"
)

// BuildPods plans for a three-level tree and its dead links. There are two
// routings: pinned, which is the default, and none. Errors are those of Build.
func BuildPods(pods *topology.Pods, o Options) (*Plan, error) {
	p := &Plan{Tree: pods.Lower(), Pods: pods, Routing: o.Routing, Unreachable: pods.Unreachable()}
	switch {
	case p.Routing == "":
		p.Routing = twolevel.Pinned
	case p.Routing != twolevel.Pinned && p.Routing != NoRouting:
		return nil, threeLevels(p.Routing)
	}
	if o.Schedule == "" {
		return nil, errors.New("a three-level tree is planned with a schedule: its routes are those of the schedule")
	}
	if err := p.begin(o); err != nil {
		return nil, err
	}
	var err error
	if p.Schedule, p.Bound, err = scheduler.ForPods(o.Schedule, pods, o.forScheduler()); err != nil {
		return nil, err
	}
	if err := p.drop(); err != nil {
		return nil, err
	}
	o.stage("routes")
	if p.Pinned() && !p.Schedule.Pinned {
		if p.Schedule, err = scheduler.PinPods(p.Schedule, pods, o.forScheduler()); err != nil {
			return nil, err
		}
	}
	o.stage("figures")
	p.count()
	return p, nil
}

func threeLevels(engine string) error {
	return fmt.Errorf("routing %s: trees of three levels are planned with %s or %s", engine, twolevel.Pinned, NoRouting)
}

// podPaths counts the paths of a three-level tree as routing.CountPaths does in
// two levels. A path from a leaf is a plane and, to other pods, a top switch.
func (p *Plan) podPaths() twolevel.Paths {
	n, leaf := p.Tree.Servers(), leaves(p.Tree)
	most := 0
	seen := make([]int, p.Tree.Spines()*(p.Pods.Tops()+1)) // the last leaf and destination that took a path
	for l := range p.Tree.Leaves() {
		for dst := range n {
			if leaf[dst] == l {
				continue
			}
			paths := 0
			for src := p.Tree.First(l); src < p.Tree.First(l+1); src++ {
				if !p.Schedule.Meets(src, dst) {
					continue
				}
				_, k := p.Schedule.At(src, dst)
				if at := &seen[k*(p.Pods.Tops()+1)+p.Schedule.Top(src, dst)+1]; *at != l*n+dst+1 {
					*at = l*n + dst + 1
					paths++
				}
			}
			most = max(most, paths)
		}
	}
	planes := p.Tree.Spines()
	return addresses(most, n, p.Tree.Leaves()+planes*(p.Pods.Pods()+p.Pods.Tops()))
}

// addresses returns what that many paths need where the address of a server
// names the path: 2^LMC addresses for each server, one for each switch, and in
// each switch an entry for every address but its own (thesis 6.7.2).
func addresses(most, servers, switches int) twolevel.Paths {
	lmc := bits.Len(uint(max(most, 1) - 1))
	lids := servers<<lmc + switches
	return twolevel.Paths{Most: most, LMC: lmc, LIDs: lids, Entries: lids - 1}
}
