package unit_test

import (
	"testing"
	"time"

	"evbench/internal/unit"
	"evbench/testing/expect"
)

func TestParseRate(t *testing.T) {
	for in, want := range map[string]unit.Rate{
		"100Mbit/s": 100_000_000, "2.5 Gbit/s": 2_500_000_000, "1kbit/s": 1000, "7bit/s": 7, "100Gb/s": 100e9, "100Gbps": 100e9, "12.5GB/s": 100e9, "1 KiB/s": 8192, "0bit/s": 0,
		"9.1Gbits/sec": 9_100_000_000, "940 Mbits/sec": 940e6, "1.1 GBytes/sec": 8.8e9, "100G": 100e9, "100g": 100e9, "200Gbit": 200e9, "850 Kbits/sec": 850e3, "1 KiB/sec": 8192, " 46Tbit/s ": 46_000_000_000_000,
	} {
		got, err := unit.ParseRate(in)
		expect.True(t, err == nil && got == want, "ParseRate(%q) = %d, %v; want %d", in, got, err, want)
	}
	for in, reason := range map[string]string{
		"100": "no unit", "100MB": "no unit", "xMbit/s": "not a number", "-1Mbit/s": "out of range",
		"1e30Tbit/s": "out of range", "": "no unit", "NaNbit/s": "not a number",
	} {
		expect.Error(t, expect.Err(unit.ParseRate(in)), reason)
	}
}

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]unit.Bytes{
		"600KiB": 614_400, "1.2MB": 1_200_000, "3 B": 3, "4MiB": 4 << 20, "256KB": 256_000, "10GB": 10_000_000_000, "1M": 1 << 20, "64k": 64 << 10, "2 G": 2 << 30,
	} {
		got, err := unit.ParseBytes(in)
		expect.True(t, err == nil && got == want, "ParseBytes(%q) = %d, %v; want %d", in, got, err, want)
	}
	expect.True(t, expect.Err(unit.ParseBytes("600 KIB")) != nil, "a unit in the wrong case was read")
}

func TestString(t *testing.T) {
	for got, want := range map[string]string{
		unit.Rate(100_000_000).String():   "100Mbit/s",
		unit.Rate(2_500_000_000).String(): "2.5Gbit/s",
		unit.Rate(0).String():             "0bit/s",
		unit.Bytes(614_400).String():      "600KiB",
		unit.Bytes(620_400).String():      "620.4kB",
		unit.Bytes(4 << 20).String():      "4MiB",
		unit.Bytes(17).String():           "17B",
		unit.Bytes(10e9).String():         "10GB",
	} {
		expect.Equal(t, got, want, "printed")
	}
}

func TestParseTime(t *testing.T) {
	for in, want := range map[string]time.Duration{"2ms": 2e6, "12.5 ms": 12_500_000, "1400 usec": 1_400_000, "3 sec": 3e9, "1h30m": 5400e9} {
		got, err := unit.ParseTime(in)
		expect.True(t, err == nil && got == want, "ParseTime(%q) = %v, %v; want %v", in, got, err, want)
	}
	expect.Error(t, expect.Err(unit.ParseTime("12.5")), "missing unit")
}

// What String prints of a multiple of a unit reads back as itself.
func FuzzParse(f *testing.F) {
	f.Add("100Mbit/s")
	f.Add("600KiB")
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := unit.ParseRate(s); err == nil {
			expect.OK(t, expect.Err(unit.ParseRate(r.String())), "%q prints as %q, which does not parse", s, r)
		}
		if b, err := unit.ParseBytes(s); err == nil {
			expect.OK(t, expect.Err(unit.ParseBytes(b.String())), "%q prints as %q, which does not parse", s, b)
		}
	})
}
