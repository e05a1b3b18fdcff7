package bench

import (
	"fmt"
	"regexp"
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
	KitScenario = "kit.yaml"
	KitTopology = "topology.txt"
	KitRun      = "baseline"
	KitVerdict  = "judge.json"
)

// A KitStep is one command: of evbench, or of another program, which is skipped if it is missing.
type KitStep struct {
	Name     string
	Args     []string // the first is the program
	Out      string   // file for standard output
	Optional bool     // its output is evidence, but not needed for the answer
}

func (s KitStep) String() string { return answer.Typed(s.Args...) + " > " + s.Out }

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
	if k.Topology == KitTopology {
		launch = ", placement: " + KitTopology + launch
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
func (k Kit) Steps() []KitStep {
	network := k.network()
	judge := []string{"evbench", "judge", "--network", network, "--result", KitRun, "--case", "healthy", "--json", "-o", "verdict.html"}
	plan := []string{"evbench", "plan", "-t", network, "-o", "plan.txt"}
	if k.Topology == KitTopology {
		hosts := strings.Join(k.Hosts, ",")
		judge, plan = append(judge, "--hosts", hosts), append(plan, "--hosts", hosts)
	}
	if k.Rate != "" {
		judge = append(judge, "--rate", k.Rate)
	}
	return []KitStep{
		{Name: "version", Args: []string{"evbench", "version", "--json"}, Out: "version.json"},
		{Name: "here", Args: []string{"evbench", "host", "--json"}, Out: "here.json"},
		{Name: "network", Args: []string{"ibnetdiscover"}, Out: "ibnetdiscover.txt", Optional: true},
		{Name: "validate", Args: []string{"evbench", "validate", "--json", KitScenario}, Out: "validate.json"},
		{Name: "baseline", Args: []string{"evbench", "run", KitScenario, "-o", KitRun, "--rounds", "1", "--json"}, Out: "baseline.json"},
		{Name: "judge", Args: judge, Out: KitVerdict, Optional: true},
		{Name: "plan", Args: plan, Out: "plan.log", Optional: true},
		{Name: "report", Args: []string{"evbench", "report", KitRun, "-o", "report.html"}, Out: "report.log", Optional: true},
	}
}

// A KitDone is the result of a step.
type KitDone struct {
	Step   string `json:"step"`
	Absent bool   `json:"absent,omitempty"` // the program is missing
	Code   int    `json:"code"`             // exit code
	Said   string `json:"said,omitempty"`   // the end of standard error, if the step failed
}

// Failed reports whether the answer lacks the result of the step.
func (d KitDone) Failed() bool { return !d.Absent && d.Code != 0 && d.Code != 4 }

// KitAnswer is the judge's verdict on the baseline, with the gaps in the evidence. If a step failed
// that all others need, the answer is bad and names it.
func KitAnswer(steps []KitStep, done []KitDone, verdict *answer.Answer, archive string) answer.Answer {
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
			a.Why, a.Next = []string{d.Said}, nil
			return a
		case d.Failed():
			a.Why = append(a.Why, fmt.Sprintf("the step %s failed: %s", d.Step, d.Said))
		case d.Absent:
			a.Why = append(a.Why, fmt.Sprintf("the step %s was left out: this machine has no %s", d.Step, steps[i].Args[0]))
		}
	}
	a.Next = append(a.Next, answer.Typed("tar", "-xzf", archive))
	return a
}

// Anonymous returns a function that replaces names in a text, whole words only: the i-th name by
// host i. A repeated name has its first number.
func Anonymous(names []string) func(string) string {
	numbers := map[string]int{}
	var all []string
	for _, name := range names {
		if _, ok := numbers[name]; !ok && name != "" {
			numbers[name] = len(numbers)
			all = append(all, regexp.QuoteMeta(name))
		}
	}
	if len(all) == 0 {
		return func(text string) string { return text }
	}
	// The longest first: node1.site before node1.
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	word := regexp.MustCompile(`[A-Za-z0-9_-]*(?:` + strings.Join(all, "|") + `)[A-Za-z0-9_-]*`)
	return func(text string) string {
		return word.ReplaceAllStringFunc(text, func(found string) string {
			if n, ok := numbers[found]; ok {
				return fmt.Sprintf("host%d", n)
			}
			return found
		})
	}
}
