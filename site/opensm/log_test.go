package opensm

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/site/network"
	"evbench/testing/expect"
)

// TestTail follows a log over half lines, a cut and a rotation.
//
//gate:race
func TestTail(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	put := func(flag int, text string) func() error {
		return func() error {
			f, err := os.OpenFile(name, flag|os.O_WRONLY|os.O_CREATE, 0o644)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString(text)
			return err
		}
	}
	more := func(text string) func() error { return put(os.O_APPEND, text) }
	expect.Must(t, more("old\n")())
	log := expect.Value(follow(name))(t)
	defer func() { log.close() }()
	for i, step := range []struct {
		do   []func() error
		want string
	}{
		{nil, ""},
		{[]func() error{more("one\ntwo\nth")}, "one two"},
		{[]func() error{more("ree\n")}, "three"},
		{[]func() error{put(os.O_TRUNC, "a\n")}, "a"},
		{[]func() error{more("last"), func() error { return os.Rename(name, name+".1") }}, ""},
		{[]func() error{more("first\nhalf")}, "last first"},
		{[]func() error{more("\n")}, "half"},
	} {
		for _, do := range step.do {
			expect.Must(t, do())
		}
		got, err := log.lines()
		got = slices.DeleteFunc(got, func(s string) bool { return s == "" })
		expect.False(t, err != nil || strings.Join(got, " ") != step.want, "step %d: %q, want %q, %v", i, got, step.want, err)
	}
}

// TestReasons: what a log says explains why tables are not loaded, or nothing.
//
//gate:race
func TestReasons(t *testing.T) {
	const by = "osm_ucast_mgr_process: %s tables configured on all switches"
	for log, want := range map[string]string{
		"":                                     "",
		strings.ReplaceAll(by, "%s", "file"):   "",
		strings.ReplaceAll(by, "%s", "minhop"): "; OpenSM has configured tables by minhop, not from the file",
		"x ERR 1: do_ucast_file_load: cannot parse|" + strings.ReplaceAll(by, "%s", "file"): "; its log: x ERR 1: do_ucast_file_load: cannot parse",
	} {
		var r reasons
		for _, s := range strings.Split(log, "|") {
			r.line(s)
		}
		if got := r.why(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", log, got, want)
		}
	}
}

// TestHeard reads lines that tell of a port and lines that do not.
func TestHeard(t *testing.T) {
	const state = stamped + "osm_spst_rcv_process: Switch 0x2c90401000000 leaf0 port 5 (x) changed state from "
	for line, want := range map[string]string{
		stamped + "pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, port 5": "is down",
		stamped + "pi_rcv_process_switch_ext_port: Unlinking local node 0x2c9040":                "",
		state + "ACTIVE to DOWN\r\n": "is down",
		state + "DOWN to INIT":       "is up",
		state + "INIT to ACTIVE":     "",
		stamped + "SUBNET UP":        "OpenSM has swept",
		"SUBNET UP":                  "",
	} {
		m, ok := heard(line)
		expect.False(t, ok != (want != "") || ok && words[m.Kind] != want, "%s: %+v, %v; want %s", line, m, ok, want)
	}
}

// However the log comes in, its lines are those of the whole, and what they say of ports holds
// for links that are there.
func FuzzLog(f *testing.F) {
	const configured = "osm_ucast_mgr_process: file tables configured on all switches\n"
	for _, seed := range []string{
		"", "\n\n", "half a line", configured + "x -> SUBNET UP\n", minhopLog,
		stamped + "pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, port 3\n" + stamped + "SUBNET UP\n",
		stamped + "osm_spst_rcv_process: Switch 0x0002c90402000000 s2_0 port 1 (x) changed state from DOWN to INIT\n",
		stamped + "osm_spst_rcv_process: Switch 0x0002c90402000000 s2_0 port 257 (x) changed state from ACTIVE to DOWN\n",
		stamped + `log_notice: Reporting Urgent Notice "Link state change" from switch LID 9, GUID 0x0002c90401000000` + "\n",
	} {
		f.Add([]byte(seed), uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint16) {
		at := min(int(cut), len(text))
		var whole, parts tail
		lines := whole.take(bytes.Clone(text))
		two := slices.Concat(parts.take(bytes.Clone(text[:at])), parts.take(bytes.Clone(text[at:])))
		empty := func(s string) bool { return s == "" }
		expect.False(t, !slices.Equal(slices.DeleteFunc(slices.Clone(lines), empty), slices.DeleteFunc(two, empty)) || !bytes.Equal(whole.rest, parts.rest),
			"%q in two parts: %q, %q", text, lines, two)
		tree := treeOf(t, "FT(2;2,3)")
		n := networkOf(t, tree.Wires, 1)
		places := expect.Value(network.Match(tree, n))(t)
		var r reasons
		state := newLinks(tree, places, n)
		for _, s := range lines {
			r.line(s)
			said, ok := heard(s)
			if !ok {
				continue
			}
			if events, _ := state.say(said, time.Time{}); len(events) > 0 && (said.Port < 1 || said.Port > 4) {
				t.Errorf("%s: %v of port %d", s, events, said.Port)
			}
		}
	})
}
