package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/site/ports"
)

// planPorts plans a source port and a phase for each message between the hosts of files of paths.
func planPorts(c *cli.Context) error {
	paths, err := ports.ReadFiles(cmdline.Names(c, "paths")...)
	if err != nil {
		return wrongIn("--paths", err)
	}
	if err := checkPlans(len(paths.Hosts), 1); err != nil {
		return err
	}
	x, err := ports.NewExchange(paths)
	if err != nil {
		return wrongIn("--paths "+c.String("paths"), err)
	}
	p := x.Plan(0)
	if c.String("format") == "json" {
		return answer.Document{Answer: p.Answer(), Schema: "evbench/plan-ports/1", Fields: p.Figures}.Write(c.App.Writer, "json")
	}
	if err := writeLong(c, p.Write); err != nil || c.Bool("quiet") {
		return err
	}
	return p.Answer().WriteText(answerTo(c))
}

// verifyPorts judges a plan by files of paths alone.
func verifyPorts(c *cli.Context, name string) error {
	paths, err := ports.ReadFiles(cmdline.Names(c, "paths")...)
	if err != nil {
		return wrongIn("--paths", err)
	}
	f, err := os.Open(name)
	if err != nil {
		return usage(err)
	}
	defer f.Close()
	r, err := ports.Check(f, paths, c.Int("first"))
	if err != nil {
		return wrongIn(name, err)
	}
	return judged(c, r.Valid, answer.Document{Answer: r.Answer(name), Text: r.WriteText, Schema: "evbench/verify-ports/1", Fields: r})
}
