package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strconv"
)

// point is a time in milliseconds and a value as text, which JSON could not carry: NaN, +Inf.
type point struct {
	T int64
	V string
}

func (p point) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.T, p.V}) }

func pointOf(t int64, v float64) point {
	return point{t, strconv.FormatFloat(v, 'g', -1, 64)}
}

type series struct {
	Labels map[string]string `json:"labels"`
	Points []point           `json:"points"`
}

// vector is one query with the real engine's answer. Step 0 asks for the moment Start.
type vector struct {
	Expr    string   `json:"expr"`
	Start   int64    `json:"start"`
	End     int64    `json:"end,omitempty"`
	Step    int64    `json:"step,omitempty"`
	Ordered bool     `json:"ordered,omitempty"`
	Type    string   `json:"type,omitempty"`
	Error   string   `json:"error,omitempty"`
	Text    string   `json:"text,omitempty"`
	Result  []series `json:"result,omitempty"`
}

// writeVectors writes one JSON value a line: first all series, then each query with its answer.
func writeVectors(path string, data []series, vectors []vector) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"series": data}); err != nil {
		return err
	}
	for _, v := range vectors {
		if err := encoder.Encode(v); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
