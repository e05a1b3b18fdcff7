package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"evbench/results"
	"evbench/site/mpi"
)

type kind int

const (
	cProgram kind = iota // c/alltoall.c under mpirun
	bare                 // ranks of this program, see alltoall.go
	whole                // evbench run: events, requests, a controller
)

const (
	netTCP    = "TCP"
	netShared = "shared memory"
)

const barriers = "barrier"

type side struct {
	kind    kind
	net     string
	mode    string // cProgram: its own; else those of alltoall.go, or barriers
	batch   int    // exchanges at once; 0 means 1
	drop    bool   // bare: fragments are discarded
	shared  bool   // bare: all get the same memory
	payload bool   // whole: check: payload
}

type row struct {
	Work   string `json:"work"`
	Ranks  int    `json:"ranks"`
	Size   int    `json:"size_bytes,omitempty"` // of a fragment; 0: no fragments
	Ours   side   `json:"ours"`
	Theirs side   `json:"theirs"`
	// Own: each rank has a processor of its own. Else ranks share processors.
	Own bool `json:"own_processors"`
	Goal
}

// bound reports whether each rank of both sides is kept on a processor of its own: evbench places its
// workers, and a controller beside them, itself.
func (r row) bound() bool { return r.Own && r.Ours.kind != whole && r.Theirs.kind != whole }

// processors says whether ranks share processors.
func (r row) processors() string {
	return map[bool]string{true: "own", false: "shared"}[r.Own]
}

func (r row) String() string {
	s := fmt.Sprintf("%s, n=%d", r.Work, r.Ranks)
	if r.Size > 0 {
		s += ", " + sizeText(r.Size)
	}
	return fmt.Sprintf("%s, %s processors: %s / %s", s, r.processors(), r.Ours, r.Theirs)
}

func sizeText(size int) string {
	if size%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", size>>20)
	}
	return fmt.Sprintf("%d KiB", size>>10)
}

// MarshalText is String.
func (s side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s side) String() string {
	words := []string{}
	switch s.kind {
	case cProgram:
		words = append(words, "C", map[string]string{"isend": "isend/waitall", barriers: "MPI_Barrier"}[s.mode], "over", s.net)
	case bare:
		over := "MPI, " + s.net
		if s.net == netTCP {
			over = netTCP
		}
		words = append(words, "ours", map[string]string{Unsync: "unsync", Phases: "phases", barriers: "tournament"}[s.mode], "over", over)
	case whole:
		words = append(words, "evbench run", s.mode)
		if s.payload {
			words = append(words, "CRC-32C")
		}
	}
	if s.drop {
		words = append(words, "discard")
	}
	if s.batch > 1 {
		words = append(words, fmt.Sprintf("%d at once", s.batch))
	}
	return strings.Join(words, " ")
}

const (
	kib64 = 64 << 10
	mib   = 1 << 20
	// atOnce is how many exchanges are posted in one call if the number of calls into C matters.
	atOnce = 8
)

// rows are all that can be measured with the MPI that this binary is built for, on so many processors:
// with another MPI than Open MPI, those that do not name its layers.
func rows(processors int) []row {
	all := layerRows(processors)
	if mpi.Family != mpi.MPICH {
		all = slices.Concat(tcpRows(processors), mpiRows(), all, barrierRows(processors), wholeRows(processors))
	}
	for i := range all {
		all[i].Own = all[i].Ranks <= processors
	}
	return all
}

// ranks are the numbers of ranks of a comparison, rising: the usual ones, and those with a processor for
// each rank.
func ranks(processors int, usual ...int) []int {
	own := []int{4, 8, 16}
	if processors < own[0] {
		own = []int{2}
	}
	all := slices.DeleteFunc(own, func(n int) bool { return n > processors })
	all = append(all, usual...)
	slices.Sort(all)
	return slices.Compact(all)
}

// layerRows compare our exchange with that of C over each layer that MPI can have below it. Ranks of
// MPICH spin while they wait: each has a core, or C would wait for ranks that wait.
func layerRows(processors int) (all []row) {
	n := 4
	if mpi.Family == mpi.MPICH {
		n = max(2, min(n, processors))
	}
	for _, layer := range mpi.Layers() {
		over, c := ours, isend
		over.net, c.net = layer.Name, layer.Name
		all = append(all, row{Work: "MPI, " + layer.Name, Ranks: n, Size: mib, Ours: over, Theirs: c, Goal: Goal{Want: 0.97, Touch: 1}})
	}
	return all
}

