package netfile

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/unit"
	"evbench/site/network"
)

// edgeLine is a cable on a line: two names, with commas or blanks between, and its rate.
var edgeLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:([^\s,;="'\[\]{}<>]+)[ \t]+([^\s,;="'\[\]{}<>]+)(?:[ \t]+(\d[\w./ ]*))?|([^,;="'\[\]{}<>]+?) *[,;] *([^,;="'\[\]{}<>]+?)(?: *[,;] *(\d[\w./ ]*))?)$`)
})

// ibLine is a line of ibnetdiscover, whose text may begin with a chassis or a warning.
var ibLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:(?:vendid|switchguid|caguid|sysimgguid)=|(?:Switch|Ca|Hca|Rt)\s+\d+\s+")`)
})

// device is the name of an adapter, in a list of hosts and their adapters.
var device = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:mlx|hfi|ib|roce|bnxt|irdma|efa|eth)[a-z\d]*_?\d+$`)
})

// An edge is a cable, its ports 0 where they are not given.
type edge struct {
	line int
	name [2]string
	port [2]int
	rate float64
}

// ReadEdges reads a network with a cable on each line, as simulators and inventories can be made to print it:
//
//	leaf0/49 spine0/1 400Gbit/s
//	leaf0 n1
//
// A node with one cable is a host, others are switches; an adapter of a host with several is a node, n1:1, or with
// commas "n1 mlx5_0, leaf0". Cables without ports take the first free ones. A cable with ports at both ends may be
// there from either end. GUIDs are made up as in ReadYAML; LIDs are missing. Errors name the line.
func ReadEdges(r io.Reader) (*network.Network, error) {
	var all []edge
	p, seen := reader{}, map[edge]bool{}
	err := p.each(r, func(text string) error {
		text, _, _ = strings.Cut(text, "#")
		if text = strings.TrimSpace(text); text == "" {
			return nil
		}
		e, err := readEdge(text)
		if err != nil {
			return err
		}
		same, back := e, edge{name: [2]string{e.name[1], e.name[0]}, port: [2]int{e.port[1], e.port[0]}, rate: e.rate}
		if e.port[0] > 0 && e.port[1] > 0 {
			if seen[same] || seen[back] {
				return nil
			}
			seen[same] = true
		}
		e.line = p.line
		all = append(all, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if all == nil {
		return nil, errors.New("no cable in it")
	}
	return edgeNetwork(all)
}

func readEdge(text string) (e edge, err error) {
	m := edgeLine().FindStringSubmatch(text)
	if m == nil {
		return e, fmt.Errorf("%s: not two names and a rate, such as leaf0/49 spine0/1 400Gbit/s", brief(text))
	}
	for i := range e.name {
		e.name[i] = strings.TrimSpace(m[1+i] + m[4+i])
		if at := strings.LastIndexByte(e.name[i], '/'); at > 0 {
			if p, wrong := strconv.Atoi(e.name[i][at+1:]); wrong == nil {
				if p < 1 || p > maxPorts {
					return e, fmt.Errorf("%s: port %d: must be 1..%d", brief(e.name[i]), p, maxPorts)
				}
				e.name[i], e.port[i] = e.name[i][:at], p
			}
		}
	}
	if e.name[0] == e.name[1] {
		return e, fmt.Errorf("%s: a cable joins two nodes", brief(e.name[0]))
	}
	if rate := strings.TrimSpace(m[3] + m[6]); rate != "" {
		if e.rate = lastRate(rate); e.rate == 0 {
			r, err := unit.ParseRate(rate)
			if err != nil || r <= 0 {
				return e, fmt.Errorf("%s: write the rate of a cable with its unit, such as 400Gbit/s or 4xHDR", brief(rate))
			}
			e.rate = float64(r)
		}
	}
	return e, nil
}

// edgeNetwork builds the network: hosts and switches in the order of their first cables.
func edgeNetwork(all []edge) (*network.Network, error) {
	cables, most, order := map[string]int{}, map[string]int{}, []string(nil)
	for _, e := range all {
		for i, name := range e.name {
			if cables[name]++; cables[name] == 1 {
				order = append(order, name)
			}
			most[name] = max(most[name], e.port[i])
		}
	}
	var b network.Builder
	node := map[string]network.Node{}
	for _, hosts := range []bool{true, false} {
		for _, name := range order {
			ports := max(most[name], cables[name])
			switch {
			case (cables[name] == 1) != hosts:
			case hosts:
				guid := firstHost + hostStep*uint64(len(node))
				node[name] = b.Host(network.Info{Name: name, GUID: guid, Port: guid + 1})
			case device().MatchString(name):
				return nil, fmt.Errorf("%s is the name of an adapter: this is a list of hosts, not of cables", brief(name))
			case ports > maxPorts:
				return nil, fmt.Errorf("%s has %d cables: must be 1..%d", brief(name), ports, maxPorts)
			default:
				guid := firstSwitch + uint64(len(node))
				node[name] = b.Switch(network.Info{Name: name, GUID: guid, Port: guid}, ports)
			}
		}
	}
	if len(node) > maxNodes {
		return nil, fmt.Errorf("%d nodes, more than %d", len(node), maxNodes)
	}
	return join(&b, all, node, cables)
}

// join lays the cables between the nodes of a network: at the ports that they state, else at the next free ones.
func join(b *network.Builder, all []edge, node map[string]network.Node, cables map[string]int) (*network.Network, error) {
	taken, rates := map[network.End]int{}, map[network.End]float64{}
	for _, e := range all {
		for i, p := range e.port {
			if p > 0 {
				taken[network.End{Node: node[e.name[i]], Port: uint8(p)}] = e.line
			}
		}
	}
	for _, e := range all {
		if cables[e.name[0]] == 1 && cables[e.name[1]] == 1 {
			return nil, fmt.Errorf("line %d: there is no switch between %s and %s: a node with one cable is a host", e.line, brief(e.name[0]), brief(e.name[1]))
		}
		var end [2]network.End
		for i, name := range e.name {
			end[i] = network.End{Node: node[name], Port: uint8(max(1, e.port[i]))}
			for e.port[i] == 0 && cables[name] > 1 && taken[end[i]] > 0 {
				end[i].Port++
			}
			if cables[name] == 1 {
				end[i].Port = 1
			}
			taken[end[i]] = e.line
		}
		if rates[end[0]] = e.rate; e.rate == 0 {
			delete(rates, end[0])
		}
		if err := b.Cable(end[0], end[1]); err != nil {
			return nil, fmt.Errorf("line %d: %w", e.line, err)
		}
	}
	n := b.Build()
	if len(rates) > 0 {
		n = n.WithRates(rates)
	}
	return n, nil
}
