package foreign

import (
	"bytes"
	"regexp"
	"strings"
)

// The collectives that are read beside the all-to-all: their programs print the same tables under other names.
const (
	AllGather     = "allgather"
	ReduceScatter = "reducescatter"
	AllReduce     = "allreduce"
)

// collectives are how programs name them: titles of OSU and IMB, and programs of all three. Sizes of programs whose buffer
// is whole are those of all blocks together, as of nccl-tests' alltoall_perf, too.
var collectives = []struct {
	name  string
	is    func() *regexp.Regexp // of a table or program
	nccl  bool                  // the size is that of the whole buffer for alltoall, too
	whole bool
}{
	{AllGather, pattern(`all_gather_perf`), true, false},
	{ReduceScatter, pattern(`reduce_scatter_perf`), true, false},
	{AllReduce, pattern(`all_reduce_perf`), true, false},
	{AllGather, pattern(`OSU MPI Allgather Latency|osu_allgather\b|# Benchmarking Allgather\b`), false, false},
	{ReduceScatter, pattern(`OSU MPI Reduce_scatter Latency|osu_reduce_scatter\b|# Benchmarking Reduce_scatter\b`), false, true},
	{AllReduce, pattern(`OSU MPI Allreduce Latency|osu_allreduce\b|# Benchmarking Allreduce\b`), false, true},
}

var (
	allToAll   = pattern(`(?i)all-?to-?all`)
	tableTitle = pattern(`OSU MPI \w+ Latency|# Benchmarking \w+|all_gather_perf|reduce_scatter_perf|all_reduce_perf`)
)

// collective returns which collective an output without an all-to-all is of, and the output under the names of
// alltoall; "" where it is of none or of several.
func collective(data []byte) (name string, renamed []byte, whole bool) {
	if allToAll().Match(data) || !tableTitle().Match(data) {
		return "", data, false
	}
	renamed = data
	for _, c := range collectives {
		if !c.is().Match(data) {
			continue
		}
		if name != "" && name != c.name {
			return "", data, false
		}
		name, whole = c.name, c.whole
		to := "Alltoall"
		if c.nccl {
			to = "alltoall_perf"
		}
		renamed = c.is().ReplaceAllFunc(renamed, func(is []byte) []byte {
			switch {
			case bytes.HasPrefix(is, []byte("OSU")):
				return []byte("OSU MPI All-to-All Personalized Exchange Latency")
			case bytes.HasPrefix(is, []byte("osu_")):
				return []byte("osu_alltoall")
			case bytes.HasPrefix(is, []byte("#")):
				return []byte("# Benchmarking Alltoall")
			}
			return []byte(to)
		})
	}
	return name, renamed, whole
}

// programs are names of alltoall, which stand for those of the collective in what is said of it.
var programs = pattern(`osu_alltoall|alltoall_perf|Alltoall`)

// of marks a result as one of a collective.
func (r *Result) of(name string, whole bool) {
	if name == "" {
		return
	}
	r.Collective, r.Whole = name, whole
	each := " bytes a block"
	if whole {
		each = " bytes in all"
	}
	r.What, r.Limit = programs().ReplaceAllString(r.What, name), programs().ReplaceAllString(r.Limit, name)
	r.What = strings.Replace(r.What, " bytes from a rank to each other", each, 1)
}
