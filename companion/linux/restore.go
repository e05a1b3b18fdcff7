package linux

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/companion"
	"evbench/internal/parallel"
)

// A former is the former states of switches, by name.
type former map[string]*state

func (f former) change(name string, now *state) (batch string, want map[string]string) {
	var text strings.Builder
	for prefix, words := range now.Routes {
		if f[name].Routes[prefix] == "" && is(words, ours) {
			fmt.Fprintf(&text, "route del %s%s\n", prefix, ours)
		}
	}
	set := lacking(f[name].Routes, now)
	for _, a := range now.Addresses {
		if !slices.Contains(f[name].Addresses, a) {
			fmt.Fprintf(&text, "address del %s\n", a)
			set = lacking(f[name].Routes, &state{}) // all: with its last address an interface loses its routes
		}
	}
	for _, words := range set {
		fmt.Fprintf(&text, "%s%s\n", replace, words)
	}
	return text.String(), f[name].Routes
}

func (f former) Files() (out []companion.File, err error) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		text, err := json.Marshal(f[name])
		if err != nil {
			return nil, err
		}
		out = append(out, companion.File{Name: name, Text: string(text)})
	}
	return out, nil
}

// Installed returns an error that names a switch with routes of evbench.
func (f former) Installed() error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for _, words := range f[name].Routes {
			if is(words, ours) {
				return fmt.Errorf("%s holds routes of evbench that were not installed from this directory, perhaps by a run that needs them: "+
					"evbench routes undo for the other directory, or on each switch: ip route flush proto %d", name, protocol)
			}
		}
	}
	return nil
}

// Former makes the switches and the tables from companion.FormerFile, without those of switches that
// are given up.
func Former(command []string, list []companion.File, givenUp ...string) (*Shell, companion.Tables, error) {
	s, f := &Shell{Command: command}, former{}
	for _, x := range list {
		f[x.Name] = new(state)
		if err := json.Unmarshal([]byte(x.Text), f[x.Name]); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", x.Name, err)
		}
		s.mark = f[x.Name].Mark // a killed owner's, in whose place this Shell is
	}
	for _, name := range givenUp {
		if f[name] == nil {
			return nil, nil, fmt.Errorf("no switch %s is to be restored; there are %s", name, strings.Join(slices.Sorted(maps.Keys(f)), ", "))
		}
		delete(f, name)
	}
	s.names = slices.Sorted(maps.Keys(f))
	return s, f, nil
}

// Restore implements companion.Switches. Routes through interfaces that are down, or gone, cannot be
// set, and the kernel would have lost them without evbench, too: it tells of them.
func (s *Shell) Restore(ctx context.Context, want companion.Tables) (changed int, left companion.Tables, err error) {
	f := want.(former)
	names := slices.Sorted(maps.Keys(f))
	counts, errs := make([]int, len(names)), make([]error, len(names))
	parallel.Each(atOnce, len(names), func(_, i int) { counts[i], errs[i] = s.restore(ctx, names[i], f) })
	rest := former{}
	var away []string
	for i, name := range names {
		changed += counts[i]
		if errs[i] != nil {
			rest[name], away = f[name], append(away, name)
			if err == nil {
				err = errs[i]
			}
		}
	}
	if err == nil {
		return changed, nil, nil
	}
	return changed, rest, fmt.Errorf("not on %s: %w", strings.Join(away, ", "), err)
}

func (s *Shell) restore(ctx context.Context, name string, f former) (changed int, err error) {
	now, err := s.read(ctx, name)
	if err != nil {
		return 0, err
	}
	if marks := s.others(now); len(marks) > 0 {
		return 0, inUse(name, marks)
	}
	if err := s.altered(name, now); err != nil {
		s.say("%v", err)
	}
	s.last.Delete(name)
	batch, want := f.change(name, now)
	have := now
	if batch != "" {
		if have, err = s.apply(ctx, name, batch, want); err != nil && have != nil {
			want, err = s.without(ctx, name, have, want, err)
		}
	}
	if err != nil {
		return 0, err
	}
	s.last.Store(name, want)
	return len(lacking(want, now)), nil
}

// without sets the former routes that a switch lacks without their hops through interfaces that are
// down. It returns the routes that the switch then holds; an error, why it lacks others.
func (s *Shell) without(ctx context.Context, name string, have *state, want map[string]string, lacks error) (map[string]string, error) {
	up, err := s.up(ctx, name)
	if err != nil {
		return nil, err
	}
	out, lost := maps.Clone(want), lacking(want, have)
	var text strings.Builder
	for _, words := range lost {
		prefix, _ := normal(words)
		rest := alive(words, up)
		switch {
		case rest == words:
			return nil, lacks
		case rest == "":
			delete(out, prefix)
		default:
			out[prefix] = rest
			fmt.Fprintf(&text, "%s%s\n", replace, rest)
		}
	}
	if len(lost) == 0 {
		return nil, lacks
	}
	if text.Len() > 0 {
		if _, err := s.apply(ctx, name, text.String(), out); err != nil {
			return nil, err
		}
	} else if err := takes(name, out, have); err != nil {
		return nil, err
	}
	s.say("%s: %d former routes lead through an interface that is down, and are not set in full, first: ip route replace %s", name, len(lost), lost[0])
	return out, nil
}

// up returns the interfaces of a switch that are up.
func (s *Shell) up(ctx context.Context, name string) (map[string]bool, error) {
	text, err := s.run(ctx, name, "", "-o", "link")
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for line := range strings.Lines(text) { // 2: spine0@if5: <BROADCAST,MULTICAST,UP> mtu …
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		iface, _, _ := strings.Cut(strings.TrimSuffix(f[1], ":"), "@")
		out[iface] = slices.Contains(strings.Split(strings.Trim(f[2], "<>"), ","), "UP")
	}
	return out, nil
}

// alive returns a route without the hops through interfaces that are not up; "": none is left.
func alive(words string, up map[string]bool) string {
	parts := strings.Split(words, " nexthop ")
	lives := func(hop string) bool {
		f := strings.Fields(hop)
		at := slices.Index(f, "dev")
		return at < 0 || at+1 >= len(f) || up[f[at+1]]
	}
	if len(parts) == 1 {
		if lives(words) {
			return words
		}
		return ""
	}
	hops := slices.DeleteFunc(slices.Clone(parts[1:]), func(hop string) bool { return !lives(hop) })
	switch len(hops) {
	case 0:
		return ""
	case 1:
		hop, _, _ := strings.Cut(hops[0]+" ", "weight ") // the last pair, and of several hops only
		_, one := normal(parts[0] + " " + hop)
		return one
	}
	return parts[0] + " nexthop " + strings.Join(hops, " nexthop ")
}

func (s *Shell) say(format string, a ...any) {
	if s.Say != nil {
		s.Say(fmt.Sprintf(format, a...))
	}
}
