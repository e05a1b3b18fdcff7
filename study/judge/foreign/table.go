package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"evbench/internal/unit"
)

// pairsHead returns the head of a table of pairs, and whether a text begins with one.
func pairsHead(data []byte) (f []string, is bool) {
	line, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	f = cells(string(line))
	return f, len(f) >= 3 && strings.EqualFold(f[0], "src") && strings.EqualFold(f[1], "dst")
}

// cells are the words of a line between commas, semicolons, tabs or blanks.
func cells(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(",;\t\r ", r) })
}

// readPairs reads a table that a script around a benchmark of two hosts writes, such as ib_write_bw: what
// dst received from src, in the unit of the head. Pairs of one round ran at the same time; without rounds each ran alone.
//
//	src,dst,Gbit/s,round
//	node1,node2,96.1,1
//	node2,node1,95.8,1
func readPairs(data []byte, _ Options) (*Result, error) {
	head, is := pairsHead(data)
	if !is {
		return nil, errors.New(`no table of pairs, whose first line is "src,dst,Gbit/s"`)
	}
	rounds := len(head) == 4 && head[3] == "round"
	if _, err := unit.ParseRate("1" + head[2]); err != nil || len(head) > 3 && !rounds {
		return nil, fmt.Errorf("line 1: %s: columns are src, dst, a unit of rates such as Gbit/s or MB/s, and round or nothing", short(strings.Join(head, ",")))
	}
	p, at := Pairs{}, map[string]int{}
	err := lines(data, func(n int, text string, _ []string) error {
		f := cells(text)
		if len(f) == 0 || len(p.Names) == 0 && strings.EqualFold(f[0], "src") {
			return nil
		}
		if len(f) != len(head) {
			return fmt.Errorf("line %d: %d columns, not %d", n, len(f), len(head))
		}
		rate, err := unit.ParseRate(f[2] + head[2])
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		x := Pair{Src: p.end(f[0]), Dst: p.end(f[1]), Rate: float64(rate), Group: len(p.List)}
		if rounds {
			if _, known := at[f[3]]; !known {
				at[f[3]] = len(at)
			}
			x.Group = at[f[3]]
		}
		p.List = append(p.List, x)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &Result{What: fmt.Sprintf("a table of %d pairs", len(p.List)), Pairs: &p}, nil
}
