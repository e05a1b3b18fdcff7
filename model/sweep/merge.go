package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/internal/proc"
)

// Merged is the journals of all shards of a sweep, for reading.
type Merged struct {
	Header Header // of the first; its Shard and Own are meaningless here
	names  []string
	now    *Header
}

// Merge reads the journals of all shards of one sweep. It refuses, by name, journals of another
// sweep, a shard that is repeated or missing, and an unfinished one.
func Merge(names []string) (*Merged, error) {
	if len(names) == 0 {
		return nil, errors.New("no journal is named")
	}
	m := &Merged{names: names}
	by := map[Shard]string{}
	var seen []bool
	var unfinished []error
	for _, name := range names {
		var shard Shard
		var head Header
		done := 0
		err := m.read(name, func(h *Header) (err error) {
			head = *h
			if shard, err = ParseShard(h.Shard); err != nil {
				return err
			}
			if len(by) == 0 {
				m.Header, seen = *h, make([]bool, max(0, h.Items))
			}
			if why := h.differs(&m.Header); why != "" {
				return fmt.Errorf("belongs to another sweep than %s: %s", names[0], why)
			}
			for first, other := range by {
				if first.N != shard.N {
					return fmt.Errorf("shard %s, and %s is shard %s", shard, other, first)
				}
			}
			if other, ok := by[shard]; ok {
				return fmt.Errorf("shard %s, which %s is, too", shard, other)
			}
			by[shard] = name
			return nil
		}, func(item int, _ []byte) error {
			if item < 0 || item >= len(seen) || seen[item] {
				return fmt.Errorf("item %d is not one of shard %s", item, shard)
			}
			seen[item] = true
			done++
			return nil
		})
		if err != nil {
			return nil, err
		}
		if done < head.Own {
			unfinished = append(unfinished, fmt.Errorf("%s: shard %s has %d of its %d items: start it again; it resumes", name, shard, done, head.Own))
		}
	}
	return m, errors.Join(missing(by), errors.Join(unfinished...), incomplete(seen, by, unfinished))
}

// missing names the missing shards, the first ten of them.
func missing(by map[Shard]string) error {
	n := 0
	for s := range by {
		n = s.N
	}
	var names []string
	for i := range n {
		if s := (Shard{i + 1, n}); by[s] == "" {
			names = append(names, s.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	more := ""
	if len(names) > 10 {
		more, names = fmt.Sprintf(" and %d more", len(names)-10), names[:10]
	}
	return fmt.Errorf("no journal of shard %s%s", strings.Join(names, ", "), more)
}

// incomplete compares the items of all shards with the items of the sweep.
func incomplete(seen []bool, by map[Shard]string, unfinished []error) error {
	if len(unfinished) > 0 || missing(by) != nil {
		return nil
	}
	if i := slices.Index(seen, false); i >= 0 {
		return fmt.Errorf("item %d is in no journal", i)
	}
	return nil
}

func (m *Merged) read(name string, head func(*Header) error, take func(item int, value []byte) error) error {
	f, err := atomicfile.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := read(f, head, take); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Expect sets the sweep that the program computes now. Journals of another one are an error; a
// different number of items is an error of Load.
func (m *Merged) Expect(now Header) error {
	now.Items = m.Header.Items
	m.now = &now
	if why := m.Header.differs(m.now); why != "" {
		return proc.Usagef("%s: the journal belongs to another sweep: %s", m.names[0], why)
	}
	return nil
}

// Load implements Keeper.
func (m *Merged) Load(n, _ int, take func(item int, value []byte) error) error {
	m.now.Items = n
	for _, name := range m.names {
		err := m.read(name, func(h *Header) error {
			if why := h.differs(m.now); why != "" {
				return fmt.Errorf("the journal belongs to another sweep: %s", why)
			}
			return nil
		}, take)
		if err != nil {
			return err
		}
	}
	return nil
}

// Add fails: merged journals are not changed.
func (m *Merged) Add(item int, _ []byte) error {
	return fmt.Errorf("item %d is in none of %s", item, strings.Join(m.names, ", "))
}
