package nearest_test

import (
	"strings"
	"testing"

	"evbench/internal/nearest"
)

func TestTo(t *testing.T) {
	choices := []string{"run", "routes", "report", "reproduce", "validate", "man", "fabric", "e"}
	for name, want := range map[string]string{
		"rnu": "run", "rotes": "routes", "reprot": "report", "vaildate": "validate", "run": "run", "f": "e",
		"": "", "magic": "", "x-y-z": "", strings.Repeat("run", 30): "",
	} {
		if got := nearest.To(name, choices); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := nearest.To("run", nil); got != "" {
		t.Errorf("of none: %q", got)
	}
}
