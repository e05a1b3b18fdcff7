package main

import (
	"bytes"
	"cmp"
	_ "embed" // of a scenario to begin with
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results/store"
	"evbench/site/host"
	"evbench/site/netfile"
)

func kinds() []string { return []string{"lab", "ssh", "mpi"} }

// newScenario is the text of a scenario to begin with.
//
//go:embed new.yaml.tmpl
var newText string

var newScenario = template.Must(template.New("").Parse(newText))

// A draft is what a new scenario is made of.
type draft struct {
	Kind, File, Topology, Rate, Hosts string

	About, Program, Run string
	Guess               bool // no --topology
}

func newAction(c *cli.Context) error {
	d, err := draftOf(c)
	if err != nil {
		return err
	}
	if store.Present(d.File) {
		return usagef("--out %s: exists already; scenarios are never overwritten", d.File)
	}
	var text strings.Builder
	if err := newScenario.Execute(&text, d); err != nil {
		return err
	}
	s, err := known.Read(d.File, strings.NewReader(text.String()))
	planned, err := planCases(c, "new "+d.Kind, s, usage(err))
	if err != nil {
		return err
	}
	if err := atomicfile.Write(d.File, func(w io.Writer) error { _, err := io.WriteString(w, text.String()); return err }); err != nil {
		return err
	}
	is := fmt.Sprintf("%s is a valid scenario: %s, %s", d.File, d.About, show.Plural(len(planned), "case", "cases"))
	return answer.Decide(answer.Valid, answer.Evidence{Findings: []answer.Finding{{Text: is, Place: answer.At}}, Next: []string{d.Run}}).WriteText(c.App.Writer)
}

// draftOf is the draft that the flags ask for.
func draftOf(c *cli.Context) (d draft, err error) {
	d = draft{Kind: c.Args().First(), Rate: c.String("rate"), Topology: c.String("topology"), Program: answer.Typed(answer.Program), Guess: !c.IsSet("topology")}
	if !slices.Contains(kinds(), d.Kind) {
		return d, usagef("new %s: there are %s", d.Kind, strings.Join(kinds(), ", "))
	}
	d.File = cmp.Or(c.String("out"), d.Kind+".yaml")
	hosts, err := newHosts(c, &d)
	if err != nil {
		return d, err
	}
	switch {
	case d.Topology == "" && hosts > 0:
		d.Topology = fmt.Sprintf("FT(2;%d,1)", hosts)
	case d.Topology == "":
		d.Topology, d.Guess = "FT(2;4,4)", false
	}
	file := answer.Typed(d.File)
	d.Run = d.Program + " run " + file
	switch d.Kind {
	case "lab":
		d.About = d.Topology + " in network namespaces on this machine, with one dead link"
	case "ssh":
		d.About = show.Plural(hosts, "host", "hosts") + " that ssh reaches"
	case "mpi":
		d.About = "servers over MPI on this machine"
		d.Run = "scripts/run-mpirun.sh " + file
		if hosts > 0 {
			d.About, d.Run = show.Plural(hosts, "host", "hosts")+" over MPI", answer.Typed("scripts/run-mpirun.sh", "--hosts", d.Hosts, d.File)
		}
	}
	return d, nil
}

// newHosts reads --hosts; it returns how many there are.
func newHosts(c *cli.Context, d *draft) (int, error) {
	if d.Kind == "lab" && c.IsSet("hosts") {
		return 0, usagef("--hosts: not with lab, whose servers are on this machine")
	}
	if !c.IsSet("hosts") {
		if d.Kind == "ssh" {
			return 0, usagef("--hosts is missing: the hosts that ssh reaches, such as node[001-032], or a file of them")
		}
		return 0, nil
	}
	text, _, err := netfile.HostsText(c.String("hosts"))
	if err != nil {
		return 0, usagef("--hosts: %w", err)
	}
	lines, err := hostlist.Lines(bytes.NewReader(text))
	if err != nil {
		return 0, usagef("--hosts: %w", err)
	}
	d.Hosts = strings.Join(lists.Map(lines, func(l hostlist.Line) string { return strings.Join(strings.Fields(l.Text), ",") }), ",")
	names, err := host.Expand(d.Hosts)
	return len(names), wrongIn("--hosts", err)
}
