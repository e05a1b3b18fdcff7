package scheduler

import "evbench/topology"

// lanesOf returns the tree in which the n-th live cables to a spine lead to a spine of their own.
func lanesOf(t *topology.Tree) (*topology.Tree, error) {
	var dead []topology.Link
	for l := range t.Leaves() {
		for k := range t.Spines() {
			for c := t.Live(l, k); c < t.Cables(); c++ {
				dead = append(dead, topology.Link{Leaf: l, Spine: k*t.Cables() + c})
			}
		}
	}
	lanes, err := topology.New(topology.Options{Ports: t.Ports(), Leaves: t.Leaves(), Spines: t.Spines() * t.Cables(), Fill: t.Fill()})
	if err == nil && t.Roles() {
		lanes, err = lanes.WithRoles(t.RoleLists())
	}
	if err != nil {
		return nil, err
	}
	return lanes.Without(dead...)
}
