package hpa

import (
	"bufio"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

var (
	out   = flag.String("out", "", "file for the situations with the controller's decisions")
	count = flag.Int("situations", 2500, "how many situations")
	seed  = flag.Uint64("seed", 1, "seed of the generator")
)

// TestControllerDecides writes the real controller's decisions on generated situations.
func TestControllerDecides(t *testing.T) {
	if *out == "" {
		t.Skip("no -out file: this test only makes the vectors for src/hpa")
	}
	file, err := os.Create(*out)
	if err != nil {
		t.Fatal(err)
	}
	// The library's error handler remembers the time of the last error; every bubble starts anew in
	// the year 2000, so it would sleep for the length of the previous one.
	utilruntime.ErrorHandlers = nil
	writer := bufio.NewWriter(file)
	random := rand.New(rand.NewPCG(*seed, 0))
	encoder := json.NewEncoder(writer)
	for range *count {
		situation := Generate(random)
		synctest.Test(t, func(t *testing.T) { Run(t, &situation) })
		if err := encoder.Encode(situation); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
