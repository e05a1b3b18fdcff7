package judge

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"evbench/internal/show"
	"evbench/model/sizes"
	"evbench/scheduler/list"
	"evbench/site/network"
	"evbench/study/judge/foreign"
)

// matrix reads the bytes that ranks send each other, and sums them for adapters: by src·adapters +
// dst.
func (w Words) matrix(in *Input, file func(name string) ([]byte, error)) ([]int64, error) {
	data, err := file(w.Sizes)
	if err != nil {
		return nil, err
	}
	stated, err := sizes.ReadMatrix(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	names, at := network.NewHostNames(in.Net), map[network.Node]int{}
	for i, v := range in.Hosts.Nodes {
		at[v] = i
	}
	h, k := len(in.Hosts.Nodes), in.Hosts.Slots
	if stated.Names != nil && k > 1 {
		return nil, fmt.Errorf("a header names hosts, and adapters have %d ranks each: give a matrix of ranks", k)
	}
	m, err := stated.For(h*k, func(name string) (int, bool) {
		v, _, err := names.Find(name)
		i, there := at[v]
		return i, err == nil && there
	})
	if err != nil {
		return nil, fmt.Errorf("%w: the job has %s with %s each", err, show.Plural(h, "adapter", "adapters"), show.Plural(k, "rank", "ranks"))
	}
	out := make([]int64, h*h)
	sent, received := make([]int64, h*k), make([]int64, h*k) // with a rank's own
	for src := range h * k {
		for dst := range h * k {
			sent[src] += m.Size(src, dst)
			received[dst] += m.Size(src, dst)
			if src != dst {
				out[src/k*h+dst/k] += m.Size(src, dst)
			}
		}
	}
	most := max(slices.Max(sent), slices.Max(received))
	if r := in.Result; r != nil && r.Busiest > most+aligned*int64(h*k) {
		return nil, fmt.Errorf("its busiest rank has %d bytes, that of %s %d: they belong to different runs (nccl-tests multiplies a matrix by NCCL_TESTS_ALLTOALLV_MATRIX_SCALE)",
			most, w.Result, r.Busiest)
	}
	return out, nil
}

// sized checks that a result has messages of the given sizes, or of equal size without them.
func (f *fabric) sized(r *foreign.Result) error {
	switch {
	case r == nil:
	case f.traffic.bytes == nil && r.Sized:
		return errors.New("its messages have sizes, which it does not state: give them with --sizes")
	case f.traffic.bytes != nil && !r.Sized && r.Efficiency == 0:
		return errors.New("--sizes is for the time of a call, a share of the link rate, or alltoallv_perf: this result is of equal messages, or a rate")
	case r.Busiest > 0 && f.traffic.most > r.Busiest*int64(f.hosts.Slots)+aligned*int64(f.traffic.servers*f.hosts.Slots):
		return fmt.Errorf("its busiest rank has %d bytes, that of --sizes %d: they belong to different runs", r.Busiest, f.traffic.most)
	}
	return nil
}

// aligned is the most bytes by which alltoallv_perf shortens a message.
const aligned = 15

// sizedPlan plans fragments of these sizes, without phases.
func (v *Verdict) sizedPlan(f *fabric) {
	m, err := list.NewMatrix(f.tree.Servers())
	if err == nil && !f.even {
		err = errors.New("links have different rates")
	}
	for i := 0; err == nil && i < len(f.job); i++ {
		for j := 0; err == nil && j < len(f.job); j++ {
			if n := f.traffic.size(f.job[i], f.job[j]); n > 0 {
				err = m.Set(i, j, n)
			}
		}
	}
	var p *list.Plan
	if err == nil {
		p, err = list.Make(f.tree, m, list.Options{Split: true})
	}
	if err != nil {
		v.note("no order was planned: %v", err)
		return
	}
	v.Planned = &Planned{Schedule: "ordered", Efficiency: float64(v.each) / float64(p.Time)}
}
