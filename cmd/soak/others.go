package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"evbench/results"
	"evbench/topology"
)

// clocks is by how much the clock of who strikes may be beside that of the results, with
// what an ip command takes.
const clocks = 300 * time.Millisecond

// outside judges a run with a fail-over while others take links down: it goes on, follows
// each link, and blames no other.
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

// untouched finds a fail-over that takes a link for dead that nobody has struck.
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

// struck reports whether links were struck at all.
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

// severed judges a run without a fail-over of which a link was taken down for good: it ends,
// and names that link and no other.
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

// unnoticed judges a run to whose control port strangers come.
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

// LeafOf returns which leaf has these interfaces, as ip -o link prints them: those to the
// spines, and one to each of its servers.
func LeafOf(tree *topology.Tree, text string) (leaf int, ok bool) {
	var have []string
	for line := range strings.Lines(text) {
		if m := interfaceName.FindStringSubmatch(line); m != nil {
			have = append(have, m[1])
		}
	}
	for leaf := range tree.Leaves() {
		if tree.On(leaf) > 0 && slices.Contains(have, tree.ServerName(tree.First(leaf))) && slices.Contains(have, Spine(0)) {
			return leaf, true
		}
	}
	return 0, false
}

// Spine is what a leaf calls its interface to a spine.
func Spine(spine int) string { return fmt.Sprintf("spine%d", spine) }

var interfaceName = regexp.MustCompile(`^\d+: ([^@:]+)`)
