package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"evbench/results"
)

// accuracy is the document of --json.
type accuracy struct {
	Schema string     `json:"schema"`
	Cases  []accurate `json:"cases"`
	Worst  []worst    `json:"worst"` // by model; of the valid cases
}

// accurate is one case, with what was expected of it and what came out.
type accurate struct {
	Results   string  `json:"results"`
	Case      string  `json:"case"`
	Repeat    int     `json:"repeat"`
	Mode      string  `json:"mode"`
	Model     string  `json:"model"`
	Why       string  `json:"not_simulated,omitempty"` // for the model loads
	Predicted figures `json:"predicted"`
	Measured  figures `json:"measured"`
	// Error is predicted/measured - 1, of events per second.
	Error   float64  `json:"error"`
	Valid   bool     `json:"valid"`
	Reasons []string `json:"reasons"`
}

type figures struct {
	EventsPerSec float64 `json:"events_per_s"` // per server
	Efficiency   float64 `json:"efficiency"`
}

// worst is the case that a model was furthest from.
type worst struct {
	Model string  `json:"model"`
	Cases int     `json:"cases"`
	Error float64 `json:"error"`
	Case  string  `json:"case"`
}

// loadsModel is the prediction of the plan itself: what link loads allow, without
// barrier, overheads and the sharing of links.
const loadsModel = "loads"

// add takes the cases of a run. What was not measured has nothing to be compared with.
func (a *accuracy) add(dir string, run *results.Run) {
	if run == nil {
		return
	}
	of := map[string]results.Prediction{}
	for _, p := range run.Manifest.Predictions {
		of[p.Case] = p
	}
	for _, c := range run.Summary.Cases {
		a.Cases = append(a.Cases, accurateOf(dir, c, of[c.Name]))
	}
}

// accurateOf holds a case against its prediction. Where no simulation was made, results of
// older versions among them, the efficiency that the link loads allow stands in.
func accurateOf(dir string, c results.Case, p results.Prediction) accurate {
	x := accurate{
		Results: dir, Case: c.Name, Repeat: c.Repeat, Mode: c.Mode, Model: p.Model, Why: p.NotSimulated,
		Predicted: figures{p.EventsPerSec, p.ModelEfficiency}, Measured: figures{c.EventsPerSec.Mean, c.MeasuredEfficiency},
		Valid: c.Valid, Reasons: append([]string{}, c.Reasons...),
	}
	if x.Model == "" {
		x.Model, x.Predicted = loadsModel, figures{Efficiency: c.PredictedEfficiency}
		if c.MeasuredEfficiency > 0 {
			x.Predicted.EventsPerSec = c.EventsPerSec.Mean * c.PredictedEfficiency / c.MeasuredEfficiency
		}
	}
	if x.Measured.EventsPerSec > 0 {
		x.Error = x.Predicted.EventsPerSec/x.Measured.EventsPerSec - 1
	}
	return x
}

// worst finds, for each model, the valid case that it was furthest from.
func (a *accuracy) worst() {
	for _, x := range a.Cases {
		if !x.Valid {
			continue
		}
		i := slices.IndexFunc(a.Worst, func(w worst) bool { return w.Model == x.Model })
		if i < 0 {
			a.Worst = append(a.Worst, worst{Model: x.Model})
			i = len(a.Worst) - 1
		}
		w := &a.Worst[i]
		if w.Cases++; w.Cases == 1 || math.Abs(x.Error) > math.Abs(w.Error) {
			w.Error, w.Case = x.Error, caseName(x)
		}
	}
	slices.SortFunc(a.Worst, func(x, y worst) int { return cmp.Compare(x.Model, y.Model) })
}

func caseName(x accurate) string {
	if x.Repeat == 0 {
		return x.Case
	}
	return fmt.Sprintf("%s #%d", x.Case, x.Repeat+1)
}

// text prints the table, a line for each model, and what is to be known of single cases.
func (a *accuracy) text(w io.Writer) error {
	if len(a.Cases) == 0 {
		return nil
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	dir := ""
	for _, x := range a.Cases {
		if x.Results != dir {
			dir = x.Results
			fmt.Fprintf(tab, "%s\ncase\tmode\tmodel\tevents/s: pred.\tmeas.\tefficiency: pred.\tmeas.\terror\tverdict\n", dir)
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%.3f\t%.3f\t%s\t%s\n", caseName(x), x.Mode, x.Model,
			rateText(x.Predicted.EventsPerSec), rateText(x.Measured.EventsPerSec), x.Predicted.Efficiency, x.Measured.Efficiency,
			errorText(x), verdictText(x))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, a.notes())
	return err
}

func rateText(x float64) string { return fmt.Sprintf("%.4g", x) }

func errorText(x accurate) string {
	if x.Measured.EventsPerSec == 0 {
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", 100*x.Error)
}

func verdictText(x accurate) string {
	if x.Valid {
		return "valid"
	}
	return "invalid: not counted"
}

// notes are what stands below the table.
func (a *accuracy) notes() string {
	var b strings.Builder
	b.WriteString("\nerror: predicted / measured - 1, of events per second and server\n")
	for _, x := range a.Worst {
		noun := "cases"
		if x.Cases == 1 {
			noun = "case"
		}
		fmt.Fprintf(&b, "worst error of %s: %+.1f %% (%s; %d valid %s)\n", x.Model, 100*x.Error, x.Case, x.Cases, noun)
	}
	for _, x := range a.Cases {
		if x.Model == loadsModel {
			fmt.Fprintf(&b, "%s: what link loads allow, since %s\n", caseName(x), cmp.Or(x.Why, "its results hold no simulation"))
		}
		for _, reason := range x.Reasons {
			fmt.Fprintf(&b, "invalid: %s: %s\n", caseName(x), reason)
		}
	}
	return b.String()
}
