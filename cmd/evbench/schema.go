package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/results"
)

func schemaNames() []string { return []string{"scenario", "summary"} }

func schemaAction(c *cli.Context) error {
	schema := known.Schema
	switch name := c.Args().First(); name {
	case "", "scenario":
	case "summary":
		schema = results.Schema
	default:
		return usagef("schema: no document %q; there are %s", name, strings.Join(schemaNames(), ", "))
	}
	text, err := schema()
	if err != nil {
		return err
	}
	_, err = c.App.Writer.Write(text)
	return err
}
