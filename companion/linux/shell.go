package linux

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"evbench/companion"
	"evbench/internal/parallel"
	"evbench/internal/proc"
)

// A Shell is the Linux switches reached by a command such as ssh: "COMMAND NODE ip …" runs ip
// there. It implements companion.Switches: its tables are *Batch. Hosts, with one way to their
// leaf, get no tables. Foreign routes to the same prefixes are replaced, and come back with the
// former tables; other foreign routes stay.
type Shell struct {
	Command []string
	// Limit is how long a command on a switch may take. 0 means two minutes.
	Limit time.Duration
	// Say tells what is odd about a switch but no error, from several goroutines; nil is allowed.
	Say func(string)

	names  []string // of the switches
	mark   string   // this Shell's on them; "": none yet
	marked bool
	last   sync.Map // by name: the routes that a switch has taken last, by prefix
}

const defaultLimit = 2 * time.Minute

// Holds reports which switch does not hold its table.
func (s *Shell) Holds(ctx context.Context, want companion.Tables) error {
	return parallel.Try(atOnce, len(s.names), func(i int) error {
		now, err := s.read(ctx, s.names[i])
		if err != nil {
			return err
		}
		_, routes := want.(wanted).change(s.names[i], now)
		return takes(s.names[i], routes, now)
	})
}

func NewShell(command []string, b *Batch) *Shell {
	s := &Shell{Command: command}
	for n := range b.tree.Switches() {
		s.names = append(s.names, b.Name(companion.Node(n)))
	}
	return s
}

// Kind names tables installed by a Shell in companion.FormerFile.
const Kind = "kernel"

// wanted is tables for a Shell.
type wanted interface {
	// change returns the input of ip -batch for a switch, and the routes that it then has to hold.
	change(name string, now *state) (batch string, want map[string]string)
}

// A state is the configuration of a switch: routes by prefix, as words for ip that are equal for
// equal routes, and addresses with their devices. Routes that the kernel makes for an address are
// left out.
type state struct {
	Routes    map[string]string `json:"routes"`
	Addresses []string          `json:"addresses"`
	Mark      string            `json:"mark,omitempty"` // of the Shell that has read it

	marks []string
}

// pairs are the words of a route that take another word.
var pairs = []string{"via", "dev", "proto", "scope", "src", "metric", "weight"}

const (
	ours      = " proto 201" // in words
	addresses = " proto 2"
)

// normal returns the prefix of a route, and its words in order. Protocol and scope are numbers, as
// ip -N prints them, also in batches: ip -batch 6.1 turns a name after a number into the number.
// The state dead belongs to the link, not to the route.
func normal(line string) (prefix, words string) {
	var hops []string
	for i, part := range strings.Split(line, "nexthop ") {
		f, out := strings.Fields(part), []string{}
		kind := ""
		if i == 0 {
			if f[0] != "default" && !strings.ContainsAny(f[0][:1], "0123456789") {
				kind, f = f[0]+" ", f[1:]
			}
			prefix, f = whole(f[0]), f[1:]
		}
		for k := 0; k < len(f); k++ {
			switch {
			case f[k] == "onlink":
				out = append(out, f[k])
			case slices.Contains(pairs, f[k]) && k+1 < len(f):
				pair := f[k] + " " + strings.Replace(f[k+1], "link", "253", 1)
				if k++; pair != "weight 1" && pair != "scope 0" {
					out = append(out, pair)
				}
			}
		}
		slices.Sort(out)
		if i == 0 {
			words = strings.TrimSuffix(kind+prefix+" "+strings.Join(out, " "), " ")
		} else {
			hops = append(hops, " nexthop "+strings.Join(out, " "))
		}
	}
	slices.Sort(hops)
	return prefix, words + strings.Join(hops, "")
}

func whole(dst string) string {
	switch {
	case dst == "default":
		return "0.0.0.0/0"
	case !strings.Contains(dst, "/"):
		return dst + "/32"
	}
	return dst
}

// is reports whether a route has a protocol.
func is(words, protocol string) bool { return strings.Contains(words+" ", protocol+" ") }

// change deletes the routes of an earlier plan that this one does not set.
func (b *Batch) change(name string, now *state) (batch string, want map[string]string) {
	n := slices.IndexFunc(b.routes, func(t companion.Table) bool { return b.Name(t.Node) == name })
	want = map[string]string{}
	for _, r := range b.routes[n].Routes {
		prefix, words := normal(strings.TrimPrefix(b.route(companion.Node(n), r), replace))
		want[prefix] = words
	}
	var stale []netip.Prefix
	for prefix, words := range now.Routes {
		if p, err := netip.ParsePrefix(prefix); err == nil && is(words, ours) {
			stale = append(stale, p)
		}
	}
	slices.SortFunc(stale, netip.Prefix.Compare)
	var text strings.Builder
	_ = b.writeNode(&text, companion.Node(n), stale)
	return text.String(), want
}

