package netfile

import (
	"fmt"

	"evbench/site/network"
	"evbench/topology"
)

// Tree returns the tree that the network of a file is. A tree with names of its own is given to
// commands as this file.
func Tree(name string) (*topology.Tree, error) {
	s, err := Read(name, 0)
	if err != nil {
		return nil, err
	}
	p, err := network.TreeOf(s.Whole)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if n := p.Tree.Names(); n != nil {
		n.Flags = []string{"-t", name}
	}
	return p.Tree, nil
}
