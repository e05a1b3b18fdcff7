package judge

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"evbench/internal/show"
	"evbench/internal/unit"
	"evbench/model/sizes"
	"evbench/site/network"
	"evbench/study/judge/foreign"
)

// Words are the user's settings for the job and its result, "" where missing.
type Words struct {
	Hosts                string // the hosts of the job, a list
	HostsFrom            string // what errors call it
	Result, Format, Case string // file or number; its form; of several results the one
	Partial              bool   // the whole rows of a run that has not ended
	Rate, Size           string // of links; of a message
	Sizes                string // file: what ranks send each other
	More                 []foreign.Format
}

// Read sets Hosts, Rate and Result of an input that has its network. file returns the content of a
// file.
func (w Words) Read(in *Input, file func(name string) ([]byte, error)) (err error) {
	var addresses map[string]string
	if w.Hosts, addresses, err = network.Addresses(w.Hosts, in.Net); err != nil {
		return fmt.Errorf("--hosts: %w", err)
	}
	if err = w.result(in, file, addresses); err != nil {
		return err
	}
	switch r := in.Result; {
	case w.Size != "" && (r == nil || r.Bytes == 0):
		return errors.New("--size is for the time of a call, or chooses among the sizes of an output: there are none here")
	case w.Case != "" && (r == nil || r.Format != foreign.Own):
		return errors.New("--case chooses among the cases of our own results: there are none here")
	}
	if in.Hosts, err = w.hosts(in); err == nil && w.Sizes != "" {
		in.Bytes, err = w.matrix(in, file)
		err = within("--sizes "+w.Sizes, err)
	}
	if err != nil || w.Rate == "" {
		return err
	}
	r, err := unit.ParseRate(w.Rate)
	if err != nil {
		return fmt.Errorf("--rate: %w", err)
	}
	if in.Rate = float64(r); r <= 0 {
		return fmt.Errorf("--rate %s: must be above 0", w.Rate)
	}
	return nil
}

// hosts reads the list of hosts. Without a list it takes the hosts of the result, if it names them,
// else all hosts of the network.
func (w Words) hosts(in *Input) (h network.Job, err error) {
	switch {
	case w.Hosts != "":
		h, err = network.ReadJob(strings.NewReader(w.Hosts), in.Net)
		if err == nil && in.Result != nil && in.Result.Hosts != nil {
			err = w.agree(h, in)
		}
		return h, within(w.HostsFrom, err)
	case in.Result != nil && in.Result.Hosts != nil && known(in.Result.Hosts, in.Net):
		h, err = ranksOf(in.Result.Hosts, in.Net)
		return h, within(w.Result, err)
	case in.Result != nil && in.Result.Pairs != nil:
		if h, err = HostsOf(in.Result.Pairs, in.Net); err != nil && (in.Result.Format == foreign.Iperf3 || in.Result.Format == foreign.Perftest) {
			err = fmt.Errorf("%w; --hosts NAME@ADDRESS,… says whose addresses its tests have", err)
		}
		return h, within(w.Result, err)
	case in.Net.Hosts() < 2:
		return h, fmt.Errorf("--network %s: %d hosts: an exchange needs two", in.Name, in.Net.Hosts())
	}
	h = network.AllHosts(in.Whole)
	return h, within(w.Result, placed(&h, in.Result))
}

// placed sets the ranks on each adapter of all hosts, as far as the result says how many there are. What it says of
// hosts by other names is taken where it has as many; where it leaves several ways, nothing is taken.
func placed(h *network.Job, r *foreign.Result) error {
	hosts := h.Hosts()
	switch {
	case r == nil:
		return nil
	case r.Hosts != nil: // by other names
		ranks := len(r.Hosts)
		n, alike := distinct(r.Hosts)
		if n != hosts {
			return fmt.Errorf("its %d ranks ran on %s, such as %s, which the network of %d hosts does not have: --hosts says which of its hosts, or adapters, these are", ranks, show.Plural(n, "host", "hosts"), r.Hosts[0], hosts)
		}
		if !alike || ranks%len(h.Nodes) > 0 {
			return fmt.Errorf("its %d ranks ran on %d hosts, on some more than on others: hosts with equally many are judged", ranks, n)
		}
		h.Slots = ranks / len(h.Nodes)
		r.Notes = append(r.Notes, fmt.Sprintf("the network has no %s: the hosts of the result are taken in their order for those of the network (--hosts says which is which)", r.Hosts[0]))
		return nil
	case r.OnHost == 0:
		return nil
	}
	ranks := cmp.Or(r.Ranks, r.OnHost*hosts)
	if ranks != r.OnHost*hosts || ranks%len(h.Nodes) > 0 {
		return fmt.Errorf("its command started %d ranks, %d on each host, and the network has %d hosts: --hosts says which of them took part", ranks, r.OnHost, hosts)
	}
	r.Ranks, h.Slots = ranks, ranks/len(h.Nodes)
	return nil
}

