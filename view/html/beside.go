package html

import (
	"fmt"
	"slices"
	"strings"

	"evbench/report"
	"evbench/results"
	"evbench/view/compare"
)

// A difference compares a run with the first of a page, case by case.
type difference struct {
	Base, Other, OtherID string
	Text                 string // what is to be said of it in a line
	Shares               string // ratio or efficiency, "": none
	Rates                bool   // some case has events/s
	Rows                 []differenceRow
	Notes                []string
}

type differenceRow struct {
	Case  string
	Share pairOf
	Rate  pairOf
}

type pairOf struct {
	Base, Other, Change string
	Value               string // of the change, to sort by
	Class, Word         string // whether it is one
}

// The words for a change.
const (
	changed = "differs"
	alike   = "not shown"
	unknown = "not known"
)

func differencesOf(runs []Input) (out []difference) {
	for i := 1; i < len(runs); i++ {
		out = append(out, differenceOf(runs[0], runs[i], runID(i)))
	}
	return out
}

var shareHeads = map[string]string{compare.Ratio: "ratio", efficiency: "efficiency"}

const (
	efficiency = "measured_efficiency"
	eventRate  = "events_per_s"
)

func differenceOf(base, other Input, id string) difference {
	d := difference{Base: base.Name, Other: other.Name, OtherID: id}
	a, b := base.Source.Run, other.Source.Run
	refused := slices.DeleteFunc(compare.Differences(a, b), func(x compare.Difference) bool { return x.Noted })
	alikeMade := kindOf(a).Word == kindOf(b).Word && len(refused) == 0
	if !alikeMade {
		d.Notes = append(d.Notes, notAlike(refused))
	}
	compared := compare.Runs(a, b, false)
	share := compare.Ratio
	if len(compared.NoControl) > 0 {
		share = efficiency
	}
	for _, c := range compared.Cases {
		row := differenceRow{Case: c.Name}
		for _, f := range c.Figures {
			switch {
			case f.Name == share:
				row.Share, d.Shares = changeOf(f, shareText, signed(f.New.Median-f.Base.Median)), shareHeads[share]
			case f.Name == eventRate && alikeMade && f.Change != nil:
				row.Rate, d.Rates = changeOf(f, rateText, minus(fmt.Sprintf("%+.2f\u00a0%%", *f.Change))), true
				row.Rate.Value = report.Exact(*f.Change)
			}
		}
		d.Rows = append(d.Rows, row)
	}
	for _, x := range []struct {
		where string
		names []string
	}{{base.Name, compared.Missing}, {other.Name, compared.Added}} {
		if len(x.names) > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("Only in %s: %s.", x.where, strings.Join(x.names, ", ")))
		}
	}
	d.Text = d.text()
	return d
}

func notAlike(why []compare.Difference) string {
	const most = 3
	text := "Events/s are not compared: the runs were not made alike"
	for i, x := range why {
		switch {
		case i == 0:
			text += " (" + x.String()
		case i < most:
			text += "; " + x.String()
		case i == most:
			text += fmt.Sprintf("; %d more", len(why)-most)
		}
	}
	if why != nil {
		text += ")"
	}
	return text + "."
}

func (d *difference) text() string {
	var differ []string
	open, all := 0, 0
	for _, row := range d.Rows {
		x := row.Share
		if d.Shares == "" {
			x = row.Rate
		}
		switch x.Word {
		case "":
			continue
		case changed:
			differ = append(differ, row.Case+"\u00a0"+x.Change)
		case unknown:
			open++
		}
		all++
	}
	of := map[string]string{"ratio": " in the ratio to the control", "efficiency": " in efficiency", "": " in events/s"}[d.Shares]
	text := fmt.Sprintf("%s beside %s: ", d.Other, d.Base)
	switch {
	case all == 0:
		return text + "nothing to compare."
	case open == all:
		text += "too few observations to say whether a case differs"
	case differ == nil:
		text += fmt.Sprintf("no difference is shown for any of %d cases", all-open)
	default:
		const most = 4
		if n := len(differ); n > most {
			differ = append(differ[:most], fmt.Sprintf("and %d more", n-most))
		}
		text += fmt.Sprintf("differs%s: %s", of, strings.Join(differ, ", "))
	}
	if open > 0 && open < all {
		text += fmt.Sprintf("; not known of %d", open)
	}
	return text + "."
}

func changeOf(f compare.Figure, text func(results.Interval) string, change string) pairOf {
	out := pairOf{Base: text(f.Base), Other: text(f.New), Change: change, Value: report.Exact(f.New.Median - f.Base.Median), Class: "control", Word: alike}
	switch {
	case f.Unsaid != "":
		out.Class, out.Word = "open", unknown
	case f.Significant:
		out.Class, out.Word = "ranked", changed
	}
	return out
}

func shareText(i results.Interval) string {
	text := fmt.Sprintf("%.3f", i.Median)
	if i.Known() && *i.Lo < *i.Hi {
		text += fmt.Sprintf(" ±%.3f", max(*i.Hi-i.Median, i.Median-*i.Lo))
	}
	return text
}

// signed prints a difference with the sign of print, without a line break at it.
func signed(x float64) string { return minus(fmt.Sprintf("%+.3f", x)) }

func minus(number string) string { return strings.Replace(number, "-", "\u2212", 1) }

func rateText(i results.Interval) string {
	text := report.Rate(i.Median)
	if i.Lo != nil && i.Hi != nil && *i.Lo < *i.Hi {
		text += fmt.Sprintf(" (%s to %s)", report.Rate(*i.Lo), report.Rate(*i.Hi))
	}
	return text
}
