package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evbench/internal/answer"
	"evbench/internal/expect"
	"evbench/results/store"
)

// unpacked returns what is in an archive, by name.
func unpacked(t *testing.T, name string) map[string]string {
	t.Helper()
	f := expect.Value(os.Open(name))(t)
	defer f.Close()
	r := tar.NewReader(expect.Value(gzip.NewReader(f))(t))
	files := map[string]string{}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		expect.Must(t, err)
		files[h.Name] = string(expect.Value(io.ReadAll(r))(t))
	}
}

// A kit that is killed while it measures goes on; the archive has all evidence, and no name of a host
// where that is asked for.
func TestKit(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	args := []string{
		"kit", "--rate", "400Gbit/s", "--duration", "1s", "--anonymous", "--json",
		"--launch", fmt.Sprintf("config: %s, remote_dir: %s, data_port: %d", c.ssh.Config, c.far, c.port), "node[001-004]",
	}
	p := begin(t, c.dir, args...)
	p.await("[5/8] baseline")
	p.signal(syscall.SIGKILL)
	p.end()
	expect.False(t, store.Present(filepath.Join(c.dir, "kit.tar.gz")), "an archive after a kill")
	c.awaitNoWorkers()

	code, out, said := output(t, c.dir, args...)
	expect.MustTrue(t, code == exitDone && !strings.Contains(said, "[4/8]") && strings.Contains(said, "[5/8] baseline"), "exit %d: %s%s", code, out, said)
	var doc struct {
		Answer answer.Answer
		Steps  []struct{ Step string }
	}
	expect.Must(t, json.Unmarshal([]byte(out), &doc))
	expect.True(t, doc.Answer.Verdict == answer.Bad && strings.Contains(doc.Answer.Sentence, "of the link rate was measured") && len(doc.Steps) == 8, "%s", out)
	files := unpacked(t, filepath.Join(c.dir, "kit.tar.gz"))
	for _, name := range []string{
		"answer.json", "version.json", "here.json", "kit.yaml", "validate.json", "baseline.json", "judge.json", "verdict.html", "plan.txt", "report.html",
		"baseline/manifest.json", "baseline/summary.json", "baseline/samples.csv", "baseline.stderr",
	} {
		expect.True(t, files["kit/"+name] != "" || name == "baseline.stderr", "no %s", name)
	}
	here := expect.Value(os.Hostname())(t)
	for name, text := range files {
		expect.False(t, strings.Contains(text, "node00") || strings.Contains(text, here), "%s names a host", name)
	}
	expect.Contains(t, files["kit/kit.yaml"], `hosts: "host0,host1,host2,host3"`)

	// What is done is not done again, and an archive is not written over.
	code, _, said = output(t, c.dir, args...)
	expect.True(t, code == exitUsage && strings.Contains(said, "kit.tar.gz: exists already"), "exit %d: %s", code, said)
	expect.Must(t, os.Remove(filepath.Join(c.dir, "kit.tar.gz")))
	code, _, said = output(t, c.dir, args...)
	expect.True(t, code == exitDone && !strings.Contains(said, "/8]"), "exit %d: %s", code, said)
	code, _, said = output(t, c.dir, append(args[:len(args)-1], "-o", "kit.tar.gz", "node[001-003]")...)
	expect.True(t, code == exitUsage, "exit %d: %s", code, said)
}

// Hosts that cannot be used are the answer.
func TestKitBadHosts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	code, out, _ := output(t, c.dir, "kit", "--quiet", "--launch", fmt.Sprintf("config: %s, remote_dir: %s, data_port: %d", c.ssh.Config, c.far, c.port), "node001,"+closedHost)
	expect.True(t, code == exitFailed && strings.HasPrefix(out, "BAD: The evidence is not complete: the step baseline failed.") && strings.Contains(out, closedHost), "exit %d: %s", code, out)
	files := unpacked(t, filepath.Join(c.dir, "kit.tar.gz"))
	expect.Contains(t, files["kit/baseline.stderr"], "cannot be used")
}
