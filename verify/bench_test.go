package verify_test

import (
	"strings"
	"testing"

	"evbench/verify"
)

func BenchmarkRead(b *testing.B) {
	d := shift(b, 20, 18)
	for _, form := range []struct{ name, text string }{{"text", d.text()}, {"json", d.json(b)}} {
		b.Run(form.name, func(b *testing.B) {
			b.SetBytes(int64(len(form.text)))
			for b.Loop() {
				if _, err := verify.Read(strings.NewReader(form.text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, tt := range []struct {
		name   string
		m0, m1 int
		hash   string
	}{
		{"360 servers", 20, 18, ""},
		{"360 servers without hash", 20, 18, "none"},
		{"1296 servers", 36, 36, ""},
	} {
		b.Run(tt.name, func(b *testing.B) {
			d := shift(b, tt.m0, tt.m1)
			d.hash = tt.hash
			f, err := verify.Read(strings.NewReader(d.text()))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if r := verify.Check(f, verify.Options{}); !r.Valid {
					b.Fatal(r.Offences)
				}
			}
		})
	}
}
