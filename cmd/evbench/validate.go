package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/builder"
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
		planned, err := prepare(c.Context, name, s, nil)
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
	return json.NewEncoder(w).Encode(struct {
		Schema    string      `json:"schema"`
		Scenarios []validated `json:"scenarios"`
	}{"evbench/validate/1", all})
}

// prepare changes a scenario as the command line says, and plans all its cases. name is
// what errors call it.
func prepare(ctx context.Context, name string, s *scenario.Scenario, o scenario.Overrides) ([]bench.Planned, error) {
	if err := s.Override(o); err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	if s.Launch.Kind == scenario.LaunchSSH {
		if _, err := open.PlaceServers(s); err != nil {
			return nil, usagef("%s: %w", name, err)
		}
	}
	planned, err := proc.Made(ctx, func() ([]bench.Planned, error) { return bench.Prepare(s) })
	if err == nil {
		err = bench.MayOpen(planned, open.MayOpen(s))
	}
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return planned, nil
}

// describeCases prints what a scenario would run and what is expected of it.
func describeCases(w io.Writer, name string, s *scenario.Scenario, planned []bench.Planned) error {
	fmt.Fprintf(w, "%s: valid; %s, %d servers, %s, fragment %s\n",
		name, s.Tree.Notation(), s.Tree.Servers(), fabricText(s.Fabric), s.Event.Fragment)
	if s.Launch.Kind == scenario.LaunchSSH {
		if err := open.WritePlaces(w, s); err != nil {
			return err
		}
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "  case\tmode\tschedule\trouting\tdead links\tphases\tbound\tpredicted")
	for _, p := range planned {
		schedule, phases := p.Plan.ScheduleName(), fmt.Sprint(p.Plan.Phases())
		if p.Plan.Schedule == nil {
			phases = "-"
		}
		fmt.Fprintf(tab, "  %s\t%s\t%s\t%s\t%d\t%s\t%d\t%.3f\n", p.Name, p.Mode, schedule, p.Plan.Routing,
			len(p.Failures), phases, p.Plan.Bound.Phases, p.Prediction.Efficiency)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, p := range planned {
		if p.Assign == builder.AssignBalanced {
			next := p.Case
			next.Assign = builder.AssignNext
			fmt.Fprintf(w, "  %s: of %d events, the mean server receives %.2f of what the busiest does; in order of their numbers %.2f\n",
				p.Name, builder.Ahead, bench.Balance(s, p.Case), bench.Balance(s, next))
		}
	}
	return nil
}

func fabricText(f scenario.Fabric) string {
	if f.Rate == 0 {
		return f.Kind
	}
	return fmt.Sprintf("%s at %s per link", f.Kind, f.RateText())
}
