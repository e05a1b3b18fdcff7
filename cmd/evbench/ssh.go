package main

import (
	"crypto/rand"
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/bench/live"
	"evbench/fabric/open"
	"evbench/scenario"
)

// runSSH measures a scenario on hosts that ssh reaches.
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

// showSteps tells how far a step over all hosts is.
func showSteps(t *live.Terminal) func(step string, done, all int) {
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
