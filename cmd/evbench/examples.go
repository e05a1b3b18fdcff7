package main

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/internal/show"
	"evbench/scenario"
	"evbench/scenarios"
)

type example struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

func examplesAction(c *cli.Context) error {
	if c.Args().Present() {
		if c.Bool("json") {
			return usagef("--json: is for the list; a scenario is YAML")
		}
		text, err := exampleText(c.Args().First())
		if err == nil {
			_, err = io.WriteString(c.App.Writer, text)
		}
		return err
	}
	var all []example
	for _, name := range scenarios.Examples() {
		text, _ := scenarios.Example(name)
		all = append(all, example{name, scenarios.About(text)})
	}
	if c.Bool("json") {
		return document("evbench/examples/1", struct {
			Examples []example `json:"examples"`
		}{all})(c.App.Writer)
	}
	var lines [][]string
	for _, e := range all {
		lines = append(lines, []string{e.Name, e.About})
	}
	return show.Align(c.App.Writer, lines)
}

// exampleText returns the example of a name; one that there is not is wrong use.
func exampleText(name string) (string, error) {
	text, ok := scenarios.Example(name)
	if !ok {
		all := scenarios.Examples()
		return "", usagef("no example %q; %s", name, show.Choices(name, all))
	}
	return text, nil
}

// chosen returns the scenario that run is told to measure, as it is written on the command
// line: the name of a file, or --example and a name.
func chosen(c *cli.Context) (string, error) {
	if !c.IsSet("example") {
		return c.Args().First(), cmdline.Args(c, "run", []string{"SCENARIO"}, 1)
	}
	if c.Args().Present() {
		return "", usagef("run: give a SCENARIO or --example, not both")
	}
	return "--example " + c.String("example"), nil
}

func readChosen(c *cli.Context, name string) (*scenario.Scenario, error) {
	if !c.IsSet("example") {
		s, err := scenario.ReadFile(name)
		if _, isExample := exampleText(name); errors.Is(err, fs.ErrNotExist) && isExample == nil {
			return nil, usagef("no file %s; evbench %s --example %s takes the example of this name", name, c.Command.Name, name)
		}
		return s, usage(err)
	}
	text, err := exampleText(c.String("example"))
	if err != nil {
		return nil, err
	}
	s, err := scenario.Read(c.String("example")+".yaml", strings.NewReader(text))
	return s, usage(err)
}
