package html

import (
	"strings"

	"evbench/results"
)

// A note stands below the verdict.
type note struct{ Class, Head, Text string }

// unbroken keeps per cents and intervals with their numbers.
var unbroken = strings.NewReplacer(" %", "\u00a0%", " (±", "\u00a0(±")

// notesOf are the notes of a run as the template shows them.
func notesOf(s results.Summary) []note {
	classes := map[string]string{results.Wrong: "bad", results.Unresolved: "open"}
	var out []note
	for _, n := range s.Notes() {
		out = append(out, note{classes[n.Head], n.Head, unbroken.Replace(n.Text)})
	}
	return out
}
