package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A browser follows a run to its end, and is told where the results are.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	// Nothing is measured before the browser is there, however late it comes.
	there := filepath.Join(t.TempDir(), "there")
	scenario := strings.Replace(fmt.Sprintf(injectScenario, "1s"), "down: touch", "down: until test -e "+there+"; do sleep 0.05; done; touch", 1)
	write(t, dir, "a.yaml", strings.Replace(scenario, "timeout: 30s", "timeout: 10m", 1))
	p := begin(t, dir, "run", "--rounds", "1", "--serve", ":0", "--case", "cut", "-o", "out", "a.yaml")
	const said = "live page until the run ends: "
	p.await(said)
	_, url, _ := strings.Cut(strings.TrimSpace(p.said.String()), said)
	answer, err := http.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	write(t, filepath.Dir(there), filepath.Base(there), "")
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"The run has ended.", "evbench report out", `"id":"tree cut"`, "event: end\n"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %q in what the browser is told:\n%s", want, text)
		}
	}
	if code, more := p.end(); code != exitDone && code != exitInvalid {
		t.Errorf("ended with %d:\n%s", code, more)
	}
}
