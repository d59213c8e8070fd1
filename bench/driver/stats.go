package main

import (
	"slices"
	"time"
)

// result holds figures by name, with their unit at the end of the name.
type result map[string]float64

// quantile returns the value at fraction q of values, which it sorts; there is at least one.
func quantile[T time.Duration | int](values []T, q float64) T {
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func mebibytes(kib int) float64            { return float64(kib) / 1024 }
