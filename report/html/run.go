package html

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/results"
)

type fact struct{ Name, Text string }

func runID(index int) string { return "run" + strconv.Itoa(index+1) }

func describe(index int, in Input) runView {
	run := in.Source.Run
	m := run.Manifest
	v := runView{
		ID: runID(index), Name: run.Summary.Name, Path: in.Name, Kind: kindOf(run), Lead: lead(m, run.Summary.Rounds), Manifest: m,
		Incomplete: !run.Summary.Complete, Notes: in.Notes, Below: run.Summary.Notes(), Warnings: warnings(run), Facts: facts(m),
	}
	if run.Summary.Answer != nil {
		v.Answer, v.Why = unbroken.Replace(run.Summary.Answer.String()), run.Summary.Answer.Why
	}
	return v
}

func lead(m results.Manifest, rounds int) string {
	var parts []string
	if m.Host != "" {
		parts = append(parts, m.Host)
	}
	if r := m.Fabric.RateBitPerSec; r > 0 {
		parts = append(parts, "links of "+rate(float64(r)))
	}
	if m.Transport != "" {
		parts = append(parts, "over "+m.Transport)
	}
	if rounds > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", rounds, map[bool]string{true: "round", false: "rounds"}[rounds == 1]))
	}
	if !m.Started.IsZero() {
		parts = append(parts, clock(m.Started))
	}
	return strings.Join(parts, " · ")
}

func rate(x float64) string {
	u := results.RateUnitOf(x)
	return strconv.FormatFloat(x/u.Size, 'g', 4, 64) + " " + u.Name
}

func clock(t time.Time) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// warnings are those of the manifest, then each of the cases once, with the cases
// it is about.
func warnings(run *results.Run) []string {
	return append(slices.Clone(run.Manifest.Warnings), results.Grouped(run.Summary.Cases, func(c results.Case) []string { return c.Warnings })...)
}

func facts(m results.Manifest) []fact {
	all := []fact{
		{"name", m.Name},
		{"seed", strconv.FormatUint(m.Seed, 10)},
		{"started", clock(m.Started)},
		{"ended", clock(m.Ended)},
		{"complete", strconv.FormatBool(m.Complete)},
		{"host", m.Host},
		{"processor", fmt.Sprintf("%s, %d cores", cmp.Or(m.CPU, none), m.Cores)},
		{"kernel", m.Kernel},
		{"fabric", fabricText(m.Fabric)},
		{"transport", strings.TrimSpace(m.Transport + " " + m.IO)},
		{"control connection", m.Control},
		{"launch", m.Launch},
		{"built in", strings.Join(m.BuildTags, ", ")},
	}
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		all = append(all, fact{"version of " + name, m.Versions[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Plans)) {
		all = append(all, fact{"plan of " + name, m.Plans[name]})
	}
	for _, t := range m.RateSearch {
		all = append(all, fact{"tried at " + rate(float64(t.RateBitPerSec)), fmt.Sprintf("%.3f of the prediction", t.Share())})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" })
}

func fabricText(f results.Fabric) string {
	text := cmp.Or(f.Kind, none)
	if f.RateBitPerSec > 0 {
		text += fmt.Sprintf(", links of %s, of which messages get %.3f", rate(float64(f.RateBitPerSec)), f.Factor)
	}
	if f.MTU > 0 {
		text += fmt.Sprintf(", MTU %d", f.MTU)
	}
	if f.NIC != "" {
		text += ", " + f.NIC
	}
	return text
}

// unbroken keeps per cents and intervals with their numbers.
var unbroken = strings.NewReplacer(" %", "\u00a0%", " (±", "\u00a0(±")
