package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/scenarios"
)

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
	all := scenarios.List(scenarios.Examples())
	if c.Bool("json") {
		return answer.Document{Schema: "evbench/examples/1", Fields: struct {
			Examples []scenarios.Listed `json:"examples"`
		}{all}}.Write(c.App.Writer, "json")
	}
	if !c.Bool("all") {
		fmt.Fprintf(c.App.ErrWriter, "%d of %d; evbench examples --all lists all, evbench examples NAME prints one, evbench run NAME measures it\n\n", len(scenarios.First), len(all))
		all = scenarios.List(scenarios.First)
	}
	return show.Align(c.App.Writer, lists.Map(all, func(e scenarios.Listed) []string { return []string{e.Name, e.About} }))
}

// exampleText returns the example with a name; an unknown name is wrong use.
func exampleText(name string) (string, error) {
	text, ok := scenarios.Example(name)
	if !ok {
		return "", usagef("no example %q; %s", name, show.Choices(name, scenarios.Examples()))
	}
	return text, nil
}