var (
	isend = side{kind: cProgram, net: netTCP, mode: "isend"}
	ours  = side{kind: bare, net: netTCP, mode: Unsync}
)

func tcpRows(processors int) []row {
	discard, phases := ours, ours
	discard.drop = true
	phases.mode = Phases
	var all []row
	for _, k := range []struct {
		work        string
		side        side
		sizes       []int
		shared, own float64 // goals
	}{
		{"TCP unsynchronised, deliver", ours, []int{mib, 4 * mib}, 1.2, 1.2},
		{"TCP unsynchronised, discard", discard, []int{mib, 4 * mib}, 1.5, 1.5},
		{"TCP unsynchronised, deliver", ours, []int{kib64}, 2.0, 2.0},
		{"TCP phases + tournament", phases, []int{kib64, mib}, 1.0, 1.2},
	} {
		for _, size := range k.sizes {
			for _, n := range ranks(processors, 4, 8) {
				want := k.shared
				if n <= processors {
					want = k.own
				}
				all = append(all, row{Work: k.work, Ranks: n, Size: size, Ours: k.side, Theirs: isend, Goal: Goal{Want: want}})
			}
		}
	}
	return all
}

func mpiRows() []row {
	shared, c := ours, isend
	shared.net, c.net = netShared, netShared
	mpiBatch, cBatch := shared, c
	mpiBatch.batch, cBatch.batch = atOnce, atOnce
	var all []row
	for _, n := range []int{4, 8} {
		for _, size := range []int{mib, 4 * mib} {
			all = append(all, row{Work: "MPI", Ranks: n, Size: size, Ours: shared, Theirs: c, Goal: Goal{Want: 0.95, Touch: 1}})
		}
		all = append(all, row{Work: "MPI batched", Ranks: n, Size: kib64, Ours: mpiBatch, Theirs: cBatch, Goal: Goal{Want: 0.9}})
	}
	return all
}

func barrierRows(processors int) []row {
	tournament, c := ours, isend
	tournament.mode, c.mode = barriers, barriers
	var all []row
	for _, n := range ranks(processors, 8, 16, 32) {
		want := 0.4
		if n <= processors {
			want = 0.65
		}
		all = append(all, row{Work: "barrier over TCP", Ranks: n, Ours: tournament, Theirs: c, Goal: Goal{Want: want, AtMost: true}})
	}
	return all
}

// wholeRows compare full event building with the all-to-all in it: with as many exchanges in flight
// as a worker has events, and with the same memory.
func wholeRows(processors int) []row {
	var header, crc []row
	for _, mode := range []string{Unsync, Phases} {
		w, b := side{kind: whole, mode: mode}, side{kind: bare, net: netTCP, mode: mode, shared: true}
		if mode == Unsync {
			b.batch = 2 // a worker's default credits
		}
		p := w
		p.payload = true
		for _, n := range ranks(processors, 4, 8) {
			header = append(header, row{Work: "whole, check: header", Ranks: n, Size: mib, Ours: w, Theirs: b, Goal: Goal{Want: 0.93}})
			crc = append(crc, row{Work: "whole, check: payload", Ranks: n, Size: mib, Ours: p, Theirs: w, Goal: Goal{Want: 0.7}})
		}
	}
	return append(header, crc...)
}

const schema = "evbench/peers/1"

type document struct {
	Schema  string    `json:"schema"`
	Machine machine   `json:"machine"`
	Rows    []outcome `json:"rows"`
}

// printTable prints a row for each outcome. Both sides are medians over the slots; the ratio is the
// median of the ratios of paired slots, which may differ from the ratio of the medians.
func printTable(w io.Writer, out []outcome) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "work\tn\tsize\tprocessors\tours\ttheirs\t\tratio\t95 % interval\treach\tverdict\tbeside")
	for _, o := range out {
		size := "–"
		if o.Size > 0 {
			size = sizeText(o.Size)
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", o.Work, o.Ranks, size, o.processors(), o.figures(), o.Verdict, o.Theirs)
	}
	return tw.Flush()
}

func (o *outcome) figures() string {
	reach := fmt.Sprintf("%s %.4g", map[bool]string{false: "≥", true: "≤"}[o.AtMost], o.Want)
	if o.LeftOut != "" || o.Failed != "" {
		return fmt.Sprintf("–\t–\t%s\t–\t–\t%s", o.Unit, reach)
	}
	return fmt.Sprintf("%.4g\t%.4g\t%s\t%.3f\t%.3f–%.3f\t%s",
		results.NewStat(o.OurSlots).Median, results.NewStat(o.Slots).Median, o.Unit, o.Median, o.Low, o.High, reach)
}
