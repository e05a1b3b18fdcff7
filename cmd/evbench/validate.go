package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/fabric/open"
	"evbench/internal/proc"
	"evbench/results"
	"evbench/scenario"
)

// validated is one scenario of the JSON document.
type validated struct {
	File  string               `json:"file"`
	Name  string               `json:"name"`
	Ranks int                  `json:"ranks"` // to start with launch: {kind: started}
	Cases []results.Prediction `json:"cases"`
}

func validateAction(c *cli.Context) error {
	var all []validated
	for _, name := range c.Args().Slice() {
		s, err := scenario.ReadFile(name)
		if err != nil {
			return usage(err)
		}
		planned, err := plans(c, name, s, nil)
		if err != nil {
			return err
		}
		v := validatedAs(name, s, planned)
		all = append(all, v)
		switch {
		case c.Bool("quiet") || c.Bool("json"):
		case c.Bool("ranks"):
			fmt.Fprintln(c.App.Writer, v.Ranks)
		default:
			if err := describeCases(c.App.Writer, name, s, planned); err != nil {
				return err
			}
		}
	}
	if c.Bool("json") {
		return writeValidated(c.App.Writer, all...)
	}
	return nil
}

func validatedAs(name string, s *scenario.Scenario, planned []bench.Planned) validated {
	v := validated{File: name, Name: s.Name, Ranks: s.Tree.Servers() + 1}
	for _, p := range planned {
		v.Cases = append(v.Cases, p.Prediction)
	}
	return v
}

func writeValidated(w io.Writer, all ...validated) error {
	return document("evbench/validate/1", struct {
		Scenarios []validated `json:"scenarios"`
	}{all})(w)
}

// plans plans all cases of a scenario, unless there has been an error. name is what errors call it.
func plans(c *cli.Context, name string, s *scenario.Scenario, err error) ([]bench.Planned, error) {
	if err != nil {
		return nil, err
	}
	if s.Launch.Kind == scenario.LaunchSSH {
		if _, err := open.PlaceServers(s); err != nil {
			return nil, usagef("%s: %w", name, err)
		}
	}
	planned, err := proc.Made(c.Context, func() ([]bench.Planned, error) { return bench.Prepare(s) })
	if err == nil {
		err = bench.MayOpen(planned, open.MayOpen(s))
	}
	return planned, wrongIn(name, err)
}

func describeCases(w io.Writer, name string, s *scenario.Scenario, planned []bench.Planned) error {
	fmt.Fprintf(w, "%s: valid; %s, %d servers, %s, fragment %s\n",
		name, s.Tree.Notation(), s.Tree.Servers(), fabricText(s.Fabric), s.Event.Fragment)
	if s.Launch.Kind == scenario.LaunchSSH {
		if err := open.WritePlaces(w, s); err != nil {
			return err
		}
	}
	return bench.WriteCases(w, s, planned)
}

func fabricText(f scenario.Fabric) string {
	if f.Rate == 0 {
		return f.Kind
	}
	return fmt.Sprintf("%s at %s per link", f.Kind, f.RateText())
}
