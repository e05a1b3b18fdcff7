package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/cmd/open"
	"evbench/results"
	"evbench/site/host"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// A browser follows a run to its end, and is told where the results are.
//
//gate:race
func TestServe(t *testing.T) {
	dir := t.TempDir()
	// Nothing is measured before the browser is there, however late it comes.
	there := filepath.Join(t.TempDir(), "there")
	scenario := strings.Replace(fmt.Sprintf(injectScenario, "1s"), "down: touch", "down: until test -e "+there+"; do sleep 0.05; done; touch", 1)
	write(t, dir, "a.yaml", strings.Replace(scenario, "timeout: 30s", "timeout: 10m", 1))
	p := begin(t, dir, "run", "--rounds", "1", "--serve", ":0", "--case", "cut", "-o", "out", "a.yaml")
	answer := expect.Value(http.Get(p.page() + "events"))(t)
	defer answer.Body.Close()
	write(t, filepath.Dir(there), filepath.Base(there), "")
	text, err := io.ReadAll(answer.Body)
	expect.OK(t, err)
	for _, want := range []string{"The run has ended.", "evbench report out", `"id":"tree cut"`, "event: end\n"} {
		expect.True(t, bytes.Contains(text, []byte(want)), "no %q in what the browser is told:\n%s", want, text)
	}
	code, more := p.end()
	expect.False(t, code != exitDone && code != exitInvalid, "ended with %d:\n%s", code, more)
	page, terminal := answerOnPage(t, text), strings.Join(strings.Fields(p.printed.String()), " ")
	expect.True(t, page != "" && strings.HasPrefix(terminal, page), "the page ends with %q, the terminal has\n%s", page, terminal)
}

// answerOnPage is the sentence that a browser has in the end.
func answerOnPage(t *testing.T, events []byte) (sentence string) {
	t.Helper()
	for line := range bytes.Lines(events) {
		var p struct{ ID, HTML string }
		if data, ok := bytes.CutPrefix(line, []byte("data: {")); !ok || json.Unmarshal(append([]byte("{"), data...), &p) != nil || p.ID != "answer" {
			continue
		}
		_, sentence, _ = strings.Cut(p.HTML, `<p class="answer">`)
		sentence, _, _ = strings.Cut(sentence, "</p>")
	}
	return strings.Join(strings.Fields(html.UnescapeString(sentence)), " ")
}

// page awaits the address of the live page.
func (p *program) page() (url string) {
	p.t.Helper()
	const said = "live page until the run ends: "
	p.await(said)
	_, url, _ = strings.Cut(strings.TrimSpace(p.said.String()), said)
	return url
}

