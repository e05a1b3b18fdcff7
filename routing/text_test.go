package routing

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// WriteText writes the tables for people: one line per switch, one column per
// destination, in each the spine on a leaf ("." for its own servers, "-" for
// none, several joined by "+") and the leaf on a spine.
func (t *Tables) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s, dead: %s\n# columns: destination servers by rank 0..%d\n",
		t.Engine, orNone(t.Tree.DownNames()), t.Tree.Servers()-1)
	for sw := range t.Tree.Leaves() + t.Tree.Spines() {
		fmt.Fprintf(out, "%-8s", t.name(Switch(sw)))
		for dst := range t.Tree.Servers() {
			fmt.Fprintf(out, " %s", t.cell(Switch(sw), dst))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

func (t *Tables) cell(sw Switch, dst int) string {
	ports := t.Ports(sw, dst)
	if len(ports) == 0 {
		return "-"
	}
	cells := make([]string, len(ports))
	for i, p := range ports {
		switch {
		case int(sw) >= t.Tree.Leaves():
			cells[i] = fmt.Sprint(p)
		case int(p) < t.Tree.Ports():
			cells[i] = "."
		default:
			cells[i] = fmt.Sprint(int(p) - t.Tree.Ports())
		}
	}
	return strings.Join(cells, "+")
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// A Report says what the tables do to all ordered pairs of servers. Of several
// next hops each is followed.
type Report struct {
	Pairs       int   // ordered pairs
	Unreachable int   // pairs with at least one path that ends without a route
	Loops       int   // pairs with at least one path that comes back to a switch
	DeadLinks   int   // pairs with at least one path over a dead link
	First       error // the first offence, with source, destination and switch
}

// OK reports whether every message arrives on every path.
func (r Report) OK() bool { return r.First == nil }

// Check follows every path of every pair. O(S²·paths).
func (t *Tables) Check() Report {
	var r Report
	for src := range t.Tree.Servers() {
		for dst := range t.Tree.Servers() {
			if src == dst {
				continue
			}
			r.Pairs++
			err := t.Walk(src, dst)
			switch {
			case errors.Is(err, ErrNoRoute):
				r.Unreachable++
			case errors.Is(err, ErrLoop):
				r.Loops++
			case errors.Is(err, ErrDeadLink):
				r.DeadLinks++
			}
			if err != nil && r.First == nil {
				r.First = err
			}
		}
	}
	return r
}
