package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"evbench/builder/modes"
	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results"
)

// Accuracy holds the distance of predictions from measurements. Events per second are per server.
type Accuracy struct {
	Schema string      `json:"schema"`
	Cases  []Predicted `json:"cases"`
	Worst  []Worst     `json:"worst"` // by model; of the valid cases
}

// NewAccuracy returns one without cases.
func NewAccuracy() *Accuracy {
	return &Accuracy{Schema: "evbench/accuracy/1", Cases: []Predicted{}, Worst: []Worst{}}
}

func (t *Accuracy) Valid() bool {
	return !slices.ContainsFunc(t.Cases, func(x Predicted) bool { return !x.Valid })
}

// A Predicted is one case with its prediction and its measurement.
type Predicted struct {
	Results   string     `json:"results"`
	Case      string     `json:"case"`
	Repeat    int        `json:"repeat"`
	Mode      modes.Mode `json:"mode"`
	Model     string     `json:"model"`
	Why       string     `json:"not_simulated,omitempty"` // for the model loads
	Predicted speed      `json:"predicted"`
	Measured  speed      `json:"measured"`
	// Error is predicted/measured - 1, of events per second.
	Error   float64  `json:"error"`
	Valid   bool     `json:"valid"`
	Reasons []string `json:"reasons"`
}

type speed struct {
	EventsPerSec float64 `json:"events_per_s"` // per server
	Efficiency   float64 `json:"efficiency"`
}

// A Worst is the case with the largest error of a model.
type Worst struct {
	Model string  `json:"model"`
	Cases int     `json:"cases"`
	Error float64 `json:"error"`
	Case  string  `json:"case"`
}

// loadsModel is the prediction of the plan itself, from link loads, without barrier, overheads and
// the sharing of links.
const loadsModel = "loads"

// Add takes the cases of a run. It skips cases that were not measured.
func (t *Accuracy) Add(dir string, run *results.Run) {
	if run == nil {
		return
	}
	of := map[string]results.Prediction{}
	for _, p := range run.Manifest.Predictions {
		of[p.Case] = p
	}
	for _, c := range run.Summary.Cases {
		x := predictedOf(dir, c, of[c.Name])
		t.Cases = append(t.Cases, x)
		if x.Valid {
			t.count(x)
		}
	}
}

// predictedOf compares a case with its prediction. Without a simulation, as in results of older
// versions, it uses the efficiency that the link loads allow.
func predictedOf(dir string, c results.Case, p results.Prediction) Predicted {
	x := Predicted{
		Results: dir, Case: c.Name, Repeat: c.Repeat, Mode: c.Mode, Model: p.Model, Why: p.NotSimulated,
		Predicted: speed{p.EventsPerSec, p.ModelEfficiency}, Measured: speed{c.EventsPerSec.Mean, c.MeasuredEfficiency},
		Valid: c.Valid, Reasons: append([]string{}, c.Reasons...),
	}
	if x.Model == "" {
		x.Model, x.Predicted = loadsModel, speed{Efficiency: c.PredictedEfficiency}
		if c.MeasuredEfficiency > 0 {
			x.Predicted.EventsPerSec = c.EventsPerSec.Mean * c.PredictedEfficiency / c.MeasuredEfficiency
		}
	}
	if x.Measured.EventsPerSec > 0 {
		x.Error = x.Predicted.EventsPerSec/x.Measured.EventsPerSec - 1
	}
	return x
}

// count makes the case the worst of its model if its error is larger.
func (t *Accuracy) count(x Predicted) {
	i, ok := slices.BinarySearchFunc(t.Worst, x.Model, func(w Worst, model string) int { return cmp.Compare(w.Model, model) })
	if !ok {
		t.Worst = slices.Insert(t.Worst, i, Worst{Model: x.Model})
	}
	w := &t.Worst[i]
	if w.Cases++; w.Cases == 1 || math.Abs(x.Error) > math.Abs(w.Error) {
		w.Error, w.Case = x.Error, caseName(x)
	}
}

func caseName(x Predicted) string {
	if x.Repeat == 0 {
		return x.Case
	}
	return fmt.Sprintf("%s #%d", x.Case, x.Repeat)
}

// Answer says by how much each model was wrong at most, the worst first; not where cases are invalid.
func (t *Accuracy) Answer() answer.Answer {
	var e answer.Evidence
	if bad := lists.Filter(t.Cases, func(x Predicted) bool { return !x.Valid }); len(bad) > 0 {
		e.Doubts = []answer.Doubt{{Text: fmt.Sprintf("%d of %s not valid, first “%s”", len(bad), show.Plural(len(t.Cases), "case is", "cases is"), caseName(bad[0]))}}
	}
	worst := slices.SortedStableFunc(slices.Values(t.Worst), func(a, b Worst) int { return cmp.Compare(math.Abs(b.Error), math.Abs(a.Error)) })
	for _, x := range worst {
		e.Findings = append(e.Findings, answer.Finding{Text: fmt.Sprintf("the model %s was wrong by %+.1f %% at most (“%s”, of %s)", x.Model, 100*x.Error, x.Case, show.Plural(x.Cases, "valid case", "valid cases"))})
	}
	return answer.Decide(answer.Near, e)
}

// WriteText writes the table, and notes on single cases.
func (t *Accuracy) WriteText(w io.Writer) error {
	if len(t.Cases) == 0 {
		return nil
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	dir := ""
	for _, x := range t.Cases {
		if x.Results != dir {
			dir = x.Results
			fmt.Fprintf(tab, "%s\ncase\tmode\tmodel\tevents/s: pred.\tmeas.\tefficiency: pred.\tmeas.\terror\tverdict\n", dir)
		}
		off, verdict := "–", "valid"
		if x.Measured.EventsPerSec > 0 {
			off = fmt.Sprintf("%+.1f %%", 100*x.Error)
		}
		if !x.Valid {
			verdict = "invalid: not counted"
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%.4g\t%.4g\t%.3f\t%.3f\t%s\t%s\n", caseName(x), x.Mode, x.Model,
			x.Predicted.EventsPerSec, x.Measured.EventsPerSec, x.Predicted.Efficiency, x.Measured.Efficiency, off, verdict)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, t.notes())
	return err
}

func (t *Accuracy) notes() string {
	var b strings.Builder
	b.WriteString("\nerror: predicted / measured - 1, of events per second and server\n")
	for _, x := range t.Cases {
		if x.Model == loadsModel {
			fmt.Fprintf(&b, "%s: what link loads allow, since %s\n", caseName(x), cmp.Or(x.Why, "its results hold no simulation"))
		}
		for _, reason := range x.Reasons {
			fmt.Fprintf(&b, "invalid: %s: %s\n", caseName(x), reason)
		}
	}
	return b.String()
}
