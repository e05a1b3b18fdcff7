package linux

import (
	"net/netip"
	"slices"
	"testing"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/internal/expect"
)

func ports() []lab.Port {
	return []lab.Port{
		{Name: "a", Index: 2, Gateway: netip.MustParseAddr("169.254.0.1")},
		{Name: "b", Index: 3, Gateway: netip.MustParseAddr("169.254.0.2")},
	}
}

// What is written is read again as it was.
func TestRouteMessages(t *testing.T) {
	for _, want := range []companion.Route{
		{Prefix: netip.MustParsePrefix("10.1.0.0/16"), Via: []companion.Port{1}},
		{Prefix: netip.MustParsePrefix("10.200.1.1/32"), Via: []companion.Port{0, 1}},
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Via: []companion.Port{0}, Source: netip.MustParseAddr("10.200.0.1")},
	} {
		h, table, err := newReader(ports()).route(setMessage(want, ports()))
		expect.True(t, err == nil && table == 254 && h.alien == nil && h.route.Equal(want), "%v: read %+v, table %v, error %v", want, h, table, err)
	}
}

func TestRouteOfOthers(t *testing.T) {
	r := companion.Route{Prefix: netip.MustParsePrefix("10.1.0.0/16"), Via: []companion.Port{1}}
	message := setMessage(r, ports())
	message[5] = 2 // written by the kernel itself
	if h, _, err := newReader(ports()).route(message); err != nil || !slices.Equal(h.alien, message) {
		t.Errorf("read %+v, %v, want it to be told as one of others", h, err)
	}
	message[4] = 255 // table local
	if _, table, _ := newReader(ports()).route(message); table != 0 {
		t.Error("a route of another table was taken for one of the main table")
	}
}

// FuzzReadRoute: whatever the kernel says, reading it ends.
func FuzzReadRoute(f *testing.F) {
	f.Add(setMessage(companion.Route{Prefix: netip.MustParsePrefix("10.1.0.0/16"), Via: []companion.Port{0, 1}}, ports()))
	f.Add([]byte{2, 8})
	f.Fuzz(func(t *testing.T, entry []byte) {
		h, _, err := newReader(ports()).route(entry)
		for _, p := range h.route.Via {
			if err == nil && int(p) >= len(ports()) {
				t.Errorf("port %d of %d", p, len(ports()))
			}
		}
	})
}
