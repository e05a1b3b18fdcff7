package plan

import (
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/topology"
)

// Asks is the question that a plan of a tree answers.
func Asks(t *topology.Live) answer.Question {
	if dead, _ := t.Damage(); dead > 0 {
		return answer.Without.About(show.Plural(dead, "dead link", "dead links"))
	}
	return answer.Takes
}

// TreeFlags are the flags that name a tree and what is dead in it.
func TreeFlags(t *topology.Tree) []string {
	w := t.Words()
	flags := []string{"-t", w.Notation}
	n := t.Names()
	switch {
	case n != nil && n.Flags != nil:
		flags = slices.Clone(n.Flags)
	case w.Spines != "":
		flags = append(flags, "--spines", w.Spines)
	}
	if (n == nil || n.Flags == nil) && !t.Full() {
		flags = append(flags, "--fill", w.Fill)
	}
	if w.Readers != "" {
		flags = append(flags, "--readers", w.Readers, "--builders", w.Builders)
	}
	if down := t.DownNames(); len(down) > 0 {
		flags = append(flags, "--down", strings.Join(down, ","))
	}
	return flags
}
