package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

type ncclReport struct {
	Version int      `json:"version"`
	Args    []string `json:"args"`
	Config  struct {
		Threads int `json:"nthreads"`
		GPUs    int `json:"ngpus"`
		Devices []struct {
			Rank int `json:"rank"`
		} `json:"devices"`
	} `json:"config"`
	Results []struct {
		Size  int64      `json:"size"`
		Redop string     `json:"redop"`
		Root  string     `json:"root"`
		Out   *ncclTimed `json:"out_of_place"`
		In    *ncclTimed `json:"in_place"`
	} `json:"results"`
	Ended string `json:"end_time"`
}

type ncclTimed struct {
	Time  *float64 `json:"time"` // µs
	Wrong *float64 `json:"nwrong"`
}

// readNCCLJSON reads the file that alltoall_perf of nccl-tests and rccl-tests writes with -J;
// checked against the source of nccl-tests from October 2025, where it begins, to 2.19.6
// (versions 1 to 3 of the form), and of rccl-tests of 2025 (version 1).
//
//	{"version": 3, "args": ["alltoall_perf", …], "nccl_version": 22809,
//	 "config": {"nthreads": 1, "ngpus": 1, "devices": [{"rank": 0, "hostname": "node1", …}, …]},
//	 "results": [{"size": 1048576, "redop": "none", "root": "    -1",
//	              "out_of_place": {"time": 123.4, "alg_bw": 8.5, "bus_bw": 7.4, "nwrong": 0.0}, …}], "end_time": "…"}
//
// size is the whole buffer of a rank. The list of devices has the first one of each process,
// so a run has as many ranks as it has devices, times threads and GPUs of a process.
func readNCCLJSON(data []byte, size int64) (*Result, error) {
	var x ncclReport
	if err := json.Unmarshal(data, &x); err != nil {
		return nil, fmt.Errorf("no report of nccl-tests: %w", err)
	}
	switch {
	case len(x.Args) == 0 || !strings.HasPrefix(path.Base(x.Args[0]), "alltoall_perf"):
		return nil, errors.New("it is not of alltoall_perf: args does not begin with that program")
	case x.Ended == "":
		return nil, errors.New("no end_time: the run did not get so far")
	}
	ranks, err := x.ranks()
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, r := range x.Results {
		t := r.Out
		if t == nil {
			t = r.In
		}
		switch {
		case t == nil || t.Time == nil:
			return nil, fmt.Errorf("results[%d] has no time", i)
		case r.Redop != "none" || strings.TrimSpace(r.Root) != "-1":
			return nil, fmt.Errorf("results[%d]: redop %q and root %q are not those of an all-to-all", i, short(r.Redop), short(r.Root))
		case t.Wrong != nil && *t.Wrong != 0:
			return nil, fmt.Errorf("results[%d]: %v wrong elements", i, *t.Wrong)
		case r.Size < 0 || !(*t.Time >= 0):
			return nil, fmt.Errorf("results[%d]: size and time are at least 0", i)
		}
		rows = append(rows, row{r.Size, *t.Time / 1e6})
	}
	limit := meanNCCL
	if x.slowest() {
		limit = ""
	}
	return ofBuffers(rows, ranks, limit).result(size)
}

// slowest reports whether the times are of the slowest rank: -a 3, of which the last counts.
func (x *ncclReport) slowest() (yes bool) {
	for i, a := range x.Args {
		value, is := strings.CutPrefix(a, "-a")
		if v, ok := strings.CutPrefix(a, "--average"); ok {
			value, is = strings.TrimPrefix(v, "="), true
		}
		if is && value == "" && i+1 < len(x.Args) {
			value = x.Args[i+1]
		}
		if is {
			yes = value == "3"
		}
	}
	return yes
}

func (x *ncclReport) ranks() (int, error) {
	n, each := len(x.Config.Devices), x.Config.Threads*x.Config.GPUs
	if n == 0 || x.Config.Threads < 1 || x.Config.GPUs < 1 || each > 1<<10 {
		return 0, errors.New("config does not say how many ranks took part: it needs devices, nthreads and ngpus")
	}
	if last := x.Config.Devices[n-1].Rank; n == 1 || last == (n-1)*each {
		n *= each // the first device of each process
	} else if last != n-1 {
		return 0, fmt.Errorf("config: the last of %d devices has rank %d", n, last)
	}
	if n < 2 {
		return 0, errors.New("one rank is no exchange")
	}
	return n, nil
}
