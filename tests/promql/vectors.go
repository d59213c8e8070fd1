package main

import (
	"bufio"
	"os"

	"activescale.local/tests/promql/format"
)

func writeVectors(path string, data []format.Series, vectors []format.Vector) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewWriter(file)
	encoder := format.NewEncoder(buffered)
	if err := encoder.Encode(format.Data{Series: data}); err != nil {
		return err
	}
	for _, v := range vectors {
		if err := encoder.Encode(v); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
