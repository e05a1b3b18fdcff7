// Package unit reads and prints the two quantities that users write with a unit: link rates
// ("100Mbit/s", in bit/s) and sizes ("600KiB", in bytes). Durations are those of package time.
package unit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rate is a link rate in bit/s.
type Rate int64

type Bytes int64

type suffix struct {
	name   string
	factor float64
}

// The longest name comes first, so that "Mbit/s" is not read as "bit/s". Of entries with equal
// factor, the first is printed.
var rates = []suffix{
	{"Tbit/s", 1e12}, {"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1},
}

// others are units of rates that are read and not printed.
var others = []suffix{
	{"Tb/s", 1e12}, {"Gb/s", 1e9}, {"Mb/s", 1e6}, {"kb/s", 1e3}, {"Tbps", 1e12}, {"Gbps", 1e9}, {"Mbps", 1e6}, {"kbps", 1e3},
	{"GiB/s", 8 << 30}, {"MiB/s", 8 << 20}, {"KiB/s", 8 << 10}, {"TB/s", 8e12}, {"GB/s", 8e9}, {"MB/s", 8e6}, {"kB/s", 8e3}, {"KB/s", 8e3},
}

// bare are units without "per second", as of switches and cables, which are read last.
var bare = []suffix{
	{"Gbit", 1e9}, {"Mbit", 1e6}, {"Gb", 1e9}, {"Mb", 1e6}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"g", 1e9}, {"m", 1e6},
}

var sizes = []suffix{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// binary are the sizes of benchmarks: 1M of OSU's, Intel's and NVIDIA's is 1 MiB.
var binary = []suffix{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"k", 1 << 10}}

// perSecond writes the end of iperf's rates, 9.1 Gbits/sec, as others do.
var perSecond = strings.NewReplacer("Kbits/", "kbit/", "bits/", "bit/", "Bytes/", "B/", "sec", "s")

// ParseTime reads a time such as "2ms", also as "12.5 ms" and "1400 usec".
func ParseTime(s string) (time.Duration, error) {
	return time.ParseDuration(strings.NewReplacer(" ", "", "sec", "s").Replace(s))
}

// ParseRate reads a rate such as "100Mbit/s" or "2.5 Gbit/s", also as "100Mb/s", "100Mbps" or
// "12.5MB/s", "9.1 Gbits/sec" or "100G". Prefixes are decimal, as everywhere in networking.
func ParseRate(s string) (Rate, error) {
	v, err := parse(perSecond.Replace(s), slices.Concat(others, rates, bare))
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w; write a number and one of bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s", s, err)
	}
	return Rate(v), nil
}

// ParseBytes reads a size such as "600KiB" or "1.2MB". KiB, MiB and GiB are
// powers of 1024, as are K, M and G alone; kB (or KB), MB and GB are powers of 1000.
func ParseBytes(s string) (Bytes, error) {
	v, err := parse(s, slices.Concat(sizes, binary))
	if err != nil {
		return 0, fmt.Errorf("size %q: %w; write a number and one of B, kB, KiB, MB, MiB, GB, GiB", s, err)
	}
	return Bytes(v), nil
}

func parse(s string, table []suffix) (int64, error) {
	s = strings.TrimSpace(s)
	for _, x := range table {
		num, ok := strings.CutSuffix(s, x.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		if err != nil || math.IsNaN(v) {
			return 0, fmt.Errorf("%q is not a number", strings.TrimSpace(num))
		}
		if v *= x.factor; v < 0 || v >= 1<<62 {
			return 0, fmt.Errorf("out of range")
		}
		return int64(math.Round(v)), nil
	}
	return 0, fmt.Errorf("no unit")
}

// String prints r with the largest prefix that leaves at least 1 before the
// point, and at most four significant digits after rounding.
func (r Rate) String() string { return format(float64(r), rates) }

// String prints b exactly in a binary unit if it is a short multiple of one, else in a decimal unit
// with at most four significant digits.
func (b Bytes) String() string {
	for _, x := range sizes[:3] {
		if n := Bytes(x.factor); b >= n && b%n == 0 && b/n < 10_000 {
			return strconv.FormatInt(int64(b/n), 10) + x.name
		}
	}
	return format(float64(b), sizes[3:])
}

func format(v float64, table []suffix) string {
	for _, x := range table {
		if v >= x.factor {
			return strconv.FormatFloat(v/x.factor, 'g', 4, 64) + x.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64) + table[len(table)-1].name
}
