package foreign

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// meanNCCL is the Limit of alltoall_perf, whose -a is 1 (the mean) unless it is given.
const meanNCCL = "the time is the mean of the ranks, and a call ends with the slowest (alltoall_perf -a 3 prints its time, which text does not say)"

var otherNCCL = regexp.MustCompile(`\b(all_reduce|all_gather|broadcast|gather|hypercube|reduce|reduce_scatter|scatter|sendrecv)_perf`)

// isNCCL tells outputs of nccl-tests and rccl-tests by keys of JSON that no other has, and columns of text.
func isNCCL(data []byte) bool {
	if isRCCL(data) || !isJSON(data) {
		return isRCCL(data) || containing("algbw")(data) && containing("busbw")(data)
	}
	return containing(`"nccl_version"`)(data) || containing(`"rccl_version"`)(data)
}

func readNCCL(data []byte, o Options) (*Result, error) {
	switch {
	case isRCCL(data):
		return readRCCLJSON(data, o.Size)
	case isJSON(data):
		return readNCCLJSON(data, o.Size)
	}
	return readNCCLText(data, o.Size, o.Format == NCCL)
}

// readNCCLText reads the text that alltoall_perf of nccl-tests and rccl-tests prints; checked
// against the forms of nccl-tests with NCCL 2.26 and 2.30, of nccl-tests 2.17 to the source of 2.19.6 (with -T and -I, too), and of
// rccl-tests 2.17:
//
//	# Collective test starting: alltoall_perf
//	#  Rank  0 Group  0 Pid 100 on node1 device  0 [0x07] NVIDIA A100
//	#       size         count      type   redop    root     time   algbw   busbw #wrong …
//	    16777216        262144     float    none      -1   1234.5   13.59   11.89    N/A …
//
// size is the whole buffer of a rank: it sends size/ranks to each rank (doc/PERFORMANCE.md).
// The columns of the exchange out of place are read. Only newer versions name the program,
// and all_gather_perf prints the same columns: where the text does not name alltoall_perf,
// sure must say that it is of that program.
func readNCCLText(data []byte, size int64, sure bool) (*Result, error) {
	if !sure && !bytes.Contains(data, []byte("alltoall_perf")) {
		return nil, fmt.Errorf("it does not say of which program of nccl-tests it is: if it is alltoall_perf, say so by the format %s", NCCL)
	}
	var rows []row
	ranks, at, columns, group := 0, -1, 0, ""
	err := lines(data, func(n int, text string, f []string) error {
		switch {
		case otherNCCL.MatchString(text):
			return fmt.Errorf("line %d: %q is no all-to-all", n, short(text))
		case len(f) > 2 && f[0] == "#" && f[1] == "Rank" && isCount(f[2]):
			ranks++
			if len(f) > 4 && f[3] == "Group" {
				if group != "" && f[4] != group {
					return fmt.Errorf("line %d: ranks in groups %s and %s: several exchanges at once (NCCL_TESTS_SPLIT)", n, short(group), short(f[4]))
				}
				group = f[4]
			}
		case strings.HasPrefix(text, "# Out of bounds values") && strings.HasSuffix(text, "FAILED"):
			return fmt.Errorf("line %d: alltoall_perf found wrong elements", n)
		case len(f) > 2 && f[0] == "#" && f[1] == "size" && slices.Contains(f, "busbw"):
			if at = slices.Index(f, "time") - 1; at < 5 || f[at-1] != "redop" || f[at] != "root" { // one less without the #
				return fmt.Errorf("line %d: columns are size count type redop root time algbw busbw, not %q", n, short(text))
			}
			for i, name := range f {
				if name == "#wrong" || name == "error" {
					columns = i // less the #
				}
			}
		case at > 0 && len(f) > 0 && isCount(f[0]) && len(f) < max(columns, at+1):
			return fmt.Errorf("line %d: %d columns of %d: %q is cut, or without the exchange out of place", n, len(f), columns, short(text))
		case at > 0 && len(f) > at && isCount(f[0]):
			if f[at-1] != "-1" || f[at-2] != "none" {
				return fmt.Errorf("line %d: redop %s and root %s are not those of an all-to-all", n, short(f[at-2]), short(f[at-1]))
			}
			if w := at + 3; w < len(f) && f[w] != "0" && f[w] != "N/A" && f[w] != "0e+00" {
				return fmt.Errorf("line %d: %s wrong elements", n, short(f[w]))
			}
			r, err := timed(n, f[0], f[at])
			rows = append(rows, r)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, fmt.Errorf("no line with the columns size, redop, root, time, algbw and busbw")
	}
	if ranks < 2 {
		return nil, fmt.Errorf("%d lines \"# Rank\": how many ranks took part is not known", ranks)
	}
	return ofBuffers(rows, ranks, meanNCCL).result(size)
}

// ofBuffers is the table of rows whose size is the whole buffer of a rank. Below a byte for each rank it is
// no exchange.
func ofBuffers(rows []row, ranks int, limit string) table {
	for i := range rows {
		rows[i].bytes /= int64(ranks)
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.bytes == 0 })
	return table{"alltoall_perf", ranks, limit, rows}
}
