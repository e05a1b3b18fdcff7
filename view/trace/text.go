package trace

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"evbench/builder/modes"
	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results"
	"evbench/results/attribution"
)

// Document is the answer, and the accounts of cases, each with its sentences first.
func Document(cases []*Why) answer.Document {
	return answer.Document{Answer: Answer(cases), Text: func(w io.Writer) error { return writeText(w, cases) }, Schema: "evbench/why/1", Fields: struct {
		Cases []*Why `json:"cases"`
	}{cases}}
}

// tolerable is the share by which an exchange may be longer than predicted.
const tolerable = 0.05

// Answer says which case took most longer than predicted, and on what.
func Answer(cases []*Why) answer.Answer {
	share := func(w *Why) float64 { return w.Measured/w.Predicted - 1 }
	known := lists.Filter(cases, func(w *Why) bool { return w.Predicted > 0 })
	if len(known) == 0 {
		return answer.Decide(answer.Time, answer.Evidence{})
	}
	w := slices.MaxFunc(known, func(v, w *Why) int { return cmp.Compare(share(v), share(w)) })
	f := answer.Finding{Place: answer.Sure(share(w)).Beside(answer.Limit{Value: tolerable, Upper: true})}
	if f.Place == answer.At {
		f.Text = fmt.Sprintf("no exchange took more than %.0f %% longer than predicted; the most took those of %s, %+.1f %%", 100*tolerable, results.Quoted(w.Case), 100*share(w))
	} else {
		f.Text, f.Cause = fmt.Sprintf("the exchanges of %s took %.1f %% longer than predicted", results.Quoted(w.Case), 100*share(w)), w.cause()
	}
	return answer.Decide(answer.Time, answer.Evidence{Findings: []answer.Finding{f}})
}

// cause is where most of the time went, as the trace shows it.
func (w *Why) cause() string {
	const look = "look for busy processors, or measure longer phases"
	switch {
	case len(w.Causes) > 0:
		return w.slow()
	case w.untraced:
		return "nobody stands out; a trace shows where (run --trace)"
	case w.of.Mode != modes.Sync:
		return "nobody stands out; without phases messages wait for each other, which a plan (schedule: best) avoids"
	case w.Barriers > w.Transfers:
		return "most of it in barriers, and nobody stands out; " + look
	}
	return "most of it in transfers, and nobody stands out; " + look
}

// slow says who is slow.
func (w *Why) slow() string {
	return show.And(lists.Map(w.Causes, func(c attribution.Cause) string { return c.Text(w.of.MeasuredSec) }))
}

func writeText(out io.Writer, cases []*Why) error {
	var to bytes.Buffer
	for i, w := range cases {
		if i > 0 {
			to.WriteByte('\n')
		}
		w.writeText(&to)
	}
	_, err := to.WriteTo(out)
	return err
}

func (w *Why) writeText(to *bytes.Buffer) {
	if w.untraced {
		w.short(to)
		return
	}
	w.sentences(to, w.of)
	if len(w.Phases) > 0 {
		rows := [][]string{{"phase", "took", "predicted", "barrier", "more", "last to come"}}
		for _, p := range w.Phases {
			rows = append(rows, []string{
				fmt.Sprint(p.Phase), ms(p.Measured), ms(p.Predicted), ms(p.Barrier), more(p.longer()),
				fmt.Sprintf("server%d to server%d (%.0f %%)", p.Last.Src, p.Last.Dst, 100*p.Of),
			})
		}
		table(to, "Phases that took most longer than predicted, with their barriers", rows)
	}
	w.pairs(to, w.of)
}

// took says how long an exchange took.
func (w *Why) took(to *bytes.Buffer) {
	longer := w.Measured - w.Predicted
	fmt.Fprintf(to, "%s: an exchange took %s, %s were predicted: %s (%+.1f %%).\n", w.Case, ms(w.Measured), ms(w.Predicted), more(longer), 100*longer/w.Predicted)
}

