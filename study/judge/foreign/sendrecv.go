package foreign

import (
	"errors"
	"fmt"
	"strings"
)

var (
	notSendrecv   = pattern(strings.Replace(otherPrograms, "sendrecv", "alltoallv?", 1))
	sendrecvStart = pattern(`(?m)^` + ncclStart + ` *sendrecv_perf`)
	ncclHead      = pattern(`(?m)^# nThread`)
)

func isSendrecv(data []byte) bool {
	return containing("sendrecv_perf")(data) && isNCCL(data) && !containing("alltoall")(data)
}

// readSendrecv reads the texts of sendrecv_perf of nccl-tests, one behind the other, each of two hosts with one GPU of each:
// both send what size says to the other at the same time. Checked against the source of 2017 to 2.17, whose redop is sum. Of more ranks
// each sends to the next one of a ring: the one figure for all of them is no pair's.
func readSendrecv(data []byte, o Options) (*Result, error) {
	if isJSON(data) {
		return nil, errors.New("give the text that sendrecv_perf prints, not its JSON")
	}
	starts := sendrecvStart().FindAllIndex(data, -1)
	if starts == nil {
		starts = ncclHead().FindAllIndex(data, -1) // older ones
	}
	p := Pairs{Both: true}
	for i, from := range starts {
		run := data[from[0]:]
		if i+1 < len(starts) {
			run = data[from[0]:starts[i+1][0]]
		}
		if err := p.sendrecv(run, o); err != nil {
			return nil, fmt.Errorf("run %d of sendrecv_perf: %w", i+1, err)
		}
	}
	return &Result{What: fmt.Sprintf("sendrecv_perf, runs: %d", len(p.List)), Pairs: &p}, nil
}

func (p *Pairs) sendrecv(run []byte, o Options) error {
	x := &ncclText{of: "sendrecv_perf", op: "sum", not: notSendrecv()}
	if err := x.read(run, o.Partial); err != nil {
		return err
	}
	switch {
	case x.ranks != 2:
		return fmt.Errorf("%d ranks send around a ring, which has one figure for all: run it for each two hosts with one GPU of each, or write a table of pairs, src,dst,Gbit/s", x.ranks)
	case x.hosts == nil || x.hosts[0] == x.hosts[1]:
		return errors.New("its two ranks are not on two hosts")
	}
	best, err := choose(x.rows, o.Size)
	if err != nil {
		return err
	}
	p.List = append(p.List, Pair{p.end(x.hosts[0]), p.end(x.hosts[1]), float64(best.bytes) * 8 / best.seconds, len(p.List)})
	return nil
}
