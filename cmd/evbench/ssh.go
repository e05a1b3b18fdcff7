package main

import (
	"crypto/rand"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/bench/progress"
	"evbench/fabric/hosts"
	"evbench/fabric/kind"
	"evbench/internal/atomicfile"
	"evbench/internal/hostlist"
	"evbench/scenario"
	"evbench/topology/netfile"
)

// runSSH measures a scenario on hosts that ssh reaches.
func runSSH(c *cli.Context, s *scenario.Scenario, planned []bench.Planned) error {
	if err := checkHosts(s); err != nil {
		return err
	}
	servers, err := placeServers(s)
	if err != nil {
		return usage(err)
	}
	r, err := kind.NewSSH(c.Context, s, servers, version)
	if err != nil {
		return err
	}
	r.Client.Progress = showSteps(newTerminal(c.App.ErrWriter, c.Bool("quiet")))
	return measure(c, measurement{scenario: s, planned: planned, open: r.Open, control: func(c *cli.Context) (control, error) {
		listen, err := r.Check(c.Context)
		if err != nil {
			return control{}, err
		}
		listen, err = secured(c, listen)
		return control{listen: listen, token: rand.Text()}, err
	}})
}

// placeServers says which host each server of a scenario is on, without asking any.
func placeServers(s *scenario.Scenario) ([]hosts.Server, error) {
	return kind.Place(s, readPlacement)
}

// readPlacement reads a file of leaves and their hosts, or of a network whose
// cables say it; nil without one.
func readPlacement(name string) (*hosts.Placement, error) {
	if name == "" {
		return nil, nil
	}
	data, err := atomicfile.Read(name, maxList)
	if err != nil {
		return nil, err
	}
	if hosts.IsPlacement(data) {
		p, err := hosts.ReadPlacement(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return p, nil
	}
	n, err := netfile.Read(name, 0)
	if err != nil {
		return nil, err
	}
	return hosts.Cabled(n.Whole)
}

// describePlaces prints which hosts are on which leaf.
func describePlaces(w io.Writer, s *scenario.Scenario) error {
	servers, err := placeServers(s)
	if err != nil {
		return usage(err)
	}
	for leaf := range s.Tree.Leaves() {
		var names []string
		for _, at := range servers[s.Tree.First(leaf):][:s.Tree.On(leaf)] {
			names = append(names, at.Host)
		}
		if len(names) > 0 {
			fmt.Fprintf(w, "  leaf%d: %s\n", leaf, hostlist.Compress(names))
		}
	}
	return nil
}

// showSteps tells how far a step over all hosts is.
func showSteps(t *progress.Terminal) func(step string, done, all int) {
	return func(step string, done, all int) {
		switch {
		case t.Live() && done < all:
			t.Passing("%s: %d of %d hosts", step, done, all)
		case t.Live():
			t.End()
		case done == 0 && all == 1:
			t.Line(step + ": 1 host")
		case done == 0:
			t.Line(fmt.Sprintf("%s: %d hosts", step, all))
		}
	}
}
