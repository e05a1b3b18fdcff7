package inject

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/topology"
)

func portStates(o Options) (recipes, error) {
	if o.Tree == nil {
		return nil, errors.New("inject: kind ibportstate needs the topology")
	}
	if err := atomicfile.Regular(o.Fabric); err != nil {
		return nil, fmt.Errorf("inject.fabric: %w", err)
	}
	f, err := os.Open(o.Fabric)
	if err != nil {
		return nil, fmt.Errorf("inject.fabric: %w", err)
	}
	defer f.Close()
	n, err := netfile.ReadIB(f)
	if err != nil {
		return nil, fmt.Errorf("inject.fabric: %s: %w", o.Fabric, err)
	}
	p, err := network.Match(o.Tree, n)
	if err != nil {
		return nil, fmt.Errorf("inject.fabric: %s: %w", o.Fabric, err)
	}
	return func(l topology.Link) (recipe, error) { return portRecipe(o, n, p, l) }, nil
}

// portRecipe disables the port of the leaf, the lower end: a leaf with servers is reached through
// its other spines, but a spine whose last link is disabled at its own end could no longer be told
// to enable it. The spine's port is probed first, since it does not know the leaf's setting; if it
// does not answer, the leaf's port counts.
func portRecipe(o Options, n *network.Network, p *network.Places, l topology.Link) (recipe, error) {
	c, ok := p.Cable(l)
	if !ok {
		return recipe{}, fmt.Errorf("%s: no such cable in %s", o.Tree.LinkName(l), o.Fabric)
	}
	leaf, spine := n.Info(c.A.Node), n.Info(c.B.Node)
	for _, i := range []network.Info{leaf, spine} {
		if i.LID == 0 {
			return recipe{}, fmt.Errorf("%s: %s has no LID in %s; write the file with ibnetdiscover when the subnet manager has run", o.Tree.LinkName(l), i.Name, o.Fabric)
		}
	}
	do := func(i network.Info, port uint8, what string) Program {
		return o.portState(strconv.Itoa(int(i.LID)), strconv.Itoa(int(port)), what)
	}
	return recipe{
		down: do(leaf, c.A.Port, "disable"),
		Remedy: Remedy{
			Up:    do(leaf, c.A.Port, "enable"),
			Probe: []Program{do(spine, c.B.Port, "query"), do(leaf, c.A.Port, "query")},
		},
	}, nil
}

func (o *Options) portState(args ...string) Program {
	args = append([]string{cmp.Or(o.program, "ibportstate")}, args...)
	if o.Host != "" {
		return bySSH(o.Host, strings.Join(args, " "))
	}
	return Program{Args: args}
}

// portVerdict reads the output of ibportstate about a port. A link with a physical connection is up
// only when the subnet manager has activated it.
func portVerdict(out string) linkState {
	phys, logical := portField(out, "PhysLinkState:"), portField(out, "LinkState:")
	switch {
	case phys == "" || logical == "":
		return linkUnknown
	case phys != "LinkUp" || logical == "Down":
		return linkDown
	case logical == "Active":
		return linkUp
	}
	return linkUnknown
}

// portField returns the first value of a field: "LinkState:.......Active".
func portField(out, name string) string {
	for line := range strings.Lines(out) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(strings.TrimLeft(value, "."))
		}
	}
	return ""
}