func (b *Batch) Files() (out []companion.File, err error) {
	for i := range b.nodes() {
		var text strings.Builder
		if err := b.writeNode(&text, companion.Node(i), nil); err != nil {
			return nil, err
		}
		out = append(out, companion.File{Name: b.Name(companion.Node(i)) + ".batch", Text: text.String()})
	}
	return out, nil
}

// atOnce is how many switches are contacted at a time: the work is mostly waiting.
const atOnce = 16

func (s *Shell) Before(ctx context.Context, _ companion.Tables) (companion.Tables, error) {
	states := make([]*state, len(s.names))
	err := parallel.Try(atOnce, len(s.names), func(i int) (err error) {
		states[i], err = s.read(ctx, s.names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	out := former{}
	for i, name := range s.names {
		out[name] = states[i]
		states[i].Mark = s.mark
	}
	return out, nil
}

func (s *Shell) Put(ctx context.Context, want companion.Tables) (changed int, err error) {
	counts := make([]int, len(s.names))
	err = parallel.Try(atOnce, len(s.names), func(i int) (err error) {
		counts[i], err = s.put(ctx, s.names[i], want.(wanted))
		return err
	})
	for _, n := range counts {
		changed += n
	}
	return changed, err
}

func (s *Shell) put(ctx context.Context, name string, tables wanted) (changed int, err error) {
	now, err := s.read(ctx, name)
	if err == nil {
		err = s.altered(name, now)
	}
	if err != nil {
		return 0, err
	}
	batch, want := tables.change(name, now)
	s.last.Delete(name)
	if _, err = s.apply(ctx, name, batch, want); err != nil {
		return 0, err
	}
	s.last.Store(name, want)
	return len(lacking(want, now)), nil
}

// apply gives a switch the input of ip -batch, and compares: ip also fails where the routes are right,
// such as those to delete that the kernel has deleted.
func (s *Shell) apply(ctx context.Context, name, batch string, want map[string]string) (have *state, err error) {
	_, failed := s.run(ctx, name, batch, "-force", "-batch", "-")
	if have, err = s.read(ctx, name); err != nil {
		return nil, cmp.Or(failed, err)
	}
	if err = takes(name, want, have); err != nil && failed != nil {
		err = fmt.Errorf("%w: %w", err, failed)
	}
	return have, err
}

// altered reports routes of evbench that this Shell has not set there: another evbench is at work.
func (s *Shell) altered(name string, now *state) error {
	last, ok := s.last.Load(name)
	if !ok {
		return nil
	}
	for prefix, words := range now.Routes {
		if is(words, ours) && words != last.(map[string]string)[prefix] {
			return fmt.Errorf("%s holds routes of another evbench, which has changed them meanwhile: %s", name, words)
		}
	}
	return nil
}

// lacking returns the routes that a switch does not hold.
func lacking(want map[string]string, have *state) (out []string) {
	for _, prefix := range slices.Sorted(maps.Keys(want)) {
		if have.Routes[prefix] != want[prefix] {
			out = append(out, want[prefix])
		}
	}
	return out
}

// takes reports which routes of its table a switch has not taken, and foreign ones that it holds.
func takes(name string, want map[string]string, have *state) error {
	if out := lacking(want, have); len(out) > 0 {
		return fmt.Errorf("%s has not taken its table: %d routes are not there, first %s", name, len(out), out[0])
	}
	for prefix, words := range have.Routes {
		if want[prefix] == "" && is(words, ours) {
			return fmt.Errorf("%s has not taken its table: there is still %s", name, words)
		}
	}
	return nil
}

func (s *Shell) read(ctx context.Context, name string) (*state, error) {
	out := &state{Routes: map[string]string{}}
	text, err := s.run(ctx, name, "", "-N", "-4", "-o", "route", "show", "table", "main")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		switch prefix, words := normal(line); {
		case isMark(prefix, words):
			out.marks = append(out.marks, prefix)
		case !is(words, addresses):
			out.Routes[prefix] = words
		}
	}
	if text, err = s.run(ctx, name, "", "-4", "-o", "address"); err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) { // 2: spine0 inet 172.16.0.1/31 …
		if f := strings.Fields(line); len(f) > 3 && f[2] == "inet" {
			out.Addresses = append(out.Addresses, f[3]+" dev "+f[1])
		}
	}
	return out, nil
}

const maxPrinted = 64 << 20

func (s *Shell) run(ctx context.Context, name, in string, args ...string) (string, error) {
	call := proc.Call{Limit: cmp.Or(s.Limit, defaultLimit), Most: maxPrinted, In: in}
	out, err := call.Answer(ctx, s.Command[0], slices.Concat(s.Command[1:], []string{name, "ip"}, args)...)
	if err != nil {
		return "", fmt.Errorf("routes of %s: ip %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}
