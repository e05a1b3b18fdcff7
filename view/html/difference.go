package html

import "evbench/view/parts"

// A Difference compares a run with the first of a page, case by case. Who makes the page hands in what does: see Write.
type Difference struct {
	Text   string // what is to be said of it in a line
	Shares string // ratio or efficiency, "": none
	Rates  bool   // some case has events/s
	Rows   []DifferenceRow
	Notes  []string

	Base, Other, OtherID string // by Write
}

// A DifferenceRow compares one case of two runs.
type DifferenceRow struct {
	Case  string
	Share Pair
	Rate  Pair
}

// A Pair is a figure of both runs.
type Pair struct {
	Base, Other, Change string
	Value               string // of the change, to sort by
	Class, Word         string // whether it is one
}

func differencesOf(runs []Input, beside func(base, other Input) Difference) (out []Difference) {
	for i := 1; i < len(runs) && beside != nil; i++ {
		d := beside(runs[0], runs[i])
		d.Base, d.Other, d.OtherID = runs[0].Name, runs[i].Name, parts.RunID(i)
		out = append(out, d)
	}
	return out
}
