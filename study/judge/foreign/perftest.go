package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// perftestTitle is the title of a test of bandwidth: which program, and whether it sums both directions up.
var perftestTitle = pattern(`(?m)^\s*(RDMA_Write|RDMA_Read|Send)( Bidirectional)?( Post List)? BW Test\s*$`)

// A perftest is one test under way.
type perftest struct {
	reads bool
	side  string // of the last of these lines
	local string // address of the client, remote of the server
	other string
	unit  float64 // bit/s; 0: no head of results yet
	bytes int64   // of the largest message so far
	rate  float64
}

// readPerftest reads what clients of ib_write_bw, ib_send_bw and ib_read_bw print over RoCE, one test after another, in any order of pairs;
// checked against outputs of 2018 to 2025. Over InfiniBand they name LIDs, no hosts: that is for a table of pairs. MB is 2^20 bytes,
// as in the source of perftest, and MiB in later ones.
//
//	                   RDMA_Write BW Test
//	local address: LID 0000 QPN 0x27d8 PSN 0x79f042
//	GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:01:39
//	remote address: LID 0000 QPN 0x1c901 PSN 0x6726b1
//	GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:01:06
//	#bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
//	65536      403504           0.00               42.31                0.080701
//
// Of several sizes the largest counts, or that of Options. Nothing says when tests ran: each is taken for one that ran alone.
func readPerftest(data []byte, o Options) (*Result, error) {
	p := Pairs{}
	var t *perftest
	server := false
	end := func() error {
		if t == nil {
			return nil
		}
		if t.rate == 0 {
			return errors.New("the test has no result of that size: it did not end, or another size was measured")
		}
		src, dst := p.end(cmp.Or(o.Addresses[t.local], t.local)), p.end(cmp.Or(o.Addresses[t.other], t.other))
		if t.reads {
			src, dst = dst, src
		}
		p.List = append(p.List, Pair{Src: src, Dst: dst, Rate: t.rate, Group: len(p.List)})
		t = nil
		return nil
	}
	err := lines(data, func(n int, text string, f []string) (err error) {
		switch title := perftestTitle().FindStringSubmatch(text); {
		case strings.Contains(text, "Waiting for client to connect"):
			server = true
		case title != nil:
			if err = end(); err == nil && server {
				err = errors.New("give the output of clients, not of servers")
			} else if err == nil && title[2] != "" {
				err = errors.New("a bidirectional test says the sum of both directions, not what each pair has")
			}
			t = &perftest{reads: title[1] == "RDMA_Read"}
		case t != nil:
			err = t.line(text, f, o.Size)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		return nil
	})
	if err == nil {
		err = end()
	}
	if err != nil {
		return nil, err
	}
	return &Result{What: fmt.Sprintf("perftest, tests: %d", len(p.List)), Pairs: &p}, nil
}

func (t *perftest) line(text string, f []string, size int64) error {
	switch {
	case strings.HasPrefix(text, "local address:"), strings.HasPrefix(text, "remote address:"):
		t.side = f[0]
	case strings.HasPrefix(text, "GID:") && len(f) == 2:
		address, ok := fromGID(f[1])
		if !ok {
			return fmt.Errorf("%s holds no IPv4 address: write a table of pairs, src,dst,Gbit/s", short(text))
		}
		if t.side == "local" {
			t.local = cmp.Or(t.local, address)
		} else {
			t.other = cmp.Or(t.other, address)
		}
	case strings.HasPrefix(text, "#bytes"):
		t.unit = map[bool]float64{true: 8 << 20}[strings.Contains(text, "BW average[MB/sec]") || strings.Contains(text, "BW average[MiB/sec]")]
		if strings.Contains(text, "BW average[Gb/sec]") {
			t.unit = 1e9
		}
		switch {
		case t.unit == 0:
			return fmt.Errorf("%q: no bandwidth in MB/sec, MiB/sec or Gb/sec", short(text))
		case t.local == "" || t.other == "":
			return errors.New("the test does not name its hosts (over InfiniBand it has LIDs): write a table of pairs, src,dst,Gbit/s")
		}
	case t.unit > 0 && len(f) >= 4 && isCount(f[0]):
		bytes, err := strconv.ParseInt(f[0], 10, 64)
		rate, err2 := strconv.ParseFloat(f[3], 64)
		if err = cmp.Or(err, err2); err != nil || !(rate > 0) {
			return fmt.Errorf("%q: no row of a result", short(text))
		}
		if size == 0 && bytes >= t.bytes || bytes == size {
			t.bytes, t.rate = bytes, rate*t.unit
		}
	}
	return nil
}

// fromGID is the IPv4 address in a GID as perftest prints it: sixteen decimal numbers.
func fromGID(gid string) (address string, ok bool) {
	f := strings.Split(gid, ":")
	if len(f) != 16 || f[10] != "255" || f[11] != "255" {
		return "", false
	}
	var out []string
	for _, x := range f[12:] {
		n, err := strconv.ParseUint(x, 10, 8)
		if err != nil {
			return "", false
		}
		out = append(out, fmt.Sprint(n))
	}
	return strings.Join(out, "."), true
}
