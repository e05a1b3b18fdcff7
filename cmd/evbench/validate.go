package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/builder"
	"evbench/cmd/open"
	"evbench/cmd/open/tables"
	"evbench/fabric/lab"
	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/results"
	"evbench/results/store"
	"evbench/scenario"
	"evbench/scenarios"
	"evbench/scheduler/schedules"
)

// validated is one scenario of the JSON document.
type validated struct {
	is, but string // what it is, and where it has its limits

	File  string               `json:"file"`
	Name  string               `json:"name"`
	Ranks int                  `json:"ranks"` // to start with launch: {kind: started}
	Cases []results.Prediction `json:"cases"`
}

func validateAction(c *cli.Context) error {
	var all []validated
	for _, name := range c.Args().Slice() {
		s, err := readScenario(name)
		if err != nil {
			return err
		}
		planned, err := planCases(c, name, s, nil)
		if err != nil {
			return err
		}
		v, err := validatedAs(name, s, planned)
		if err != nil {
			return err
		}
		all = append(all, v)
		switch {
		case c.Bool("quiet") || c.Bool("json"):
		case c.Bool("ranks"):
			fmt.Fprintln(c.App.Writer, v.Ranks)
		default:
			if err := describeCases(c.App.Writer, v, s, planned); err != nil {
				return err
			}
		}
	}
	if c.Bool("json") {
		return writeValidated(c.App.Writer, all...)
	}
	return nil
}

// validatedAs refuses what can neither be run nor simulated.
func validatedAs(name string, s *scenario.Scenario, planned []bench.Planned) (v validated, err error) {
	if s.Fabric.Kind == scenario.Hosts {
		if err = open.CheckHosts(s); err != nil {
			if s.Fabric.Rate == 0 {
				return v, wrongIn(name, err)
			}
			v.but = "evbench sim works it out; evbench run does not: " + err.Error()
		}
	}
	if _, err = waysOf(s, newTerminal(io.Discard, true)); err != nil {
		return v, wrongIn(name, err)
	}
	v.is = describe(name, s)
	v.File, v.Name, v.Ranks = name, s.Name, s.Tree.Servers()+1
	v.Cases = lists.Map(planned, func(p bench.Planned) results.Prediction { return p.Prediction })
	return v, nil
}

func writeValidated(w io.Writer, all ...validated) error {
	return answer.Document{Answer: validAnswer(all...), Schema: "evbench/validate/1", Fields: struct {
		Scenarios []validated `json:"scenarios"`
	}{all}}.Write(w, "json")
}

// planCases plans all cases of a scenario, unless there has been an error. name is its name in errors.
func planCases(c *cli.Context, name string, s *scenario.Scenario, err error) ([]bench.Planned, error) {
	if err != nil {
		return nil, err
	}
	noteRates(c, name, s)
	if s.Launch.Kind == scenario.LaunchSSH {
		if _, err := open.PlaceServers(s, tables.Placement); err != nil {
			return nil, usagef("%s: %w", name, err)
		}
	}
	planned, err := proc.Made(c.Context, func() ([]bench.Planned, error) { return parts.Prepare(s) })
	if err == nil {
		err = bench.MayOpen(planned, fabrics.Of(s).Workers(s).MayOpen)
	}
	return planned, wrongIn(name, err)
}

// validAnswer says what valid scenarios are.
func validAnswer(all ...validated) answer.Answer {
	var e answer.Evidence
	for _, v := range all {
		e.Findings = append(e.Findings, answer.Finding{Text: v.is, Place: answer.At})
		if v.but != "" {
			e.Why = append(e.Why, v.but)
		}
	}
	return answer.Decide(answer.Valid, e)
}

func describe(name string, s *scenario.Scenario) string {
	fragment := s.Event.Fragment.String()
	if s.Event.AutoPhase {
		fragment = fmt.Sprintf("phase %s (%s)", scenario.Auto, s.Event.Phase)
	}
	return fmt.Sprintf("scenario %s is valid: %s, %d servers, %s, fragment %s", name, s.Topology(), s.Tree.Servers(), fabricText(s.Fabric), fragment)
}

