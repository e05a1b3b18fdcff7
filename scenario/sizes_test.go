package scenario_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"evbench/builder"
	"evbench/scenario"
	"evbench/site/hdf5"
	"evbench/testing/expect"
)

func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want builder.Distribution
	}{
		{"sizes: {spread: 0.5}", builder.Distribution{Spread: 0.5}},
		{"sizes: {distribution: uniform, spread: 0.5, by: event}", builder.Distribution{Kind: builder.Uniform, Spread: 0.5, By: builder.ByEvent}},
		{"sizes: exponential", builder.Distribution{Kind: builder.Exponential}},
		{"sizes: log-normal", builder.Distribution{Kind: builder.LogNormal, Sigma: 1}},
		{"sizes: {distribution: log-normal, sigma: 0.5, by: source-event}", builder.Distribution{Kind: builder.LogNormal, Sigma: 0.5, By: builder.BySourceEvent}},
		{"sizes: {fanout: 8}", builder.Distribution{Fanout: 8}},
		{"sizes: {fanout: 15, distribution: exponential}", builder.Distribution{Kind: builder.Exponential, Fanout: 15}},
	} {
		s := read(t, small+"event: {fragment: 1000B, "+tt.in+"}\ncases: [{}]")
		expect.Equal(t, s.Event.Sizes, tt.want, "%s", tt.in)
		got, want := s.FragmentSizes(s.Cases[0]), builder.Sizes{Mean: 1000, Seed: 1, Roles: builder.Roles{Servers: 16}, Distribution: tt.want}
		expect.True(t, reflect.DeepEqual(*got, want), "%s: %+v, want %+v", tt.in, got, want)
	}
}

// A case may have sizes of its own; a matrix varies them.
func TestSizesOfCases(t *testing.T) {
	s := read(t, small+"event: {fragment: 1000B, sizes: {spread: 0.5}}\ncases: [{}, {sizes: exponential}, {sizes: {spread: 0}}, {sizes: {spread: 0.25, by: source, fanout: 3}, mode: unsync}]")
	var got []string
	for _, c := range s.Cases {
		d := s.Sizes(c)
		got = append(got, c.Name+": "+d.String())
	}
	want := []string{
		"linear-shift ftree: ±50 %", "linear-shift ftree sizes exponential: exponential", "linear-shift ftree equal sizes: ",
		"unsynchronised ftree sizes ±25 % by source, to 3 each: ±25 % by source, to 3 each",
	}
	expect.Equal(t, got, want, "got")
	of := s.FragmentSizes(s.Cases[1]).Of
	expect.True(t, of(7, 3) != of(8, 3) && s.FragmentSizes(s.Cases[2]).Of(7, 3) == 1000, "the fragments of a case are not drawn as it says")
	s = read(t, small+"matrix: {sizes: [{spread: 0.5}, log-normal], mode: [sync, unsync]}")
	names := s.CaseNames()
	expect.True(t, len(names) == 4 && names[3] == "unsynchronised ftree sizes log-normal σ 1", "%q", names)
}

// written writes a file of sizes and a scenario of 4 servers that names it.
func written(t *testing.T, name, text, event string) string {
	t.Helper()
	dir := t.TempDir()
	file, doc := filepath.Join(dir, name), filepath.Join(dir, "x.yaml")
	if text != "" {
		expect.Must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	yaml := "topology: FT(2;2,2)\nevent: {" + event + "sizes: {by: exchange, file: " + file + "}}\ncases: [{}]\n"
	expect.Must(t, os.WriteFile(doc, []byte(yaml), 0o600))
	return doc
}

// A file states bytes, unless another mean is asked for.
func TestSizesFile(t *testing.T) {
	const text = "\ufeff# four sources\n1000, 0,500,30\n\n2000,70,500,31\n"
	s, err := scenario.ReadFile(written(t, "s.csv", text, ""), shapes)
	expect.Must(t, err)
	want := builder.Distribution{By: builder.ByExchange, Scale: 1, Table: []uint32{1000, 0, 500, 30, 2000, 70, 500, 31}}
	expect.True(t, s.Event.Fragment == 516 && s.Event.Phase == 0 && reflect.DeepEqual(s.Event.Sizes, want), "event %+v, want %+v", s.Event, want)
	if err := s.SettleRate(25e6); err != nil || s.Event.Fragment != 516 || s.Event.Sizes.Scale != 1 {
		t.Errorf("at another rate: %v, %+v", err, s.Event)
	}
	s, err = scenario.ReadFile(written(t, "s.csv", text, "phase: 10ms, "), shapes)
	expect.Must(t, err)
	at := s.FragmentSizes(s.Cases[0])
	if mean := float64(s.Event.Fragment); at.Of(0, 0) != int(1000/516.375*mean+0.5) || at.Of(0, 1) != 0 || at.Of(8, 0) != at.Of(0, 0) {
		t.Errorf("scaled to %v: %d, %d", mean, at.Of(0, 0), at.Of(0, 1))
	}
	before := at.Of(0, 0)
	if err := s.SettleRate(50e6); err != nil || s.FragmentSizes(s.Cases[0]).Of(0, 0) > before*51/100 {
		t.Errorf("at half the rate: %v, %d bytes, before %d", err, s.FragmentSizes(s.Cases[0]).Of(0, 0), before)
	}
}

func TestSizesFileRefused(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"s.csv", "", "no such file"},
		{"s.csv", "# nothing\n", "s.csv: no fragment has bytes"},
		{"s.csv", "0,0,0,0\n", "s.csv: no fragment has bytes"},
		{"s.csv", "1,2,3,4\n1,2,3\n", "s.csv: line 2: 3 numbers for 4 servers"},
		{"s.csv", "1,2,x,4\n", `s.csv: line 1: source 2: "x": write bytes, a whole number 0..1073741824`},
		{"s.csv", "1,2,-3,4\n", `source 2: "-3"`},
		{"s.csv", "1,2,3,1073741825\n", `source 3: "1073741825": write bytes`},
		{"s.csv", strings.Repeat("1,1,1,1\n", builder.MaxTable/4+1), "more than 262144 numbers"},
		{"s.csv", strings.Repeat("1", 70_000), "line 1: longer than 65536 bytes"},
		{"s.h5", "text", "s.h5: cannot be read: "},
	} {
		doc := written(t, tt.name, tt.text, "")
		if tt.name == "s.h5" && !hdf5.Built {
			tt.want = hdf5.ErrNotBuilt.Error()
		}
		_, err := scenario.ReadFile(doc, scenario.Files{HDF5: hdf5.ReadSizes})
		expect.True(t, err != nil && strings.Contains(err.Error(), tt.want) && strings.HasPrefix(err.Error(), doc+":2: event.sizes.file: "),
			"%.40q: %v, want %q", tt.text, err, tt.want)
	}
	beside := written(t, "s.csv", "1,2,3,4\n", "")
	text := expect.Value(os.ReadFile(beside))(t)
	expect.Must(t, os.WriteFile(beside, []byte(strings.Replace(string(text), "by: exchange", "by: exchange, fanout: 2", 1)), 0o600))
	expect.Error(t, expect.Err(scenario.ReadFile(beside, shapes)), "event.sizes.fanout: not with file, which states the sizes")
}
