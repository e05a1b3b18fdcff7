package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A browser follows a run to its end, and is told where the results are.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "hosts.yaml", fmt.Sprintf(hostsScenario, "1s"))
	p := begin(t, dir, "run", "--rounds", "1", "--serve", ":0", "-o", "out", "hosts.yaml")
	const said = "live page until the run ends: "
	p.await(said)
	_, url, _ := strings.Cut(strings.TrimSpace(p.said.String()), said)
	answer, err := http.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"The run has ended.", "evbench report out", `"id":"tree one"`, "event: end\n"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %q in what the browser is told:\n%s", want, text)
		}
	}
	if code, more := p.end(); code != exitDone && code != exitInvalid {
		t.Errorf("ended with %d:\n%s", code, more)
	}
}