func describeCases(w io.Writer, v validated, s *scenario.Scenario, planned []bench.Planned) error {
	if err := validAnswer(v).WriteText(w); err != nil {
		return err
	}
	if s.Fabric.Kind == scenario.Lab && s.Fabric.Rate > 0 {
		if bursts := float64(s.Event.Fragment) / float64(lab.Burst(s.Fabric.Rate, s.Event.Phase)); bursts < results.FewBursts {
			fmt.Fprintf(w, "  a fragment is %.1f bursts of the lab's rate limit: below %d the control may seem some per cent too fast (longer event.phase)\n", bursts, results.FewBursts)
		}
	}
	if s.Launch.Kind == scenario.LaunchSSH && s.Network == nil { // else there are no leaves
		if err := open.WritePlaces(w, s, tables.Placement); err != nil {
			return err
		}
	}
	for _, line := range s.Commands() {
		fmt.Fprintf(w, "  runs commands as you: %s\n", line)
	}
	return writeCases(w, s, planned)
}

func fabricText(f scenario.Fabric) string {
	if f.Rate == 0 {
		return f.Kind
	}
	return fmt.Sprintf("%s at %s per link", f.Kind, f.RateText())
}

// chosen returns the scenario to measure as given on the command line: the name of a file, or
// --example and a name.
func chosen(c *cli.Context) (string, error) {
	if !c.IsSet("example") {
		return c.Args().First(), cmdline.Args(c, "run", []string{"SCENARIO"}, 1)
	}
	if c.Args().Present() {
		return "", usagef("run: give a SCENARIO or --example, not both")
	}
	return "--example " + c.String("example"), nil
}

// readScenario reads a scenario, and the files that it names: a file, or where there is none the example of
// that name.
func readScenario(name string) (*scenario.Scenario, error) {
	if _, ok := scenarios.Example(name); ok && !store.Present(name) {
		return readExample(name)
	}
	s, err := scenario.ReadFile(name, known)
	if near := show.Nearest(name, scenarios.Examples()); near != "" && !store.Present(name) {
		err = fmt.Errorf("%w; did you mean the example %s?", err, near)
	}
	return s, usage(err)
}

func readExample(name string) (*scenario.Scenario, error) {
	text, err := exampleText(name)
	if err != nil {
		return nil, err
	}
	s, err := known.Read(name+".yaml", strings.NewReader(text))
	return s, usage(err)
}

func readChosen(c *cli.Context, name string) (*scenario.Scenario, error) {
	if c.IsSet("example") {
		return readExample(c.String("example"))
	}
	return readScenario(name)
}

// noteRates says that a scenario takes the cables of a file for alike.
func noteRates(c *cli.Context, name string, s *scenario.Scenario) {
	if s.Differ {
		fmt.Fprintf(c.App.ErrWriter, "%s: cables of its topology carry more or less than others, and are taken for alike (a case with schedule: %s has the scenario count with their rates)\n", name, schedules.Best)
	}
}

// writeCases prints the cases of a scenario, and their predictions.
func writeCases(w io.Writer, s *scenario.Scenario, planned []bench.Planned) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "  case\tmode\tschedule\trouting\tdead links\tphases\tbound\tpredicted")
	for _, p := range planned {
		schedule, phases, dead := p.Plan.ScheduleName(), fmt.Sprint(p.Plan.Phases()), len(p.Failures)
		if s.Network != nil {
			dead = len(p.Down)
		}
		if p.Plan.Schedule == nil {
			phases = "-"
		}
		if p.Schedule == schedules.Best {
			schedule = p.Prediction.Schedule
		}
		fmt.Fprintf(tab, "  %s\t%s\t%s\t%s\t%d\t%s\t%d\t%.3f\n", p.Name, p.Mode, schedule, p.Plan.Routing,
			dead, phases, p.Plan.Bound.Phases, p.Prediction.Efficiency)
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
