package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is the server under measurement.
type process int

// cpu returns the processor time that all threads used so far, ended ones included. It reads the
// process's CPU clock (nanoseconds), where /proc/PID/stat has ticks of 10 ms and
// /proc/PID/task/*/schedstat forgets threads that ended.
func (p process) cpu() (time.Duration, error) {
	// CPUCLOCK_SCHED of a process, as clock_getcpuclockid(3) builds it.
	clock := int32(^int(p)<<3 | 2)
	var spent unix.Timespec
	if err := unix.ClockGettime(clock, &spent); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", p, err)
	}
	return time.Duration(spent.Nano()), nil
}

// rss returns the resident memory in KiB, peakRSS its maximum since resetPeak.
func (p process) rss() (int, error)     { return p.statusKiB("VmRSS:") }
func (p process) peakRSS() (int, error) { return p.statusKiB("VmHWM:") }

// resetPeak makes the present the peak (proc(5), clear_refs).
func (p process) resetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0)
}

func (p process) statusKiB(key string) (int, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", p))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), key); ok {
			var kib int
			_, err := fmt.Sscan(rest, &kib)
			return kib, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s in its status: did it end?", p, key)
}
