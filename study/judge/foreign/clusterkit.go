package foreign

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"evbench/internal/unit"
)

var (
	clusterKitHead = pattern(`(?m)^[ \t]*Rank:([ \t]+\d+)+[ \t\r]*$`)
	clusterKitRow  = pattern(`^(\d+) +\( *([^()\s]+) *\) *:([ \d.]*)$`)
	clusterKitRate = pattern(`\d+\.\d`)
)

// A clusterKit is what the file says, as far as it has been read.
type clusterKit struct {
	ranks       int // 0: before the head
	rates       [][]string
	least, said float64 // of the matrix, and as the file states it
	unit        unit.Rate
	p           Pairs
}

// readClusterKit reads bandwidth.txt of ClusterKit (HPC-X); checked against what a published script around 2.21.3 takes from it, without a
// real run. A figure has one decimal and a width of eight, so that two may touch:
//
//	Rank:            0       1       2
//	   0 (node1 ):      0.0 98522.9 98410.2
//	…
//	Minimum bandwidth: 98247.0 MB/s between node1 and node3
//
// A pair is measured once, beside others, and has the same figure in both rows: the sum of its directions, or with
// the option -U of that run one of them, which the file does not say. So rates are only compared with each other.
func readClusterKit(data []byte, _ Options) (*Result, error) {
	x := clusterKit{p: Pairs{Both: true, Relative: true}}
	err := lines(data, x.line)
	switch {
	case err != nil:
		return nil, err
	case x.ranks != len(x.rates):
		return nil, fmt.Errorf("%d rows of %d ranks: the file is cut", len(x.rates), x.ranks)
	case x.said == 0:
		return nil, errors.New(`no line "Minimum bandwidth:" behind the matrix: the run ended before that`)
	case x.least != x.said:
		return nil, fmt.Errorf("the least figure of the matrix is %.1f, of the line \"Minimum bandwidth:\" %.1f: not of one run", x.least, x.said)
	}
	for i := range x.p.List {
		x.p.List[i].Rate *= float64(x.unit)
	}
	r := &Result{What: fmt.Sprintf("ClusterKit, %d pairs", len(x.p.List)), Pairs: &x.p}
	r.note("the file does not say whether a rate is that of one direction or of both together, nor which pairs ran at the same time: slow pairs can have links of hosts in common only")
	return r, nil
}

func (x *clusterKit) line(n int, text string, f []string) (err error) {
	row := clusterKitRow().FindStringSubmatch(text)
	switch {
	case len(f) > 1 && f[0] == "Rank:" && x.ranks > 0:
		return fmt.Errorf("line %d: a second matrix: give one run", n)
	case len(f) > 1 && f[0] == "Rank:":
		if x.ranks = len(f) - 1; x.ranks > maxEnds {
			return fmt.Errorf("line %d: %d ranks, more than %d", n, x.ranks, maxEnds)
		}
	case x.ranks > 0 && row != nil:
		return x.row(n, row)
	case strings.HasPrefix(text, "Minimum latency:"):
		return fmt.Errorf("line %d: this is a matrix of latencies: give bandwidth.txt of the same folder", n)
	case strings.HasPrefix(text, "Minimum bandwidth:") && len(f) > 3:
		if x.unit, err = unit.ParseRate("1" + f[3]); err == nil {
			x.said, err = strconv.ParseFloat(f[2], 64)
		}
		if err != nil {
			return fmt.Errorf("line %d: %q: no rate with a unit", n, short(text))
		}
	}
	return nil
}

// row takes the row of a rank, and its pairs with those before it. 0 stands for one that was not measured.
func (x *clusterKit) row(n int, row []string) error {
	i, figures := len(x.rates), clusterKitRate().FindAllString(row[3], -1)
	if row[1] != strconv.Itoa(i) || len(figures) != x.ranks || strings.TrimSpace(clusterKitRate().ReplaceAllString(row[3], "")) != "" {
		return fmt.Errorf("line %d: %q is not rank %d with %d figures of one decimal", n, short(row[0]), i, x.ranks)
	}
	if x.p.end(row[2]) != i {
		return fmt.Errorf("line %d: %s has several ranks: give a run with one on each host", n, short(row[2]))
	}
	x.rates = append(x.rates, figures)
	for j, text := range figures[:i] {
		if text != x.rates[j][i] {
			return fmt.Errorf("line %d: %s and %s have different figures in their two rows: which of them is what each got is not known; write a table of pairs, src,dst,Gbit/s", n, x.p.Names[j], row[2])
		}
		rate, err := number(n, text, "rate")
		switch {
		case err != nil:
			return err
		case rate == 0:
			continue
		case x.least == 0 || rate < x.least:
			x.least = rate
		}
		x.p.List = append(x.p.List, Pair{Src: j, Dst: i, Rate: rate, Group: len(x.p.List)})
	}
	return nil
}
