package ports

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// A Report is what is wrong with a plan over paths by ports.
type Report struct {
	Valid     bool     `json:"valid"`
	Hosts     int      `json:"hosts"`
	Messages  int      `json:"messages"`
	Phases    int      `json:"phases"`
	Count     int      `json:"offences"`
	Offences  []string `json:"first_offences,omitempty"`
	OtherFile bool     `json:"other_paths"` // the plan was made for another paths file
}

// Check judges a plan file by the paths alone, with a reader of its own: each message once, by a port that is known to lead
// somewhere, and in a phase no host and no link with two. first bounds the offences that are kept.
func Check(text io.Reader, p *Paths, first int) (Report, error) {
	c := &checker{paths: p, most: first, Report: Report{Hosts: len(p.Hosts)}, rows: map[[3]int]Row{}, seen: map[[2]int]bool{}, used: map[string]string{}, behind: make([]string, len(p.Hosts))}
	var err error
	if c.bySwitch, err = p.namesSwitches(); err != nil {
		return c.Report, err
	}
	for _, group := range p.groups() {
		for _, h := range group {
			c.behind[h] = "the switch of " + p.Hosts[group[0]].Name
		}
	}
	for _, r := range p.Rows {
		c.rows[[3]int{r.Src, r.Dst, r.Port}] = r
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := c.line(n, lines.Text()); err != nil {
			return c.Report, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return c.Report, err
	}
	if want := c.Hosts * (c.Hosts - 1); c.Messages < want {
		c.offence("%d of %d messages are missing", want-c.Messages, want)
	}
	c.Valid = c.Count == 0
	return c.Report, nil
}

type checker struct {
	Report
	paths    *Paths
	bySwitch bool
	most     int
	behind   []string // of each host, its switch
	rows     map[[3]int]Row
	seen     map[[2]int]bool
	used     map[string]string // phase and link: by which message
}

func (c *checker) offence(format string, args ...any) {
	if c.Count++; len(c.Offences) < c.most {
		c.Offences = append(c.Offences, fmt.Sprintf(format, args...))
	}
}

func (c *checker) line(n int, text string) error {
	words := strings.Fields(text)
	switch {
	case n == 1 && strings.TrimSpace(text) != "# evbench plan 4":
		return fmt.Errorf("%.40q: a plan over paths by ports begins with %q", text, "# evbench plan 4")
	case len(words) == 0 || n == 1:
		return nil
	case words[0] == "#":
		return c.header(words[1:])
	case len(words) != 4:
		return fmt.Errorf("%d words; a row is: phase src dst port", len(words))
	}
	var row [4]int
	for i, w := range words {
		x, err := strconv.Atoi(w)
		if i == 3 && w == noPort {
			x, err = None, nil
		}
		if err != nil || x < 0 || (i == 1 || i == 2) && x >= c.Hosts || i == 0 && x > 1<<24 {
			return fmt.Errorf("%q: is no number of a row phase src dst port, for %d hosts", w, c.Hosts)
		}
		row[i] = x
	}
	c.message(row[0], row[1], row[2], row[3])
	return nil
}

func (c *checker) header(words []string) error {
	switch {
	case len(words) == 2 && words[0] == "hosts" && words[1] != strconv.Itoa(c.Hosts):
		return fmt.Errorf("the plan is for %s hosts, the paths are for %d", words[1], c.Hosts)
	case len(words) == 2 && words[0] == "paths":
		c.OtherFile = words[1] != "sha256:"+c.paths.sum()
	case len(words) == 4 && words[0] == "x-host":
		i, err := strconv.Atoi(words[1])
		if err != nil || i < 0 || i >= c.Hosts || c.paths.Hosts[i].Name != words[2] || c.paths.Hosts[i].Addr.String() != words[3] {
			return fmt.Errorf("the plan has host %s %s at %s, which is another host in the paths", words[1], words[2], words[3])
		}
	}
	return nil
}

// message checks a row.
func (c *checker) message(phase, src, dst, port int) {
	c.Messages++
	c.Phases = max(c.Phases, phase+1)
	name := fmt.Sprintf("%s to %s", c.paths.Hosts[src].Name, c.paths.Hosts[dst].Name)
	if src == dst || c.seen[[2]int{src, dst}] {
		c.offence("phase %d: %s is sent twice, or to itself", phase, name)
		return
	}
	c.seen[[2]int{src, dst}] = true
	r, ok := c.rows[[3]int{src, dst, port}]
	switch {
	case !ok && port == None:
		c.offence("phase %d: %s has no port, and both are not behind one switch", phase, name)
	case !ok:
		c.offence("phase %d: %s leaves from port %d, which nobody has asked about", phase, name, port)
	case !r.Known():
		c.offence("phase %d: %s leaves from port %d, whose path is not known or has several", phase, name, port)
	}
	c.take(phase, "the port by which "+c.paths.Hosts[src].Name+" sends", name)
	c.take(phase, "the port by which "+c.paths.Hosts[dst].Name+" receives", name)
	before := c.behind[src]
	for _, h := range r.Hops {
		link := c.paths.hopName(h[0])
		if c.bySwitch {
			link, before = before+" to "+link, link
		}
		c.take(phase, link, name)
	}
}

func (c *checker) take(phase int, link, name string) {
	key := fmt.Sprint(phase, " ", link)
	if other := c.used[key]; other != "" {
		c.offence("phase %d: %s and %s share %s", phase, other, name, link)
	}
	c.used[key] = name
}

// Answer says whether the plan is what it claims.
func (r Report) Answer(name string) answer.Answer {
	x := answer.Finding{Place: answer.At, Text: fmt.Sprintf("%s is a plan without contention over these paths, in %d phases", name, r.Phases)}
	if !r.Valid {
		x = answer.Finding{Place: answer.Below, Text: fmt.Sprintf("%s breaks %s over these paths", name, show.Plural(r.Count, "rule", "rules")), Cause: first(r.Offences)}
	}
	e := answer.Evidence{Findings: []answer.Finding{x}}
	if r.OtherFile {
		e.Why = append(e.Why, "the plan was made for another paths file: older or newer than this one")
	}
	return answer.Decide(answer.Claims, e)
}

func first(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// WriteText lists the offences.
func (r Report) WriteText(w io.Writer) error {
	for _, o := range r.Offences {
		if _, err := fmt.Fprintln(w, o); err != nil {
			return err
		}
	}
	return nil
}
