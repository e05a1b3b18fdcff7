// Package kit answers: what is the evidence of a cluster, how is it collected, and what of it goes into
// an archive for strangers? It runs the commands of evbench, and measures nothing itself.
package kit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/internal/answer"
)

// A Kit is the evidence of a cluster that evbench kit collects by other commands, step by step, in
// one directory. File names are relative to that directory.
type Kit struct {
	Hosts    []string
	Topology string // notation, or topology.txt for a network given as a file; "": all hosts on one leaf
	Rate     string // of the links; "" if unknown
	Launch   string // further keys of the scenario's section launch, as YAML: "user: daq, interface: ib0"
	// Inject is the scenario's section inject, and Down the links that it takes down. "": none.
	Inject, Down string
	Duration     time.Duration // of a case
}

// The files of a kit that other code needs.
const (
	ScenarioFile = "kit.yaml"
	TopologyFile = "topology.txt"
	NetworkFile  = "ibnetdiscover.txt"
	HereFile     = "here.json"
	VersionFile  = "version.json"
	BaselineFile = "baseline.json"
	RunDir       = "baseline"
	VerdictFile  = "judge.json"
)

// A Step is one command: of evbench, or of another program, which is skipped if it is missing.
type Step struct {
	Name     string
	Args     []string // the first is the program
	Out      string   // file for standard output
	Also     string   // another file that it writes
	Optional bool     // its output is evidence, but not needed for the answer
	Again    bool     // it reads files of the kit alone, so it can be repeated on others
}

func (s Step) String() string { return answer.Typed(s.Args...) + " > " + s.Out }

// network returns Topology, or a single leaf with all hosts.
func (k Kit) network() string {
	if k.Topology == "" {
		return fmt.Sprintf("FT(2;%d,1)", len(k.Hosts))
	}
	return k.Topology
}

// Scenario returns the baseline scenario: a synchronised linear shift on the healthy network, and,
// if a link is taken down, the same without the link.
func (k Kit) Scenario() string {
	fabric, launch, inject, dead := "kind: hosts", "", "", ""
	if k.Rate != "" {
		fabric += ", rate: " + k.Rate
	}
	if k.Launch != "" {
		launch = ", " + k.Launch
	}
	if k.Topology == TopologyFile {
		launch = ", placement: " + TopologyFile + launch
	}
	if k.Inject != "" {
		inject = fmt.Sprintf("inject: {%s}\n", k.Inject)
		dead = fmt.Sprintf("  - {name: dead, schedule: linear-shift, failures: [%s]}\n", k.Down)
	}
	return fmt.Sprintf(`topology: %s
fabric: {%s}
launch: {kind: ssh, hosts: "%s"%s}
event: {fragment: 64KiB}
duration: %s
interval: 500ms
control: off
%scases:
  - {name: healthy, schedule: linear-shift}
%s`, k.network(), fabric, strings.Join(k.Hosts, ","), launch, k.Duration, inject, dead)
}

// Steps are the commands, in their order. Preflight is the first part of the run, and its manifest
// has versions and adapters of the hosts.
func (k Kit) Steps() []Step {
	network := k.network()
	judge := []string{"evbench", "judge", "--network", network, "--result", RunDir, "--case", "healthy", "--json", "-o", "verdict.html"}
	plan := []string{"evbench", "plan", "-t", network, "-o", "plan.txt"}
	if k.Topology == TopologyFile {
		hosts := strings.Join(k.Hosts, ",")
		judge, plan = append(judge, "--hosts", hosts), append(plan, "--hosts", hosts)
	}
	if k.Rate != "" {
		judge = append(judge, "--rate", k.Rate)
	}
	return []Step{
		{Name: "version", Args: []string{"evbench", "version", "--json"}, Out: VersionFile},
		{Name: "here", Args: []string{"evbench", "host", "--json"}, Out: HereFile},
		{Name: "network", Args: []string{"ibnetdiscover"}, Out: NetworkFile, Optional: true},
		{Name: "validate", Args: []string{"evbench", "validate", "--json", ScenarioFile}, Out: "validate.json", Again: true},
		{Name: "baseline", Args: []string{"evbench", "run", ScenarioFile, "-o", RunDir, "--rounds", "1", "--json"}, Out: BaselineFile},
		{Name: "judge", Args: judge, Out: VerdictFile, Also: "verdict.html", Optional: true, Again: true},
		{Name: "plan", Args: plan, Out: "plan.log", Also: "plan.txt", Optional: true, Again: true},
		{Name: "report", Args: []string{"evbench", "report", RunDir, "-o", "report.html"}, Out: "report.log", Also: "report.html", Optional: true, Again: true},
	}
}

// A Done is the result of a step.
type Done struct {
	Step   string `json:"step"`
	Absent bool   `json:"absent,omitempty"` // the program is missing
	Code   int    `json:"code"`             // exit code
	Said   string `json:"said,omitempty"`   // the end of standard error, if the step failed
}

// Failed reports whether the answer lacks the result of the step.
func (d Done) Failed() bool { return !d.Absent && d.Code != 0 && d.Code != 4 }

func (d Done) why() string { return cmp.Or(d.Said, fmt.Sprintf("exit code %d", d.Code)) }

// Answer is the judge's verdict on the baseline, with the gaps in the evidence. If a step failed
// that all others need, the answer is bad and names it.
func Answer(steps []Step, done []Done, verdict *answer.Answer, archive string) answer.Answer {
	a := answer.Answer{
		Question: "Is the network of these hosts good?", Verdict: answer.Unknown,
		Sentence: "What the network gives is not known: the baseline was not judged.",
	}
	if verdict != nil {
		a.Verdict, a.Sentence, a.Why, a.Next = verdict.Verdict, verdict.Sentence, slices.Clone(verdict.Why), verdict.Next
	}
	for i, d := range done {
		switch {
		case d.Failed() && !steps[i].Optional:
			a.Verdict, a.Sentence = answer.Bad, fmt.Sprintf("The evidence is not complete: the step %s failed.", d.Step)
			a.Why, a.Next = []string{d.why()}, nil
			return a
		case d.Failed():
			a.Why = append(a.Why, fmt.Sprintf("the step %s failed: %s", d.Step, d.why()))
		case d.Absent:
			a.Why = append(a.Why, fmt.Sprintf("the step %s was left out: this machine has no %s", d.Step, steps[i].Args[0]))
		}
	}
	a.Next = append(a.Next, answer.Typed("tar", "-xzf", archive))
	return a
}
