package built_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"evbench/internal/built"
	"evbench/results/hdf5"
	"evbench/transport/mpi"
)

// What a binary has not is said, with how to get it.
func TestRead(t *testing.T) {
	b := built.Read("1.2", []string{"lab"})
	var text bytes.Buffer
	if err := b.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), "evbench 1.2, go") || !strings.Contains(text.String(), "fabrics [lab]") {
		t.Errorf("%q", text.String())
	}
	for _, x := range []struct {
		tag   string
		built bool
	}{{"mpi", mpi.Built}, {"hdf5", hdf5.Built}} {
		said := strings.Contains(text.String(), "go build -tags "+x.tag)
		if has := slices.Contains(b.Tags, x.tag); has != x.built || said == x.built {
			t.Errorf("%s: built %v, tags %v, how to get it is said: %v", x.tag, x.built, b.Tags, said)
		}
	}
}
