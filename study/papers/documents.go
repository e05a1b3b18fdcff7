package papers

import (
	"bufio"
	_ "embed" // of the tables
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/show"
)

// items.csv has every figure and table of the documents, stated.csv every number that ours are
// held against, with the words of the text. What figures only draw is in neither.
var (
	//go:embed items.csv
	itemsCSV string
	//go:embed stated.csv
	statedCSV string
)

// rows returns an embedded table without its head.
func rows(table string) [][]string {
	lines, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(err)
	}
	return lines[1:]
}

// A statement is a number that the text of a paper gives, and the row it belongs to.
type statement struct {
	series string
	x      float64
	Stated
}

// stated holds, by figure, what stated.csv has.
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

// A State is what there is of an item.
type State string

// States.
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

// WriteListJSON writes all documents, schema evbench/reproduce-list/1.
func WriteListJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(struct {
		Schema    string     `json:"schema"`
		Documents []Document `json:"documents"`
	}{"evbench/reproduce-list/1", Documents()})
}

// WriteList writes how many items are in which state, and then all of them by document.
func WriteList(w io.Writer) error {
	out := bufio.NewWriter(w)
	all := Documents()
	fmt.Fprintln(out, summary(all))
	var lines [][]string
	for _, d := range all {
		for _, item := range d.Items {
			lines = append(lines, []string{or(item.Figure, "-"), string(item.State), item.Of + ": " + item.Title})
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
