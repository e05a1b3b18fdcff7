package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"time"

	"evbench/bench/flit"
)

func main() {
	f, _ := os.Open(os.Args[1])
	rows, _ := csv.NewReader(f).ReadAll()
	only := map[string]bool{}
	for _, a := range os.Args[2:] {
		only[a] = true
	}
	for _, row := range rows[1:] {
		c := flit.Case{}
		for i, v := range row {
			c[rows[0][i]] = v
		}
		if len(only) > 0 && !only[c["case"]] {
			continue
		}
		t := time.Now()
		r, err := flit.Run(c)
		if err != nil {
			fmt.Println(c["case"], "error", err)
			continue
		}
		if r == nil {
			continue
		}
		d := time.Since(t).Seconds()
		if c["sim"] != "booksim2" {
			fmt.Printf("%s %s %s %s m%s b%s r%s off %s: %s %.5f  min %s %.5f tail %s %.1f msg %s %.1f  cpu %s %.2f speed %.3g\n", c["case"], c["topology"], c["routing"], c["traffic"], c["msg_packets"], c["buf_flits"], c["max_parallel_reads"], c["offered"], c["accepted"], r.Accepted, c["accepted_min_host"], r.Worst, c["tail_latency_ns"], r.Latency, c["msg_latency_ns"], r.MessageLatency, c["cpu_s"], d, float64(r.Flits)/d)
			continue
		}
		fmt.Printf("%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%.5f,%s,%.5f,%s,%.1f,%s,%.1f,%s,%.1f,%s,%.0f,%.3g,%s\n", c["case"], c["topology"], c["routing"], c["traffic"], c["pipeline"], c["vcs"], c["buf_flits"], c["packet_flits"], c["offered"],
			c["accepted"], r.Accepted, c["accepted_min_host"], r.Worst, c["mean_latency"], r.Latency, c["net_latency"], r.Network, c["min_latency"], r.Least, c["batch_cycles"], r.Batch, float64(r.Flits)/d, c["flits_per_cpu_s"])
	}
}
