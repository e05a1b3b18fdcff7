package host

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteText writes for people what a machine says of itself.
func (a Answer) WriteText(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "host\t%s, %s, %d cores\n", a.Host, a.Platform, a.Cores)
	fmt.Fprintf(tab, "evbench\t%s\n", a.Version)
	fmt.Fprintf(tab, "clock\t%s\n", a.Clock.UTC().Format(time.RFC3339Nano))
	for _, i := range a.Interfaces {
		state := "up"
		if !i.Up {
			state = "down"
		}
		fmt.Fprintf(tab, "%s\t%s, MTU %d byte: %s\n", i.Name, state, i.MTU, joined(i.Addrs))
	}
	for _, addr := range a.Addresses {
		fmt.Fprintf(tab, "chosen\t%s\n", addr)
	}
	if a.AddressError != "" {
		fmt.Fprintf(tab, "chosen\tnone: %s\n", a.AddressError)
	}
	for _, p := range a.Ports {
		state := "free"
		if !p.Free {
			state = p.Error
		}
		fmt.Fprintf(tab, "port %d\t%s\n", p.Port, state)
	}
	return tab.Flush()
}

func joined(all []netip.Prefix) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.String()
	}
	return strings.Join(texts, ", ")
}
