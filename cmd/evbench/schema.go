package main

import (
	"github.com/urfave/cli/v2"

	"evbench/scenario"
)

func schemaCommand() *cli.Command {
	return computing(&cli.Command{
		Name:   "schema",
		Usage:  "print the JSON Schema of scenarios, from which editors complete and check",
		Action: schemaAction,
	}, "  evbench schema > scenario.schema.json")
}

func schemaAction(c *cli.Context) error {
	text, err := scenario.Schema()
	if err != nil {
		return err
	}
	_, err = c.App.Writer.Write(text)
	return err
}
