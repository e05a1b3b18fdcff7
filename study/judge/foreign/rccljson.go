package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// rcclResult is what alltoall_perf of rccl-tests writes with -x FILE -Z json of one size.
type rcclResult struct {
	Name    string  `json:"name"`
	Size    int64   `json:"size"`
	Redop   string  `json:"redop"`
	InPlace int     `json:"inPlace"`
	Time    float64 `json:"time"` // µs
	Wrong   string  `json:"wrong"`
	GPUs    int     `json:"gpus"` // without MPI: of the process
	// With MPI: of processes in all, in a communicator, and GPUs of a process. What is called
	// nodes is how many communicators there are.
	Nodes        int `json:"nodes"`
	Ranks        int `json:"ranks"`
	RanksPerNode int `json:"ranksPerNode"`
	GPUsPerRank  int `json:"gpusPerRank"`
}

// isRCCL reports whether this is JSON of rccl-tests' own, by keys that nccl-tests writes otherwise.
func isRCCL(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n["), []byte("{")) && bytes.Contains(data, []byte(`"algBw"`)) && bytes.Contains(data, []byte(`"inPlace"`))
}

// readRCCLJSON reads the file of -Z json; checked against the source of rccl-tests of 2024, which writes one object
// after the other, and of rocm-systems of 2026 (rccl-tests 2.17.9), which writes a list of them when all is measured:
//
//	[
//	{"numCycle":0, "name":"AlltoAll", "nodes":1, "ranks":16, "ranksPerNode":16, "gpusPerRank":1, "size":1048576,
//	 "type":"float", "redop":"none", "inPlace":0, "time":123.400000, "algBw":8.5, "busBw":7.9, "wrong":"0"},
//
// size is the whole buffer of a rank. The exchange out of place is read.
func readRCCLJSON(data []byte, size int64) (*Result, error) {
	list, err := rcclResults(data)
	if err != nil {
		return nil, fmt.Errorf("no list of results of rccl-tests: %w", err)
	}
	ranks := 0
	var rows []row
	for i, r := range list {
		n := r.GPUs
		if r.Ranks > 0 {
			n = r.RanksPerNode * r.GPUsPerRank
		}
		switch {
		case r.Name != "AlltoAll":
			return nil, fmt.Errorf("result %d is of %q, not of AlltoAll", i+1, short(r.Name))
		case r.Redop != "none":
			return nil, fmt.Errorf("result %d: redop %q is not that of an all-to-all", i+1, short(r.Redop))
		case r.Nodes > 1 || r.Ranks != r.RanksPerNode:
			return nil, fmt.Errorf("result %d: %d communicators of %d ranks at once (NCCL_TESTS_SPLIT)", i+1, r.Nodes, r.RanksPerNode)
		case n < 2 || n > 1<<20 || ranks > 0 && n != ranks:
			return nil, fmt.Errorf("result %d: %d ranks, after %d", i+1, n, ranks)
		case r.Wrong != "0" && r.Wrong != "N/A":
			return nil, fmt.Errorf("result %d: %s wrong elements", i+1, short(r.Wrong))
		case r.Size < 0 || r.Size > most || !(r.Time > 0 && r.Time <= most):
			return nil, fmt.Errorf("result %d: %d bytes in %v µs", i+1, r.Size, r.Time)
		}
		ranks = n
		if r.InPlace == 0 {
			rows = append(rows, row{r.Size, r.Time / 1e6})
		}
	}
	return ofBuffers(rows, ranks, meanNCCL).result(size)
}

// rcclResults reads a list, or one object after the other.
func rcclResults(data []byte) (list []rcclResult, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		err = json.Unmarshal(data, &list)
		return list, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var r rcclResult
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("result %d: %w", len(list)+1, err)
		}
		list = append(list, r)
	}
}
