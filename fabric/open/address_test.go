package open

import "testing"

// FuzzParseAddresses: all addresses of a server have one port, and are written as they were read.
func FuzzParseAddresses(f *testing.F) {
	f.Add("10.0.0.1:7000,10.1.0.1:7000")
	f.Add("[::1]:0")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddresses(text)
		if err != nil {
			return
		}
		if a.String() != text || a.Listen() == "" {
			t.Fatalf("%q became %q, at %q", text, a, a.Listen())
		}
	})
}
