package papers

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"evbench/internal/show"
	"evbench/results"
)

const notStated = "not stated"

// A Report is figures with what they were made of.
type Report struct {
	Quick      bool       `json:"quick"`
	Seed       uint64     `json:"seed"`
	Constants  []Constant `json:"constants"`
	Figures    []*Figure  `json:"figures"`
	Incomplete bool       `json:"incomplete,omitempty"` // it was stopped; the figures are those that were ready
}

// WriteJSON writes the report as one document, schema evbench/reproduce/1.
func (r *Report) WriteJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(struct {
		Schema string `json:"schema"`
		*Report
	}{"evbench/reproduce/1", r})
}

// WriteText writes the constants and a table for each figure.
func (r *Report) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# seed %d", r.Seed)
	if r.Quick {
		fmt.Fprint(out, ", quick: fewer draws")
	}
	fmt.Fprintln(out, "\n# taken from the thesis, no other number of it goes in:")
	for _, c := range r.Constants {
		writeComment(out, "  ", fmt.Sprintf("%s %s (%s): %s", c.Name, strings.TrimSpace(number(c.Value)+" "+c.Unit), c.Where, c.Use))
	}
	for _, f := range r.Figures {
		f.writeText(out)
	}
	if r.Incomplete {
		fmt.Fprintln(out, "\nINCOMPLETE: stopped")
	}
	return out.Flush()
}

// writeText writes a figure as a table, a line for each row and stated number.
func (f *Figure) writeText(w io.Writer) {
	fmt.Fprintf(w, "\n%s  %s (%s)\n", f.Name, f.Title, f.Source())
	for _, s := range f.Setup {
		writeComment(w, "", s)
	}
	writeComment(w, "why ours differ: ", f.Differs)
	lines := [][]string{{or(f.X, "at"), "series", "unit", "ours", "of draws", "paper", "differs", "where"}}
	for i := range f.Rows {
		if !f.Rows[i].Detail {
			lines = append(lines, f.Rows[i].lines(f.Paper)...)
		}
	}
	show.Align(w, withoutEmpty(lines))
}

func withoutEmpty(lines [][]string) [][]string {
	out := make([][]string, len(lines))
	for column := range lines[0] {
		if !slices.ContainsFunc(lines[1:], func(line []string) bool { return line[column] != "" }) {
			continue
		}
		for i, line := range lines {
			out[i] = append(out[i], line[column])
		}
	}
	return out
}

const textWidth = 120

// writeComment writes text behind #, broken between words.
func writeComment(w io.Writer, head, text string) {
	line := "# " + head
	begun := false
	for _, word := range strings.Fields(text) {
		if begun && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth {
			fmt.Fprintln(w, line)
			line, begun = "#  ", false
		}
		if begun {
			line += " "
		}
		line, begun = line+word, true
	}
	fmt.Fprintln(w, line)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// lines returns a row as cells: one line for each number that is stated, where in the paper.
func (r *Row) lines(paper string) [][]string {
	if len(r.Stated) == 0 {
		return [][]string{{r.Label, r.Series, r.Unit, number(r.Value(Median)), r.spread(Median), notStated, "", ""}}
	}
	var out [][]string
	for _, s := range r.Stated {
		ours := r.Value(s.Of)
		out = append(out, []string{r.Label, r.Series, r.Unit, number(ours), r.spread(s.Of), number(s.Value), difference(ours, s.Value), strings.TrimLeft(strings.TrimPrefix(s.Where, paper), ", ")})
	}
	return out
}

// spread says which statistic of draws a number is, and what the least and greatest are.
func (r *Row) spread(of Statistic) string {
	if len(r.Values) == 1 {
		return ""
	}
	return fmt.Sprintf("%s, %s..%s", of, number(r.Value(Min)), number(r.Value(Max)))
}

// difference of ours from what is stated.
func difference(ours, stated float64) string { return fmt.Sprintf("%+.1f %%", percent(ours, stated)) }

// percent is how far ours is from what is stated; nothing is 0 % from nothing.
func percent(ours, stated float64) float64 {
	if ours == stated {
		return 0
	}
	return 100 * (ours/stated - 1)
}

func number(x float64) string {
	switch a := math.Abs(x); {
	case x == math.Trunc(x) && a < 1e6:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case a >= 1e6:
		return strconv.FormatFloat(x, 'e', 2, 64)
	case a >= 1000:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

var csvColumns = []string{
	"figure", "series", "x", "label", "unit", "draws", "min", "q1", "median", "q3", "max", "mean",
	"stated_of", "stated", "difference_percent", "where", "quote",
}

// WriteCSV writes all rows of the figure, details too: one line for each row, or for
// each number that is stated of it.
func (f *Figure) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(csvColumns)
	full := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for i := range f.Rows {
		r := &f.Rows[i]
		head := []string{
			f.Name, r.Series, full(r.X), r.Label, r.Unit, strconv.Itoa(len(r.Values)), full(r.Value(Min)), full(results.Quantile(r.Values, 0.25)),
			full(r.Value(Median)), full(results.Quantile(r.Values, 0.75)), full(r.Value(Max)), full(r.Value(Mean)),
		}
		if len(r.Stated) == 0 {
			out.Write(append(head, "", "", "", "", ""))
		}
		for _, s := range r.Stated {
			ours := percent(r.Value(s.Of), s.Value)
			out.Write(append(head[:len(head):len(head)], string(s.Of), full(s.Value), strconv.FormatFloat(ours, 'f', 2, 64), s.Where, s.Quote))
		}
	}
	out.Flush()
	return out.Error()
}

// Choose returns the figures that are asked for by name, in that order, each once; all are
// all there are.
func Choose(names []string) ([]string, error) {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, name := range names {
		if name == "all" {
			for _, m := range makers {
				add(m.name)
			}
			continue
		}
		if _, err := find(name); err != nil {
			return nil, err
		}
		add(name)
	}
	return out, nil
}
