package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// unknownFlushes are held back for a moment, because they do not yet show whether this Envoy
// splits flushes; they are not measured.
const unknownFlushes = 4

// measureLatency returns the time from the last byte of a flush written to its value in an answer,
// for one poller that asks for one pod without a pause.
func measureLatency(ctx context.Context, o *options) (result, error) {
	o.streams = 1
	pods, err := openPods(ctx, o, time.Now())
	defer closePods(pods)
	if err != nil {
		return nil, err
	}
	poller, err := newPoller(o.https, podName(0))
	if err != nil {
		return nil, err
	}
	defer poller.close()
	var visible, requests []time.Duration
	for value := 1001 - unknownFlushes; value <= 1000+o.samples; value++ {
		// A random pause keeps flushes and requests from falling into step.
		time.Sleep(5*time.Millisecond + rand.N(15*time.Millisecond))
		took, polls, err := pushUntilVisible(pods[0], poller, value)
		if err != nil {
			return nil, err
		}
		if value <= 1000 {
			continue
		}
		visible = append(visible, took)
		requests = append(requests, polls...)
	}
	return result{
		"visible_p50_ms": milliseconds(quantile(visible, 0.5)),
		"visible_p99_ms": milliseconds(quantile(visible, 0.99)),
		"request_p50_ms": milliseconds(quantile(requests, 0.5)),
	}, nil
}

// framing is what gRPC and HTTP/2 put before a message that fits in one frame.
const framing = 5 + 9

// pushUntilVisible sends one flush and asks until its value is served. It also returns how long
// each request took.
func pushUntilVisible(p *pod, poller *poller, value int) (time.Duration, []time.Duration, error) {
	flushes := p.replay.flushes
	next := flushes[(p.sent-1)%len(flushes)]
	p.socket.markAfter(framing + len(next.data))
	sent := make(chan error, 1)
	go func() { sent <- p.flushNow(float64(value)) }()
	want := fmt.Appendf(nil, `"value":"%d"`, value)
	var requests []time.Duration
	for deadline := time.Now().Add(5 * time.Second); ; {
		asked := time.Now()
		status, body, err := poller.ask()
		answered := time.Now()
		if err != nil {
			return 0, nil, err
		}
		requests = append(requests, answered.Sub(asked))
		if status == http.StatusOK && bytes.Contains(body, want) {
			if err := <-sent; err != nil {
				return 0, nil, err
			}
			// The answer may overtake the return of the write: then nobody waited.
			return max(0, answered.Sub(<-p.socket.markedAt)), requests, nil
		}
		if answered.After(deadline) {
			return 0, nil, fmt.Errorf("value %d is not served after 5 s, but: status %d: %s",
				value, status, body)
		}
	}
}

// measureQuery returns how long `pods/*` takes over one kept TLS connection while o.streams pods
// push every o.interval.
func measureQuery(ctx context.Context, o *options) (result, error) {
	pods, err := openPods(ctx, o, time.Now())
	defer closePods(pods)
	if err != nil {
		return nil, err
	}
	poller, err := newPoller(o.https, "*")
	if err != nil {
		return nil, err
	}
	defer poller.close()
	want := func(index int) float64 { return float64(index) }
	if err := poller.waitForValues(o.streams, want); err != nil {
		return nil, err
	}
	pushing, stop := context.WithCancel(ctx)
	defer stop()
	pushed := make(chan error, 1)
	go func() { pushed <- keepPushing(pushing, pods, o.interval) }()

	var took []time.Duration
	var before time.Duration
	var redisBefore redisUse
	for i := range o.samples + o.samples/10 {
		if i == o.samples/10 { // what came before was to warm up
			if before, err = o.server.cpu(); err != nil {
				return nil, err
			}
			if redisBefore, err = useOfRedis(ctx, o.redis); err != nil {
				return nil, err
			}
			took = took[:0]
		}
		asked := time.Now()
		status, body, err := poller.ask()
		took = append(took, time.Since(asked))
		if err != nil || status != http.StatusOK {
			return nil, fmt.Errorf("status %d: %s: %w", status, body, err)
		}
	}
	after, err := o.server.cpu()
	if err != nil {
		return nil, err
	}
	redisAfter, err := useOfRedis(ctx, o.redis)
	if err != nil {
		return nil, err
	}
	stop()
	if err := <-pushed; err != nil {
		return nil, err
	}
	// Still all of them: no answer above was a short one.
	if err := poller.waitForValues(o.streams, want); err != nil {
		return nil, err
	}
	requests := float64(len(took))
	figures := result{
		"p50_ms":             milliseconds(quantile(took, 0.5)),
		"p99_ms":             milliseconds(quantile(took, 0.99)),
		"cpu_us_per_request": microseconds(after-before) / requests,
	}
	if o.redis != "" {
		use := redisAfter.since(redisBefore)
		figures["redis_commands_per_request"] = use.asked / requests
		figures["redis_round_trips_per_request"] = use.reads / requests
	}
	return figures, nil
}

// keepPushing flushes each pod once every interval, spread evenly, until ctx ends.
func keepPushing(ctx context.Context, pods []*pod, interval time.Duration) error {
	ticker := time.NewTicker(interval / time.Duration(len(pods)))
	defer ticker.Stop()
	for index := 0; ; index = (index + 1) % len(pods) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if err := pods[index].flushNow(float64(index)); err != nil {
			return err
		}
	}
}
