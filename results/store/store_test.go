package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/results"
	"evbench/results/store"
)

// run is a small run of one case with two samples.
func run() *results.Run {
	s := results.Sample{Case: "one", TSec: 1, IntervalSec: 1, Events: 7, EventBytes: 100, PayloadBytes: 700}
	return &results.Run{
		Manifest: results.Manifest{Schema: "evbench/manifest/1", Name: "small", Predictions: []results.Prediction{{Case: "one"}}},
		Samples:  []results.Sample{s, s},
		Summary: results.Summary{
			Schema: results.SummarySchema, Name: "small", Complete: true,
			Cases: []results.Case{{Name: "one", Complete: true, Valid: true, Exchanges: 7}},
		},
	}
}

// What is saved is read again, plans included.
func TestSaveDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "saved")
	if err := store.SaveDir(dir, run(), map[string][]byte{"one": []byte("a plan\n")}); err != nil {
		t.Fatal(err)
	}
	got, plans, err := store.ReadDir(dir)
	if err != nil || len(got.Samples) != 2 || got.Manifest.Name != "small" || string(plans["one"]) != "a plan\n" {
		t.Errorf("%v: %+v, plans %q", err, got, plans)
	}
	if err := store.SaveDir(dir, run(), nil); err == nil {
		t.Error("results are overwritten")
	}
}

// For people, what contradicts itself is refused, and what a killed run has left is taken.
func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*results.Run)
		want  string // of the error
		notes int
	}{
		{"whole", func(*results.Run) {}, "", 0},
		{"no samples", func(r *results.Run) { r.Samples = nil }, `no line of case "one"`, 0},
		{"samples of another case", func(r *results.Run) { r.Samples[1].Case = "two" }, `line 3: case "two"`, 0},
		{"killed", func(r *results.Run) { r.Summary = results.Summary{} }, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, dir := run(), filepath.Join(t.TempDir(), "saved")
			tt.spoil(r)
			if err := store.SaveDir(dir, r, nil); err != nil {
				t.Fatal(err)
			}
			got, err := store.Load(dir)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || len(got.Notes) != tt.notes || got.Run == nil {
				t.Errorf("%v: %+v", err, got)
			}
		})
	}
}

// The link leads to the last run. Without a folder there is none, and what is no link stays.
func TestPointLatest(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"elsewhere/one", "elsewhere/two"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.PointLatest("results", "elsewhere/one"); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir("results", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"elsewhere/one", "elsewhere/two"} {
		err := store.PointLatest("results", dir)
		if to, linkErr := os.Readlink("results/latest"); err != nil || linkErr != nil || to != "../"+dir {
			t.Errorf("%q, %v, %v", to, err, linkErr)
		}
	}
	if err := os.Remove("results/latest"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("results/latest", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := store.PointLatest("results", "elsewhere/one"); err == nil || !strings.Contains(err.Error(), "is no link") {
		t.Errorf("error %v", err)
	}
}
