package foreign_test

import (
	"bytes"
	"fmt"

	"evbench/study/judge/foreign"
)

// A format of one's own is handed in: here of a program that writes one line, the rate of a host.
func ExampleFormat() {
	daq := foreign.Format{
		Name: "daq",
		Is:   func(data []byte) bool { return bytes.HasPrefix(data, []byte("daq: ")) },
		Read: func(data []byte, _ foreign.Options) (*foreign.Result, error) {
			r := &foreign.Result{What: "daq"}
			if _, err := fmt.Sscanf(string(data), "daq: %d hosts, %f bit/s\n", &r.Ranks, &r.HostRate); err != nil {
				return nil, fmt.Errorf("line 1: %w", err)
			}
			return r, nil
		},
	}
	r, err := foreign.Read([]byte("daq: 16 hosts, 9.1e9 bit/s\n"), foreign.Options{More: []foreign.Format{daq}})
	fmt.Println(r.Format, r.Ranks, r.HostRate, err)
	// Output: daq 16 9.1e+09 <nil>
}
