package live_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"evbench/bench"
	"evbench/builder/load"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/topology"
	"evbench/view/live"
)

const scenarioText = `
topology: FT(2;4,4)
fabric: {kind: lab, rate: 100Mbit/s}
control: off
duration: 10s
rounds: 2
cases:
  - {name: "healthy <b>", schedule: linear-shift}
  - {name: one dead, schedule: fors, failures: [leaf0-spine0]}
  - {name: dies, schedule: fors, failover: fors, failures: [{link: leaf2-spine1, at: 2s}]}
`

func sec(x float64) *float64 { return &x }

func listen(t *testing.T, log slog.Handler) *live.Server {
	t.Helper()
	l := expect.Value(live.Listen(t.Context(), "127.0.0.1:0"))(t)
	return live.Serve(l, slog.New(log))
}

// serve serves a run of scenarioText that has begun.
func serve(t *testing.T) (*live.Server, *live.Script) {
	t.Helper()
	s := listen(t, slog.DiscardHandler)
	t.Cleanup(func() {
		expect.OK(t, s.End("over"))
	})
	return s, live.NewScript(t, scenarioText, s.Take)
}

// dies is what happens to the links of the third case.
func dies(x *live.Script) []bench.Event {
	link := []topology.Link{{Leaf: 2, Spine: 1}}
	return []bench.Event{
		bench.LinksChanged{Down: link},
		bench.FailedOver{Failover: results.Failover{
			Case: x.Cases[2].Name, ID: 1, Down: []string{"leaf2-spine1"}, Dead: []string{"leaf2-spine1"}, FailoverTimes: results.FailoverTimes{SetSec: sec(2), SeenSec: sec(2.0003), AidedSec: sec(2.0013), FirstNewSec: sec(2.3)},
		}},
	}
}

// measured tells the first round, and the begin of the second.
func measured(x *live.Script) {
	x.Slice(1, 0, 5)
	x.Slice(1, 1, 3)
	x.Slice(1, 2, 4, dies(x)...)
	x.RoundDone(1)
	x.Say(x.Of(2, 1), bench.Installing{})
}

func request(t *testing.T, method, url, host string) (*http.Response, string) {
	t.Helper()
	r := expect.Value(http.NewRequestWithContext(t.Context(), method, url, nil))(t)
	if host != "" {
		r.Host = host
	}
	answer := expect.Value(http.DefaultClient.Do(r))(t)
	defer answer.Body.Close()
	text := expect.Value(io.ReadAll(answer.Body))(t)
	return answer, string(text)
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, text := request(t, http.MethodGet, url, "")
	expect.MustTrue(t, answer.StatusCode == http.StatusOK, "%s: %s: %s", url, answer.Status, text)
	return text
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:8080": "0.0.0.0:8080", "localhost:1": "localhost:1", "[::1]:80": "[::1]:80", "[::]:80": "[::]:80",
	} {
		got, err := live.Address(in)
		expect.True(t, got == want && err == nil, "%s: %s, %v; want %s", in, got, err, want)
	}
	for _, in := range []string{"", "8080", "localhost", "::1:80:"} {
		if got, err := live.Address(in); err == nil {
			t.Errorf("%q is taken for %s", in, got)
		}
	}
}

// Nothing can be changed, a foreign page cannot read through a name of its own, and every
// answer says what a browser may do with it.
func TestReadOnly(t *testing.T) {
	s, _ := serve(t)
	paths := []string{"", "metrics", "api/progress", "api/summary", "api/manifest", "api/links", "absent"}
	for _, path := range paths {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
			if answer, _ := request(t, method, s.URL()+path, ""); answer.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s /%s: %s", method, path, answer.Status)
			}
		}
		answer, _ := request(t, http.MethodHead, s.URL()+path, "")
		want := http.StatusOK
		if path == "absent" {
			want = http.StatusNotFound
		}
		expect.True(t, answer.StatusCode == want, "HEAD /%s: %s", path, answer.Status)
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Cache-Control", "Referrer-Policy", "Cross-Origin-Resource-Policy"} {
			expect.True(t, answer.Header.Get(name) != "", "/%s has no %s", path, name)
		}
	}
	_, port, _ := net.SplitHostPort(strings.Trim(strings.TrimPrefix(s.URL(), "http://"), "/"))
	for host, code := range map[string]int{"localhost:" + port: 200, "LOCALHOST": 200, "127.0.0.1": 200, "[::1]:" + port: 200, "evil.example": 421, "localhost.evil.example:" + port: 421, "10.0.0.1": 421} {
		if answer, _ := request(t, http.MethodGet, s.URL(), host); answer.StatusCode != code {
			t.Errorf("host %s: %s, want %d", host, answer.Status, code)
		}
	}
	if !s.Local() {
		t.Errorf("%s is not local", s.URL())
	}
}

