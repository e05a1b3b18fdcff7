package papers

import (
	"bufio"
	"cmp"
	_ "embed" // of the tables
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/results"
)

const notStated = "not stated"

// A Report is figures with the inputs that they were made from.
type Report struct {
	Quick      bool       `json:"quick"`
	Seed       uint64     `json:"seed"`
	Constants  []Constant `json:"constants"`
	Figures    []*Figure  `json:"figures"`
	Incomplete bool       `json:"incomplete,omitempty"` // it was stopped; the figures are those that were ready
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

func (f *Figure) writeText(w io.Writer) {
	fmt.Fprintf(w, "\n%s  %s (%s)\n", f.Name, f.Title, f.Source())
	for _, s := range f.Setup {
		writeComment(w, "", s)
	}
	writeComment(w, "why ours differ: ", f.Differs)
	lines := [][]string{{cmp.Or(f.X, "at"), "series", "unit", "ours", "of draws", "paper", "differs", "where"}}
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

func (r *Row) lines(paper string) [][]string {
	if len(r.Stated) == 0 {
		return [][]string{{r.Label, r.Series, r.Unit, number(r.Value(Median)), r.spread(Median), notStated, "", ""}}
	}
	var out [][]string
	for _, s := range r.Stated {
		ours := r.Value(s.Of)
		out = append(out, []string{r.Label, r.Series, r.Unit, number(ours), r.spread(s.Of), number(s.Value), fmt.Sprintf("%+.1f %%", percent(ours, s.Value)), strings.TrimLeft(strings.TrimPrefix(s.Where, paper), ", ")})
	}
	return out
}

// spread says which statistic of draws a number is, with the least and the greatest.
func (r *Row) spread(of Statistic) string {
	if len(r.Values) == 1 {
		return ""
	}
	return fmt.Sprintf("%s, %s..%s", of, number(r.Value(Min)), number(r.Value(Max)))
}

// percent is the distance of ours from the stated number; nothing is 0 % from nothing.
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

// Table has all rows of the figure, details too: one row for each, or for each number stated about it.
func (f *Figure) Table() *answer.Table {
	t := answer.Plain("figure", "series", "x", "label", "unit", "draws", "min", "q1", "median", "q3", "max", "mean",
		"stated_of", "stated", "difference_percent", "where", "quote")
	t.Columns[14].Digits = 2
	for i := range f.Rows {
		r := &f.Rows[i]
		head := []any{
			f.Name, r.Series, r.X, r.Label, r.Unit, len(r.Values), r.Value(Min), results.Quantile(r.Values, 0.25),
			r.Value(Median), results.Quantile(r.Values, 0.75), r.Value(Max), r.Value(Mean),
		}
		if len(r.Stated) == 0 {
			t.Add(append(head, nil, nil, nil, nil, nil)...)
		}
		for _, s := range r.Stated {
			t.Add(append(head[:len(head):len(head)], s.Of, s.Value, percent(r.Value(s.Of), s.Value), s.Where, s.Quote)...)
		}
	}
	return t
}

func (f *Figure) WriteCSV(w io.Writer) error {
	return answer.Document{Table: f.Table()}.Write(w, "csv")
}

// Choose returns the figures requested by name, in that order, each once; all are all figures.
func Choose(names []string) (out []string, err error) {
	for _, name := range names {
		list := []string{name}
		if name == "all" {
			list = Names()
		} else if _, err := find(name); err != nil {
			return nil, err
		}
		for _, name := range list {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// items.csv has every figure and table of the documents, stated.csv every number that ours are
// compared with, with the words of the text. Numbers that figures only draw are in neither.
var (
	//go:embed items.csv
	itemsCSV string
	//go:embed stated.csv
	statedCSV string
)

func rows(table string) [][]string {
	lines, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(err)
	}
	return lines[1:]
}

// A statement is a number in the text of a paper, and its row.
type statement struct {
	series string
	x      float64
	Stated
}

// stated holds the content of stated.csv, by figure.
var stated = sync.OnceValue(func() map[string][]statement {
	out := map[string][]statement{}
	for _, r := range rows(statedCSV) {
		x, err := strconv.ParseFloat(r[2], 64)
		value, wrong := strconv.ParseFloat(r[4], 64)
		if err := errors.Join(err, wrong); err != nil {
			panic(err)
		}
		out[r[0]] = append(out[r[0]], statement{r[1], x, Stated{Statistic(r[3]), value, r[5], r[6]}})
	}
	return out
})

// A Document is a paper with all its figures and tables, in its order.
type Document struct {
	Paper string `json:"paper"` // short, as in Figure.Paper
	Title string `json:"title"`
	Items []Item `json:"items"`
}

// An Item is a figure or table of a paper, or a calculation of its text that has a Figure.
type Item struct {
	Of     string `json:"of"` // "Fig. 4.5"
	Title  string `json:"title"`
	Figure string `json:"figure,omitempty"` // what reproduce takes; "": nothing is computed
	State  State  `json:"state"`

	section, x string // of a Figure
	differs    string // why ours are not theirs
}

type State string

const (
	Beside   State = "ours beside it"  // computed, and the text states numbers
	NoNumber State = "ours, no number" // computed; the text states none
	Drawing  State = "drawing"         // that explains
	Notation State = "notation"
	Their    State = "needs their log"
)

// Documents returns all papers with the state of every item.
func Documents() []Document {
	out := []Document{
		{Paper: "thesis", Title: "E. Stein, Smart scheduling and routing for data acquisition networks, 2024"},
		{Paper: "IEEE Micro 2020", Title: "Gliksberg et al., High-Quality Fault Resiliency in Fat Trees"},
		{Paper: "HOTI 2014", Title: "Zahavi, Keslassy and Kolodny, Quasi Fat Trees for HPC Clouds"},
		{Paper: "slides 2016", Title: "Domke and Hoefler, Scheduling-Aware Routing for Supercomputers"},
		{Paper: "memo 2005", Title: "Zahavi and Kalka, OpenSM Unicast Routing Enhancements for Scalability"},
	}
	for _, r := range rows(itemsCSV) {
		d := &out[slices.IndexFunc(out, func(d Document) bool { return d.Paper == r[0] })]
		item := Item{Of: r[1], State: State(r[2]), Figure: r[3], Title: r[4], section: r[5], x: r[6], differs: r[7]}
		if len(stated()[item.Figure]) > 0 {
			item.State = Beside
		}
		d.Items = append(d.Items, item)
	}
	return out
}

// List is all documents.
func List() answer.Document {
	return answer.Document{Text: writeList, Schema: "evbench/reproduce-list/1", Fields: struct {
		Documents []Document `json:"documents"`
	}{Documents()}}
}

// writeList writes how many items are in each state, and then all of them by document.
func writeList(w io.Writer) error {
	out := bufio.NewWriter(w)
	all := Documents()
	fmt.Fprintln(out, summary(all))
	var lines [][]string
	for _, d := range all {
		for _, item := range d.Items {
			lines = append(lines, []string{cmp.Or(item.Figure, "-"), string(item.State), item.Of + ": " + item.Title})
		}
	}
	var table strings.Builder
	if err := show.Align(&table, lines); err != nil {
		return err
	}
	rest := strings.SplitAfter(table.String(), "\n")
	for _, d := range all {
		fmt.Fprintf(out, "\n%s: %s\n", d.Paper, d.Title)
		for range d.Items {
			fmt.Fprint(out, "  ", rest[0])
			rest = rest[1:]
		}
	}
	return out.Flush()
}

func summary(all []Document) string {
	count := map[State]int{}
	for _, d := range all {
		for _, item := range d.Items {
			count[item.State]++
		}
	}
	var rest []string
	for _, s := range []State{Drawing, Notation, Their} {
		if count[s] > 0 {
			rest = append(rest, fmt.Sprintf("%s %d", s, count[s]))
		}
	}
	return fmt.Sprintf("computed: %d, %d of them beside numbers of the texts\nnot computed: %s",
		count[Beside]+count[NoNumber], count[Beside], strings.Join(rest, ", "))
}
