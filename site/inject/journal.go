package inject

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evbench/internal/kept"
	"evbench/internal/lists"
	"evbench/internal/trust"
	"evbench/topology"
)

// magic identifies a journal.
const magic = "evbench injected links 2"

// A state is the content of a journal. It is on disk before its announced change is made.
type state struct {
	Journal string    `json:"journal"` // magic
	By      Header    `json:"by"`
	Down    []Pending `json:"down"` // in the order of taking down
	rest    *kept.Rest
}

// MarshalJSON writes what a later version has written beside, too.
func (s state) MarshalJSON() ([]byte, error) { type plain state; return kept.Marshal(plain(s), s.rest) }

// A Header identifies the writer of a journal, and how its programs are run.
type Header struct {
	Host    string        `json:"host"`
	PID     int           `json:"pid"`
	Since   time.Time     `json:"since"`
	Kind    string        `json:"kind"`
	Dir     string        `json:"dir"` // working directory of programs
	Timeout time.Duration `json:"timeout_ns"`
}

func newHeader(o Options) (Header, error) {
	host, err := os.Hostname()
	if err != nil {
		return Header{}, err
	}
	dir, err := os.Getwd()
	return Header{Host: host, PID: os.Getpid(), Since: time.Now().UTC(), Kind: o.Kind, Dir: dir, Timeout: o.Timeout}, err
}

// A Pending link is down, or may be.
type Pending struct {
	Link  linkName  `json:"link"`
	Name  string    `json:"name,omitempty"` // its name in the network, if that is not Link
	Since time.Time `json:"since"`
	Remedy
	rest *kept.Rest
}

// MarshalJSON writes what a later version has written beside, too.
func (p Pending) MarshalJSON() ([]byte, error) {
	type plain Pending
	return kept.Marshal(plain(p), p.rest)
}

// UnmarshalJSON keeps what a later version has written beside.
func (p *Pending) UnmarshalJSON(text []byte) (err error) {
	type plain Pending
	p.rest, err = kept.Unmarshal(text, (*plain)(p))
	return err
}

func (p Pending) called() string { return cmp.Or(p.Name, p.Link.String()) }

// A linkName is a link that is stored by its name.
type linkName struct{ topology.Link }

func (l linkName) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

const number = `(0|[1-9]\d{0,4})`

var (
	linkRE = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^leaf` + number + `-spine` + number + `(?:/` + number + `)?$`)
	})
	aboveRE = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^pod` + number + `-spine` + number + `-top` + number + `$`)
	})
)

func (l *linkName) UnmarshalText(name []byte) error {
	below, above := linkRE().FindSubmatch(name), aboveRE().FindSubmatch(name)
	m := slices.Concat(below, above) // one of them is empty
	if m == nil {
		return fmt.Errorf("%q is not a link", name)
	}
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(string(m[1+i])) // at most five digits
	}
	switch {
	case above != nil:
		l.Link = topology.Link{Leaf: n[0], Spine: n[1], Above: true, Top: n[2]}
	case len(m[3]) > 0:
		l.Link = topology.Link{Leaf: n[0], Spine: n[1], Cable: n[2] + 1}
	default:
		l.Link = topology.Link{Leaf: n[0], Spine: n[1]}
	}
	return nil
}

// parse reads the last complete line of a journal; an empty one has no links.
func parse(line []byte) (s state, err error) {
	if len(line) == 0 {
		return s, nil
	}
	if s.rest, err = kept.Unmarshal(line, &s); err != nil {
		return state{}, fmt.Errorf("not a journal of injected links: %w", err)
	}
	return s, s.check()
}

func (s *state) check() error {
	switch h := s.By; {
	case s.Journal != magic:
		return fmt.Errorf("not a journal of injected links: it does not begin with %q", magic)
	case fields[h.Kind] == nil:
		return fmt.Errorf("unknown kind %q", h.Kind)
	case h.Host == "" || h.Dir == "" || h.PID < 1 || h.Since.IsZero():
		return errors.New("host, pid, since or dir is missing")
	case h.Timeout <= 0:
		return errors.New("timeout_ns must be above 0")
	}
	for i, p := range s.Down {
		switch noName := func(p Program) bool { return len(p.Args) == 0 || p.Args[0] == "" }; {
		case s.index(p.Link.Link) != i:
			return fmt.Errorf("%s is down twice", p.Link)
		case p.Since.IsZero():
			return fmt.Errorf("%s: since is missing", p.Link)
		case noName(p.Up) || slices.ContainsFunc(p.Probe, noName):
			return fmt.Errorf("%s: how it is brought up: a program without a name", p.Link)
		case len(p.Probe) == 0:
			return fmt.Errorf("%s: how it is brought up: no probe", p.Link)
		}
	}
	return nil
}

func (s *state) index(l topology.Link) int {
	return slices.IndexFunc(s.Down, func(p Pending) bool { return p.Link.Link == l })
}

func (s *state) links() []topology.Link {
	return lists.Map(s.Down, func(p Pending) topology.Link { return p.Link.Link })
}

func (s *state) names() string {
	return strings.Join(lists.Map(s.Down, Pending.called), ", ")
}

// A journal is open and locked: only one process holds it.
type journal struct {
	state
	path string
	torn string // the unfinished write of a dead process
	file *trust.Record
}

// openJournal opens, locks and reads a journal, which must be the user's own. Without create it
// returns fs.ErrNotExist if there is no journal.
func openJournal(path string, create bool) (*journal, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	file, line, torn, err := trust.OpenRecord(path, flags)
	switch {
	case errors.Is(err, trust.ErrLocked):
		return nil, busy(path)
	case err != nil:
		return nil, fmt.Errorf("journal: %w", err)
	}
	s, err := parse(line)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, errors.Join(err, file.Close()))
	}
	return &journal{s, path, torn, file}, nil
}

// busy names the user of a journal, as far as the journal does.
func busy(path string) error {
	line, err := trust.ReadRecord(path)
	if s, bad := parse(line); err == nil && bad == nil && s.By.PID > 0 {
		return fmt.Errorf("journal %s is in use by a run on %s, process %d, since %s", path, s.By.Host, s.By.PID, stamp(s.By.Since))
	}
	return fmt.Errorf("journal %s is in use by another run", path)
}

// begin writes the header into a journal without links that are down.
func (j *journal) begin(h Header) error {
	if err := j.write(state{Journal: magic, By: h}); err != nil {
		return err
	}
	return trust.SyncName(j.path) // the name must survive, too
}

func (j *journal) write(s state) error {
	if err := j.file.Write(s); err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	j.state = s
	return nil
}

func (j *journal) down(p Pending) error {
	return j.hold(append(slices.Clone(j.Down), p))
}

func (j *journal) up(l topology.Link) error {
	i := j.index(l)
	return j.hold(slices.Delete(slices.Clone(j.Down), i, i+1))
}

func (j *journal) hold(down []Pending) error {
	s := j.state
	s.Down = down
	return j.write(s)
}

// close closes the journal, and removes it if no link is down.
func (j *journal) close() error {
	if len(j.Down) == 0 {
		return j.file.Remove()
	}
	return j.file.Close()
}
