package main

import (
	"crypto/rand"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/fabric/open"
	"evbench/scenario"
)

func runSSH(c *cli.Context, s *scenario.Scenario, planned []bench.Planned) error {
	if err := open.CheckHosts(s); err != nil {
		return err
	}
	servers, err := open.PlaceServers(s)
	if err != nil {
		return usage(err)
	}
	r, err := open.NewSSH(c.Context, s, servers, version)
	if err != nil {
		return err
	}
	r.Client.Progress = newTerminal(c.App.ErrWriter, c.Bool("quiet")).Hosts
	return measure(c, measurement{scenario: s, planned: planned, open: r.Open, control: func() (open.Control, error) {
		listen, err := r.Check(c.Context)
		if err != nil {
			return open.Control{}, err
		}
		listen, err = secured(c, listen)
		return open.Control{Address: listen, Token: rand.Text()}, err
	}})
}
