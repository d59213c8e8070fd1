// Package format is the file of queries and answers that both engines write and promql_test reads:
// one JSON value a line, first all series, then each query with its answer.
package format

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
)

// StaleMarker is the value by which Prometheus says that a series has ended.
var StaleMarker = math.Float64frombits(0x7ff0000000000002)

const staleText = "stale"

// Point is a time in milliseconds and a value as text, which JSON could not carry: NaN, +Inf, stale.
type Point struct {
	T int64
	V string
}

// PointOf writes the value in full.
func PointOf(t int64, v float64) Point {
	if math.Float64bits(v) == math.Float64bits(StaleMarker) {
		return Point{t, staleText}
	}
	return Point{t, strconv.FormatFloat(v, 'g', -1, 64)}
}

// Value is the inverse of PointOf.
func (p Point) Value() (float64, error) {
	if p.V == staleText {
		return StaleMarker, nil
	}
	return strconv.ParseFloat(p.V, 64)
}

func (p Point) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.T, p.V}) }

func (p *Point) UnmarshalJSON(text []byte) error {
	pair := []any{&p.T, &p.V}
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a point is a time and a value, not %s", text)
	}
	return nil
}

// Series is one of the first line, or one of an answer.
type Series struct {
	Labels map[string]string `json:"labels"`
	Points []Point           `json:"points"`
}

// Data is the first line.
type Data struct {
	Series []Series `json:"series"`
}

// Vector is one query with the engine's answer. Step 0 asks for the moment Start.
type Vector struct {
	Expr    string   `json:"expr"`
	Start   int64    `json:"start"`
	End     int64    `json:"end,omitempty"`
	Step    int64    `json:"step,omitempty"`
	Ordered bool     `json:"ordered,omitempty"`
	Type    string   `json:"type,omitempty"`
	Error   string   `json:"error,omitempty"`
	Text    string   `json:"text,omitempty"`
	Result  []Series `json:"result,omitempty"`
}

// NewEncoder writes the lines as they are compared: nothing in them is escaped for HTML.
func NewEncoder(out io.Writer) *json.Encoder {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder
}
