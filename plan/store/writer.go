package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/topology"
)

// A Writer fills a directory with plans. Its methods may be called from several
// goroutines. Of one that is killed a store is left, to which plans can be added,
// and which names at least half of those that were.
type Writer struct {
	dir string

	mu      sync.Mutex // guards what follows
	s       *Store
	indexed bool // there is an index
	named   int  // entries in it
}

// Create makes dir, or takes one that holds a store for the same fabric (shape,
// fill and spines), to which plans are then added. Any other directory that is
// not empty is refused. Dead links of t do not matter.
func Create(dir string, t *topology.Tree) (*Writer, error) {
	old, err := Open(os.DirFS(dir))
	switch {
	case err == nil:
		if a, b := fabric(old.tree), fabric(t); a != b {
			return nil, fmt.Errorf("%s holds plans for %s, not for %s", dir, a, b)
		}
		return &Writer{dir: dir, s: old, indexed: true, named: len(old.entries)}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(files) > 0 {
		return nil, fmt.Errorf("%s holds files, but no store: there is no %s", dir, IndexFile)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &Writer{dir: dir, s: &Store{tree: t.Healthy(), find: map[string]int{}}}, nil
}

func fabric(t *topology.Tree) string {
	return fmt.Sprintf("%s with %d spines and fill %s", t.Notation(), t.Spines(), strings.Trim(fmt.Sprint(t.Fill()), "[]"))
}

// Add writes one plan file, whole or not at all. It replaces a plan for the same
// dead links. That the plan is found is sure only after Close.
func (w *Writer) Add(p *plan.Plan) error {
	e := Entry{Down: p.Tree.DownNames(), Hash: p.Hash(), Phases: p.Phases(), Bound: p.Bound.Phases}
	_, digest, _ := strings.Cut(e.Hash, ":")
	e.File = fmt.Sprintf("%s-%.16s.txt", strings.ReplaceAll(p.ScheduleName(), ":", "-"), digest)
	if fabric(p.Tree) != fabric(w.s.tree) {
		return fmt.Errorf("%s: a plan for %s in a store for %s", w.dir, fabric(p.Tree), fabric(w.s.tree))
	}
	if err := w.begin(); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(w.dir, e.File), p.WriteText); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key, err := w.s.key(e.Down)
	if err != nil {
		return err
	}
	if i, ok := w.s.find[key]; ok {
		w.s.entries[i] = e
		return nil
	}
	w.s.find[key] = len(w.s.entries)
	w.s.entries = append(w.s.entries, e)
	if len(w.s.entries) < 2*w.named {
		return nil
	}
	return w.index()
}

// begin writes an index before there is a plan: without one the directory would be
// nobody's.
func (w *Writer) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.indexed {
		return nil
	}
	return w.index()
}

// Plans returns how many plans the store holds.
func (w *Writer) Plans() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.s.entries)
}

// Close writes the index. Files that it no longer names are left where they are;
// what reads the store does not see them.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index()
}

// index writes the index, whole or not at all: entries by the number of dead links
// and then by name. The caller holds the lock.
func (w *Writer) index() error {
	t := w.s.tree
	x := index{Schema: schema, Topology: t.Notation(), Fill: t.Fill(), Spines: t.Spines(), Entries: slices.Clone(w.s.entries)}
	slices.SortFunc(x.Entries, func(a, b Entry) int {
		if len(a.Down) != len(b.Down) {
			return len(a.Down) - len(b.Down)
		}
		return slices.Compare(a.Down, b.Down)
	})
	if err := atomicfile.Write(filepath.Join(w.dir, IndexFile), x.write); err != nil {
		return err
	}
	w.indexed, w.named = true, len(w.s.entries)
	return nil
}

// write writes the document with one entry on a line, so that people can read it
// and its diffs.
func (x *index) write(w io.Writer) error {
	lines := make([][]byte, len(x.Entries))
	for i, e := range x.Entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines[i] = line
	}
	head := *x
	head.Entries = []Entry{}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	text = bytes.TrimSuffix(text, []byte("]}"))
	for i, line := range lines {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), line...)
	}
	_, err = w.Write(append(text, "\n]}\n"...))
	return err
}
