package verify

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/site/network"
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

// Ring judges a host file: each of its hosts once, with ranks that follow one another; each block at each host at the end;
// and what the steps take over the tables. job are the hosts of the same file.
func Ring(text []byte, job network.Job, t Tables) (*RingReport, error) {
	tables, err := readRoutes(t.Dump, t.Net)
	if err != nil {
		return nil, err
	}
	r := &RingReport{Hosts: job.Hosts(), Offences: []Offence{}}
	stated, twice, adapters, err := r.lines(text)
	if err != nil {
		return nil, err
	}
	rings := ringsOf(job, func(v network.Node) bool {
		_, name, _ := strings.Cut(t.Net.Info(v).Name, " ")
		return adapters == nil || slices.Contains(adapters, name)
	})
	if len(rings) == 0 {
		return nil, fmt.Errorf("a host has none of the adapters %s", strings.Join(adapters, ", "))
	}
	r.Ranks, r.Absent = r.Hosts*max(1, job.Slots)*len(rings), t.Net.Hosts()-r.Hosts*len(rings)
	if r.Steps = r.Ranks - 1; twice {
		r.Steps *= 2
	}
	load := tables.counts()
	for _, ring := range rings {
		r.pass(ring, t.Net)
		for i, src := range ring {
			dst := ring[(i+1)%len(ring)]
			way := tables.walk(src, dst)
			if way == nil {
				r.accuse("undelivered", "the tables deliver no message from %s to %s", t.Net.Name(src), t.Net.Name(dst))
			}
			for _, l := range way {
				load[at(l)]++
			}
		}
	}
	rate, longest := messageRate(t.Net, job.Nodes), 0.0
	for i, n := range load {
		if need := tables.need(rate, linkAt(i), int(n)); n > 0 && need > longest {
			longest, r.Fullest, r.Messages = need, t.Net.EndName(linkAt(i)), int(n)
		}
	}
	if r.Time = longest * float64(r.Steps); stated > 0 && !equal(stated, r.Time) {
		r.accuse("steps", "the steps take %.6g message times, and the file states %.6g", r.Time, stated)
	}
	if stated == 0 && r.Time > float64(r.Steps)*(1+1e-9) {
		r.accuse(SharedLink, "%s carries %d at once, and the %d steps take as long as %.6g messages in a row", r.Fullest, r.Messages, r.Steps, r.Time)
	}
	r.Valid = len(r.Offences) == 0
	return r, nil
}

func (r *RingReport) accuse(kind, format string, args ...any) {
	r.Offences = append(r.Offences, Offence{kind, -1, fmt.Sprintf(format, args...)})
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
			r.accuse("twice", "%s stands in two places: the ring passes it twice", words[0])
		default:
			last = words[0]
			seen[last] = true
		}
	}
	return stated, twice, adapters, nil
}

// ringsOf are those adapters of hosts that take part, in the order of the job: the first of each, the second, as many
// as each has.
func ringsOf(job network.Job, part func(network.Node) bool) (rings [][]network.Node) {
	own := make([][]network.Node, job.Hosts())
	for i, v := range job.Nodes {
		host := i
		if job.Host != nil {
			host = job.Host[i]
		}
		if job.Host == nil || part(v) {
			own[host] = append(own[host], v)
		}
	}
	for k := 0; ; k++ {
		var ring []network.Node
		for _, adapters := range own {
			if k == len(adapters) {
				return rings
			}
			ring = append(ring, adapters[k])
		}
		rings = append(rings, ring)
	}
}

// pass has each host pass on the block that came last, and looks whether all have all at the end.
func (r *RingReport) pass(ring []network.Node, net *network.Network) {
	n := len(ring)
	has, latest := make([][]bool, n), make([]int, n)
	for i := range n {
		has[i], latest[i] = make([]bool, n), i
		has[i][i] = true
	}
	for range n - 1 {
		next := make([]int, n)
		for i := range n {
			next[(i+1)%n] = latest[i]
			has[(i+1)%n][latest[i]] = true
		}
		latest = next
	}
	for i := range n {
		for b := range n {
			if !has[i][b] {
				r.accuse("missing", "the block of %s does not reach %s", net.Name(ring[b]), net.Name(ring[i]))
			}
		}
	}
}

// Answer says what the judge found in a host file.
func (r *RingReport) Answer(name string) answer.Answer {
	f := answer.Finding{Text: fmt.Sprintf("%s is a ring of %d hosts: %d steps, and no two of its messages share a link", name, r.Hosts, r.Steps), Place: answer.At}
	var why []string
	switch {
	case !r.Valid:
		f = answer.Finding{Text: fmt.Sprintf("%s is not valid: %s", name, r.Offences[0].Text), Place: answer.Below}
		for _, o := range r.Offences[1:] {
			why = append(why, o.Text)
		}
	case r.Time > float64(r.Steps)*(1+1e-9):
		f = answer.Finding{Text: fmt.Sprintf("%s is a ring of %d hosts that takes as long as %.6g messages in a row, as it states: %s carries %d at once", name, r.Hosts, r.Time, r.Fullest, r.Messages), Place: answer.At}
	}
	if r.Absent > 0 {
		why = append(why, fmt.Sprintf("%s of the network %s no part", show.Plural(r.Absent, "adapter", "adapters"), map[bool]string{true: "takes", false: "take"}[r.Absent == 1]))
	}
	return answer.Decide(answer.Claims, answer.Evidence{Findings: []answer.Finding{f}, Why: why})
}

// WriteText writes the report for people.
func (r *RingReport) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "hosts     %d\nranks     %d\nsteps     %d\ntime      %.6g message times\nfullest   %s, %s\n",
		r.Hosts, r.Ranks, r.Steps, r.Time, r.Fullest, show.Plural(r.Messages, "message", "messages"))
	return err
}
