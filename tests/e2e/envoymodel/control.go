package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"time"
)

// control is the HTTP interface by which the tests drive the model.
type control struct {
	cluster *cluster
	oracle  *oracle

	mu     sync.Mutex
	single map[string]*singleEnvoy
}

// singleEnvoy is one Envoy that a test drives by hand, whether or not its pod exists.
type singleEnvoy struct {
	identity
	Sinks        []string         `json:"sinks"`
	FlushSeconds float64          `json:"flush_seconds"`
	Gauges       map[string]int64 `json:"gauges"` // stat name to value
	// Silent keeps the stream open without a flush, as a half-open connection looks.
	Silent bool `json:"silent"`

	stop func()
}

func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /workloads/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) {
		if config, ok := decode[Config](w, r); ok {
			c.cluster.configure(keyOf(r), config)
		}
	})
	mux.HandleFunc("PUT /workloads/{namespace}/{name}/steps",
		func(w http.ResponseWriter, r *http.Request) {
			if steps, ok := decode[[]Step](w, r); ok {
				c.cluster.setSteps(keyOf(r), steps)
			}
		})
	mux.HandleFunc("PUT /workloads/{namespace}/{name}/flushes",
		func(w http.ResponseWriter, r *http.Request) {
			if at, ok := decode[[]float64](w, r); ok {
				moments := make([]time.Time, len(at))
				for i, seconds := range at {
					moments[i] = time.UnixMicro(int64(seconds * 1e6))
				}
				c.cluster.workload(keyOf(r)).alignFlushes(moments)
			}
		})
	mux.HandleFunc("GET /workloads/{namespace}/{name}/timeline",
		func(w http.ResponseWriter, r *http.Request) {
			work := c.cluster.workload(keyOf(r))
			work.mu.Lock()
			defer work.mu.Unlock()
			reply(w, work.timeline)
		})
	mux.HandleFunc("PUT /workloads/{namespace}/{name}/muted/{pod}", c.setMuted)
	mux.HandleFunc("PUT /envoys/{id}", c.putEnvoy)
	mux.HandleFunc("DELETE /envoys/{id}", c.deleteEnvoy)
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]int64{
			"streams_opened": c.cluster.stats.StreamsOpened.Load(),
			"flushes_sent":   c.cluster.stats.FlushesSent.Load(),
			"flushes_lost":   c.cluster.stats.FlushesLost.Load(),
			"oracle_reads":   c.oracle.reads.Load(),
		})
	})
	return mux
}

func (c *control) setMuted(w http.ResponseWriter, r *http.Request) {
	muted, ok := decode[bool](w, r)
	if !ok {
		return
	}
	work := c.cluster.workload(keyOf(r))
	work.mu.Lock()
	defer work.mu.Unlock()
	p := work.pods[r.PathValue("pod")]
	if p == nil {
		http.Error(w, "no such pod", http.StatusNotFound)
		return
	}
	p.muted = muted
}

// putEnvoy starts an Envoy or changes the gauges and the silence of one that runs.
func (c *control) putEnvoy(w http.ResponseWriter, r *http.Request) {
	wanted, ok := decode[singleEnvoy](w, r)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if running := c.single[r.PathValue("id")]; running != nil {
		running.Gauges, running.Silent = wanted.Gauges, wanted.Silent
		return
	}
	ctx, stop := context.WithCancel(c.cluster.ctx)
	wanted.stop = stop
	c.single[r.PathValue("id")] = &wanted
	e := &envoy{
		id: wanted.identity, sinks: wanted.Sinks, stats: c.cluster.stats,
		interval: time.Duration(wanted.FlushSeconds * float64(time.Second)),
		flushAt:  func() time.Time { return time.Time{} },
		gauges: func(time.Time) map[string]int64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return maps.Clone(wanted.Gauges)
		},
		muted: func() bool { return false },
		silent: func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return wanted.Silent
		},
	}
	go e.run(ctx)
}

func (c *control) deleteEnvoy(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if running := c.single[r.PathValue("id")]; running != nil {
		running.stop()
		delete(c.single, r.PathValue("id"))
	}
}

func keyOf(r *http.Request) key { return key{r.PathValue("namespace"), r.PathValue("name")} }

func decode[T any](w http.ResponseWriter, r *http.Request) (value T, ok bool) {
	if err := json.NewDecoder(r.Body).Decode(&value); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return value, false
	}
	return value, true
}
