package wrapped

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/show"
	"evbench/plan"
)

// oneEach checks that mpirun would start a rank on each host for each of its adapters. It checks
// nothing if the launcher does not say what it would start.
func (l *Launcher) oneEach(ctx context.Context, adapters []Host) error {
	if l == nil || len(l.Command) == 0 || l.hydra {
		return nil
	}
	listed, err := l.listed(ctx)
	if err != nil {
		return err
	}
	ranks, total, want := map[string]int{}, 0, map[string]int{}
	for _, x := range listed {
		for _, name := range x.Names {
			ranks[plain(name)] += x.Slots
			total += x.Slots
		}
	}
	for _, a := range adapters {
		want[plain(a.Name)]++
	}
	const rule = "hosts with several adapters have one rank on each; --hosts may name those that take part, HOST ADAPTER a line"
	for _, a := range adapters {
		if n, of := ranks[plain(a.Name)], want[plain(a.Name)]; n != of && !strings.HasPrefix(a.Name, AnyHost) {
			return fmt.Errorf("mpirun starts %s on %s for %s: %s", show.Plural(n, "rank", "ranks"), a.Name, show.Plural(of, "adapter", "adapters"), rule)
		}
	}
	if total != len(adapters) {
		return fmt.Errorf("mpirun starts %s for %d adapters: %s", show.Plural(total, "rank", "ranks"), len(adapters), rule)
	}
	return nil
}

// plain returns a host's name without domain and in lower case.
func plain(name string) string { return strings.ToLower(hostlist.Plain(name)) }

// choose has ranks whose adapters are named use them over UCX, and says what the user has to do.
func (s *Session) choose(hosts []plan.Host) {
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b plan.Host) int { return a.Order - b.Order })
	var lists []string
	at, several := map[string]int{}, false
	for _, h := range hosts {
		i, there := at[h.Name]
		if several = several || there; !there {
			i = len(lists)
			at[h.Name], lists = i, append(lists, h.Name)
		}
		if h.Adapter != "" {
			lists[i] += "/" + h.Adapter
		}
	}
	lists = slices.DeleteFunc(lists, func(l string) bool { return !strings.Contains(l, "/") })
	s.Order.Devices = strings.Join(lists, ",")
	switch {
	case s.Order.Devices != "":
		s.Say("over UCX the library has each rank use the adapter of its line (UCX_NET_DEVICES, unless that is set); " +
			"over other layers choose it yourself, by the rank on the host")
	case several:
		s.Say("the n-th rank of a host must use its n-th adapter: choose it by the rank on the host; " +
			"over UCX the library does so (UCX_NET_DEVICES) where --hosts names adapters, HOST ADAPTER a line")
	}
	if s.Order.Devices != "" && len(s.Launcher.Command) == 0 {
		s.Say("beside EVBENCH_PLAN set EVBENCH_DEVICES=%s", s.Order.Devices)
	}
}

// A header holds the hosts that the text of a plan lists, in the order of their lines. The ranks on a host take its
// lines in that order.
type header struct {
	hosts []plan.Host // with adapters
	bits  []pathBits  // those of hosts without a line follow, by rank; nil: the plan has none
}

// A pathBits is what a host adds to the first LID of a destination; "" is a host without a name.
type pathBits struct{ host, bits string }

func headerIn(r io.Reader) (h header, err error) {
	var ranks, names []string // of the lines of hosts
	for in := bufio.NewReader(r); ; {
		line, err := in.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "#") {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return h, err
		}
		switch f := strings.Fields(line); {
		case len(f) > 3 && f[1] == "x-host":
			ranks, names = append(ranks, f[2]), append(names, f[3])
			if len(f) == 6 {
				h.hosts = append(h.hosts, plan.Host{Name: f[3], Adapter: f[5]})
			}
		case len(f) == 3 && f[1] == "path-bits":
			all := strings.Split(f[2], ",")
			for i, rank := range ranks {
				if k, err := strconv.Atoi(rank); err == nil && k >= 0 && k < len(all) {
					h.bits = append(h.bits, pathBits{names[i], all[k]})
				}
			}
			for _, bits := range all[min(len(ranks), len(all)):] {
				h.bits = append(h.bits, pathBits{"", bits})
			}
		}
	}
}

// send has ranks send over UCX with path bits, where their hosts have names.
func (s *Session) send(bits []pathBits) {
	var lists []string
	at := map[string]int{}
	for _, b := range bits {
		if b.host == "" || strings.HasPrefix(b.host, AnyHost) {
			s.Say("the plan has path bits and its hosts no names: set UCX_IB_LID_PATH_BITS on each host yourself, by the line path-bits of the plan")
			return
		}
		i, there := at[b.host]
		if !there {
			i = len(lists)
			at[b.host], lists = i, append(lists, b.host)
		}
		lists[i] += "/" + b.bits
	}
	if s.Order.Bits = strings.Join(lists, ","); s.Order.Bits == "" {
		return
	}
	s.Say("over UCX the library has each host send with the plan's path bits (UCX_IB_LID_PATH_BITS, unless that is set); other layers send to first LIDs")
	if len(s.Launcher.Command) == 0 {
		s.Say("beside EVBENCH_PLAN set EVBENCH_PATH_BITS=%s", s.Order.Bits)
	}
}
