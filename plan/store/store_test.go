package store_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"evbench/plan"
	"evbench/plan/store"
	"evbench/plan/verify"
	"evbench/topology"
	"evbench/topology/topologytest"
)

var shape = topology.Options{Ports: 3, Leaves: 3, Spines: 4, Fill: []int{3, 2, 3}}

func planFor(t testing.TB, o topology.Options, down ...string) *plan.Plan {
	t.Helper()
	p, err := plan.Build(topologytest.Tree(t, o, down...), plan.Options{Schedule: "fors"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// save writes plans for the healthy tree, each dead link and each dead spine.
func save(t testing.TB, dir string) (downs [][]string) {
	t.Helper()
	downs = [][]string{nil, {"spine0"}, {"spine3"}}
	for _, l := range topologytest.Tree(t, shape, "spine0", "spine1", "spine2", "spine3").Dead() {
		downs = append(downs, []string{l.String()})
	}
	w, err := store.Create(dir, topologytest.Tree(t, shape, "leaf0-spine0"))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, down := range downs {
		p := planFor(t, shape, down...)
		group.Go(func() {
			if err := w.Add(p); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if w.Plans() != len(downs) {
		t.Fatalf("%d plans, want %d", w.Plans(), len(downs))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return downs
}

func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is saved is found by its dead links and loads as it was written.
func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "store")
	downs := save(t, dir)
	s := open(t, dir)
	if len(s.Entries()) != len(downs) || s.Tree().Spines() != 4 || len(s.Tree().Dead()) != 0 {
		t.Fatalf("%d entries", len(s.Entries()))
	}
	for _, down := range downs {
		p := planFor(t, shape, down...)
		e, ok := s.Find(down)
		if !ok || e.Hash != p.Hash() || e.Phases != p.Phases() || e.Bound != p.Bound.Phases || !slices.Equal(e.Down, p.Tree.DownNames()) {
			t.Fatalf("%v: %v %+v", down, ok, e)
		}
		text, err := s.Load(e)
		if err != nil {
			t.Fatal(err)
		}
		f, err := verify.Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if r := verify.Check(f, verify.Options{}); !r.Valid || r.Phases != e.Phases {
			t.Errorf("%v: %+v", down, r)
		}
	}
}

// A plan that somebody has packed, or written in compact form, is still the one that the
// index names; another is not.
func TestPackedPlans(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	downs := save(t, dir)
	s := open(t, dir)
	p, other := planFor(t, shape, downs[0]...), planFor(t, shape, downs[1]...)
	e, ok := s.Find(downs[0])
	if !ok {
		t.Fatal("no plan")
	}
	for name, file := range map[string]func(*plan.Plan, io.Writer) error{
		"compact": (*plan.Plan).WriteCompact,
		"packed": func(p *plan.Plan, w io.Writer) error {
			z := gzip.NewWriter(w)
			return errors.Join(p.WriteText(z), z.Close())
		},
	} {
		for q, right := range map[*plan.Plan]bool{p: true, other: false} {
			var b bytes.Buffer
			if err := errors.Join(file(q, &b), os.WriteFile(filepath.Join(dir, e.File), b.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
			if text, err := s.Load(e); right && (err != nil || !bytes.Equal(text, b.Bytes())) || !right && err == nil {
				t.Errorf("%s, right %v: error %v", name, right, err)
			}
		}
	}
}

// Names may come in any order, twice, and as whole spines or link by link.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	save(t, dir)
	s := open(t, dir)
	whole, ok := s.Find([]string{"spine3"})
	links, ok2 := s.Find([]string{"leaf2-spine3", "leaf0-spine3", "leaf1-spine3", "leaf0-spine3"})
	if !ok || !ok2 || whole.File != links.File {
		t.Errorf("%v %v, %v %v", whole, ok, links, ok2)
	}
	for _, down := range [][]string{{"leaf0-spine0", "leaf0-spine1"}, {"leaf9-spine0"}, {""}} {
		if e, ok := s.Find(down); ok {
			t.Errorf("%v: found %+v", down, e)
		}
	}
}

// A store for three levels: links of both levels, middle and top switches by name.
func TestThreeLevels(t *testing.T) {
	dir := t.TempDir()
	o := topology.Options{Ports: 2, Leaves: 4, Pods: 2, Tops: 3, Fill: []int{2, 1, 2, 2}}
	downs := [][]string{nil, {"leaf1-spine0"}, {"pod1-spine0-top2"}, {"pod0-spine1"}, {"spine1-top0", "leaf3-spine0"}}
	w, err := store.Create(dir, topologytest.Tree(t, o, "pod0-spine0-top0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, down := range downs[:3] {
		if err := w.Add(planFor(t, o, down...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w, err = store.Create(dir, topologytest.Tree(t, o)); err != nil { // as a survey goes on
		t.Fatal(err)
	}
	if err := errors.Join(w.Add(planFor(t, o, downs[3]...)), w.Add(planFor(t, o, downs[4]...)), w.Close()); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if len(s.Entries()) != len(downs) || s.Tree().Notation() != topologytest.Tree(t, o).Notation() {
		t.Fatalf("%d entries for %s", len(s.Entries()), s.Tree().Notation())
	}
	links, _ := s.Find([]string{"pod0-spine1-top0", "pod0-spine1-top2", "leaf1-spine1", "leaf0-spine1", "pod0-spine1-top1"})
	if whole, ok := s.Find(downs[3]); !ok || whole.File != links.File {
		t.Errorf("pod0-spine1 is %+v, its links %+v", whole, links)
	}
	for _, down := range downs {
		e, ok := s.Find(down)
		text, err := s.Load(e)
		if !ok || err != nil || e.Hash != planFor(t, o, down...).Hash() {
			t.Fatalf("%v: %v, %v, %+v", down, ok, err, e)
		}
		f, err := verify.Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if r := verify.Check(f, verify.Options{}); !r.Valid || r.Phases != e.Phases {
			t.Errorf("%v: %+v", down, r)
		}
	}
	for _, other := range []topology.Options{{Ports: 2, Leaves: 4, Pods: 2, Fill: o.Fill}, {Ports: 2, Leaves: 4, Fill: o.Fill}} {
		if _, err := store.Create(dir, topologytest.Tree(t, other)); err == nil || !strings.Contains(err.Error(), "holds plans for PGFT(3;2,2,2;1,2,3;1,1,1)") {
			t.Errorf("another fabric: %v", err)
		}
	}
}

// A second survey adds to the same store; another fabric, or a directory with
// other files, is refused and left alone.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	n := len(save(t, dir))
	before, err := os.ReadFile(filepath.Join(dir, store.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	w, err := store.Create(dir, topologytest.Tree(t, shape))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Add(planFor(t, shape, "leaf0-spine0", "leaf1-spine1")), w.Add(planFor(t, shape, "leaf0-spine0")), w.Close()); err != nil {
		t.Fatal(err)
	}
	if got := len(open(t, dir).Entries()); got != n+1 {
		t.Errorf("%d entries, want %d", got, n+1)
	}
	for _, o := range []topology.Options{{Ports: 3, Leaves: 3}, {Ports: 3, Leaves: 3, Spines: 4}, {Ports: 4, Leaves: 3}} {
		other := topologytest.Tree(t, o)
		if _, err := store.Create(dir, other); err == nil || !strings.Contains(err.Error(), "holds plans for FT(2;3,3) with 4 spines and fill 3 2 3") {
			t.Errorf("%s: %v", other.Notation(), err)
		}
		if err := w.Add(planFor(t, o)); err == nil {
			t.Errorf("%s: a plan for another fabric is added", other.Notation())
		}
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(foreign, topologytest.Tree(t, shape)); err == nil {
		t.Error("a directory with other files is taken")
	}
	if files, _ := os.ReadDir(foreign); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, store.IndexFile)); bytes.Equal(before, after) {
		t.Error("the index has not changed")
	}
}

// Equal plans make equal stores, in whatever order they come.
func TestStoresAreReproducible(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	save(t, a)
	save(t, b)
	files, err := os.ReadDir(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		one, err := os.ReadFile(filepath.Join(a, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if two, err := os.ReadFile(filepath.Join(b, f.Name())); err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs: %v", f.Name(), err)
		}
	}
}

// A missing or changed plan file is named, and the others still load.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	downs := save(t, dir)
	s := open(t, dir)
	damage := []struct {
		name  string
		do    func(file string, text []byte) error
		wants string
	}{
		{"missing", func(file string, _ []byte) error { return os.Remove(file) }, "file does not exist"},
		{"cut off", func(file string, text []byte) error { return os.WriteFile(file, text[:len(text)-5], 0o644) }, "its content has the hash"},
		{"another spine", func(file string, text []byte) error {
			return os.WriteFile(file, append(text[:len(text)-2], text[len(text)-2]^1, '\n'), 0o644)
		}, "its content has the hash"},
		{"other dead links", func(file string, text []byte) error {
			return os.WriteFile(file, bytes.Replace(text, []byte("# down "), []byte("# down leaf2-spine2,"), 1), 0o644)
		}, "its content has the hash"},
	}
	for i, d := range damage {
		e, _ := s.Find(downs[i])
		file := filepath.Join(dir, e.File)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.do(file, text); err != nil {
			t.Fatal(err)
		}
		_, err = s.Load(e)
		if err == nil || !strings.Contains(err.Error(), e.File) || !strings.Contains(err.Error(), d.wants) {
			if !errors.Is(err, fs.ErrNotExist) || d.name != "missing" {
				t.Errorf("%s: %v", d.name, err)
			}
		}
	}
	for _, down := range downs[len(damage):] {
		e, _ := s.Find(down)
		if _, err := s.Load(e); err != nil {
			t.Errorf("%v: %v", down, err)
		}
	}
}

const goodIndex = `{"schema":"evbench/store/1","topology":"FT(2;2,2)","fill":[2,2],"spines":2,"entries":[` +
	`{"down":["leaf0-spine0"],"file":"a.txt","hash":"sha256:00","phases":4,"bound":4}]}`

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"not JSON":       {goodIndex, "hello", "index.json: invalid character"},
		"schema":         {"store/1", "store/9", `index.json: schema "evbench/store/9"`},
		"topology":       {"FT(2;2,2)", "FT(2;2", "index.json: "},
		"fill":           {"[2,2]", "[2,3]", "fill of leaf1 = 3"},
		"spines":         {`"spines":2`, `"spines":0`, "0 spines"},
		"unknown link":   {"leaf0-spine0", "leaf7-spine0", `entries[0]: no link "leaf7-spine0"`},
		"another place":  {"a.txt", "../a.txt", `entries[0]: file "../a.txt"`},
		"subdirectory":   {"a.txt", "b/a.txt", `entries[0]: file "b/a.txt"`},
		"no file":        {"a.txt", "", `entries[0]: file ""`},
		"hash":           {"sha256:00", "md5:00", `entries[0]: hash "md5:00"`},
		"the same twice": {"}]}", `},{"down":["leaf0-spine0"],"file":"b.txt","hash":"sha256:00"}]}`, "entries[1]: the same dead links"},
	} {
		text := strings.Replace(goodIndex, c.old, c.new, 1)
		_, err := store.Open(fstest.MapFS{store.IndexFile: {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := store.Open(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no index: %v", err)
	}
	if _, err := store.Open(fstest.MapFS{store.IndexFile: {Data: []byte(goodIndex)}}); err != nil {
		t.Error(err)
	}
}

// Whatever an index says, opening and loading it does not panic, and nothing
// loads whose hash is not the one named.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(goodIndex), []byte("# topology FT(2;2,2)\n0 0 1 -\n"))
	f.Add([]byte(`{"schema":"evbench/store/1"}`), []byte{})
	f.Fuzz(func(t *testing.T, index, file []byte) {
		s, err := store.Open(fstest.MapFS{store.IndexFile: {Data: index}, "a.txt": {Data: file}})
		if err != nil {
			return
		}
		for _, e := range s.Entries() {
			if found, ok := s.Find(e.Down); !ok || found.File != e.File {
				t.Errorf("%v: found %+v, %v", e.Down, found, ok)
			}
			if text, err := s.Load(e); err == nil && !bytes.Equal(text, file) && e.File == "a.txt" {
				t.Errorf("%s: another text", e.File)
			}
		}
	})
}

// A writer that is killed leaves a store: it holds at least half of the plans, and
// takes more.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	downs := [][]string{nil, {"leaf0-spine0"}, {"leaf0-spine1"}, {"leaf1-spine0"}, {"leaf1-spine1"}, {"leaf2-spine0"}, {"leaf2-spine1"}}
	killed, err := store.Create(dir, topologytest.Tree(t, shape))
	if err != nil {
		t.Fatal(err)
	}
	for n, down := range downs {
		if err := killed.Add(planFor(t, shape, down...)); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		if found := s.Entries(); 2*len(found) < n+1 {
			t.Errorf("after %d plans %d are found", n+1, len(found))
		}
		for _, e := range s.Entries() {
			if _, err := s.Load(e); err != nil {
				t.Error(err)
			}
		}
	}
	w, err := store.Create(dir, topologytest.Tree(t, shape))
	if err != nil {
		t.Fatal(err)
	}
	for _, down := range downs {
		if err := w.Add(planFor(t, shape, down...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || len(open(t, dir).Entries()) != len(downs) {
		t.Errorf("%v, %d plans", err, len(open(t, dir).Entries()))
	}
}