// The documents are those of the run, from before it begins until it has ended.
func TestDocuments(t *testing.T) {
	s, x := serve(t)
	var p struct {
		Schema, Stage, Case string
		Ended               bool
		Round, Slice        int
		Dead                []string
		LeftSec             float64 `json:"left_s"`
		Failovers           []struct {
			Case string
			Aid  float64 `json:"aided_s"`
		}
	}
	read := func() {
		t.Helper()
		expect.Must(t, json.Unmarshal([]byte(get(t, s.URL()+"api/progress")), &p))
	}
	if read(); p.Schema != "evbench/progress/1" || p.Stage != "begun" || p.LeftSec != 60 {
		t.Errorf("at first %+v", p)
	}
	measured(x)
	read()
	if p.Stage != "install" || p.Case != "one dead" || p.Round != 2 || !slices.Equal(p.Dead, []string{"leaf0-spine0"}) || len(p.Failovers) != 1 || p.Failovers[0].Aid != 2.0013 {
		t.Errorf("in the second round %+v", p)
	}
	sum, err := results.ReadSummary(strings.NewReader(get(t, s.URL()+"api/summary")))
	expect.True(t, err == nil && len(sum.Cases) == 3 && len(sum.Slices) == 3 && !sum.Complete, "summary %+v, %v", sum, err)
	expect.Contains(t, get(t, s.URL()+"api/manifest"), `"name": "x"`)
	l := get(t, s.URL()+"api/links")
	expect.True(t, strings.Count(l, `"leaf0-spine1"`) == 3 && strings.Contains(l, `"bytes":1000`) && strings.Contains(l, `"planned_bytes":0`),
		"%v", l)
}

// Before the run there is something to be seen as well.
func TestBeforeTheRun(t *testing.T) {
	s := listen(t, slog.DiscardHandler)
	for path, want := range map[string]string{"": "being prepared", "api/progress": `"stage":""`, "api/summary": `"cases": []`, "api/manifest": "null", "api/links": `"links":[]`, "metrics": "evbench_run_ended 0"} {
		text := get(t, s.URL()+path)
		expect.True(t, strings.Contains(text, want), "/%s: no %q in %s", path, want, text)
	}
	expect.OK(t, s.End("It failed: no workers."))
}

