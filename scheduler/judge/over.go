package judge

import (
	"fmt"
	"strconv"
	"strings"
)

// Over is what a plan over given tables states of its hosts, by rank. A rank is an adapter where hosts have several.
type Over struct {
	GUIDs  []uint64 // nil over probed paths
	Reads  []bool
	Builds []bool
	Host   []int  // of each rank: adapters of one host send each other nothing over the network
	Bits   []int  // what each rank adds to the first LID of a destination; nil: nothing
	Tables string // digest of what the tables say about the messages
	Lost   int    // messages that the tables do not deliver, left out
}

// Hosts returns how many there are.
func (x *Over) Hosts() int { return 1 + x.Host[len(x.Host)-1] }

// Meets reports whether an exchange has a message from src to dst.
func (x *Over) Meets(src, dst int) bool {
	return x.Host[src] != x.Host[dst] && x.Reads[src] && x.Builds[dst]
}

func newOver(stated map[string]string) (x *Over, err error) {
	n, err := within("hosts", stated["hosts"], 1, maxHosts)
	if err != nil {
		return nil, err
	}
	x = &Over{Tables: stated["tables"], Host: make([]int, n)}
	for _, key := range []string{"guids", "tables"} {
		if stated[key] == "" && stated["paths"] == "" {
			return nil, fmt.Errorf("no line %q", "# "+key)
		}
	}
	if guids := stated["guids"]; guids != "" {
		x.GUIDs = make([]uint64, n)
		has := make(map[uint64]int, n)
		if err := each("guids", guids, n, func(i int, word string) (err error) {
			if x.GUIDs[i], err = strconv.ParseUint(word, 0, 64); err != nil {
				return fmt.Errorf("guids: %.40q is none", word)
			}
			if before, twice := has[x.GUIDs[i]]; twice {
				return fmt.Errorf("guids: %s is that of the hosts %d and %d", word, before, i)
			}
			has[x.GUIDs[i]] = i
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if bits := stated["path-bits"]; bits != "" {
		x.Bits = make([]int, n)
		if err := each("path-bits", bits, n, func(i int, word string) (err error) {
			x.Bits[i], err = within("path-bits", word, 0, 127)
			return err
		}); err != nil {
			return nil, err
		}
	}
	if lost := stated["undelivered"]; lost != "" {
		if x.Lost, err = within("undelivered", lost, 1, 1<<30); err != nil {
			return nil, err
		}
	}
	if x.Reads, err = ranks("readers", stated["readers"], n); err == nil {
		x.Builds, err = ranks("builders", stated["builders"], n)
	}
	if err == nil {
		err = x.adapters(stated["adapters"])
	}
	return x, err
}

func within(key, text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s: %.40q is no number from %d to %d", key, text, least, most)
	}
	return n, nil
}

// each calls f for the words of a list, one of each host.
func each(key, list string, hosts int, f func(i int, word string) error) error {
	words := strings.Split(list, ",")
	if len(words) != hosts {
		return fmt.Errorf("%s: %d for %d hosts", key, len(words), hosts)
	}
	for i, w := range words {
		if err := f(i, strings.TrimSpace(w)); err != nil {
			return err
		}
	}
	return nil
}

// ranks reads "0-3,7"; without the line it is all hosts.
func ranks(key, text string, hosts int) ([]bool, error) {
	out := make([]bool, hosts)
	if text == "" {
		text = fmt.Sprintf("0-%d", hosts-1)
	}
	for _, part := range strings.Split(text, ",") {
		a, b, ok := span(part, hosts)
		if !ok {
			return nil, fmt.Errorf("%s: %.40q is no rank, nor ranks from 0 to %d", key, part, hosts-1)
		}
		for i := a; i <= b; i++ {
			out[i] = true
		}
	}
	return out, nil
}

// span reads "3" or "0-3".
func span(text string, hosts int) (first, last int, ok bool) {
	low, high, several := strings.Cut(strings.TrimSpace(text), "-")
	first, err := strconv.Atoi(low)
	if last = first; several && err == nil {
		last, err = strconv.Atoi(high)
	}
	return first, last, err == nil && first >= 0 && last >= first && last < hosts
}

// adapters reads the ranks of each host where some have several adapters: "0-1,2-3". Without the line each has one.
func (x *Over) adapters(text string) error {
	if text == "" {
		for i := range x.Host {
			x.Host[i] = i
		}
		return nil
	}
	next, n := 0, len(x.Host)
	for h, part := range strings.Split(text, ",") {
		first, last, ok := span(part, n)
		if !ok || first != next {
			return fmt.Errorf("adapters: %.40q: write the ranks of each host, in their order, all from 0 to %d", part, n-1)
		}
		for ; next <= last; next++ {
			x.Host[next] = h
		}
	}
	if next < n {
		return fmt.Errorf("adapters: rank %d has no host", next)
	}
	return nil
}
