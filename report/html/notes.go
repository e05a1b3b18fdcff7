package html

import (
	"fmt"
	"html/template"
	"strings"

	"evbench/report/figure"
	"evbench/results"
)

// A note stands below the verdict.
type note struct {
	Class, Head, Text string
	Advice            template.HTML // what to do about it
}

// longer is what to do about a case that is not resolved.
const longer template.HTML = "Measure longer (<code>--limit</code>, <code>--duration</code>), at a lower rate (<code>--rate auto</code>), or on a machine with less other work."

// unbroken keeps per cents and intervals with their numbers.
var unbroken = strings.NewReplacer(" %", "\u00a0%", " (±", "\u00a0(±")

// notesOf says what is wrong with cases, which are not resolved and what to do about it, and
// which slices do not count.
func notesOf(s results.Summary) []note {
	var out []note
	for _, w := range []string{wrong, invalid, incomplete} {
		for _, text := range grouped(s.Cases, func(c results.Case) []string {
			if verdict(c) != w {
				return nil
			}
			return c.Reasons
		}) {
			out = append(out, note{Class: "bad", Head: w, Text: unbroken.Replace(text)})
		}
	}
	if names := results.Open(s.Cases); len(names) > 0 {
		out = append(out, note{"open", results.Unresolved, strings.Join(names, ", ") +
			": the interval is wider than 3\u00a0% of the figure and overlaps that of a case beside it.", longer})
	}
	return append(out, rejected(s.Slices)...)
}

// rejected says how many slices do not count, and why.
func rejected(slices []results.Slice) []note {
	count := map[string]int{}
	var order []string
	for _, x := range slices {
		if x.Rejected != "" && count[x.Rejected] == 0 {
			order = append(order, x.Rejected)
		}
		count[x.Rejected]++
	}
	var out []note
	for _, why := range order {
		out = append(out, note{Head: "rejected", Text: unbroken.Replace(fmt.Sprintf("%d of %d slices: %s.", count[why], len(slices), why))})
	}
	return out
}

// grouped returns each text once, with the cases it is about before it, in the order in
// which texts first appear.
func grouped(cases []results.Case, texts func(results.Case) []string) []string {
	about := map[string][]string{}
	var order []string
	for _, c := range cases {
		for _, text := range texts(c) {
			if about[text] == nil {
				order = append(order, text)
			}
			about[text] = append(about[text], figure.Label(c, cases))
		}
	}
	out := make([]string, len(order))
	for i, text := range order {
		who := strings.Join(about[text], ", ")
		if len(about[text]) == len(cases) && len(cases) > 1 {
			who = "every case"
		}
		out[i] = who + ": " + text
	}
	return out
}
