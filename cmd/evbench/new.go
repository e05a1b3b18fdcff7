package main

import (
	"bytes"
	"cmp"
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
var newScenario = template.Must(template.New("").Parse(`# {{.About}}
#   {{.Program}} validate {{.File}} # plans every case, runs nothing
#   {{.Run}} # about a minute
#   {{.Program}} report runs/latest -o report.html
topology: {{.Topology}} # {{if eq .Kind "lab"}}servers of a leaf, leaves; as many spines as a leaf has servers{{else if .Guess}}all hosts on one leaf: write FT(2;8,4) for 4 leaves with 8 hosts each{{else}}hosts of a leaf, leaves; hosts fill them in the order of the list{{end}}
fabric:
  kind: {{if eq .Kind "lab"}}lab # network namespaces on this machine; emulate: limits in the program, no namespaces{{else}}hosts{{end}}
{{if .Rate}}  rate: {{.Rate}} # of each link{{else if eq .Kind "lab"}}  rate: auto # of each link: what this machine carries{{else}}  # rate: 100Gbit/s # of each link: without it the result is judged by nothing{{end}}
{{if eq .Kind "ssh"}}launch:
  kind: ssh # without a password
  hosts: "{{.Hosts}}"
  # user: daq
  # interface: ib0 # that carries the fragments; or network: 10.1.0.0/16
{{else if eq .Kind "mpi"}}transport: mpi
launch: {kind: started} # by mpirun or srun: a rank for each server, and rank 0, the controller
{{end}}{{if eq .Kind "lab"}}event: {phase: 20ms} # that a fragment takes on its link; or fragment: 256KiB
duration: 450ms # of a slice; slices are repeated in rounds until the figures are known
timeout: 30s # for a busy machine
cases: # the control, a linear shift on the healthy network, is measured in each round
  - {name: linear shift, schedule: linear-shift, routing: minhop, failures: &dead [leaf0-spine0]}
  - {name: FORS, schedule: fors, failures: *dead} # planned around the dead link
{{else}}event: {fragment: 256KiB} # of each server for each event
duration: 2s # of a slice; slices are repeated in rounds
rounds: 6
control: off # the linear shift is one already
cases:
  - {name: linear shift, schedule: linear-shift} # in phases: each host sends to one and receives from one
  - {name: without a schedule, mode: unsynchronised}
{{end}}`))

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
