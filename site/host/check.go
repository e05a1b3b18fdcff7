package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/answer"
	"evbench/internal/hostlist"
	"evbench/internal/show"
)

// HostSchema is the schema of an Answer.
const HostSchema = "evbench/host/1"

// An Answer is the report of evbench host on its machine.
type Answer struct {
	Schema string `json:"schema"`
	Facts
	Version  string    `json:"version"`
	Platform string    `json:"platform"` // as in linux/amd64
	Clock    time.Time `json:"clock"`
	// ReachedAt is the address of this machine that ssh connected to, ReachedFrom the address that
	// it came from; empty without ssh.
	ReachedAt   string `json:"reached_at,omitempty"`
	ReachedFrom string `json:"reached_from,omitempty"`
	// Addresses are those chosen for data; AddressError says why there are none.
	Addresses    []string `json:"addresses"`
	AddressError string   `json:"address_error,omitempty"`
	// Ports are the ports tried at the addresses.
	Ports []Port `json:"ports"`
	// Node is what site/node reads, for those who ask for it.
	Node json.RawMessage `json:"node,omitempty"`
}

// A Port is a TCP port that was tried.
type Port struct {
	Port  int    `json:"port"`
	Free  bool   `json:"free"`
	Error string `json:"error,omitempty"` // why it failed
}

// A Report is the result of asking a host.
type Report struct {
	Host string
	Err  string // why the answer is missing; the rest is then as far as known
	// System is the output of uname, "Linux x86_64"; "" if unknown.
	System string
	// FreeKiB is the space for the binary, -1 if unknown.
	FreeKiB int64
	// Answer is nil until the binary is there.
	Answer *Answer
	// Asked and Answered are the times, by the local clock, between which the host read its clock.
	Asked, Answered time.Time
}

// Needs are the requirements on a host.
type Needs struct {
	System  string // "Linux x86_64"
	Version string
	Bytes   int64 // of the binary
	Dir     string
}

// maxClock is the largest acceptable error of a host's clock: the rows of results carry times.
const maxClock = time.Second

// A Problem is one reason for rejecting a host.
type Problem struct{ Host, Reason string }

// Judge returns the problems of the hosts, in order of the reports. It takes the whole decision;
// reports are values.
func Judge(reports []Report, w Needs) []Problem {
	var out []Problem
	for _, r := range reports {
		for _, reason := range r.reasons(w) {
			out = append(out, Problem{r.Host, reason})
		}
	}
	return out
}

func (r Report) reasons(w Needs) []string {
	if reason := r.obstacle(w); reason != "" {
		return []string{reason}
	}
	a := r.Answer
	if a == nil {
		return []string{"it did not say anything"}
	}
	if a.Schema != HostSchema || a.Version != w.Version {
		return []string{fmt.Sprintf("evbench there is %s (%s), here %s (%s)", a.Version, a.Schema, w.Version, HostSchema)}
	}
	var out []string
	if off := clockOff(a.Clock, r.Asked, r.Answered); off != 0 {
		out = append(out, clockReason(off))
	}
	if a.AddressError != "" {
		out = append(out, a.AddressError)
	}
	return append(out, portReasons(a.Ports)...)
}

func (r Report) obstacle(w Needs) string {
	switch {
	case r.Err != "":
		return r.Err
	case r.System != "" && r.System != w.System:
		return fmt.Sprintf("it is %s, and this binary is for %s", r.System, w.System)
	case r.Answer == nil && r.FreeKiB >= 0 && r.FreeKiB<<10 < w.Bytes:
		return fmt.Sprintf("%s has %d KiB free, the binary needs %d", w.Dir, r.FreeKiB, (w.Bytes+1023)>>10)
	}
	return ""
}

// clockOff returns how far a clock is off, positive if it is ahead: measured from the middle
// between question and answer. It is 0 if the error may be within maxClock, given the duration of
// the question.
func clockOff(clock, asked, answered time.Time) time.Duration {
	// The times here are compared without the monotonic clock.
	asked, answered = asked.Round(0), answered.Round(0)
	half := answered.Sub(asked) / 2
	off := clock.Sub(asked.Add(half))
	if off.Abs()-half <= maxClock {
		return 0
	}
	return off
}

