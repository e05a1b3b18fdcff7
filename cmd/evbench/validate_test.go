package main

import (
	"path/filepath"
	"testing"

	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// Every scenario of the repository parses, and every case of it has a plan that the judge accepts.
func TestScenariosPlan(t *testing.T) {
	need.Heavy(t)
	files, err := filepath.Glob("../../scenarios/*.yaml")
	expect.MustTrue(t, err == nil && len(files) >= 7, "%d scenarios, %v", len(files), err)
	for _, file := range files {
		s, err := scenario.ReadFile(file, known)
		if err != nil {
			t.Error(err)
			continue
		}
		planned, err := parts.Prepare(s)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, p := range planned {
			e := p.Prediction.Efficiency
			expect.True(t, e > 0 && e <= 1 && p.Prediction.PlanHash != "", "%s: %s: %+v", file, p.Name, p.Prediction)
		}
	}
}