// Names of metrics are as Prometheus has it, and figures are those of the run.
func TestMetrics(t *testing.T) {
	s, x := serve(t)
	measured(x)
	text := get(t, s.URL()+"metrics")
	problems := expect.Value(promlint.New(strings.NewReader(text)).Lint())(t)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, want := range []string{
		`evbench_case_events_per_second{case="healthy <b>"} 5`,
		`evbench_case_slices_total{case="one dead"} 1`,
		`evbench_case_retransmits_total{case="one dead"} 0`,
		`evbench_case_drops_total{case="one dead"} 0`,
		`evbench_case_slices_rejected_total{case="one dead"} 0`,
		`evbench_link_up{link="leaf0-spine0"} 0`,
		`evbench_link_up{link="leaf2-spine1"} 1`,
		`evbench_link_carried_bytes_total{case="one dead",direction="up",link="leaf0-spine1"} 1000`,
		`evbench_failover_duration_seconds_count{case="dies",step="aid"} 1`,
		`evbench_failover_duration_seconds_bucket{case="dies",step="in_use",le="0.5"} 1`,
		`evbench_failover_duration_seconds_bucket{case="dies",step="in_use",le="0.25"} 0`,
		`evbench_run_info{fabric="",name="x",transport="",version=""} 1`,
		`evbench_run_round 2`,
	} {
		expect.True(t, strings.Contains(text, want+"\n"), "no %s", want)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// On hosts nobody looks at links: only those that are named dead are known.
func TestMetricsOfLinksOnHosts(t *testing.T) {
	s, x := serve(t)
	x.Say(bench.Place{}, bench.Begun{Manifest: results.Manifest{Name: "x", Fabric: results.Fabric{Kind: "hosts"}}, Cases: x.Cases})
	x.Slice(1, 0, 5)
	x.Say(x.Of(1, 1), bench.Installing{})
	text := get(t, s.URL()+"metrics")
	up := regexp.MustCompile(`(?m)^evbench_link_up.*$`).FindAllString(text, -1)
	expect.Equal(t, strings.Join(up, "|"), `evbench_link_up{link="leaf0-spine0"} 0`, "links")
}

// The dashboard asks for metrics that there are, by labels that they have.
func TestDashboard(t *testing.T) {
	s, x := serve(t)
	measured(x)
	sum := x.Standing()
	sum.Cases[1].RatioToControl = 0.6
	sum.Cases[1].Offered = &results.Offered{Offered: 8, Complete: 6, Refused: 2, Latency: load.Quantiles{P99: .25}}
	x.Say(x.Of(2, 1), bench.Done{Slice: sum.Cases[1], Summary: sum})
	x.Say(x.Of(2, 2), bench.Measuring{Elapsed: time.Second, EventsPerSec: 2, Interval: 3, Buffers: &results.Buffers{Offered: 200, Refused: 5, Waiting: 20, Sending: 16, Free: 4, LatencySec: .125}})
	text := get(t, s.URL()+"metrics")
	expect.Contains(t, text, `state="sending"} 16`, `evbench_load_dead_time_ratio{case="`, "} 0.025", "} 0.125")
	expect.Contains(t, get(t, s.URL()), "buffers: 20 waiting, 16 sending, 4 free; dead time 2.5 %, latency 125 ms")
	expect.Contains(t, get(t, s.URL()+"api/progress"), `"waiting":20,"sending":16,"free":4`)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	expect.Must(t, json.Unmarshal(expect.Value(os.ReadFile("../../docs/do/grafana.json"))(t), &board))
	asked := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			var lines []string
			for _, name := range regexp.MustCompile(`evbench_\w+`).FindAllString(target.Expr, -1) {
				asked++
				lines = regexp.MustCompile(`(?m)^`+name+`[{ ].*`).FindAllString(text, -1)
				expect.True(t, len(lines) > 0, "%s: no metric %s", panel.Title, name)
			}
			expect.MustTrue(t, lines != nil, "%s asks for no metric that there is: %s", panel.Title, target.Expr)
			for _, label := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				expect.Contains(t, lines[0], label[1]+`="`)
			}
		}
	}
	expect.True(t, asked >= 15, "%d metrics are asked for", asked)
}

// A browser is told what has changed and nothing else, and the end; then nothing is served.
func TestEvents(t *testing.T) {
	s, x := serve(t)
	answer := expect.Value(http.Get(s.URL() + "events"))(t)
	defer answer.Body.Close()
	expect.Equal(t, answer.Header.Get("Content-Type"), "text/event-stream", "answer.Header.Get")
	read := reader{t, answer.Body, ""}
	for range 6 + len(x.Cases) { // each part as it is at first
		read.event()
	}
	x.Say(x.Of(1, 1), bench.Installing{})
	if name, text := read.event(); name != "part" || !strings.Contains(text, `"id":"where"`) || !strings.Contains(text, "one dead: install") {
		t.Errorf("%s: %s", name, text)
	}
	x.Say(x.Of(1, 1), bench.LinksChanged{Down: []topology.Link{{Leaf: 3, Spine: 3}}})
	if _, text := read.event(); !strings.Contains(text, `"id":"tree one dead"`) || !strings.Contains(text, "2 of 16 links are dead: leaf0-spine0, leaf3-spine3.") {
		t.Error(text)
	}
	x.Ended()
	expect.OK(t, s.End("Results: here."))
	var last []string
	for name := ""; name != "end"; {
		var text string
		name, text = read.event()
		last = append(last, text)
	}
	expect.Contains(t, strings.Join(last, "\n"), "The run has ended.", "Results: here.")
	rest, err := io.ReadAll(answer.Body)
	expect.True(t, err == nil && len(rest) == 0, "after the end %q, %v", rest, err)
	expect.True(t, expect.Err(http.Get(s.URL())) != nil, "it is still served")
}

// A reader reads server-sent events.
type reader struct {
	t    *testing.T
	from io.Reader
	text string
}

func (r *reader) event() (name, data string) {
	r.t.Helper()
	for !strings.Contains(r.text, "\n\n") {
		b := make([]byte, 64<<10)
		n, err := r.from.Read(b)
		r.text += string(b[:n])
		expect.MustFalse(r.t, err != nil && n == 0, "%v", err)
	}
	var one string
	one, r.text, _ = strings.Cut(r.text, "\n\n")
	expect.Must(r.t, expect.Err(fmt.Sscanf(one, "event: %s", &name)), "%q", one)
	_, data, _ = strings.Cut(one, "data: ")
	return name, data
}

