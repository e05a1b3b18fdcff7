package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"evbench/internal/lists"
	"evbench/results"
	"evbench/topology"
)

const (
	// prompt is how soon after a change of links the live links must be known, on a machine with
	// busy processors.
	prompt = 300 * time.Millisecond
	// standing is the longest time without any received payload anywhere. A sender doubles the time
	// between its retries while its path is dead.
	standing = 4 * time.Second
	// caseOver is the result of a fail-over interrupted by the end of its case.
	caseOver = "the case is over"
)

// answers compares the fail-over's knowledge with the state of the links. It compares levels, not
// edges: a link that goes and returns within milliseconds need not be answered twice, but whenever
// the links have been quiet for a moment, the unused links must be the dead and the held-out ones.
func (j *judgement) answers(c results.Case) {
	if len(c.Failovers) == 0 {
		if len(c.LinkEvents) > 0 {
			j.odd("links changed %d times, and the fail-over tells of nothing", len(c.LinkEvents))
		}
		return
	}
	j.known(c, c.LinkEvents, prompt)
	j.settled(c)
}

// known compares the used links with the state of the links, after a delay from each change.
func (j *judgement) known(c results.Case, links []results.LinkEvent, after time.Duration) {
	events := slices.Clone(links)
	slices.SortStableFunc(events, func(a, b results.LinkEvent) int { return cmp.Compare(a.TSec, b.TSec) })
	late := (after + j.s.Stopped()).Seconds()
	if j.s.Hogs > 0 {
		late *= 2
	}
	for i, e := range events {
		until := c.MeasuredSec
		if i+1 < len(events) {
			until = events[i+1].TSec
		}
		// The time of an event is the time of the request for its change.
		at := e.TSec + late + j.halted(e.TSec-before.Seconds(), e.TSec+late)
		if until > at {
			j.level(events[:i+1], c.Failovers, at)
		}
	}
}

// before is how long before an event a halt of the machine still delays it.
const before = 500 * time.Millisecond

func (j *judgement) halted(from, to float64) float64 {
	sum := 0.0
	for _, h := range j.seen.Halts {
		if h.At.Seconds() < to && (h.At+h.For).Seconds() > from {
			sum += h.For.Seconds()
		}
	}
	return sum
}

func (j *judgement) level(events []results.LinkEvent, all []results.Failover, at float64) {
	dead, since := map[string]bool{}, map[string]float64{}
	for _, e := range events {
		dead[e.Link], since[e.Link] = !e.Up, e.TSec
	}
	used := map[string]bool{}
	for _, f := range all {
		if seen(f) <= at {
			clear(used)
			for _, l := range f.Dead {
				used[l] = true
			}
		}
	}
	for _, l := range slices.Sorted(maps.Keys(dead)) {
		if dead[l] && !used[l] {
			j.slow("at %.3f s %s had been dead for %.0f ms, and was still used", at, l, 1e3*(at-since[l]))
		}
	}
	for _, l := range slices.Sorted(maps.Keys(used)) {
		if held := j.s.Hold > 0 && at-since[l] < j.s.Hold.Seconds()+prompt.Seconds()+j.s.Stopped().Seconds(); !dead[l] && !held {
			j.slow("at %.3f s %s had been up for %.0f ms, and was not used", at, l, 1e3*(at-since[l]))
		}
	}
}

func seen(f results.Failover) float64 {
	if f.SeenSec == nil {
		return 0
	}
	return *f.SeenSec
}

// settled checks that everything tried in vain was done in the end, and that nothing is open.
func (j *judgement) settled(c results.Case) {
	end := len(c.Failovers) - 1
	for i, f := range c.Failovers {
		reason := strings.ReplaceAll(f.Reason, "\n", "; ")
		if j.s.Kind == Outside {
			reason = strings.TrimPrefix(strings.TrimPrefix(reason, results.FromOutside), "; ")
		}
		switch {
		case reason == "" || j.s.Kind == Wait && strings.HasPrefix(reason, "no path between"):
		case i == end && strings.HasSuffix(reason, caseOver):
			j.slow("the last fail-over, %d, did not come to its end: %s", f.ID, reason)
		case i == end:
			j.odd("the last fail-over, %d, did not come to its end: %s", f.ID, reason)
		case f.Superseded:
			j.explained("other links changed meanwhile, and that was dealt with", "fail-over %d: %s", f.ID, reason)
		case f.Attempts > 1 || f.AidedSec != nil || f.CleanedSec != nil || f.FirstNewSec != nil:
			j.explained("done in the end", "fail-over %d: %s", f.ID, reason)
		default:
			j.odd("fail-over %d was given up: %s", f.ID, reason)
		}
	}
	f := c.Failovers[end]
	if j.replans() && f.FirstNewSec == nil && f.CleanedSec == nil && c.MeasuredSec-seen(f) > calm.Seconds()/2 {
		j.slow("the last fail-over, %d, was seen at %.3f s, and was not done at the end, %.3f s", f.ID, seen(f), c.MeasuredSec)
	}
}

