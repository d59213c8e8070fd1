package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"activescale.local/tests/promql/format"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

func (s sample) T() int64                      { return s.t }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// memory is a storage of a fixed list of series, which answers in the list's order.
type memory struct{ series []storage.Series }

func newMemory(data []rawSeries) *memory {
	m := &memory{}
	for _, raw := range data {
		samples := make([]chunks.Sample, len(raw.samples))
		for i, s := range raw.samples {
			samples[i] = s
		}
		m.series = append(m.series, storage.NewListSeries(labels.FromMap(raw.labels), samples))
	}
	return m
}

func (m *memory) Querier(_, _ int64) (storage.Querier, error) { return m, nil }
func (m *memory) Close() error                                { return nil }
func (m *memory) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (m *memory) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (m *memory) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{at: -1}
	for _, s := range m.series {
		ok := true
		for _, matcher := range matchers {
			ok = ok && matcher.Matches(s.Labels().Get(matcher.Name))
		}
		if ok {
			set.series = append(set.series, s)
		}
	}
	return set
}

type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples:               50_000_000,
		Timeout:                  100 * time.Second,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
	})
}

// answer asks the real engine and notes what it says.
func answer(engine *promql.Engine, store *memory, v *format.Vector) {
	ctx := context.Background()
	var query promql.Query
	var err error
	if v.Step == 0 {
		query, err = engine.NewInstantQuery(ctx, store, nil, v.Expr, time.UnixMilli(v.Start))
	} else {
		query, err = engine.NewRangeQuery(ctx, store, nil, v.Expr, time.UnixMilli(v.Start), time.UnixMilli(v.End),
			time.Duration(v.Step)*time.Millisecond)
	}
	if err != nil {
		v.Error = err.Error()
		return
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		v.Error = result.Err.Error()
		return
	}
	v.Type = string(result.Value.Type())
	v.Ordered = v.Step == 0 && isOrdered(v.Expr)
	switch value := result.Value.(type) {
	case promql.Scalar:
		v.Result = []format.Series{{Labels: map[string]string{}, Points: []format.Point{format.PointOf(v.Start, value.V)}}}
	case promql.String:
		v.Text = value.V
	case promql.Vector:
		for _, s := range value {
			v.Result = append(v.Result, format.Series{Labels: s.Metric.Map(), Points: []format.Point{format.PointOf(s.T, s.F)}})
		}
	case promql.Matrix:
		for _, s := range value {
			out := format.Series{Labels: s.Metric.Map()}
			for _, p := range s.Floats {
				out.Points = append(out.Points, format.PointOf(p.T, p.F))
			}
			v.Result = append(v.Result, out)
		}
	default:
		panic(fmt.Sprintf("unexpected %T", value))
	}
}

func isOrdered(expr string) bool {
	for _, name := range []string{"sort(", "sort_desc(", "topk(", "bottomk("} {
		if strings.HasPrefix(expr, name) && strings.Count(expr, ") ") == 0 {
			return true
		}
	}
	return false
}
