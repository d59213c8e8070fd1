package main

import (
	"sync"
	"time"
)

// sample is the last value of one metric. Its zero value means that none came yet.
type sample struct {
	value float64
	at    time.Time
}

// pod is what is known of one pod.
type pod struct {
	labels    map[string]string
	heartbeat time.Time
	samples   [kindCount]sample
}

// podValue is one pod's answer to a query.
type podValue struct {
	name  string
	value float64
	at    time.Time
}

// backend is where values are kept, safe for any goroutine.
type backend interface {
	// update counts one message of a pod as its heartbeat and keeps the values it carried.
	update(id identity, values [kindCount]float64, present [kindCount]bool, now time.Time)
	// query returns metric k of the pods that match, 0 for those with a fresh heartbeat alone.
	query(namespace string, k kind, match func(name string, labels map[string]string) bool,
		now time.Time) []podValue
	// sweep forgets pods whose heartbeat expired.
	sweep(now time.Time)
}

// store keeps pods by namespace and name.
type store struct {
	ttl time.Duration

	mu         sync.RWMutex
	namespaces map[string]map[string]*pod
}

func newStore(ttl time.Duration) *store {
	return &store{ttl: ttl, namespaces: make(map[string]map[string]*pod)}
}

func (s *store) update(id identity, values [kindCount]float64, present [kindCount]bool,
	now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pods := s.namespaces[id.namespace]
	if pods == nil {
		pods = make(map[string]*pod)
		s.namespaces[id.namespace] = pods
	}
	p := pods[id.name]
	if p == nil {
		p = &pod{}
		pods[id.name] = p
	}
	p.labels = id.labels
	p.heartbeat = now
	for k := range values {
		if present[k] {
			p.samples[k] = sample{values[k], now}
		}
	}
}

func (s *store) query(namespace string, k kind,
	match func(name string, labels map[string]string) bool, now time.Time) []podValue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var result []podValue
	for name, p := range s.namespaces[namespace] {
		if now.Sub(p.heartbeat) > s.ttl || !match(name, p.labels) {
			continue
		}
		if sample := p.samples[k]; now.Sub(sample.at) <= s.ttl {
			result = append(result, podValue{name, sample.value, sample.at})
		} else {
			result = append(result, podValue{name, 0, p.heartbeat})
		}
	}
	return result
}

func (s *store) sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for namespace, pods := range s.namespaces {
		for name, p := range pods {
			if now.Sub(p.heartbeat) > s.ttl {
				delete(pods, name)
			}
		}
		if len(pods) == 0 {
			delete(s.namespaces, namespace)
		}
	}
}
