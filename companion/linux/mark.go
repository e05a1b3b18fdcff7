package linux

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"evbench/internal/parallel"
)

// A mark is a route of this program to an address that no packet has (240.0.0.0/4), drawn by its owner: who alone has one
// on a switch owns it. Each writes its own mark and then looks, so of two at once at most one sees none beside its own.
var marks = netip.MustParsePrefix("240.0.0.0/4")

func newMark() string {
	n := 240<<24 | rand.Uint32N(1<<28-1) // not the broadcast address
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String() + "/32"
}

func isMark(prefix, words string) bool {
	p, err := netip.ParsePrefix(prefix)
	return err == nil && p.Bits() == 32 && marks.Contains(p.Addr()) && is(words, ours)
}

// Of two that mark a switch at once the greater one leaves, and the other looks so often, at this distance, whether it has.
const (
	looks = 10
	pause = 200 * time.Millisecond
)

// Mark implements companion.Marked. It takes the first switch first, so that of two runs one has them all.
func (s *Shell) Mark(ctx context.Context) error {
	if s.marked {
		return nil
	}
	if s.mark == "" {
		s.mark = newMark()
	}
	names := slices.Sorted(slices.Values(s.names))
	err := s.claim(ctx, names[0])
	if err == nil {
		err = parallel.Try(atOnce, len(names)-1, func(i int) error { return s.claim(ctx, names[i+1]) })
	}
	if s.marked = err == nil; err != nil {
		_ = s.Unmark(context.WithoutCancel(ctx)) // who finds a mark is told how to remove it
	}
	return err
}

func (s *Shell) claim(ctx context.Context, name string) error {
	_, failed := s.run(ctx, name, fmt.Sprintf("%s%s dev lo%s\n", replace, s.mark, ours), "-force", "-batch", "-")
	for n := 1; ; n++ {
		now, err := s.read(ctx, name)
		if err != nil {
			return err
		}
		others := s.others(now)
		switch {
		case len(others) == len(now.marks):
			return errors.Join(fmt.Errorf("%s does not take the route %s, by which this evbench marks it", name, s.mark), failed)
		case len(others) == 0:
			return nil
		case n == looks || slices.Min(others) < s.mark:
			return inUse(name, others)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// others are the marks of others.
func (s *Shell) others(now *state) []string {
	return slices.DeleteFunc(slices.Clone(now.marks), func(m string) bool { return m == s.mark })
}

func inUse(name string, marks []string) error {
	return fmt.Errorf("%s is in use by another evbench, which has marked it by the route %s: it runs, or was killed; then evbench routes undo "+
		"for its directory, or on each switch: ip route flush proto %d", name, strings.TrimSuffix(marks[0], "/32"), protocol)
}

// Unmark implements companion.Marked.
func (s *Shell) Unmark(ctx context.Context) error {
	if s.marked = false; s.mark == "" {
		return nil
	}
	return parallel.Try(atOnce, len(s.names), func(i int) error {
		_, failed := s.run(ctx, s.names[i], fmt.Sprintf("route del %s%s\n", s.mark, ours), "-force", "-batch", "-")
		if failed == nil {
			return nil
		}
		now, err := s.read(ctx, s.names[i])
		if err != nil || slices.Contains(now.marks, s.mark) {
			return errors.Join(failed, err)
		}
		return nil // it had none
	})
}
