package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// shared returns a folder of cases beside the checkout.
func shared(t *testing.T, folder string) string {
	t.Helper()
	dir := expect.Value(filepath.Abs("../../../shared/cases/" + folder))(t)
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	return dir
}

// said runs evbench, and returns its exit code and what it said on both streams.
func said(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), append([]string{"evbench"}, args...), &out, &out)
	return code, out.String()
}

// Host lists of every form name the same two hosts.
func TestHostListCases(t *testing.T) {
	dir := shared(t, "outputs/hosts")
	_, text := said(t, "topo", "convert", "FT(2;2,2)", "--format", "ibnetdiscover")
	net := filepath.Join(t.TempDir(), "net.txt")
	write(t, filepath.Dir(net), "net.txt", regexp.MustCompile(`"h(\d)"`).ReplaceAllStringFunc(text, func(h string) string { return `"node00` + string(h[2]+1) + ` mlx5_0"` }))
	for _, f := range expect.Value(os.ReadDir(dir))(t) {
		code, text := said(t, "plan", "-t", net, "--hosts", filepath.Join(dir, f.Name()), "-o", "/dev/null")
		if f.Name() == "slurm-env" { // which rank runs where is not in it
			expect.True(t, code == exitUsage && strings.Contains(text, "SLURM_DISTRIBUTION is missing"), "%s: %d, %s", f.Name(), code, text)
			continue
		}
		expect.True(t, code == exitDone && strings.Contains(text, "FT(2;2,2), 2 servers"), "%s: %d, %s", f.Name(), code, text)
	}
	long := "h0" + strings.Repeat(",h1", 100)
	code, text := said(t, "plan", "-t", "FT(2;2,2)", "--hosts", long, "-o", "/dev/null")
	expect.True(t, code == exitUsage && strings.HasPrefix(text, "evbench: --hosts: no file h0,h1,h1") && strings.Contains(text, "line 1: h0 has 1 rank and h1 has 100"), "%d, %s", code, text)
}
