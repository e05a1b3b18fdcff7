package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"evbench/model/sweep"
	"evbench/testing/disktest"
	"evbench/testing/expect"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]sweep.Shard{"1/1": {1, 1}, "3/8": {3, 8}, "8/8": {8, 8}, "1/20000": {1, 20000}} {
		got, err := sweep.ParseShard(text)
		expect.True(t, err == nil && got == want && got.String() == text, "%s: %v, %v", text, got, err)
	}
	for _, text := range []string{"", "3", "0/3", "4/3", "-1/3", "1/0", "1/2/3", "a/b", "1/1000001"} {
		expect.True(t, expect.Err(sweep.ParseShard(text)) != nil, "%q is taken", text)
	}
}

// Each item is in one shard, and the shard with the most work has no more than all others by more
// than the dearest item.
func TestDeal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n, of := r.IntN(60), 1+r.IntN(9)
		costs := make([]float64, n)
		for i := range costs {
			costs[i] = float64(r.IntN(100))
		}
		for _, cost := range []func(int) float64{nil, func(i int) float64 { return costs[i] }} {
			owners := make([]int, n)
			work := make([]float64, of)
			for k := range of {
				items := (sweep.Shard{I: k + 1, N: of}).Deal(n, cost)
				expect.True(t, slices.IsSorted(items), "%v is not rising", items)
				for _, i := range items {
					owners[i]++
					if work[k]++; cost != nil {
						work[k] += costs[i] - 1
					}
				}
			}
			expect.True(t, !slices.ContainsFunc(owners, func(x int) bool { return x != 1 }), "%d items, %d shards: owners %v", n, of, owners)
			dearest := 1.0
			if cost != nil && n > 0 {
				dearest = slices.Max(costs)
			}
			expect.True(t, slices.Max(work)-slices.Min(work) <= dearest, "%d items, %d shards: work %v, dearest %g", n, of, work, dearest)
		}
	}
}

var head = sweep.Header{Version: "1", Build: "a1", Args: []string{"whatif", "--k", "2"}, Inputs: "none"}

func headOf(s sweep.Shard) sweep.Header {
	h := head
	h.Shard = s.String()
	return h
}

// worked runs a shard of n items on its journal, but for no more than most of them; it returns
// those that were worked out now.
func worked(t *testing.T, name string, s sweep.Shard, n, most int) ([]int, error) {
	t.Helper()
	now, err, closed := tried(t, name, s, n, most)
	expect.Must(t, closed)
	return now, err
}

// tried is worked, and returns also the error of the end.
func tried(t *testing.T, name string, s sweep.Shard, n, most int) (now []int, err, closed error) {
	j := sweep.NewJournal(name, headOf(s))
	stop := errors.New("stop")
	err = sweep.Run(t.Context(), &sweep.Sweep{Shard: s, Kept: j}, sweep.Items[int]{
		N: n, Workers: 1, Put: func(int, int) error { return nil },
		Work: func(_ context.Context, i int) (int, error) {
			if len(now) == most {
				return 0, stop
			}
			now = append(now, i)
			return i * i, nil
		},
	})
	closed = j.Close()
	if errors.Is(err, stop) {
		err = nil
	}
	return now, err, closed
}

// Whatever a kill leaves of the last line, the sweep goes on: no item is lost, and none that is
// kept is worked out again. The journals of all shards merge to the squares of all items.
func TestResume(t *testing.T) {
	const n = 50
	r := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		of := 1 + r.IntN(4)
		var names []string
		for k := range of {
			s := sweep.Shard{I: k + 1, N: of}
			name := filepath.Join(t.TempDir(), "x.journal")
			names = append(names, name)
			first, err := worked(t, name, s, n, r.IntN(20))
			expect.MustTrue(t, err == nil || errors.As(err, new(*sweep.Part)), "%v", err)
			text := expect.Value(os.ReadFile(name))(t)
			begun := strings.IndexByte(string(text), '\n') + 1
			cut := begun + r.IntN(len(text)-begun+1)
			expect.Must(t, os.WriteFile(name, text[:cut], 0o600))
			kept := first[:strings.Count(string(text[begun:cut]), "\n")]
			again, err := worked(t, name, s, n, n)
			expect.MustTrue(t, (err == nil) == (of == 1), "%v", err)
			expect.True(t, slices.Equal(slices.Concat(kept, again), s.Deal(n, nil)), "kept %v, then %v, of %v", kept, again, s.Deal(n, nil))
		}
		squares(t, names, n)
	}
}

func squares(t *testing.T, names []string, n int) {
	t.Helper()
	m := expect.Value(sweep.Merge(names, false))(t)
	expect.Must(t, m.Expect(m.Header))
	got := map[int]int{}
	expect.Must(t, sweep.Run(t.Context(), &sweep.Sweep{Kept: m}, sweep.Items[int]{
		N: n, Put: func(i, v int) error { got[i] = v; return nil },
		Work: func(_ context.Context, i int) (int, error) { return 0, fmt.Errorf("item %d is worked out", i) },
	}))
	for i := range n {
		expect.Equal(t, got[i], i*i, "square")
	}
}

