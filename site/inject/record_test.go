package inject

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evbench/internal/trust"
	"evbench/testing/disktest"
	"evbench/testing/expect"
	"evbench/topology"
)

var (
	since  = time.Date(2026, 3, 2, 10, 0, 0, 5000, time.UTC)
	header = Header{Host: "node1", PID: 4711, Since: since, Kind: kindCommand, Dir: "/tmp", Timeout: time.Second}
	remedy = Remedy{Up: Program{Args: []string{"sh", "-c", "ip 'x' \"y\"\n<z>"}}, Probe: []Program{{Args: []string{"p"}, Env: []string{"A=b"}}}}
)

// lines is what a journal says that has been written to in turn.
func lines(t *testing.T, all ...state) string {
	t.Helper()
	var out strings.Builder
	for _, s := range all {
		expect.Must(t, json.NewEncoder(&out).Encode(s))
	}
	return out.String()
}

func TestParse(t *testing.T) {
	down := func(all ...Pending) string {
		return strings.TrimSpace(lines(t, state{Journal: magic, By: header, Down: all}))
	}
	good := down(Pending{Link: linkName{link}, Since: since, Remedy: remedy})
	for _, tt := range []struct {
		name, text string
		pending    int
		err        string
	}{
		{name: "empty"},
		{name: "none down", text: down()},
		{name: "down", text: good, pending: 1},
		{name: "two", text: down(Pending{Link: linkName{link}, Since: since, Remedy: remedy}, Pending{Link: linkName{other}, Since: since, Remedy: remedy}), pending: 2},
		{name: "another file", text: "hello", err: "not a journal of injected links"},
		{name: "another version", text: strings.Replace(good, "links 2", "links 3", 1), err: "not a journal"},
		{name: "no by", text: `{"journal":"` + magic + `"}`, err: "unknown kind"},
		{name: "unknown kind", text: strings.Replace(good, `"command"`, `"magic"`, 1), err: `unknown kind "magic"`},
		{name: "no timeout", text: strings.Replace(good, `1000000000`, `0`, 1), err: "timeout_ns must be above 0"},
		{name: "no dir", text: strings.Replace(good, `/tmp`, ``, 1), err: "host, pid, since or dir is missing"},
		{name: "other member for dir", text: strings.Replace(good, `"dir"`, `"cwd"`, 1), err: "host, pid, since or dir is missing"},
		{name: "more follows", text: good + " x", err: "invalid character 'x' after top-level value"},
		{name: "twice down", text: down(Pending{Link: linkName{link}, Since: since, Remedy: remedy}, Pending{Link: linkName{link}, Since: since, Remedy: remedy}), err: "leaf0-spine3 is down twice"},
		{name: "not a link", text: strings.Replace(good, "leaf0-", "leaf00-", 1), err: `"leaf00-spine3" is not a link`},
		{name: "not a time", text: strings.ReplaceAll(good, "2026-03-02", "noon"), err: "cannot parse"},
		{name: "no time", text: down(Pending{Link: linkName{link}, Since: time.Time{}, Remedy: remedy}), err: "since is missing"},
		{name: "no remedy", text: down(Pending{Link: linkName{link}, Since: since, Remedy: Remedy{Probe: remedy.Probe}}), err: "a program without a name"},
		{name: "no probe", text: down(Pending{Link: linkName{link}, Since: since, Remedy: Remedy{Up: remedy.Up}}), err: "no probe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parse([]byte(tt.text))
			if tt.err != "" {
				expect.Error(t, err, tt.err)
			} else if err != nil || len(s.Down) != tt.pending || lines(t, s) != tt.text+"\n" && tt.text != "" {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// What a later version has written beside is kept, while links come and go.
func TestOtherMembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	pending := Pending{Link: linkName{link}, Since: since, Remedy: remedy}
	text := lines(t, state{Journal: magic, By: header, Down: []Pending{pending, {Link: linkName{other}, Since: since, Remedy: remedy}}})
	text = strings.NewReplacer(`"pid"`, `"user":"x","pid"`, `{"link":"`+other.String(), `{"why":["y"],"link":"`+other.String(), `"up":{`, `"up":{"as":"z",`).Replace(text)
	expect.Must(t, os.WriteFile(path, []byte(strings.Replace(text, `"journal"`, `"new":{"a":1},"journal"`, 1)), 0o600))
	j := expect.Value(openJournal(path, false))(t)
	expect.Must(t, j.up(link))
	expect.Must(t, j.down(pending))
	line := expect.Value(trust.ReadRecord(path))(t)
	for _, want := range []string{`"user":"x"`, `"why":["y"]`, `"new":{"a":1}`, `"as":"z"`} {
		expect.True(t, strings.Count(string(line), want) == 1, "no %s in %s", want, line)
	}
	expect.Equal(t, j.links(), []topology.Link{other, link}, "links")
	expect.Must(t, j.close())
}

// A torn line is dropped, told, and does not spoil what is written after it.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	r := Remedy{Up: Program{Args: []string{"true"}}, Probe: []Program{{Args: []string{"false"}}}}
	h := header
	h.Timeout = time.Second / 4
	const torn = `{"journal":"evb`
	expect.Must(t, os.WriteFile(path, []byte(lines(t, state{Journal: magic, By: h, Down: []Pending{{Link: linkName{link}, Since: since, Remedy: r}}})+torn), 0o600))
	got := restored(t, path)
	expect.True(t, got.Torn == torn && len(got.Links) == 1 && got.Links[0].Outcome == stillDown, "%+v", got)
	if got := restored(t, path); got.Torn != "" || len(got.Links) != 1 {
		t.Errorf("the second time: %+v", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk")
	expect.Must(t, os.WriteFile(junk, []byte("my letters\n"), 0o600))
	for _, tt := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Journal = junk }, "junk: not a journal of injected links"},
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
		expect.Error(t, expect.Err(Open(o)), tt.want)
	}
	b, err := os.ReadFile(junk)
	expect.True(t, err == nil && string(b) == "my letters\n", "somebody's file is now %q, %v", b, err)
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
		find := expect.Value(newRecipes(tt.o))(t)
		r, err := find(l)
		expect.MustTrue(t, err == nil && len(r.Probe) == 1, "%+v, %v", r, err)
		for _, x := range []struct {
			got  Program
			want string
		}{{r.down, tt.down}, {r.Up, tt.up}, {r.Probe[0], tt.probe}} {
			expect.Equal(t, strings.Join(x.got.Args, " "), x.want, "%s", tt.o.Kind)
			expect.False(t, tt.o.Kind == kindLab && (len(x.got.Env) != 1 || x.got.Env[0] != "XDG_RUNTIME_DIR=/run/x"), "environment %q", x.got.Env)
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
		expect.Equal(t, verdict(tt.kind, tt.exit, tt.out), tt.want, "%s, exit code %d, %q", tt.kind, tt.exit, tt.out)
	}
}

func TestProgramString(t *testing.T) {
	for want, p := range map[string]Program{
		"ip link set dev spine0 up":         {Args: []string{"ip", "link", "set", "dev", "spine0", "up"}},
		`sh -c 'echo it'\''s up'`:           {Args: []string{"sh", "-c", "echo it's up"}},
		`env 'A=b c' evbench '' "a\x1b[2J"`: {Args: []string{"evbench", "", "a\x1b[2J"}, Env: []string{"A=b c"}},
	} {
		expect.Equal(t, p.String(), want, "p.String")
	}
}

// TestEachCallFails: whichever call fails, links are up, or the journal brings them up, and the error names it.
func TestEachCallFails(t *testing.T) {
	dir := ""
	disktest.Each(t, func() error {
		dir = t.TempDir()
		i, err := Open(options(dir))
		if err != nil {
			return err
		}
		both := []topology.Link{link, other}
		return errors.Join(i.Down(t.Context(), both), i.Close())
	}, func(call string, err error) {
		expect.Error(t, err, filepath.Join(dir, "journal"))
		if isDown(t, dir, link) || isDown(t, dir, other) {
			_, err := Restore(t.Context(), filepath.Join(dir, "journal"), false, func(string) {})
			expect.OK(t, err, "%s", call)
		}
		expect.False(t, isDown(t, dir, link) || isDown(t, dir, other), "%s: %v, and a link is down", call, err)
	})
}
