package netfile

import (
	"errors"
	"fmt"
	"io"
	"regexp"

	"evbench/internal/hostlist"
	"evbench/internal/yamldoc"
	"evbench/site/network"
)

// slurmYAML begins a list of Slurm's topologies.
var slurmYAML = regexp.MustCompile(`(?m)^\s*-\s+topology\s*:`)

// otherTopologies are the kinds of Slurm's topologies that say no switches.
var otherTopologies = []string{"block", "flat", "ring", "torus3d"}

// ReadSlurmYAML reads the tree in Slurm's topology.yaml, that of the default topology where there
// are several:
//
//   - topology: name
//     cluster_default: true
//     tree:
//     switches:
//   - {switch: spine0, children: "leaf[0-1]"}
//   - {switch: leaf0, nodes: "node[001-018]"}
//
// Cables, ports and GUIDs are as in ReadSlurm. After the manual of Slurm 25.05.
func ReadSlurmYAML(r io.Reader) (*network.Network, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	doc, root := yamldoc.Parse("", data, max(minNodes, len(data)))
	d := &document{doc}
	list, err := d.slurmTree(root)
	if err := d.First(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return slurmNetwork(list)
}

// slurmTree returns the switches of the tree.
func (d *document) slurmTree(root yamldoc.Field) ([]slurmSwitch, error) {
	var tree yamldoc.Field
	var others []string
	trees := 0
	for _, t := range d.list(root) {
		f := d.Mapping(t, append([]string{"topology", "cluster_default", "tree"}, otherTopologies...))
		byDefault := f.Text("cluster_default") == "true"
		for _, kind := range otherTopologies {
			if f.Given(kind) {
				others = append(others, fmt.Sprintf("%s is %s", brief(f.Text("topology")), kind))
			}
		}
		if f.Given("tree") {
			if trees++; byDefault || trees == 1 {
				tree = f.Get("tree")
			}
		}
	}
	switch {
	case d.First() != nil:
		return nil, nil
	case trees == 0 && others != nil:
		return nil, fmt.Errorf("topology.yaml of Slurm: %s, which says no switches: a tree is read (tree: switches: …), or ibnetdiscover's text", others[0])
	case trees == 0:
		return nil, errors.New("topology.yaml of Slurm: no tree in it (tree: switches: …)")
	}
	return d.slurmSwitches(d.Mapping(tree, []string{"switches"}).Get("switches"))
}

func (d *document) slurmSwitches(at yamldoc.Field) (list []slurmSwitch, err error) {
	for _, x := range d.list(at) {
		f := d.Mapping(x, []string{"switch", "children", "nodes"})
		s := slurmSwitch{line: x.Line, name: f.Text("switch"), hosts: f.Given("nodes")}
		switch {
		case !f.Given("switch"):
			d.Fail(x, "switch is missing")
		case f.Given("nodes") == f.Given("children"):
			d.Fail(x, "write either nodes or children")
		}
		if d.First() != nil {
			return nil, nil
		}
		if s.below, err = hostlist.Expand(f.Text("nodes") + f.Text("children")); err == nil {
			err = s.check()
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", s.line, err)
		}
		list = append(list, s)
	}
	return list, nil
}