// distinct returns how many hosts ranks have, and whether each has as many ranks.
func distinct(ranks []string) (hosts int, alike bool) {
	count, most := map[string]int{}, 0
	for _, name := range ranks {
		count[name]++
		most = max(most, count[name])
	}
	return len(count), most*len(count) == len(ranks)
}

// known reports whether a network, which may be a notation, has one of some hosts.
func known(hosts []string, n *network.Network) bool {
	names := network.NewHostNames(n)
	return slices.ContainsFunc(hosts, func(name string) bool { _, _, err := names.Find(name); return err == nil })
}

// ranksOf returns the job of the hosts of ranks.
func ranksOf(hosts []string, n *network.Network) (h network.Job, err error) {
	count, order := map[string]int{}, []string(nil)
	for _, name := range hosts {
		if count[name]++; count[name] == 1 {
			order = append(order, name)
		}
	}
	if len(order) == 1 {
		return h, fmt.Errorf("all %d ranks ran on %s: nothing went over the network", len(hosts), order[0])
	}
	var list strings.Builder
	for _, name := range order {
		fmt.Fprintf(&list, "%s slots=%d\n", name, count[name])
	}
	return network.ReadJob(strings.NewReader(list.String()), n)
}

// HostsOf are the hosts of the ends of pairs, in the order of their first ends. For a linear shift
// the ends are ranks, and all hosts have equally many.
func HostsOf(p *foreign.Pairs, n *network.Network) (network.Job, error) {
	names, ends, out := network.NewHostNames(n), map[network.Node]int{}, network.Job{Slots: 1}
	for _, name := range p.Names {
		v, _, err := names.Find(name)
		if err != nil {
			return network.Job{}, err
		}
		if ends[v] == 0 {
			out.Nodes = append(out.Nodes, v)
		}
		ends[v]++
	}
	if len(out.Nodes) < 2 {
		return network.Job{}, fmt.Errorf("%s: a pair needs two", show.Plural(len(out.Nodes), "host", "hosts"))
	}
	if p.Shifts {
		out.Slots = ends[out.Nodes[0]]
		for _, v := range out.Nodes {
			if ends[v] != out.Slots {
				return network.Job{}, network.Unequal(n, out.Nodes[0], v, ends)
			}
		}
	}
	return out, nil
}

// agree returns an error if the hosts that an output names are not those of the list. Where the
// network does not know their names, their numbers count.
func (w Words) agree(h network.Job, in *Input) error {
	own, err := ranksOf(in.Result.Hosts, in.Net)
	hosts, _ := distinct(in.Result.Hosts)
	a, b := slices.Sorted(slices.Values(own.Nodes)), slices.Sorted(slices.Values(h.Nodes))
	switch {
	case err == nil && !slices.Equal(a, b), err != nil && hosts != h.Hosts():
		return fmt.Errorf("the list has other hosts than %s, whose ranks ran on %s", w.Result, show.Few(in.Result.Hosts))
	case len(in.Result.Hosts) != h.Slots*len(h.Nodes):
		return fmt.Errorf("the list has %d ranks, %s has %d", h.Slots*len(h.Nodes), w.Result, len(in.Result.Hosts))
	}
	return nil
}

func (w Words) result(in *Input, file func(name string) ([]byte, error), addresses map[string]string) (err error) {
	o := foreign.Options{Addresses: addresses, Format: w.Format, More: w.More, Case: w.Case, Sized: w.Sizes != "", Partial: w.Partial}
	if names := foreign.Formats(w.More...); !slices.Contains(names, o.Format) {
		return fmt.Errorf("--format %q: there are %s", o.Format, strings.Join(names, ", "))
	}
	if w.Size != "" {
		size := w.Size
		if strings.Trim(size, "0123456789") == "" {
			size += "B"
		}
		b, err := unit.ParseBytes(size)
		if err != nil {
			return fmt.Errorf("--size: %w", err)
		}
		if o.Size = int64(b); b <= 0 {
			return fmt.Errorf("--size %s: must be above 0", w.Size)
		}
	}
	if w.Result == "" {
		return nil
	}
	data, err := file(w.Result)
	if errors.Is(err, fs.ErrNotExist) && o.Format == foreign.Auto {
		if in.Result, err = foreign.ParseNumber(w.Result, o); err != nil {
			return fmt.Errorf("--result %w", err)
		}
		return nil
	} else if err != nil {
		return err
	}
	in.ResultFile = w.Result
	in.Result, err = foreign.Read(data, o)
	return within(w.Result, err)
}

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
