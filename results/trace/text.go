package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"evbench/internal/show"
	"evbench/results"
)

// WriteJSON writes the account as one JSON document.
func (w *Why) WriteJSON(to io.Writer) error {
	e := json.NewEncoder(to)
	e.SetIndent("", "  ")
	return e.Encode(w)
}

// WriteText writes the account for people, the answer first.
func (w *Why) WriteText(out io.Writer, c results.Case) error {
	to := new(bytes.Buffer)
	longer := w.Measured - w.Predicted
	fmt.Fprintf(to, "%s: an exchange took %s, %s were predicted: %s (%+.1f %%).\n", w.Case, ms(w.Measured), ms(w.Predicted), more(longer), 100*longer/w.Predicted)
	switch {
	case c.Mode == results.Sync:
		fmt.Fprintf(to, "Barriers took %s of it, transfers %s.\n", ms(w.Barriers), more(w.Transfers))
	case c.Mode == results.InOrder:
		fmt.Fprintf(to, "A send port waited %s of it for tokens.\n", ms(w.Tokens))
	}
	fmt.Fprintf(to, "%d exchanges in %d traced slices, %d servers; means.\n", w.Exchanges, w.Slices, w.Servers)
	if len(w.Phases) > 0 {
		rows := [][]string{{"phase", "took", "predicted", "more", "last to come"}}
		for _, p := range w.Phases {
			rows = append(rows, []string{
				fmt.Sprint(p.Phase), ms(p.Measured), ms(p.Predicted), more(p.Measured - p.Predicted),
				fmt.Sprintf("server%d to server%d (%.0f %%)", p.Last.Src, p.Last.Dst, 100*p.Of),
			})
		}
		table(to, "Phases that took most longer than predicted", rows)
	}
	rows := [][]string{{"pair", "took", "predicted", "more", "links"}}
	for _, p := range w.Pairs {
		rows = append(rows, []string{
			fmt.Sprintf("server%d to server%d", p.Src, p.Dst), ms(p.Measured), ms(p.Predicted), more(p.Measured - p.Predicted), p.Path,
		})
	}
	if c.Mode != results.Sync {
		rows[0][2] = "usual"
	}
	if len(w.Pairs) == 0 {
		fmt.Fprintln(to, "No pair took longer than predicted.")
	} else {
		table(to, "Pairs whose fragments took most longer", rows)
	}
	if len(w.Links) > 0 {
		rows = [][]string{{"link", "direction", "pairs", "more"}}
		for _, l := range w.Links {
			rows = append(rows, []string{l.Link, l.Direction, fmt.Sprint(l.Pairs), more(l.Longer)})
		}
		table(to, "Links whose pairs took most longer, in the mean", rows)
	}
	_, err := to.WriteTo(out)
	return err
}

func ms(sec float64) string { return fmt.Sprintf("%.2f ms", 1e3*sec) }

func more(sec float64) string { return fmt.Sprintf("%+.2f ms", 1e3*sec) }

// table writes lines of cells under a title, the first line being their heads.
func table(to *bytes.Buffer, title string, rows [][]string) {
	fmt.Fprintf(to, "\n%s:\n", title)
	columns := make([]show.Column, len(rows[0]))
	for i, head := range rows[0] {
		columns[i].Right = head == "took" || head == "predicted" || head == "usual" || head == "more" || head == "pairs"
	}
	_ = show.Align(to, rows, columns...)
}