// short is what is known without a trace.
func (w *Why) short(to *bytes.Buffer) {
	if w.Predicted > 0 {
		w.took(to)
	} else {
		fmt.Fprintf(to, "%s: without a link rate nothing was predicted.\n", w.Case)
	}
	who := "Nobody stands out"
	if len(w.Causes) > 0 {
		who = w.slow()
	}
	fmt.Fprintf(to, "%s. Which messages took longer, and what they waited for, only a trace shows: run --trace, or trace: on.\n", who)
}

func (w *Why) sentences(to *bytes.Buffer, c results.Case) {
	w.took(to)
	switch {
	case c.Mode == modes.Sync:
		fmt.Fprintf(to, "Of the difference, barriers are %s, transfers %s.\n", more(w.Barriers), more(w.Transfers))
	case c.Mode == modes.Ordered:
		fmt.Fprintf(to, "A send port waited %s of it for tokens.\n", ms(w.Tokens))
	}
	if len(w.Causes) > 0 {
		fmt.Fprintf(to, "%s.\n", w.slow())
	} else if len(w.Pairs) > 0 {
		fmt.Fprintln(to, "Nobody stands out.")
	}
	if l := w.Longest; l != nil && (len(l.Events) > 0 || l.Sec > 2*w.Measured) {
		fmt.Fprintf(to, "The longest, exchange %d, took %s, from %.2f s on", l.Exchange, ms(l.Sec), l.Begin)
		for i, e := range l.Events {
			sep, did := ",", "went down"
			if i == 0 {
				sep = ";"
			}
			if e.Up {
				did = "came back"
			}
			fmt.Fprintf(to, "%s %s %s at %.2f s", sep, e.Link, did, e.TSec)
		}
		fmt.Fprintln(to, ".")
	}
	fmt.Fprintf(to, "%s in %s, %d servers; means.\n", show.Plural(w.Exchanges, "exchange", "exchanges"), show.Plural(w.Slices, "traced slice", "traced slices"), w.Servers)
}

// pairs writes the table of pairs, with their links where known, and for ordered cases the sender's
// wait for tokens.
func (w *Why) pairs(to *bytes.Buffer, c results.Case) {
	if len(w.Pairs) == 0 {
		fmt.Fprintln(to, "No pair took longer than predicted.")
		return
	}
	rows := [][]string{{"pair", "took", "predicted", "more"}}
	ordered, links := c.Mode == modes.Ordered, slices.ContainsFunc(w.Pairs, func(p PairCost) bool { return p.Path != "" })
	if c.Mode != modes.Sync {
		rows[0][2] = "usual"
	}
	if ordered {
		rows[0] = append(rows[0], "tokens")
	}
	if links {
		rows[0] = append(rows[0], "links")
	}
	for _, p := range w.Pairs {
		row := []string{fmt.Sprintf("server%d to server%d", p.Src, p.Dst), ms(p.Measured), ms(p.Predicted), more(p.Measured - p.Predicted)}
		if ordered {
			row = append(row, ms(p.Tokens))
		}
		if links {
			row = append(row, cmp.Or(p.Path, "within a leaf"))
		}
		rows = append(rows, row)
	}
	table(to, "Pairs whose fragments took most longer", rows)
}

func ms(sec float64) string { return fmt.Sprintf("%.2f ms", 1e3*sec) }

func more(sec float64) string { return fmt.Sprintf("%+.2f ms", 1e3*sec) }

// table writes lines of cells under a title, the first line being their heads.
func table(to *bytes.Buffer, title string, rows [][]string) {
	fmt.Fprintf(to, "\n%s:\n", title)
	columns := make([]show.Column, len(rows[0]))
	for i, head := range rows[0] {
		columns[i].Right = slices.Contains([]string{"took", "predicted", "usual", "barrier", "more", "pairs", "tokens"}, head)
	}
	_ = show.Align(to, rows, columns...)
}