func clockReason(off time.Duration) string {
	way := "ahead of"
	if off < 0 {
		way = "behind"
	}
	return fmt.Sprintf("the clock is about %s %s that of this machine", off.Abs().Round(time.Second), way)
}

func portReasons(ports []Port) []string {
	var causes []string
	by := map[string][]string{}
	for _, p := range ports {
		if p.Free {
			continue
		}
		if by[p.Error] == nil {
			causes = append(causes, p.Error)
		}
		by[p.Error] = append(by[p.Error], strconv.Itoa(p.Port))
	}
	var out []string
	for _, c := range causes {
		noun := "port"
		if len(by[c]) > 1 {
			noun = "ports"
		}
		out = append(out, fmt.Sprintf("%s %s: %s", noun, hostlist.Compress(by[c]), c))
	}
	return out
}

// A BadHosts error names all unusable hosts, with reasons.
type BadHosts struct {
	What     string // "cannot be used"
	Total    int    // hosts asked
	Problems []Problem
}

// Error groups the hosts by reason.
func (e *BadHosts) Error() string {
	bad := map[string]bool{}
	var reasons []string
	by := map[string][]string{}
	for _, p := range e.Problems {
		bad[p.Host] = true
		if by[p.Reason] == nil {
			reasons = append(reasons, p.Reason)
		}
		if !slices.Contains(by[p.Reason], p.Host) {
			by[p.Reason] = append(by[p.Reason], p.Host)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %s %s:", len(bad), show.Plural(e.Total, "host", "hosts"), e.What)
	for _, r := range reasons {
		fmt.Fprintf(&b, "\n  %s: %s", hostlist.Compress(by[r]), strings.ReplaceAll(r, "\n", "\n    "))
	}
	return b.String()
}

// Answer says whether this machine can carry a worker.
func (a Answer) Answer() answer.Answer {
	problems := portReasons(a.Ports)
	if a.AddressError != "" {
		problems = append([]string{a.AddressError}, problems...)
	}
	found := answer.Finding{Text: fmt.Sprintf("this machine can carry a worker: %d cores, %s", a.Cores, a.Platform), Place: answer.At}
	e := answer.Evidence{}
	if len(problems) > 0 {
		found = answer.Finding{Text: "this machine cannot carry a worker", Place: answer.Below, Cause: problems[0]}
		e.Why = problems[1:]
	} else if len(a.Addresses) > 0 {
		e.Why = []string{"data goes over " + strings.Join(a.Addresses, ", ")}
	}
	e.Findings = []answer.Finding{found}
	return answer.Decide(answer.Host, e)
}

// lacks is what a kernel lacks that evbench paths needs: since 5.8 a connection that begins may read which switch dropped its
// first packet. Distributions may have taken that into older ones.
func lacks(kernel string) string {
	var major, minor int
	if n, err := fmt.Sscanf(kernel, "Linux %d.%d", &major, &minor); n < 2 || err != nil || major > 5 || major == 5 && minor >= 8 {
		return ""
	}
	return kernel + " is older than 5.8, which tells connections what switches answer: evbench paths may find none here"
}

func (a Answer) WriteText(w io.Writer) error {
	lines := [][]string{
		{"host", fmt.Sprintf("%s, %s, %d cores", a.Host, a.Platform, a.Cores)},
		{"evbench", a.Version},
		{"clock", a.Clock.UTC().Format(time.RFC3339Nano)},
	}
	if lacks := lacks(a.Kernel); lacks != "" {
		lines = append(lines, []string{"paths", lacks})
	}
	for _, i := range a.Interfaces {
		state, addrs := "up", fmt.Sprint(i.Addrs)
		if !i.Up {
			state = "down"
		}
		lines = append(lines, []string{i.Name, fmt.Sprintf("%s, MTU %d byte: %s", state, i.MTU, strings.ReplaceAll(strings.Trim(addrs, "[]"), " ", ", "))})
	}
	for _, addr := range a.Addresses {
		lines = append(lines, []string{"chosen", addr})
	}
	if a.AddressError != "" {
		lines = append(lines, []string{"chosen", "none: " + a.AddressError})
	}
	for _, p := range a.Ports {
		lines = append(lines, []string{fmt.Sprintf("port %d", p.Port), cmp.Or(p.Error, "free")})
	}
	return show.Align(w, lines)
}