// beginAsUser is begin for a program of a user who is not root, in a directory of its own.
func beginAsUser(t *testing.T, args ...string) (p *program, dir string) {
	t.Helper()
	need.Namespaces(t)
	dir, err := os.MkdirTemp("", "evbench-user-") // others may not enter those of the test
	expect.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	write(t, dir, "lab.yaml", labScenario)
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "evbench"
	if os.Getuid() == 0 {
		for _, name := range []string{dir, filepath.Join(dir, "lab.yaml")} {
			expect.Must(t, os.Chown(name, nobody, nobody))
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return beginCommand(t, dir, cmd), dir
}

// A run of a user who is not root is in namespaces of its own; its page is not.
//
//gate:race
func TestServeOutsideOfNamespaces(t *testing.T) {
	p, dir := beginAsUser(t, "run", "--rounds", "1", "-v", "--serve", ":0", "-o", "out", "lab.yaml")
	url := p.page()
	p.await("control: measure")
	answer := expect.Value(http.Get(url + "api/progress"))(t)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	expect.True(t, err == nil && strings.Contains(string(text), `"case":"control"`), "%s, %v", text, err)
	p.signal(syscall.SIGTERM)
	code, said := p.end()
	expect.True(t, code == exitTerminated && strings.Contains(said, "evbench: terminated"), "ended with %d:\n%s", code, said)
	onlyThese(t, dir, "lab.yaml", "out")
}

// Where an address is in use nothing is done.
//
//gate:race
func TestServeAddressInUse(t *testing.T) {
	l := expect.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	p, dir := beginAsUser(t, "run", "--serve", l.Addr().String(), "-o", "out", "lab.yaml")
	code, said := p.end()
	expect.True(t, code == exitUsage && strings.Contains(said, "--serve: listen") && strings.Contains(said, "address already in use"),
		"ended with %d:\n%s", code, said)
	onlyThese(t, dir, "lab.yaml")
}

// Strangers who hold connections to the page take no files from the run, which may open so
// many and no more.
//
//gate:race
func TestServeStrangers(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(t.TempDir(), "there")
	scenario := strings.Replace(fmt.Sprintf(injectScenario, "1s"), "down: touch", "down: until test -e "+there+"; do sleep 0.05; done; touch", 1)
	write(t, dir, "a.yaml", strings.Replace(scenario, "timeout: 30s", "timeout: 10m", 1))
	self := expect.Value(os.Executable())(t)
	expect.Must(t, os.Symlink(self, filepath.Join(dir, "evbench")))
	p := beginCommand(t, dir, exec.Command("sh", "-c", "ulimit -n 256; exec ./evbench run --rounds 1 --serve :0 --case cut -o out a.yaml"))
	at := strings.Trim(strings.TrimPrefix(p.page(), "http://"), "/")
	for range 400 {
		c := expect.Value(net.Dial("tcp", at))(t)
		defer c.Close()
	}
	write(t, filepath.Dir(there), filepath.Base(there), "")
	code, said := p.end()
	expect.False(t, code != exitDone && code != exitInvalid || strings.Contains(said, "too many open files"), "ended with %d:\n%s", code, said)
}

const startedScenario = `
topology: FT(2;2,2)
fabric: {kind: hosts}
launch: {kind: started, control: "unix:c"}
event: {fragment: 16KiB}
duration: %s
interval: 100ms
timeout: 30s
control: off
cases: [{name: one, schedule: linear-shift}, {name: two, mode: unsynchronised}]
`

// together starts five ranks as a launcher does; rank 2 is the controller.
func together(t *testing.T, dir, duration string) []*program {
	t.Helper()
	write(t, dir, "s.yaml", fmt.Sprintf(startedScenario, duration))
	t.Setenv("PMI_SIZE", "5")
	t.Setenv("EVBENCH_TOKEN", "secret")
	var ranks []*program
	for rank := range 5 {
		t.Setenv("PMI_RANK", fmt.Sprint(rank))
		ranks = append(ranks, begin(t, dir, "run", "--rounds", "1", "s.yaml", "-o", "out", "--controller-rank", "2"))
	}
	return ranks
}

//gate:race
func TestStartedTogether(t *testing.T) {
	dir := t.TempDir()
	for rank, p := range together(t, dir, "300ms") {
		code, said := p.end()
		expect.False(t, code != exitDone && (rank != 2 || code != exitInvalid), "rank %d ended with %d:\n%s", rank, code, said)
		expect.True(t, (said == "") != (rank == 2), "rank %d said %q", rank, said)
	}
	r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
	m := r.Manifest
	expect.True(t, m.Control == "unix:c" && m.Transport == "tcp" && m.IO == "auto" && m.Launch == "started",
		"manifest: control %q, transport %q, io %q, launch %q", m.Control, m.Transport, m.IO, m.Launch)
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
	}
}

// A rank that is lost ends the run, and nothing that was measured counts.
//
//gate:race
func TestStartedRankLost(t *testing.T) {
	dir := t.TempDir()
	ranks := together(t, dir, "1h")
	ranks[2].await("one: measure")
	expect.Must(t, ranks[4].cmd.Process.Kill())
	code, said := ranks[2].end()
	expect.True(t, code == exitFailed && strings.Contains(said, "server 3"), "the controller ended with %d:\n%s", code, said)
	marked(t, dir)
}

// A launcher that is told to end passes it on to all ranks at once: the servers
// stay until the controller has what they did. A batch system signals the ranks, too: what
// comes after the first signal ends none of them.
//
//gate:race
func TestStartedInterrupted(t *testing.T) {
	dir := t.TempDir()
	ranks := together(t, dir, "1h")
	ranks[2].await("one: measure")
	for _, p := range ranks {
		expect.Must(t, p.cmd.Process.Signal(syscall.SIGTERM))
		go func() {
			for p.cmd.Process.Signal(syscall.SIGTERM) == nil { // until it has ended
				time.Sleep(time.Millisecond)
			}
		}()
	}
	for rank, p := range ranks {
		want := exitDone
		if rank == 2 {
			want = exitTerminated
		}
		code, said := p.end()
		expect.True(t, code == want, "rank %d ended with %d:\n%s", rank, code, said)
	}
	c := marked(t, dir)
	expect.True(t, c != nil && c.EventsBuilt != 0, "what was measured is gone")
}

// A launcher that is killed, as by a second Ctrl-C at mpirun of Open MPI 4, leaves no ranks behind.
//
//gate:race
func TestStartedLauncherKilled(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s.yaml", fmt.Sprintf(startedScenario, "1h"))
	expect.Must(t, os.Symlink(expect.Value(os.Executable())(t), filepath.Join(dir, "evbench")))
	t.Setenv("PMI_SIZE", "5")
	t.Setenv("EVBENCH_TOKEN", "secret")
	p := beginCommand(t, dir, exec.Command("sh", "-c", "for rank in 0 1 2 3 4; do PMI_RANK=$rank ./evbench run --rounds 1 s.yaml -o out & done; wait"))
	p.await("one: measure")
	expect.Must(t, p.cmd.Process.Kill())
	_, said := p.end() // of all that have its pipe
	expect.Contains(t, said, fmt.Sprintf("the launcher of this rank, process %d, has ended", p.cmd.Process.Pid))
	marked(t, dir)
}

// marked wants results that are there, and marked as incomplete.
func marked(t *testing.T, dir string) *results.Case {
	t.Helper()
	r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
	if len(r.Summary.Cases) != 1 || r.Summary.Complete || r.Manifest.Complete || r.Summary.Cases[0].Valid {
		t.Errorf("an incomplete run is not marked: %+v", r.Summary)
		return nil
	}
	return &r.Summary.Cases[0]
}

func TestQuietly(t *testing.T) {
	at := open.Place{By: "PMI_RANK", Rank: 3, Size: 5, Local: 1}
	why := errors.New("wrong")
	if err := quietly(at, why, 3); err != why {
		t.Errorf("the rank that prints has %v", err)
	}
	if err := quietly(at, why, 0); exitCode(nil, err, os.Stderr) != exitDone {
		t.Errorf("a rank that does not print has %v", err)
	}
	if err := quietly(at, nil, 0); err != nil {
		t.Errorf("nothing is wrong, but %v", err)
	}
	at.Local = 0
	if err := quietly(at, &host.MemoryError{Text: "small"}, 0); err == nil || err.Error() != "small" {
		t.Errorf("the first rank of a small machine has %v", err)
	}
}