func TestMergeRefuses(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for k := range 3 {
		expect.MustTrue(t, expect.Err(worked(t, in(fmt.Sprint(k+1)), sweep.Shard{I: k + 1, N: 3}, 10, 10)) != nil, "no part")
	}
	_, _ = worked(t, in("half"), sweep.Shard{I: 3, N: 3}, 10, 1)
	_, _ = worked(t, in("of4"), sweep.Shard{I: 3, N: 4}, 10, 10)
	_, _ = worked(t, in("longer"), sweep.Shard{I: 3, N: 3}, 11, 11)
	text := string(expect.Value(os.ReadFile(in("3")))(t))
	lines := strings.SplitAfter(text, "\n")
	for name, text := range map[string]string{
		"twice": text + lines[1], "damaged": lines[0] + "x" + lines[1] + lines[2], "none": "key: value\n", "empty": "", "foreign": lines[0] + lines[1] + string(expect.Value(os.ReadFile(in("2")))(t))[len(lines[0]):],
	} {
		expect.Must(t, os.WriteFile(in(name), []byte(text), 0o600))
	}
	expect.Must(t, errors.Join(os.WriteFile(in("long"), nil, 0o600), os.Truncate(in("long"), 65<<20)))
	for _, tt := range []struct{ names, want string }{
		{"1 2", "no journal of shard 3/3"},
		{"3", "no journal of shard 1/3, 2/3"},
		{"1 2 2 3", "2: shard 2/3, which " + in("2") + " is, too"},
		{"1 2 half", "half: shard 3/3 has 1 of its 3 items: start it again; it resumes"},
		{"1 2 of4", "of4: shard 3/4, and "},
		{"1 2 longer", "longer: belongs to another sweep than " + in("1") + ": 11 items, not 10"},
		{"1 2 twice", "twice: item 2 appears twice"},
		{"1 2 damaged", "damaged: line 2 is damaged"},
		{"1 2 none", "none: this is not a journal of a sweep"},
		{"1 2 foreign", "is not one of shard 3/3"},
		{"1 2 nowhere", "no such file"},
		{"../../../../../../../dev/zero", "this is a device, not a file or a pipe"},
		{"long", "long: a line of more than 67108864 bytes: this is not a journal of a sweep"},
		{"", "no journal is named"},
	} {
		var names []string
		for _, name := range strings.Fields(tt.names) {
			names = append(names, in(name))
		}
		_, err := sweep.Merge(names, false)
		expect.True(t, err != nil && strings.Contains(err.Error(), tt.want), "%s: %v, want %q", tt.names, err, tt.want)
	}
	squares(t, []string{in("2"), in("3"), in("1")}, 10)
}

// Journals of two builds are of one sweep where that is asked for, and both are of one commit.
func TestMergeBuilds(t *testing.T) {
	for _, tt := range []struct {
		commits  [2]string
		anyBuild bool
		want     string
	}{
		{[2]string{"c", "c"}, true, ""},
		{[2]string{"c", "c"}, false, "another build of evbench (b1, not b0)"},
		{[2]string{"c", "d"}, true, "of commit d, not c"},
		{[2]string{"", ""}, true, "of commit unknown, not unknown"},
	} {
		var names []string
		for i, commit := range tt.commits {
			h := headOf(sweep.Shard{I: i + 1, N: 2})
			h.Build, h.Commit = fmt.Sprint("b", i), commit
			j := sweep.NewJournal(filepath.Join(t.TempDir(), "x.journal"), h)
			expect.Must(t, errors.Join(j.Load(2, 1, nil), j.Add(i, []byte("7")), j.Close()))
			names = append(names, j.Name())
		}
		m, err := sweep.Merge(names, tt.anyBuild)
		expect.ErrorIf(t, err, tt.want)
		if err == nil {
			h := head
			h.Build, h.Commit = "b2", "c"
			expect.OK(t, m.Expect(h))
		}
	}
}

// The journal of another sweep, of another shard and of a running process is left as it is.
func TestJournalRefuses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.journal")
	whole := sweep.Shard{I: 1, N: 1}
	expect.MustTrue(t, expect.Err(worked(t, name, whole, 5, 3)) == nil, "not begun")
	before := expect.Value(os.ReadFile(name))(t)
	for want, h := range map[string]sweep.Header{
		"arguments":           {Version: "1", Args: []string{"whatif"}, Inputs: "none", Shard: "1/1"},
		"evbench 1, not 2":    {Version: "2", Args: head.Args, Inputs: "none", Shard: "1/1"},
		"another build":       {Version: "1", Build: "b2", Args: head.Args, Inputs: "none", Shard: "1/1"},
		"files":               {Version: "1", Args: head.Args, Inputs: "others", Shard: "1/1"},
		"shard 1/1, not 1/2":  {Version: "1", Args: head.Args, Inputs: "none", Shard: "1/2"},
		"5 items, not 6":      headOf(whole),
		"in use":              headOf(whole),
		"another file, or re": {Version: "1", Shard: "1/1"},
	} {
		n := 5
		if strings.HasPrefix(want, "5 items") {
			n = 6
		}
		var other *sweep.Journal
		if want == "in use" {
			other = sweep.NewJournal(name, headOf(whole))
			expect.Must(t, other.Load(5, 5, func(int, []byte) error { return nil }))
		}
		j := sweep.NewJournal(name, h)
		err := j.Load(n, n, func(int, []byte) error { return nil })
		expect.True(t, err != nil && strings.Contains(err.Error(), want), "%s: %v", want, err)
		expect.Must(t, j.Close())
		if other != nil {
			expect.Must(t, other.Close())
		}
	}
	expect.True(t, slices.Equal(before, expect.Value(os.ReadFile(name))(t)), "the journal has changed")
}

