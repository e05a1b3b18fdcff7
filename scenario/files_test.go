package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evbench/scenario"
	"evbench/site/netfile"
	"evbench/testing/expect"
)

// TestFilesThatDoNotEnd: a pipe without a writer and a device are refused, not waited for.
func TestFilesThatDoNotEnd(t *testing.T) {
	dir := t.TempDir()
	fifo, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "s.yaml")
	expect.Must(t, syscall.Mkfifo(fifo, 0o600))
	for _, name := range []string{fifo, "/dev/zero", dir} {
		for field, text := range map[string]string{
			"topology: ": "topology: " + name + "\nfabric: {kind: emulate, rate: 1Gbit/s}\ncases: [{name: a, schedule: fors}]\n",
			"file: ":     "topology: FT(2;2,2)\nevent: {sizes: {file: \"" + name + "\"}}\nfabric: {kind: emulate, rate: 1Gbit/s}\ncases: [{name: a, schedule: fors}]\n",
		} {
			expect.Must(t, os.WriteFile(file, []byte(text), 0o600))
			_, err := scenario.ReadFile(file, scenario.Files{Tree: netfile.Tree, Networks: shapes.Networks})
			expect.Error(t, err, field, name+": is no regular file")
		}
	}
}

// TestNameOfAFile: the name of a case must fit into that of a file.
func TestNameOfAFile(t *testing.T) {
	const text = "topology: FT(2;2,2)\nfabric: {kind: emulate, rate: 1Gbit/s}\ncases: [{name: NAME, schedule: fors}]\n"
	read := func(name string) error {
		_, err := shapes.Read("s.yaml", strings.NewReader(strings.Replace(text, "NAME", name, 1)))
		return err
	}
	expect.OK(t, read(strings.Repeat("名", 20)))
	expect.Error(t, read(strings.Repeat("名", 28)), "cases[0].name", "takes 252 bytes for it, more than 200")
}
