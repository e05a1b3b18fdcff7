package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/site/netfile"
	"evbench/site/network"
)

func topoShowAction(c *cli.Context) error {
	src := c.String("topology")
	s, err := readSource(c, src)
	if err != nil {
		return err
	}
	r := network.Summarise(s.Whole, s.Net, s.Roots)
	r.Source, r.Form = src, s.Form
	return printed(c, answer.Document{Text: r.WriteText, Fields: r})
}

func topoConvertAction(c *cli.Context) error {
	write := map[string]func(io.Writer, *network.Network) error{
		"yaml": netfile.WriteYAML, "ibnetdiscover": netfile.WriteIB, "ibsim": netfile.WriteSim, "guid2lid": netfile.WriteGUID2LID,
	}[c.String("format")]
	s, err := readSource(c, c.Args().First())
	if err != nil {
		return err
	}
	if err := writeOut(c, func(w io.Writer) error { return write(w, s.Net) }); err != nil {
		return err
	}
	holds := fmt.Sprintf("%s and %s are written as %s", show.Plural(s.Net.Hosts(), "host", "hosts"), show.Plural(s.Net.Switches(), "switch", "switches"), c.String("format"))
	e := answer.Evidence{Findings: []answer.Finding{{Text: holds, Place: answer.At}}}
	if c.String("format") == "ibsim" && s.Net.Rated() {
		e.Findings = append(e.Findings, answer.Finding{Text: "the widths and speeds of cables are lost: a network for ibsim has none beyond EDR"})
	}
	return answer.Decide(answer.Convert, e).WriteText(answerTo(c))
}
