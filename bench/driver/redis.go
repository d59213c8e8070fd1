package main

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisUse is what a Redis has done so far.
type redisUse struct {
	asked   float64 // GET and MGET that clients sent
	written float64 // keys that clients, or their scripts, SET
	scripts float64 // scripts that clients ran
	reads   float64 // read(2) of connections: round trips, of clients that wait for answers
	cpu     time.Duration
}

// useOfRedis asks the Redis at address; with no address, all is zero.
func useOfRedis(ctx context.Context, address string) (redisUse, error) {
	if address == "" {
		return redisUse{}, nil
	}
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	text, err := client.Info(ctx, "commandstats", "stats", "cpu").Result()
	if err != nil {
		return redisUse{}, fmt.Errorf("INFO of the Redis at %s: %w", address, err)
	}
	numbers := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		rest = strings.TrimPrefix(rest, "calls=")
		rest, _, _ = strings.Cut(rest, ",")
		if number, err := strconv.ParseFloat(rest, 64); err == nil {
			numbers[name] = number
		}
	}
	seconds := numbers["used_cpu_user"] + numbers["used_cpu_sys"]
	use := redisUse{
		asked:   numbers["cmdstat_get"] + numbers["cmdstat_mget"],
		written: numbers["cmdstat_set"],
		scripts: numbers["cmdstat_eval"] + numbers["cmdstat_evalsha"],
		reads:   numbers["total_reads_processed"],
		cpu:     time.Duration(seconds * float64(time.Second)),
	}
	return use, nil
}

// since returns what was done after `before`.
func (u redisUse) since(before redisUse) redisUse {
	return redisUse{
		u.asked - before.asked, u.written - before.written, u.scripts - before.scripts,
		u.reads - before.reads, u.cpu - before.cpu,
	}
}

// addTo adds what `messages` cost to figures.
func (u redisUse) addTo(figures result, messages float64) {
	figures["redis_writes_per_message"] = u.written / messages
	figures["redis_scripts_per_message"] = u.scripts / messages
	figures["redis_cpu_us_per_message"] = microseconds(u.cpu) / messages
}