// replans reports whether the policy changes the plan. If the plan in use is the right one again,
// routes are only cleaned.
func (j *judgement) replans() bool {
	return j.s.Policy == "unsync" || strings.HasPrefix(j.s.Policy, "fors")
}

// progress checks that events are built all the time, except where the script explains a gap.
func (j *judgement) progress(c results.Case) {
	most := (standing + j.s.Stopped()).Seconds()
	if j.s.Kind == Wait { // servers are disconnected that long
		parted := lists.MaxOf(j.s.failures, func(f linkFailure) time.Duration { return f.For })
		most += parted.Seconds()
	}
	if j.s.Hogs > 0 {
		most *= 2
	}
	from, longest, began := 0.0, 0.0, 0.0
	for _, t := range moments(j.seen.Run.Samples) {
		if t-from > longest {
			longest, began = t-from, from
		}
		from = t
	}
	if longest > most {
		j.slow("nothing was received for %.1f s, from %.1f s on", longest, began)
	}
	if over := c.MeasuredSec - j.s.Duration.Seconds(); over > most {
		j.slow("the case took %.1f s longer than its %s", over, j.s.Duration)
	}
}

// moments are the ends of intervals with received data anywhere.
func moments(samples []results.Sample) []float64 {
	var out []float64
	for _, s := range samples {
		if s.PayloadBytes > 0 {
			out = append(out, s.TSec)
		}
	}
	slices.Sort(out)
	return out
}

// clocks is the largest difference between the clock of the strikes and that of the results, with
// the duration of an ip command.
const clocks = 300 * time.Millisecond

// outside judges a run with a fail-over while links are taken down from outside: it continues,
// follows each link, and blames no other.
func (j *judgement) outside() {
	if !j.struck() {
		return
	}
	c, ok := j.completed()
	if !ok {
		return
	}
	if len(c.Failovers) == 0 {
		j.odd("others changed links %d times, and the fail-over tells of nothing", len(j.seen.Struck))
		return
	}
	if id, link := j.untouched(c.Failovers); link != "" {
		j.odd("fail-over %d takes %s for dead, which nobody has touched", id, link)
		return
	}
	j.known(c, j.seen.Struck, prompt+clocks)
	j.settled(c)
	j.progress(c)
}

func (j *judgement) untouched(all []results.Failover) (id int, link string) {
	for _, f := range all {
		for _, l := range f.Dead {
			if !slices.ContainsFunc(j.seen.Struck, func(e results.LinkEvent) bool { return e.Link == l }) {
				return f.ID, l
			}
		}
	}
	return 0, ""
}

func (j *judgement) struck() bool {
	switch {
	case j.seen.Unstruck != "":
		j.odd("links could not be struck: %s", j.seen.Unstruck)
		return false
	case len(j.seen.Struck) == 0:
		j.odd("no link was struck: the run ended before, with %d: %s", j.seen.Code, last(j.seen.Said))
		return false
	}
	return true
}

// severed judges a run without a fail-over that has lost a link for good from outside: it ends, and
// names only that link.
func (j *judgement) severed() {
	if !j.struck() {
		return
	}
	link, said := j.seen.Struck[0].Link, last(j.seen.Said)
	if j.seen.Code != exitFailed {
		j.odd("%s was taken down for good, and the exit code is %d: %s", link, j.seen.Code, said)
		return
	}
	named := linkName.FindAllString(said, -1)
	if !slices.Contains(named, link) {
		j.odd("%s was taken down, and the error does not name it: %s", link, said)
	}
	for _, l := range named {
		if l != link {
			j.odd("%s was taken down, and the error names %s: %s", link, l, said)
			break
		}
	}
	j.soon(swift + ControlTimeout)
	j.marked()
}

var linkName = regexp.MustCompile(`\bleaf\d+-spine\d+\b`)

func (j *judgement) unnoticed() {
	if j.seen.Strange == 0 {
		j.odd("no connection of strangers was taken")
	}
	j.completed()
	for _, w := range j.seen.Workers {
		if w.Code != exitDone {
			j.odd("worker %d ended with %d: %s", w.Server, w.Code, last(w.Said))
		}
	}
}

// LeafOf returns which leaf has these interfaces, in the output of ip -o link: those to the spines,
// and one to each of its servers.
func LeafOf(tree *topology.Shape, text string) (leaf int, ok bool) {
	var have []string
	for line := range strings.Lines(text) {
		if m := interfaceName.FindStringSubmatch(line); m != nil {
			have = append(have, m[1])
		}
	}
	for leaf := range tree.Leaves() {
		if tree.ServersOn(leaf) > 0 && slices.Contains(have, tree.ServerName(tree.First(leaf))) && slices.Contains(have, Spine(0)) {
			return leaf, true
		}
	}
	return 0, false
}

// Spine is the name of a leaf's interface to a spine.
func Spine(spine int) string { return fmt.Sprintf("spine%d", spine) }

var interfaceName = regexp.MustCompile(`^\d+: ([^@:]+)`)
