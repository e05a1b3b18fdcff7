package main

import (
	"slices"

	"evbench/internal/answer"
)

// gate is the exit code of a limit that the user set, by where figures lie beside it: worse is exitRegression;
// what the data do not show has not passed, and is exitInvalid. Every gate ends with it.
func gate(places ...answer.Place) error {
	switch {
	case slices.Contains(places, answer.Below):
		return &exitError{code: exitRegression}
	case slices.Contains(places, answer.Across):
		return &exitError{code: exitInvalid}
	}
	return nil
}