// Who does not take what is sent does not keep the run from ending.
func TestEndWithoutReader(t *testing.T) {
	s, x := serve(t)
	c := expect.Value(net.Dial("tcp", strings.Trim(strings.TrimPrefix(s.URL(), "http://"), "/")))(t)
	defer c.Close()
	fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	measured(x)
	expect.OK(t, s.End(""))
}

// gone reports whether an error says that the other end has hung up.
func gone(err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) }

// A counter is a listener that knows how many connections are open. Each of errs is what one Accept returns.
type counter struct {
	net.Listener
	errs       chan error
	open, most atomic.Int32
}

func (c *counter) Accept() (net.Conn, error) {
	select {
	case err := <-c.errs:
		return nil, err
	default:
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.most.Store(max(c.most.Load(), c.open.Add(1)))
	return &counted{Conn: conn, closed: func() { c.open.Add(-1) }}, nil
}

type counted struct {
	net.Conn
	once   sync.Once
	closed func()
}

func (c *counted) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}

// counting serves a run, and counts connections.
func counting(t *testing.T, log slog.Handler, errs ...error) (*live.Server, *counter) {
	t.Helper()
	l := expect.Value(live.Listen(t.Context(), "127.0.0.1:0"))(t)
	c := &counter{Listener: l, errs: make(chan error, len(errs))}
	for _, err := range errs {
		c.errs <- err
	}
	return live.Serve(c, slog.New(log)), c
}

// Strangers who stay, with or without a word, get so many connections and no more; who
// follows the run stays, and who asks for something is answered.
func TestStrangersStay(t *testing.T) {
	s, all := counting(t, slog.DiscardHandler)
	x := live.NewScript(t, scenarioText, s.Take)
	watching := expect.Value(http.Get(s.URL() + "events"))(t)
	defer watching.Body.Close()
	var strangers []net.Conn
	for i := range 400 {
		c := expect.Value(net.Dial("tcp", strings.Trim(strings.TrimPrefix(s.URL(), "http://"), "/")))(t)
		strangers = append(strangers, c)
		const host = " HTTP/1.1\r\nHost: localhost\r\n"
		said := []string{"", "GET / HT", "GET /metrics" + host + "\r\n", "POST /" + host + "Content-Length: 9\r\n\r\n"}[i%4]
		if _, err := io.WriteString(c, said); err != nil && !gone(err) {
			t.Fatal(err)
		}
	}
	expect.Contains(t, get(t, s.URL()+"api/progress"), "evbench/progress/1")
	n := all.most.Load()
	expect.True(t, n <= 64, "%d connections were open at once", n)
	for _, c := range strangers { // else the end is put off for them
		c.Close()
	}
	x.Slice(1, 0, 5)
	expect.OK(t, s.End("over"))
	text, err := io.ReadAll(watching.Body)
	expect.True(t, err == nil && bytes.Contains(text, []byte("event: end")), "who followed the run was sent away: %v, %q", err, text)
}

// What is odd is logged, and not written to standard error.
func TestServerLogs(t *testing.T) {
	var log bytes.Buffer // read when nothing is served any more
	s, _ := counting(t, slog.NewTextHandler(&log, nil), &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)})
	get(t, s.URL())
	expect.OK(t, s.End(""))
	expect.Contains(t, log.String(), "level=WARN", "too many open files")
}

// ask sends a request on a connection of its own.
func ask(t *testing.T, l *transporttest.Listener, path string) net.Conn {
	t.Helper()
	c := l.Dial()
	expect.Must(t, expect.Err(io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")))
	return c
}

// Who does not take an answer loses the connection; the run is followed for as long as it goes on.
func TestAnswersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := transporttest.Listen()
		s := live.Serve(l, slog.New(slog.DiscardHandler))
		slow, follows := ask(t, l, "/"), ask(t, l, "/events")
		told := make(chan string)
		go func() {
			text, _ := io.ReadAll(follows)
			told <- string(text)
		}()
		time.Sleep(10 * time.Minute)
		if text, err := io.ReadAll(slow); len(text) > 0 || err != nil {
			t.Errorf("after ten minutes there is an answer still: %q, %v", text, err)
		}
		expect.OK(t, s.End("over"))
		expect.Contains(t, (<-told), "event: end")
	})
}
