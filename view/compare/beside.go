package compare

import (
	"fmt"
	"slices"
	"strings"

	"evbench/report"
	"evbench/results"
	"evbench/view/html"
	"evbench/view/parts"
)

// The words for a change.
const (
	wordDiffers  = "differs"
	wordNotShown = "not shown"
	wordUnknown  = "not known"
)

var shareHeads = map[string]string{Ratio: "ratio", efficiency: "efficiency"}

const efficiency = "measured_efficiency"

// Beside compares a run with the first of a page.
func Beside(base, other html.Input) html.Difference {
	var d html.Difference
	a, b := base.Source.Run, other.Source.Run
	refused := slices.DeleteFunc(Differences(a, b), func(x Difference) bool { return x.Noted })
	alikeMade := parts.KindOf(a).Word == parts.KindOf(b).Word && len(refused) == 0
	if !alikeMade {
		d.Notes = append(d.Notes, notAlike(refused))
	}
	compared := Runs(a, b, false)
	share := Ratio
	if len(compared.NoControl) > 0 {
		share = efficiency
	}
	for _, c := range compared.Cases {
		row := html.DifferenceRow{Case: c.Name}
		for _, f := range c.Figures {
			switch {
			case f.Name == share:
				row.Share, d.Shares = changeOf(f, besideText, minus(fmt.Sprintf("%+.3f", f.New.Median-f.Base.Median))), shareHeads[share]
			case f.Name == absolute && alikeMade && f.Change != nil:
				row.Rate, d.Rates = changeOf(f, eventsText, minus(fmt.Sprintf("%+.2f\u00a0%%", *f.Change))), true
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
	d.Text = fmt.Sprintf("%s beside %s: %s", other.Name, base.Name, differenceText(d))
	return d
}

func notAlike(why []Difference) string {
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

func differenceText(d html.Difference) string {
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
		case wordDiffers:
			differ = append(differ, row.Case+"\u00a0"+x.Change)
		case wordUnknown:
			open++
		}
		all++
	}
	of := map[string]string{"ratio": " in the ratio to the control", "efficiency": " in efficiency", "": " in events/s"}[d.Shares]
	text := ""
	switch {
	case all == 0:
		return "nothing to compare."
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

func changeOf(f Figure, text func(results.Interval) string, change string) html.Pair {
	out := html.Pair{Base: text(f.Base), Other: text(f.New), Change: change, Value: report.Exact(f.New.Median - f.Base.Median), Class: "control", Word: wordNotShown}
	switch {
	case f.Unsaid != "":
		out.Class, out.Word = "open", wordUnknown
	case f.Significant:
		out.Class, out.Word = "ranked", wordDiffers
	}
	return out
}

func besideText(i results.Interval) string {
	text := fmt.Sprintf("%.3f", i.Median)
	if i.Known() && *i.Lo < *i.Hi {
		text += fmt.Sprintf(" ±%.3f", max(*i.Hi-i.Median, i.Median-*i.Lo))
	}
	return text
}

// minus gives a number the sign of print, without a line break at it.
func minus(number string) string { return strings.Replace(number, "-", "\u2212", 1) }

func eventsText(i results.Interval) string {
	text := report.Rate(i.Median)
	if i.Lo != nil && i.Hi != nil && *i.Lo < *i.Hi {
		text += fmt.Sprintf(" (%s to %s)", report.Rate(*i.Lo), report.Rate(*i.Hi))
	}
	return text
}