// An item that takes long does not keep a sweep that is to stop, and counts no more.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begun, put, held := 0, 0, make(chan struct{})
		err := sweep.Run(ctx, nil, sweep.Items[int]{
			N: 9, Workers: 1, Leave: true, Put: func(int, int) error { put++; return nil },
			Work: func(_ context.Context, i int) (int, error) {
				if begun++; begun == 3 {
					cancel()
					<-held
				}
				return i, nil
			},
		})
		expect.True(t, errors.Is(err, context.Canceled) && put == 2, "%d items done, error %v", put, err)
		close(held)
		synctest.Wait()
		expect.True(t, put == 2 && begun == 3, "afterwards %d items are done, %d begun", put, begun)
	})
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("00000000 {}\n"))
	name := filepath.Join(f.TempDir(), "seed")
	j := sweep.NewJournal(name, headOf(sweep.Shard{I: 1, N: 1}))
	expect.Must(f, errors.Join(j.Load(3, 3, nil), j.Add(0, []byte("1")), j.Add(2, []byte("null")), j.Close()))
	f.Add(expect.Value(os.ReadFile(name))(f))
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(t.TempDir(), "x")
		expect.Must(t, os.WriteFile(name, text, 0o600))
		_, _ = sweep.Merge([]string{name}, false)
		j := sweep.NewJournal(name, headOf(sweep.Shard{I: 1, N: 1}))
		err := j.Load(3, 3, func(int, []byte) error { return nil })
		expect.Must(t, j.Close())
		after := expect.Value(os.ReadFile(name))(t)
		expect.True(t, err == nil || string(after) == string(text), "refused and changed")
	})
}

// Journals of 0.1.0 do not name a build; they are resumed.
func TestJournalWithoutBuild(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.journal")
	whole := sweep.Shard{I: 1, N: 1}
	old := headOf(whole)
	old.Build = ""
	j := sweep.NewJournal(name, old)
	expect.Must(t, errors.Join(j.Load(3, 3, nil), j.Add(1, []byte("7")), j.Close()))
	j = sweep.NewJournal(name, headOf(whole))
	kept := 0
	expect.Must(t, j.Load(3, 3, func(int, []byte) error { kept++; return nil }))
	expect.Must(t, j.Close())
	expect.True(t, kept == 1, "%d items were kept, not 1", kept)
}

// Two commits have one version, but not one sum.
func TestBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	build := func(text string) string {
		expect.Must(t, os.WriteFile("program", []byte(text), 0o600))
		return expect.Value(sweep.NewHeader("1", "program", nil, sweep.Shard{}))(t).Build
	}
	one, two, again := build("one"), build("two"), build("one")
	expect.True(t, one != two && one == again, "the sums are %s, %s and %s", one, two, again)
	_, err := sweep.NewHeader("1", "gone", nil, sweep.Shard{})
	expect.True(t, errors.Is(err, os.ErrNotExist), "a program that does not exist: %v", err)
}

// A shard with another table of sizes is another sweep's, though only the scenario names the table.
func TestInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) { expect.Must(t, os.WriteFile(name, []byte(text), 0o600)) }
	inputs := func() string {
		h, err := sweep.NewHeader("1", "s.yaml", []string{"sim", "s.yaml"}, sweep.Shard{})
		expect.Must(t, err)
		return h.Inputs
	}
	write("s.yaml", "event:\n  sizes: {file: sizes.csv}\n")
	without := inputs()
	write("sizes.csv", "1,2\n")
	first := inputs()
	write("sizes.csv", "1,3\n")
	expect.True(t, without != first && first != inputs(), "another table of sizes has the same sum")
}

// Whichever call fails, the error names the journal, and the sweep goes on after it: no item is lost.
func TestEachCallFails(t *testing.T) {
	name := ""
	one := sweep.Shard{I: 1, N: 1}
	disktest.Each(t, func() error {
		name = filepath.Join(t.TempDir(), "x.journal")
		_, err, closed := tried(t, name, one, 5, 5)
		return errors.Join(err, closed)
	}, func(call string, err error) {
		expect.Error(t, err, name)
		expect.Must(t, expect.Err(worked(t, name, one, 5, 5)), "%s: %v, and again", call, err)
		squares(t, []string{name}, 5)
	})
}
