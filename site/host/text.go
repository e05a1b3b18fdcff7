package host

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"evbench/internal/show"
)

func (a Answer) WriteText(w io.Writer) error {
	lines := [][]string{
		{"host", fmt.Sprintf("%s, %s, %d cores", a.Host, a.Platform, a.Cores)},
		{"evbench", a.Version},
		{"clock", a.Clock.UTC().Format(time.RFC3339Nano)},
	}
	for _, i := range a.Interfaces {
		state, addrs := "up", fmt.Sprint(i.Addrs)
		if !i.Up {
			state = "down"
		}
		lines = append(lines, []string{i.Name, fmt.Sprintf("%s, MTU %d byte: %s", state, i.MTU, strings.ReplaceAll(strings.Trim(addrs, "[]"), " ", ", "))})
	}
	for _, addr := range a.Addresses {
		lines = append(lines, []string{"chosen", addr})
	}
	if a.AddressError != "" {
		lines = append(lines, []string{"chosen", "none: " + a.AddressError})
	}
	for _, p := range a.Ports {
		lines = append(lines, []string{fmt.Sprintf("port %d", p.Port), cmp.Or(p.Error, "free")})
	}
	return show.Align(w, lines)
}
