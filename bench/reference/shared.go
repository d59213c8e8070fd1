package main

import (
	"context"
	"errors"
	"log"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// sharedStore keeps values where every replica finds them: in Redis, with keys that expire. A message
// writes a key for its heartbeat and one for each metric it carries; a query reads both keys of
// each pod, one after the other. Which pods there are it knows from the messages, as memory does.
type sharedStore struct {
	pods   *store
	client *redis.Client
}

func newSharedStore(address string, ttl time.Duration) *sharedStore {
	return &sharedStore{newStore(ttl), redis.NewClient(&redis.Options{Addr: address})}
}

func heartbeatKey(namespace, name string) string {
	return "reference:" + namespace + ":" + name + ":heartbeat"
}

func valueKey(namespace, name string, k kind) string {
	return "reference:" + namespace + ":" + name + ":" + kindNames[k]
}

func (s *sharedStore) update(id identity, values [kindCount]float64, present [kindCount]bool,
	now time.Time) {
	s.pods.update(id, values, present, now)
	ctx := context.Background()
	s.set(ctx, heartbeatKey(id.namespace, id.name), strconv.FormatInt(now.UnixMilli(), 10))
	for k := range values {
		if present[k] {
			s.set(ctx, valueKey(id.namespace, id.name, kind(k)),
				strconv.FormatFloat(values[k], 'f', -1, 64))
		}
	}
}

func (s *sharedStore) set(ctx context.Context, key, value string) {
	if err := s.client.Set(ctx, key, value, s.pods.ttl).Err(); err != nil {
		log.Printf("set %s: %v", key, err)
	}
}

func (s *sharedStore) query(namespace string, k kind,
	match func(name string, labels map[string]string) bool, now time.Time) []podValue {
	ctx := context.Background()
	pods := s.pods.query(namespace, k, match, now)
	found := pods[:0]
	for _, p := range pods {
		beat, err := s.client.Get(ctx, heartbeatKey(namespace, p.name)).Int64()
		if err != nil {
			report(err)
			continue
		}
		value, err := s.client.Get(ctx, valueKey(namespace, p.name, k)).Float64()
		if err != nil && !errors.Is(err, redis.Nil) {
			report(err)
			continue
		}
		found = append(found, podValue{p.name, value, time.UnixMilli(beat)})
	}
	return found
}

// report tells of errors other than a key that is not there.
func report(err error) {
	if !errors.Is(err, redis.Nil) {
		log.Printf("get: %v", err)
	}
}

func (s *sharedStore) sweep(now time.Time) { s.pods.sweep(now) }
