package inject

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"evbench/topology"
)

var (
	since  = time.Date(2026, 3, 2, 10, 0, 0, 5000, time.UTC)
	header = Header{Host: "node1", PID: 4711, Since: since, Kind: kindCommand, Dir: "/tmp", Timeout: time.Second}
	remedy = Remedy{Up: Program{Args: []string{"sh", "-c", "ip 'x' \"y\"\n<z>"}}, Probe: []Program{{Args: []string{"p"}, Env: []string{"A=b"}}}}
)

// text is a journal of some lines after the head.
func text(lines ...string) string { return string(headLines(header)) + strings.Join(lines, "") }

func TestParse(t *testing.T) {
	down := string(downLine(Pending{link, since, remedy}))
	other := string(downLine(Pending{other, since, remedy}))
	up := string(upLine(link, since))
	for _, tt := range []struct {
		name, text string
		pending    int
		torn, err  string
	}{
		{name: "empty"},
		{name: "only the head", text: text()},
		{name: "down", text: text(down), pending: 1},
		{name: "down and up", text: text(down, up)},
		{name: "down, up, down", text: text(down, up, down), pending: 1},
		{name: "two, one up", text: text(down, other, up), pending: 1},
		{name: "torn down", text: text(down, other[:20]), pending: 1, torn: other[:20]},
		{name: "torn up", text: text(down, up[:len(up)-1]), pending: 1, torn: up[:len(up)-1]},
		{name: "torn head", text: magic, torn: magic},
		{name: "another file", text: "hello\n", err: "line 1: not a journal of injected links"},
		{name: "another version", text: magic + "2\n", err: "line 1: not a journal"},
		{name: "no by", text: magic + "\n" + down, err: "line 2: by is missing"},
		{name: "by twice", text: text("by {}\n"), err: `line 3: unknown word "by"`},
		{name: "unknown kind", text: strings.Replace(text(), `"command"`, `"magic"`, 1), err: `line 2: unknown kind "magic"`},
		{name: "no timeout", text: strings.Replace(text(), `1000000000`, `0`, 1), err: "line 2: timeout_ns must be above 0"},
		{name: "no dir", text: strings.Replace(text(), `/tmp`, ``, 1), err: "line 2: host, pid, since and dir are wanted"},
		{name: "unknown field", text: strings.Replace(text(), `"dir"`, `"cwd"`, 1), err: `line 2: by: json: unknown field "cwd"`},
		{name: "more follows", text: text(strings.Replace(down, "\n", " x\n", 1)), err: "line 3: leaf0-spine3: how it is brought up: more follows"},
		{name: "twice down", text: text(down, down), err: "line 4: leaf0-spine3 goes down twice"},
		{name: "up alone", text: text(up), err: "line 3: leaf0-spine3 comes up, but was not down"},
		{name: "not a link", text: text("down leaf00-spine1 x\n"), err: `line 3: "leaf00-spine1" is not a link`},
		{name: "not a time", text: text("down leaf0-spine1 noon {}\n"), err: `line 3: leaf0-spine1: "noon" is not a time`},
		{name: "not a time up", text: text(down, "up leaf0-spine3 noon\n"), err: `line 4: leaf0-spine3: "noon" is not a time`},
		{name: "no remedy", text: text("down leaf0-spine1 2026-03-02T10:00:00Z {}\n"), err: "a program without a name"},
		{name: "no probe", text: text(`down leaf0-spine1 2026-03-02T10:00:00Z {"up":{"args":["x"]},"probe":[]}` + "\n"), err: "no probe"},
		{name: "empty line", text: text("\n", down), err: `line 3: unknown word ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := parse([]byte(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || len(r.pending) != tt.pending || r.torn != tt.torn || int(r.whole) != len(tt.text)-len(tt.torn) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// FuzzParse: what is read can be written and read again, and is the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(text(string(downLine(Pending{link, since, remedy})), string(upLine(link, since)))))
	f.Add([]byte(text(string(downLine(Pending{link, since, remedy})), "down leaf1")))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := parse(in)
		if err != nil || r.header.PID == 0 {
			return
		}
		var out bytes.Buffer
		out.Write(headLines(r.header))
		for _, p := range r.pending {
			out.Write(downLine(p))
		}
		again, err := parse(out.Bytes())
		if err != nil {
			t.Fatalf("%v of %q", err, out.String())
		}
		if len(again.pending) != len(r.pending) || !again.header.Since.Equal(r.header.Since) {
			t.Fatalf("%+v became %+v", r, again)
		}
		for i, p := range again.pending {
			if q := r.pending[i]; p.link != q.link || !p.since.Equal(q.since) || !reflect.DeepEqual(p.Up.Args, q.Up.Args) {
				t.Fatalf("%+v became %+v", q, p)
			}
		}
	})
}

// A torn line is dropped, told, and does not spoil what is written after it.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	r := Remedy{Up: Program{Args: []string{"true"}}, Probe: []Program{{Args: []string{"false"}}}}
	h := header
	h.Timeout = time.Second / 4
	lines := string(headLines(h)) + string(downLine(Pending{link, since, r})) + "down leaf1-sp"
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := restored(t, path); got.Torn != "down leaf1-sp" || len(got.links) != 1 || got.links[0].outcome != stillDown {
		t.Errorf("%+v", got)
	}
	if got := restored(t, path); got.Torn != "" || len(got.links) != 1 {
		t.Errorf("the second time: %+v", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk")
	if err := os.WriteFile(junk, []byte("my letters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Journal = junk }, "junk: line 1: not a journal of injected links"},
		{func(o *Options) { o.Journal = dir }, "is a directory"},
		{func(o *Options) { o.Journal = "/dev/null" }, "/dev/null: is not a file"},
		{func(o *Options) { o.Journal = "" }, "inject.journal is missing"},
		{func(o *Options) { o.Kind = "axe" }, `inject.kind "axe": there are command, ssh, ibportstate, lab`},
		{func(o *Options) { o.Probe = "" }, "inject.probe is missing, which kind command needs"},
		{func(o *Options) { o.Lab = "x" }, "inject.lab is not for kind command"},
		{func(o *Options) { o.Kind = kindSSH }, "inject.host is missing, which kind ssh needs"},
		{func(o *Options) { o.Kind, o.Host = kindSSH, "-oProxyCommand=x" }, `inject.host "-oProxyCommand=x": write HOST or USER@HOST`},
		{func(o *Options) { o.Kind, o.Host = kindSSH, "a b" }, `inject.host "a b"`},
		{func(o *Options) { o.Timeout = -1 }, "inject.timeout -1ns: must be above 0"},
	} {
		o := options(dir)
		tt.change(&o)
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
	if b, err := os.ReadFile(junk); err != nil || string(b) != "my letters\n" {
		t.Errorf("somebody's file is now %q, %v", b, err)
	}
}

func TestRecipes(t *testing.T) {
	l := topology.Link{Leaf: 2, Spine: 11}
	for _, tt := range []struct {
		o               Options
		down, up, probe string
	}{
		{Options{Kind: kindCommand, Down: "d {link}", Up: "u '{leaf}'", Probe: `p "{spine}" {x} ${y}`},
			"sh -c d leaf2-spine11", "sh -c u 'leaf2'", `sh -c p "spine11" {x} ${y}`},
		{Options{Kind: kindSSH, Host: "admin@{leaf}.lan", Down: "d {spine}", Up: "u", Probe: "p"},
			"ssh -o BatchMode=yes admin@leaf2.lan -- d spine11", "ssh -o BatchMode=yes admin@leaf2.lan -- u", "ssh -o BatchMode=yes admin@leaf2.lan -- p"},
		{Options{Kind: kindLab, Lab: "/run/x"},
			"evbench lab exec leaf2 ip link set dev spine11 down", "evbench lab exec leaf2 ip link set dev spine11 up",
			"evbench lab exec spine11 ip -o link show dev leaf2"},
	} {
		tt.o.Journal = "j"
		find, err := newRecipes(tt.o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := find(l)
		if err != nil || len(r.Probe) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, x := range []struct {
			got  Program
			want string
		}{{r.down, tt.down}, {r.Up, tt.up}, {r.Probe[0], tt.probe}} {
			if got := strings.Join(x.got.Args, " "); got != x.want {
				t.Errorf("%s: %q, want %q", tt.o.Kind, got, x.want)
			}
			if tt.o.Kind == kindLab && (len(x.got.Env) != 1 || x.got.Env[0] != "XDG_RUNTIME_DIR=/run/x") {
				t.Errorf("environment %q", x.got.Env)
			}
		}
	}
}

func TestVerdict(t *testing.T) {
	port := func(state, phys string) string {
		return "Switch PortInfo:\n# Port info: Lid 2 port 4\nLinkState:......" + state + "\nPhysLinkState:...." + phys + "\nLid:....0\n"
	}
	for _, tt := range []struct {
		kind string
		exit int
		out  string
		want linkState
	}{
		{kindCommand, 0, "", linkUp}, {kindCommand, 1, "", linkDown}, {kindCommand, 2, "", linkUnknown}, {kindCommand, -1, "", linkUnknown},
		{kindSSH, 0, "", linkUp}, {kindSSH, 1, "", linkDown}, {kindSSH, 255, "", linkUnknown},
		{kindLab, 0, "2: leaf0@if1003: <UP> mtu 9000 state UP mode DEFAULT", linkUp},
		{kindLab, 0, "2: leaf0@if1003: <UP> mtu 9000 state LOWERLAYERDOWN mode DEFAULT", linkDown},
		{kindLab, 0, "2: leaf0@if1003: <> mtu 9000 state DOWN mode DEFAULT", linkDown},
		{kindLab, 1, " state UP ", linkUnknown}, {kindLab, 0, "", linkUnknown},
		{kindIBPortState, 255, port("Active", "LinkUp"), linkUp}, {kindIBPortState, 0, port("Active", "Disabled"), linkDown},
		{kindIBPortState, 0, port("Down", "Polling"), linkDown}, {kindIBPortState, 0, port("Initialize", "LinkUp"), linkUnknown},
		{kindIBPortState, 0, port("Active", "LinkUp") + port("Down", "Polling"), linkUp}, // the peer's follows
		{kindIBPortState, 255, "ibportstate: iberror: failed", linkUnknown},
	} {
		if got := verdict(tt.kind, tt.exit, tt.out); got != tt.want {
			t.Errorf("%s, exit code %d, %q: %s, want %s", tt.kind, tt.exit, tt.out, got, tt.want)
		}
	}
}

func TestProgramString(t *testing.T) {
	for want, p := range map[string]Program{
		"ip link set dev spine0 up":         {Args: []string{"ip", "link", "set", "dev", "spine0", "up"}},
		`sh -c 'echo it'\''s up'`:           {Args: []string{"sh", "-c", "echo it's up"}},
		`env 'A=b c' evbench '' "a\x1b[2J"`: {Args: []string{"evbench", "", "a\x1b[2J"}, Env: []string{"A=b c"}},
	} {
		if got := p.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
