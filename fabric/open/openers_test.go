package open

import (
	"testing"

	"evbench/internal/expect"
	"evbench/transport"
)

// Each transport is opened in the way that its facts say.
func TestOpeners(t *testing.T) {
	for _, name := range transport.Names() {
		o, f := openers[name], transport.Of(name)
		expect.True(t, (o.start != nil) == f.Launched && (o.listen != nil) != f.Launched,
			"%s: opened by start %v, by listen %v; launched %v", name, o.start != nil, o.listen != nil, f.Launched)
		if f.Needs == "" && Missing(name) != nil {
			t.Errorf("%s needs nothing, but: %v", name, Missing(name))
		}
	}
	if len(openers) != len(transport.Names()) {
		t.Errorf("%d openers of transports %v", len(openers), transport.Names())
	}
}
