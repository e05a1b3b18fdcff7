package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// The simulators whose results are read, as the column sim has them.
const (
	BookSim = "booksim2"
	OMNeT   = "omnet_ib_flit"
)

// A Case is a row of a simulator's results, by column.
type Case map[string]string

func (c Case) number(field string) float64 {
	v, _ := strconv.ParseFloat(c[field], 64)
	return v
}

func (c Case) int(field string) int {
	v, _ := strconv.Atoi(c[field])
	return v
}

// counts are the columns that hold whole numbers, by simulator.
var counts = map[string][]string{
	BookSim: {"vcs", "buf_flits", "packet_flits", "warmup_cycles", "measured_cycles", "seed"},
	OMNeT: {"msg_packets", "vls", "buf_flits", "packet_flits", "max_parallel_reads", "warm_us",
		"total_us", "seed"},
}

// Read reads the results of a simulator. An error names the file, line and column; all
// cases are known to have a topology, a routing and a traffic that Run knows.
func Read(file string, r io.Reader) (columns []string, cases []Case, err error) {
	rows := csv.NewReader(r)
	columns, err = rows.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: header: %w", file, err)
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return columns, cases, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		c := Case{}
		for i, v := range row {
			c[columns[i]] = v
		}
		if field, err := c.check(); err != nil {
			line, _ := rows.FieldPos(max(0, slices.Index(columns, field)))
			return nil, nil, fmt.Errorf("%s: line %d: %s: %w", file, line, field, err)
		}
		cases = append(cases, c)
	}
}

// check returns the column that makes a case one that cannot be run.
func (c Case) check() (field string, err error) {
	whole, ok := counts[c["sim"]]
	if !ok {
		return "sim", fmt.Errorf("%q: it must be %s or %s", c["sim"], BookSim, OMNeT)
	}
	for _, f := range whole {
		if v, err := strconv.Atoi(c[f]); err != nil || v < 0 {
			return f, fmt.Errorf("%q: it must be a whole number", c[f])
		}
	}
	if c["offered"] != "batch" || c["sim"] == OMNeT {
		if v, err := strconv.ParseFloat(c["offered"], 64); err != nil || !(v > 0) {
			return "offered", fmt.Errorf("%q: it must be a number above 0", c["offered"])
		}
	}
	if c.int("packet_flits") == 0 {
		return "packet_flits", fmt.Errorf("a packet needs a flit")
	}
	n, err := build(c["topology"])
	if err != nil {
		return "topology", err
	}
	if _, ok := choices[c["routing"]]; !ok {
		return "routing", fmt.Errorf("%q: it is not known", c["routing"])
	}
	if _, _, err := pattern(c["traffic"], n.Hosts()); err != nil {
		return "traffic", err
	}
	return "", nil
}
