// Asks Prometheus's own engine, and writes down queries with their answers.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"

	"activescale.local/tests/promql/format"
)

func main() {
	out := flag.String("out", "vectors.jsonl", "where to write to")
	count := flag.Int("count", 1000, "random queries, beside those of the table")
	seed := flag.Int64("seed", 1, "of the data and the random queries")
	flag.Parse()

	data := makeData(rand.New(rand.NewSource(*seed)))
	store := newMemory(data)
	engine := newEngine()
	vectors := makeQueries(*count, *seed)
	for i := range vectors {
		answer(engine, store, &vectors[i])
	}
	if err := writeVectors(*out, toVectors(data), vectors); err != nil {
		fmt.Fprintln(os.Stderr, "cannot write the vectors:", err)
		os.Exit(1)
	}
}

// makeQueries asks each query of the table at a moment, and each third one over a range too.
func makeQueries(count int, seed int64) []format.Vector {
	random := rand.New(rand.NewSource(seed + 1))
	var vectors []format.Vector
	moment := func() int64 {
		t := dataStart + 600_000 + random.Int63n(1_200_000)
		if random.Intn(2) == 0 {
			t -= t % 5000 // where samples lie
		}
		return t
	}
	span := func(expr string) format.Vector {
		start := moment()
		steps := []int64{1000, 5000, 15_000, 47_000, 60_000}
		step := steps[random.Intn(len(steps))]
		return format.Vector{Expr: expr, Start: start, End: start + step*random.Int63n(8), Step: step}
	}
	for i, expr := range table() {
		vectors = append(vectors, format.Vector{Expr: expr, Start: moment()})
		if i%3 == 0 {
			vectors = append(vectors, span(expr))
		}
	}
	g := generator{random}
	for i := 0; i < count; i++ {
		if random.Intn(3) == 0 {
			vectors = append(vectors, span(g.query()))
		} else {
			vectors = append(vectors, format.Vector{Expr: g.query(), Start: moment()})
		}
	}
	return vectors
}
