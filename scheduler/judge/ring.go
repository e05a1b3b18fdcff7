package judge

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ringHead is the first line of a host file that states a ring.
const ringHead = "# evbench ring 1"

// IsRing reports whether a file begins as a ring.
func IsRing(head []byte) bool { return bytes.HasPrefix(head, []byte(ringHead)) }

// A RingReport is what the judge found in an order of hosts: AllGather over the ring, block by block.
type RingReport struct {
	Valid    bool      `json:"valid"`
	Hosts    int       `json:"hosts"`
	Ranks    int       `json:"ranks"`
	Steps    int       `json:"steps"`    // R−1, or twice that where the file states an allreduce
	Time     float64   `json:"time"`     // of all steps, in message times: as long as the fullest link needs in each
	Fullest  string    `json:"fullest"`  // link
	Messages int       `json:"messages"` // on it, in a step
	Offences []Offence `json:"offences"`
	Absent   int       `json:"hosts_of_the_network_left_out"`
}

// Ring judges a host file: each of its hosts once, with ranks that follow one another, so that each block reaches each
// host; and what the steps take over the tables. hosts are those of the same file, each with its adapters as nodes, and slots
// is the ranks on each adapter.
func Ring(text []byte, hosts [][]int, slots int, t *Tables) (*RingReport, error) {
	r := &RingReport{Hosts: len(hosts), Offences: []Offence{}}
	stated, twice, adapters, err := r.lines(text)
	if err != nil {
		return nil, err
	}
	t.take(slices.Concat(hosts...))
	hosts, rings := t.taking(hosts, adapters)
	if rings == 0 {
		return nil, fmt.Errorf("a host has none of the adapters %s", strings.Join(adapters, ", "))
	}
	r.Ranks, r.Absent = r.Hosts*max(1, slots)*rings, t.net.Hosts-r.Hosts*rings
	if r.Steps = r.Ranks - 1; twice {
		r.Steps *= 2
	}
	load := make([]int, len(t.owner))
	for k := range rings { // the first adapters are a ring, the second ones another
		for i, own := range hosts {
			next := hosts[(i+1)%len(hosts)]
			way := t.walk(own[k], next[k])
			if way == nil {
				r.accuse(Undelivered, "the tables deliver no message from %s to %s", t.net.Nodes[own[k]].Name, t.net.Nodes[next[k]].Name)
			}
			for _, l := range way {
				load[l]++
			}
		}
	}
	longest := 0.0
	for l, n := range load {
		if need := max(1, float64(n)/t.share[l]); n > 0 && need > longest {
			longest, r.Fullest, r.Messages = need, t.end(int32(l)), n
		}
	}
	if r.Time = longest * float64(r.Steps); stated > 0 && !equal(stated, r.Time) {
		r.accuse(WrongTime, "the steps take %.6g message times, and the file states %.6g", r.Time, stated)
	}
	if stated == 0 && !r.Free() {
		r.accuse(Contention, "%s carries %d at once, and the %d steps take as long as %.6g messages in a row", r.Fullest, r.Messages, r.Steps, r.Time)
	}
	r.Valid = len(r.Offences) == 0
	return r, nil
}

// taking are the adapters of hosts that take part, those of these names where hosts have several, and how many rings they are:
// as many as each host has.
func (t *Tables) taking(hosts [][]int, names []string) (part [][]int, rings int) {
	several := slices.ContainsFunc(hosts, func(own []int) bool { return len(own) > 1 })
	rings = len(t.net.Nodes)
	for _, own := range hosts {
		if several && names != nil {
			own = slices.DeleteFunc(slices.Clone(own), func(v int) bool {
				_, name, _ := strings.Cut(t.net.Nodes[v].Name, " ")
				return !slices.Contains(names, name)
			})
		}
		part, rings = append(part, own), min(rings, len(own))
	}
	return part, rings
}

// Free reports whether no two messages of a step share a link that has no room for both.
func (r *RingReport) Free() bool { return r.Time <= float64(r.Steps)*(1+1e-9) }

func (r *RingReport) accuse(kind Kind, format string, args ...any) {
	r.Offences = append(r.Offences, Offence{kind, -1, -1, -1, -1, -1, fmt.Sprintf(format, args...)})
}

// lines reads what the file states, and the order of its hosts: the ranks of a host follow one another.
func (r *RingReport) lines(text []byte) (stated float64, twice bool, adapters []string, err error) {
	seen, last, number := map[string]bool{}, "", 0
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		number++
		words := strings.FieldsFunc(in.Text(), func(c rune) bool { return c == ' ' || c == '\t' || c == ':' || c == ',' })
		switch {
		case len(words) == 0:
		case words[0] == "#" && len(words) == 3 && words[1] == "steps":
			if stated, err = strconv.ParseFloat(words[2], 64); err != nil || !(stated > 0 && stated < math.MaxFloat64) {
				return 0, false, nil, fmt.Errorf("line %d: steps %q: no number above 0", number, words[2])
			}
		case words[0] == "#" && len(words) > 2 && words[1] == "adapters":
			adapters = words[2:]
		case words[0] == "#":
			twice = twice || len(words) > 1 && words[1] == "allreduce"
		case strings.HasPrefix(words[0], "#") || words[0] == last:
		case seen[words[0]]:
			r.accuse(RepeatedMessage, "%s stands in two places: the ring passes it twice", words[0])
		default:
			last = words[0]
			seen[last] = true
		}
	}
	return stated, twice, adapters, nil
}

// WriteText writes the report for people.
func (r *RingReport) WriteText(w io.Writer) error {
	what := "messages"
	if r.Messages == 1 {
		what = "message"
	}
	_, err := fmt.Fprintf(w, "hosts     %d\nranks     %d\nsteps     %d\ntime      %.6g message times\nfullest   %s, %d %s\n",
		r.Hosts, r.Ranks, r.Steps, r.Time, r.Fullest, r.Messages, what)
	return err
}
