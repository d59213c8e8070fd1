package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// settle is how long a server is left alone before a figure is read, for what it does late.
const settle = 300 * time.Millisecond

// forEach runs do for each pod at the same time and joins the errors.
func forEach(pods []*pod, do func(index int, p *pod) error) error {
	failures := make([]error, len(pods))
	var group sync.WaitGroup
	for index, p := range pods {
		group.Go(func() { failures[index] = do(index, p) })
	}
	group.Wait()
	return errors.Join(failures...)
}

// openPods opens count streams and sends the first messages of each, so that the server knows who
// they are and that each flush of theirs is one message.
func openPods(ctx context.Context, o *options, start time.Time) ([]*pod, error) {
	pods := make([]*pod, o.streams)
	err := forEach(pods, func(index int, _ *pod) (err error) {
		pods[index], err = openPod(ctx, o.grpc, o.replay, index, start)
		return err
	})
	if err != nil {
		return pods, err
	}
	for range 4 {
		err := forEach(pods, func(index int, p *pod) error { return p.flush(float64(index)) })
		if err != nil {
			return pods, err
		}
		time.Sleep(settle)
	}
	return pods, nil
}

func closePods(pods []*pod) {
	for _, p := range pods {
		if p != nil {
			p.close()
		}
	}
}

// measureCPU sends o.messages as fast as the server reads them and returns its CPU time a message.
// A stream's end tells that all of it was read; then the API must serve the last values.
func measureCPU(ctx context.Context, o *options) (result, error) {
	each := o.messages / o.streams
	// The flushes are a millisecond apart and end about now.
	pods, err := openPods(ctx, o, time.Now().Add(-time.Duration(each)*time.Millisecond))
	defer closePods(pods)
	if err != nil {
		return nil, err
	}
	last := func(index int) float64 { return float64(1000 + index) }
	redisBefore, err := useOfRedis(ctx, o.redis)
	if err != nil {
		return nil, err
	}
	before, err := o.server.cpu()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	err = forEach(pods, func(index int, p *pod) error {
		for range each - 1 {
			if err := p.flush(float64(index)); err != nil {
				return err
			}
		}
		if err := p.flush(last(index)); err != nil {
			return err
		}
		return p.finish()
	})
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	time.Sleep(settle)
	after, err := o.server.cpu()
	if err != nil {
		return nil, err
	}
	redisAfter, err := useOfRedis(ctx, o.redis)
	if err != nil {
		return nil, err
	}
	if o.https != "" {
		poller, err := newPoller(o.https, "*")
		if err != nil {
			return nil, err
		}
		defer poller.close()
		if err := poller.waitForValues(o.streams, last); err != nil {
			return nil, fmt.Errorf("after the last message: %w", err)
		}
	}
	sent := float64(each * o.streams)
	figures := result{
		"cpu_us_per_message":  microseconds(after-before) / sent,
		"messages_per_second": sent / elapsed.Seconds(),
		"messages":            sent,
	}
	if o.redis != "" {
		redisAfter.since(redisBefore).addTo(figures, sent)
	}
	return figures, nil
}

// measureIdle keeps o.streams streams with one message each in o.interval and returns memory and
// CPU of the server in the second half of o.duration.
func measureIdle(ctx context.Context, o *options) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, o.interval+o.duration)
	defer cancel()
	begin := time.Now()
	var group sync.WaitGroup
	failures := make(chan error, o.streams)
	for index := range o.streams {
		phase := o.interval * time.Duration(index) / time.Duration(o.streams)
		group.Go(func() {
			if err := runIdlePod(ctx, o, index, begin.Add(phase)); err != nil {
				failures <- err
			}
		})
	}
	time.Sleep(o.interval + o.duration/2)
	// Asked of its own context: `ctx` ends with the duration.
	redisBefore, err := useOfRedis(context.Background(), o.redis)
	if err != nil {
		return nil, err
	}
	before, err := o.server.cpu()
	if err != nil {
		return nil, err
	}
	from := time.Now()
	var samples []int
	for ctx.Err() == nil {
		rss, err := o.server.rss()
		if err != nil {
			return nil, err
		}
		samples = append(samples, rss)
		time.Sleep(100 * time.Millisecond)
	}
	after, err := o.server.cpu()
	if err != nil {
		return nil, err
	}
	redisAfter, err := useOfRedis(context.Background(), o.redis)
	if err != nil {
		return nil, err
	}
	messages := float64(o.streams) * time.Since(from).Seconds() / o.interval.Seconds()
	group.Wait()
	select {
	case err := <-failures:
		return nil, err
	default:
	}
	figures := result{
		"rss_mib":            mebibytes(quantile(samples, 0.5)),
		"rss_max_mib":        mebibytes(quantile(samples, 1)),
		"cpu_us_per_message": microseconds(after-before) / messages,
	}
	if o.redis != "" {
		redisAfter.since(redisBefore).addTo(figures, messages)
	}
	return figures, nil
}

// runIdlePod sends one message at `first` and one every o.interval later until ctx ends.
func runIdlePod(ctx context.Context, o *options, index int, first time.Time) error {
	time.Sleep(time.Until(first))
	// The connection outlives ctx, so that all streams are open while figures are read.
	p, err := openPod(context.WithoutCancel(ctx), o.grpc, o.replay, index, time.Now())
	if err != nil {
		return err
	}
	defer p.close()
	ticker := time.NewTicker(o.interval)
	defer ticker.Stop()
	for {
		if err := p.flushNow(float64(index)); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// measureFlood sends on all streams as fast as the server reads for o.duration and returns its
// memory before, at most, and ten seconds after, with all streams open.
func measureFlood(ctx context.Context, o *options) (result, error) {
	pods, err := openPods(ctx, o, time.Now())
	defer closePods(pods)
	if err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second)
	base, err := o.server.rss()
	if err != nil {
		return nil, err
	}
	if err := o.server.resetPeak(); err != nil {
		return nil, err
	}
	end := time.Now().Add(o.duration)
	sent := make([]int, len(pods))
	err = forEach(pods, func(index int, p *pod) error {
		for ; time.Now().Before(end); sent[index]++ {
			if err := p.flush(float64(index)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	time.Sleep(10 * time.Second)
	peak, err := o.server.peakRSS()
	if err != nil {
		return nil, err
	}
	later, err := o.server.rss()
	if err != nil {
		return nil, err
	}
	messages := 0
	for _, count := range sent {
		messages += count
	}
	return result{
		"base_rss_mib":        mebibytes(base),
		"peak_rss_mib":        mebibytes(peak),
		"later_rss_mib":       mebibytes(later),
		"messages_per_second": float64(messages) / o.duration.Seconds(),
	}, nil
}
