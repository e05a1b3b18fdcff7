// Package store keeps plans for failures that have not happened yet: a directory
// with one plan file for each set of dead links, and an index that finds them.
// Someone who has to fail over looks up what is dead and loads the plan, instead
// of computing one.
//
// A Writer makes such a directory, or adds to it; a Store reads it through an
// io/fs file system, so also from an archive or from memory. Nothing read is
// trusted: a plan is given out only when its content has the hash that the index
// names. The package plans nothing and judges nothing.
package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/topology"
)

// schema is that of the index, IndexFile its name in the directory.
const (
	schema    = "evbench/store/1"
	IndexFile = "index.json"
)

// An Entry is one plan.
type Entry struct {
	Down   []string `json:"down"`   // names of the dead links, in the order of topology.Tree.Dead
	File   string   `json:"file"`   // in the directory of the index
	Hash   string   `json:"hash"`   // of the plan, "sha256:…", as in its header
	Phases int      `json:"phases"` // of the plan
	Bound  int      `json:"bound"`  // the fewest that are possible
}

// index is the JSON document.
type index struct {
	Schema   string  `json:"schema"`
	Topology string  `json:"topology"`
	Fill     []int   `json:"fill"`
	Spines   int     `json:"spines"`
	Entries  []Entry `json:"entries"`
}

// A Store finds and loads plans. It is immutable and safe for concurrent use, as
// far as its file system is.
type Store struct {
	fsys    fs.FS
	tree    *topology.Tree
	entries []Entry
	find    map[string]int // by key
}

// Open reads the index of a store. An index that is damaged, or names a file
// outside its directory, is an error; the plan files are looked at by Load.
func Open(fsys fs.FS) (*Store, error) {
	text, err := readFile(fsys, IndexFile)
	if err != nil {
		return nil, err
	}
	s, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", IndexFile, err)
	}
	s.fsys = fsys
	return s, nil
}

// maxFile bounds the index, and a plan.
const maxFile = 2 << 30

func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(atomicfile.Bound(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

func parse(text []byte) (*Store, error) {
	var x index
	if err := json.Unmarshal(text, &x); err != nil {
		return nil, err
	}
	if x.Schema != schema {
		return nil, fmt.Errorf("schema %q; this reads %s", x.Schema, schema)
	}
	o, err := topology.Parse(x.Topology)
	if err != nil {
		return nil, err
	}
	if x.Spines < 1 {
		return nil, fmt.Errorf("%d spines: must be at least 1", x.Spines)
	}
	o.Fill, o.Spines = x.Fill, x.Spines
	tree, err := topology.Make(o)
	if err != nil {
		return nil, err
	}
	s := &Store{tree: tree, entries: x.Entries, find: make(map[string]int, len(x.Entries))}
	for i, e := range x.Entries {
		if err := s.enter(i, e); err != nil {
			return nil, fmt.Errorf("entries[%d]: %w", i, err)
		}
	}
	return s, nil
}

// enter checks entry i and makes it findable.
func (s *Store) enter(i int, e Entry) error {
	key, err := s.key(e.Down)
	if err != nil {
		return err
	}
	if _, twice := s.find[key]; twice {
		return errors.New("the same dead links as an earlier entry")
	}
	if !fs.ValidPath(e.File) || path.Base(e.File) != e.File || e.File == "." {
		return fmt.Errorf("file %q: must be a name in the directory of the index", e.File)
	}
	if !strings.HasPrefix(e.Hash, "sha256:") {
		return fmt.Errorf("hash %q: it has the form sha256:…", e.Hash)
	}
	s.find[key] = i
	return nil
}

// key names a set of dead links however it is written.
func (s *Store) key(down []string) (string, error) {
	var dead []topology.Link
	for _, name := range down {
		links, err := s.tree.Links(name)
		if err != nil {
			return "", err
		}
		dead = append(dead, links...)
	}
	t, err := s.tree.Without(dead...)
	if err != nil {
		return "", err
	}
	return strings.Join(t.DownNames(), ","), nil
}

// Tree returns the fabric that the plans are for, without dead links.
func (s *Store) Tree() *topology.Tree { return s.tree }

// Find returns the plan for exactly these dead links, named in any order, once or
// more often, whole switches by their own name (spine3) or link by link. Without
// names it is the plan of the healthy fabric. A name that the fabric does not
// have finds nothing.
func (s *Store) Find(down []string) (Entry, bool) {
	key, err := s.key(down)
	if err != nil {
		return Entry{}, false
	}
	i, ok := s.find[key]
	if !ok {
		return Entry{}, false
	}
	return s.entries[i], true
}

// Load returns the plan file of an entry, after checking that its fabric lines
// and messages have the hash of the entry. A file that is missing or changed is an
// error that names it.
func (s *Store) Load(e Entry) ([]byte, error) {
	text, err := readFile(s.fsys, e.File)
	if err != nil {
		return nil, err
	}
	got, err := hashOf(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.File, err)
	}
	if got != e.Hash {
		return nil, fmt.Errorf("%s: its content has the hash %s, the index names %s", e.File, got, e.Hash)
	}
	return text, nil
}

// hashOf returns the hash of a plan file. That of one that somebody has packed, or
// written in compact form, is that of the plan.
func hashOf(file []byte) (string, error) {
	if !bytes.HasPrefix(file, []byte{0x1f, 0x8b}) && !bytes.HasPrefix(file, []byte("# evbench plan 1 compact")) {
		return hash(file), nil
	}
	p, err := plan.Read(bytes.NewReader(file))
	if err != nil {
		return "", err
	}
	return p.Hash(), nil
}

// hashed begin the header lines that the hash of a plan covers; the body is all
// that is not a header line.
var hashed = [][]byte{[]byte("# topology "), []byte("# fill "), []byte("# spines "), []byte("# down ")}

// hash returns the hash of a plan in text form as its writer computed it, over
// the fabric lines and the body, whatever the header says of itself. A changed
// schedule name, routing or bound does not change it.
func hash(text []byte) string {
	h := sha256.New()
	for line := range bytes.Lines(text) {
		if covers(line) {
			h.Write(line)
		}
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

func covers(line []byte) bool {
	if line[0] != '#' {
		return true
	}
	for _, prefix := range hashed {
		if bytes.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
