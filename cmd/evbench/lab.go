package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/fabric/host"
	"evbench/fabric/lab"
	"evbench/fabric/open"
	"evbench/scenario"
)

func doctorAction(c *cli.Context) error {
	if r := lab.Doctor(); c.NArg() == 0 || !r.Possible() {
		text, json := r.Answer().Before(text(r), document("evbench/lab-doctor/1", r))
		return judged(c, r.Possible(), text, json)
	}
	f, err := forecast(c, c.Args().First())
	if err != nil {
		return err
	}
	return judged(c, f.Fits(), text(f), document("evbench/lab-forecast/1", struct {
		Fits bool `json:"fits"`
		bench.Forecast
	}{f.Fits(), f}))
}

// forecast measures a small lab for the one of a scenario.
func forecast(c *cli.Context, name string) (f bench.Forecast, err error) {
	s, err := scenario.ReadFile(name)
	if err != nil {
		return f, usage(err)
	}
	if s.Fabric.Kind != scenario.Lab {
		return f, usagef("%s: fabric %s; the forecast is for the lab", name, s.Fabric.Kind)
	}
	if err := enterLab(nil); err != nil {
		return f, err
	}
	bar := newTerminal(c.App.ErrWriter, c.Bool("quiet"))
	defer bar.End()
	machine, err := bench.MeasureMachine(func(s *scenario.Scenario) (float64, error) {
		bar.Passing("measuring a lab of %d servers, fragments of %s", s.Tree.Servers(), s.Event.Fragment)
		tried, err := tryRate(c.Context, c, measurement{scenario: s, open: open.Lab, control: open.LocalControl}, s.Fabric.Rate)
		return tried.Efficiency, err
	})
	return bench.NewForecast(s, machine, open.Fit(s.Tree.Servers()), host.Usable()), err
}

// enterLab sees to it that this process may build labs; see lab.Enter. The
// process that only waited for another one, which had its listener, ends with
// that one's code.
func enterLab(page net.Listener) error {
	var files []*os.File
	if t, ok := page.(*net.TCPListener); ok {
		f, err := t.File()
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	code, done, err := lab.Enter(files...)
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return usage(fmt.Errorf("%w; without namespaces: --fabric emulate", err))
	}
	if done {
		return &exitError{code: code}
	}
	return nil
}

// fabricFor returns how to open the fabric of a scenario. For the lab it sees to
// it that this process may build one, which can mean that another one has done
// all the work, with the listener: see enterLab.
func fabricFor(s *scenario.Scenario, page net.Listener) (open.Opener, error) {
	if err := checkMemory(s, s.Tree.Servers()); err != nil {
		return nil, err
	}
	switch s.Fabric.Kind {
	case scenario.Lab:
		return open.Lab, enterLab(page)
	case scenario.Emulate:
		return open.Emulated, nil
	}
	return open.Local, open.CheckLocal(s)
}
